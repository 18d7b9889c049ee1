"""Break each law once, in a copy of the project, and see the suite turn red: `python scripts/mutants.py [NAME…]`.

A mutant is a patch of one source line and the tests that ought to notice it. The project itself is never touched. The
name of the first test that failed is printed; a mutant that no test notices ends the program with status 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
KERNEL: Final = "src/countermark/kernel"
SECONDS: Final = 600


class Mutant(NamedTuple):
    """One law broken: the file, the text that is replaced (it stands there once), and the tests to run."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS: Final = (
    Mutant(
        "the effect happens before its intent is durable",
        f"{KERNEL}/perform.py",
        "    if isinstance(decision, once.Refusal):\n        decision.error",
        "    if isinstance(decision, once.Refusal):\n"
        "        chain = workspace.ledger.read(lambda tx: grant.load_chain(tx, grant_id))\n"
        "        adapter.submit(\n"
        "            Intent(ask.task, 1, 1, ask.key, plan, ask.effect, ask.expected, ask.runtime, chain[0].wire()),\n"
        "            workspace.context(Intent(ask.task, 1, 1, ask.key, plan, ask.effect, {}, ask.runtime, {})),\n"
        "        )\n"
        "        decision.error",
        ("tests/kernel/test_perform.py", "tests/kernel/test_once.py"),
    ),
    Mutant(
        "a commit does not look at the epoch",
        f"{KERNEL}/task.py",
        '"WHERE id = ? AND state = ? AND epoch = ?"',
        '"WHERE id = ? AND state = ? AND ? IS NOT NULL"',
        ("tests/kernel/test_perform.py", "tests/kernel/test_fence.py", "tests/crash/test_two_processes.py"),
    ),
    Mutant(
        "files are not synced",
        f"{KERNEL}/files.py",
        "        os.fsync(fd)\n",
        "        del fd\n",
        ("tests/crash/test_system_calls.py", "tests/kernel/test_files.py"),
    ),
    Mutant(
        "the ledger does not sync",
        f"{KERNEL}/ledger.py",
        '"PRAGMA synchronous = FULL"',
        '"PRAGMA synchronous = OFF"',
        ("tests/crash/test_system_calls.py",),
    ),
    Mutant(
        "a maker may pass its own work",
        f"{KERNEL}/proof.py",
        "verdict.maker.digest == verdict.observer.digest",
        "not verdict.maker.digest",
        ("tests/kernel/test_perform.py", "tests/kernel/test_receipt.py"),
    ),
    Mutant(
        "a check imports what made the artefact",
        "src/countermark/vector/checks.py",
        "from countermark.vector import identity\n",
        "from countermark.vector import draw, identity\n",
        ("tests/test_architecture.py",),
    ),
    Mutant(
        "publishing does not look at what came out",
        f"{KERNEL}/publish.py",
        "    _come_out(workspace, name, here, there, (old,))\n",
        "    return\n",
        ("tests/kernel/test_perform.py", "tests/kernel/test_publish.py"),
    ),
    Mutant(
        "the fence comes before the key",
        f"{KERNEL}/once.py",
        "        earlier = _find(tx, ask, chain[0])\n",
        "        _fences(tx, ask)\n        earlier = _find(tx, ask, chain[0])\n",
        ("tests/kernel/test_perform.py", "tests/kernel/test_once.py"),
    ),
    Mutant(
        "a use is not charged to the grants above",
        f"{KERNEL}/grant.py",
        "    for grant in chain:\n        spent",
        "    for grant in chain[:1]:\n        spent",
        ("tests/kernel/test_perform.py",),
    ),
    Mutant(
        "unavailable counts as passed",
        f"{KERNEL}/proof.py",
        "any(v.status is not Status.PASSED for v in seen)",
        "any(v.status is Status.FAILED for v in seen)",
        ("tests/kernel/test_perform.py", "tests/kernel/test_receipt.py"),
    ),
    Mutant(
        "an unknown outcome is tried again without a look",
        f"{KERNEL}/recovery.py",
        "        return Step.LOOK\n",
        "        return Step.RETRY\n",
        ("tests/kernel/test_recovery.py", "tests/kernel/test_perform.py"),
    ),
    Mutant(
        "a revoked grant still allows",
        f"{KERNEL}/grant.py",
        "    if grant.revoked_at is not None:\n",
        "    if grant.revoked_at == 0:\n",
        ("tests/kernel/test_grant.py",),
    ),
    Mutant(
        "a task is taken over without proof that its runner is gone",
        f"{KERNEL}/restart.py",
        "    return runner.is_gone(found.runner, workspace.locks) and not workspace.children_alive(found.id)\n",
        "    return True\n",
        ("tests/kernel/test_restart.py",),
    ),
    Mutant(
        "a task is taken over while its children live",
        f"{KERNEL}/restart.py",
        "is_gone(found.runner, workspace.locks) and not workspace.children_alive(found.id)",
        "is_gone(found.runner, workspace.locks)",
        ("tests/kernel/test_restart.py",),
    ),
    Mutant(
        "a takeover does not raise the epoch",
        f"{KERNEL}/fence.py",
        "    epoch = max([past, *(r.epoch for r in held if r is not None)]) + 1\n",
        "    epoch = max([past, *(r.epoch for r in held if r is not None)])\n",
        ("tests/kernel/test_fence.py", "tests/crash/test_two_processes.py"),
    ),
    Mutant(
        "a stage is lost with the process that took it over",
        f"{KERNEL}/workspace.py",
        "        if since := [epoch for epoch in made if first <= epoch < new]:\n",
        "        if since := [epoch for epoch in made if epoch == new - 1]:\n",
        ("tests/kernel/test_restart.py",),
    ),
    Mutant(
        "a publication that was interrupted is finished without a look at what came out",
        f"{KERNEL}/publish.py",
        "    _come_out(workspace, name, here, there, (old, new))\n",
        "    return\n",
        ("tests/kernel/test_restart.py",),
    ),
    Mutant(
        "what is published is not what was checked",
        f"{KERNEL}/publish.py",
        "    if files.revision(here) != new:\n",
        "    if not files.revision(here):\n",
        ("tests/kernel/test_publish.py",),
    ),
    Mutant(
        "an effect may write the workspace's own files",
        f"{KERNEL}/publish.py",
        "    if HOME in parts or parts == [PROJECT_FILE]:\n",
        "    if HOME == parts or parts == [PROJECT_FILE + HOME]:\n",
        ("tests/kernel/test_publish.py",),
    ),
    Mutant(
        "a result is recorded before it is durable",
        f"{KERNEL}/perform.py",
        "        workspace.files.sync_tree(publish.stage_of(intent.task, intent.epoch))\n",
        "        pass\n",
        ("tests/crash/test_power.py",),
    ),
    Mutant(
        "another attempt is charged on the grant as it was before the look",
        f"{KERNEL}/perform.py",
        "        acting = grant.load_chain(tx, chain[0].id)  # others have spent from it since\n",
        "        acting = chain\n",
        ("tests/kernel/test_once.py",),
    ),
    Mutant(
        "somebody looks while a child may still do the work",
        f"{KERNEL}/perform.py",
        "    workspace.end_children(intent.task)  # looking is worth nothing while something may still do the work\n",
        "",
        ("tests/kernel/test_restart.py",),
    ),
    Mutant(
        "cancelled is said while it is unknown what happened",
        f"{KERNEL}/cancel.py",
        "        if not stopped.confirmed or stopped.executed is Executed.UNKNOWN:\n",
        "        if stopped.executed is not stopped.executed:\n",
        ("tests/kernel/test_cancel.py", "tests/kernel/test_restart.py"),
    ),
    Mutant(
        "a full disk is not given its reserve",
        f"{KERNEL}/workspace.py",
        "        self.files.remove(RESERVE)\n        return True\n",
        "        return False\n",
        ("tests/kernel/test_workspace.py",),
    ),
)


def copy(target: Path) -> None:
    """Copy what git tracks, as it is in the working tree."""
    listed = subprocess.run(
        [shutil.which("git") or "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def patched(mutant: Mutant, root: Path) -> str:
    """Return the mutant's source text; raise ValueError unless its place is found exactly once."""
    text = (root / mutant.file).read_text("utf-8")
    if text.count(mutant.old) != 1:
        message = f"{mutant.name}: its place stands {text.count(mutant.old)} times in {mutant.file}"
        raise ValueError(message)
    return text.replace(mutant.old, mutant.new)


def killer(mutant: Mutant, root: Path) -> str | None:
    """Return the first test that fails on a mutant, or None when all pass."""
    original = (root / mutant.file).read_text("utf-8")
    (root / mutant.file).write_text(patched(mutant, root), "utf-8")
    try:
        environment = {**os.environ, "PYTHONPATH": str(root / "src"), "CI": "true"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", *mutant.tests],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    finally:
        (root / mutant.file).write_text(original, "utf-8")
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if found is None:
        message = f"{mutant.name}: the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise RuntimeError(message)
    return found[1]


def main() -> int:
    """Try the mutants named, or all."""
    wanted = [m for m in MUTANTS if not sys.argv[1:] or any(word in m.name for word in sys.argv[1:])]
    alive = []
    with tempfile.TemporaryDirectory() as folder:
        copy(Path(folder))
        for mutant in wanted:
            test = killer(mutant, Path(folder))
            print(f"{'killed' if test else 'ALIVE '}  {mutant.name}\n        {test or 'no test noticed'}", flush=True)
            if test is None:
                alive.append(mutant)
    print(f"{len(wanted) - len(alive)} of {len(wanted)} mutants killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
