"""Brand tokens: only what is bound by name follows, look-alikes are listed and left alone."""

from __future__ import annotations

from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.vector import brand, recolour
from countermark.vector import document as native
from countermark.vector.colour import from_css, hex_of
from countermark.vector.document import Document
from countermark.vector.svg.import_ import import_svg
from countermark.vector.swatch import affected_artboards, lookalikes, swatches, uses

SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">
<linearGradient id="g"><stop stop-color="#1a6cff"/><stop offset="1" stop-color="#fff"/></linearGradient>
<rect id="plate" width="90" height="90" fill="#1a6cff"/>
<g id="pair"><path id="ring" d="M0 0H9" fill="none" stroke="#1A6CFF"/><rect id="glow" width="9" height="9" fill="url(#g)"/></g>
<rect id="other" width="5" height="5" fill="#1a6cfe"/>
<rect id="both" width="5" height="5" fill="#1a6cff" stroke="#1a6cff"/>
</svg>"""  # noqa: E501 - one object a line


@pytest.fixture
def document() -> Document:
    return import_svg(SVG, name="mark.svg").document


def named(document: Document, name: str) -> Any:
    return next(visit.node for visit in native.walk(document) if visit.node.get("name") == name)


def refused(action: Any) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        action()
    error: CountermarkError = caught.value
    return error


@pytest.mark.promise("vector.swatch.bind-listed")
def test_binding_lists_every_colour_it_binds_and_changes_no_colour(document: Document) -> None:
    bound, report = recolour.bind(document, "primary", "#1a6cff")
    found = [(use.name, use.place) for use in report.changed]
    assert found == [
        ("plate", "fill[0]"),
        ("ring", "stroke[0]"),
        ("glow", "fill[0].stop[0]"),
        ("both", "fill[0]"),
        ("both", "stroke[1]"),
    ]
    assert [use.colour for use in uses(bound)] == [use.colour for use in uses(document)]
    assert {use.swatch for use in report.before} == {None}
    assert report.check["status"] == "passed"
    assert bound.tree["swatches"] == [
        {"name": "primary", "paint": {"type": "solid", "color": from_css("#1a6cff")}, "global": True, "spot": False}
    ]


def test_only_the_chosen_objects_are_bound(document: Document) -> None:
    plate, both = named(document, "plate")["id"], named(document, "both")["id"]
    _, report = recolour.bind(document, "primary", "rgb(26 108 255)", only=[plate])
    assert [use.name for use in report.changed] == ["plate"]
    assert [use.name for use in report.lookalikes] == ["ring", "glow", "both", "both"]
    _, report = recolour.bind(document, "primary", "#1a6cff", leave=[both, plate])
    assert [use.name for use in report.changed] == ["ring", "glow"]


def test_binding_again_adds_to_the_swatch_or_does_nothing(document: Document) -> None:
    plate = named(document, "plate")["id"]
    once, _ = recolour.bind(document, "primary", "#1a6cff", only=[plate])
    twice, report = recolour.bind(once, "primary", "#1a6cff")
    assert len(report.changed) == 4
    again, report = recolour.bind(twice, "primary", "#1a6cff")
    assert (report.status, again) == ("verified_noop", twice)
    assert len(twice.tree["swatches"]) == 1


def test_a_colour_that_another_swatch_holds_is_not_taken(document: Document) -> None:
    first, _ = recolour.bind(document, "primary", "#1a6cff", only=[named(document, "plate")["id"]])
    second, report = recolour.bind(first, "accent", "#1a6cff")
    assert "plate" not in [use.name for use in report.changed]
    assert named(second, "plate")["appearance"]["items"][0]["paint"]["swatch"] == "primary"


@pytest.mark.promise("vector.swatch.only-bound-change")
def test_a_new_colour_reaches_what_is_bound_and_nothing_else(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff", leave=[named(document, "both")["id"]])
    after, report = recolour.set_colour(bound, "primary", "#0057ff")
    assert [(use.name, use.colour) for use in report.changed] == [(n, "#0057ff") for n in ("plate", "ring", "glow")]
    assert [use.colour for use in report.before] == ["#1a6cff"] * 3
    assert named(after, "both") is named(bound, "both")
    assert named(after, "other") is named(bound, "other")
    assert [use.name for use in report.lookalikes] == ["both", "both"]
    assert report.artboards == (1,)
    assert hex_of(after.tree["swatches"][0]["paint"]["color"]) == "#0057ff"
    assert report.check == brand.check(bound, after, "primary")
    assert report.check["consumerIds"] == report.check["affectedObjectIds"]


def test_a_colour_that_is_there_already_is_verified_and_nothing_is_done(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    same, report = recolour.set_colour(bound, "primary", "rgb(26, 108, 255)")
    assert report.status == "verified_noop"
    assert same is bound
    assert report.check["beforeSha256"] == report.check["afterSha256"]


def test_a_consumer_that_has_drifted_comes_back_to_its_swatch(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    named(bound, "plate")["appearance"]["items"][0]["paint"]["color"] = from_css("red")
    after, report = recolour.set_colour(bound, "primary", "#1a6cff")
    assert [use.name for use in report.changed] == ["plate"]
    assert hex_of(named(after, "plate")["appearance"]["items"][0]["paint"]["color"]) == "#1a6cff"


def test_grouped_swatches_styles_symbols_and_linked_gradients_follow(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    (entry,) = bound.tree["swatches"]
    linked = {"type": "solid", "color": from_css("#1a6cff"), "swatch": "primary"}
    item = {"kind": "fill", "paint": linked}
    stop = {"offset": 0.0, "color": from_css("#1a6cff"), "opacity": 1.0, "midpoint": 0.5, "swatch": "primary"}
    gradient = {"type": "gradient", "gradient": {"kind": "Linear", "stops": [stop]}}
    tree = {
        **bound.tree,
        "swatches": [{"name": "fade", "paint": gradient, "global": False, "spot": False}],
        "swatch_groups": [{"name": "Brand", "swatches": [entry]}],
        "graphic_styles": [{"name": "Solid", "appearance": {"items": [item]}}],
        "symbols": [
            {
                "name": "Dot",
                "art": {"id": 900, "appearance": {"items": [item]}, "kind": {"type": "path", "path": {"subpaths": []}}},
            }
        ],
    }
    after, report = recolour.set_colour(Document({**bound.file, "document": tree}), "primary", "#0057ff")
    assert report.check["status"] == "passed"
    text = native.dump(after).decode()
    assert hex_of(after.tree["swatch_groups"][0]["swatches"][0]["paint"]["color"]) == "#0057ff"
    assert hex_of(after.tree["swatches"][0]["paint"]["gradient"]["stops"][0]["color"]) == "#0057ff"
    assert hex_of(after.tree["graphic_styles"][0]["appearance"]["items"][0]["paint"]["color"]) == "#0057ff"
    assert hex_of(after.tree["symbols"][0]["art"]["appearance"]["items"][0]["paint"]["color"]) == "#0057ff"
    assert text.count('"swatch": "primary"') == native.dump(Document({**bound.file, "document": tree})).decode().count(
        '"swatch": "primary"'
    )


def test_swatches_are_listed_with_their_uses_and_artboards(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    (swatch,) = swatches(bound)
    assert (swatch.name, swatch.colour, swatch.is_global, len(swatch.uses)) == ("primary", "#1a6cff", True, 5)
    assert swatch.artboards == (1,)
    assert lookalikes(bound, "primary") == ()


def test_only_artboards_on_which_something_bound_paints_are_affected(document: Document) -> None:
    board = document.tree["artboards"][0]
    far = {**board, "id": 9, "name": "Far", "rect": {"x0": 60.0, "y0": 60.0, "x1": 99.0, "y1": 99.0}}
    apart = {**board, "id": 12, "rect": {"x0": 500.0, "y0": 0.0, "x1": 600.0, "y1": 100.0}}
    boards = native.rewrite(document, {}, artboards=[board, far, apart])
    all_bound, _ = recolour.bind(boards, "primary", "#1a6cff")
    assert affected_artboards(all_bound, "primary") == (1, 9)
    ring, _ = recolour.bind(boards, "line", "#1a6cff", only=[named(boards, "ring")["id"]])
    assert affected_artboards(ring, "line") == (1,)


def test_what_cannot_be_drawn_counts_on_every_artboard(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff", only=[named(document, "ring")["id"]])
    unknown = tampered(bound, "ring", kind={"type": "envelope", "content": []})
    board = document.tree["artboards"][0]
    apart = {**board, "id": 12, "rect": {"x0": 500.0, "y0": 0.0, "x1": 600.0, "y1": 100.0}}
    assert affected_artboards(native.rewrite(unknown, {}, artboards=[board, apart]), "primary") == (1, 12)


def test_unknown_swatches_and_colours_list_what_there_is(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    error = refused(lambda: recolour.set_colour(bound, "primry", "#000"))
    assert (error.code, error.details) == ("swatch_unknown", {"swatches": ["primary"]})
    error = refused(lambda: recolour.bind(document, "primary", "#123456"))
    assert (error.code, error.details) == ("colour_unused", {"colours": ["#1a6cfe", "#1a6cff", "#ffffff"]})
    error = refused(lambda: recolour.bind(document, "primary", "#1a6cff", only=[named(document, "other")["id"]]))
    assert error.code == "not_found"


@pytest.mark.parametrize("colour", ["", "blu", "#12", "#1a6cff80", "rgb(1e999,0,0)", "none", "transparent"])
def test_what_is_no_opaque_colour_is_refused(document: Document, colour: str) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    assert refused(lambda: recolour.set_colour(bound, "primary", colour)).code == "input_invalid"


@pytest.mark.parametrize("name", ["", " ", "a\n", " a", "[None]", "x" * 65])
def test_names_that_cannot_be_typed_again_are_refused(document: Document, name: str) -> None:
    assert refused(lambda: recolour.bind(document, name, "#1a6cff")).code == "input_invalid"


def test_a_swatch_of_another_colour_is_not_rebound_by_accident(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    assert refused(lambda: recolour.bind(bound, "primary", "#ffffff")).code == "swatch_conflict"


def test_tints_spots_and_other_models_are_refused_not_guessed(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    (entry,) = bound.tree["swatches"]
    for changed in (
        {**entry, "spot": True},
        {**entry, "global": False},
        {**entry, "paint": {"type": "solid", "color": {"model": "cmyk", "c": 1.0, "m": 0.5, "y": 0.0, "k": 0.0}}},
    ):
        other = native.rewrite(bound, {}, swatches=[changed])
        assert refused(lambda other=other: recolour.set_colour(other, "primary", "red")).code == "swatch_unsupported"
    named(bound, "plate")["appearance"]["items"][0]["paint"]["tint"] = 0.5
    assert refused(lambda: recolour.set_colour(bound, "primary", "red")).code == "swatch_unsupported"


# --- the guard, which knows nothing of how the second document was made


def tampered(after: Document, which: str, /, **members: Any) -> Document:
    node = named(after, which)
    return native.rewrite(after, {node["id"]: {**node, **members}})


@pytest.mark.promise("vector.swatch.guard")
@pytest.mark.parametrize(
    ("name", "members", "reason"),
    [
        ("other", {"opacity": 0.5}, "unbound_object_changed"),
        ("pair", {"name": "trio"}, "unbound_object_changed"),
        ("plate", {"opacity": 0.5}, "object_structure_changed"),
        ("plate", {"appearance": {"items": []}}, "object_structure_changed"),
    ],
)
def test_the_guard_names_what_changed_without_being_bound(
    document: Document, name: str, members: dict[str, Any], reason: str
) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    after, _ = recolour.set_colour(bound, "primary", "#0057ff")
    wrong = tampered(after, name, **members)
    report = brand.check(bound, wrong, "primary")
    assert report["status"] == "failed"
    assert report["unexpectedDependencies"] == [
        {"token": "primary", "objectId": named(after, name)["id"], "reason": reason}
    ]
    error = refused(lambda: brand.require(report))
    assert (error.code, error.details) == ("brand_dependency_violation", {"report": report})


def test_the_guard_sees_objects_and_artboards_come_go_and_move(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    (layer,) = bound.tree["layers"]
    held = layer["kind"]["children"]

    def with_children(children: list[Any]) -> Document:
        return native.rewrite(bound, {layer["id"]: {**layer, "kind": {**layer["kind"], "children": children}}})

    gone = brand.check(bound, with_children(held[:-1]), "primary")
    assert "object_identity_changed" in [fault["reason"] for fault in gone["unexpectedDependencies"]]
    turned = brand.check(bound, with_children(held[::-1]), "primary")
    assert turned["status"] == "failed"
    board = bound.tree["artboards"][0]
    moved = brand.check(bound, native.rewrite(bound, {}, artboards=[{**board, "name": "x"}]), "primary")
    assert (moved["status"], moved["artboardsChanged"]) == ("failed", True)
    titled = brand.check(bound, native.rewrite(bound, {}, title="x"), "primary")
    assert titled["status"] == "failed"


def test_the_guard_sees_another_swatch_change_and_a_link_lost(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff")
    bound, _ = recolour.bind(bound, "paper", "#ffffff")
    paper = {**bound.tree["swatches"][1], "paint": {"type": "solid", "color": from_css("red")}}
    other = native.rewrite(bound, {}, swatches=[bound.tree["swatches"][0], paper])
    assert brand.check(bound, other, "primary")["status"] == "failed"
    plate = named(bound, "plate")
    paint = {"type": "solid", "color": from_css("#1a6cff")}
    unlinked = tampered(bound, "plate", appearance={"items": [{**plate["appearance"]["items"][0], "paint": paint}]})
    report = brand.check(bound, unlinked, "primary")
    assert [fault["reason"] for fault in report["unexpectedDependencies"]] == ["object_structure_changed"]


def test_binding_may_add_a_link_but_not_change_the_colour(document: Document) -> None:
    bound, _ = recolour.bind(document, "primary", "#1a6cff", only=[named(document, "plate")["id"]])
    assert brand.check(document, bound, "primary", binding=True)["status"] == "passed"
    assert brand.check(document, bound, "primary")["status"] == "failed"
    plate = named(bound, "plate")
    paint = {**plate["appearance"]["items"][0]["paint"], "color": from_css("red")}
    red = tampered(bound, "plate", appearance={"items": [{**plate["appearance"]["items"][0], "paint": paint}]})
    assert brand.check(document, red, "primary", binding=True)["status"] == "failed"


def test_the_report_has_the_members_of_its_schema(document: Document) -> None:
    _, report = recolour.bind(document, "primary", "#1a6cff")
    assert list(report.check) == [
        "schema",
        "status",
        "token",
        "consumerIds",
        "affectedObjectIds",
        "unexpectedDependencies",
        "artboardsChanged",
        "beforeSha256",
        "afterSha256",
        "scope",
    ]
    assert report.check["schema"] == "vectorcraft-brand-dependency-check/v1"
    assert report.as_json()["changed"][0]["object_id"] == named(document, "plate")["id"]
