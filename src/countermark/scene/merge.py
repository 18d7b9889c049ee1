"""Two people changed one scene: what both changes together would be, for a person to take or leave.

Three versions go in: the one that both began with, ours, and theirs, which is the one that is stored. Every element
that only one side touched comes from that side; one that both touched is a conflict, and stays theirs until somebody
chooses. What merely follows (see `touch`) is no conflict: it is made to follow again. Nothing is written here, and
elements that are as stored stay the stored objects, so that a save of the proposal keeps their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from countermark.scene.binding import END, START
from countermark.scene.curve import path
from countermark.scene.dispute import STACK, Account, Choice, Conflict, apart, name_of, over_whole_units
from countermark.scene.document import Element, Scene, kind_of, require_within
from countermark.scene.env import Env
from countermark.scene.jsontext import same, uncollected
from countermark.scene.reconcile import Reconciled
from countermark.scene.relation import is_sound
from countermark.scene.spelling import escaped
from countermark.scene.touch import KEPT_BY_THE_EDITOR, Elements, Key, Rank, Side, is_live, keyed, unchanged
from countermark.scene.weave import rekeyed, restacked, woven

Choices = Mapping[str, Choice]


class Note(NamedTuple):
    """An element that had to let go of another one, which the other side deleted; `what` that one was to it."""

    key: Key
    what: str
    gone: Key


@dataclass(frozen=True, slots=True)
class Merged:
    """A proposal, over theirs."""

    scene: Scene
    conflicts: tuple[Conflict, ...]
    notes: tuple[Note, ...]

    @property
    def clean(self) -> bool:
        """Whether the two touched different things."""
        return not self.conflicts

    @property
    def settled(self) -> bool:
        """Whether nothing is left to choose."""
        return all(conflict.chosen is not None for conflict in self.conflicts)


def merge(base: Scene, ours: Scene, theirs: Scene, env: Env, choices: Choices | None = None) -> Merged:
    """Return what both changes of a scene come to; `choices` settles conflicts by their ids.

    Raises `too_many_elements` and `too_large` when both together are more than is allowed.
    """
    with uncollected(len(theirs.source)):
        return _Merge(base, ours, theirs, env, choices or {}).done()


class _Merge:
    def __init__(self, base: Scene, ours: Scene, theirs: Scene, env: Env, choices: Choices) -> None:
        self.scenes = base, ours, theirs
        self.base, self.ours, self.theirs = keyed(base.elements), keyed(ours.elements), keyed(theirs.elements)
        places = list(self.base)
        self.mine, self.other = (
            Account(
                Side(self.base, version),
                {key for key in restacked(places, list(version)) if not _is_label(version[key])},
            )
            for version in (self.ours, self.theirs)
        )
        self.env = env
        self.choices = choices
        self.conflicts: list[Conflict] = []
        self.now: dict[Key, Element] = {}
        self.home: dict[Key, tuple[Elements, ...]] = {}
        self.away: dict[Key, Elements] = {}
        self.newer: set[Key] = set()

    def done(self) -> Merged:
        decided: set[Key] = set()
        for found in over_whole_units(self.mine, self.other, self._containers(), self.base):
            conflict = self._asked(found)
            for key in conflict.members:
                self._take(key, conflict.chosen or "theirs", whole_unit=True)
            decided.update(conflict.members)
        for key in {**self.theirs, **self.ours}:
            if key not in decided:
                self._take(key, self._choice(key))
        work = Reconciled(self.now, self.home, self.away, self.base, self.env)
        work.bring_together()
        for key in self.newer.intersection(self.now) | work.changed:
            self._renew(work.edit(key), key)
        elements = self._ordered()
        after = self.scenes[2].replaced(elements=elements, app_state=self._app_state(), files=self._files(elements))
        require_within(after, self.env.limits)
        return Merged(after, tuple(self.conflicts), tuple(Note(*note) for note in work.notes))

    def _containers(self) -> dict[Key, tuple[Key, ...]]:
        """Return the texts that any version binds to each container."""
        found: dict[Key, dict[Key, None]] = {}
        for version in (self.base, self.ours, self.theirs):
            for key, element in version.items():
                holder = element.get("containerId")
                if kind_of(element) == "text" and isinstance(holder, str):
                    found.setdefault((holder, 0), {})[key] = None
        return {holder: tuple(texts) for holder, texts in found.items()}

    def _asked(self, conflict: Conflict) -> Conflict:
        chosen = self.choices.get(conflict.id)
        made = replace(conflict, chosen=chosen if chosen in conflict.choices else None)
        self.conflicts.append(made)
        return made

    def _choice(self, key: Key) -> Choice:
        """Return from which side an element comes."""
        base, ours, theirs = self.base.get(key), self.ours.get(key), self.theirs.get(key)
        stacked = key in self.mine.stacked and key in self.theirs
        if unchanged(ours, theirs) or (unchanged(ours, base) and not stacked):
            return "theirs"
        if unchanged(theirs, base) and key not in self.other.stacked:
            return "mine" if not unchanged(ours, base) else "theirs"
        if is_live(ours) and is_live(theirs):
            return self._between(key)
        if is_live(base):  # one deleted it or both did; what both touched was decided before
            return (
                "mine" if is_live(theirs) or (theirs is None and ours is not None and not is_live(ours)) else "theirs"
            )
        return "mine" if is_live(ours) or theirs is None else "theirs"

    def _between(self, key: Key) -> Choice:
        """Return from which side an element comes that is live in both, and in each otherwise than in the base."""
        ours, theirs = self.ours[key], self.theirs[key]
        stacked = key in self.mine.stacked or key in self.other.stacked
        if same(_content(ours), _content(theirs), doubles=True) and not stacked:
            return "theirs"
        if self.mine.added(key) or self.other.added(key):
            one, other = self.mine.fields(key), self.other.fields(key)
            return self._asked(Conflict(name_of(key), one, other, members=(key,))).chosen or "theirs"
        mine, their = self.mine.rank(key), self.other.rank(key)
        if mine is not their:
            return "mine" if mine > their else "theirs"
        bent = self._bent(self.mine.side, key), self._bent(self.other.side, key)
        if mine is Rank.DONE or (mine is Rank.FOLLOWED and all(bent)):
            one, other = self.mine.fields(key), self.other.fields(key)
            offered: tuple[Choice, ...] = ("mine", "theirs", "both") if apart(one, other, ours) else ("mine", "theirs")
            return self._asked(Conflict(name_of(key), one, other, offered, (key,))).chosen or "theirs"
        free = [sum(one.get(end) is None for end in (START, END)) for one in (ours, theirs)]
        if bent[0] is not bent[1] or free[0] != free[1]:  # an end that was let go stays where it was left
            return "mine" if (bent[0], free[0]) > (bent[1], free[1]) else "theirs"
        # Both followed, and will follow again: either would do, so take the same one whoever asks.
        return "mine" if repr(sorted(ours.items())) < repr(sorted(theirs.items())) else "theirs"

    @staticmethod
    def _bent(side: Side, key: Key) -> bool:
        """Say whether the points between an arrow's ends lie elsewhere in the scene than before."""
        before, after = side.before[key], side.after[key]
        if kind_of(after) != "arrow" or after.get("elbowed") or not (is_sound(before) and is_sound(after)):
            return False
        return path(before)[1:-1] != path(after)[1:-1]

    def _take(self, key: Key, choice: Choice, *, whole_unit: bool = False) -> None:
        ours, theirs = self.ours.get(key), self.theirs.get(key)
        mine = choice == "mine"
        element = ours if mine else theirs
        self.home[key] = (self.ours,) if mine else (self.theirs,)
        self.away[key] = self.theirs if mine else self.ours
        if unchanged(ours, theirs):  # it stands as it is in both
            self.home[key] = self.theirs, self.ours
        elif choice != "theirs" and not unchanged(theirs, self.base.get(key)):
            self.newer.add(key)
        if choice == "both" and ours is not None and theirs is not None:
            changed = self.mine.fields(key) - {STACK}
            kept = {name: value for name, value in theirs.items() if name not in changed or name in ours}
            element = {**kept, **{name: ours[name] for name in ours if name in changed}}
        if element is None and whole_unit and mine and theirs is not None:
            # A person chose that what is stored goes: it leaves a tombstone, as it does in the editor.
            element = {**theirs, "isDeleted": True}
        if element is not None:
            self.now[key] = element

    def _renew(self, element: Element, key: Key) -> None:
        """Mark an element as newer than either side has it."""
        found = [version.get(key, {}).get("version") for version in (self.ours, self.theirs)]
        element["version"] = max((one for one in found if type(one) is int), default=0) + 1
        element["versionNonce"] = self.env.nonce()
        element["updated"] = self.env.now

    def _ordered(self) -> list[Element]:
        wanted = self.now.keys()
        over = {member: conflict.chosen for conflict in self.conflicts for member in conflict.members}
        ours = {
            key
            for key in self.mine.stacked.intersection(wanted)
            if (over.get(key) == "mine" if key in self.other.stacked else over.get(key, "mine") in ("mine", "both"))
        }

        def behind(key: Key) -> Key | None:
            holder = self.now[key].get("containerId")
            return (holder, 0) if isinstance(holder, str) and (holder, 0) in wanted else None

        fresh = {key for key in self.theirs if key not in self.base}
        line = woven(list(self.ours), list(self.theirs), wanted=wanted, placed_by_us=ours, fresh=fresh, behind=behind)
        own = [
            key not in self.theirs
            or key in ours
            or behind(key) in ours
            or not same(self.now[key].get("index"), self.theirs[key].get("index"))
            for key in line
        ]
        return rekeyed([self.now[key] for key in line], own)

    def _app_state(self) -> dict[str, Any] | None:
        return self._parts("/appState", *(scene.app_state for scene in self.scenes))

    def _files(self, elements: list[Element]) -> dict[str, Any] | None:
        versions = [scene.files for scene in self.scenes]
        merged = self._parts("/files", *versions)
        kept = versions[2] if merged is None else merged
        used = {name for name in (element.get("fileId") for element in elements) if isinstance(name, str)}
        lost = {
            name: next(version[name] for version in reversed(versions) if name in version)
            for name in sorted(used - kept.keys())
            if any(name in version for version in versions)
        }
        return {**kept, **lost} if lost else merged

    def _parts(
        self, root: str, base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Merge members one by one; None where it is as theirs. One that both changed otherwise is a conflict."""
        merged = dict(theirs)
        for name in {**base, **ours, **theirs}:
            old, mine, other = (_member(version, name) for version in (base, ours, theirs))
            if same(mine, old, doubles=True) or same(mine, other, doubles=True):
                continue
            if not same(other, old, doubles=True):
                field = frozenset((name,))
                if self._asked(Conflict(f"{root}/{escaped(name)}", field, field)).chosen != "mine":
                    continue
            if name in ours:
                merged[name] = ours[name]
            else:
                merged.pop(name, None)
        return None if same(merged, dict(theirs)) else merged


def _is_label(element: Element) -> bool:
    """Say whether an element stands where its container stands, in the order too."""
    return isinstance(element.get("containerId"), str)


def _member(version: Mapping[str, Any], name: str) -> list[Any]:
    """Return a member for comparing: one that is absent is another thing than one that is null."""
    return [version[name]] if name in version else []


def _content(element: Element) -> Element:
    """Return an element's fields that are not the editor's own."""
    return {name: value for name, value in element.items() if name not in KEPT_BY_THE_EDITOR}
