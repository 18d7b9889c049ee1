"""The grammar of path data (SVG 2 §9.3), into subpaths of anchors in user space.

A fault ends the path there: what stands before it is kept, as every reader does, and the caller is told.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from countermark.vector.container import Json
from countermark.vector.svg.number import NUMBER, NotFiniteError, finite

_SPACE: Final = re.compile(r"[ \t\n\r\f]*")
_COMMA: Final = re.compile(r"[ \t\n\r\f]*,?[ \t\n\r\f]*")
# No command is spelt with these letters, so they can stand right behind one.
_NOT_FINITE: Final = re.compile(r"nan|inf(?:inity)?", re.IGNORECASE)
_ARGUMENTS: Final = {"m": 2, "l": 2, "h": 1, "v": 1, "c": 6, "s": 4, "q": 4, "t": 2, "a": 7}
_FLAGS: Final = (3, 4)
_TINY: Final = 1e-9


class PathData(NamedTuple):
    """A native path in user space, and what ended it early (empty when all of it was read)."""

    path: Json
    fault: str


class Pen:
    """Draws subpaths: moves, lines, curves and arcs become anchors with absolute handles."""

    def __init__(self) -> None:
        """Start at the origin, without a subpath."""
        self.subpaths: list[Json] = []
        self.x = 0.0
        self.y = 0.0
        self._start = (0.0, 0.0)
        self._anchors: list[Json] = []

    def move(self, x: float, y: float) -> None:
        """Begin a subpath; one that has only its beginning paints nothing and is dropped."""
        self._finish(closed=False)
        self.x, self.y = x, y
        self._start = (x, y)

    def line(self, x: float, y: float) -> None:
        """Draw a straight line."""
        self._begin()
        self._anchors.append({"p": [x, y]})
        self.x, self.y = x, y

    def curve(self, x1: float, y1: float, x2: float, y2: float, x: float, y: float) -> None:
        """Draw a cubic."""
        self._begin()
        if (x1, y1) != (self.x, self.y):
            self._anchors[-1]["out"] = [x1, y1]
        anchor: Json = {"p": [x, y]}
        if (x2, y2) != (x, y):
            anchor["in"] = [x2, y2]
        self._anchors.append(anchor)
        self.x, self.y = x, y

    def quadratic(self, x1: float, y1: float, x: float, y: float) -> None:
        """Draw a quadratic as the same cubic."""
        self.curve(
            self.x + (x1 - self.x) * 2 / 3,
            self.y + (y1 - self.y) * 2 / 3,
            x + (x1 - x) * 2 / 3,
            y + (y1 - y) * 2 / 3,
            x,
            y,
        )

    def arc(self, rx: float, ry: float, turn: float, *, large: bool, sweep: bool, x: float, y: float) -> None:
        """Draw an elliptical arc to a point, by SVG's own rules for radii that are zero or too small."""
        rx, ry = abs(rx), abs(ry)
        if (x, y) == (self.x, self.y):
            return
        if rx == 0 or ry == 0:
            self.line(x, y)
            return
        begun = False
        for piece in _arc((self.x, self.y), (rx, ry, math.radians(turn % 360)), (x, y), large=large, sweep=sweep):
            if begun:
                self._anchors[-1]["between"] = True  # a joint of ours: no vertex that carries a marker
            self.curve(*piece)
            begun = True

    def close(self) -> None:
        """Close the subpath; the next one begins where this one did."""
        self._begin()
        self._finish(closed=True)
        self.x, self.y = self._start

    def finish(self) -> Json:
        """Return the path."""
        self._finish(closed=False)
        return {"subpaths": self.subpaths}

    def _begin(self) -> None:
        if not self._anchors:
            self._anchors.append({"p": [self.x, self.y]})
            self._start = (self.x, self.y)

    def _finish(self, *, closed: bool) -> None:
        anchors = self._anchors
        self._anchors = []
        if not anchors:
            return
        if closed and len(anchors) > 1 and _same(anchors[0]["p"], anchors[-1]["p"]):
            last = anchors.pop()
            if "in" in last:
                anchors[0]["in"] = last["in"]
        self.subpaths.append({"anchors": anchors, "closed": closed})


def frame_of(x: float, y: float, width: float, height: float) -> Json:
    """Return an upright rectangle as a path."""
    pen = Pen()
    pen.move(x, y)
    for right, down in ((width, 0), (width, height), (0, height)):
        pen.line(x + right, y + down)
    pen.close()
    return pen.finish()


def path_data(text: str) -> PathData:
    """Read path data; NaN, infinities and overflow raise `NotFiniteError`."""
    said = _NOT_FINITE.search(text)
    if said:
        raise NotFiniteError(said[0])
    pen = Pen()
    scanner = _Scanner(text)
    fault = scanner.run(pen)
    return PathData(pen.finish(), fault)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._control: tuple[str, float, float] = ("", 0.0, 0.0)

    def run(self, pen: Pen) -> str:
        self._skip(_SPACE)
        first = True
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter.lower() not in "mzlhvcsqta":
                return self._fault(f"{letter!r} is no path command")
            if first and letter not in "mM":
                return self._fault("a path begins with a move")
            first = False
            self.at += 1
            if letter in "zZ":
                pen.close()
                self._control = ("", 0.0, 0.0)
            elif not self._command(pen, letter):
                return self._fault(f"the command {letter!r} lacks a number")
            self._skip(_SPACE)
        return ""

    def _command(self, pen: Pen, letter: str) -> bool:
        """Draw one command and its implied repeats; False at a fault."""
        kind = letter.lower()
        self._skip(_SPACE)
        arguments = self._arguments(kind)
        if arguments is None:
            return False
        while arguments is not None:
            self._draw(pen, letter, arguments)
            if kind == "m":
                letter = "l" if letter == "m" else "L"
                kind = "l"
            before = self.at
            self._skip(_COMMA)
            if not NUMBER.match(self.text, self.at):
                comma = "," in self.text[before : self.at]
                return not comma
            arguments = self._arguments(kind)
        return False

    def _arguments(self, kind: str) -> list[float] | None:
        found: list[float] = []
        for index in range(_ARGUMENTS[kind]):
            if index:
                self._skip(_COMMA)
            if kind == "a" and index in _FLAGS:
                if self.text[self.at : self.at + 1] not in {"0", "1"}:
                    return None
                found.append(float(self.text[self.at]))
                self.at += 1
                continue
            match = NUMBER.match(self.text, self.at)
            if not match:
                return None
            found.append(finite(match[0]))
            self.at = match.end()
        return found

    def _draw(self, pen: Pen, letter: str, numbers: list[float]) -> None:
        kind = letter.lower()
        dx, dy = (pen.x, pen.y) if letter.islower() else (0.0, 0.0)
        control = ("", 0.0, 0.0)
        if kind == "h":
            pen.line(numbers[0] + dx, pen.y)
        elif kind == "v":
            pen.line(pen.x, numbers[0] + dy)
        elif kind == "a":
            rx, ry, turn, large, sweep, x, y = numbers
            pen.arc(rx, ry, turn, large=bool(large), sweep=bool(sweep), x=x + dx, y=y + dy)
        else:
            points = [value + (dy if index % 2 else dx) for index, value in enumerate(numbers)]
            if kind == "m":
                pen.move(points[0], points[1])
            elif kind == "l":
                pen.line(points[0], points[1])
            else:
                control = self._curve(pen, kind, points)
        self._control = control

    def _curve(self, pen: Pen, kind: str, points: list[float]) -> tuple[str, float, float]:
        """Draw a curve and return its last control point, which a smooth curve of the same kind mirrors."""
        family = "c" if kind in "cs" else "q"
        if kind in "st":
            known, x, y = self._control
            mirrored = [2 * pen.x - x, 2 * pen.y - y] if known == family else [pen.x, pen.y]
            points = mirrored + points
        if family == "c":
            pen.curve(points[0], points[1], points[2], points[3], points[4], points[5])
            return ("c", points[2], points[3])
        pen.quadratic(points[0], points[1], points[2], points[3])
        return ("q", points[0], points[1])

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()

    def _fault(self, reason: str) -> str:
        return f"{reason} (character {self.at + 1})"


def _same(one: list[float], other: list[float]) -> bool:
    size = max(1.0, *(abs(value) for value in (*one, *other)))
    return abs(one[0] - other[0]) <= _TINY * size and abs(one[1] - other[1]) <= _TINY * size


def _arc(
    start: tuple[float, float],
    ellipse: tuple[float, float, float],
    end: tuple[float, float],
    *,
    large: bool,
    sweep: bool,
) -> list[tuple[float, float, float, float, float, float]]:
    """Return an arc as cubics of at most a quarter turn (SVG 2, implementation notes B.2.4)."""
    rx, ry, turn = ellipse
    cos, sin = math.cos(turn), math.sin(turn)
    hx, hy = (start[0] - end[0]) / 2, (start[1] - end[1]) / 2
    x1, y1 = cos * hx + sin * hy, -sin * hx + cos * hy
    too_far = math.hypot(x1 / rx, y1 / ry)
    if too_far > 1:
        rx, ry = rx * too_far, ry * too_far
    ux, uy = x1 / rx, y1 / ry
    square = ux * ux + uy * uy
    root = math.sqrt(max(0.0, (1 - square) / square)) if square else 0.0
    if large == sweep:
        root = -root
    cx1, cy1 = root * rx * uy, -root * ry * ux
    cx = cos * cx1 - sin * cy1 + (start[0] + end[0]) / 2
    cy = sin * cx1 + cos * cy1 + (start[1] + end[1]) / 2
    begin = math.atan2((y1 - cy1) / ry, (x1 - cx1) / rx)
    span = math.atan2((-y1 - cy1) / ry, (-x1 - cx1) / rx) - begin
    if sweep and span < 0:
        span += 2 * math.pi
    elif not sweep and span > 0:
        span -= 2 * math.pi
    count = max(1, math.ceil(abs(span) / (math.pi / 2) - _TINY))
    step = span / count
    reach = 4 / 3 * math.tan(step / 4)

    def at(px: float, py: float) -> tuple[float, float]:
        return (cx + cos * rx * px - sin * ry * py, cy + sin * rx * px + cos * ry * py)

    pieces = []
    for index in range(count):
        a, b = begin + index * step, begin + (index + 1) * step
        p1 = at(math.cos(a) - reach * math.sin(a), math.sin(a) + reach * math.cos(a))
        p2 = at(math.cos(b) + reach * math.sin(b), math.sin(b) - reach * math.cos(b))
        p3 = end if index == count - 1 else at(math.cos(b), math.sin(b))
        pieces.append((*p1, *p2, *p3))
    return pieces
