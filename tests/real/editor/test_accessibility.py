"""What a reader of screens meets: axe-core finds nothing serious on our own pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT
from tests.real.editor.conftest import Person, element, scene
from tests.real.editor.fake_server import FakeServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = ROOT / "editor" / "node_modules" / "axe-core" / "axe.min.js"
# The editor's own toolbar is the npm package's; everything around it is ours.
LOOK = """async () => (await axe.run({exclude: ['.excalidraw']}, {resultTypes: ['violations']})).violations
    .filter((found) => ['serious', 'critical'].includes(found.impact))
    .map((found) => found.id + ': ' + found.nodes[0].html)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_on_list_dialogs_history_and_notices(
    fake: FakeServer, page: Page, person: Person, scheme: Any
) -> None:
    words = element("t", 0, 320, type="text", text="Stock", originalText="Stock", fontSize=20, fontFamily=5)
    words.update(textAlign="left", verticalAlign="top", containerId=None, lineHeight=1.25, autoResize=True)
    drawing = scene(element("a", 0, 0), element("b", 0, 200), element("c", 300, 200), words)
    fake.write("plan", drawing)
    fake.write("plan", drawing)
    fake.write("other", scene())
    page.emulate_media(color_scheme=scheme)

    def looks() -> list[str]:
        page.evaluate(AXE.read_text("utf-8") + ";0")
        found: list[str] = page.evaluate(LOOK)
        return found

    page.goto(fake.address)
    page.get_by_role("link", name="plan").wait_for()
    assert looks() == []
    page.get_by_role("button", name="Rename plan").click()
    assert looks() == []
    person.presses("Escape")
    page.get_by_role("button", name="Move plan to the trash").click()
    assert looks() == []
    person.presses("Escape")
    page.get_by_role("button", name="Move other to the trash").click()
    page.get_by_role("button", name="Move to trash", exact=True).click()
    page.get_by_role("button", name="Trash · 1").click()
    assert looks() == []
    person.presses("Escape")
    page.get_by_label("Search").fill("st")
    page.get_by_text("1 scene found").wait_for()
    page.locator(".small[data-drawn]").wait_for()
    assert looks() == []
    person.opens("plan")
    assert looks() == []
    page.get_by_role("button", name="History").click()
    page.get_by_role("button", name="See revision 1").click()
    page.get_by_role("img", name="Revision 1").wait_for()
    assert looks() == []
    person.presses("Escape")
    person.at_canvas()
    person.presses("Control+a")
    person.presses("Delete")
    page.get_by_role("alertdialog").wait_for()
    assert looks() == []
    person.presses("Escape")
    fake.write("plan", scene(element("a", 5, 0), element("b", 0, 200), element("c", 300, 200)))
    person.state("conflict")
    assert looks() == []
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("img", name="Your version").wait_for()
    assert looks() == []
