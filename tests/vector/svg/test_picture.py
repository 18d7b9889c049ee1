"""What was imported looks as another engine draws the original: one feature of SVG at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from countermark.raster import judge
from countermark.raster.difference import Difference, measure
from countermark.raster.picture import decode_png
from countermark.vector import document as native
from countermark.vector.artboard import artboards
from countermark.vector.draw import draw
from countermark.vector.svg.import_ import import_svg

STOPS = '<stop stop-color="gold"/><stop offset=".6" stop-color="red" stop-opacity=".7"/><stop offset="1"/>'
STAR = "M50 5L79 95L2 39H98L21 95z"


def against_the_judge(svg: bytes, side: int) -> Difference:
    found = import_svg(svg)
    assert found.losses == []
    document = native.load(native.dump(found.document))
    (board,) = artboards(document)
    scale = side / max(board.box.width, board.box.height)
    width, height = round(board.box.width * scale), round(board.box.height * scale)
    drawing = draw(document, board, width, height)
    assert drawing.undrawn == ()
    return measure(decode_png(drawing.png), judge.render(svg, width, height).picture)


FEATURES = {
    "rules": f"""<path d="{STAR}" fill-rule="evenodd" fill="teal"/>
        <path d="M10 90Q20 60 30 90T50 90S60 60 70 90" stroke="red"/>""",
    "corners and arcs": """<rect x="10" y="10" width="80" height="30" rx="20" ry="8"/>
        <path d="M20 70a30 15-30 1160 10z" fill="tan"/>""",
    "squeezed pen": """<path d="M10 20H90" stroke="red" stroke-width="6" transform="matrix(.9 .3 -.4 2 20 0)"
        stroke-dasharray="9 4 1"/>""",
    "skewed circle": """<g transform="rotate(20 50 50) skewX(30)">
        <circle cx="40" cy="50" r="20" stroke="#05f" stroke-width="9"/></g>""",
    "joins and dots": """<path d="M20 80L50 20L80 80" fill="none" stroke="#222" stroke-width="14"
        stroke-linejoin="round"/><path d="M20 95H80" stroke="red" stroke-width="6" stroke-linecap="square"
        stroke-dasharray="0 12"/>""",
    "linear gradient": f"""<linearGradient id="g" x2=".3" y2=".2" spreadMethod="reflect"
        gradientTransform="rotate(30)">{STOPS}</linearGradient>
        <rect x="5" y="30" width="90" height="40" fill="url(#g)" transform="skewX(-10)"/>""",
    "radial gradient": f"""<radialGradient id="g" cx=".4" fx=".3" fy=".6" fr=".1" r=".4" spreadMethod="repeat">{STOPS}
        </radialGradient><rect x="5" y="20" width="90" height="60" fill="url(#g)" transform="rotate(10)"/>""",
    "gradient on a stroke": f"""<radialGradient id="g" gradientUnits="userSpaceOnUse" cx="50" cy="50" r="40">{STOPS}
        </radialGradient><path d="{STAR}" fill="none" stroke="url(#g)" stroke-width="8" transform="scale(1 .7)"/>""",
    "clip of two shapes": f"""<clipPath id="c"><circle cx="40" cy="40" r="30"/>
        <rect x="50" y="50" width="40" height="40"/></clipPath>
        <g clip-path="url(#c)"><rect width="100" height="100" fill="navy"/><path d="{STAR}" fill="gold"/></g>""",
    "clip on a clip": """<clipPath id="c" clipPathUnits="objectBoundingBox" clip-path="url(#d)">
        <circle cx=".5" cy=".5" r=".5"/></clipPath><clipPath id="d"><path d="M0 0L100 20V80L0 100z"/></clipPath>
        <rect x="10" y="20" width="80" height="60" fill="teal" clip-path="url(#c)" transform="rotate(15 50 50)"/>""",
    "group opacity": f"""<g opacity=".5"><path d="{STAR}" fill="red" stroke="blue" stroke-width="6"/>
        <rect width="50" height="50"/></g>""",
    "blend": f"""<rect width="100" height="60" fill="#fc0"/>
        <path d="{STAR}" fill="#08f" style="mix-blend-mode:multiply"/>""",
    "symbol": """<symbol id="s" viewBox="0 0 10 10"><circle cx="5" cy="5" r="7" fill="purple"/></symbol>
        <use href="#s" x="10" y="10" width="30" height="60"/><use href="#s" x="50" y="50" width="40" height="40"/>""",
    "inner svg": """<svg x="20" y="10" width="50" height="80" viewBox="0 0 9 9" preserveAspectRatio="xMaxYMin slice">
        <rect width="9" height="9" fill="olive"/><path d="M0 9L9 0" stroke="white"/></svg>""",
    "stroke below": f"""<path d="{STAR}" fill="gold" stroke="#333" stroke-width="12" paint-order="stroke"
        stroke-opacity=".6"/>""",
}


@pytest.mark.promise("vector.import.looks-as-judged")
@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_looks_as_the_judge_draws_it(feature: str) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{FEATURES[feature]}</svg>'
    found = against_the_judge(svg.encode(), 512)
    assert found.within(10), found


@pytest.mark.parametrize("root", ['width="200" height="80" viewBox="-20 -20 90 90"', 'width="3in" height="1in"'])
def test_sizes_and_view_boxes_look_as_the_judge_draws_them(root: str) -> None:
    body = '<rect width="50" height="50" fill="teal"/><circle cx="50%" cy="50%" r="30%" fill="red"/>'
    found = against_the_judge(f'<svg xmlns="http://www.w3.org/2000/svg" {root}>{body}</svg>'.encode(), 512)
    assert found.within(10), found


@pytest.mark.parametrize("name", ["dinersclub", "google-aistudio", "postcss", "firebase-icon", "webstorm", "gleam"])
def test_real_logos_look_as_the_judge_draws_them(shared_data: Path, name: str) -> None:
    assert against_the_judge((shared_data / "logos" / f"{name}.svg").read_bytes(), 512).within(10)
