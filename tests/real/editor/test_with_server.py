"""The page, the real server and an agent's own process over one folder: the file is what is asked."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.real.editor.conftest import Person, Watch, element, scene
from tests.real.editor.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

BOX: Final = {
    "op": "add",
    "element": {"type": "rectangle", "id": "by-agent", "x": 0, "y": 300, "width": 80, "height": 60},
}


@pytest.fixture
def served(tmp_path: Path, dist: Path) -> Iterator[Served]:
    """Serve an empty folder."""
    del dist
    folder = tmp_path / "drawings"
    folder.mkdir()
    made = Served(folder)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def guard(served: Served) -> Iterator[Watch]:
    """Watch every page of the test."""
    watching = Watch(served.address)
    yield watching
    assert watching.found == []


@pytest.fixture
def person(browser: Browser, served: Served, guard: Watch) -> Iterator[Person]:
    """Return a person who opened the address that the server printed."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(15_000)
    guard.over(context)
    page = context.new_page()
    page.goto(served.begin)
    page.get_by_role("heading", name="Scenes", exact=True).wait_for()
    yield Person(page, served.address)
    context.close()


def slices(data: bytes) -> list[str]:
    """Return the text of each element as it stands in the file."""
    text = data.decode()
    at = text.index("[", text.index('"elements"')) + 1
    decoder = json.JSONDecoder()
    found: list[str] = []
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n,"))
        if text[at] == "]":
            return found
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = end


def test_a_person_and_an_agent_draw_in_one_scene_and_both_are_kept(served: Served, person: Person) -> None:
    page = person.page
    page.get_by_label("New scene").fill("plan")
    page.get_by_role("button", name="Create").click()
    person.ready()
    person.draws(500, 300)
    page.get_by_text("revision 2 ·").wait_for()
    person.state("clean")
    (mine,) = served.live("plan")
    served.agent("plan", BOX)
    page.get_by_text("The command line added 1 element").wait_for()
    assert served.live("plan") == [mine, "by-agent"]
    # The person's next save stands on the agent's revision.
    person.draws(700, 300)
    page.get_by_text("revision 4 ·").wait_for()
    assert served.live("plan")[:2] == [mine, "by-agent"]
    assert len(served.live("plan")) == 3
    health = page.request.get(f"{served.address}/dsh-excalidraw/api/health").json()
    assert health["editor"]["mounted"] is True
    assert health["editor"]["elementCount"] == 3


@pytest.mark.promise("scene.page.conflict")
@pytest.mark.parametrize(
    ("answer", "kept"),
    [("Reload from disk", lambda live: "by-agent" in live), ("Overwrite anyway", lambda live: "by-agent" not in live)],
    ids=["reload", "overwrite"],
)
def test_an_agent_that_writes_under_a_drag_meets_a_question(
    served: Served, person: Person, guard: Watch, answer: str, kept: Callable[[list[str]], bool]
) -> None:
    del guard
    served.put("plan", scene(element("a", 0, 0), element("b", 300, 0)))
    person.opens("plan")
    page = person.page
    # The drawing's middle is the canvas's middle: a lies left of it.
    person.drags(640 - 150, 424 - 30, 500, 600, hold=True)
    served.agent("plan", BOX)
    page.get_by_text("changes wait until you finish.").wait_for()
    page.mouse.up()
    person.state("conflict")
    assert "by-agent" in served.live("plan")
    before = served.data("plan")
    person.presses("Escape")
    assert served.data("plan") == before
    page.get_by_role("button", name=answer).click()
    person.state("clean")
    assert kept(served.live("plan"))
    place = {one["id"]: one["y"] for one in served.scene("plan")["elements"]}
    assert (place["a"] == 0) is ("by-agent" in served.live("plan"))


@pytest.mark.promise("scene.page.merge")
def test_what_touched_different_elements_is_merged_when_the_person_says_so(
    served: Served, person: Person, guard: Watch
) -> None:
    del guard
    served.put("plan", scene(element("a", 0, 0), element("b", 300, 0)))
    person.opens("plan")
    page = person.page
    person.drags(640 - 150, 424 - 30, 500, 600, hold=True)
    served.agent("plan", BOX, {"op": "update", "id": "b", "patch": {"y": 77}})
    page.get_by_text("changes wait until you finish.").wait_for()
    page.mouse.up()
    person.state("conflict")
    merge = page.get_by_role("button", name="Merge both")
    merge.wait_for()
    # Proposed, and nothing done.
    assert served.scene("plan")["elements"][0]["y"] == 0
    merge.click()
    person.state("clean")
    place = {one["id"]: one["y"] for one in served.scene("plan")["elements"]}
    assert sorted(place) == ["a", "b", "by-agent"]
    assert place["a"] > 50
    assert place["b"] == 77
    page.get_by_text("revision 3 ·").wait_for()


def test_what_both_changed_is_merged_only_after_a_choice(served: Served, person: Person, guard: Watch) -> None:
    del guard
    served.put("plan", scene(element("a", 0, 0), element("b", 300, 0)))
    person.opens("plan")
    page = person.page
    person.drags(640 - 150, 424 - 30, 500, 600, hold=True)
    served.agent("plan", BOX, {"op": "update", "id": "a", "patch": {"y": -50}})
    page.get_by_text("changes wait until you finish.").wait_for()
    page.mouse.up()
    person.state("conflict")
    page.get_by_text("Some things both of you changed").wait_for()
    assert page.get_by_role("button", name="Merge both").count() == 0
    page.get_by_role("button", name="Compare", exact=True).click()
    merge = page.get_by_role("dialog").get_by_role("button", name="Merge both")
    assert merge.is_disabled()
    page.get_by_role("group", name="Both changed").get_by_label("Yours").check()
    page.get_by_role("img", name="The merged version").wait_for()
    merge.click()
    person.state("clean")
    place = {one["id"]: one["y"] for one in served.scene("plan")["elements"]}
    assert place["a"] > 50
    assert place["by-agent"] == 300


def picture(identifier: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an image and its file: one pixel."""
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    shape = element(identifier, 0, 200, type="image", fileId="pixel", status="saved", scale=[1, 1], crop=None)
    file = {"id": "pixel", "mimeType": "image/png", "dataURL": f"data:image/png;base64,{data}", "created": 1}
    return shape, file


def test_overwriting_brings_back_a_picture_that_the_file_lost(served: Served, person: Person, guard: Watch) -> None:
    guard.refusals = True
    shape, file = picture("image")
    served.put("plan", scene(element("a", 0, 0), shape, files={"pixel": file}))
    person.opens("plan")
    page = person.page
    page.get_by_test_id("toolbar-rectangle").dispatch_event("click")
    person.drags(400, 600, 500, 660, hold=True)
    served.put("plan", scene(element("a", 0, 0), element("b", 300, 0)))
    page.get_by_text("changes wait until you finish.").wait_for()
    page.mouse.up()
    person.state("conflict")
    page.get_by_role("button", name="Overwrite anyway").click()
    person.state("clean")
    assert served.live("plan")[:2] == ["a", "image"]
    assert served.scene("plan")["files"] == {"pixel": file}


def test_a_scene_that_went_is_saved_again_whole_under_its_name(served: Served, person: Person, guard: Watch) -> None:
    guard.refusals = True
    shape, file = picture("image")
    served.put("plan", scene(element("a", 0, 0), shape, files={"pixel": file}))
    person.opens("plan")
    (served.folder / "plan.excalidraw").unlink()
    person.page.get_by_role("button", name="Save as plan again").click()
    person.state("clean")
    person.until((served.folder / "plan.excalidraw").is_file)
    assert served.live("plan") == ["a", "image"]
    assert served.scene("plan")["files"] == {"pixel": file}


@pytest.mark.promise("scene.arrow.attached")
def test_dragging_a_box_drags_its_arrow_and_changes_no_byte_of_the_rest(served: Served, person: Person) -> None:
    arrow = element("arrow", 120, 40, type="arrow", width=180, height=0, points=[[0, 0], [180, 0]])
    arrow.update(startArrowhead=None, endArrowhead="arrow", elbowed=False, lastCommittedPoint=None)
    arrow["startBinding"] = {"elementId": "a", "focus": 0, "gap": 1}
    arrow["endBinding"] = {"elementId": "b", "focus": 0, "gap": 1}
    bound = [{"id": "arrow", "type": "arrow"}]
    made = scene(
        element("a", 0, 0, boundElements=bound),
        element("b", 301, 0, boundElements=bound),
        arrow,
        element("still", 0, 300, myField="kept", opacity=11),
        element("gone", 50, 50, isDeleted=True, opacity=12),
    )
    text = (
        json.dumps(made, indent=2)
        .replace('"opacity": 11', '"opacity": 1.10e1')
        .replace('"opacity": 12', '"opacity": 12.0')
    )
    served.put("plan", text.encode())
    before = slices(served.data("plan"))
    person.opens("plan")
    # The drawing is 421 wide and 380 high; its middle is the canvas's middle. The box is filled, so it can be held.
    left, top = 640 - 421 / 2, 424 - 380 / 2
    person.drags(left + 60, top + 30, left + 60, top + 130)
    person.until(lambda: served.scene("plan")["elements"][0]["y"] != 0)
    person.state("clean")
    after = slices(served.data("plan"))
    now = {one["id"]: one for one in served.scene("plan")["elements"]}
    assert now["a"]["y"] == pytest.approx(100, abs=1)
    assert now["arrow"]["points"] != arrow["points"]
    assert now["arrow"]["startBinding"]["elementId"] == "a"
    assert [after[at] == before[at] for at in range(5)] == [False, True, False, True, True]
    assert '"opacity": 1.10e1' in after[3]
    assert '"opacity": 12.0' in after[4]


def spelled() -> dict[str, bytes]:
    """Return scenes as other programs write them, by name: the same drawing, spelled in every way that is allowed."""
    embed = element("embed", 400, 300, type="embeddable", link="https://example.org/")
    program = element("program", 600, 300, type="iframe", customData={"generationData": {"status": "done", "html": ""}})
    shape, file = picture("image")
    shape["crop"] = {"x": 0, "y": 0, "width": 1, "height": 1, "naturalWidth": 1, "naturalHeight": 1}
    odd = element("odd", 200, 0, customData={"long": 11}, opacity=12, seed=13)
    made = scene(
        element("a", 0, 0), odd, embed, program, shape, element("gone", 9, 9, isDeleted=True), files={"pixel": file}
    )
    whole = json.dumps(made, indent=2)
    numbers = whole.replace('"long": 11', '"long": 12345678901234567890123').replace('"opacity": 12', '"opacity": 1.0')
    return {
        "tabs": json.dumps(made, indent="\t").encode(),
        "compact": json.dumps(made, separators=(",", ":")).encode(),
        "crlf": whole.replace("\n", "\r\n").encode(),
        "numbers": numbers.replace('"angle": 0', '"angle": 1e-7', 2).encode(),
        "twice": whole.replace('"seed": 13', '"seed": 1, "seed": 13').encode(),
    }


def box_of(elements: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the one to move: of the shapes that arrows hold on to, then of all others, the first."""
    live = [one for one in elements if not (one.get("isDeleted") or one.get("locked") or one.get("containerId"))]
    shapes = [one for one in live if one["type"] in {"rectangle", "ellipse", "diamond"} and one["width"]]
    held = [one for one in shapes if any(bound["type"] == "arrow" for bound in one.get("boundElements") or [])]
    return (held or shapes or [one for one in live if one["type"] != "arrow"])[0]


def goes_along(elements: list[dict[str, Any]], moved: str) -> set[str]:
    """Return what may change with a shape: itself, the arrows that hold on to it, and the labels of both."""
    ends = [(one["id"], one.get(end)) for one in elements for end in ("startBinding", "endBinding")]
    found = {moved} | {arrow for arrow, bound in ends if bound and bound["elementId"] == moved}
    return found | {one["id"] for one in elements if one.get("containerId") in found}


@pytest.mark.promise("scene.store.bytes")
def test_moving_one_shape_of_any_scene_keeps_every_other_byte(
    served: Served, person: Person, shared_data: Path, subtests: pytest.Subtests
) -> None:
    files = [file for file in (shared_data / "scenes").glob("*.excalidraw") if "skeleton" not in file.name]
    assert len(files) > 10
    page = person.page
    for name, before in {**{file.stem.lower(): file.read_bytes() for file in sorted(files)}, **spelled()}.items():
        with subtests.test(name):
            served.put(name, before)
            elements = served.scene(name)["elements"]
            moved = box_of(elements)["id"]
            # Within the page, as a link leads: the editor is not loaded anew for every file.
            page.evaluate(
                "(path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }",
                f"/s/{name}#show={moved}",
            )
            page.get_by_role("heading", name=name, exact=True).wait_for()
            person.ready()
            assert served.data(name) == before
            person.at_canvas()
            person.presses("ArrowRight")
            # Opened as 1 and saved once: opening alone had nothing to save.
            page.get_by_text("revision 2 ·").wait_for()
            now = {one["id"]: one for one in served.scene(name)["elements"]}
            assert now[moved]["x"] > next(one["x"] for one in elements if one["id"] == moved)
            may = goes_along(elements, moved)
            old, new = slices(before), slices(served.data(name))
            assert [json.loads(text)["id"] for text in old] == [json.loads(text)["id"] for text in new]
            assert [
                one for one, other in zip(old, new, strict=True) if one != other and json.loads(one)["id"] not in may
            ] == []


def test_a_killed_server_loses_nothing_and_the_save_happens_once(served: Served, person: Person, guard: Watch) -> None:
    guard.refusals = True
    served.put("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    page = person.page
    served.kill()
    person.draws(300, 560)
    person.state("offline")
    before = served.data("plan")
    served.start()
    # Another server knows no old session: the page says so, keeps the work, and goes on after the new address.
    person.state("expired")
    assert served.data("plan") == before
    other = page.context.new_page()
    other.goto(served.begin)
    other.get_by_role("heading", name="Scenes", exact=True).wait_for()
    other.close()
    page.get_by_role("button", name="Try again").click()
    person.state("clean")
    assert len(served.live("plan")) == 2
    # One more than the one it was opened at: sent several times, saved once.
    page.get_by_text("revision 2 ·").wait_for()


def test_an_agent_that_wrote_while_the_server_was_down_meets_a_question(
    served: Served, person: Person, guard: Watch
) -> None:
    guard.refusals = True
    served.put("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    page = person.page
    served.kill()
    person.draws(300, 560)
    person.state("offline")
    served.agent("plan", BOX)
    served.start()
    other = page.context.new_page()
    other.goto(served.begin)
    other.get_by_role("heading", name="Scenes", exact=True).wait_for()
    other.close()
    # The page hears of the folder again by itself, and what it hears is not what its work was made from.
    person.state("conflict")
    assert served.live("plan") == ["a", "by-agent"]
    page.get_by_role("button", name="Merge both").click()
    person.state("clean")
    assert served.live("plan")[:2] == ["a", "by-agent"]
    assert len(served.live("plan")) == 3


def browser_of(profile: Path) -> list[int]:
    """Return the processes of the browser that was started with this profile."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"--user-data-dir={profile}" in (process / "cmdline").read_text().split("\0"):
                found.append(int(process.name))
    return found


def test_a_killed_browser_offers_what_was_not_saved(
    served: Served, playwright: Playwright, chromium: str, tmp_path: Path
) -> None:
    profile = tmp_path / "profile"

    def opened() -> tuple[Any, Page]:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium, args=["--no-sandbox"], viewport={"width": 1280, "height": 800}
        )
        context.set_default_timeout(15_000)
        return context, context.pages[0]

    served.put("plan", scene(element("a", 0, 0)))
    _, page = opened()
    page.goto(f"{served.begin}&to=plan")
    person = Person(page, served.address)
    person.ready()
    served.kill()
    person.draws(300, 560)
    person.state("offline")
    page.wait_for_function(
        """() => new Promise((done) => {
            const request = indexedDB.open("countermark");
            request.onsuccess = () => {
                const all = request.result.transaction("drafts").objectStore("drafts").getAll();
                all.onsuccess = () => done(all.result.length === 1);
            };
        })"""
    )
    for process in browser_of(profile):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    served.start()
    context, page = opened()
    person = Person(page, served.address)
    page.goto(f"{served.begin}&to=plan")
    person.ready()
    assert served.live("plan") == ["a"]
    page.get_by_text("There are unsaved changes").wait_for()
    page.get_by_role("button", name="Restore them").click()
    person.until(lambda: len(served.live("plan")) == 2)
    person.state("clean")
    context.close()
