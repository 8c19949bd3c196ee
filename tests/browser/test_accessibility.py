"""axe-core on every page, with menus, popovers, tabs and dialogs open, in both themes; keyboard and landmarks.

A dark page differs from a light one in its colours alone, so it is tried with the rule of contrast alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe_pages import violations
from tests.browser.frame import PATIENCE, until_quiet
from tests.browser.shared_viewer import SharedViewer
from tests.browser.shell_pages import Viewer
from tests.pvti import traced
from webapp.base.views import views_of

pytestmark = pytest.mark.browser

VIEWS = [view.id for view in views_of("report")]
SELECTED = "tiles=0,1&program=1&liveness=1&step=0&variable=0"


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, folder: Path) -> Viewer:
    traced.run(traced.TWELVE_STEPS, folder / "trace")
    opened = Viewer(shared, folder)
    # Half-way through a transition colours are of neither end.
    opened.page.emulate_media(reduced_motion="reduce")
    return opened


def in_theme(page: Page, theme: str) -> None:
    page.evaluate("(theme) => popvision.setTheme(theme)", theme)


def settle(page: Page) -> None:
    """Until nothing is awaited and nothing has been drawn for ten frames. Raises Error after `PATIENCE`."""
    until_quiet(page)
    page.evaluate(SETTLED, PATIENCE)


#: Grids draw their rows and headers in several steps.
SETTLED = """(patience) => new Promise((resolve, reject) => {
  const end = performance.now() + patience;
  let still = 0;
  const watch = new MutationObserver(() => { still = 0; });
  watch.observe(document.body, { childList: true, subtree: true });
  const isEmpty = (row) => row.offsetParent !== null && !row.children.length;
  const isDrawn = () => !Array.from(document.querySelectorAll(".ag-header-row")).some(isEmpty);
  const look = () => {
    still = popvision.waiting() || !isDrawn() ? 0 : still + 1;
    if (still <= 10 && (still || performance.now() < end)) { requestAnimationFrame(look); return; }
    watch.disconnect();
    if (still > 10) resolve();
    else reject(new Error("the page is still drawn"));
  };
  look();
})"""


def in_both_themes(page: Page, within: str = "html") -> list[str]:
    """All rules in the light page; that of contrast in the dark one, which differs in colours alone."""
    settle(page)
    found = violations(page, within=within)
    in_theme(page, "dark")
    settle(page)
    found += [f"dark: {line}" for line in violations(page, within=within, rules=["color-contrast"])]
    in_theme(page, "light")
    return found


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_and_its_menus(viewer: Viewer, view: str) -> None:
    page = viewer.open("tiny", view, SELECTED)
    settle(page)
    has_landmarks(page)
    has_named_plots_with_tables(page)
    page.evaluate("document.querySelectorAll('#page details').forEach((each) => { each.open = true; })")
    assert sorted(set(in_both_themes(page))) == []


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_all_tabs_of_a_view_and_its_comparison(viewer: Viewer, view: str) -> None:
    page = viewer.open("tiny", view, SELECTED)
    settle(page)
    found: list[str] = []
    for index in range(1, page.locator("#page [role=tab]").count()):
        page.evaluate("(index) => document.querySelectorAll('#page [role=tab]')[index].click()", index)
        settle(page)
        found += violations(page, within="#page [role=tabpanel]:not([hidden])")
    page.evaluate("(key) => { popvision.select({vs: key}); popvision.redraw(); }", viewer.keys["hostile"])
    settle(page)
    found += violations(page)
    assert sorted(set(found)) == []


def has_landmarks(page: Page) -> None:
    assert page.locator("html").get_attribute("lang") == "en"
    for landmark in ("main", "header", "nav.nav-views[aria-label]", "h1"):
        expect(page.locator(landmark).locator("visible=true")).to_have_count(1)


def has_named_plots_with_tables(page: Page) -> None:
    """Whatever draws, Plotly or a canvas, has a name or is named by what holds it; the page lists the values too."""
    plots = page.locator("#page .js-plotly-plot, #page canvas")
    for plot in plots.all():
        named = plot.locator("xpath=ancestor-or-self::*[@aria-label or @aria-labelledby or @aria-hidden='true']")
        assert named.count() > 0, plot.evaluate("each => each.outerHTML.slice(0, 200)")
    assert not plots.count() or lists_values(page)


def lists_values(page: Page) -> bool:
    """Whether one of the tabs, which are filled as they are opened, holds a table; the first is open afterwards."""
    tables = page.locator("#page table, #page .table, #page [role=table], #page [role=tree], #page [role=treegrid]")
    tabs = page.locator("#page [role=tab]").all()
    found = tables.count() > 0
    for tab in [] if found else tabs[1:]:
        tab.click()
        settle(page)
        found = tables.count() > 0
        if found:
            break
    if tabs and tabs[0].get_attribute("aria-selected") != "true":
        tabs[0].click()
        settle(page)
    return found


def test_pages_beside_reports(viewer: Viewer) -> None:
    trace = next(entry.key for entry in viewer.library.entries() if entry.kind == "trace" and not entry.is_sample)
    for path in ("/", f"/t/{trace}/timeline", f"/r/{viewer.keys['broken']}/summary", "/r/nothing/summary"):
        assert in_both_themes(viewer.go(path)) == [], path


def test_two_traces_in_one_timeline_and_compared(viewer: Viewer) -> None:
    one, other = sorted(
        (entry for entry in viewer.library.entries() if entry.kind == "trace"), key=lambda each: each.is_sample
    )[:2]
    page = viewer.go(f"/t/{one.key}+{other.key}@first/timeline")
    page.evaluate("document.querySelectorAll('#page details').forEach((each) => { each.open = true; })")
    assert in_both_themes(page) == []
    page = viewer.go(f"/t/{one.key}/timeline?tl_tab=flame&tl_marks=1000,2000")
    expect(page.locator(".tl-flame > div").first).to_be_visible()
    assert in_both_themes(page, "#page") == []
    page = viewer.go(f"/t/{one.key}/timeline?vs={other.key}&tl_tab=difference")
    expect(page.locator("#tl_tab-panel-difference .ag-row").first).to_be_visible()
    assert in_both_themes(page, "#page") == []


def test_dialogs_and_notices(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree")  # its own keys in the sheet, no plot to draw anew in each theme
    for dialog in ("preferences", "palette", "shortcuts"):
        page.evaluate(f"popvision.run('nav-{dialog}')")
        expect(page.locator(f"#{dialog}")).to_be_visible()
        assert in_both_themes(page, f"#{dialog}") == [], dialog
    page.keyboard.press("Escape")
    page.evaluate("popvision.notice('Something is wrong with it.')")
    assert in_both_themes(page, "#notice") == []


@pytest.mark.parametrize("view", VIEWS)
def test_the_keyboard_enters_and_its_place_is_seen(viewer: Viewer, view: str) -> None:
    viewer.page.goto("about:blank")  # the keyboard begins at the top of a page that is loaded
    page = viewer.open("tiny", view)
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#page")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(SEES_FOCUS), page.evaluate("document.activeElement.outerHTML.slice(0, 200)")


#: Whether the focused element, or what stands for it, is outlined or ringed.
SEES_FOCUS = """() => {
  const element = document.activeElement;
  const isOutlined = (style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const isFramed = (style) => style.content !== "none" && style.borderTopStyle !== "none";
  const isRinged = (style) => isOutlined(style) || style.boxShadow !== "none";
  const around = [element, element.parentElement].some((each) => isRinged(getComputedStyle(each)));
  return element === document.body || around || isFramed(getComputedStyle(element, "::after"));
}"""
