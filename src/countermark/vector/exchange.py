"""What every derivative of a kit lost, measured: the report `exchange-loss.json` (seed 1 §5, research 1.6).

The report is made of what judges see in the files themselves, never of what made them says. Its status words are
`lost`, `unknown` and `observed`; nothing in it accepts anything. The same files give the same report, so that anybody
can make it again and compare.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from countermark.kernel.canon import parse_strict, sha256_hex
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.kernel.place import shown
from countermark.raster import page
from countermark.raster.difference import measure
from countermark.raster.fit import contain
from countermark.raster.picture import Picture, png_size
from countermark.raster.region import Region, regions
from countermark.vector import document as native
from countermark.vector.artboard import Artboard, artboards
from countermark.vector.disclosure import disclosure
from countermark.vector.display import shapes
from countermark.vector.document import Document
from countermark.vector.judged import page_picture, png_picture, svg_picture
from countermark.vector.kit import boards_for, files_for
from countermark.vector.resolve import resolve

SCHEMA: Final = "craft-exchange-loss/v1"
PLUGIN: Final = "countermark"
REPORT: Final = "exchange-loss.json"
MEASURED: Final = "full-colour-512"
SIDE: Final = 512
OBJECT_SHARE_OFF: Final = 0.01
_LISTED: Final = 50
_COLOUR_TYPE: Final = 25  # in a PNG's header: 4 and 6 have alpha
_NAMED: Final = 5
_DERIVATIVES: Final = frozenset({"editable", "ico", "pdf", "sprite"})

Json = dict[str, Any]

register(Ending.FAILED, "loss_report_mismatch")


@dataclass(frozen=True, slots=True)
class Worst:
    """A box in which two engines show an object differently, with both pictures."""

    artboard: int
    object_id: int
    name: str
    format: str
    region: Region
    native: Picture
    seen: Picture

    @property
    def lost(self) -> bool:
        """Whether more than a hundredth of what the box paints is off."""
        return self.region.off > self.region.painted * OBJECT_SHARE_OFF


@dataclass(frozen=True, slots=True)
class Measured:
    """A report, and the boxes in which most is off, the worst first."""

    report: Json
    worst: tuple[Worst, ...]

    def bytes(self) -> bytes:
        """Return the report as it is written."""
        return (json.dumps(self.report, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode("utf-8")

    def count(self, status: str) -> int:
        """Return how many changes have a status."""
        return sum(change["status"] == status for row in self.report["outputs"] for change in row["changes"])


def measured(document: Document, name: str, files: Mapping[str, bytes]) -> Measured:
    """Measure the derivatives of a kit: `files` by name, of which `name` is the native document."""
    gallery = _Gallery(document, files)
    names = [one for board in boards_for(document) for one in board.files if one in files]
    names += [file.name for file in files_for(document, name) if file.kind in _DERIVATIVES]
    rows = [_row(one, one.rpartition(".")[2], gallery, document) for one in names]
    model = json.dumps(json.loads(native.dump(document)), sort_keys=True, separators=(",", ":"))
    report = {
        "schema": SCHEMA,
        "pluginId": PLUGIN,
        "native": {"location": name, "sha256": sha256_hex(files[name])},
        "inspection": {"location": name, "sha256": sha256_hex(model.encode("utf-8"))},
        "outputs": rows,
        "acceptance": "technical-observations-only",
    }
    return Measured(report, tuple(sorted(gallery.worst, key=lambda one: -one.region.off)))


def compared(document: Document, name: str, files: Mapping[str, bytes]) -> Measured:
    """Measure a kit again and hold its own report against that; raise `loss_report_mismatch` with what differs."""
    found = measured(document, name, files)
    written = files.get(REPORT)
    if written == found.bytes():
        return found
    try:
        said = {} if written is None else parse_strict(written, what="The report")
        rows = {row["location"]: row for row in said.get("outputs", [])}
        head = [key for key, value in found.report.items() if key != "outputs" and said.get(key) != value]
    except (CountermarkError, AttributeError, KeyError, TypeError):
        rows, head = {}, ["the report itself, which cannot be read"]
    wanted = {row["location"]: row for row in found.report["outputs"]}
    wrong = head + sorted(one for one in wanted.keys() | rows.keys() if wanted.get(one) != rows.get(one))
    what = "is missing" if written is None else "is not what the files show"
    raise CountermarkError(
        "loss_report_mismatch",
        f"{REPORT} {what}: {', '.join(map(shown, wrong[:_NAMED])) or 'its spelling'}.",
        next_action="Export the kit again; do not hand this one on.",
        details={"differs": wrong[:_LISTED]},
    )


class _Gallery:
    """The pictures that formats are measured by: each artboard's native one against resvg's and pdfium's."""

    def __init__(self, document: Document, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.worst: list[Worst] = []
        self.pages = page.outline(files["pages.pdf"]).pages
        self._names = {visit.node["id"]: visit.node.get("name") or "" for visit in native.walk(document)}
        self._boards = artboards(document)
        self._boxes = {one.id: _boxes(document, one) for one in self._boards}

    def of_svg(self, name: str) -> Json | None:
        """Return what resvg sees in the SVG that is measured for an artboard, None for any other."""
        for board in self._boards:
            if name == f"artboard-{board.id}-{MEASURED}.svg":
                seen = svg_picture(self.files[name], SIDE, SIDE)
                return {"engine": "resvg", **self._compared(board, "svg", seen.picture, seen.unobserved)}
        return None

    def of_pdf(self) -> list[Json]:
        """Return what pdfium sees on each page."""
        return [
            {
                "engine": "pdfium",
                "pageObjects": seen.objects,
                **self._compared(board, "pdf", page_picture(self.files["pages.pdf"], index, SIDE, SIDE), ()),
            }
            for index, (board, seen) in enumerate(zip(self._boards, self.pages, strict=False))
        ]

    def _compared(self, board: Artboard, kind: str, seen: Picture, unseen: tuple[str, ...]) -> Json:
        against = f"artboard-{board.id}-{MEASURED}.png"
        drawn = png_picture(self.files[against])
        found = measure(drawn, seen)
        boxes = self._boxes[board.id]
        measured_boxes = dict(zip(boxes, regions(drawn, seen, list(boxes.values())), strict=True))
        off = sorted((one for one in measured_boxes.items() if one[1].off), key=lambda one: (-one[1].off, one[0]))
        for node, region in off[:_LISTED]:
            self.worst.append(Worst(board.id, node, self._names.get(node, ""), kind, region, drawn, seen))
        return {
            "against": against,
            "painted": found.painted,
            "off": found.off,
            "share": found.share,
            "worstBox": None if found.worst_box is None else list(found.worst_box),
            "notObserved": list(unseen),
            "objects": len(boxes),
            "objectsOff": [
                {
                    "id": node,
                    "name": self._names.get(node, ""),
                    "box": list(region.box),
                    "painted": region.painted,
                    "off": region.off,
                    "status": "lost" if region.off > region.painted * OBJECT_SHARE_OFF else "observed",
                }
                for node, region in off[:_LISTED]
            ],
            "objectsOffTotal": len(off),
        }


def _boxes(document: Document, board: Artboard) -> dict[int, tuple[float, float, float, float]]:
    """Return the box of every object that paints on an artboard, in pixels of the measured board."""
    box = board.box
    fit = contain(box.width, box.height, SIDE, SIDE)
    found: dict[int, tuple[float, float, float, float]] = {}
    for shape in shapes(resolve(document, board).items):
        x0, y0, x1, y1 = (
            (shape.box.x0 - box.x0) * fit.scale + fit.dx,
            (shape.box.y0 - box.y0) * fit.scale + fit.dy,
            (shape.box.x1 - box.x0) * fit.scale + fit.dx,
            (shape.box.y1 - box.y0) * fit.scale + fit.dy,
        )
        held = found.get(shape.node, (x0, y0, x1, y1))
        found[shape.node] = (min(held[0], x0), min(held[1], y0), max(held[2], x1), max(held[3], y1))
    return found


def _row(name: str, kind: str, gallery: _Gallery, document: Document) -> Json:
    data = gallery.files[name]
    changes, observations = _FORMATS[kind](name, data, gallery, document)
    return {
        "location": name,
        "sha256": sha256_hex(data),
        "format": kind,
        "role": "derivative",
        "nativeSubstitute": False,
        "changes": [_change("native-editing-model", "lost", "swatches and layers stay in the native file"), *changes],
        "observations": observations,
        "warnings": [],
    }


def _svg(name: str, data: bytes, gallery: _Gallery, document: Document) -> tuple[list[Json], Json]:
    found = disclosure(data)
    images = len(found["rasterizationScope"])
    texts = sum(1 for visit in native.walk(document) if visit.node["kind"].get("type") == "text")
    changes = [
        _change("editable-layers-paths-text", "lost", "layers are not written; paths stay paths"),
        _change("lossless-vector-claim", "unknown", "not claimed: paint bounds are not complete"),
        _change("font-portability", "unknown", "no font was looked at outside of this machine"),
        _raster(images),
        _filters(found["counts"]["filter"]),
    ]
    if texts:
        live = found["counts"]["text"]
        reason = f"{live} text elements" if live else "only paths are seen, which prove nothing"
        changes.append(_change("live-text-editability", "observed" if live else "unknown", reason))
    if name.endswith("-editable.svg"):
        changes.append(_change("editable-layer-roundtrip", "observed", "the native document is inside"))
    picture = gallery.of_svg(name)
    return changes, found if picture is None else {**found, "picture": picture}


def _filters(count: int) -> Json:
    if count:
        return _change("effect-fidelity", "unknown", f"{count} filters, which programs show in their own ways")
    return _change("effect-fidelity", "observed", "no filters")


def _raster(images: int) -> Json:
    return _change("raster-content", "observed", f"{images} rasters inside" if images else "no raster inside")


def _pdf(_name: str, _data: bytes, gallery: _Gallery, _document: Document) -> tuple[list[Json], Json]:
    pages = gallery.of_pdf()
    images = sum(one.objects.get("image", 0) for one in gallery.pages)
    texts = sum(one.objects.get("text", 0) for one in gallery.pages)
    changes = [
        _change("editable-layers-paths-text", "lost", "layers are not written; paths stay paths"),
        _raster(images),
        _change("font-portability", "unknown", f"{texts} text objects"),
    ]
    labels = [one.label for one in gallery.pages]
    return changes, {"pages": len(labels), "labels": labels, "rasters": images, "texts": texts, "pictures": pages}


def _png(_name: str, data: bytes, _gallery: _Gallery, _document: Document) -> tuple[list[Json], Json]:
    width, height = png_size(data)
    colour_type = data[_COLOUR_TYPE]
    alpha = colour_type in {4, 6}
    changes = [
        _change("editable-layers-paths-text", "lost", "pixels"),
        _change("raster-content", "observed", "pixels"),
        _change("alpha-channel", "observed" if alpha else "lost", "in the header" if alpha else "on a ground"),
    ]
    return changes, {"width": width, "height": height, "colourType": colour_type}


def _ico(_name: str, data: bytes, _gallery: _Gallery, _document: Document) -> tuple[list[Json], Json]:
    entries = int.from_bytes(data[4:6], "little")
    changes = [
        _change("editable-layers-paths-text", "lost", "pixels"),
        _change("raster-content", "observed", "pixels"),
    ]
    return changes, {"entries": entries}


def _change(code: str, status: str, reason: str) -> Json:
    return {"code": code, "status": status, "reason": reason}


_FORMATS: Final = {"svg": _svg, "pdf": _pdf, "png": _png, "ico": _ico}
