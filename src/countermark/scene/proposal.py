"""A merge as a person meets it: what each side did, what is disputed and how, and what taking it would change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from countermark.scene.diff import Diff, diff
from countermark.scene.dispute import ADDED, STACK, Conflict
from countermark.scene.document import Scene, kind_of
from countermark.scene.merge import Merged
from countermark.scene.naming import Names
from countermark.scene.phrase import phrases
from countermark.scene.touch import Key, Side, is_live, keyed

Json = dict[str, Any]


def proposal(base: Scene, ours: Scene, theirs: Scene, merged: Merged) -> Json:
    """Return a merge in words, without the merged scene itself."""
    mine, other = diff(base, ours), diff(base, theirs)
    return {
        "clean": merged.clean,
        "settled": merged.settled,
        "summary": _summary(mine, other, merged),
        "mine": _brief(mine),
        "theirs": _brief(other),
        "changes": _brief(diff(theirs, merged.scene)),
        "conflicts": list(_conflicts(merged.conflicts, mine, other)),
        "notes": list(_notes(merged, mine, other)),
    }


def _brief(found: Diff) -> Json:
    return {"summary": found.summary(), "lines": found.lines(), "counts": found.counts()}


def _summary(mine: Diff, other: Diff, merged: Merged) -> str:
    said = f"Yours: {mine.summary()}. Theirs: {other.summary()}. "
    if merged.clean:
        return f"{said}No element was changed by both."
    number = len(merged.conflicts)
    left = sum(1 for conflict in merged.conflicts if conflict.chosen is None)
    what = "One thing was" if number == 1 else f"{number} things were"
    return f"{said}{what} changed by both" + (f", {left} still to choose." if left else ", all chosen.")


def _conflicts(conflicts: tuple[Conflict, ...], mine: Diff, other: Diff) -> Iterator[Json]:
    names = Names(mine.before)
    for conflict in conflicts:
        row: Json = {"id": conflict.id, "choices": list(conflict.choices), "chosen": conflict.chosen}
        if conflict.members:
            key = conflict.members[0]
            element = mine.before.get(key) or other.after.get(key) or mine.after[key]
            called = names if key in mine.before else Names(other.after)
            row |= {
                "name": called.of(key),
                "type": kind_of(element),
                "members": [member[0] for member in conflict.members],
                "mine": _did(mine, conflict.members, conflict.mine),
                "theirs": _did(other, conflict.members, conflict.theirs),
            }
        else:
            what = conflict.id.rpartition("/")[2]
            row |= {"name": f"the scene's {what}", "type": "scene", "members": []}
            row |= {side: [f"{what} was changed"] for side in ("mine", "theirs")}
        yield row


def _did(side: Diff, members: tuple[Key, ...], fields: frozenset[str] | None) -> list[str]:
    """Return what one side did to the elements of a conflict, a phrase each."""
    names = Names(side.before), Names(side.after)
    if fields is None:
        return ["was deleted"]
    said: list[str] = []
    for place, key in enumerate(members):
        before, after = side.before.get(key), side.after.get(key)
        about = "" if not place else "its label "
        if is_live(before) and not is_live(after):
            said.append(f"{about}was deleted")
        elif is_live(after) and not is_live(before):
            said.append(f"{about}was added")
        elif before is not None and after is not None:
            done = Side(side.before, side.after).done(key)
            said += [f"{about}{phrase}" for phrase in phrases(before, after, done, names)]
    if STACK in fields:
        said.append("was moved in the stack")
    return said or ["was added" if ADDED in fields else "was changed"]


def _notes(merged: Merged, mine: Diff, other: Diff) -> Iterator[str]:
    """Say which elements had to let go of something that the other side deleted."""
    after, before = Names(keyed(merged.scene.elements)), Names(mine.before)
    for note in merged.notes:
        gone = before if note.gone in mine.before else Names(other.after)
        yield f"{after.of(note.key)}: {note.what} was deleted ({gone.of(note.gone)})"
