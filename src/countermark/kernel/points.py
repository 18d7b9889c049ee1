"""Named points at which a test can stop the world.

Every write, sync, rename and spawn, and both sides of every ledger commit, passes `reach`. In production the hook is
absent and `reach` costs one comparison. The test kit installs a hook in a process of its own that kills it there with
SIGKILL; there is no switch for it in the environment, so a stray variable cannot kill a user's run.
"""

from __future__ import annotations

from collections.abc import Callable

_hook: Callable[[str], None] | None = None


def reach(point: str) -> None:
    """Pass a named point."""
    if _hook is not None:
        _hook(point)


def install(hook: Callable[[str], None] | None) -> None:
    """Install the test kit's hook, or remove it with None."""
    global _hook  # noqa: PLW0603 - one process, one hook: a test's process is thrown away with it
    _hook = hook
