"""The real program over a scripted domain, as a process of its own that can be interrupted and killed.

    python scripted.py FOLDER SCRIPT perform WORD RESOURCE KEY
    python scripted.py FOLDER SCRIPT <arguments of countermark>

FOLDER holds `world` and `space`; SCRIPT maps keys to faults of the scripted adapter, and to two of this file: `hang`
starts a child that sleeps, `deaf` waits for nothing; both say `working` on standard error once they wait.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from countermark.kernel.adapter import Context, Intent, Outcome
from countermark.kernel.plan import Plan
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli.program import run
from countermark.testkit.adapter import ScriptedAdapter, World

_SLEEP = "import time; time.sleep(600)"


class Waiting(ScriptedAdapter):
    """A scripted adapter that can also be caught in the middle of its work."""

    def submit(self, intent: Intent, context: Context) -> Outcome:
        fault: str = self._fault(intent)
        if fault == "hang":
            child = context.launch([sys.executable, "-I", "-S", "-c", _SLEEP])
            sys.stderr.write(f"working {child.identity.pid}\n")
            sys.stderr.flush()
            child.wait(context.clock.monotonic() + 600)
            return Outcome.unknown("The child ended without an answer.")
        if fault == "deaf":
            sys.stderr.write("working\n")
            sys.stderr.flush()
            threading.Event().wait()
        return super().submit(intent, context)


def main() -> int:
    folder, script, *arguments = sys.argv[1:]
    adapter = Waiting(World(Path(folder) / "world"), json.loads(script))
    if arguments[0] != "perform":
        return run(arguments, adapters=lambda: [adapter])
    _, word, resource, key = arguments
    with Workspace(Path(folder) / "space", adapters=[adapter]) as space:
        space.perform(
            Plan("scripted", word, word, (resource,), {"text": "hello"}), grant="test", revision="absent", key=key
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
