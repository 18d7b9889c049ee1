"""Revisions of a stored scene compared, and what a page has not saved yet brought together with what is stored.

Nothing here writes: a proposal is saved by whoever takes it, at the revision and digest that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from countermark.kernel.errors import CountermarkError
from countermark.scene import document, whole
from countermark.scene.codes import refuse
from countermark.scene.desk import Desk, Found
from countermark.scene.diff import Diff, diff
from countermark.scene.dispute import unknown_choices
from countermark.scene.document import Scene
from countermark.scene.env import Env
from countermark.scene.merge import Choices, merge
from countermark.scene.proposal import proposal


class Compared(NamedTuple):
    """Two revisions of a scene, and what differs."""

    older: Found
    newer: Found
    diff: Diff


class Proposed(NamedTuple):
    """A merge in words, with the revision and digest that a save of it is to name, and the document as bytes."""

    facts: dict[str, Any]
    data: bytes


def revisions(desk: Desk, name: Any, older: int | None = None, newer: int | None = None) -> Compared:
    """Compare two revisions: by default the one that stands, and the one before that.

    Raises `not_found` for a revision that is not kept.
    """
    after = desk.read(name) if newer is None else desk.version(name, newer)
    if older is None:
        kept = [int(row["revision"]) for row in desk.history(name) if row["revision"] < after.revision]
        if not kept:
            raise refuse(
                "not_found",
                f"No revision of {name} from before {after.revision} is kept.",
                next_action="Name two revisions that the history lists.",
            )
        older = max(kept)
    before = after if older == after.revision else desk.version(name, older)
    return Compared(before, after, diff(before.scene, after.scene))


def proposed(
    desk: Desk,
    name: Any,
    sent: Mapping[str, Any],
    *,
    revision: int | None = None,
    base: Mapping[str, Any] | None = None,
    choices: Choices | None = None,
) -> Proposed:
    """Return what an unsaved scene and the stored one come to.

    Both began with an earlier `revision`, or with `base`, that document itself, where the revision is not kept. Raises
    `not_found` with the reason `base` when it is not.
    """
    now = desk.read(name)
    began = whole.replacing(now.scene, base) if base is not None else _began(desk, name, revision, now)
    ours = whole.replacing(began, sent)
    found = merge(began, ours, now.scene, Env(limits=desk.limits), choices)
    facts: dict[str, Any] = {
        "name": now.name,
        "base": {"revision": revision},
        "revision": now.revision,
        "sha256": now.sha256,
    }
    # Somebody may have saved between two calls: a choice can be about what is no conflict any more.
    facts["ignored"] = unknown_choices(choices or {}, found.conflicts)
    return Proposed({**facts, **proposal(began, ours, now.scene, found)}, document.dump(found.scene))


def _began(desk: Desk, name: Any, revision: int | None, now: Found) -> Scene:
    if revision is None or revision == now.revision:
        return now.scene
    try:
        return desk.version(name, revision).scene
    except CountermarkError as error:
        if error.code != "not_found":
            raise
        raise refuse(
            "not_found",
            f"Revision {revision} of {name}, which this began with, is not kept.",
            next_action="Send that document itself as base.",
            details={**error.details, "reason": "base"},
        ) from error
