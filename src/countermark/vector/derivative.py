"""Observations of the files that a kit makes of its boards, with other readers than those that wrote them.

Nothing here imports the drawer, a writer or Skia: pdfium looks at pages, Pillow at icons, and Python's own readers of
XML, JSON, base64 and gzip at the rest.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from xml.parsers import expat

from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine, Verdict
from countermark.raster import edge, judge, page
from countermark.raster.picture import Picture, decode_png
from countermark.vector import identity
from countermark.vector.checks import Board, pillow, resvg
from countermark.vector.judged import page_picture, png_picture
from countermark.vector.look import Look, given

SAFE_RADIUS: Final = 0.4
"""The safe zone of a maskable icon: within this share of its side about the middle (W3C Web Application Manifest)."""

LONGEST_PAGE: Final = 14_400
_PROPERTY: Final = re.compile(r"(--[A-Za-z0-9_-]+):\s*(#[0-9a-f]{6});")
EDGES_LEGIBLE: Final = 60
_POINT: Final = 0.01


class Sheet(NamedTuple):
    """What a page has to be: its label and its sides in points."""

    label: str
    width: float
    height: float


def pdfium() -> Engine:
    """Return the identity of the engine that looks at pages."""
    return identity.distribution(page.DISTRIBUTION)


def pdf_pages(data: bytes | None, sheets: Sequence[Sheet], maker: Engine) -> Verdict:
    """Open a PDF with pdfium: a page for each artboard in order, labelled by its id, no date, no hidden raster."""
    look = Look("pdf_pages", maker, (data,), required=True)

    def observe() -> Verdict:
        found = page.outline(given(data))
        wrong = []
        if len(found.pages) != len(sheets):
            wrong.append(f"{len(found.pages)} pages, not {len(sheets)}")
        for one, sheet in zip(found.pages, sheets, strict=False):
            unit = max(1.0, sheet.width / LONGEST_PAGE, sheet.height / LONGEST_PAGE)
            if one.label != sheet.label:
                wrong.append(f"a page is labelled {one.label!r}, not {sheet.label!r}")
            sides = ((one.width, sheet.width / unit), (one.height, sheet.height / unit))
            if any(abs(seen - wanted) > max(_POINT, wanted * 1e-6) for seen, wanted in sides):
                wrong.append(f"{sheet.label} is {one.width:g} x {one.height:g} points")
        images = sum(one.objects.get("image", 0) for one in found.pages)
        measured = {"pages": len(found.pages), "rasters": images, "dates": len(found.dates), "wrong": len(wrong)}
        if images:
            wrong.append(f"{images} rasters among the objects")
        wrong += [f"it names the date {date}" for date in found.dates]
        threshold = {"pages": len(sheets), "rasters": 0, "dates": 0}
        source = "seed 1 §5: artboards keep their ids and sizes; rasterised effects are reported"
        return look.verdict(measured, threshold, passed=not wrong, reason="; ".join(wrong[:3]), source=source)

    return look.run(pdfium, observe)


def pdf_renders(data: bytes | None, index: int, board: Board, maker: Engine, *, required: bool = True) -> Verdict:
    """Have pdfium show a page and compare it with the board's PNG."""
    look = Look("pdf_renders", maker, (data, board.png), required=required)

    def observe() -> Verdict:
        drawn = png_picture(given(board.png))
        seen = page_picture(given(data), index, board.width, board.height)
        return look.compared(drawn, judge.Judged(seen, ()))

    return look.run(pdfium, observe)


def ico_entries(data: bytes | None, pngs: Sequence[bytes], maker: Engine) -> Verdict:
    """Decode every entry of an icon file with Pillow and compare it, pixel by pixel, with the board of its size."""
    look = Look("ico_entries", maker, (data, *pngs), required=True)

    def observe() -> Verdict:
        boards = {(one.width, one.height): one for one in map(decode_png, pngs)}
        entries = _entries(given(data))
        wrong = [f"{w} x {h} is not asked for" for w, h in entries.keys() - boards.keys()]
        wrong += [f"{w} x {h} is missing" for w, h in boards.keys() - entries.keys()]
        for size in entries.keys() & boards.keys():
            if not (entries[size].rgba == boards[size].rgba).all():
                wrong.append(f"{size[0]} x {size[1]} is another picture than its board")
        measured = {"entries": len(entries), "wrong": len(wrong)}
        threshold = {"entries": len(boards), "wrong": 0}
        reason = "; ".join(sorted(wrong)[:3])
        return look.verdict(measured, threshold, passed=not wrong, reason=reason, source="the boards of those sizes")

    return look.run(pillow, observe)


def manifest_icons(data: bytes | None, files: Mapping[str, bytes], wanted: int, maker: Engine) -> Verdict:
    """Read a web manifest with Python's JSON reader: every icon stands beside it, in the size it names."""
    look = Look("manifest_icons", maker, (data,), required=True)

    def observe() -> Verdict:
        wrong: list[str] = []
        icons: list[Any] = []
        try:
            icons = json.loads(given(data))["icons"]
            for icon in icons:
                png = decode_png(given(files.get(icon["src"])))
                if icon["sizes"] != f"{png.width}x{png.height}" or icon["type"] != "image/png":
                    wrong.append(f"{icon['src']} is {png.width}x{png.height}, not {icon['sizes']}")
                if icon["purpose"] == "maskable" and png.has_alpha:
                    wrong.append(f"{icon['src']} is maskable and not opaque")
        except (ValueError, KeyError, TypeError) as error:
            wrong.append(f"it is no manifest: {error!r}")
        measured = {"icons": len(icons), "wrong": len(wrong)}
        passed = not wrong and len(icons) == wanted
        reason = "; ".join(wrong[:3]) or ("" if passed else f"it names {len(icons)} icons")
        source = "W3C Web Application Manifest: icons"
        return look.verdict(measured, {"icons": wanted, "wrong": 0}, passed=passed, reason=reason, source=source)

    return look.run(identity.interpreter, observe)


def token_files(tokens: bytes | None, css: bytes | None, colours: Mapping[str, str], maker: Engine) -> Verdict:
    """Read a token file and a style sheet with Python's own readers: every swatch's colour once, and no other."""
    look = Look("token_files", maker, (tokens, css), required=True)

    def observe() -> Verdict:
        wanted = sorted(colours.values())
        try:
            told = dict(_token_colours(json.loads(given(tokens)), ()))
            held = sorted(told[value[1:-1]] if value.startswith("{") else value for value in told.values())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _artifact(f"the token file cannot be read: {error!r}") from error
        sheet = _PROPERTY.findall(given(css).decode("utf-8"))
        wrong = [] if held == wanted else [f"the tokens are {held[:5]}"]
        if sorted(colour for _, colour in sheet) != wanted or len({name for name, _ in sheet}) != len(wanted):
            wrong.append(f"the custom properties are {sheet[:5]}")
        measured = {"tokens": len(held), "properties": len(sheet), "wrong": len(wrong)}
        threshold = {"tokens": len(wanted), "properties": len(wanted), "wrong": 0}
        source = "DTCG 2025.10; CSS custom properties"
        return look.verdict(measured, threshold, passed=not wrong, reason="; ".join(wrong), source=source)

    return look.run(identity.interpreter, observe)


def _token_colours(group: Any, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield every token's path with its colour in hexadecimal, or with the alias it is."""
    for name, held in group.items():
        if name == "$root" or not name.startswith("$"):
            path = (*above, name)
            if "$value" not in held:
                yield from _token_colours(held, path)
            elif isinstance(held["$value"], str):
                yield ".".join(path), held["$value"]
            else:
                channels = [round(component * 255) for component in held["$value"]["components"]]
                yield ".".join(path), "#{:02x}{:02x}{:02x}".format(*channels)


def sprite_symbol(data: bytes | None, symbol: str, board: Board, maker: Engine) -> Verdict:
    """Use a sprite's symbol at a board's size, have resvg show it, and compare it with the board's PNG."""
    look = Look("sprite_symbol", maker, (data, board.png), required=True)

    def observe() -> Verdict:
        text = given(data).decode("utf-8")
        head = text[text.index("<svg") :].partition(">")[0]
        if 'width="0" height="0"' not in head:
            raise _artifact("the sprite shows something by itself")
        sized = text.replace('width="0" height="0"', f'width="{board.width}" height="{board.height}"', 1)
        closing = sized.rindex("</svg>")
        use = f'<use href="#{symbol}" width="{board.width}" height="{board.height}"/>'
        judged = judge.render((sized[:closing] + use + sized[closing:]).encode("utf-8"), board.width, board.height)
        return look.compared(decode_png(given(board.png)), judged)

    return look.run(resvg, observe)


def safe_zone(png: bytes | None, maker: Engine) -> Verdict:
    """Look with Pillow whether all that is not ground lies within the safe zone of a maskable icon."""
    look = Look("safe_zone", maker, (png,), required=True)

    def observe() -> Verdict:
        import numpy as np  # noqa: PLC0415 - takes longer to import than the whole command line

        picture = decode_png(given(png))
        ground = picture.rgba[0, 0, :3]
        rows, columns = np.nonzero((picture.rgba[..., :3] != ground).any(axis=2))
        middle = (picture.width - 1) / 2, (picture.height - 1) / 2
        far = np.hypot(columns - middle[0], rows - middle[1]).max(initial=0.0)
        reach = math.ceil(float(far) * 1000 / picture.width) / 1000
        measured = {"reach": f"{reach:.3f}", "alpha": int(picture.has_alpha)}
        # One pixel of anti-aliasing may lie on the edge.
        passed = float(far) <= SAFE_RADIUS * picture.width + 1 and not picture.has_alpha
        reason = "" if passed else f"the drawing reaches {reach:.3f} of the side from the middle"
        threshold = {"reach": f"{SAFE_RADIUS:.3f}", "alpha": 0}
        source = "W3C Web Application Manifest: safe zone"
        return look.verdict(measured, threshold, passed=passed, reason=reason, source=source)

    return look.run(pillow, observe)


def edges_survive(png: bytes | None, source: bytes | None, share: float, gap: float, maker: Engine) -> Verdict:
    """Hold a variant in other inks against the full-colour picture: its inner edges are there, and no ink beside it.

    `share` is how much of the board the drawing takes, `gap` the widest cut in pixels. An inner edge is a place where
    two colours of the opaque drawing lie within two pixels of one another.
    """
    look = Look("edges_survive", maker, (png, source), required=True)

    def observe() -> Verdict:
        found = edge.survival(png_picture(given(png)), png_picture(given(source)), share, gap)
        measured = {"edges": found.edges, "kept": found.kept, "ink": found.ink, "beside": found.beside}
        passed = found.whole
        reason = (
            "" if passed else f"{found.kept} of {found.edges} inner edges are left, {found.beside} pixels lie beside"
        )
        threshold = {"kept": f"0.{edge.KEPT_PER_CENT}", "beside": f"0.0{edge.BESIDE_PER_CENT}"}
        source_of = "seed 1 §5: variants; inner edges survive, or the variant is refused"
        return look.verdict(measured, threshold, passed=passed, reason=reason, source=source_of)

    return look.run(pillow, observe)


def legible(png: bytes | None, source: bytes | None, maker: Engine) -> Verdict:
    """Measure how many edges of a drawing are still told apart on a small board; a figure, which fails nothing."""
    look = Look("legible", maker, (png, source), required=False)

    def observe() -> Verdict:
        small = png_picture(given(png))
        found = edge.told_apart(small, png_picture(given(source)))
        share = found.kept * 100 // found.edges if found.edges else 100
        measured = {"edges": found.edges, "kept": found.kept, "side": small.width}
        passed = share >= EDGES_LEGIBLE
        reason = (
            "" if passed else f"at {small.width} pixels {share} % of its edges are told apart: lines and gaps close"
        )
        threshold = {"kept": f"0.{EDGES_LEGIBLE}"}
        return look.verdict(measured, threshold, passed=passed, reason=reason, source="research 9, 11: small sizes")

    return look.run(pillow, observe)


def embedded_document(data: bytes | None, document: bytes, svg: bytes | None, maker: Engine) -> Verdict:
    """Take the native document out of an SVG with Python's own readers: it and the drawing are the ones beside it."""
    look = Look("embedded_document", maker, (data, svg), required=True)

    def observe() -> Verdict:
        held, rest = _metadata(given(data))
        plain = _metadata(given(svg))[1]
        try:
            found = gzip.decompress(base64.b64decode("".join(held.split()), validate=True))
        except (OSError, ValueError, EOFError, zlib.error) as error:
            raise _artifact(f"what it holds cannot be unpacked: {error}") from error
        measured = {"bytes": len(found), "document": int(found == document), "drawing": int(rest == plain)}
        passed = found == document and rest == plain
        reason = "" if passed else "another document or another drawing than the ones beside it"
        return look.verdict(
            measured, {"document": 1, "drawing": 1}, passed=passed, reason=reason, source="the files beside it"
        )

    return look.run(identity.interpreter, observe)


def _entries(data: bytes) -> dict[tuple[int, int], Picture]:
    from PIL import Image  # noqa: PLC0415 - takes longer to import than the whole command line

    found = {}
    try:
        with Image.open(io.BytesIO(data), formats=["ICO"]) as opened:
            for size in sorted(opened.ico.sizes()):  # type: ignore[attr-defined]
                held = io.BytesIO()
                opened.ico.getimage(size).save(held, format="PNG")  # type: ignore[attr-defined]
                found[size] = decode_png(held.getvalue())
    except (OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        raise _artifact(f"the icon file cannot be decoded: {error}") from error
    return found


def _metadata(svg: bytes) -> tuple[str, list[tuple[str, ...]]]:
    """Return the text inside `metadata`, and every other element in order with its attributes."""
    held: list[str] = []
    rest: list[tuple[str, ...]] = []
    inside = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        if name == "metadata" or inside:
            inside += 1
        else:
            rest.append((name, *(f"{key}={value}" for key, value in attributes.items())))

    def end(_name: str) -> None:
        nonlocal inside
        inside -= bool(inside)

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: held.append(text) if inside else None
    try:
        parser.Parse(svg, True)  # noqa: FBT003 - expat's own signature
    except expat.ExpatError as error:
        raise _artifact(f"the SVG is not well-formed: {error}") from error
    return "".join(held), rest


def _artifact(reason: str) -> CountermarkError:
    return CountermarkError(
        "artifact_invalid", f"{reason[0].upper()}{reason[1:]}.", next_action="Export the kit again."
    )
