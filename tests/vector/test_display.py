from __future__ import annotations

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.vector.affine import Box
from countermark.vector.artboard import artboards
from countermark.vector.display import Display, Fill, Group, Shape, Stroke, shapes
from countermark.vector.paint_server import Gradient, Solid
from countermark.vector.resolve import resolve
from tests.vector.drawings import (
    BLUE,
    GREEN,
    RED,
    WHITE,
    Json,
    drawing,
    fill,
    first_board,
    group,
    layer,
    linear,
    path,
    polygon,
    radial,
    solid,
    square,
    stop,
    stroke,
)

RED_FILL = fill(solid(RED))


def shown(*nodes: Json) -> Display:
    document = drawing(*nodes)
    return resolve(document, first_board(document))


def ids(found: Display) -> list[int]:
    return [shape.node for shape in shapes(found.items)]


def named(*nodes: Json) -> list[str]:
    return [entry.what for entry in shown(*nodes).undrawn]


def one_fill(item: Json) -> Fill:
    (shape,) = shapes(shown(path(1, square(0, 0, 50, 50), item)).items)
    (mark,) = shape.marks
    assert isinstance(mark, Fill)
    return mark


def test_only_what_paints_on_the_artboard_is_listed() -> None:
    document = drawing(
        path(1, square(10, 10, 20, 20), RED_FILL),
        path(2, square(150, 10, 160, 20), RED_FILL),
        path(3, square(90, 10, 160, 20), RED_FILL),
        boards=(Box(0, 0, 100, 100), Box(140, 0, 240, 100)),
    )

    boards = artboards(document)

    assert ids(resolve(document, boards[0])) == [1, 3]
    assert ids(resolve(document, boards[1])) == [2, 3]


def test_a_stroke_that_reaches_in_keeps_its_object() -> None:
    outside = square(105, 10, 160, 20)

    assert ids(shown(path(1, outside, stroke(solid(RED), 12)))) == [1]
    assert ids(shown(path(1, outside, stroke(solid(RED), 12, align="Inside")))) == []
    assert ids(shown(path(1, outside, stroke(solid(RED), 6, join="Round", align="Outside")))) == [1]
    assert ids(shown(path(1, outside, stroke(solid(RED), 0.5)))) == []


def test_locked_art_paints_and_hidden_art_guides_and_templates_do_not() -> None:
    guide = path(3, square(1, 1, 9, 9), RED_FILL)
    guide["kind"]["guide"] = True
    template = layer(4, path(5, square(1, 1, 9, 9), RED_FILL))
    template["kind"]["template"] = True

    found = shown(
        path(1, square(1, 1, 9, 9), RED_FILL, locked=True),
        path(2, square(1, 1, 9, 9), RED_FILL, visible=False),
        guide,
        template,
    )

    assert (ids(found), found.undrawn) == ([1], ())


def test_plain_groups_vanish_and_groups_that_composite_stay() -> None:
    found = shown(
        group(1, path(2, square(1, 1, 9, 9), RED_FILL)),
        group(3, path(4, square(1, 1, 9, 9), RED_FILL), opacity=0.5),
        group(5, path(6, square(1, 1, 9, 9), RED_FILL), blend="Multiply"),
        group(7, path(8, square(1, 1, 9, 9), RED_FILL), isolate=True),
        group(9, opacity=0.5),
    )

    assert [type(item) for item in found.items] == [Shape, Group, Group, Group]


def test_a_clip_group_keeps_its_path_and_clips_the_rest() -> None:
    found = shown(
        group(1, path(2, square(0, 0, 50, 50), rule="EvenOdd"), path(3, square(1, 1, 9, 9), RED_FILL), clip=True)
    )

    (item,) = found.items
    assert isinstance(item, Group)
    assert item.clip is not None
    assert (item.clip.node, [area.rule for area in item.clip.areas]) == (2, ["EvenOdd"])
    assert ids(found) == [3]


def test_a_clip_that_is_a_union_keeps_each_area_with_its_own_rule() -> None:
    areas = [path(3, square(0, 0, 9, 9)), path(4, [square(0, 0, 9, 9), square(2, 2, 5, 5)], rule="EvenOdd")]
    kind = {"type": "compound", "rule": "NonZero", "children": areas, "countermark": {"union": True}}
    found = shown(group(1, {"id": 2, "kind": kind}, path(5, square(1, 1, 9, 9), RED_FILL), clip=True))

    (item,) = found.items
    assert isinstance(item, Group)
    assert item.clip is not None
    assert [(area.rule, len(area.path["subpaths"])) for area in item.clip.areas] == [("NonZero", 1), ("EvenOdd", 2)]


def test_a_clip_without_area_shows_nothing_rather_than_everything() -> None:
    found = shown(group(1, path(2, []), path(3, square(1, 1, 9, 9), RED_FILL), clip=True))

    (item,) = found.items
    assert isinstance(item, Group)
    assert item.clip is not None


def test_our_own_members_of_a_gradient_are_read_and_a_strange_spread_is_named() -> None:
    paint = radial([25, 25], [25, 45], stop(0, WHITE), stop(1, RED))

    ink = one_fill(fill({**paint, "countermark": {"spread": "reflect", "focal_radius": 0.25}})).ink

    assert isinstance(ink, Gradient)
    assert (ink.spread, ink.focal_radius) == ("reflect", 5)
    strange = fill({**paint, "countermark": {"spread": "swirl"}})
    assert named(path(1, square(0, 0, 9, 9), strange)) == ["spread swirl of a gradient"]


def test_a_pen_that_is_not_round_reaches_as_far_as_its_longest_axis() -> None:
    pen = {"pen": [4.0, 0.0, 0.0, 0.25]}

    found = shown(path(1, square(106, 10, 160, 20), stroke(solid(RED), 4, join="Round", countermark=pen)))

    assert ids(found) == [1]


def test_a_compound_path_is_one_shape_with_its_own_appearance() -> None:
    compound = {
        "id": 1,
        "appearance": {"items": [RED_FILL]},
        "kind": {
            "type": "compound",
            "rule": "EvenOdd",
            "children": [path(2, square(0, 0, 9, 9)), path(3, square(2, 2, 5, 5))],
        },
    }

    (shape,) = shapes(shown(compound).items)

    assert (shape.node, shape.rule, len(shape.path["subpaths"])) == (1, "EvenOdd", 2)


def test_a_single_mark_takes_the_objects_opacity_and_two_marks_need_a_layer() -> None:
    (single,) = shown(path(1, square(0, 0, 9, 9), fill(solid(RED), opacity=0.5), opacity=0.5)).items
    (double,) = shown(path(1, square(0, 0, 9, 9), RED_FILL, stroke(solid(BLUE), 2), opacity=0.5)).items

    assert isinstance(single, Shape)
    assert single.marks[0].opacity == 0.25
    assert isinstance(double, Group)
    assert double.opacity == 0.5


def test_hidden_marks_and_paints_that_are_none_paint_nothing() -> None:
    found = shown(
        path(1, square(0, 0, 9, 9), fill(solid(RED), visible=False)),
        path(2, square(0, 0, 9, 9), fill({"type": "none"})),
        path(3, square(0, 0, 9, 9), stroke(solid(RED), 0)),
    )

    assert (ids(found), found.undrawn) == ([], ())


@pytest.mark.parametrize(
    ("colour", "expected"),
    [
        ({"model": "rgb", "r": 0.5, "g": 0.2, "b": 1.0}, (128, 51, 255)),
        ({"model": "gray", "k": 0.0}, (255, 255, 255)),
        ({"model": "gray", "k": 0.25}, (191, 191, 191)),
        ({"model": "cmyk", "c": 0.0, "m": 1.0, "y": 0.5, "k": 0.2}, (204, 0, 102)),
    ],
)
def test_colours_become_eight_bit_srgb(colour: Json, expected: tuple[int, int, int]) -> None:
    assert one_fill(fill(solid(colour))).ink == Solid(expected)


def test_a_gradient_without_a_place_is_fitted_to_the_shape() -> None:
    paint = linear([0, 0], [1, 1], stop(0, RED), stop(1, BLUE))
    del paint["geom"]

    ink = one_fill(fill(paint)).ink

    assert isinstance(ink, Gradient)
    assert (ink.start, ink.end) == ((0, 25), (50, 25))


def test_the_middle_between_two_stops_becomes_a_stop() -> None:
    ink = one_fill(fill(linear([0, 0], [9, 0], stop(0, RED, midpoint=0.25), stop(1, BLUE, opacity=0.5)))).ink

    assert isinstance(ink, Gradient)
    assert [(entry.offset, entry.rgb, entry.opacity) for entry in ink.stops] == [
        (0, (255, 0, 0), 1),
        (0.25, (128, 0, 128), 0.75),
        (1, (0, 0, 255), 0.5),
    ]


def test_stops_that_go_back_are_held_at_the_highest_offset() -> None:
    ink = one_fill(fill(linear([0, 0], [9, 0], stop(0.6, RED), stop(0.2, BLUE), stop(1, GREEN)))).ink

    assert isinstance(ink, Gradient)
    assert [entry.offset for entry in ink.stops] == [0.6, 0.6, 1]


def test_a_radial_is_squashed_across_its_vector_and_its_focus_goes_along() -> None:
    paint = radial([25, 25], [25, 45], stop(0, WHITE), stop(1, RED), aspect=0.5, focal=[30, 25])

    ink = one_fill(fill(paint)).ink

    assert isinstance(ink, Gradient)
    assert (ink.radial, ink.radius) == (True, 20)
    # Down stays, across halves: a point 10 to the right in the circle lies 5 to the right on the page.
    assert ink.matrix.apply(35, 25) == pytest.approx((30, 25))
    assert ink.matrix.apply(25, 45) == pytest.approx((25, 45))
    assert ink.start == pytest.approx((35, 25))


def test_dashes_are_made_even_and_impossible_ones_draw_a_solid_line() -> None:
    def dash_of(pattern: list[float]) -> tuple[float, ...]:
        (shape,) = shapes(shown(path(1, square(1, 1, 9, 9), stroke(solid(RED), 1, dash={"pattern": pattern}))).items)
        (mark,) = shape.marks
        assert isinstance(mark, Stroke)
        return mark.dash

    assert dash_of([4]) == (4, 4)
    assert dash_of([4, 2]) == (4, 2)
    assert dash_of([0, 0]) == ()
    assert dash_of([4, -1]) == ()


@pytest.mark.promise("vector.draw.nothing-silent")
@pytest.mark.parametrize(
    ("node", "what"),
    [
        ({"id": 1, "kind": {"type": "text", "runs": []}}, "object of type text"),
        (
            {"id": 1, "kind": {"type": "image", "key": "a", "width": 9, "height": 9}},
            "image: The picture cannot be read: it is no PNG, JPEG, GIF or WebP.",
        ),
        ({"id": 1, "kind": {"type": "hologram"}}, "object of type hologram"),
        (path(1, square(0, 0, 9, 9), fill({"type": "pattern", "pattern": "dots"})), "pattern dots"),
        (
            path(1, square(0, 0, 9, 9), fill({"type": "gradient", "gradient": {"kind": "Freeform", "stops": []}})),
            "gradient of kind Freeform",
        ),
        (path(1, square(0, 0, 9, 9), fill(solid({"model": "lab", "l": 1}))), "colour of model lab"),
        (path(1, square(0, 0, 9, 9), fill(solid({**RED} | {"model": "spot"}))), "colour of model spot"),
        (path(1, square(0, 0, 9, 9), fill({**solid(RED), "tint": 0.5})), "tint of a swatch"),
        (path(1, square(0, 0, 9, 9), fill(solid(RED), effects=[{"id": "blur"}])), "effects of a fill"),
        (path(1, square(0, 0, 9, 9), stroke(solid(RED), 1, brush="Charcoal")), "brush of a stroke"),
        (path(1, square(0, 0, 9, 9), stroke(solid(RED), 1, end_arrow="Arrow")), "arrowheads"),
        (path(1, square(0, 0, 9, 9), stroke(solid(RED), 1, cap="Wavy")), "cap Wavy of a stroke"),
        (path(1, square(0, 0, 9, 9), stroke(solid(RED), 1, profile={"points": []})), "width profile of a stroke"),
        (
            path(1, square(0, 0, 9, 9), stroke(solid(RED), 1, dash={"pattern": [1], "align_corners": True})),
            "dashes aligned to corners",
        ),
        (path(1, square(0, 0, 9, 9), RED_FILL, mask={"clip": True}), "opacity mask without art"),
        (path(1, square(0, 0, 9, 9), RED_FILL, blend="Dissolve"), "blend mode Dissolve"),
        (group(1, path(2, square(0, 0, 9, 9), RED_FILL), knockout="On"), "knockout group"),
        (
            group(1, {"id": 2, "kind": {"type": "text"}}, path(3, square(0, 0, 9, 9), RED_FILL), clip=True),
            "clipping by an object of type text",
        ),
    ],
)
def test_what_cannot_be_drawn_is_named(node: Json, what: str) -> None:
    assert what in named(node)


@pytest.mark.parametrize(
    "node",
    [
        path(7, square(0, 0, 9, 9), stroke(solid(RED), "wide")),  # type: ignore[arg-type]
        path(7, square(0, 0, 9, 9), fill(solid({"model": "rgb", "r": 1.0}))),
        path(7, square(0, 0, 9, 9), RED_FILL, opacity="half"),
        path(7, square(0, 0, 9, 9), stroke(solid(RED), 1, dash=[4, 2])),
        path(7, square(0, 0, 9, 9), fill({"type": "gradient", "gradient": {"stops": [stop(0, RED)] * 2}, "geom": 3})),
        group(7, path(8, square(0, 0, 9, 9), RED_FILL), opacity=[1]),
    ],
)
def test_a_member_of_a_wrong_kind_is_refused_with_the_object(node: Json) -> None:
    with pytest.raises(CountermarkError) as caught:
        shown(node)

    assert (caught.value.code, caught.value.details) == ("artifact_invalid", {"object": 7})


def test_a_loss_on_another_board_is_no_loss_here() -> None:
    away = path(1, square(200, 0, 210, 9), fill({"type": "pattern", "pattern": "dots"}))

    assert named(away) == []


def test_a_disabled_mask_and_hidden_effects_are_no_loss() -> None:
    node = path(1, square(0, 0, 9, 9), RED_FILL, mask={"art": path(2, square(0, 0, 1, 1)), "disabled": True})
    node["appearance"]["effects"] = [{"id": "blur", "visible": False}]

    assert named(node) == []


def test_the_background_of_an_artboard_is_a_colour_or_is_named() -> None:
    document = drawing(path(1, polygon((0, 0), (9, 0), (9, 9)), RED_FILL))
    board = document.tree["artboards"][0]

    board["background"] = BLUE
    assert resolve(document, first_board(document)).background == Solid((0, 0, 255))

    board["background"] = {"model": "lab"}
    found = resolve(document, first_board(document))
    assert (found.background, [entry.what for entry in found.undrawn]) == (None, ["artboard background"])
