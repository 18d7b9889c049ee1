"""What both sides of a merge touched, and what a person may choose there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from countermark.scene.document import Element, kind_of
from countermark.scene.touch import PLACE, Key, Rank, Side, is_live

Choice = Literal["mine", "theirs", "both"]
CHOICES: Final = get_args(Choice)
ADDED: Final = "added"
STACK: Final = "order"
LABEL: Final = "label"

_COUPLED: Final = PLACE | {"startBinding", "endBinding", "elbowed", "scale", "crop"}
_WORDING: Final = frozenset(
    (
        "text",
        "originalText",
        "fontSize",
        "fontFamily",
        "lineHeight",
        "textAlign",
        "verticalAlign",
        "autoResize",
        "containerId",
    )
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that both touched.

    `id` names it in a choice: an element's id, or a JSON pointer for what is no element. `mine` and `theirs` are the
    fields that each side changed; None where that side deleted it. `members` are the elements it decides about, the one
    it is named after first. `chosen` is None while nobody chose: then theirs, what is stored, stays.
    """

    id: str
    mine: frozenset[str] | None
    theirs: frozenset[str] | None
    choices: tuple[Choice, ...] = ("mine", "theirs")
    members: tuple[Key, ...] = ()
    chosen: Choice | None = None


class Account:
    """What one side did, element by element, its order included."""

    def __init__(self, side: Side, stacked: set[Key]) -> None:
        """Take over a side and the elements that it moved in the drawing order."""
        self.side = side
        self.stacked = stacked

    def live(self, key: Key) -> bool:
        """Say whether an element is there in the end."""
        return is_live(self.side.after.get(key))

    def gone(self, key: Key) -> bool:
        """Say whether an element was there and is not any more."""
        return is_live(self.side.before.get(key)) and not self.live(key)

    def added(self, key: Key) -> bool:
        """Say whether an element is there that was not."""
        return not is_live(self.side.before.get(key)) and self.live(key)

    def rank(self, key: Key) -> Rank:
        """Return how much was done to an element that is there before and after."""
        return Rank.DONE if key in self.stacked else self.side.rank(key)

    def did(self, key: Key) -> bool:
        """Say whether something was done to an element that is there in the end: it was changed, moved or added."""
        return self.added(key) or (self.live(key) and self.rank(key) is Rank.DONE)

    def fields(self, key: Key) -> frozenset[str]:
        """Return what was done to an element that is there in the end."""
        if self.added(key):
            return frozenset((ADDED,))
        stacked = frozenset((STACK,)) if key in self.stacked else frozenset()
        return frozenset(self.side.done(key)) | stacked


def over_whole_units(
    mine: Account, theirs: Account, containers: Mapping[Key, tuple[Key, ...]], others: Iterable[Key]
) -> Iterator[Conflict]:
    """Yield the conflicts that are about more than one element's fields.

    One side deleted what the other touched, or a container's label; or both gave it a label. `containers` has the
    texts that any version binds to each.
    """
    decided: set[Key] = set()
    for key, labels in [*containers.items(), *((key, ()) for key in others)]:
        if key in decided:
            continue
        members = key, *labels
        found = _deleted(mine, theirs, members) or _labelled_twice(mine, theirs, members)
        if found is not None:
            decided.update(members)
            yield found


def apart(mine: frozenset[str], theirs: frozenset[str], element: Element) -> bool:
    """Say whether two changes of an element are of different parts of it, so that both can stand."""
    return bool(mine and theirs) and not _parts(mine, element) & _parts(theirs, element)


def name_of(key: Key) -> str:
    """Return how an element is named in a choice."""
    return f"{key[0] or ''}#{key[1]}" if key[1] or key[0] is None else key[0]


def unknown_choices(given: Mapping[str, Any], conflicts: Iterable[Conflict]) -> list[str]:
    """Return the ids in some choices that no conflict has, or whose choice it does not offer."""
    offered = {conflict.id: conflict.choices for conflict in conflicts}
    return [name for name, choice in given.items() if choice not in offered.get(name, ())]


def _deleted(mine: Account, theirs: Account, members: tuple[Key, ...]) -> Conflict | None:
    key = members[0]
    for one, other in ((mine, theirs), (theirs, mine)):
        if not one.gone(key) or not other.live(key):
            continue
        did = [member for member in members if other.did(member)]
        if did:
            fields = frozenset[str]().union(*(other.fields(member) for member in did))
            ours, others = (None, fields) if one is mine else (fields, None)
            return Conflict(name_of(key), ours, others, members=members)
    return None


def _labelled_twice(mine: Account, theirs: Account, members: tuple[Key, ...]) -> Conflict | None:
    """Return the conflict of a container whose label both touched, where at least one gave it a new one."""
    key, *labels = members
    if not (mine.live(key) and theirs.live(key)):
        return None
    touched = [[label for label in labels if one.did(label) or one.gone(label)] for one in (mine, theirs)]
    fresh = [{label for label in labels if one.added(label)} for one in (mine, theirs)]
    if not all(touched) or not any(fresh) or fresh[0] & fresh[1]:
        return None
    return Conflict(name_of(key), mine.fields(key) | {LABEL}, theirs.fields(key) | {LABEL}, members=members)


def _parts(fields: frozenset[str], element: Element) -> set[str]:
    """Return what is changed as one: an element's place and shape; of a text, its words and fonts with it."""
    coupled = _COUPLED | _WORDING if kind_of(element) == "text" else _COUPLED
    return {"place" if field in coupled else field for field in fields}
