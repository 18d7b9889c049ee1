"""SVG in, native document out: what is drawn where, and that nothing disappears without being named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.vector import document as native
from countermark.vector.artboard import artboards
from countermark.vector.colour import hex_of
from countermark.vector.path import bounds
from countermark.vector.svg.import_ import Imported, import_svg
from countermark.vector.svg.report import accepted

RECT = '<rect width="10" height="10"/>'


def imported(body: str, root: str = 'viewBox="0 0 100 100"') -> Imported:
    return import_svg(f'<svg xmlns="http://www.w3.org/2000/svg" {root}>{body}</svg>'.encode(), name="mark.svg")


def children(found: Imported) -> Any:
    return found.document.tree["layers"][0]["kind"]["children"]


def paths(found: Imported) -> list[Any]:
    return [visit.node for visit in native.walk(found.document) if visit.node["kind"]["type"] == "path"]


def only(body: str, root: str = 'viewBox="0 0 100 100"') -> Any:
    (node,) = children(imported(body, root))
    return node


def box(node: Any) -> Any:
    return bounds(node["kind"]["path"])


def fill(node: Any) -> Any:
    return next((hex_of(i["paint"]["color"]) for i in node["appearance"]["items"] if i["kind"] == "fill"), None)


def codes(found: Imported) -> list[str]:
    return [loss["code"] for loss in found.losses]


# --- size, units, viewports


@pytest.mark.parametrize(
    ("root", "size"),
    [
        ('viewBox="0 0 40 20"', (40, 20)),
        ('width="80" viewBox="0 0 40 20"', (80, 40)),
        ('height="80" viewBox="0 0 40 20"', (160, 80)),
        ('width="100%" height="100%" viewBox="0 0 40 20"', (40, 20)),
        ('width="1in" height="72pt"', (96, 96)),
        ('width="25.4mm" height="2.54cm"', (96, 96)),
        ('width="6pc" height="96px"', (96, 96)),
        ('width="6em" height="12ex"', (96, 96)),
    ],
)
def test_the_artboard_has_the_drawings_size_in_pixels(root: str, size: tuple[float, float]) -> None:
    (board,) = artboards(imported(RECT, root).document)
    assert (board.id, board.box.width, board.box.height) == (1, *map(pytest.approx, size))


def test_a_drawing_of_no_size_is_as_large_as_its_art() -> None:
    found = imported('<rect x="5" y="5" width="10" height="20"/>', "")
    assert artboards(found.document)[0].box == (0, 0, 15, 25)
    assert "size" in [note["code"] for note in found.notes]
    with pytest.raises(CountermarkError, match="no size"):
        imported("", "")


@pytest.mark.parametrize(
    ("how", "at"),
    [
        ("", (50, 0, 150, 100)),
        ("xMinYMin", (0, 0, 100, 100)),
        ("xMaxYMax meet", (100, 0, 200, 100)),
        ("xMidYMid slice", (0, -50, 200, 150)),
        ("xMinYMax slice", (0, -100, 200, 100)),
        ("none", (0, 0, 200, 100)),
    ],
)
def test_preserve_aspect_ratio_places_the_view_box(how: str, at: tuple[float, ...]) -> None:
    root = f'width="200" height="100" viewBox="-5 -5 10 10" preserveAspectRatio="{how}"'
    assert box(only('<rect x="-5" y="-5" width="10" height="10"/>', root)) == at


def test_percentages_and_font_units_are_resolved() -> None:
    root = 'viewBox="0 0 200 100" font-size="20"'
    assert box(only('<rect x="10%" y="10%" width="50%" height="1em"/>', root)) == (20, 10, 120, 30)
    assert box(only('<rect font-size="50%" width="1em" height="1rem"/>', root)) == (0, 0, 10, 20)


def test_an_inner_svg_and_a_used_symbol_clip_to_their_viewport() -> None:
    symbol = '<symbol id="s" viewBox="0 0 10 10"><rect width="99" height="1"/></symbol>'
    for body in (
        '<svg x="10" y="20" width="50" height="50" viewBox="0 0 10 10"><rect width="99" height="1"/></svg>',
        f'{symbol}<use href="#s" x="10" y="20" width="50" height="50"/>',
    ):
        group = only(body)
        while not group["kind"]["clip"]:
            (group,) = group["kind"]["children"]
        frame, art = group["kind"]["children"]
        assert box(frame) == (10, 20, 60, 70)
        assert box(art) == (10, 20, 505, 25)


# --- shapes, transforms, use


@pytest.mark.parametrize(
    ("shape", "at"),
    [
        ('<rect x="1" y="2" width="3" height="4"/>', (1, 2, 4, 6)),
        ('<rect width="8" height="4" rx="9"/>', (0, 0, 8, 4)),
        ('<rect width="8" height="4" ry="50%"/>', (0, 0, 8, 4)),
        ('<circle cx="5" cy="5" r="2"/>', (3, 3, 7, 7)),
        ('<ellipse cx="5" cy="5" rx="2" ry="1"/>', (3, 4, 7, 6)),
        ('<ellipse cx="5" cy="5" ry="1"/>', (4, 4, 6, 6)),
        ('<line x1="1" y1="2" x2="3" y2="1"/>', (1, 1, 3, 2)),
        ('<polyline points="1,1 2 5,3,0"/>', (1, 0, 3, 5)),
        ('<polygon points="1,1 2 5 3 0 9"/>', (1, 0, 3, 5)),
        ('<path d="M1 1C1 5 9 5 9 1z"/>', (1, 1, 9, 4)),
    ],
)
def test_every_shape_is_drawn_where_it_stands(shape: str, at: tuple[float, ...]) -> None:
    assert box(only(shape)) == pytest.approx(at)


def test_corners_follow_the_rules_of_rx_and_ry() -> None:
    def corner(attributes: str) -> tuple[float, float]:
        anchors = only(f'<rect width="20" height="10" {attributes}/>')["kind"]["path"]["subpaths"][0]["anchors"]
        return anchors[0]["p"][0], min(anchor["p"][1] for anchor in anchors if anchor["p"][0] == 20)

    assert corner('rx="3"') == (3, 3)
    assert corner('ry="3"') == (3, 3)
    assert corner('rx="3" ry="2"') == (3, 2)
    assert corner('rx="30" ry="30"') == (10, 5)
    assert corner('rx="-1" ry="2"') == (2, 2)


@pytest.mark.parametrize(
    "shape",
    [
        '<rect width="0" height="5"/>',
        '<rect width="-1" height="5"/>',
        '<rect height="5"/>',
        '<circle r="0"/>',
        '<ellipse rx="1" ry="0"/>',
        '<path d=""/>',
        '<polygon points=""/>',
        f'<g transform="scale(0)">{RECT}</g>',
        '<use href="#nothing"/>',
    ],
)
def test_what_svg_does_not_paint_is_left_out_with_a_note(shape: str) -> None:
    found = imported(shape)
    assert children(found) == []
    assert found.losses == []
    assert len(found.notes) == 1


def test_transforms_nest_and_apply_from_the_inside() -> None:
    body = f'<g transform="translate(10 0)"><g transform="scale(2)" ><g transform="rotate(90)">{RECT}</g></g></g>'
    assert box(paths(imported(body))[0]) == (-10, 0, 10, 20)
    assert box(only(f'<g transform="rotate(90)" transform-origin="50 50">{RECT}</g>')) == (90, 0, 100, 10)
    assert box(only('<rect width="9" height="9" style="transform: translate(1px, 2px)"/>')) == (1, 2, 10, 11)


def test_a_use_is_drawn_at_its_place_with_its_own_style() -> None:
    body = f'<defs><g id="a">{RECT}<rect width="1" height="1" fill="lime"/></g></defs><use href="#a" x="5" fill="red"/>'
    first, second = paths(imported(body))
    assert (box(first), fill(first)) == ((5, 0, 15, 10), "#ff0000")
    assert fill(second) == "#00ff00"


@pytest.mark.parametrize(
    "body",
    [
        '<g id="a"><use href="#a"/></g>',
        '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>',
        '<use id="a" href="#a"/>',
        '<svg id="a"><use href="#a"/></svg>',
    ],
)
def test_a_circle_of_use_elements_is_refused_by_name(body: str) -> None:
    with pytest.raises(CountermarkError, match="#a") as caught:
        imported(body)
    assert caught.value.code == "svg_invalid"


# --- style


@pytest.mark.parametrize(
    ("body", "colour"),
    [
        (RECT, "#000000"),
        ('<g fill="red"><rect width="1" height="1"/></g>', "#ff0000"),
        ('<g fill="red"><rect width="1" height="1" fill="inherit"/></g>', "#ff0000"),
        ('<rect width="1" height="1" fill="red" style="fill:lime"/>', "#00ff00"),
        ('<g color="red"><rect width="1" height="1" fill="currentColor"/></g>', "#ff0000"),
        ('<g fill="currentColor" color="red"><rect width="1" height="1" color="lime"/></g>', "#00ff00"),
        ('<g fill="red"><rect width="1" height="1" fill="nonsense"/></g>', "#ff0000"),
        ('<g fill="red"><rect width="1" height="1" fill="initial"/></g>', "#000000"),
        ('<rect width="1" height="1" fill="none"/>', None),
        ('<rect width="1" height="1" fill="url(#none) red"/>', "#ff0000"),
        ('<rect width="1" height="1" fill="url(#none)"/>', None),
    ],
)
def test_fills_follow_the_cascade(body: str, colour: str | None) -> None:
    assert fill(paths(imported(body))[0]) == colour


def test_strokes_carry_every_property() -> None:
    node = only(
        '<path d="M0 0H9" fill="none" stroke="red" stroke-width="2" stroke-linecap="round" stroke-linejoin="bevel" '
        'stroke-miterlimit="7" stroke-dasharray="1 2 3" stroke-dashoffset="4" stroke-opacity="50%"/>'
    )
    (item,) = node["appearance"]["items"]
    assert item == {
        "kind": "stroke",
        "paint": {"type": "solid", "color": {"model": "rgb", "r": 1.0, "g": 0.0, "b": 0.0}},
        "width": 2.0,
        "cap": "Round",
        "join": "Bevel",
        "miter_limit": 7.0,
        "dash": {"pattern": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "offset": 4.0, "align_corners": False},
        "opacity": 0.5,
    }


@pytest.mark.parametrize("dashes", ["none", "0 0", "1 -1", "", "x"])
def test_dashes_that_are_none_leave_a_solid_line(dashes: str) -> None:
    node = only(f'<path d="M0 0H9" fill="none" stroke="red" stroke-dasharray="{dashes}"/>')
    assert "dash" not in node["appearance"]["items"][0]


def test_a_stroke_grows_with_its_object_and_a_squeezed_one_keeps_its_pen() -> None:
    line = '<path d="M0 0H9" fill="none" stroke="red" stroke-dasharray="1 2" transform="{}"/>'
    grown = only(line.format("rotate(30) scale(3)"))["appearance"]["items"][0]
    assert grown["width"] == 3
    assert grown["dash"]["pattern"] == [3, 6]
    assert "countermark" not in grown
    squeezed = only(line.format("scale(4 1)"))["appearance"]["items"][0]
    assert squeezed["width"] == 2
    assert squeezed["countermark"] == {"pen": [2, 0, 0, 0.5]}


def test_opacity_rule_order_and_blend_are_kept() -> None:
    node = only(
        '<path id="p" d="M0 0H9V9z" stroke="red" fill="rgba(0,0,255,.5)" fill-opacity=".5" fill-rule="evenodd" '
        'opacity="0.25" paint-order="stroke" style="mix-blend-mode:color-burn"/>'
    )
    assert (node["name"], node["opacity"], node["blend"], node["kind"]["rule"]) == ("p", 0.25, "ColorBurn", "EvenOdd")
    assert [item["kind"] for item in node["appearance"]["items"]] == ["stroke", "fill"]
    assert node["appearance"]["items"][1]["opacity"] == 0.25


def test_groups_keep_their_name_and_opacity_and_isolate_what_blends_inside() -> None:
    blended = '<rect width="1" height="1" style="mix-blend-mode:multiply"/>'
    group = only(f'<g id="mark" opacity="0.5">{RECT}{blended}</g>')
    assert (group["name"], group["opacity"], group["isolate"], group["kind"]["type"]) == ("mark", 0.5, True, "group")
    assert "isolate" not in only(f'<g id="mark">{RECT}{blended}</g>')


def test_hidden_art_is_kept_hidden() -> None:
    found = imported(f'<g display="none" id="x">{RECT}</g><rect width="1" height="1" visibility="hidden"/>')
    assert [node["visible"] for node in children(found)] == [False, False]
    shown = imported('<g visibility="hidden"><rect width="1" height="1" visibility="visible"/></g>')
    assert "visible" not in paths(shown)[0]


def test_a_switch_takes_its_first_child_whose_conditions_hold() -> None:
    found = imported(
        '<switch><foreignObject requiredExtensions="x"/><rect width="1" height="1" systemLanguage="de"/>'
        '<rect width="2" height="2" systemLanguage="fr, en-GB"/><rect width="3" height="3"/></switch>'
    )
    assert [box(node) for node in paths(found)] == [(0, 0, 2, 2)]
    assert found.losses == []


def test_context_paints_follow_the_colours_of_the_use() -> None:
    shape = '<defs><path id="p" d="M0 0H9V9z" fill="context-stroke"/></defs>'
    assert fill(paths(imported(f'{shape}<use href="#p" stroke="red"/>'))[0]) == "#ff0000"
    served = '<linearGradient id="g"><stop/><stop offset="1"/></linearGradient>'
    node = paths(imported(f'{shape}{served}<use href="#p" x="1" stroke="url(#g)"/>'))[0]
    item = node["appearance"]["items"][0]
    assert item["paint"]["geom"]["start"] == {"x": 1.0, "y": 0.0}
    assert item["paint"]["geom"]["end"] == {"x": 10.0, "y": 0.0}


# --- clips


def clip(body: str, clipped: str = '<rect clip-path="url(#c)" width="50" height="50"/>') -> Imported:
    return imported(f'<clipPath id="c" {body}</clipPath>{clipped}')


def test_a_clip_becomes_a_group_whose_first_child_clips() -> None:
    (group,) = children(clip('><circle cx="10" cy="10" r="5" clip-rule="evenodd"/>'))
    assert group["kind"]["clip"] is True
    shape, art = group["kind"]["children"]
    assert (shape["kind"]["clipping"], shape["kind"]["rule"], box(shape)) == (True, "EvenOdd", (5, 5, 15, 15))
    assert box(art) == (0, 0, 50, 50)


def test_a_clip_follows_its_object_its_own_transform_and_box_units() -> None:
    moved = '<rect clip-path="url(#c)" x="20" width="40" height="20" transform="translate(10)"/>'
    body = 'transform="scale(2)"><rect width="5" height="5"/>'
    assert box(children(clip(body, moved))[0]["kind"]["children"][0]) == (10, 0, 20, 10)
    body = 'clipPathUnits="objectBoundingBox"><rect width="0.5" height="1"/>'
    assert box(children(clip(body, moved))[0]["kind"]["children"][0]) == (30, 0, 50, 20)


def test_several_shapes_of_a_clip_are_a_union() -> None:
    used = '<defs><rect id="u" x="50" width="9" height="9"/></defs>'
    (group,) = children(clip(f'>{RECT}<use href="#u"/>', f'<g clip-path="url(#c)">{RECT}</g>{used}'))
    shape = group["kind"]["children"][0]
    assert (shape["kind"]["type"], shape["kind"]["countermark"]) == ("compound", {"union": True})
    assert [box(part) for part in shape["kind"]["children"]] == [(0, 0, 10, 10), (50, 0, 59, 9)]


def test_a_clip_on_a_clip_nests() -> None:
    clips = (
        '<clipPath id="d"><rect width="3" height="3" clip-path="url(#e)"/></clipPath>'
        '<clipPath id="e"><rect width="2" height="2"/></clipPath>'
    )
    art = f'{clips}<g clip-path="url(#c)" opacity=".5" id="n">{RECT}</g>'
    (outer,) = children(clip('clip-path="url(#d)"><rect width="5" height="5"/>', art))
    found = []
    group = outer
    while group["kind"].get("clip"):
        shape, group = group["kind"]["children"]
        found.append(box(shape)[2])
    assert found == [2, 3, 5]
    assert (outer["name"], outer["opacity"]) == ("n", 0.5)


def test_an_empty_clip_hides_and_a_missing_one_does_not() -> None:
    assert children(clip(">")) == []
    assert children(clip('display="none">')) == []
    assert len(children(imported('<rect clip-path="url(#no)" width="1" height="1"/>'))) == 1


def test_a_clip_that_refers_to_itself_is_refused_by_name() -> None:
    with pytest.raises(CountermarkError, match="#c refers to itself"):
        clip('clip-path="url(#c)"><rect width="5" height="5"/>')


# --- the report


@pytest.mark.promise("vector.import.nothing-silent")
@pytest.mark.parametrize(
    ("body", "code", "path", "name"),
    [
        ("<text id='t'>Hello</text>", "text", "/svg/text[1]", "text:t"),
        ("<g><g/><g><text>Hello</text></g></g>", "text", "/svg/g[1]/g[2]/text[1]", "text:1"),
        ("<style>rect:has(a){fill:red}</style>", "style-sheet", "/svg/style[1]", "style-sheet:rect:has(a)"),
        ('<image href="data:image/png;base64,AA=="/>', "image", "/svg/image[1]", "image:1"),
        ("<foreignObject/>", "foreign-object", "/svg/foreignObject[1]", "foreign-object:1"),
        ("<flowRoot/>", "unknown-element", "/svg/flowRoot[1]", "unknown-element:1"),
        (f'<g><filter id="f"/><g id="a" filter="url(#f)">{RECT}</g></g>', "filter", "/svg/g[1]/g[1]", "filter:a"),
        (f'<g style="filter: blur(2px)">{RECT}</g>', "filter", "/svg/g[1]", "filter:1"),
        (f'<g filter="url(#none)">{RECT}</g>', "filter", "/svg/g[1]", "filter:1"),
        ('<rect width="1" height="1"><animate/></rect>', "animation", "/svg/rect[1]/animate[1]", "animation:1"),
        (f'<g shape-rendering="crispEdges">{RECT}</g>', "shape-rendering", "/svg/g[1]", "shape-rendering:1"),
        (f'<g clip-path="circle(3px)">{RECT}</g>', "clip-path", "/svg/g[1]", "clip-path:1"),
        (f'<g stroke-linejoin="arcs">{RECT}</g>', "stroke-linejoin", "/svg/g[1]", "stroke-linejoin:1"),
        (f'<g style="mix-blend-mode:plus-lighter">{RECT}</g>', "mix-blend-mode", "/svg/g[1]", "mix-blend-mode:1"),
        (f'<g fill="oklch(0.5 0.1 20)">{RECT}</g>', "colour", "/svg/g[1]", "colour:1"),
        ('<rect width="1" height="1" style="x: 5px"/>', "geometry-property", "/svg/rect[1]", "geometry-property:1"),
    ],
)
def test_everything_that_is_not_carried_over_is_named_with_its_place(
    body: str, code: str, path: str, name: str
) -> None:
    (loss,) = imported(body).losses
    assert (loss["code"], loss["path"], loss["name"]) == (code, path, name)
    assert loss["element"] == path.rpartition("/")[2].partition("[")[0]
    assert loss["reason"].endswith(".")


def test_art_behind_a_dropped_effect_stays() -> None:
    found = imported(f'<filter id="f"/><g filter="url(#f)">{RECT}</g>')
    assert len(paths(found)) == 1
    assert codes(found) == ["filter"]


def test_what_paints_nothing_is_no_loss() -> None:
    found = imported(
        "<title>T</title><desc>d</desc><metadata><x xmlns='urn:x'/></metadata><defs><filter id='f'/><text>x</text>"
        "<mask id='m'/><pattern id='p'/></defs><i:grid xmlns:i='http://www.inkscape.org/namespaces/inkscape'/>"
        f'<g font-family="x" text-anchor="end" style="-inkscape-x:1;line-height:2" data-x="1" class="a">{RECT}</g>'
    )
    assert found.losses == []
    assert found.notes == []


def test_losses_inside_hidden_art_are_notes() -> None:
    found = imported('<g display="none"><text>Hello</text></g><text visibility="hidden">x</text><text> </text>')
    assert found.losses == []
    assert [note["code"] for note in found.notes] == ["text", "text", "text"]


def test_one_fault_drawn_twice_is_reported_once() -> None:
    found = imported("<defs><text id='t'>Hi</text></defs><use href='#t'/><use href='#t' x='5'/>")
    assert codes(found) == ["text"]


def test_faults_that_every_reader_skips_are_notes() -> None:
    found = imported('<path d="M0 0L5 5 Lx"/><polyline points="0 0 5 5 5"/><g transform="scale(x)" fill="nope"/>')
    assert found.losses == []
    assert [note["code"] for note in found.notes] == ["path-data", "points", "value", "transform"]


def test_the_report_stands_in_the_document_with_the_source() -> None:
    found = imported("<text>Hi</text>", 'width="5mm" height="5mm"')
    held = native.load(native.dump(found.document)).tree["countermark"]
    assert held["losses"] == found.losses
    assert held["source"]["name"] == "mark.svg"
    assert (held["source"]["width"], len(held["source"]["sha256"])) == ("5mm", 64)


def test_losses_are_accepted_by_name_or_by_kind_and_a_misspelt_name_is_refused() -> None:
    losses = imported("<text id='a'>Hi</text><text id='b'>Ho</text><image href='data:,'/>").losses
    assert [[loss["name"] for loss in part] for part in accepted(losses, ["text:a", "image"])] == [
        ["text:a", "image:1"],
        ["text:b"],
    ]
    with pytest.raises(CountermarkError) as caught:
        accepted(losses, ["txt"])
    assert caught.value.code == "loss_unknown"


# --- the whole


def test_the_same_file_gives_the_same_bytes_and_ids_rise_uniquely() -> None:
    body = f'<g id="a">{RECT}<g opacity=".5">{RECT}{RECT}</g></g><circle r="33.3" transform="rotate(12.3)"/>'
    one, other = imported(body), imported(body)
    assert native.dump(one.document) == native.dump(other.document)
    ids = [visit.node["id"] for visit in native.walk(one.document)]
    assert len(ids) == len(set(ids))
    assert one.document.tree["next_id"] > max(ids)


def test_deep_groups_that_say_nothing_are_dissolved_and_others_refused() -> None:
    deep = imported("<g id='x'>" * 100 + RECT + "</g>" * 100)
    assert native.load(native.dump(deep.document)).file == deep.document.file
    with pytest.raises(CountermarkError) as caught:
        imported("<g opacity='.9'>" * 100 + RECT + "</g>" * 100)
    assert caught.value.code == "svg_too_deep"


@pytest.mark.promise("vector.import.corpus")
@pytest.mark.parametrize("folder", ["logos", "icons"])
def test_every_real_logo_and_icon_is_imported(shared_data: Path, folder: str) -> None:
    lossy = {}
    files = sorted((shared_data / folder).glob("*.svg"))
    for file in files:
        found = import_svg(file.read_bytes(), name=file.name)
        assert paths(found), file.name
        assert json.loads(native.dump(found.document)) == found.document.file
        if found.losses:
            lossy[file.stem] = set(codes(found))
    assert len(files) > 90
    assert all(kinds <= {"filter", "mask"} for kinds in lossy.values()), lossy


def test_every_file_of_the_suite_is_read_or_refused_with_a_sentence(shared_data: Path) -> None:
    read = refused = 0
    for file in sorted((shared_data / "resvg").rglob("*.svg")):
        data = file.read_bytes()
        found, code = attempt(data, file.name)
        if found is None:
            assert code in {"svg_invalid", "svg_unsafe"}, file.name
            refused += 1
            continue
        read += 1
        native.load(native.dump(found.document))
        drawn = data.partition(b"</defs>")[2] if b"<defs" in data else data
        for tag in (b"<text", b"<foreignObject"):
            assert tag not in drawn or found.losses or found.notes, file.name
        # A picture is carried as one; a drawing within the drawing (in base 64 `<svg` begins PHN2Zy) as its shapes.
        carried = b'"image"' in native.dump(found.document) or b"PHN2Zy" in drawn
        assert b"<image" not in drawn or carried or found.losses or found.notes, file.name
    assert read > 280
    assert refused < 25


def attempt(data: bytes, name: str) -> tuple[Imported | None, str]:
    try:
        return import_svg(data, name=name), ""
    except CountermarkError as error:
        return None, error.code
