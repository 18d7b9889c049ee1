"""The scene domain as the kernel sees it: one journalled effect, whose authority is the scenes' own store."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

import countermark
from countermark.kernel.adapter import Adapter, Context, Effect, Finding, Intent, Outcome, Verification
from countermark.kernel.canon import digest
from countermark.kernel.clock import Clock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.scene import kept_library
from countermark.scene import name as names
from countermark.scene.evidence import Evidence
from countermark.scene.limits import Limits
from countermark.scene.store import Store

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace
    from countermark.scene.exporter import Exporter

NAME: Final = "scene"
WRITE: Final = "scene.write"
READ_BACK: Final = "scene.read-back"
RESOURCE: Final = "scene:"

_ROOT: Final = Path(countermark.__path__[0])
_OBSERVING: Final = ("kernel/beneath.py", "kernel/canon.py", "kernel/place.py")


@dataclass
class Backlog:
    """What the ledger may not have heard of: the scenes looked at in this process, and the threads that still tell."""

    looked_at: set[str] = field(default_factory=set)
    threads: list[threading.Thread] = field(default_factory=list)


class SceneAdapter(Adapter):
    """Scenes of one store. Work goes through `governed`; the kernel only asks what is there and what was done."""

    name = NAME

    def __init__(self, store: Store | None = None) -> None:
        """Speak for the scenes of a store; without one, for those of the first workspace that asks."""
        self._given = store
        self._guard = threading.Lock()
        self._exporter: Exporter | None = None
        self.waiting = Backlog()

    def store_of(self, folder: Path, limits: Limits, clock: Clock) -> Store:
        """Return the store, opened over a folder when it is first asked for; it lives as long as the process."""
        with self._guard:
            if self._given is None:
                self._given = Store(folder, limits, clock=clock)
            return self._given

    def exporter_of(self, workspace: Workspace) -> Exporter:
        """Return the one that draws a workspace's scenes, made when it is first asked for."""
        from countermark.scene.exporter import Exporter  # noqa: PLC0415 - brings in what measures text

        with self._guard:
            if self._exporter is None:
                self._exporter = Exporter(workspace)
            return self._exporter

    def close_exporter(self) -> None:
        """End the child that draws, where there is one."""
        with self._guard:
            exporter, self._exporter = self._exporter, None
        if exporter is not None:
            exporter.close()

    @property
    def _store(self) -> Store:
        if self._given is None:
            message = "no scene was asked for yet, so there is no store to look into"
            raise AssertionError(message)
        return self._given

    def effects(self) -> Mapping[str, Effect]:
        """Return the one effect: a write that can be undone from the history, and that its own store does once."""
        write = Effect(
            WRITE, EffectKind.JOURNALLED, EffectClass.IDEMPOTENT_WRITE, reversible=True, required=(READ_BACK,)
        )
        return {WRITE: write}

    def capabilities(self) -> RuntimeIdentity:
        """Return who writes scenes: these sources."""
        return RuntimeIdentity("countermark scene", _version(), maker().digest)

    def observe(self, resource: str) -> str | None:
        """Return the revision of a scene, or of the library, as the ledger names it."""
        if resource == RESOURCE + kept_library.NAME:
            return self._store.library().revision
        return str(self._store.read(resource.removeprefix(RESOURCE)).revision)

    def validate(self, plan: Plan) -> None:
        """Raise `invalid_name` when the plan names no scene."""
        for resource in plan.resources:
            if resource != RESOURCE + kept_library.NAME:
                names.check(resource.removeprefix(RESOURCE))

    def submit(self, intent: Intent, context: Context) -> Outcome:
        """Refuse: a journalled effect happens in its store, behind `governed`, and is never submitted by the kernel."""
        del intent, context
        refusal = CountermarkError(
            "illegal_state",
            "A scene is not written through a task; its store keeps intent and revision itself.",
            next_action="Use the scene tools, or `countermark scene`.",
        )
        return Outcome.failed(refusal)

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        """Ask the store whether it carried out what a plan speaks of."""
        del context
        wanted = intent.plan.payload
        [resource] = intent.plan.resources
        if resource == RESOURCE + kept_library.NAME:
            there = self._store.library().revision
            return Finding(Executed.YES if there == wanted.get("sha256") else Executed.UNKNOWN, {"sha256": there})
        try:
            now = self._store.read(resource.removeprefix(RESOURCE))
        except CountermarkError as error:
            done = any(
                entry["uid"] == wanted.get("uid") and entry["revision"] == wanted.get("revision")
                for entry in self._store.trashed()
            )
            executed = Executed.YES if done and error.code == "not_found" else Executed.UNKNOWN
            return Finding(executed, {"error": error.code})
        evidence = {"revision": now.revision, "sha256": now.sha256}
        if now.uid != wanted.get("uid") or now.revision < int(wanted.get("revision", 0)):
            return Finding(Executed.NO, evidence)
        kept = {version.revision: version.sha256 for version in self._store.history(now.name)}
        found = kept.get(int(wanted.get("revision", 0)))
        if found is None:
            return Finding(Executed.UNKNOWN, evidence)
        return Finding(Executed.YES if found == wanted.get("sha256") else Executed.NO, evidence)

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        """Nothing is verified twice: the verdict was entered with the save."""
        del intent, outcome, context
        return Verification(())


def verdict(done: Evidence) -> Verdict:
    """Return what was observed of a save: the file was read back and had the digest that was written."""
    return Verdict(
        READ_BACK,
        Status.PASSED,
        required=True,
        maker=maker(),
        observer=observer(),
        subjects=(done.sha256,),
        measured={"sha256": done.sha256, "bytes": done.byte_length, "elements": done.element_count},
        threshold={"sha256": done.sha256},
        source="seed 3 §3.3, 6",
    )


@lru_cache(maxsize=1)
def maker() -> Engine:
    """Return who makes the bytes of scenes: the sources of this domain."""
    return Engine("countermark scene", _sources(_files(), NAME))


@lru_cache(maxsize=1)
def observer() -> Engine:
    """Return who reads them back: the kernel's own reading of files, which knows nothing of scenes."""
    return Engine("countermark kernel, reading files", _sources(_OBSERVING, ""))


@lru_cache(maxsize=1)
def _version() -> str:
    try:
        return metadata.version("countermark")
    except metadata.PackageNotFoundError:
        return "not installed"


def _files() -> tuple[str, ...]:
    root = _ROOT / NAME
    return tuple(sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py")))


def _sources(files: tuple[str, ...], folder: str) -> str:
    return digest([[file, hashlib.sha256((_ROOT / folder / file).read_bytes()).hexdigest()] for file in files])
