"""Small native documents, written by hand, for the tests that draw them."""

from __future__ import annotations

from typing import Any

from countermark.vector import document as native
from countermark.vector.affine import Box
from countermark.vector.artboard import Artboard, artboards, new_artboard

Json = dict[str, Any]

RED = {"model": "rgb", "r": 1.0, "g": 0.0, "b": 0.0}
GREEN = {"model": "rgb", "r": 0.0, "g": 1.0, "b": 0.0}
BLUE = {"model": "rgb", "r": 0.0, "g": 0.0, "b": 1.0}
WHITE = {"model": "rgb", "r": 1.0, "g": 1.0, "b": 1.0}


def solid(colour: Json) -> Json:
    return {"type": "solid", "color": colour}


def fill(paint: Json, **more: Any) -> Json:
    return {"kind": "fill", "paint": paint, **more}


def stroke(paint: Json, width: float, **more: Any) -> Json:
    return {"kind": "stroke", "paint": paint, "width": width, **more}


def linear(start: list[float], end: list[float], *stops: Json, **more: Any) -> Json:
    return {
        "type": "gradient",
        "gradient": {"kind": "Linear", "stops": list(stops)},
        "geom": {"start": start, "end": end},
        "angle": 0.0,
        **more,
    }


def radial(centre: list[float], edge: list[float], *stops: Json, **geom: Any) -> Json:
    return {
        "type": "gradient",
        "gradient": {"kind": "Radial", "stops": list(stops)},
        "geom": {"start": centre, "end": edge, **geom},
        "angle": 0.0,
    }


def stop(offset: float, colour: Json, **more: Any) -> Json:
    return {"offset": offset, "color": colour, "opacity": 1.0, "midpoint": 0.5, **more}


def polygon(*points: tuple[float, float], closed: bool = True) -> Json:
    return {"anchors": [{"p": list(point)} for point in points], "closed": closed}


def square(x0: float, y0: float, x1: float, y1: float) -> Json:
    return polygon((x0, y0), (x1, y0), (x1, y1), (x0, y1))


def path(node: int, subpaths: Json | list[Json], *items: Json, rule: str = "NonZero", **more: Any) -> Json:
    listed = subpaths if isinstance(subpaths, list) else [subpaths]
    return {
        "id": node,
        "appearance": {"items": list(items)},
        "kind": {"type": "path", "path": {"subpaths": listed}, "rule": rule},
        **more,
    }


def group(node: int, *children: Json, clip: bool = False, **more: Any) -> Json:
    kind = {"type": "group", "children": list(children), "clip": clip}
    return {"id": node, "appearance": {"items": []}, "kind": kind, **more}


def layer(node: int, *children: Json, **more: Any) -> Json:
    kind = {"type": "layer", "color": {"Preset": 0}, "template": False, "printable": True, "children": list(children)}
    return {"id": node, "name": f"Layer {node}", "appearance": {"items": []}, "kind": kind, **more}


def drawing(*nodes: Json, boards: tuple[Box, ...] = (Box(0, 0, 100, 100),)) -> native.Document:
    """Return a document whose one layer holds the nodes; the layer's id is 1000."""
    entries = [new_artboard(index + 1, f"Board {index + 1}", box) for index, box in enumerate(boards)]
    return native.new("Drawing", artboards=entries, layers=[layer(1000, *nodes)], next_id=2000)


def first_board(document: native.Document) -> Artboard:
    return artboards(document)[0]
