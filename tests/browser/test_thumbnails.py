"""Pictures of the first page: drawn from the samples, each opens its view with something selected."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from popvision.analysis.summary.headline import headline
from popvision.analysis.summary.report_list import open_report
from tests.browser.axe_pages import violations
from tests.browser.frame import until_quiet
from tests.browser.shell_pages import Viewer
from tests.samples import SAMPLES
from webapp.picker.thumbnails import THUMBNAILS

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


#: Width and height of the picture behind an element.
DECODED = """async (element) => {
  const picture = new Image();
  picture.src = getComputedStyle(element).backgroundImage.slice(5, -2);
  await picture.decode();
  return [picture.naturalWidth, picture.naturalHeight];
}"""


def _tour(viewer: Viewer) -> Page:
    """The first page with its tour, which folds once a report was opened."""
    page = viewer.go("/")
    page.evaluate("localStorage.clear()")
    page.locator("[data-tour]").evaluate("(tour) => { tour.open = true; }")
    return page


@pytest.mark.parametrize("shown", THUMBNAILS, ids=[each.name for each in THUMBNAILS])
def test_a_picture_opens_its_view(viewer: Viewer, shown: object) -> None:
    at = THUMBNAILS.index(shown)  # type: ignore[arg-type]
    page = _tour(viewer)
    link = page.locator(".thumbnail").nth(at)
    expect(link).to_contain_text(THUMBNAILS[at].title)
    expect(link.locator(".badge")).to_have_text("sample")
    for theme in ("dark", "light"):
        page.evaluate(f"popvision.setTheme('{theme}')")
        expect(link.locator(f".only-{theme}")).to_be_visible()
        expect(link.locator(".thumbnail-picture:visible")).to_have_count(1)
        size = page.evaluate(DECODED, link.locator(f".only-{theme}").element_handle())
        assert size[0] > 100
        assert size[1] > 100
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{THUMBNAILS[at].view}?{THUMBNAILS[at].state}*")
    expect(page.locator("#page .view")).to_be_visible()
    expect(page.locator("#masthead .badge", has_text="sample")).to_be_visible()
    until_quiet(page)
    page.goto(viewer.base + "/")


def test_the_list_comes_first_and_the_tour_folds_after_a_report(viewer: Viewer) -> None:
    page = viewer.go("/")
    page.evaluate("localStorage.clear()")
    page.reload()
    tour = page.locator("[data-tour]")
    expect(tour).to_have_attribute("open", "")
    first, last = (page.locator(css).first.bounding_box() for css in ("[data-list]", "[data-tour]"))
    assert first is not None
    assert last is not None
    assert first["y"] < last["y"]
    page.locator("a.card-name").first.click()
    page.wait_for_url("**/r/**")
    until_quiet(page)
    page.go_back()
    expect(tour).not_to_have_attribute("open", "")
    tour.locator("summary").click()
    expect(page.locator(".thumbnail").first).to_be_visible()
    page.reload()
    expect(tour).to_have_attribute("open", "")
    page.evaluate("localStorage.clear()")


def test_what_is_selected_is_what_is_said() -> None:
    report = open_report(SAMPLES / "matmul_chain")
    longest = int(np.argmax(report.reader.steps_on_ipu(0).cycles))
    facts = headline(report)
    assert facts.fullest is not None
    assert [each.state.split("&")[0] for each in THUMBNAILS] == [f"step={longest}", *2 * [f"tiles={facts.fullest[0]}"]]


def test_the_picture_of_memory_has_every_category(viewer: Viewer) -> None:
    page = _tour(viewer)
    style = page.locator(".thumbnail .only-light").nth(1).get_attribute("style") or ""
    address = style.split("url(")[1].split(")")[0].strip("\"'")
    answer = page.request.get(viewer.base + address)
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.text().count("<path") == 10
    assert page.request.get(viewer.base + address.replace("/memory", "/nothing")).status == 404
    assert page.request.get(viewer.base + address.replace("theme=light", "theme=odd")).status == 404


def test_the_lines_that_profile_a_program_are_copied(viewer: Viewer) -> None:
    page = _tour(viewer)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "popvision run -d report your_program.py\npopvision view report"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(viewer: Viewer, theme: str) -> None:
    page = _tour(viewer)
    page.evaluate(f"popvision.setTheme('{theme}')")
    assert violations(page) == []
    page.evaluate("popvision.setTheme('light')")
