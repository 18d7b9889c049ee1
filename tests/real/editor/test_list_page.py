"""The list, the pages that are only words, and what every page owes to keyboards, small windows and themes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.editor.conftest import Person, Watch, element, on_disk, scene
from tests.real.editor.fake_server import FakeServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_a_scene_is_created_by_keys_alone_and_a_wrong_name_is_said(
    fake: FakeServer, page: Page, person: Person
) -> None:
    page.goto(fake.address)
    page.get_by_text("No scenes yet").wait_for()
    page.get_by_label("New scene").focus()
    page.keyboard.type("A Plan")
    page.keyboard.press("Enter")
    page.get_by_text("Small letters only.").wait_for()
    page.get_by_label("New scene").fill("a-plan")
    page.keyboard.press("Enter")
    person.ready()
    assert page.url == f"{fake.address}/s/a-plan"
    assert on_disk(fake, "a-plan")["elements"] == []


def test_a_scene_that_appears_in_the_folder_appears_in_the_list(fake: FakeServer, page: Page) -> None:
    fake.write("first", scene())
    page.goto(fake.address)
    page.get_by_role("link", name="first").wait_for()
    fake.write("second", scene(element("a", 0, 0)))
    page.get_by_role("link", name="second").wait_for()


def test_a_scene_is_renamed_and_trashed_from_the_list(fake: FakeServer, page: Page) -> None:
    fake.write("first", scene())
    page.goto(fake.address)
    page.get_by_role("button", name="Rename first").click()
    page.get_by_label("New name").fill("second")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="second").wait_for()
    trash = page.get_by_role("button", name="Move second to the trash")
    trash.click()
    page.get_by_role("alertdialog").wait_for()
    # Enter answers with what keeps the scene, Escape too, and the focus goes back to where it was.
    page.keyboard.press("Enter")
    page.get_by_role("alertdialog").wait_for(state="detached")
    assert "second" in fake.scenes
    page.wait_for_function("() => document.activeElement.getAttribute('aria-label') === 'Move second to the trash'")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Move to trash", exact=True).click()
    page.get_by_text("No scenes yet").wait_for()
    assert fake.scenes == {}


def test_a_trashed_scene_comes_back_by_undo_and_from_the_trash(fake: FakeServer, page: Page) -> None:
    fake.write("first", scene(element("a", 0, 0)))
    page.goto(fake.address)

    def trash() -> None:
        page.get_by_role("button", name="Move first to the trash").click()
        page.get_by_role("button", name="Move to trash", exact=True).click()
        page.get_by_text("first is in the trash.").wait_for()

    trash()
    # What the keyboard stood on went with the scene; it goes on where it can be had back, and then at the scene.
    page.locator("button:focus", has_text="Undo").wait_for()
    page.keyboard.press("Enter")
    page.locator("a:focus", has_text="first").wait_for()
    assert list(fake.scenes) == ["first"]
    trash()
    fake.write("first", scene())
    page.get_by_role("link", name="first").wait_for()
    page.get_by_role("button", name="Trash · 1").click()
    page.get_by_role("button", name="Put back as… another name: first").click()
    page.get_by_label("New name").fill("older")
    page.keyboard.press("Enter")
    page.locator("a:focus", has_text="older").wait_for()
    assert sorted(fake.scenes) == ["first", "older"]
    assert fake.trash == {}


def test_a_text_is_found_in_all_scenes_and_leads_to_where_it_stands(
    fake: FakeServer, page: Page, person: Person
) -> None:
    words = element("far", 9000, 9000, type="text", text="Stock level", originalText="Stock level", fontSize=20)
    words.update(fontFamily=5, textAlign="left", verticalAlign="top", containerId=None, lineHeight=1.25)
    fake.write("plan", scene(element("a", 0, 0), {**words, "autoResize": True}))
    fake.write("other", scene(element("b", 0, 0)))
    page.goto(fake.address)
    page.get_by_role("link", name="other").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("stock")
    page.get_by_text("1 scene found").wait_for()
    assert page.get_by_role("link", name="other").count() == 0
    page.get_by_role("link", name="Stock level").click()
    person.ready()
    # It is in view and selected: a nudge moves it and nothing else.
    person.at_canvas()
    person.presses("ArrowRight")
    page.get_by_text("revision 2 ·").wait_for()
    assert {one["id"]: one["x"] > 0 for one in on_disk(fake, "plan")["elements"]} == {"a": False, "far": True}
    assert on_disk(fake, "plan")["elements"][1]["x"] > 9000


def test_every_scene_has_a_picture_that_is_drawn_once(fake: FakeServer, page: Page) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    fake.write("empty", scene())
    page.goto(fake.address)
    drawn = page.locator(".small[data-drawn] img")
    drawn.wait_for()
    assert page.get_by_text("Empty", exact=True).count() == 1
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    drawn.wait_for()
    # Neither the scene nor the editor is needed for what was drawn before.
    assert [url for url in asked if "/scenes/" in url or "scene-" in url or "draw-" in url] == []


def test_an_address_without_a_scene_says_so(fake: FakeServer, page: Page, watch: Watch) -> None:
    watch.refusals = True
    page.goto(f"{fake.address}/s/nowhere")
    page.get_by_role("heading", name="No such scene").wait_for()
    page.get_by_role("link", name="All scenes").click()
    page.get_by_role("heading", name="Scenes", exact=True).wait_for()


def test_an_expired_session_is_a_page_of_its_own(fake: FakeServer, page: Page, watch: Watch) -> None:
    watch.refusals = True
    fake.expired = True
    page.goto(fake.address)
    page.get_by_role("heading", name="This session has expired").wait_for()
    fake.expired = False
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="Scenes", exact=True).wait_for()


def test_a_scene_that_the_editor_cannot_read_is_left_alone(fake: FakeServer, page: Page) -> None:
    broken = element("bad", 0, 0, type="arrow")
    fake.write("plan", scene(element("a", 0, 0), broken))
    page.goto(f"{fake.address}/s/plan")
    page.get_by_text("Element bad (arrow) cannot be read.").wait_for()
    assert fake.puts == []


def test_a_read_only_folder_is_looked_at_and_not_drawn_in(fake: FakeServer, page: Page, person: Person) -> None:
    fake.read_only = True
    fake.write("plan", scene(element("a", 0, 0)))
    page.goto(fake.address)
    page.get_by_text("This folder is read only").wait_for()
    assert page.get_by_label("New scene").count() == 0
    person.opens("plan")
    assert "Read only" in page.get_by_role("status", name="Save state").inner_text()
    assert page.get_by_test_id("toolbar-rectangle").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window_and_the_state_line_is_whole(
    fake: FakeServer, page: Page, person: Person, width: int
) -> None:
    made = fake.write("a-name-that-goes-on-and-on-for-quite-a-while-0123456789", scene(element("a", 0, 0)))
    name = next(iter(fake.scenes))
    page.set_viewport_size({"width": width, "height": 740})
    page.goto(fake.address)
    page.get_by_role("link", name=name).wait_for()
    assert page.evaluate(OVERFLOW) == 0
    person.opens(name)
    assert page.evaluate(OVERFLOW) == 0
    digest = page.get_by_role("status", name="Save state").get_by_text(made.sha256[:12])
    box = digest.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.get_by_role("button", name="History").click()
    page.get_by_role("dialog").wait_for()
    assert page.evaluate(OVERFLOW) == 0


def test_the_theme_is_the_systems_until_chosen_and_stays_chosen(fake: FakeServer, page: Page, person: Person) -> None:
    fake.write("plan", scene(element("a", 0, 0)))
    page.emulate_media(color_scheme="dark")
    person.opens("plan")
    page.locator(".excalidraw.theme--dark").first.wait_for()
    page.get_by_label("Theme").select_option("light")
    page.locator(".excalidraw.theme--dark").first.wait_for(state="detached")
    page.reload()
    person.ready()
    assert page.locator(".excalidraw.theme--dark").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_missing_font_is_said_and_not_silent(fake: FakeServer, page: Page, person: Person, watch: Watch) -> None:
    watch.refusals = True
    fake.latin = fake.folder
    fake.write("plan", scene(element("a", 0, 0)))
    person.opens("plan")
    page.get_by_text("The drawing fonts did not load").wait_for()
