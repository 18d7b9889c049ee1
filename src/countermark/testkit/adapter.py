"""A scripted adapter: it does real work on a world outside the workspace and then behaves as badly as it is told.

    world = World(folder, witness.socket)
    adapter = ScriptedAdapter(world, {"key-1": ["lose"], "key-2": ["nothing", "done"]})

The script names, per idempotency key, what each attempt does; a key without a script is `done`. The world keeps one
line per effect and is what `reconcile` looks at; the witness counts the same effects where nobody here can reach.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from countermark.kernel.adapter import (
    Adapter,
    Context,
    Effect,
    Estimate,
    Finding,
    Intent,
    Outcome,
    Reply,
    StagedFile,
    Stopped,
    Verification,
)
from countermark.kernel.canon import ABSENT, sha256_hex
from countermark.kernel.child import Expired
from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.points import reach
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.testkit.witness import WitnessClient

Fault = Literal[
    "done",  # works and says so
    "lose",  # works, and the reply is lost
    "ambiguous",  # works, and answers nonsense
    "nothing",  # does nothing, and the reply is lost
    "fail",  # does nothing, and says why
    "raise",  # breaks like a defect would, after the work
    "partial",  # leaves half of its files, and the reply is lost
    "lie",  # declares other bytes than it made
    "leave",  # leaves a child and its descendant running, in a session of its own, and is killed
    "die",  # does nothing and is killed
    "die-after",  # works and is killed before it can say so
]
FAULTS: Final[tuple[Fault, ...]] = (
    "done",
    "lose",
    "ambiguous",
    "nothing",
    "fail",
    "raise",
    "partial",
    "lie",
    "leave",
    "die",
    "die-after",
)

Break = Literal[
    "die",  # killed before it did anything
    "die-after",  # killed when it had done it
    "raise",  # breaks like a defect would
    "refuse",  # says that it cannot be done now
    "hang",  # waits for a signal for ever
]

MAKER: Final = Engine("scripted maker", sha256_hex(b"scripted maker"))
POINTS: Final = ("world.change.before", "world.change.after")
"""The points that a direct effect on the world passes."""
OBSERVER: Final = Engine("scripted observer", sha256_hex(b"scripted observer"))
IDENTITY: Final = RuntimeIdentity("scripted", "1", MAKER.digest)
_LEFT: Final = """
import os, signal, sys
signal.alarm(60)
pid = os.fork()
if not pid:
    os.setsid()
    signal.alarm(60)
else:
    print(os.getpid(), pid, flush=True)
while True:
    signal.pause()
"""
_CHILD: Final = "import os, sys; open(sys.argv[1], 'w').write(sys.argv[2]); print('done')"


class World:
    """What direct effects change: one append-only file per resource, beneath a folder outside the workspace."""

    def __init__(self, folder: Path, witness: Path | None = None) -> None:
        """Take the folder, and the socket of a witness if there is one."""
        self.folder = folder
        self._witness = WitnessClient(witness) if witness else None

    def lines(self, resource: str) -> list[str]:
        """Return the keys of the effects on a resource, in order."""
        path = self._path(resource)
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def revision(self, resource: str) -> str:
        """Return the opaque revision token of a resource."""
        lines = self.lines(resource)
        return f"{len(lines)}:{lines[-1]}" if lines else ABSENT

    def change(self, resource: str, key: str) -> None:
        """Have one effect: a synced line here, and a word to the witness."""
        reach("world.change.before")
        descriptor = os.open(self._path(resource), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"{key}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.tell(key)
        reach("world.change.after")

    def tell(self, key: str) -> None:
        """Have the witness count an effect."""
        if self._witness is not None:
            self._witness.saw(key)

    def _path(self, resource: str) -> Path:
        return self.folder / f"{sha256_hex(resource.encode())[:16]}.log"


class ScriptedAdapter(Adapter):
    """Effects `test.staged`, `test.direct` and `test.read`, of any class, each behaving as its script says.

    A plan's payload: `text` is what a staged effect writes; `folder: true` makes its resource a folder of two files;
    `child: true` has a child process write it; `verdict` sets the status its check reports; `observer: "maker"` lets
    the maker check its own work. `breaks` says of other operations (`reconcile`, `verify`, `cancel`) how they break.
    """

    name = "scripted"

    def __init__(
        self,
        world: World,
        script: Mapping[str, Sequence[Fault]] | None = None,
        *,
        effect_class: EffectClass = EffectClass.IDEMPOTENT_WRITE,
        reversible: bool = True,
        breaks: Mapping[str, Break] | None = None,
    ) -> None:
        """Take the world, what each key's attempts do, and how the effects behave when they are done again."""
        self.world = world
        self.breaks = dict(breaks or {})
        self.script = dict(script or {})
        self.calls: list[tuple[str, str]] = []
        kinds = {"test.staged": EffectKind.STAGED, "test.direct": EffectKind.DIRECT, "test.read": EffectKind.DIRECT}
        self._effects = {
            word: Effect(
                word, kind, EffectClass.READ_ONLY if word == "test.read" else effect_class, reversible, ("looked",)
            )
            for word, kind in kinds.items()
        }

    def effects(self) -> Mapping[str, Effect]:
        """Return the three effects."""
        return self._effects

    def capabilities(self) -> RuntimeIdentity:
        """Return who works."""
        return IDENTITY

    def observe(self, resource: str) -> str | None:
        """Return the world's revision for its own resources; files are the kernel's to digest."""
        return None if resource.startswith("file:") else self.world.revision(resource)

    def estimate(self, plan: Plan) -> Estimate:
        """Return the bytes of a staged effect."""
        if plan.effect != "test.staged":
            return Estimate()
        each = len(str(plan.payload.get("text", "")).encode())
        return Estimate(bytes=each * len(plan.resources) * (2 if plan.payload.get("folder") else 1))

    def submit(self, intent: Intent, context: Context) -> Outcome:
        """Work, and answer as the script says."""
        self.calls.append(("submit", intent.key))
        fault = self._fault(intent)
        if fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "leave":
            child = context.launch([sys.executable, "-I", "-S", "-c", _LEFT])
            said = child.receive(context.clock.monotonic() + 30)
            (self.world.folder / "left.txt").write_bytes(b"" if isinstance(said, Expired) else said)
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "nothing":
            return Outcome.unknown("The reply was lost.")
        if fault == "fail":
            error = CountermarkError("child_failed", "The scripted effect refused.", next_action="Change the script.")
            return Outcome.failed(error)
        outcome = self._work(intent, context, partial=fault == "partial")
        if fault == "die-after":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "raise":
            message = "a defect"
            raise RuntimeError(message)
        if fault in ("lose", "partial"):
            return Outcome.unknown("The reply was lost.")
        if fault == "ambiguous":
            return Outcome.unknown("The reply was nonsense.", reply=Reply.AMBIGUOUS)
        if fault == "lie" and outcome.files:
            file = outcome.files[0]
            return Outcome(files=(StagedFile(file.resource, file.name, "0" * 64, file.size), *outcome.files[1:]))
        return outcome

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        """Look at the world, or at the stage: the artefact itself, never a record of it."""
        self.calls.append(("reconcile", intent.key))
        with self._breaking("reconcile"):
            return self._look(intent, context)

    def cancel(self, intent: Intent, context: Context) -> Stopped:
        """Look, and say whether it happened."""
        self.calls.append(("cancel", intent.key))
        with self._breaking("cancel"):
            return super().cancel(intent, context)

    def _look(self, intent: Intent, context: Context) -> Finding:
        if intent.effect.kind is EffectKind.STAGED:
            marker = context.stage / "done.json"
            if not marker.exists():
                return Finding(Executed.NO, {"stage": "holds no complete result"})
            rows = json.loads(marker.read_text("utf-8"))
            return Finding(Executed.YES, {"stage": "complete"}, Outcome(files=tuple(StagedFile(*row) for row in rows)))
        for resource in intent.plan.resources:
            lines = self.world.lines(resource)
            if intent.key not in lines:
                return Finding(Executed.NO, {"resource": resource, "lines": len(lines)})
        return Finding(Executed.YES, {"found": "a line with this key"}, Outcome(revisions=self._revisions(intent.plan)))

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        """Report the one check as the plan wants it."""
        del context
        self.calls.append(("verify", intent.key))
        with self._breaking("verify"):
            return self._check(intent, outcome)

    @contextmanager
    def _breaking(self, operation: str) -> Iterator[None]:
        way = self.breaks.get(operation)
        if way == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if way == "hang":
            signal.pause()
        if way == "refuse":
            raise CountermarkError("io_failed", f"The world is out of reach for {operation}.", next_action="Wait.")
        yield
        if way == "die-after":
            os.kill(os.getpid(), signal.SIGKILL)
        if way == "raise":
            message = f"a defect in {operation}"
            raise RuntimeError(message)

    def _check(self, intent: Intent, outcome: Outcome) -> Verification:
        payload = intent.plan.payload
        status = Status(payload.get("verdict", "passed"))
        observer = MAKER if payload.get("observer") == "maker" else OBSERVER
        subjects = tuple(file.digest for file in outcome.files)
        return Verification((Verdict("looked", status, True, MAKER, observer, subjects),))  # noqa: FBT003 - required

    def _fault(self, intent: Intent) -> Fault:
        script = self.script.get(intent.key, ())
        return script[intent.attempt - 1] if intent.attempt <= len(script) else "done"

    def _work(self, intent: Intent, context: Context, *, partial: bool) -> Outcome:
        if intent.effect.kind is not EffectKind.STAGED:
            if intent.effect.effect_class is EffectClass.READ_ONLY:
                return Outcome()
            for resource in intent.plan.resources:
                if intent.key in self.world.lines(resource):
                    # An earlier attempt of ours came through late: whether this one happened is for a look to say.
                    return Outcome.unknown("The effect of this key is there already.")
                if self.world.revision(resource) != intent.expected[resource]:
                    return Outcome.failed(_moved_on(resource))
            for resource in intent.plan.resources:
                self.world.change(resource, intent.key)
            return Outcome(revisions=self._revisions(intent.plan))
        files = [file for resource in intent.plan.resources for file in self._stage(intent, context, resource)]
        self.world.tell(intent.key)
        if not partial:
            rows = [[file.resource, file.name, file.digest, file.size] for file in files]
            (context.stage / "done.json").write_text(json.dumps(rows), "utf-8")
        return Outcome(files=tuple(files))

    def _stage(self, intent: Intent, context: Context, resource: str) -> list[StagedFile]:
        text, payload = str(intent.plan.payload.get("text", "")), intent.plan.payload
        target = context.stage / resource.removeprefix("file:")
        target.parent.mkdir(parents=True, exist_ok=True)
        names = ("a.txt", "sub/b.txt") if payload.get("folder") else ("",)
        made = []
        for name in names:
            path = target / name if name else target
            path.parent.mkdir(parents=True, exist_ok=True)
            if payload.get("child"):
                child = context.launch([sys.executable, "-I", "-S", "-c", _CHILD, str(path), text])
                if isinstance(child.wait(context.clock.monotonic() + 30), Expired):
                    return []
                child.close()
            else:
                path.write_text(text, "utf-8")
            data = path.read_bytes()
            made.append(StagedFile(resource, name, hashlib.sha256(data).hexdigest(), len(data), "text/plain"))
        return made

    def _revisions(self, plan: Plan) -> dict[str, str]:
        return {resource: self.world.revision(resource) for resource in plan.resources}


def _moved_on(resource: str) -> CountermarkError:
    """Return the refusal of a direct effect that looked at its resource last of all, as every medium allows."""
    return CountermarkError(
        "revision_conflict",
        f"{resource} is no longer at the revision that this was planned on; nothing was changed.",
        next_action="Read it again and plan on what is there now.",
        details={"resource": resource},
    )
