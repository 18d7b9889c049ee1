"""Scenes rendered without a browser, against the npm editor's export in a real one, in the same run.

Every scene of the shared data and those of this file, each with fonts left out and embedded, light and dark, the scene
embedded or not: the same bytes. The PNG against Chromium's picture of the same SVG with embedded fonts at scale 2:
after a 3 x 3 blur, pixels off by more than 48 of 255. And the time of a render of 100 elements, cold (a new child) and
warm, against a browser that is started, loads the editor and exports once.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from _claim import ROOT, Row, finish, interleave, ratio, scratch, spread
from _editor import Editor, editor, lacking

from countermark.kernel.workspace import Workspace
from countermark.raster.picture import decode_png
from countermark.scene import picture
from countermark.scene.exporter import Exporter, Look

if TYPE_CHECKING:
    import numpy.typing as npt
    from playwright.sync_api import Playwright

DATA: Final = Path(os.environ.get("COUNTERMARK_DATA") or ROOT.parent / "shared" / "data") / "scenes"
MATRIX: Final = [
    Look(dark=dark, fonts=fonts, embed=embed) for dark, fonts, embed in itertools.product((False, True), repeat=3)
]
OFF_BY: Final = 48
OFF_BAR: Final = 0.01
COLD_BAR: Final = 0.6
WARM_BAR: Final = 0.1
ROUNDS: Final = 5
WARM: Final = 20
SCALE: Final = 2.0
STRIP: Final = 512
"""Rows that are compared at a time."""


def scenes() -> Iterator[tuple[str, str]]:
    """Give every scene's name and text; a skeleton is no scene."""
    for file in sorted(DATA.glob("*.excalidraw")):
        text = file.read_text("utf-8")
        if json.loads(text)["type"] == "excalidraw":
            yield file.stem, text


def same_bytes(export: Exporter, browser: Editor) -> Row:
    """Export everything on both sides."""
    made = differing = 0
    named: list[str] = []
    for name, text in scenes():
        for look in MATRIX:
            made += 1
            if export.export(text, look).svg != browser.export(text, look):
                differing += 1
                named.append(f"{name} {look}")
    for one in named[:5]:
        print(f"differs: {one}")
    note = f"{made // len(MATRIX)} scenes in {len(MATRIX)} ways"
    said = f"{differing} of {made} differ"
    return Row("SVG as the browser exports it", said, "", float(differing), 0.0, "at most", note)


def same_picture(workspace: Workspace, export: Exporter, browser: Editor) -> Row:
    """Compare the PNG with the browser's picture of every scene, light and dark."""
    shares: dict[str, float] = {}
    for name, text in scenes():
        for dark in (False, True):
            bare = export.export(text, Look(dark=dark, fonts=False)).svg
            size = tuple(float(bare.partition(f' {side}="')[2].partition('"')[0]) for side in ("width", "height"))
            png, _ = picture.draw(workspace, bare.replace("&nbsp;", "&#160;"), (size[0], size[1]), SCALE)
            ours = decode_png(png)
            whole = export.export(text, Look(dark=dark)).svg
            theirs = browser.picture(whole, math.ceil(size[0]), math.ceil(size[1]))
            shares[f"{name}{', dark' if dark else ''}"] = off(ours.rgba, theirs)
    worst = max(shares, key=lambda one: shares[one])
    named = "; ".join(f"{name} {share:.2%}" for name, share in sorted(shares.items(), key=lambda one: -one[1])[:4])
    said = f"at most {shares[worst]:.2%} of pixels off"
    return Row("PNG as the browser shows it", said, "", shares[worst], OFF_BAR, "at most", f"worst: {named}")


def off(ours: npt.NDArray[np.uint8], theirs: npt.NDArray[np.uint8]) -> float:
    """Return the share of pixels off after a 3 x 3 blur, over what both pictures have."""
    height, width = min(ours.shape[0], theirs.shape[0]), min(ours.shape[1], theirs.shape[1])
    found = 0
    for top in range(0, height, STRIP):
        strips = [blurred(side[max(0, top - 1) : top + STRIP + 1, :width, :3]) for side in (ours, theirs)]
        rows = slice(min(top, 1), min(top, 1) + min(STRIP, height - top))
        found += int((np.abs(strips[0][rows] - strips[1][rows]).max(axis=2) > OFF_BY * 9).sum())
    return found / (height * width)


def blurred(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """Return the sum of each pixel with its eight neighbours."""
    padded = np.pad(pixels, ((1, 1), (1, 1), (0, 0)), mode="edge").astype(np.int32)
    height, width = pixels.shape[:2]
    rows = padded[:height] + padded[1 : height + 1] + padded[2:]
    return rows[:, :width] + rows[:, 1 : width + 1] + rows[:, 2:]


def hundred() -> str:
    """Return a scene of 100 elements: shapes, texts and arrows."""
    elements: list[dict[str, Any]] = []
    for number in range(100):
        kind = ("rectangle", "ellipse", "diamond", "arrow", "text")[number % 5]
        one: dict[str, Any] = {"id": f"e{number}", "type": kind, "seed": number + 1, "roughness": 1}
        one |= {"x": number % 10 * 160, "y": number // 10 * 110, "width": 120, "height": 60, "strokeWidth": 2}
        if kind == "arrow":
            one |= {"points": [[0, 0], [120, 60]], "startBinding": None, "endBinding": None}
        if kind == "text":
            said = f"Step {number}: check"
            one |= {"text": said, "originalText": said, "fontSize": 20, "fontFamily": 5, "lineHeight": 1.25}
            one |= {"textAlign": "left", "verticalAlign": "top", "containerId": None}
        elements.append(one)
    whole = {"type": "excalidraw", "version": 2, "source": "bench", "elements": elements, "appState": {}, "files": {}}
    return json.dumps(whole)


def times(playwright: Playwright, workspace: Workspace, folder: Path) -> Iterator[Row]:
    """Time one render cold and warm, and a browser's, in turns."""
    text, look = hundred(), Look()

    def cold() -> float:
        export = Exporter(workspace)
        began = time.perf_counter()
        export.export(text, look)
        spent = time.perf_counter() - began
        export.close()
        return spent

    kept = Exporter(workspace)

    def warm() -> float:
        kept.export(text, look)
        began = time.perf_counter()
        for _ in range(WARM):
            kept.export(text, look)
        return (time.perf_counter() - began) / WARM

    def browser() -> float:
        began = time.perf_counter()
        with editor(playwright, folder) as opened:
            opened.export(text, look)
            return time.perf_counter() - began

    first, again, theirs = interleave(ROUNDS, cold, warm, browser)
    kept.close()
    for claim, ours, bar in (("render, cold", first, COLD_BAR), ("render, warm", again, WARM_BAR)):
        yield Row(
            f"{claim}, 100 elements",
            f"{sorted(ours)[ROUNDS // 2] * 1000:.0f} ms",
            f"{sorted(theirs)[ROUNDS // 2] * 1000:.0f} ms in a browser started for it",
            ratio(ours, theirs),
            bar,
            "at most",
            spread(ours, theirs),
        )


def main() -> None:
    """Measure, and end with the rows."""
    missing = lacking() or ("" if DATA.is_dir() else str(DATA))
    assert not missing, f"unavailable: {missing} is not there"
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - said above when it is missing

    rows: list[Row] = []
    with scratch() as folder, Workspace.create(folder / "space") as workspace, sync_playwright() as playwright:
        fonts = folder / "fonts"
        fonts.mkdir()
        export = Exporter(workspace)
        with editor(playwright, fonts) as browser:
            rows.append(same_bytes(export, browser))
        with editor(playwright, fonts, scale=SCALE) as browser:
            rows.append(same_picture(workspace, export, browser))
        export.close()
        rows += times(playwright, workspace, fonts)
    finish(rows)


if __name__ == "__main__":
    main()
