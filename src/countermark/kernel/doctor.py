"""What an installation and a workspace need, looked at, each line with its next action (seed 1 §16).

Five areas are kept apart, because one being well says nothing of the others: what is installed, in which version, what
this system can do, how the host is, and whether a workspace delivers what its ledger says. Nothing of the workspace is
changed: one probe file pair is made and removed to learn whether the disk can exchange two names.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module, metadata
from pathlib import Path
from typing import Final

from countermark.kernel import backup, beneath, config, fence, publish, runner, schema, secret, task
from countermark.kernel.canon import ABSENT
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.ledger import Tx
from countermark.kernel.state import State
from countermark.kernel.workspace import HOME, RESERVE, RESERVE_BYTES, Workspace

PYTHON: Final = (3, 11)
SQLITE: Final = (3, 40)
_NEEDED: Final = ("cryptography", "rfc8785", "securesystemslib")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SKEW_MS: Final = 60_000  # a clock this far behind the last event was set back, not merely corrected


class Area(StrEnum):
    """What a line is about (seed 1 §16)."""

    INSTALLATION = "installation"
    VERSION = "version"
    CAPABILITY = "capability"
    HOST = "host"
    DELIVERY = "native delivery"


class Standing(StrEnum):
    """How it is: well; well enough to go on; or something without which work cannot go on."""

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at; `next` is empty exactly where the standing is ok."""

    area: Area
    name: str
    status: Standing
    sentence: str
    next: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A package that an extra brings: its distribution, the module that shows it works, and the extra's name."""

    name: str
    module: str
    extra: str


def examine(folder: Path | None, parts: Sequence[Part] = (), environ: Mapping[str, str] | None = None) -> list[Line]:
    """Look at this installation and, where there is one, at a workspace; one that cannot be opened is a line too."""
    env = os.environ if environ is None else environ
    lines = [*_installation(parts), *_version(), *_capability(), *_host(env)]
    if folder is None:
        lines.append(_warn(Area.HOST, "workspace", "there is none here or above", "Make one: `countermark init DIR`."))
        return lines
    return [*lines, *_disk(folder), *_workspace(folder)]


def _ok(area: Area, name: str, sentence: str) -> Line:
    return Line(area, name, Standing.OK, sentence)


def _warn(area: Area, name: str, sentence: str, following: str) -> Line:
    return Line(area, name, Standing.WARN, sentence, following)


def _missing(area: Area, name: str, sentence: str, following: str) -> Line:
    return Line(area, name, Standing.MISSING, sentence, following)


def _installation(parts: Sequence[Part]) -> Iterator[Line]:
    area = Area.INSTALLATION
    for name in _NEEDED:
        fault = _import_fault(name)
        if fault:
            yield _missing(area, name, f"cannot be used: {fault}", "Install again: `pip install countermark`.")
        else:
            yield _ok(area, name, metadata.version(name))
    for part in parts:
        yield _part(part)


def _part(part: Part) -> Line:
    try:
        version = metadata.version(part.name)
    except metadata.PackageNotFoundError:
        install = f"To use it: `pip install 'countermark[{part.extra}]'`."
        return _warn(Area.INSTALLATION, part.name, f"is not installed ({part.extra})", install)
    fault = _import_fault(part.module)
    if not fault:
        return _ok(Area.INSTALLATION, part.name, f"{version} ({part.extra})")
    following = f"Install it again: `pip install --force-reinstall {part.name}`."
    if "libGL" in fault or "libEGL" in fault:
        following = "Install the system libraries: `apt-get install libgl1 libegl1`, or your system's packages of them."
    return _warn(Area.INSTALLATION, part.name, f"{version} is installed and does not load: {fault}", following)


def _import_fault(module: str) -> str:
    try:
        import_module(module)
    except ImportError as error:
        return str(error).splitlines()[0]
    except Exception as error:  # noqa: BLE001 - a package that breaks on import is a finding, not our crash
        return type(error).__name__
    return ""


def _version() -> Iterator[Line]:
    area = Area.VERSION
    with suppress(metadata.PackageNotFoundError):
        yield _ok(area, "countermark", f"{metadata.version('countermark')}, ledger schema {schema.VERSION}")
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= PYTHON:
        yield _ok(area, "Python", found)
    else:
        yield _missing(area, "Python", f"{found} is older than 3.11", "Install Python 3.11 or newer.")
    if sqlite3.sqlite_version_info >= SQLITE:
        yield _ok(area, "SQLite", sqlite3.sqlite_version)
    else:
        said = f"{sqlite3.sqlite_version} is older than 3.40"
        yield _missing(area, "SQLite", said, "Use a Python built with SQLite 3.40 or newer.")


def _capability() -> Iterator[Line]:
    area = Area.CAPABILITY
    if beneath.best_opener() is beneath.open_by_walk and sys.platform == "linux":
        following = "Nothing has to be done; Linux 5.6 or newer, without a filter on it, checks names in one call."
        yield _warn(area, "openat2", "is not offered here; names are walked step by step instead", following)
    else:
        way = "openat2" if sys.platform == "linux" else "a walk that follows no link"
        yield _ok(area, "safe names", f"are resolved by {way}")


def _host(env: Mapping[str, str]) -> Iterator[Line]:
    area = Area.HOST
    path = env.get("PATH", "")
    if not path:
        yield _warn(area, "PATH", "is empty: no program is found by its name", "Set PATH, at least to /usr/bin:/bin.")
    git = shutil.which("git", path=path) if path else None
    if git is None:
        yield _warn(area, "git", "is not found", "Install git to keep a workspace under version control.")
    else:
        yield _ok(area, "git", git)
    try:
        user = config.read_user(env)
        config.load(None, user)
    except (CountermarkError, OSError) as error:
        yield _missing(area, "settings", str(error), f"Correct {config.user_file(env)}.")
    else:
        yield _ok(area, "settings", f"from {config.user_file(env)}" if user is not None else "defaults")


def _disk(folder: Path) -> Iterator[Line]:
    area = Area.HOST
    try:
        with Root(folder) as files:
            yield _ok(area, "workspace", str(folder))
            yield _probe(files)
            yield _space(files)
            yield _keys(files)
            yield from _secrets(files)
    except CountermarkError as error:
        yield _missing(area, "workspace", error.sentence, error.next_action)


def _probe(files: Root) -> Line:
    names = [f"{HOME}/stage/doctor-{os.getpid()}-{number}" for number in (1, 2)]
    made: list[str] = []
    try:
        for name in names:
            files.create(name, name.encode())
            made.append(name)
        files.exchange(*names)
    except CountermarkError as error:
        return _missing(Area.CAPABILITY, "publishing", error.sentence, error.next_action)
    finally:
        for name in made:
            with suppress(CountermarkError):
                files.remove(name)
    return _ok(Area.CAPABILITY, "publishing", "the disk is writable and exchanges two names in one step")


def _space(files: Root) -> Line:
    settings = config.load(files.read(config.PROJECT_FILE, cap=1 << 20), config.read_user())
    free, wanted = files.free_bytes(), settings.min_free_mib << 20
    if free < wanted:
        said = f"{free >> 20} MiB are free, and {settings.min_free_mib} must stay free: no effect will start"
        return _missing(Area.HOST, "disk", said, "Free some space, or lower min_free_mib in countermark.toml.")
    if not files.exists(RESERVE):
        said = f"{free >> 20} MiB are free; the reserve for recording an ending on a full disk is used up"
        return _warn(
            Area.HOST, "disk", said, f"It is set aside again with the next effect ({RESERVE_BYTES >> 20} MiB)."
        )
    return _ok(Area.HOST, "disk", f"{free >> 20} MiB are free, {RESERVE_BYTES >> 20} MiB are held in reserve")


def _keys(files: Root) -> Line:
    exposed = []
    folder = f"{HOME}/keys"
    if files.stat(folder).st_mode & _OTHERS:
        exposed.append(folder)
    names = [entry.name for entry in files.listing(folder) if entry.name.endswith(".key")]
    exposed += [f"{folder}/{name}" for name in names if files.stat(f"{folder}/{name}").st_mode & _OTHERS]
    if not exposed:
        return _ok(Area.HOST, "signing key", "only this user can read it")
    said = f"other users of this machine may read {', '.join(exposed)}"
    return _warn(
        Area.HOST, "signing key", said, f"Run: chmod go-rwx {' '.join(exposed)}; then `countermark key rotate`."
    )


def _secrets(files: Root) -> Iterator[Line]:
    for name, reference in config.secrets(files.read(config.PROJECT_FILE, cap=1 << 20)).items():
        try:
            secret.resolve(reference)
        except CountermarkError as error:
            yield _warn(Area.HOST, f"secret {name}", error.sentence, error.next_action)
        else:
            yield _ok(Area.HOST, f"secret {name}", f"{reference} is there")


def _workspace(folder: Path) -> Iterator[Line]:
    area = Area.DELIVERY
    try:
        faults = backup.examine(folder / HOME / backup.LEDGER)
    except CountermarkError as error:
        yield _missing(area, "ledger", error.sentence, error.next_action)
        return
    if faults:
        first = faults[0]
        following = "Run `countermark ledger check`; restore a backup: `countermark ledger restore DIR`."
        if first.place == "schema":
            following = "Use the newer Countermark that wrote it."
        yield _missing(area, "ledger", f"{first.place}: {first.sentence}", following)
        return
    try:
        with Workspace(folder) as workspace:
            yield _ok(area, "ledger", f"an unbroken chain, {_events(workspace)} long")
            for look in (_clock, _open_tasks, _published):
                yield from look(workspace)
    except CountermarkError as error:
        yield _missing(area, "workspace", error.sentence, error.next_action)


def _events(workspace: Workspace) -> int:
    row = workspace.ledger.read(lambda tx: tx.one("SELECT COUNT(*) FROM events"))
    return int(row[0]) if row else 0


def _clock(workspace: Workspace) -> Iterator[Line]:
    row = workspace.ledger.read(lambda tx: tx.one("SELECT COALESCE(MAX(at), 0) FROM events"))
    behind = (int(row[0]) if row else 0) - workspace.clock.now_ms()
    if behind > _SKEW_MS:
        said = f"is {behind // 1000} s behind the last event; the ledger keeps its own time until it is past that"
        yield _warn(Area.HOST, "clock", said, "Set this machine's clock.")


def _open_tasks(workspace: Workspace) -> Iterator[Line]:
    area = Area.DELIVERY
    found = workspace.ledger.read(task.load_open)
    if not found:
        yield _ok(area, "tasks", "none is open")
    for one in found:
        if one.state is State.REVIEW_READY:
            yield _warn(area, "tasks", f"{one.id} waits for a person", f"See `countermark task show {one.id}`.")
        elif runner.is_gone(one.runner, workspace.locks):
            said = f"{one.id} is {one.state}, and its process is gone"
            yield _warn(area, "tasks", said, f"Settle it: `countermark task reconcile {one.id}`.")
        else:
            yield _warn(area, "tasks", f"{one.id} is {one.state}", f"See `countermark task why {one.id}`.")


def _published(workspace: Workspace) -> Iterator[Line]:
    """Compare what stands with what was published; what a person changed since is theirs, so it is no fault."""

    def question(tx: Tx) -> list[fence.Resource]:
        rows = tx.all("SELECT name FROM resources WHERE last_task IS NOT NULL ORDER BY name")
        return [known for (name,) in rows if (known := fence.load(tx, name)) is not None]

    known = [one for one in workspace.ledger.read(question) if one.name.startswith(publish.FILE)]
    stands = {one.name: _observed(workspace, one.name) for one in known}
    for one in known:
        if stands[one.name] == ABSENT:
            said = f"{publish.place(one.name)} is gone; its bytes are in the store"
            following = (
                f"Repeat the command that made it: it brings it back. See `countermark task show {one.last_task}`."
            )
            yield _warn(Area.DELIVERY, "published", said, following)
    same = sum(stands[one.name] == one.revision for one in known)
    changed = len(known) - same - sum(revision == ABSENT for revision in stands.values())
    yield _ok(Area.DELIVERY, "published", f"{same} of {len(known)} stand as published, {changed} changed since")


def _observed(workspace: Workspace, name: str) -> str:
    try:
        return publish.observe(workspace, name)
    except CountermarkError:
        return "unreadable"
