"""The loss report: what is disclosed, what is measured, and what a report that lies is told."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.vector import document as native
from countermark.vector import exchange
from countermark.vector.disclosure import disclosure
from countermark.vector.document import Document
from countermark.vector.rechecking import recheck
from tests.vector.studio import MARK_NAME, copied, opened, refusal

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def svg(body: str) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{body}</svg>'.encode()


# What an SVG is made of.


def test_every_image_is_named_with_its_place_its_transforms_and_what_it_holds() -> None:
    found = disclosure(
        svg(
            f'<g transform="scale(2)"><g/><g><image id="i" x="1" y="2" width="3" height="4" '
            f'href="data:image/png;base64,{PNG}"/></g></g>'
            '<filter><feImage href="#a"/></filter><path/><image href="b.png"/>'
        )
    )
    assert found["counts"] == {"path": 1, "text": 0, "image": 2, "filter": 1, "mask": 0, "clipPath": 0}
    assert (found["vectorOnly"], found["losslessVectorClaimAllowed"]) == (False, False)
    first, second, third = found["rasterizationScope"]
    assert (first["element"], first["id"], first["box"]) == ("/svg[1]/g[1]/g[2]/image[1]", "i", ["1", "2", "3", "4"])
    assert (first["class"], first["bytes"], first["ancestors"]) == ("embedded-raster", 8, ["svg", "g", "g"])
    assert first["transforms"][0] == "scale(2)"
    assert (second["class"], third["class"]) == ("embedded-vector-reference", "unresolved-reference")


@pytest.mark.parametrize(
    ("href", "code"),
    [
        ("data:image/png;base64,AAAA", "loss_svg_image_signature_mismatch"),
        ("data:image/png;base64,A*A", "loss_svg_image_data_invalid"),
        ("data:image/png;base64,\u00e9", "loss_svg_image_data_invalid"),
    ],
)
def test_an_image_that_lies_about_itself_cannot_be_told_about(href: str, code: str) -> None:
    assert refusal(lambda: disclosure(svg(f'<image href="{href}"/>'))).code == code


def test_an_svg_that_is_too_large_to_look_into_is_refused() -> None:
    assert refusal(lambda: disclosure(svg("<!--" + " " * (16 << 20) + "-->"))).code == "loss_svg_too_large"
    assert refusal(lambda: disclosure(b"<svg>")).code == "artifact_invalid"


# A kit's report.


@cache
def kit(folder: Path) -> tuple[Document, dict[str, bytes]]:
    files = {path.name: path.read_bytes() for path in (folder / "kit").iterdir()}
    return native.load(files[MARK_NAME]), files


@pytest.mark.promise("vector.loss.measured")
def test_the_report_says_of_every_file_what_is_lost_in_three_words_and_claims_nothing(exported: Path) -> None:
    _, files = kit(exported)
    report = json.loads(files["exchange-loss.json"])
    told = {row["location"] for row in report["outputs"]}
    silent = {MARK_NAME, "exchange-loss.json", "index.html", "receipt.json", "site.webmanifest"}
    assert told == files.keys() - silent
    statuses = {change["status"] for row in report["outputs"] for change in row["changes"]}
    assert statuses == {"lost", "unknown", "observed"}
    assert {row["nativeSubstitute"] for row in report["outputs"]} == {False}
    assert all("native-editing-model" in {one["code"] for one in row["changes"]} for row in report["outputs"])
    alpha = {
        row["location"]: one["status"]
        for row in report["outputs"]
        for one in row["changes"]
        if one["code"] == "alpha-channel"
    }
    assert alpha["artboard-1-full-colour-16.png"] == "observed"
    assert alpha["artboard-1-maskable-512.png"] == "lost"


def test_an_object_that_another_engine_shows_otherwise_is_named_with_its_box(exported: Path) -> None:
    document, files = kit(exported)
    name = "artboard-1-full-colour-512.svg"
    bead = files[name].rfind(b'fill="#1a6cff"')
    spoilt = files[name][:bead] + b'fill="#ff6cff"' + files[name][bead + 14 :]
    found = exchange.measured(document, MARK_NAME, files | {name: spoilt})
    worst = found.worst[0]
    assert (worst.name, worst.format, worst.lost) == ("bead", "svg", True)
    assert worst.region.box == (352, 352, 128, 128)
    row = next(row for row in found.report["outputs"] if row["location"] == name)
    assert [one["status"] for one in row["observations"]["picture"]["objectsOff"]] == ["lost"]


def edited(report: dict[str, Any], change: str) -> dict[str, Any]:
    if change == "relabelled":
        pdf = next(row for row in report["outputs"] if row["format"] == "pdf")
        pdf["nativeSubstitute"] = True
    elif change == "shortened":
        report["outputs"].pop()
    else:
        report["acceptance"] = "accepted"
    return report


@pytest.mark.promise("vector.loss.measured")
@pytest.mark.parametrize(
    ("change", "named"),
    [("relabelled", "pages.pdf"), ("shortened", "icons.svg"), ("accepted", "acceptance"), ("", "missing")],
)
def test_a_report_that_was_changed_is_told_what_the_files_show(exported: Path, change: str, named: str) -> None:
    document, files = kit(exported)
    said = dict(files)
    if change:
        said["exchange-loss.json"] = json.dumps(edited(json.loads(files["exchange-loss.json"]), change)).encode()
    else:
        del said["exchange-loss.json"]
    error = refusal(lambda: exchange.compared(document, MARK_NAME, said))
    assert error.code == "loss_report_mismatch"
    assert named in error.sentence
    exchange.compared(document, MARK_NAME, files)


def test_a_kit_is_measured_again_from_its_files_alone(exported: Path, tmp_path: Path) -> None:
    folder = copied(exported, tmp_path / "brand")
    with opened(folder) as workspace:
        assert len(recheck(workspace).data["outputs"]) == 30
        report = folder / "kit/exchange-loss.json"
        report.write_bytes(b"{")
        assert refusal(lambda: recheck(workspace)).code == "loss_report_mismatch"
        (folder / "kit/pages.pdf").unlink()
        assert refusal(lambda: recheck(workspace)).details == {"missing": ["pages.pdf"]}
        for name in ("elsewhere", "../kit"):
            with pytest.raises(CountermarkError):
                recheck(workspace, name)
