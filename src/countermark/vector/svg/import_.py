"""One SVG in, one native document and its import report out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.vector import document as native
from countermark.vector.affine import IDENTITY, Box, Matrix
from countermark.vector.artboard import new_artboard
from countermark.vector.container import Json
from countermark.vector.document import Document
from countermark.vector.shape import children_of
from countermark.vector.svg import joining, loss, sheet
from countermark.vector.svg.clip import matrix_of
from countermark.vector.svg.emit import Emitter
from countermark.vector.svg.holding import Holding
from countermark.vector.svg.number import Frame, NotFiniteError
from countermark.vector.svg.parse import Element, not_svg, parse
from countermark.vector.svg.place import Place, box_of
from countermark.vector.svg.reader import Reader
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import INITIAL, computed, specified
from countermark.vector.svg.viewport import Size, fit, root_size

_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Imported:
    """A document with what was not carried over: losses change the picture or its editing, notes do not."""

    document: Document
    losses: list[Json] = field(default_factory=list)
    notes: list[Json] = field(default_factory=list)


def import_svg(data: bytes, *, name: str = "drawing.svg", into: Document | None = None) -> Imported:
    """Read an SVG into a native document with one artboard of its size.

    With `into` the drawing becomes one more artboard and layer of that document, to the right of everything in it;
    what is there keeps its bytes. Raise `svg_invalid`, `svg_unsafe`, `svg_too_deep` or `input_too_large`; nothing
    outside the file is ever followed.
    """
    parsed = parse(data, what=name)
    root = parsed.root
    report = Report()
    first = into.tree["next_id"] if into is not None else 1
    if not parsed.has_namespace:
        report.note("namespace", root, "The root does not name the SVG namespace; it is read as SVG all the same.")
    try:
        size = root_size(root, name)
        ids = _ids(root)
        sheet.apply(root, report)
        loss.of_file(root, report)
        size = _measured(root, size, ids, report, name)
        origin = joining.origin_beside(into, _reach(root, size, ids)) if into is not None else (0.0, 0.0)
        emitter = Emitter.for_size(max(size.width, size.height, *origin), first + 1)
        holding = Holding(joining.pattern_names(into) if into is not None else set())
        layer_nodes = _root_nodes(root, size, Reader(ids, emitter, report, holding), report, origin)
    except (NotFiniteError, ArithmeticError) as error:
        message = f"{name}: {root.path} has a number that is not finite, too large or too small: {str(error)[:60]!r}."
        raise not_svg(message, "Correct the number and import again.") from error
    _check_depth(layer_nodes, name)
    title = " ".join(next((child.text for child in root.children if child.tag == "title"), "").split())
    title = title or re.sub(r"\.svgz?\Z", "", name, flags=re.IGNORECASE)
    layer: Json = {
        "id": first,
        "name": "Layer 1" if into is None else title,
        "appearance": {"items": []},
        "kind": {
            "type": "layer",
            "color": {"Preset": 0},
            "template": False,
            "printable": True,
            "children": layer_nodes,
        },
    }
    source: Json = {"name": name, "sha256": sha256_hex(data)}
    source |= {key: root.attributes[key] for key in ("width", "height", "viewBox") if key in root.attributes}
    box = Box(origin[0], origin[1], origin[0] + size.width, origin[1] + size.height)
    if into is not None:
        board = new_artboard(joining.next_board(into), title, box)
        document = joining.joined(into, layer, board, source, report, emitter.next_id(), holding)
        return Imported(document, report.losses, report.notes)
    document = native.new(
        title,
        artboards=[new_artboard(1, title, box)],
        layers=[layer],
        next_id=emitter.next_id(),
        countermark={"source": source, "losses": report.losses, "notes": report.notes},
    )
    document = joining.with_held(document, holding)
    return Imported(document, report.losses, report.notes)


def _ids(root: Element) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in root.walk():
        if element.id:
            found.setdefault(element.id, element)
    return found


def _measured(root: Element, size: Size, ids: dict[str, Element], report: Report, name: str) -> Size:
    """Return the drawing's size; one that states none is as large as its art."""
    if not size.given:
        box = _art(root, size, ids)
        if box is None or box.x1 <= 0 or box.y1 <= 0:
            message = f"{name} states no size and no viewBox, and has no art to take one from."
            raise not_svg(message, "Give the drawing a viewBox.")
        size = Size(size.width or box.x1, size.height or box.y1, None)
        report.note(
            "size", root, "The file states no size; the artboard reaches from the origin to the art's far edge."
        )
    return size


def _art(root: Element, size: Size, ids: dict[str, Element]) -> Box | None:
    """Return the box of everything the drawing paints, in artboard coordinates, or None."""
    report = Report()
    reader = Reader(ids, Emitter.for_size(1.0), report, Holding())
    return box_of(_root_nodes(root, size, reader, report, (0.0, 0.0)), IDENTITY)


def _reach(root: Element, size: Size, ids: dict[str, Element]) -> float:
    """Return how far the art reaches out of its own artboard to the left, in pixels."""
    box = _art(root, size, ids)
    return max(-box.x0, 0.0) if box is not None else 0.0


def _root_nodes(root: Element, size: Size, reader: Reader, report: Report, origin: tuple[float, float]) -> list[Json]:
    matrix = Matrix()
    frame = Frame(size.width, size.height)
    if size.view_box is not None:
        matrix = fit(size.view_box, size.width, size.height, root.attributes.get("preserveAspectRatio", ""))
        frame = Frame(size.view_box.width, size.view_box.height)
    style = computed(root, INITIAL, frame, report)
    place = Place(frame._replace(root_font_size=style.font_size), style=style)
    moved = Matrix(1.0, 0.0, 0.0, 1.0, *origin)
    place = replace(place, matrix=moved @ matrix_of(root, place, report) @ matrix)
    loss.of_properties(root, reader.ids, report, hidden=False)
    nodes = reader.contents(root, place)
    members = ("opacity", "clip-path", "mask", "mix-blend-mode", "display", "isolation")
    if any(member in specified(root) for member in members):
        return reader.finished(root, place, nodes, group=True)
    return nodes


def _check_depth(nodes: list[Json], name: str) -> None:
    level = nodes
    for _ in range(_MAX_DEPTH):
        level = [child for node in level for child in children_of(node)]
        if not level:
            return
    raise CountermarkError(
        "svg_too_deep",
        f"{name} nests groups and clips deeper than {_MAX_DEPTH} levels.",
        next_action="Ungroup the drawing before the import.",
    )
