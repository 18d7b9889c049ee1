"""Design tokens: in by name and space, refused by name, out again as they came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine, Status
from countermark.vector import derivative, palette, recolour, token, token_writer, tools
from countermark.vector.colour import hex_of
from countermark.vector.document import Document
from countermark.vector.preview import preview
from countermark.vector.svg.import_ import import_svg
from countermark.vector.swatch import entry_of, swatches
from tests.vector import studio
from tests.vector.studio import BLUE, copied, opened, refusal, shown_files

Json = dict[str, Any]
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect id="a" width="5" height="5" fill="#1a6cff" '
    b'stroke="#1a6cff"/><rect id="b" x="5" width="5" height="5" fill="#1a6cff"/></svg>'
)
MAKER = Engine("maker", "0" * 64)


def colour(space: str = "srgb", *components: float | str, **more: Any) -> Json:
    return {"$value": {"colorSpace": space, "components": list(components or (0, 0.5, 1)), **more}}


def tokens(**groups: Any) -> bytes:
    return json.dumps({"brand": {"$type": "color", **groups}}).encode()


def mark() -> Document:
    return recolour.bind(import_svg(SVG, name="mark.svg").document, "brand.primary", BLUE)[0]


# In.


@pytest.mark.parametrize(
    ("space", "components", "wanted", "narrowed"),
    [
        ("srgb", (0, 0.5, 1), "#0080ff", False),
        ("srgb", ("none", 0.5, 1), "#0080ff", False),
        ("srgb-linear", (0, 0.2158605, 1), "#0080ff", False),
        ("hsl", (210, 50, 50), "#4080bf", False),
        ("hwb", (210, 0, 0), "#0080ff", False),
        ("xyz-d65", (0.9504559, 1, 1.0890578), "#ffffff", False),
        ("lab", (100, 0, 0), "#ffffff", False),
        ("oklch", (0.62795, 0.25768, 29.234), "#ff0000", False),
        ("display-p3", (0, 1, 0), "#00fb29", True),
        ("rec2020", (1, 0, 0), "#ff494f", True),
        ("srgb", (0, 0, 1.5), "#3a77ff", True),
    ],
)
def test_every_colour_space_becomes_srgb_and_one_outside_says_that_it_was_narrowed(
    space: str,
    components: tuple[Any, ...],
    wanted: str,
    narrowed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    (found,) = token.read(tokens(primary=colour(space, *components))).colours
    made = hex_of({"model": "rgb", "r": found.red, "g": found.green, "b": found.blue})
    assert (made, bool(found.notice)) == (wanted, narrowed)
    assert ("narrowed by" in found.notice) is narrowed


def test_types_come_from_groups_and_aliases_are_followed_in_both_spellings() -> None:
    found = token.read(
        tokens(
            primary=colour(),
            **{"$root": {"$value": "{brand.primary}"}},
            second={"$ref": "#/brand/third"},
            third={"$value": "{brand.primary}"},
            gap={"$type": "dimension", "$value": {"value": 1, "unit": "px"}},
            glass=colour("srgb", 0, 0, 0, alpha=0.5),
        )
    )
    assert {one.name: one.alias for one in found.colours} == {
        "brand.primary": "",
        "brand": "brand.primary",
        "brand.second": "brand.primary",
        "brand.third": "brand.primary",
    }
    assert dict(found.skipped) == {
        "brand.gap": "a dimension, which no swatch holds",
        "brand.glass": "is not opaque, which no swatch is",
    }


@pytest.mark.promise("vector.tokens.refused-by-name")
@pytest.mark.parametrize(
    ("groups", "code", "named"),
    [
        (
            {"a": {"$value": "{brand.b}"}, "b": {"$value": "{brand.a}"}},
            "token_alias_loop",
            "brand.a → brand.b → brand.a",
        ),
        ({"a": {"$value": "{brand.a}"}}, "token_alias_loop", "brand.a → brand.a"),
        ({"a": {"$value": "{brand.gone}"}}, "token_alias_unknown", "brand.gone"),
        ({"a": {"$type": "colour", **colour()}}, "token_type_unknown", "'colour'"),
        ({"a": {"$value": "#1a6cff"}}, "token_value_invalid", "since 2025.10 a colour is an object"),
        ({"a": colour("cmyk", 0, 0, 0)}, "token_value_invalid", "'cmyk'"),
        ({"a": colour("srgb", 0, 0)}, "token_value_invalid", "three numbers"),
        ({"a": colour("srgb", 0, 0, "one")}, "token_value_invalid", "three numbers"),
        ({"a": 3}, "token_value_invalid", "neither a token nor a group"),
        ({"a.b": colour()}, "token_value_invalid", "no name"),
        ({"a\u202e": colour()}, "token_value_invalid", "no name"),
        ({"a": {"$ref": "other.json#/x"}}, "token_value_invalid", "outside of its file"),
        ({"$extends": "{other}"}, "token_value_invalid", "extends"),
    ],
)
def test_what_is_no_token_is_refused_by_its_name(groups: Json, code: str, named: str) -> None:
    error = refusal(lambda: token.read(tokens(**groups)))
    assert error.code == code
    assert named in error.sentence
    assert "brand" in error.details["token"]


@pytest.mark.parametrize("data", [b"[]", b"{", b'{"a":1,"a":2}', b"\xff", b'{"a":' * 90 + b"{}" + b"}" * 90])
def test_what_is_no_token_file_is_refused(data: bytes) -> None:
    with pytest.raises(CountermarkError) as caught:
        token.read(data)
    assert caught.value.code == "input_invalid"


# Into a document.


def test_only_what_is_bound_to_a_swatch_follows_its_token_and_new_ones_are_made() -> None:
    said = token.read(tokens(primary=colour(), accent={"$value": "{brand.primary}"}))
    after, report = palette.apply(mark(), said)
    assert (report.created, report.recoloured) == (("brand.accent",), (("brand.primary", BLUE, "#0080ff"),))
    assert [(use.name, use.place, use.colour) for use in report.changed] == [
        ("a", "fill[0]", "#0080ff"),
        ("a", "stroke[1]", "#0080ff"),
        ("b", "fill[0]", "#0080ff"),
    ]
    assert report.check["status"] == "passed"
    again, second = palette.apply(after, said)
    assert (second.status, second.same) == ("verified_noop", ("brand.accent", "brand.primary"))
    assert again == after


def test_a_swatch_that_cannot_be_changed_here_is_refused_and_a_file_without_colours_too() -> None:
    said = token.read(tokens(primary=colour()))
    document = mark()
    entry_of(document, "brand.primary")["spot"] = True
    assert refusal(lambda: palette.apply(document, said)).code == "swatch_unsupported"
    assert refusal(lambda: palette.apply(document, token.read(b"{}"))).code == "input_invalid"


# Out.


def test_tokens_go_out_and_come_in_again_as_the_same_swatches_aliases_and_all() -> None:
    data = tokens(primary=colour(), accent={"$value": "{brand.primary}"}, deep={"er": colour("hsl", 9, 9, 9)})
    document, _ = palette.apply(import_svg(SVG, name="m.svg").document, token.read(data))
    named = token_writer.colours(document)
    out = token_writer.dtcg(named, token_writer.aliases(document))
    assert json.loads(out)["brand"]["accent"] == {"$type": "color", "$value": "{brand.primary}"}
    back, report = palette.apply(document, token.read(out))
    assert (report.status, back) == ("verified_noop", document)


def test_names_that_no_token_can_have_are_remembered_and_properties_never_meet() -> None:
    named = {"a": "#000001", "a.b": "#000002", "{odd}": "#000003", "$x": "#000004", "a b": "#000005", "a-b": "#000006"}
    found = token.read(token_writer.dtcg(named)).colours
    assert {one.name: hex_of({"model": "rgb", "r": one.red, "g": one.green, "b": one.blue}) for one in found} == named
    assert len(set(token_writer.properties(named).values())) == len(named)
    tokens_, css = token_writer.dtcg(named), token_writer.css(named)
    assert derivative.token_files(tokens_, css, named, MAKER).status is Status.PASSED
    for one, other in ((tokens_.replace(b"#000002", b"#000009"), css.replace(b"#000003", b"#000013")), (b"{}", css)):
        assert derivative.token_files(one, other, named, MAKER).status is Status.FAILED


# Bindings by place, and a look before.


def test_one_stroke_of_an_object_is_bound_and_its_fill_of_the_same_colour_is_not() -> None:
    document = import_svg(SVG, name="m.svg").document
    number = next(use.object_id for use in swatches(recolour.bind(document, "x", BLUE)[0])[0].uses if use.name == "a")
    bound, report = recolour.bind(document, "line", BLUE, only={number}, places={(number, "stroke[1]")})
    assert [(use.name, use.place) for use in report.changed] == [("a", "stroke[1]")]
    assert [(use.name, use.place) for use in report.lookalikes] == [("a", "fill[0]"), ("b", "fill[0]")]
    error = refusal(lambda: recolour.bind(document, "line", BLUE, places={(number, "stroke[7]")}))
    assert (error.code, error.details["places"]) == ("not_found", ["fill[0]", "stroke[1]"])
    assert bound != document


def test_tokens_are_applied_as_a_task_and_a_preview_shows_it_before_and_changes_nothing(
    imported: Path, tmp_path: Path
) -> None:
    folder = copied(imported, tmp_path / "brand")
    with opened(folder) as workspace:
        number = next(use["object"] for row in tools.read(workspace).data["colours"] for use in row["objects"])
        tools.bind(workspace, "brand.primary", BLUE, grant="default", only=[number], places=[f"{number}:fill[0]"])
        before, events = shown_files(folder), len(workspace.ledger.events())
        seen = preview(workspace, "brand.primary", "#ff0000")
        assert [row["place"] for row in seen.data["objects"]] == ["fill[0]"]
        assert (seen.data["artboards"], seen.data["untouched"]) == ([{"id": 1, "name": "Mark"}], [])
        assert len({picture.data for picture in seen.pictures}) == 2
        assert (shown_files(folder), len(workspace.ledger.events())) == (before, events)
        done, facts = tools.apply_tokens(workspace, tokens(primary=colour("srgb", 1, 0, 0)), grant="default")
        assert studio.verdicts(workspace, done)["brand_dependencies"] == {"passed"}
        assert [use["object_id"] for use in facts["report"]["changed"]] == [number]
        again, _ = tools.apply_tokens(workspace, tokens(primary=colour("srgb", 1, 0, 0)), grant="default")
        assert again.repeated
