from __future__ import annotations

from collections.abc import Callable

import pytest

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.raster.picture import Picture, decode_png
from countermark.vector.affine import Box
from countermark.vector.document import dump, load
from countermark.vector.draw import MAX_SIDE, draw
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
    linear,
    path,
    polygon,
    radial,
    solid,
    square,
    stop,
    stroke,
)

Pixel = Callable[[int, int], list[int]]
ALL = square(0, 0, 100, 100)


def picture(*nodes: Json, width: int = 100, height: int = 100) -> Picture:
    document = drawing(*nodes)
    return decode_png(draw(document, first_board(document), width, height).png)


def pixels(*nodes: Json, width: int = 100, height: int = 100) -> Pixel:
    rgba = picture(*nodes, width=width, height=height).rgba
    return lambda x, y: [int(value) for value in rgba[y, x]]


def test_a_board_is_rgba_of_its_size_and_transparent_where_nothing_paints() -> None:
    found = picture(path(1, square(10, 10, 20, 20), fill(solid(RED))), width=64, height=48)

    assert (found.width, found.height, found.mode, found.has_alpha) == (64, 48, "RGBA", True)
    assert found.rgba[0, 0].tolist() == [0, 0, 0, 0]


def test_later_objects_paint_over_earlier_ones() -> None:
    at = pixels(path(1, ALL, fill(solid(RED))), path(2, square(50, 0, 100, 100), fill(solid(BLUE))))

    assert (at(10, 50), at(90, 50)) == ([255, 0, 0, 255], [0, 0, 255, 255])


def test_the_fill_rule_decides_about_holes() -> None:
    rings = [ALL, square(25, 25, 75, 75)]

    assert pixels(path(1, rings, fill(solid(RED))))(50, 50) == [255, 0, 0, 255]
    assert pixels(path(1, rings, fill(solid(RED)), rule="EvenOdd"))(50, 50) == [0, 0, 0, 0]


def test_curves_follow_their_handles() -> None:
    bow = {
        "anchors": [{"p": [10, 50], "out": [10, -20]}, {"p": [90, 50], "in": [90, -20]}],
        "closed": True,
    }
    at = pixels(path(1, bow, fill(solid(RED))))

    assert at(50, 10)[3] == 255
    assert at(50, 55)[3] == 0


def test_half_opacity_keeps_the_colour_and_halves_the_alpha() -> None:
    for node in (
        path(1, ALL, fill(solid(RED), opacity=0.5)),
        path(1, ALL, fill(solid(RED)), opacity=0.5),
        group(2, path(1, ALL, fill(solid(RED))), opacity=0.5),
    ):
        assert pixels(node)(50, 50) == [255, 0, 0, 128]


def test_a_group_fades_as_one_and_its_members_do_not_show_through_each_other() -> None:
    pair = (path(1, ALL, fill(solid(RED))), path(2, ALL, fill(solid(BLUE))))

    assert pixels(group(3, *pair, opacity=0.5))(50, 50) == [0, 0, 255, 128]


def test_an_object_with_fill_and_stroke_fades_as_one() -> None:
    at = pixels(path(1, square(20, 20, 80, 80), fill(solid(RED)), stroke(solid(BLUE), 20), opacity=0.5))

    assert (at(50, 50), at(25, 50), at(15, 50)) == ([255, 0, 0, 128], [0, 0, 255, 128], [0, 0, 255, 128])


def test_blending_meets_the_art_below_but_not_out_of_an_isolated_group() -> None:
    below = path(1, ALL, fill(solid({"model": "rgb", "r": 1.0, "g": 1.0, "b": 0.0})))
    cyan = path(2, ALL, fill(solid({"model": "rgb", "r": 0.0, "g": 1.0, "b": 1.0})), blend="Multiply")

    assert pixels(below, cyan)(50, 50) == [0, 255, 0, 255]
    assert pixels(below, group(3, cyan))(50, 50) == [0, 255, 0, 255]
    assert pixels(below, group(3, cyan, isolate=True))(50, 50) == [0, 255, 255, 255]


def test_a_clip_group_shows_its_members_only_inside_its_path() -> None:
    at = pixels(group(1, path(2, square(0, 0, 50, 100), fill(solid(GREEN))), path(3, ALL, fill(solid(RED))), clip=True))

    assert (at(25, 50), at(75, 50)) == ([255, 0, 0, 255], [0, 0, 0, 0])


def test_a_linear_gradient_runs_from_its_start_to_its_end_and_stays_beyond() -> None:
    at = pixels(path(1, ALL, fill(linear([25, 0], [75, 0], stop(0, RED), stop(1, BLUE)))))

    assert (at(5, 50), at(95, 50)) == ([255, 0, 0, 255], [0, 0, 255, 255])
    middle = at(50, 50)
    assert abs(middle[0] - 127) <= 3
    assert abs(middle[2] - 128) <= 3


@pytest.mark.parametrize("count", [2, 3])
def test_before_its_first_stop_and_after_its_last_a_gradient_is_plain(count: int) -> None:
    stops = [stop(0.4, RED), stop(0.5, GREEN), stop(0.6, BLUE)] if count == 3 else [stop(0.4, RED), stop(0.6, BLUE)]
    at = pixels(path(1, ALL, fill(linear([0, 0], [100, 0], *stops))))

    assert (at(35, 50), at(65, 50)) == ([255, 0, 0, 255], [0, 0, 255, 255])


def test_two_stops_at_one_offset_are_a_hard_edge() -> None:
    stops = [stop(0.0, RED), stop(0.5, RED), stop(0.5, BLUE), stop(1.0, BLUE)]
    at = pixels(path(1, ALL, fill(linear([0, 0], [100, 0], *stops))))

    assert (at(48, 50), at(51, 50)) == ([255, 0, 0, 255], [0, 0, 255, 255])


def test_a_stop_fades_without_darkening_its_neighbour() -> None:
    at = pixels(path(1, ALL, fill(linear([0, 0], [100, 0], stop(0, RED), stop(1, RED, opacity=0.0)))))

    red, green, blue, alpha = at(50, 50)
    assert (red, green, blue) == (255, 0, 0)
    assert abs(alpha - 127) <= 3


def test_a_radial_gradient_is_an_ellipse_about_its_centre_with_its_own_focus() -> None:
    paint = radial([50, 50], [90, 50], stop(0, WHITE), stop(1, RED), aspect=0.5)
    at = pixels(path(1, ALL, fill(paint)))
    off = pixels(path(1, ALL, fill(radial([50, 50], [90, 50], stop(0, WHITE), stop(1, RED), focal=[70, 50]))))

    assert abs(at(70, 50)[1] - at(50, 60)[1]) <= 8
    assert at(50, 75) == [255, 0, 0, 255]
    assert off(70, 50)[1] > 245
    assert off(50, 50)[1] < 200


@pytest.mark.parametrize(
    "paint",
    [
        linear([50, 50], [50, 50], stop(0, RED), stop(1, BLUE)),
        radial([50, 50], [50, 50], stop(0, RED), stop(1, BLUE)),
    ],
)
def test_a_gradient_without_extent_fills_with_its_last_stop(paint: Json) -> None:
    assert pixels(path(1, ALL, fill(paint)))(20, 20) == [0, 0, 255, 255]


def test_strokes_have_their_width_caps_and_joins() -> None:
    line = polygon((20, 50), (80, 50), closed=False)

    butt = pixels(path(1, line, stroke(solid(RED), 20)))
    square_cap = pixels(path(1, line, stroke(solid(RED), 20, cap="Square")))
    round_cap = pixels(path(1, line, stroke(solid(RED), 20, cap="Round")))

    assert [butt(50, y)[3] for y in (38, 42, 58, 62)] == [0, 255, 255, 0]
    assert (butt(15, 50)[3], square_cap(11, 41)[3], round_cap(12, 50)[3], round_cap(11, 41)[3]) == (0, 255, 255, 0)

    corner = polygon((20, 20), (80, 20), (80, 80), closed=False)
    tips = {
        join: pixels(path(1, corner, stroke(solid(RED), 20, join=join)))(88, 11)[3]
        for join in ("Miter", "Round", "Bevel")
    }
    assert tips == {"Miter": 255, "Round": 0, "Bevel": 0}


def test_a_miter_longer_than_its_limit_is_cut() -> None:
    spike = polygon((10, 40), (60, 50), (10, 60), closed=False)

    assert pixels(path(1, spike, stroke(solid(RED), 8, miter_limit=10)))(75, 50)[3] > 200
    assert pixels(path(1, spike, stroke(solid(RED), 8, miter_limit=2)))(75, 50)[3] == 0


def test_dashes_start_at_their_offset() -> None:
    line = polygon((0, 50), (100, 50), closed=False)
    at = pixels(path(1, line, stroke(solid(RED), 10, dash={"pattern": [10, 20], "offset": 0})))
    moved = pixels(path(1, line, stroke(solid(RED), 10, dash={"pattern": [10, 20], "offset": 10})))

    assert [at(x, 50)[3] for x in (5, 20, 35)] == [255, 0, 255]
    assert [moved(x, 50)[3] for x in (5, 25)] == [0, 255]


def test_a_stroke_lies_inside_or_outside_its_path_when_aligned() -> None:
    def columns(align: str) -> list[int]:
        at = pixels(path(1, square(30, 30, 70, 70), stroke(solid(RED), 10, align=align)))
        return [at(x, 50)[3] for x in (22, 27, 33, 38)]

    assert columns("Center") == [0, 255, 255, 0]
    assert columns("Inside") == [0, 0, 255, 255]
    assert columns("Outside") == [255, 255, 0, 0]


def test_a_wide_artboard_is_centred_and_nothing_beyond_it_shows() -> None:
    document = drawing(path(1, square(-50, -50, 250, 250), fill(solid(RED))), boards=(Box(0, 0, 100, 50),))
    rgba = decode_png(draw(document, first_board(document), 40, 40).png).rgba

    assert [int(rgba[row, 20, 3]) for row in (9, 10, 29, 30)] == [0, 255, 255, 0]


def test_an_artboard_elsewhere_in_the_document_is_drawn_from_its_own_corner() -> None:
    document = drawing(path(1, square(500, 700, 550, 750), fill(solid(RED))), boards=(Box(500, 700, 600, 800),))
    rgba = decode_png(draw(document, first_board(document), 100, 100).png).rgba

    assert (rgba[25, 25].tolist(), rgba[75, 75].tolist()) == ([255, 0, 0, 255], [0, 0, 0, 0])


def test_a_background_fills_its_artboard_only() -> None:
    document = drawing(boards=(Box(0, 0, 100, 50),))
    document.tree["artboards"][0]["background"] = BLUE
    rgba = decode_png(draw(document, first_board(document), 40, 40).png).rgba

    assert (rgba[20, 20].tolist(), int(rgba[5, 20, 3])) == ([0, 0, 255, 255], 0)


def test_a_saved_and_reopened_document_draws_the_same_bytes() -> None:
    document = drawing(
        path(1, ALL, fill(linear([0, 0], [100, 30], stop(0, RED), stop(1, BLUE))), stroke(solid(GREEN), 3)),
        path(2, square(30, 30, 60, 66), fill(radial([40, 40], [60, 60], stop(0, WHITE), stop(1, RED), aspect=0.7))),
    )
    board = first_board(document)

    first = draw(document, board, 192, 192).png
    again = draw(load(dump(document)), board, 192, 192).png

    assert sha256_hex(first) == sha256_hex(again)


def test_a_png_holds_no_date_and_no_text() -> None:
    document = drawing(path(1, ALL, fill(solid(RED))))
    data = draw(document, first_board(document), 32, 32).png

    assert not [name for name in (b"tIME", b"tEXt", b"iTXt", b"zTXt", b"eXIf") if name in data]
    assert b"sRGB" in data


@pytest.mark.parametrize(("width", "height"), [(0, 10), (10, MAX_SIDE + 1)])
def test_a_board_of_an_impossible_size_is_refused(width: int, height: int) -> None:
    document = drawing()

    with pytest.raises(CountermarkError) as caught:
        draw(document, first_board(document), width, height)

    assert caught.value.code == "input_invalid"


def test_a_union_of_areas_clips_to_all_of_them_and_an_empty_clip_hides_everything() -> None:
    areas = [path(3, square(0, 0, 40, 100)), path(4, square(30, 0, 60, 100), rule="EvenOdd")]
    kind = {"type": "compound", "rule": "NonZero", "children": areas, "countermark": {"union": True}}
    at = pixels(group(1, {"id": 2, "kind": kind}, path(5, ALL, fill(solid(RED))), clip=True))

    assert [at(x, 50)[3] for x in (20, 35, 50, 70)] == [255, 255, 255, 0]
    assert pixels(group(1, path(2, []), path(3, ALL, fill(solid(RED))), clip=True))(50, 50)[3] == 0


def test_a_gradient_repeats_or_mirrors_beyond_its_ends() -> None:
    def column(spread: str, x: int) -> list[int]:
        paint = linear([0, 0], [20, 0], stop(0, RED), stop(1, BLUE), countermark={"spread": spread})
        return pixels(path(1, ALL, fill(paint)))(x, 50)

    assert column("repeat", 21)[0] > 200
    assert column("reflect", 21)[2] > 200
    assert column("pad", 21) == [0, 0, 255, 255]


def test_a_pen_that_is_not_round_draws_wide_across_and_thin_along() -> None:
    pen = {"pen": [2.0, 0.0, 0.0, 0.5]}
    cross = [polygon((50, 10), (50, 90), closed=False), polygon((10, 50), (90, 50), closed=False)]
    paint = linear([0, 0], [0, 100], stop(0, RED), stop(1, BLUE))
    at = pixels(path(1, cross, stroke(paint, 10, countermark=pen)))

    assert [at(x, 20)[3] for x in (38, 42, 58, 62)] == [0, 255, 255, 0]
    assert [at(20, y)[3] for y in (46, 49, 51, 54)] == [0, 255, 255, 0]
    assert abs(at(50, 70)[0] - 76) < 6, "the paint stays in document coordinates: 30 % red is left at 70 of 100"


@pytest.mark.parametrize("subpath", [polygon((50, 50)), polygon((50, 50), (50, 50), closed=False)])
def test_a_path_without_length_is_a_dot_with_round_caps_and_nothing_without(subpath: Json) -> None:
    assert pixels(path(1, subpath, stroke(solid(RED), 20, cap="Round")))(50, 45)[3] == 255
    assert pixels(path(1, subpath, stroke(solid(RED), 20)))(50, 45)[3] == 0
