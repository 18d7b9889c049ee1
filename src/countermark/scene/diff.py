"""What differs between two versions of a scene: for people in sentences, for programs field by field.

One sentence says what somebody did; what merely followed (a label, an arrow's end, the children of a frame) is counted
in it and listed beside it. Elements of which the very same is to be said share a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from countermark.scene.binding import END, START, target_of
from countermark.scene.document import APP_STATE, Element, Scene, kind_of
from countermark.scene.jsontext import same
from countermark.scene.naming import Names
from countermark.scene.number import is_number
from countermark.scene.phrase import phrases
from countermark.scene.touch import Elements, Key, Side, is_live, keyed, unchanged
from countermark.scene.weave import restacked

ADDED, REMOVED, CHANGED = "added", "removed", "changed"
MARKS: Final = {ADDED: "+", REMOVED: "-", CHANGED: "~"}
_TOGETHER: Final = 3
_NAMED: Final = 3
_LONGEST: Final = 2**53


@dataclass(frozen=True, slots=True)
class Entry:
    """One element that differs.

    `said` are phrases about what was done; where it is empty the element only followed others. `fields` are those that
    differ. `followers` are the elements that went along.
    """

    key: Key
    kind: str
    type: str
    name: str
    said: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()
    followers: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Diff:
    """Two versions compared.

    `scene` are phrases about the whole. `quiet` counts the elements that differ only in what the editor keeps for
    itself: version numbers, order keys, lists of bound elements.
    """

    before: Elements
    after: Elements
    entries: tuple[Entry, ...]
    scene: tuple[str, ...] = ()
    quiet: int = 0
    _names: tuple[Names, Names] = field(default=(Names({}), Names({})), repr=False)

    def of(self, kind: str) -> list[Entry]:
        """Return the entries of one kind that somebody did something to."""
        return [entry for entry in self.entries if entry.kind == kind and (entry.said or kind != CHANGED)]

    def counts(self) -> dict[str, int]:
        """Return how many elements were added, removed and changed.

        A label that came or went with its container, and what merely followed, is not counted.
        """
        return {ADDED: len(self._seen(ADDED)), REMOVED: len(self._seen(REMOVED)), CHANGED: len(self.of(CHANGED))}

    def summary(self) -> str:
        """Return the counts in words: “2 added, 1 changed”; “nothing changed” where nothing did."""
        said = [f"{number} {kind}" for kind, number in self.counts().items() if number]
        if self.scene:
            said.append("the scene's settings" if len(self.scene) > 1 or not said else "a setting")
        return ", ".join(said) or "nothing that shows" if self.quiet or self.entries else "nothing"

    def lines(self) -> list[str]:
        """Return one sentence a line, each after its mark: `+` added, `-` removed, `~` changed."""
        lines = [f"{MARKS[kind]} {entry.name}" for kind in (ADDED, REMOVED) for entry in self._seen(kind)]
        alike: dict[tuple[str, ...], list[Entry]] = {}
        for entry in self.of(CHANGED):
            alike.setdefault(entry.said, []).append(entry)
        for said, entries in alike.items():
            if len(entries) >= _TOGETHER:
                lines.append(f"{MARKS[CHANGED]} {self._together(entries)}: {'; '.join(said)}{self._along(entries)}")
            else:
                lines += [f"{MARKS[CHANGED]} {self._sentence(entry)}" for entry in entries]
        return lines + [f"{MARKS[CHANGED]} {phrase}" for phrase in self.scene]

    def wire(self) -> dict[str, Any]:
        """Return the JSON form; each changed field with what it was and is, null where it was not there."""
        return {
            **{kind: [self._row(entry) for entry in self.of(kind)] for kind in (ADDED, REMOVED, CHANGED)},
            "followed": [self._row(entry) for entry in self.entries if entry.kind == CHANGED and not entry.said],
            "scene": list(self.scene),
            "unseen": self.quiet,
            "summary": self.summary(),
            "lines": self.lines(),
        }

    def _row(self, entry: Entry) -> dict[str, Any]:
        row: dict[str, Any] = {"id": entry.key[0], "type": entry.type, "name": entry.name}
        if entry.kind != CHANGED:
            return row
        before, after = self.before[entry.key], self.after[entry.key]
        fields = {
            name: {"from": _told(before.get(name)), "to": _told(after.get(name))} for name in sorted(entry.fields)
        }
        row |= {"what": list(entry.said), "fields": fields} if entry.said else {"fields": fields}
        return row | ({"followers": [key[0] for key in entry.followers]} if entry.followers else {})

    def _seen(self, kind: str) -> list[Entry]:
        """Return what was added or removed, without the labels that came or went with their containers."""
        version = self.after if kind == ADDED else self.before
        entries = self.of(kind)
        keys = {entry.key for entry in entries}
        return [entry for entry in entries if entry.type != "text" or _holder(version[entry.key]) not in keys]

    def _sentence(self, entry: Entry) -> str:
        joint = ":" if entry.said[0].startswith("its ") else ""
        return f"{entry.name}{joint} {'; '.join(entry.said)}{self._along([entry])}"

    def _along(self, entries: list[Entry]) -> str:
        """Return what went along, in words; labels are not worth a word."""
        keys = {key for entry in entries for key in entry.followers}
        arrows = sum(1 for key in keys if kind_of(self.after[key]) == "arrow")
        rest = sum(1 for key in keys if kind_of(self.after[key]) not in ("arrow", "text"))
        parts = [_count(number, noun) for number, noun in ((rest, "element"), (arrows, "arrow")) if number]
        return f" ({' and '.join(parts)} went along)" if parts else ""

    @staticmethod
    def _together(entries: list[Entry]) -> str:
        named = [entry.name for entry in entries[:_NAMED]]
        more = len(entries) - len(named)
        return ", ".join(named) + (f" and {more} more" if more else "")


def diff(before: Scene, after: Scene) -> Diff:
    """Return what differs between two versions of a scene."""
    old, new = keyed(before.elements), keyed(after.elements)
    side = Side(old, new)
    names = Names(old), Names(new)
    stacked = restacked(list(old), list(new))
    entries: list[Entry] = []
    quiet = 0
    for key in {**old, **new}:
        there, here = old.get(key), new.get(key)
        if is_live(there) and is_live(here) and there is not None and here is not None:
            same_as_before = unchanged(there, here)
            if same_as_before and key not in stacked:
                continue
            entry = _changed(key, side, names, stacked)
            if entry is None:
                quiet += not same_as_before
            else:
                entries.append(entry)
        elif is_live(here) and here is not None:
            entries.append(Entry(key, ADDED, kind_of(here), names[1].of(key)))
        elif is_live(there) and there is not None:
            entries.append(Entry(key, REMOVED, kind_of(there), names[0].of(key)))
        elif not unchanged(there, here):
            quiet += 1
    return Diff(old, new, tuple(_led(entries, side)), tuple(_settings(before, after)), quiet, names)


def _changed(key: Key, side: Side, names: tuple[Names, Names], stacked: set[Key]) -> Entry | None:
    fields = side.fields(key)
    done = fields - side.followed(key)
    before, after = side.before[key], side.after[key]
    if key in stacked and not before.get("containerId"):
        done |= {"order"}
    fields -= {"label"}
    if not fields and not done:
        return None
    said = phrases(before, after, done, names)
    return Entry(key, CHANGED, kind_of(after), names[0].of(key), tuple(said), frozenset(fields))


def _led(entries: list[Entry], side: Side) -> list[Entry]:
    """Return the entries with what went along named at what it followed, its label's words included."""
    places = {entry.key: place for place, entry in enumerate(entries)}
    found = list(entries)
    for entry in entries:
        if entry.kind != CHANGED:
            continue
        after = side.after[entry.key]
        leaders = [after.get("containerId"), after.get("frameId")]
        leaders += [target_of(after.get(end)) for end in (START, END)]
        for name in leaders if side.followed(entry.key) & entry.fields else ():
            place = places.get((name, 0)) if isinstance(name, str) else None
            if place is not None and found[place].kind == CHANGED and side.moved(name):
                leader = found[place]
                found[place] = _with(leader, entry.key)
                break
    return found


def _holder(text: Element) -> Key:
    name = text.get("containerId")
    return (name, 0) if isinstance(name, str) else (None, -1)


def _with(leader: Entry, follower: Key) -> Entry:
    followers = (*leader.followers, follower)
    return Entry(leader.key, leader.kind, leader.type, leader.name, leader.said, leader.fields, followers)


def _settings(before: Scene, after: Scene) -> list[str]:
    said: list[str] = []
    for name in APP_STATE:
        old, new = before.app_state.get(name), after.app_state.get(name)
        if not same(old, new, doubles=True):
            said.append(_SETTINGS[name](old, new))
    fresh = [name for name in after.files if name not in before.files]
    gone = [name for name in before.files if name not in after.files]
    said += [f"{_count(len(names), 'image file')} {what}" for names, what in ((fresh, "came"), (gone, "went")) if names]
    return said


_SETTINGS: Final[Mapping[str, Any]] = {
    "viewBackgroundColor": lambda old, new: f"the canvas is now {new or 'none'} (was {old or 'none'})",
    "gridSize": lambda old, new: f"the grid is now {new or 'off'} (was {old or 'off'})",
    "gridModeEnabled": lambda _, new: f"the grid was switched {'on' if new else 'off'}",
}


def _told(value: Any) -> Any:
    """Return a value for an answer: whole numbers that no double holds as the nearest one."""
    if isinstance(value, dict):
        return {name: _told(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_told(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -_LONGEST <= value <= _LONGEST:
        return float(value) if is_number(value) else None
    return value


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
