"""Linear and radial gradients with inheritance, brought exactly into document coordinates.

A linear gradient stays one under any map: its vector becomes the normal of the mapped lines of equal colour. A radial
one maps to an ellipse, which the native form has. Only `spreadMethod` other than pad and a focal radius need a member
of our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from countermark.vector.affine import IDENTITY, Box, Matrix
from countermark.vector.container import Json
from countermark.vector.svg.colour import BLACK, Colour, colour
from countermark.vector.svg.number import Frame, check_finite, length, number_or_percent
from countermark.vector.svg.parse import Element, not_svg
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import own, standing
from countermark.vector.svg.transform import origin, transform

GRADIENTS: Final = frozenset({"linearGradient", "radialGradient"})
_SHARED: Final = frozenset({"gradientTransform", "gradientUnits", "spreadMethod"})
_UNIT: Final = Frame(1.0, 1.0)
_CLOSE: Final = 1 - 1e-4


@dataclass(frozen=True, slots=True)
class Stop:
    """One colour of a gradient at an offset from 0 to 1."""

    offset: float
    colour: Colour


@dataclass(frozen=True, slots=True)
class Server:
    """A gradient with everything it inherits by reference: the attributes in force and the stops."""

    element: Element
    attributes: Mapping[str, str]
    stops: tuple[Stop, ...]


def server(element: Element, ids: Mapping[str, Element], report: Report) -> Server:
    """Return a gradient with what it takes from others by `href`; a circle of references raises `svg_invalid`."""
    chain = [element]
    while chain[-1].href is not None:
        other = ids.get(chain[-1].href or "")
        if other is None or other.tag not in GRADIENTS:
            report.note("missing-reference", chain[-1], f"It takes from #{chain[-1].href}, which is no gradient.")
            break
        if other in chain:
            message = f"The gradient #{element.id} refers to itself through #{chain[-1].id} ({element.path})."
            raise not_svg(message, "Correct the gradient's href.")
        chain.append(other)
    attributes: dict[str, str] = {}
    for link in reversed(chain):
        # A stray y2 on a radial gradient is no geometry that a linear one could take from it.
        same = link.tag == element.tag
        attributes.update({name: value for name, value in link.attributes.items() if same or name in _SHARED})
    stops = next((found for link in chain if (found := _stops(link, report))), ())
    return Server(element, attributes, stops)


def paint(found: Server, matrix: Matrix, frame: Frame, box: Box | None, report: Report) -> Json | None:
    """Return a gradient as a native paint in document coordinates, without opacity of its own.

    `matrix` leads from the painted element's user space to the document, `box` is the element's geometry in user space.
    None when SVG says that nothing is painted; a gradient of one colour is a solid paint with its `alpha` beside it.
    """
    if not found.stops:
        return None
    inner = _inner(found, frame, box, report)
    if inner is None:
        return None
    to_user, units = inner
    to_document = matrix @ to_user
    if len(found.stops) == 1:
        return solid(found.stops[0].colour)
    if not to_document.is_finite or abs(to_document.determinant) < 1e-300:  # noqa: PLR2004 - cannot be inverted
        reason = "Its transform flattens the plane, so it paints nothing; readers differ on what that shows."
        report.loss("gradient", found.element, reason)
        return None
    if found.element.tag == "linearGradient":
        return _linear(found, to_document, units, report)
    return _radial(found, to_document, units, report)


def solid(found: Colour) -> Json:
    """Return a native solid paint; `alpha` is for the caller to turn into the opacity of the fill or stroke."""
    return {"type": "solid", "color": _rgb(found), "alpha": found.alpha}


def _rgb(found: Colour) -> Json:
    return {"model": "rgb", "r": found.r, "g": found.g, "b": found.b}


def _inner(found: Server, frame: Frame, box: Box | None, report: Report) -> tuple[Matrix, Frame] | None:
    """Return the map from the gradient's own coordinates to user space, and the frame of its percentages."""
    attributes = found.attributes
    on_box = attributes.get("gradientUnits", "objectBoundingBox").strip() != "userSpaceOnUse"
    units = _UNIT if on_box else frame
    own_map = transform(attributes.get("gradientTransform", ""), units)
    if own_map is None:
        report.note("transform", found.element, "Its gradientTransform has a fault and counts for nothing.")
        own_map = IDENTITY
    centre = own(found.element, "transform-origin")
    point = origin(centre, units) if centre is not None else None
    if point is not None:
        own_map = own_map.about(*point)
    if not on_box:
        return own_map, units
    if box is None or box.width <= 0 or box.height <= 0:
        report.note("gradient", found.element, "An object without width or height takes no gradient of its box.")
        return None
    return box.from_unit @ own_map, units


def _linear(found: Server, matrix: Matrix, units: Frame, report: Report) -> Json:
    x1, y1 = _place(found, "x1", 0, units, report), _place(found, "y1", 0, units, report)
    x2, y2 = _place(found, "x2", 100, units, report), _place(found, "y2", 0, units, report)
    if (x1, y1) == (x2, y2):
        return solid(found.stops[-1].colour)
    start, far = matrix.apply(x1, y1), matrix.apply(x2, y2)
    dx, dy = x2 - x1, y2 - y1
    # The line of equal colour through the start, mapped; its normal is the new vector.
    along = (matrix.a * -dy + matrix.c * dx, matrix.b * -dy + matrix.d * dx)
    normal = (-along[1], along[0])
    square = normal[0] * normal[0] + normal[1] * normal[1]
    reach = ((far[0] - start[0]) * normal[0] + (far[1] - start[1]) * normal[1]) / square
    end = (start[0] + normal[0] * reach, start[1] + normal[1] * reach)
    return _native("Linear", found, {"start": start, "end": end, "aspect": 1.0}, {})


def _radial(found: Server, matrix: Matrix, units: Frame, report: Report) -> Json | None:
    cx, cy = _place(found, "cx", 50, units, report), _place(found, "cy", 50, units, report)
    r = _place(found, "r", 50, units, report)
    fr = _place(found, "fr", 0, units, report)
    if r < 0 or fr < 0:
        report.note("gradient", found.element, "A negative radius is a fault; it paints nothing.")
        return None
    if r == 0:
        return solid(found.stops[-1].colour)
    fx = _place(found, "fx", 50, units, report) if "fx" in found.attributes else cx
    fy = _place(found, "fy", 50, units, report) if "fy" in found.attributes else cy
    if fr > r:
        # The focal circle is the outer one: the same colours from the inner one outwards.
        stops = tuple(Stop(1 - stop.offset, stop.colour) for stop in reversed(found.stops))
        found = replace(found, stops=stops)
        cx, cy, r, fx, fy, fr = fx, fy, fr, cx, cy, r
    away = math.hypot(fx - cx, fy - cy)
    if away > r * _CLOSE - fr:
        # SVG 1.1 §13.2.3: a focal point outside lies on the edge; just inside, so that the gradient stays defined.
        inside = max(0.0, r * _CLOSE - fr) / away if away else 0.0
        fx, fy = cx + (fx - cx) * inside, cy + (fy - cy) * inside
    geom: Json = _ellipse(matrix, cx, cy, r)
    if (fx, fy) != (cx, cy):
        geom["focal"] = matrix.apply(fx, fy)
    return _native("Radial", found, geom, {"focal_radius": fr / r} if fr else {})


def _ellipse(matrix: Matrix, cx: float, cy: float, r: float) -> Json:
    """Return the mapped circle as centre, end of one half-axis, and the other half-axis as a part of it."""
    ux, uy, wx, wy = matrix.a * r, matrix.b * r, matrix.c * r, matrix.d * r
    p, q, s = ux * ux + wx * wx, uy * uy + wy * wy, ux * uy + wx * wy
    spread = math.hypot(p - q, 2 * s)
    large = math.sqrt((p + q + spread) / 2)
    small = math.sqrt(max(0.0, (p + q - spread) / 2))
    if spread <= 1e-12 * (p + q):
        size = math.hypot(ux, uy)
        axis, reach, other = (ux / size, uy / size), large, small
    else:
        angle = math.atan2(2 * s, p - q) / 2
        first = (math.cos(angle), math.sin(angle))
        second = (-first[1], first[0])
        if abs(first[0] * ux + first[1] * uy) >= abs(second[0] * ux + second[1] * uy):
            axis, reach, other = first, large, small
        else:
            axis, reach, other = second, small, large
        if axis[0] * ux + axis[1] * uy < 0:
            axis = (-axis[0], -axis[1])
    centre = matrix.apply(cx, cy)
    end = (centre[0] + axis[0] * reach, centre[1] + axis[1] * reach)
    return {"start": centre, "end": end, "aspect": other / reach}


def _native(kind: str, found: Server, geom: Json, extra: Json) -> Json:
    spread = found.attributes.get("spreadMethod", "pad").strip()
    if spread in {"reflect", "repeat"}:
        extra = {"spread": spread, **extra}
    stops = [
        {"offset": stop.offset, "color": _rgb(stop.colour), "opacity": stop.colour.alpha, "midpoint": 0.5}
        for stop in found.stops
    ]
    paint: Json = {"type": "gradient", "gradient": {"kind": kind, "stops": stops}, "geom": geom, "angle": 0.0}
    return {**paint, "countermark": extra} if extra else paint


def _stops(element: Element, report: Report) -> tuple[Stop, ...]:
    found: list[Stop] = []
    for child in element.children:
        if child.tag != "stop":
            continue
        text = child.attributes.get("offset", "0")
        offset = number_or_percent(text)
        if offset is None:
            report.note("value", child, f"offset says {text[:60]!r}, which is no number; 0 counts.")
            offset = 0.0
        offset = min(1.0, max(0.0, offset, found[-1].offset if found else 0.0))
        found.append(Stop(offset, _stop_colour(child, report)))
    return tuple(found)


def _stop_colour(element: Element, report: Report) -> Colour:
    said = own(element, "stop-color")
    opacity = number_or_percent(own(element, "stop-opacity"))
    read: Colour | None = BLACK
    if said is not None:
        current = said.lower() == "currentcolor"
        read = standing(element, _UNIT, report).color if current else colour(said)
        if read is None:
            report.note("value", element, f"stop-color says {said[:60]!r}, which is no colour; black counts.")
            read = BLACK
    read = read or BLACK
    alpha = read.alpha * (1.0 if opacity is None else min(1.0, max(0.0, opacity)))
    return read._replace(alpha=alpha)


def _place(found: Server, name: str, per_cent: float, units: Frame, report: Report) -> float:
    across, down = name in {"x1", "x2", "cx", "fx"}, name in {"y1", "y2", "cy", "fy"}
    size = units.width if across else units.height if down else units.diagonal
    text = found.attributes.get(name)
    if text is not None:
        check_finite(text)
        value = length(text, units, size)
        if value is not None:
            return value
        report.note("value", found.element, f"{name} says {text[:60]!r}, which is no length; {per_cent}% counts.")
    return size * per_cent / 100
