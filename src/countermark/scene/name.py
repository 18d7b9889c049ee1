"""Names of scenes, and of everything the store keeps beside one (seed 3 §1, §3.1).

A scene is named, never addressed by a path. What stands beside it is named so that a full match gives its scene back:
`backups/a.1.2.excalidraw` is revision 2 of `a.1` and nothing of `a` (research scene §4.1, holes 1 to 4).
"""

from __future__ import annotations

import re
from typing import Any, Final

from countermark.scene.codes import SceneError, refuse

SUFFIX: Final = ".excalidraw"
KEPT: Final = ".dsh-excalidraw"
BACKUPS: Final = f"{KEPT}/backups"
LOCKS: Final = f"{KEPT}/locks"
INTENTS: Final = f"{KEPT}/intents"
QUARANTINE: Final = f"{KEPT}/quarantine"
TRASH: Final = f"{KEPT}/trash"
FOLDERS: Final = (KEPT, BACKUPS, LOCKS, INTENTS, QUARANTINE, TRASH)

_ALPHABET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_DEVICE: Final = re.compile(r"(con|nul|aux|prn|com[1-9]|lpt[1-9])(\..*)?")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]*")


def check(name: Any) -> str:
    """Return a scene's name; raise `invalid_name` with the reason for what is none."""
    reason = fault(name)
    if reason is not None:
        raise _invalid(name, reason)
    return str(name)


def fault(name: Any) -> str | None:
    """Return why something is no name of a scene: `alphabet`, `dots` or `device-name`; None when it is one."""
    if not isinstance(name, str) or _ALPHABET.fullmatch(name) is None:
        return "alphabet"
    if ".." in name:
        return "dots"
    return "device-name" if _DEVICE.fullmatch(name) else None


def scene_file(name: str) -> str:
    """Return the file of a scene."""
    return name + SUFFIX


def sidecar_file(name: str) -> str:
    """Return the file of a scene's revision record."""
    return f"{KEPT}/{name}.meta.json"


def backup_file(name: str, revision: int) -> str:
    """Return the file that holds an earlier revision."""
    return f"{BACKUPS}/{name}.{revision}{SUFFIX}"


def token_file(name: str) -> str:
    """Return the lock file of seed 3, whose existence alone says that somebody writes."""
    return f"{LOCKS}/{name}.lock"


def lock_file(name: str) -> str:
    """Return the permanent file that the system's own lock is taken on."""
    return f"{LOCKS}/{name}.flock"


def intent_file(name: str, revision: int) -> str:
    """Return the file of the intent that leads to a revision; two files take turns, so that one is always whole."""
    return f"{INTENTS}/{name}.{revision % 2}.json"


def quarantine_file(name: str, sha256: str) -> str:
    """Return the file in which damaged bytes are kept."""
    return f"{QUARANTINE}/{name}.{sha256}{SUFFIX}"


def backup_revision(name: str, file: str) -> int | None:
    """Return the revision of a scene that a file of the backups folder holds; None when it is another scene's."""
    owner, _, number = file.removesuffix(SUFFIX).rpartition(".")
    if not file.endswith(SUFFIX) or owner != name or _NUMBER.fullmatch(number) is None:
        return None
    return int(number)


def _invalid(name: Any, reason: str) -> SceneError:
    shown = ascii(name) if isinstance(name, str) else f"A {type(name).__name__}"
    said = {
        "alphabet": "a name is 1 to 64 of a-z, 0-9, dot, dash and underscore, and begins with a letter or digit",
        "dots": "a name holds no two dots in a row",
        "device-name": "some systems keep that name for a device",
    }[reason]
    return refuse(
        "invalid_name",
        f"{shown[:100]} is not a scene's name: {said}.",
        next_action="Choose another name, for example architecture or plan-2.",
        details={"reason": reason},
    )
