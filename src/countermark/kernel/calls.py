"""The seam under every write: one method per system call that changes a disk, and the named points around each.

`countermark.kernel.files.OsCalls` makes the real calls; the test kit's fault and power-loss disks stand in its place.
All names are single components inside an opened folder, so nothing here can leave it.
"""

from __future__ import annotations

from typing import Final, Protocol

OPERATIONS: Final = (
    "open",
    "write",
    "truncate",
    "allocate",
    "chmod",
    "fsync",
    "rename",
    "rename_new",
    "exchange",
    "link",
    "unlink",
    "mkdir",
    "rmdir",
)
POINTS: Final = tuple(f"files.{operation}.{side}" for operation in OPERATIONS for side in ("before", "after"))
"""Every point that writing passes, in `points.reach`; the names are stable."""


class Calls(Protocol):
    """The system calls that change a disk; each raises OSError, and may raise InterruptedError before any effect."""

    def open(self, folder: int, name: str, flags: int, mode: int) -> int:
        """Open a file for writing, or make it; return its descriptor."""
        ...

    def write(self, fd: int, data: memoryview) -> int:
        """Write at the descriptor's position; return how many bytes were taken, at least one."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut or lengthen a file to `size` bytes."""
        ...

    def allocate(self, fd: int, size: int) -> None:
        """Give a file its first `size` bytes on the disk for real, so that filling them cannot fail."""
        ...

    def chmod(self, fd: int, mode: int) -> None:
        """Set permission bits, whatever the umask."""
        ...

    def fsync(self, fd: int) -> None:
        """Make a file's content, or a folder's names, durable."""
        ...

    def rename(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Move a name over another, atomically."""
        ...

    def rename_new(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Move a name to one that must not exist, atomically."""
        ...

    def exchange(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        """Let two names change places, atomically."""
        ...

    def link(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Give a file a second name that must not exist."""
        ...

    def unlink(self, folder: int, name: str) -> None:
        """Take a file's name away."""
        ...

    def mkdir(self, folder: int, name: str, mode: int) -> None:
        """Make a folder that must not exist."""
        ...

    def rmdir(self, folder: int, name: str) -> None:
        """Take an empty folder away."""
        ...
