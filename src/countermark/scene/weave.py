"""The drawing order of a merged scene: theirs, with what we put in and what we restacked where we had it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar, cast

from countermark.scene import order
from countermark.scene.document import Element

K = TypeVar("K")


def restacked(before: Sequence[K], after: Sequence[K]) -> set[K]:
    """Return the fewest keys that were moved in the order to get from one to the other."""
    places = {key: place for place, key in enumerate(before)}
    shared = [key for key in after if key in places]
    tails: list[int] = []
    ends: list[int] = []
    previous: dict[int, int] = {}
    for place, key in enumerate(shared):
        slot = bisect_left(tails, places[key])
        if slot:
            previous[place] = ends[slot - 1]
        tails[slot : slot + 1], ends[slot : slot + 1] = [places[key]], [place]
    stayed: set[K] = set()
    here = ends[-1] if ends else None
    while here is not None:
        stayed.add(shared[here])
        here = previous.get(here)
    return set(shared) - stayed


def woven(
    ours: Sequence[K],
    theirs: Sequence[K],
    *,
    wanted: Collection[K],
    placed_by_us: Collection[K],
    fresh: Collection[K],
    behind: Callable[[K], K | None],
) -> list[K]:
    """Return the wanted keys in one order.

    `theirs` is the order to begin with; every key of `ours` that it lacks, or that is `placed_by_us`, comes right after
    the key it follows in `ours`. What they put in at the same place (`fresh`) stays below it. A key that must stand
    directly behind another (`behind`: a label behind its container) does.
    """
    kept = set(wanted)
    mine = [key for key in ours if key in kept]
    carried = {key for key in kept if behind(key) in placed_by_us}
    line = [key for key in theirs if key in kept and key not in placed_by_us and key not in carried]
    known = set(line)
    last: K | None = None
    for key in mine:
        if key not in known:
            place = 0 if last is None else line.index(last) + 1
            if behind(key) is None or behind(key) != last:
                while place < len(line) and line[place] in fresh:
                    place += 1
            line.insert(place, key)
            known.add(key)
        last = key
    for key in theirs:
        if key in carried and key not in known:  # a label that we do not have, of a container that we moved
            line.insert(line.index(cast("K", behind(key))) + 1, key)
    return line


def rekeyed(elements: Sequence[Element], fresh: Sequence[bool]) -> list[Element]:
    """Return the elements with order keys for those that were put in and whose own do not rise along the line."""
    if not any(fresh):
        return list(elements)
    keys = [element.get("index") for element in elements]
    above: list[Any] = []
    later: Any = None
    for key, new in zip(reversed(keys), reversed(fresh), strict=True):
        above.append(later)
        later = later if new else key
    fits: list[bool] = []
    last: Any = None
    for key, new, top in zip(keys, fresh, reversed(above), strict=True):
        fits.append(not new or (order.is_key(key) and _below(last, key) and _below(key, top)))
        last = key if fits[-1] else last
    given = iter(order.assign(keys, [not fit for fit in fits]))
    return [
        element if fit or element.get("index") == (key := next(given)) else {**element, "index": key}
        for element, fit in zip(elements, fits, strict=True)
    ]


def _below(one: Any, other: Any) -> bool:
    return one is None or other is None or (isinstance(one, str) and isinstance(other, str) and one < other)
