"""Who runs a task, and whether that process is still there (design §4, Fence: takeover)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from countermark.kernel import identity, process
from countermark.kernel.identity import ProcessIdentity


@dataclass(frozen=True, slots=True)
class RunnerName:
    """One kernel process: a random name, and the process behind it."""

    name: str
    who: ProcessIdentity

    def text(self) -> str:
        """Return the form the ledger keeps."""
        return "|".join((self.name, self.who.host, self.who.boot_id, str(self.who.pid), str(self.who.start_time)))

    @property
    def lock_name(self) -> str:
        """The file this runner holds locked for as long as it lives."""
        return f"{self.name}.live"


def read(text: str) -> RunnerName:
    """Return the name that `RunnerName.text` wrote."""
    name, host, boot_id, pid, start_time = text.split("|", 4)
    return RunnerName(name, ProcessIdentity(host, boot_id, int(pid), int(start_time)))


def is_gone(text: str, locks: Path) -> bool:
    """Return whether a runner is proven gone.

    Its lock file is the proof where there is one: it also sees through process namespaces. Without the file, the pid
    with its start time on this very boot decides; a runner of another host is never proven gone from here.
    """
    runner = read(text)
    path = locks / runner.lock_name
    if path.exists():
        return not process.descendants_alive(path)
    return identity.is_gone(runner.who)
