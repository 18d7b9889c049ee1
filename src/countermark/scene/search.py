"""Where a text stands in all scenes of a folder: names, texts, labels, titles of frames, links. Nothing is written.

What a scene says is remembered by the digest of its bytes, so that a second search reads only what changed. A search
ends at so many hits or seconds, and says then what it has not looked at.
"""

from __future__ import annotations

import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene import document
from countermark.scene import name as names
from countermark.scene.codes import as_scene_error, refuse
from countermark.scene.document import Element, Scene, kind_of
from countermark.scene.evidence import Summary
from countermark.scene.shelf import Shelf
from countermark.scene.vocabulary import FRAMES

MOST_HITS: Final = 200
SECONDS: Final = 5.0
LONGEST: Final = 200
_AROUND: Final = 80
_REMEMBERED: Final = 16 << 20
"""Characters of text that are kept in memory between two searches."""


class Line(NamedTuple):
    """One line that can be searched: whose it is, in which member it stands, which line of it, and what holds it."""

    element: str
    kind: str
    where: str
    number: int
    text: str
    container: str | None = None


class Hit(NamedTuple):
    """One line with the text in it, the middle one of three parts to be marked; long ends are cut by an `…`."""

    scene: str
    line: Line | None
    before: str
    match: str
    after: str

    def wire(self) -> dict[str, Any]:
        """Return its JSON form; `where` is `name` for the name of a scene, which has no element."""
        said: dict[str, Any] = {"scene": self.scene, "where": "name"}
        if self.line is not None:
            line = self.line
            said |= {"where": line.where, "element": line.element, "type": line.kind, "line": line.number}
            if line.container is not None:
                said["container"] = line.container
        return said | {"before": self.before, "match": self.match, "after": self.after}


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found. `searched` scenes were looked at, `left` were not; `unreadable` names files and reasons.

    `stopped` is `hits` or `time` where not everything was looked at.
    """

    hits: tuple[Hit, ...]
    searched: int
    left: int
    unreadable: tuple[tuple[str, str], ...]
    stopped: str | None

    def wire(self) -> dict[str, Any]:
        """Return its JSON form."""
        said: dict[str, Any] = {
            "hits": [hit.wire() for hit in self.hits],
            "searched": self.searched,
            "left": self.left,
            "unreadable": [{"name": name, "reason": reason} for name, reason in self.unreadable],
            "complete": self.stopped is None,
        }
        return said if self.stopped is None else {**said, "stopped": self.stopped}


def lines(scene: Scene) -> Iterator[Line]:
    """Yield every line of a scene that can be searched, in drawing order, without what is deleted."""
    for element in scene.elements:
        if not element.get("isDeleted"):
            yield from _lines(element)


def require_text(text: Any) -> str:
    """Return the text to look for as it is compared; raise `invalid_operation` for what is none or too long."""
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise refuse(
            "invalid_operation",
            f"What is looked for is 1 to {LONGEST} characters of text.",
            next_action="Give some text.",
            details={"pointer": "/q"},
        )
    return _composed(text).strip().casefold()


@dataclass
class Search:
    """Searches the scenes of a folder; `monotonic` tells the seconds."""

    shelf: Shelf
    monotonic: Callable[[], float] = time.monotonic
    _said: OrderedDict[str, tuple[Line, ...]] = field(default_factory=OrderedDict)
    _size: int = 0

    def find(self, text: Any, rows: Sequence[Summary], *, limit: int, seconds: float) -> Found:
        """Return the lines that hold a text, whatever its letters' case, by scene name and in drawing order.

        At most `limit` hits, and for about so many seconds. Raises `invalid_operation`.
        """
        wanted = require_text(text)
        until = self.monotonic() + seconds
        hits: list[Hit] = []
        unreadable: list[tuple[str, str]] = []
        for place, row in enumerate(rows):
            if place and self.monotonic() >= until:
                return Found(tuple(hits), place, len(rows) - place, tuple(unreadable), "time")
            for hit in self._scene(row, wanted, unreadable):
                if len(hits) == limit:
                    return Found(tuple(hits), place, len(rows) - place, tuple(unreadable), "hits")
                hits.append(hit)
        return Found(tuple(hits), len(rows), 0, tuple(unreadable), None)

    def _scene(self, row: Summary, wanted: str, unreadable: list[tuple[str, str]]) -> Iterator[Hit]:
        if not row.valid:
            unreadable.append((row.name, row.reason))
            return
        part = _split(row.name, wanted)
        if part is not None:
            yield Hit(row.name, None, *part)
        try:
            said = self._lines(row)
        except CountermarkError as error:  # changed, or gone, since the folder was listed
            ours = as_scene_error(error)
            unreadable.append((row.name, str(ours.details.get("reason", ours.code))))
            return
        for line in said:
            part = _split(line.text, wanted)
            if part is not None:
                yield Hit(row.name, line, *part)

    def _lines(self, row: Summary) -> tuple[Line, ...]:
        known = self._said.get(row.sha256)
        if known is not None:
            self._said.move_to_end(row.sha256)
            return known
        data = self.shelf.root.read(names.scene_file(row.name), cap=self.shelf.limits.max_scene_bytes)
        found = tuple(lines(document.load(data, self.shelf.limits)))
        self._remember(sha256_hex(data), found)
        return found

    def _remember(self, sha256: str, found: tuple[Line, ...]) -> None:
        size = sum(len(line.text) for line in found)
        if size > _REMEMBERED or sha256 in self._said:
            return
        self._said[sha256] = found
        self._size += size
        while self._size > _REMEMBERED:
            self._size -= sum(len(line.text) for line in self._said.popitem(last=False)[1])


def _lines(element: Element) -> Iterator[Line]:
    name, kind = str(element.get("id", "")), kind_of(element)
    if kind == "text":
        whole = element.get("originalText") or element.get("text")
        container = element.get("containerId")
        held = container if isinstance(container, str) else None
        yield from _of(name, kind, "label" if held else "text", whole, held)
    if kind in FRAMES:
        yield from _of(name, kind, "frame", element.get("name"))
    yield from _of(name, kind, "link", element.get("link"))


def _of(name: str, kind: str, where: str, text: Any, container: str | None = None) -> Iterator[Line]:
    if isinstance(text, str):
        for number, line in enumerate(_composed(text).splitlines(), 1):
            if line.strip():
                yield Line(name, kind, where, number, line, container)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _split(line: str, wanted: str) -> tuple[str, str, str] | None:
    """Return a line as what stands before the first match, the match, and what follows; None without one."""
    folded = line.casefold()
    at = folded.find(wanted)
    if at < 0:
        return None
    begin, end = (at, at + len(wanted)) if len(folded) == len(line) else _unfolded(line, at, at + len(wanted))
    before, after = line[:begin], line[end:]
    if len(before) > _AROUND:
        before = f"…{before[-_AROUND:]}"
    if len(after) > _AROUND:
        after = f"{after[:_AROUND]}…"
    return before, line[begin:end], after


def _unfolded(line: str, begin: int, end: int) -> tuple[int, int]:
    """Return the places in a line of places in its folded text, which has more characters: ß folds to ss."""
    ends: list[int] = []
    size = 0
    for character in line:
        size += len(character.casefold())
        ends.append(size)
    first = next(place for place, folded in enumerate(ends) if folded > begin)
    last = next(place for place, folded in enumerate(ends) if folded >= end)
    return first, last + 1
