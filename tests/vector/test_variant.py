"""One ink and a dark ground: inner edges stay, and what cannot be told that way is refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from countermark.kernel.proof import Engine, Status
from countermark.raster.picture import Picture, decode_png
from countermark.vector import derivative
from countermark.vector.affine import Box
from countermark.vector.derivable import refusals
from countermark.vector.display import Display
from countermark.vector.draw import draw_display
from countermark.vector.knockout import one_ink
from countermark.vector.opaque import draw_opaque
from countermark.vector.resolve import resolve
from countermark.vector.svg_writer import write_display
from countermark.vector.variant import DERIVED, TREATMENTS, cut, treated
from tests.vector.drawings import (
    BLUE,
    RED,
    WHITE,
    drawing,
    fill,
    first_board,
    group,
    linear,
    path,
    solid,
    square,
    stop,
    stroke,
)
from tests.vector.studio import refusal

MAKER = Engine("maker", "0" * 64)
SIDE = 512
NAVY = {"model": "rgb", "r": 0.0, "g": 0.0, "b": 0.3}
Json = dict[str, Any]


def shown(*nodes: Json, **board: Any) -> Display:
    document = drawing(*nodes)
    document.tree["artboards"][0] |= board
    return resolve(document, first_board(document))


def plate(node: int = 2, colour: Json = RED) -> Json:
    return path(node, square(10, 10, 90, 90), fill(solid(colour)))


def disc(node: int, colour: Json, *, size: int = 20, **more: Any) -> Json:
    return path(node, square(50 - size, 50 - size, 50 + size, 50 + size), fill(solid(colour)), **more)


def drawn(display: Display) -> Picture:
    return decode_png(draw_display(display, SIDE, SIDE))


def inked(picture: Picture, x: float, y: float) -> bool:
    """Say whether a picture has ink at a place in document points."""
    return bool(picture.rgba[int(y * 5.12), int(x * 5.12), 3] > 128)


# One ink.


@pytest.mark.promise("vector.variant.edges-survive")
def test_an_upper_shape_is_cut_out_of_a_lower_one_of_another_colour_with_a_gap() -> None:
    made = drawn(one_ink(shown(plate(), disc(3, BLUE)), (0, 0, 0)))
    assert [inked(made, x, 50) for x in (15, 29.4, 50, 70.6, 85, 95)] == [True, False, True, False, True, False]
    assert set(map(tuple, made.rgba[made.rgba[..., 3] == 255].tolist())) == {(0, 0, 0, 255)}


def test_a_light_shape_on_a_darker_one_is_a_hole_as_large_as_it_was() -> None:
    made = drawn(one_ink(shown(plate(), disc(3, WHITE)), (0, 0, 0)))
    assert [inked(made, x, 50) for x in (29.4, 30.6, 50)] == [True, False, False]


def test_what_is_light_and_alone_is_ink_and_two_of_one_colour_melt_as_they_did() -> None:
    assert inked(drawn(one_ink(shown(disc(3, WHITE)), (0, 0, 0))), 50, 50)
    both = drawn(one_ink(shown(plate(), disc(3, RED)), (0, 0, 0)))
    assert all(inked(both, x, 50) for x in (29.4, 50, 70.6))


def test_strokes_and_clips_are_regions_too() -> None:
    ring = path(3, square(30, 30, 70, 70), stroke(solid(BLUE), 6, join="Round"))
    clipped = group(5, path(6, square(0, 0, 50, 100)), ring, clip=True)
    made = drawn(one_ink(shown(plate(), clipped), (0, 0, 0)))
    assert [inked(made, x, 50) for x in (26.4, 30, 33.6, 70)] == [False, True, False, True]


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ((plate(), disc(3, BLUE, opacity=0.5)), "object 3: it is translucent"),
        ((plate(), disc(3, BLUE, blend="Multiply")), "object 3: it is translucent, or blends"),
        ((plate(), group(5, disc(3, BLUE), opacity=0.5)), "it is translucent"),
        ((plate(), disc(3, WHITE, size=45)), "object 3: it is light, and lies partly"),
        (
            (path(2, square(20, 20.5, 30, 22), fill(solid(RED))), path(3, square(20, 22, 30, 40), fill(solid(BLUE)))),
            "object 2: too little of it would be left",
        ),
        ((), "nothing of it would be left"),
    ],
)
def test_what_cannot_be_told_in_one_ink_is_refused_with_the_object_and_the_reason(
    nodes: tuple[Json, ...], reason: str
) -> None:
    error = refusal(lambda: one_ink(shown(*nodes), (0, 0, 0)))
    assert error.code == "variant_not_derivable"
    assert reason in error.sentence


def test_a_translucent_gradient_a_background_and_too_many_marks_are_refused() -> None:
    ghost = linear([0, 0], [90, 0], stop(0, RED, opacity=0.2), stop(1, BLUE))
    assert "gradient" in refusal(lambda: one_ink(shown(path(2, square(0, 0, 9, 9), fill(ghost))), (0, 0, 0))).sentence
    assert "background" in refusal(lambda: one_ink(shown(plate(), background=RED), (0, 0, 0))).sentence
    many = [path(n, square(n % 90, 0, n % 90 + 1, 1), fill(solid(RED))) for n in range(2, 404)]
    assert "400 marks" in refusal(lambda: one_ink(shown(*many), (0, 0, 0))).sentence


# On dark.


def test_dark_inks_turn_white_light_ones_on_them_turn_dark_and_others_stay() -> None:
    display = treated(shown(plate(2, NAVY), disc(3, WHITE), disc(4, RED, size=5)), "reversed", SIDE, SIDE)
    picture = decode_png(draw_opaque(display, SIDE, SIDE))
    assert [picture.rgba[256, x, :3].tolist() for x in (5, 110, 190, 256)] == [
        [17, 17, 17],
        [255, 255, 255],
        [17, 17, 17],
        [255, 0, 0],
    ]


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (path(2, square(0, 0, 9, 9), fill(linear([0, 0], [9, 0], stop(0, NAVY), stop(1, RED)))), "gradient"),
        (disc(2, NAVY, opacity=0.4), "translucent"),
    ],
)
def test_an_ink_that_cannot_be_turned_is_refused(node: Json, reason: str) -> None:
    found = refusals(shown(plate(5), node))
    assert reason in found["reversed"]


# What a kit asks of them.


@pytest.mark.parametrize("variant", sorted(DERIVED))
def test_every_variant_passes_its_check_in_both_formats_and_a_blob_does_not(variant: str) -> None:
    full = shown(plate(), disc(3, BLUE), disc(4, WHITE, size=8))
    assert refusals(full) == {}
    display = treated(full, variant, SIDE, SIDE)
    draw = draw_opaque if TREATMENTS[variant].ground else draw_display
    share, gap = TREATMENTS[variant].share, cut(variant, SIDE)
    found = derivative.edges_survive(draw(display, SIDE, SIDE), draw_display(full, SIDE, SIDE), share, gap, MAKER)
    assert (found.status, found.reason) == (Status.PASSED, "")
    assert b"<svg" in write_display(display, SIDE, SIDE)
    blob = treated(shown(plate()), variant, SIDE, SIDE)
    lost = derivative.edges_survive(draw(blob, SIDE, SIDE), draw_display(full, SIDE, SIDE), share, gap, MAKER)
    assert lost.status is Status.FAILED


def test_small_boards_are_told_how_many_of_their_edges_are_told_apart() -> None:
    full = shown(plate(), disc(3, BLUE))
    source = draw_display(full, SIDE, SIDE)
    assert derivative.legible(draw_display(full, 32, 32), source, MAKER).status is Status.PASSED
    hair = shown(*(path(n, square(n, 0, n + 0.5, 100), fill(solid(RED))) for n in range(2, 99)))
    found = derivative.legible(draw_display(hair, 16, 16), draw_display(hair, SIDE, SIDE), MAKER)
    assert (found.status, found.required) == (Status.FAILED, False)
    assert "lines and gaps close" in found.reason


def test_the_artboards_box_is_the_middle_of_a_grounded_variant() -> None:
    frame = treated(shown(plate()), "one-colour-white", SIDE, SIDE).artboard.box
    assert frame == Box(-12.5, -12.5, 112.5, 112.5)
