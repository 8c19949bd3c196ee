"""Help beside every page: opened by key at the page's chapter, searched, read as a page of its own; offline."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe_pages import violations
from tests.browser.shell_pages import Viewer
from webapp.base.views import views_of

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

#: Whether the top of an element is within the part of the pane that can be seen.
IN_SIGHT = """(element) => {
  const box = element.getBoundingClientRect(), room = element.closest(".help-text").getBoundingClientRect();
  return box.top >= room.top - 1 && box.bottom <= room.bottom;
}"""


def _heading(page: Page, section: str) -> None:
    """The heading of a section of the pane is in sight."""
    heading = page.locator(f'#help-pane [data-section="{section}"]')
    expect(heading).to_be_visible()
    page.wait_for_function(IN_SIGHT, arg=heading.element_handle())


@pytest.fixture
def page(viewer: Viewer) -> Page:
    page = viewer.open("tiny", "execution")
    if page.locator("#help-pane").is_visible():
        page.get_by_role("button", name="Close the help").click()
    expect(page.locator("#help-pane")).to_be_hidden()
    return page


def test_a_key_opens_the_chapter_of_the_page_and_closes_it(page: Page) -> None:
    page.keyboard.press("h")
    _heading(page, "execution-trace")
    expect(page.locator('#help-pane [data-section="execution-trace"]')).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#help-pane")).to_be_hidden()
    expect(page.locator("[data-help-place]")).to_be_focused()


@pytest.mark.parametrize("view", views_of("report"), ids=[each.id for each in views_of("report")])
def test_each_page_leads_to_its_chapter(viewer: Viewer, page: Page, view: object) -> None:
    shown = next(each for each in views_of("report") if each is view)
    viewer.open("tiny", shown.id)
    page.locator("[data-help-place]").click()
    _heading(page, shown.title.lower().replace(" ", "-"))


def test_the_pane_leaves_room_and_follows_the_pages(viewer: Viewer, page: Page) -> None:
    before = page.locator(".trace").bounding_box()
    page.keyboard.press("h")
    _heading(page, "execution-trace")
    after, pane = page.locator(".trace").bounding_box(), page.locator("#help-pane").bounding_box()
    assert before
    assert after
    assert pane
    assert after["x"] + after["width"] <= pane["x"] < before["x"] + before["width"]
    page.locator('.nav-views [data-view="memory"]').click()
    _heading(page, "memory-report")
    page.locator('#help-pane .help-links [href="/help/glossary"]').click()
    expect(page.locator("#help-pane .help-text")).to_contain_text("One processor of an IPU")
    page.locator('.nav-views [data-view="summary"]').click()
    expect(page.locator("#page .view-summary")).to_be_visible()
    expect(page.locator("#help-pane .help-text")).to_contain_text("One processor of an IPU")


@pytest.mark.parametrize("size", [(1000, 700), (700, 450)], ids=["small screen", "at 200 %"])
@pytest.mark.parametrize("address", ["", "overview", "memory", "execution"])
def test_a_narrow_window_has_the_pane_below_the_page(
    viewer: Viewer, page: Page, size: tuple[int, int], address: str
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    if address:
        viewer.open("tiny", address)
    else:
        viewer.go("/")
        expect(page.locator("a.card-name").first).to_be_visible()
    page.keyboard.press("h")
    expect(page.locator("#help-pane .help-text h3").first).to_be_visible()
    pane, frame, text = (
        page.locator(each).bounding_box() for each in ("#help-pane", ".frame", "#help-pane .help-text")
    )
    assert pane
    assert frame
    assert text
    assert frame["width"] == pane["width"] == size[0], "both have the whole width"
    assert frame["y"] + frame["height"] <= pane["y"] + 0.5, "nothing of the page lies below the help"
    assert frame["height"] >= size[1] / 2
    assert text["height"] >= 100, "lines to read"
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(page.locator("#help-pane")).to_be_hidden()


def test_escape_closes_the_help_before_it_undoes_a_selection(viewer: Viewer, page: Page) -> None:
    viewer.open("tiny", "program_tree")
    page.locator(".tree-row").first.click()
    page.wait_for_url("**program=*")
    page.keyboard.press("h")
    _heading(page, "program-tree")
    page.locator(".tree-row").first.click()
    page.keyboard.press("Escape")
    expect(page.locator("#help-pane")).to_be_hidden()
    assert "program=" in page.url
    page.locator("[role=treegrid]").press("Escape")
    page.wait_for_function("() => !window.location.search.includes('program=')")


def test_the_help_is_searched(page: Page) -> None:
    page.keyboard.press("h")
    box = page.locator("#help-pane [data-help-find]")
    box.fill("liveness index")
    expect(page.locator("#help-pane .help-found li").first).to_be_visible()
    expect(page.locator("#help-pane .help-count")).to_have_text(re.compile(r"\d+ sections"))
    box.press("Enter")
    expect(page.locator("#help-pane .help-found")).to_be_hidden()
    expect(page.locator("#help-pane .help-text")).to_contain_text("liveness index")
    box.fill("no such words anywhere")
    expect(page.locator("#help-pane .help-count")).to_have_text("No section has all these words.")
    box.fill("")
    expect(page.locator("#help-pane .help-text")).to_be_visible()


def test_the_keys_are_one_press_away(page: Page) -> None:
    page.keyboard.press("h")
    page.locator("#help-pane").get_by_role("button", name="Keys").click()
    expect(page.locator("#shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()


def test_a_document_is_a_page(viewer: Viewer, page: Page) -> None:
    page.keyboard.press("h")
    _heading(page, "execution-trace")
    page.locator("#help-pane").get_by_text("As a page").click()
    page.wait_for_url("**/help/viewer#execution-trace")
    expect(page.locator("#help-pane")).to_be_hidden()
    shown = page.locator('#page [data-section="execution-trace"]')
    expect(shown).to_be_visible()
    page.wait_for_function(IN_SIGHT, arg=shown.element_handle())
    page.locator("#page .help-text").get_by_role("link", name="execution-trace.md").click()
    page.wait_for_url("**/help/execution-trace")
    expect(page.locator("#page .help-text h2")).to_have_text("The execution trace")
    expect(page.locator("#page .help-contents [aria-current]")).to_have_text("The execution trace")
    page.go_back()
    expect(page.locator("#page .help-text h2")).to_have_text("The viewer, page by page")
    page.keyboard.press("h")
    expect(page.locator("#page [data-help-find]")).to_be_focused()


@pytest.mark.parametrize(("name", "title"), [("Glossary", "Glossary"), ("How do I …?", "How do I ...?")])
def test_the_first_page_leads_to_words_and_questions(viewer: Viewer, name: str, title: str) -> None:
    page = viewer.go("/")
    tour = page.locator("[data-tour]")
    if tour.get_attribute("open") is None:
        tour.locator("summary").click()
    tour.get_by_role("link", name=name, exact=True).click()
    expect(page.locator("#help-pane .help-text h2")).to_have_text(title)
    page.keyboard.press("Escape")
    expect(page.locator("#help-pane")).to_be_hidden()


def test_an_unknown_document_is_said_to_be_unknown(viewer: Viewer) -> None:
    page = viewer.go("/help/absent")
    expect(page.locator("#page")).to_contain_text("The help has no such document.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(viewer: Viewer, page: Page, theme: str) -> None:
    page.evaluate(f"popvision.setTheme('{theme}')")
    page.keyboard.press("h")
    _heading(page, "execution-trace")
    assert violations(page) == []
    viewer.go("/help/memory")
    expect(page.locator("#page .help-text h2")).to_be_visible()
    assert violations(page) == []
    page.evaluate("popvision.setTheme('light')")
