"""One scene in the real editor: drawn by mouse and keys, judged by the file and by what was sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.real.editor.conftest import Person, Watch, element, on_disk, scene
from tests.real.editor.fake_server import FakeServer

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Page, Route


def ids(document: dict[str, Any], *, live: bool = True) -> list[str]:
    return [one["id"] for one in document["elements"] if not (live and one.get("isDeleted"))]


def kinds(document: dict[str, Any]) -> list[str]:
    return [one["type"] for one in document["elements"] if not one.get("isDeleted")]


def test_what_is_drawn_by_mouse_and_keys_lands_in_the_file(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene())
    person.opens("plan")
    person.draws(300, 300)
    person.presses("Enter")
    page.locator("textarea.excalidraw-wysiwyg").wait_for()
    page.keyboard.type("stock")
    person.presses("Escape")
    person.until(lambda: [one.get("text") for one in on_disk(fake, "plan")["elements"]] == [None, "stock"])
    person.state("clean")
    made = on_disk(fake, "plan")
    assert kinds(made) == ["rectangle", "text"]
    assert made["elements"][1]["text"] == "stock"
    assert made["elements"][1]["containerId"] == made["elements"][0]["id"]
    assert fake.scenes["plan"][-1].sha256[:12] in page.get_by_role("status", name="Save state").inner_text()
    saved = [report for report in fake.reports if report["event"] == "saved"]
    assert saved[-1]["sha256"] == fake.scenes["plan"][-1].sha256
    assert [report["event"] for report in fake.reports][:2] == ["mounted", "canvas-ready"]


def test_what_the_loader_drops_goes_back_where_it_stood(fake: FakeServer, person: Person, page: Page) -> None:
    odd = {"id": "odd", "type": "hologram", "x": 1, "y": 2, "whatever": [1, 2]}
    flat = element("flat", 5, 5, width=0, height=0)
    twin = element("a", 500, 0)
    gone = element("gone", 0, 0, isDeleted=True)
    before = [odd, element("a", 0, 0), flat, twin, gone, element("z", 200, 0, myField={"kept": True})]
    fake.write("odd", scene(*before, appState={"viewBackgroundColor": "#ffffff", "gridStep": 7}))
    person.opens("odd")
    person.draws(300, 500)
    page.get_by_text("revision 2 ·").wait_for()
    sent = fake.puts[-1]["scene"]
    assert sent["elements"][:-1] == before
    assert sent["elements"][-1]["type"] == "rectangle"
    assert sent["appState"] == {"viewBackgroundColor": "#ffffff", "gridStep": 7}


def test_a_tall_drawing_opens_whole_below_the_toolbar(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0, width=200, height=1200)))
    person.opens("plan")
    bar = page.locator(".App-toolbar").bounding_box()
    assert bar is not None
    zoom = int(page.get_by_role("button", name="Reset zoom").inner_text().rstrip("%")) / 100
    # The drawing's middle is the canvas's middle.
    assert 424 - zoom * 600 > bar["y"] + bar["height"]
    person.drags(640, 424, 640, 464)
    page.get_by_text("revision 2 ·").wait_for()
    assert on_disk(fake, "plan")["elements"][0]["y"] == pytest.approx(40 / zoom, abs=2)


@pytest.mark.promise("scene.page.viewport")
def test_an_agents_write_appears_and_the_persons_view_stays(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0), element("b", 400, 0)))
    person.opens("plan")
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("button", name="Zoom out").click()
    page.mouse.wheel(60, 90)
    zoom = page.get_by_role("button", name="Reset zoom").inner_text()
    canvas = page.locator(".desk canvas.static")
    strip: FloatRect = {"x": 0, "y": 140, "width": 1280, "height": 500}
    canvas.wait_for()
    page.wait_for_function(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    )
    before = page.screenshot(clip=strip)
    # Far away, so that what is in view has no reason to change.
    fake.write("plan", scene(element("a", 0, 0), element("b", 400, 0), element("c", 9000, 9000)))
    page.get_by_text("The agent added 1 element").wait_for()
    assert page.get_by_role("button", name="Reset zoom").inner_text() == zoom
    page.get_by_role("button", name="Dismiss").click()
    assert page.screenshot(clip=strip) == before
    assert fake.puts == []
    person.draws(500, 500)
    page.get_by_text("revision 3 ·").wait_for()
    assert ids(on_disk(fake, "plan"))[:3] == ["a", "b", "c"]


def test_show_brings_what_the_agent_changed_into_view(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    fake.write("plan", scene(element("a", 0, 0), element("c", 9000, 9000)))
    page.get_by_role("button", name="Show").click()
    # It is selected now: a nudge moves it and nothing else.
    person.at_canvas()
    person.presses("ArrowRight")
    page.get_by_text("revision 3 ·").wait_for()
    moved = {one["id"]: one["x"] for one in on_disk(fake, "plan")["elements"]}
    assert moved["a"] == 0
    assert moved["c"] > 9000


def test_an_agents_write_waits_for_the_end_of_a_gesture(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    # A selection drawn over nothing changes no element.
    person.drags(200, 560, 400, 640, hold=True)
    fake.write("plan", scene(element("a", 0, 0), element("c", 60, 300)))
    page.get_by_text("changes wait until you finish.").wait_for()
    assert "revision 1 ·" in page.get_by_role("status", name="Save state").inner_text()
    page.mouse.up()
    page.get_by_text("The agent added 1 element").wait_for()
    page.get_by_text("revision 2 ·").wait_for()
    assert fake.puts == []


@pytest.mark.promise("scene.page.conflict")
def test_a_drag_under_which_the_agent_wrote_ends_in_a_conflict_and_not_in_a_loss(
    fake: FakeServer, person: Person, page: Page
) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    person.draws(300, 500)
    page.get_by_text("revision 2 ·").wait_for()
    mine = ids(on_disk(fake, "plan"))
    person.drags(300, 540, 600, 600, hold=True)
    theirs = {**on_disk(fake, "plan")}
    theirs["elements"] = [*theirs["elements"], element("c", 0, 300)]
    fake.write("plan", theirs)
    page.get_by_text("changes wait until you finish.").wait_for()
    page.mouse.up()
    person.state("conflict")
    assert ids(on_disk(fake, "plan")) == [*mine, "c"]
    assert len(fake.puts) == 1


def test_an_agent_that_writes_while_a_label_is_typed_interrupts_nobody(
    fake: FakeServer, person: Person, page: Page
) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    person.draws(300, 500)
    page.get_by_text("revision 2 ·").wait_for()
    person.presses("Enter")
    page.locator("textarea.excalidraw-wysiwyg").wait_for()
    page.keyboard.type("sto")
    fake.write(
        "plan", {**on_disk(fake, "plan"), "elements": [*on_disk(fake, "plan")["elements"], element("c", 0, 300)]}
    )
    page.get_by_text("changes wait until you finish.").wait_for()
    page.keyboard.type("ck")
    person.presses("Escape")
    person.state("conflict")
    assert ids(on_disk(fake, "plan"))[-1] == "c"
    page.get_by_role("button", name="Merge both").click()
    person.state("clean")
    made = on_disk(fake, "plan")
    assert "c" in ids(made)
    assert [one["text"] for one in made["elements"] if one["type"] == "text"] == ["stock"]


def test_an_agent_that_writes_in_a_saves_flight_meets_a_question(
    fake: FakeServer, person: Person, page: Page, watch: Watch
) -> None:
    watch.refusals = True
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    held: list[Route] = []
    page.route("**/api/scenes/plan", lambda route: held.append(route) if not held else route.continue_())
    person.draws(300, 500)
    person.until(lambda: len(held) == 1)
    assert held[0].request.method == "PUT"
    fake.write("plan", scene(element("a", 0, 0), element("c", 0, 300)))
    held[0].continue_()
    person.state("conflict")
    assert ids(on_disk(fake, "plan")) == ["a", "c"]


@pytest.fixture
def conflict(fake: FakeServer, person: Person, page: Page, watch: Watch) -> Callable[[], None]:
    """Return what makes a conflict: the person drew, and the agent wrote before the save."""

    def make() -> None:
        watch.refusals = True
        fake.write("plan", scene(element("a", 0, 0)))
        person.opens("plan")
        fake.refuse = (423, "scene_busy")
        person.draws(300, 500)
        person.state("busy")
        fake.write("plan", scene(element("a", 0, 0), element("c", 0, 300)))
        fake.refuse = None
        person.state("conflict")
        page.get_by_text("The agent added 1 element; you added 1 element.").wait_for()

    return make


@pytest.mark.promise("scene.page.conflict")
def test_escape_and_waiting_overwrite_nothing(
    fake: FakeServer, person: Person, page: Page, conflict: Callable[[], None]
) -> None:
    conflict()
    sent = len(fake.puts)
    for _ in range(3):
        person.presses("Escape")
    person.presses("Control+s")
    person.draws(600, 500)
    page.get_by_text("you added 2 elements").wait_for(state="detached")
    person.state("conflict")
    assert len(fake.puts) == sent
    assert ids(on_disk(fake, "plan")) == ["a", "c"]


def test_the_conflict_is_seen_in_two_pictures_and_closing_them_answers_nothing(
    fake: FakeServer, person: Person, page: Page, conflict: Callable[[], None]
) -> None:
    conflict()
    sent = len(fake.puts)
    page.get_by_role("button", name="Compare", exact=True).click()
    mine = page.get_by_role("img", name="Your version")
    theirs = page.get_by_role("img", name=re.compile("^The agent.s version$"))
    page.locator(".comparison[data-drawn]").wait_for()
    for picture in (mine, theirs):
        # One mark of one thing added, and the drawing behind it.
        assert picture.locator(".mark.added").count() == 1
        assert picture.locator("image").count() == 1
    boxes = [picture.locator(".mark rect").bounding_box() for picture in (mine, theirs)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] != boxes[1]["y"]
    person.presses("Escape")
    mine.wait_for(state="detached")
    person.state("conflict")
    assert len(fake.puts) == sent
    assert ids(on_disk(fake, "plan")) == ["a", "c"]


def test_overwrite_makes_the_persons_version_the_next_revision(
    fake: FakeServer, page: Page, conflict: Callable[[], None]
) -> None:
    conflict()
    page.get_by_role("button", name="Overwrite anyway").click()
    page.get_by_text("revision 3 ·").wait_for()
    made = on_disk(fake, "plan")
    assert "c" not in ids(made)
    assert len(ids(made)) == 2
    # It replaces the revision that was shown and no other, so it may be sent again at any time.
    assert "force" not in fake.puts[-1]
    assert fake.puts[-1]["expected_revision"] == 2
    assert ids(fake.scenes["plan"][1].scene) == ["a", "c"]


def test_reload_takes_the_files_version_and_the_persons_can_be_had_back(
    fake: FakeServer, person: Person, page: Page, conflict: Callable[[], None]
) -> None:
    conflict()
    page.get_by_role("button", name="Reload from disk").click()
    page.get_by_text("revision 2 ·").wait_for()
    person.state("clean")
    assert ids(on_disk(fake, "plan")) == ["a", "c"]
    page.get_by_role("button", name="Get it back").click()
    # It is made on revision 1 still, so it is a conflict again and no silent overwrite.
    person.state("conflict")
    assert ids(on_disk(fake, "plan")) == ["a", "c"]
    page.get_by_role("button", name="Overwrite anyway").click()
    page.get_by_text("revision 3 ·").wait_for()
    assert len(ids(on_disk(fake, "plan"))) == 2


def test_an_overwriting_without_an_answer_goes_over_no_revision_that_nobody_saw(
    fake: FakeServer, person: Person, page: Page, conflict: Callable[[], None]
) -> None:
    conflict()
    fake.refuse = (423, "scene_busy")
    page.get_by_role("button", name="Overwrite anyway").click()
    person.state("busy")
    fake.write("plan", scene(element("a", 0, 0), element("d", 0, 300)))
    fake.refuse = None
    person.state("conflict")
    page.get_by_text("saved revision 3 while you were drawing").wait_for()
    assert ids(on_disk(fake, "plan")) == ["a", "d"]


def test_a_version_brought_back_during_a_save_goes_over_nothing_of_that_save(
    fake: FakeServer, person: Person, page: Page, conflict: Callable[[], None]
) -> None:
    conflict()
    page.get_by_role("button", name="Reload from disk").click()
    person.state("clean")
    held: dict[str, Route] = {}

    def hold(route: Route) -> None:
        if held.setdefault(route.request.method, route) is not route:
            route.continue_()

    page.route("**/api/scenes/plan", hold)
    person.draws(600, 500)
    page.get_by_role("button", name="Get it back").click()
    person.until(lambda: len(held) == 2)
    held["GET"].continue_()
    person.until(lambda: page.get_by_text("Your own version is set aside").count() == 0)
    held["PUT"].continue_()
    # The save landed: it is news for what was brought back, not what that was made from.
    person.until(lambda: len(fake.scenes["plan"]) == 3)
    person.state("conflict")
    assert ids(on_disk(fake, "plan"))[:2] == ["a", "c"]
    assert len(ids(on_disk(fake, "plan"))) == 3


def test_undo_takes_back_the_persons_shape_and_never_the_agents(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    person.draws(300, 500)
    page.get_by_text("revision 2 ·").wait_for()
    both = on_disk(fake, "plan")
    fake.write("plan", {**both, "elements": [*both["elements"], element("c", 0, 300)]})
    page.get_by_text("revision 3 ·").wait_for()
    person.at_canvas()
    person.presses("Control+z")
    page.get_by_text("revision 4 ·").wait_for()
    assert ids(on_disk(fake, "plan")) == ["a", "c"]
    person.presses("Control+z")
    person.presses("Control+z")
    person.state("clean")
    assert ids(on_disk(fake, "plan")) == ["a", "c"]


def test_a_save_without_an_answer_is_sent_again_and_happens_once(
    fake: FakeServer, person: Person, page: Page, watch: Watch
) -> None:
    watch.refusals = True
    fake.write("plan", scene())
    person.opens("plan")
    fake.mute = True
    person.draws(300, 300)
    # The news of its own write may come before the retry is due; either way the same save is sent again.
    person.until(lambda: len(fake.puts) > 1)
    page.get_by_text("revision 2 ·").wait_for()
    person.state("clean")
    assert len(fake.scenes["plan"]) == 2
    first, *again = [put for put in fake.puts if put["request_id"] == fake.puts[0]["request_id"]]
    assert again
    assert all(put == first for put in again)


def test_the_server_goes_and_comes_back_and_nothing_is_lost(
    fake: FakeServer, person: Person, page: Page, watch: Watch
) -> None:
    watch.refusals = True
    fake.write("plan", scene())
    person.opens("plan")
    fake.stop()
    page.get_by_text("Server not reachable").first.wait_for()
    person.draws(300, 300)
    person.state("offline")
    person.draws(600, 300)
    # Asked to try now it tries, and goes on trying by itself.
    page.get_by_role("button", name="Try now").click()
    fake.start()
    page.get_by_text("revision 3 ·").wait_for(timeout=20_000)
    person.state("clean")
    assert kinds(on_disk(fake, "plan")) == ["rectangle", "rectangle"]


def test_emptying_a_scene_is_asked_about_and_escape_keeps_the_file(
    fake: FakeServer, person: Person, page: Page
) -> None:
    fake.write("plan", scene(element("a", 0, 0), element("b", 200, 0), element("c", 400, 0)))
    person.opens("plan")
    person.at_canvas()
    person.presses("Control+a")
    person.presses("Delete")
    asked = page.get_by_role("alertdialog", name="Save an empty scene?")
    asked.wait_for()
    person.presses("Escape")
    asked.wait_for(state="detached")
    assert fake.puts == []
    assert ids(on_disk(fake, "plan")) == ["a", "b", "c"]
    page.get_by_role("button", name="Answer").click()
    page.get_by_role("button", name="Save it empty").click()
    page.get_by_text("revision 2 ·").wait_for()
    assert ids(on_disk(fake, "plan")) == []
    assert ids(on_disk(fake, "plan"), live=False) == ["a", "b", "c"]


def test_undoing_the_deletion_answers_the_question(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0), element("b", 200, 0), element("c", 400, 0)))
    person.opens("plan")
    person.at_canvas()
    person.presses("Control+a")
    person.presses("Delete")
    page.get_by_role("button", name="save yet").click()
    person.at_canvas()
    person.presses("Control+z")
    page.get_by_text("revision 2 ·").wait_for()
    assert ids(on_disk(fake, "plan")) == ["a", "b", "c"]


def test_leaving_for_another_scene_saves_this_one_and_never_into_that_one(
    fake: FakeServer, person: Person, page: Page
) -> None:
    fake.write("first", scene(element("a", 0, 0)))
    fake.write("second", scene(element("b", 0, 0)))
    person.opens("first")
    person.draws(300, 500)
    page.get_by_role("link", name="All scenes").click()
    page.get_by_role("link", name="second").click()
    person.ready()
    assert len(ids(on_disk(fake, "first"))) == 2
    person.draws(500, 500)
    page.get_by_text("revision 2 ·").wait_for()
    assert ids(on_disk(fake, "first"))[0] == "a"
    assert ids(on_disk(fake, "second"))[0] == "b"
    assert len(ids(on_disk(fake, "second"))) == 2


def test_an_earlier_revision_is_seen_and_brought_back(fake: FakeServer, person: Person, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    fake.write("plan", scene(element("b", 0, 0)))
    person.opens("plan")
    page.get_by_role("button", name="History").click()
    page.get_by_role("button", name="See revision 1").click()
    page.get_by_role("img", name="Revision 1").wait_for()
    page.get_by_role("button", name="Bring back revision 1").click()
    page.get_by_text("revision 3 ·").wait_for()
    assert ids(on_disk(fake, "plan")) == ["a"]
    person.draws(500, 500)
    page.get_by_text("revision 4 ·").wait_for()
    assert ids(on_disk(fake, "plan"))[0] == "a"


def test_a_renamed_and_a_trashed_scene_say_so_and_nothing_is_written(
    fake: FakeServer, person: Person, page: Page, watch: Watch
) -> None:
    watch.refusals = True
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    fake.remove("plan", to="design")
    page.get_by_text("This scene is now called design.").wait_for()
    person.draws(300, 500)
    assert "plan" not in fake.scenes
    page.get_by_role("button", name="Save as plan again").click()
    page.get_by_text("Saved", exact=True).first.wait_for()
    assert len(ids(on_disk(fake, "plan"))) == 2


def test_an_expired_session_keeps_the_work_and_goes_on(
    fake: FakeServer, person: Person, page: Page, watch: Watch
) -> None:
    watch.refusals = True
    fake.write("plan", scene())
    person.opens("plan")
    fake.expired = True
    person.draws(300, 300)
    person.state("expired")
    fake.expired = False
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("revision 2 ·").wait_for()
    assert kinds(on_disk(fake, "plan")) == ["rectangle"]


def test_a_refused_save_is_said_and_a_change_tries_again(
    fake: FakeServer, person: Person, page: Page, watch: Watch
) -> None:
    watch.refusals = True
    fake.write("plan", scene())
    person.opens("plan")
    fake.refuse = (413, "too_large")
    person.draws(300, 300)
    person.state("refused")
    page.get_by_text("The fake says too_large.").wait_for()
    fake.refuse = None
    person.draws(600, 300)
    page.get_by_text("revision 2 ·").wait_for()
    assert kinds(on_disk(fake, "plan")) == ["rectangle", "rectangle"]


def test_frames_of_a_scene_never_run(fake: FakeServer, person: Person, page: Page) -> None:
    html = "<script>parent.document.title = 'ran'</script>"
    active = element("i", 0, 0, type="iframe", width=300, height=200)
    active["customData"] = {"generationData": {"status": "done", "html": html}}
    embed = element("e", 400, 0, type="embeddable", width=300, height=200, link="https://www.youtube.com/embed/x")
    fake.write("plan", scene(active, embed))
    person.opens("plan")
    page.get_by_text("Embedded program, not run here").wait_for()
    assert len(page.frames) == 1
    assert page.locator("iframe").count() == 0
    assert page.title() == "plan"


def test_a_picture_is_exported_without_another_host(fake: FakeServer, person: Person, page: Page) -> None:
    words = element("t", 0, 0, type="text", text="Grüße", originalText="Grüße", fontSize=28, fontFamily=5)
    words.update(textAlign="left", verticalAlign="top", containerId=None, lineHeight=1.25, autoResize=True)
    fake.write("plan", scene(words, element("a", 0, 60)))
    # Without the system's dialog for files, as in browsers that have none, it is an ordinary download.
    page.add_init_script("delete window.showSaveFilePicker; delete window.showOpenFilePicker")
    person.opens("plan")
    person.at_canvas()
    person.presses("Control+Shift+e")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export to SVG").click()
    svg = Path(download.value.path()).read_text("utf-8")
    assert "@font-face" in svg
    assert "url(data:font/woff2;base64," in svg
    assert "https://" not in svg.replace("https://excalidraw.com", "")


def test_the_library_is_kept_in_the_folder_and_two_windows_add_to_one(
    fake: FakeServer, person: Person, page: Page, watch: Watch
) -> None:
    watch.refusals = True

    def item(identifier: str) -> dict[str, Any]:
        return {"id": identifier, "status": "unpublished", "created": 1, "elements": [element(identifier, 0, 0)]}

    fake.library = [item("old")]
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    page.get_by_title("Library").click()
    shown = page.locator(".library-unit")
    shown.first.wait_for()
    # Opened and looked at: nothing was saved, and another window adds one meanwhile.
    assert fake.library == [item("old")]
    fake.library = [item("theirs"), item("old")]
    person.drags(640 - 40, 424 - 30, 640 - 38, 424 - 28)
    page.get_by_title("Library").click()
    # It pulses, which a driver takes for moving.
    page.locator(".library-unit__adder").click(force=True)
    person.until(lambda: len(fake.library) == 3)
    made = [one["id"] for one in fake.library]
    assert made[1:] == ["theirs", "old"]
    assert fake.library[2] == item("old")
