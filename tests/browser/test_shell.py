"""The frame in a browser: list of reports, menu, keys, theme, selection in the URL, names full of HTML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.shell_pages import HOSTILE, Viewer, sql

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]


@pytest.mark.parametrize(
    "view",
    ["overview", "summary", "memory", "liveness", "program_tree", "source", "operations", "execution", "exchange"],
)
def test_a_key_has_one_meaning_in_the_list_of_shortcuts(viewer: Viewer, view: str) -> None:
    page = viewer.open("tiny", view)
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    listed = [text for text in page.locator("#shortcuts kbd:visible").all_inner_texts() if text]
    keys: list[str] = []
    for text in listed:
        modifier = re.match(r"(Shift|Ctrl) (\+ )?", text)
        rest = text[modifier.end() :] if modifier else text
        names = re.sub(r"Page Up / Down|Home / End", lambda found: found[0].replace(" ", ""), rest).split()
        keys += [f"{modifier[1]} {name}" if modifier else name for name in names if name != "/" or len(names) == 1]
    assert len(keys) > 8
    assert sorted(keys) == sorted(set(keys))
    page.keyboard.press("Escape")


def test_the_list_shows_cycles_memory_and_damage(viewer: Viewer, folder: Path) -> None:
    page = viewer.go("/")
    row = page.locator("tr", has=page.locator("a.card-name", has_text="tiny"))
    expect(row).to_contain_text(f"{sql(folder / 'tiny', 'select sum(cycles) from runs')[0]:,}")
    expect(row).to_contain_text(f"{sql(folder / 'tiny', 'select max(excluding_gaps) from memory_by_tile')[0]:,} B")
    expect(row).to_contain_text("simulated")
    broken = page.locator("tr.damaged", has_text="broken")
    expect(broken).to_contain_text("broken/profile.pop cannot be read")
    assert broken.get_by_role("link").count() == 0


def test_nothing_scrolls_but_the_page(viewer: Viewer) -> None:
    page = viewer.go("/")
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.evaluate("document.getElementById('page').scrollTop = 200")
    page.locator(".card-name", has_text="tiny").click()
    page.locator("#page > .view[data-report]").wait_for()
    assert page.evaluate("document.getElementById('page').scrollTop") == 0


def test_recent_reports_of_one_name_say_their_folder(viewer: Viewer) -> None:
    page = viewer.go("/")
    keys = [viewer.keys["tiny"], viewer.keys["hostile"]]
    page.evaluate(
        "keys => localStorage.setItem('popvision.recent.reports',"
        " JSON.stringify(keys.map(key => ({ keys: [key], labels: ['run'] }))))",
        keys,
    )
    page.reload()
    links = page.locator("[data-recent=reports] a")
    folder = next(entry.path.parent.name for entry in viewer.library.entries() if entry.key == keys[0])
    expect(links).to_have_text([f"run in {folder}"] * 2)
    page.evaluate("localStorage.removeItem('popvision.recent.reports')")


def test_the_list_is_used_by_keyboard(viewer: Viewer) -> None:
    page = viewer.go("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    page.locator("a.card-name", has_text="tiny").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".view-title")).to_contain_text("Overview")
    assert page.url == f"{viewer.base}/r/{viewer.keys['tiny']}/overview"


def test_number_keys_switch_views_and_carry_the_selection(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary", "tiles=0-2&program=1")
    page.keyboard.press("5")
    expect(page.locator(".view-title")).to_contain_text("Program Tree")
    assert page.url.endswith("/program_tree?tiles=0-2&program=1")
    expect(page.locator(".panel-title")).to_contain_text("OnTileExecute")
    page.go_back()
    expect(page.locator(".view-title")).to_contain_text("Summary")


def test_the_link_that_was_followed_keeps_the_focus(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary")
    page.focus('.nav-views [data-view="memory"]')
    page.keyboard.press("Enter")
    page.wait_for_selector('.nav-views [data-view="memory"][aria-current="page"]')
    page.wait_for_function("() => document.activeElement.dataset.view === 'memory'")


def test_extras_of_a_view_stay_with_it(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree", "program=1&pt_tab=vertices&pt_search=matmul")
    page.keyboard.press("2")
    expect(page.locator(".view-title")).to_contain_text("Summary")
    assert page.url.endswith("/summary?program=1")
    page.keyboard.press("5")
    expect(page.locator("#pt_tab-tab-vertices")).to_have_attribute("aria-selected", "true")
    assert "pt_search=matmul" in page.url


def test_theme_is_kept(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.keyboard.press("t")
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    page.wait_for_load_state("networkidle")
    expect(root).to_have_attribute("data-theme", "dark")
    page.keyboard.press("t")
    expect(root).to_have_attribute("data-theme", "light")


def test_menu_folds_and_is_remembered(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary")
    page.keyboard.press("[")
    expect(page.locator("html")).to_have_attribute("data-nav", "narrow")
    viewer.open("tiny", "program_tree")
    assert page.locator(".nav").bounding_box()["width"] < 60  # type: ignore[index]
    page.keyboard.press("[")
    expect(page.locator("html")).to_have_attribute("data-nav", "wide")


def test_question_mark_lists_the_keys_of_the_page(viewer: Viewer) -> None:
    page = viewer.open("tiny", "program_tree")
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    expect(page.locator("#shortcuts")).to_contain_text("Expand everything below")
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()


def test_memory_is_read_in_the_unit_chosen(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("hostile", "memory", "tiles=1")
    capacity = (
        4 * sql(folder / "hostile", "select json_extract(value, '$.bytes_per_tile') from meta where key='target'")[0]
    )
    expect(page.locator(".headline")).to_contain_text(f"{capacity / 1024:,.1f} KiB")
    page.get_by_role("button", name="Preferences").click()
    page.get_by_role("radio", name="SI 1.0 kB").click()
    expect(page.locator(".headline")).to_contain_text(f"{capacity / 1000:,.1f} kB")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Bytes only")).to_be_focused()
    expect(page.locator(".headline")).to_contain_text(f"{capacity:,} B")
    assert page.url.endswith("/memory?tiles=1")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator(".headline")).to_contain_text(f"{capacity:,} B")
    page.evaluate("popvision.setPreference('units', 'binary')")
    expect(page.locator(".headline")).to_contain_text("KiB")


def test_cycles_are_read_as_time(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("tiny", "summary")
    (cycles,) = sql(folder / "tiny", "select sum(cycles) from runs")
    expect(page.locator(".grid .ag-cell[col-id=cycles]").first).to_have_text(f"{cycles:,}")
    page.evaluate("popvision.setPreference('time', 'time')")
    expect(page.locator(".grid .ag-cell[col-id=cycles]").first).to_have_text(f"{cycles} µs")  # its clock runs at 1 MHz
    page.evaluate("popvision.setPreference('time', 'cycles')")
    expect(page.locator(".grid .ag-cell[col-id=cycles]").first).to_have_text(f"{cycles:,}")


def test_the_palette_goes_jumps_opens_and_compares(viewer: Viewer) -> None:
    page = viewer.open("tiny", "summary")
    page.evaluate("sessionStorage.clear()")  # what other tests left open in these views
    tiny, hostile = viewer.keys["tiny"], viewer.keys["hostile"]

    def run(text: str, says: str = "") -> None:
        page.keyboard.press("Control+k")
        expect(page.locator("#palette-box")).to_be_focused()
        page.keyboard.type(text)
        expect(page.locator("#palette-list [aria-selected=true]")).to_contain_text(says)
        page.keyboard.press("Enter")
        expect(page.locator("#palette")).to_be_hidden()

    run("tile 2", "Jump to tile 2")
    page.wait_for_url(f"{viewer.base}/r/{tiny}/memory?tiles=2")
    run("#1", "Jump to program #1")
    page.wait_for_url(f"{viewer.base}/r/{tiny}/program_tree?tiles=2&program=1")
    run("liveness 1", "Jump to liveness index 1")
    page.wait_for_url(f"{viewer.base}/r/{tiny}/liveness?tiles=2&program=1&liveness=1")
    run("light dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("t")
    page.keyboard.press("Control+k")
    page.wait_for_function("() => document.querySelector('#palette-list').textContent.includes('Open ')")
    page.keyboard.type("compare script")
    expect(page.locator("#palette-list")).to_contain_text(f"Compare with {HOSTILE}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{viewer.base}/r/{tiny}/liveness?tiles=2&program=1&liveness=1&vs={hostile}")
    run("stop comparing")
    page.wait_for_url(f"{viewer.base}/r/{tiny}/liveness?tiles=2&program=1&liveness=1")
    page.keyboard.press(":")
    page.keyboard.type("open </script>")
    page.wait_for_function(
        "() => document.querySelector('#palette-list [aria-selected=true]').textContent.includes('Open ')"
    )
    page.keyboard.press("Enter")
    page.wait_for_url(f"{viewer.base}/r/{hostile}/liveness*")
    assert page.evaluate("window.bad") is None


def test_the_header_compares_and_copies_the_link(viewer: Viewer) -> None:
    page = viewer.open("tiny", "memory", "tiles=2")
    header = page.locator("#masthead")
    expect(header).not_to_contain_text("Poplar API")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    header.get_by_role("button", name="Copy the address of this page").click()
    expect(page.get_by_text("The link to this page is copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    header.get_by_role("button", name="Compare with another report").click()
    expect(page.locator("#palette-box")).to_have_value("compare with ")
    page.keyboard.type("script")
    expect(page.locator("#palette-list [aria-selected=true]")).to_contain_text(f"Compare with {HOSTILE}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/r/{viewer.keys['tiny']}/memory?tiles=2&vs={viewer.keys['hostile']}")
    expect(header.get_by_role("button", name="Compare with another report")).to_have_count(0)
    page = viewer.open("tiny", "summary")
    expect(page.locator("#page")).to_contain_text("Poplar API level")


def test_the_palette_offers_the_controls_of_the_page(viewer: Viewer) -> None:
    page = viewer.open("tiny", "memory")
    page.keyboard.press("Control+k")
    page.keyboard.type("breakdown category")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory?mem_by=category")
    page.keyboard.press("Control+k")
    page.keyboard.type("no such thing at all")
    expect(page.locator("#palette-count")).to_contain_text("Nothing matches")
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()


def test_the_keys_of_the_palette_go_round_its_list(viewer: Viewer) -> None:
    page = viewer.open("tiny", "memory")
    page.keyboard.press("Control+k")
    rows = page.locator("#palette-list [role=option]")
    chosen = page.locator("#palette-list [aria-selected=true]")
    expect(rows.first).to_have_attribute("aria-selected", "true")
    expect(rows.filter(has_text="Open ")).not_to_have_count(0)  # the reports come last
    last = rows.count() - 1
    for key, at in (("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", last), ("ArrowDown", 0)):
        page.keyboard.press(key)
        expect(rows.nth(at)).to_have_attribute("aria-selected", "true")
        expect(chosen).to_have_count(1)
    page.keyboard.press("Control+k")  # the same key closes it
    expect(page.locator("#palette")).to_be_hidden()


class HeldAnswers:
    """Callbacks wait until they are released."""

    def __init__(self, page: Page) -> None:
        self.routes: list[Route] = []
        self.are_held = True
        page.route("**/_dash-update-component*", self._take)

    def _take(self, route: Route) -> None:
        if self.are_held:
            self.routes.append(route)
        else:
            route.continue_()

    def release(self) -> None:
        self.are_held = False
        for route in self.routes:
            route.continue_()


def test_what_takes_long_is_said_where_it_happens(viewer: Viewer) -> None:
    page = viewer.open("tiny", "memory")
    busy = page.locator("[aria-busy=true]")
    expect(busy).to_have_count(0)
    answers = HeldAnswers(page)
    page.evaluate("popvision.select({mem_tab: 'variables', tiles: '1'})")
    expect(busy.first).to_be_attached()
    expect(page.locator("#page [aria-busy=true]")).not_to_have_count(0)  # a part of the page, not the whole of it
    expect(page.locator("#progress-status")).to_have_text("Loading")
    expect(page.locator(".progress-text").first).to_have_text(re.compile(r"^Loading … \d+ s$"))
    answers.release()
    expect(busy).to_have_count(0)
    expect(page.locator(".progress, .progress-text")).to_have_count(0)
    expect(page.locator("#progress-status")).to_be_empty()
    page.unroute_all()


def test_opening_a_report_says_so(viewer: Viewer) -> None:
    page = viewer.go("/")
    answers = HeldAnswers(page)
    page.locator("a.card-name", has_text="tiny").click()
    expect(page.locator("#progress-status")).to_have_text("Loading")
    expect(page.locator("#page")).to_have_attribute("aria-busy", "true")
    answers.release()
    expect(page.locator(".view-title")).to_contain_text("Overview")
    expect(page.locator("#page")).not_to_have_attribute("aria-busy", "true")
    page.unroute_all()


def test_scripts_are_kept_for_the_next_visit(viewer: Viewer) -> None:
    for _ in range(2):
        viewer.page.goto(viewer.base + "/")
        viewer.page.wait_for_load_state("networkidle")
    loaded = """() => performance.getEntriesByType("resource").filter((each) => each.name.includes("/assets/joined/"))
      .map((each) => [each.initiatorType, each.transferSize])"""
    sizes = dict(viewer.page.evaluate(loaded))
    assert sizes == {"script": 0, "link": 0}


def test_header_says_simulated_and_target(viewer: Viewer) -> None:
    page = viewer.open("tiny", "memory")
    for text in ("simulated", "Mk2 IPU Model, 1 IPU x 4 tiles"):
        expect(page.locator("#masthead")).to_contain_text(text)
    expect(page.locator("#masthead")).not_to_contain_text("model popvision 0.1.0")


def test_unknown_addresses_say_so(viewer: Viewer) -> None:
    for path in ("/r/nothing/summary", "/x", "/r/" + viewer.keys["tiny"] + "/nothing", "/t/" + viewer.keys["tiny"]):
        page = viewer.go(path)
        expect(page.locator("#page h2")).to_have_text("Not found")


def test_a_damaged_report_opened_by_address_says_why(viewer: Viewer, folder: Path) -> None:
    page = viewer.open("broken", "summary")
    expect(page.locator("#page h2")).to_have_text("This file cannot be read")
    expect(page.locator("#page")).to_contain_text("broken/profile.pop cannot be read")


@pytest.mark.parametrize("view", ["summary", "memory", "liveness", "program_tree", "execution"])
def test_names_stay_text(viewer: Viewer, view: str) -> None:
    page = viewer.open("hostile", view, "program=1&tiles=0&liveness=1&step=0&ipu=0")
    assert page.evaluate("window.bad") is None
    assert page.locator("img[src=x]").count() == 0
    assert HOSTILE in page.inner_text("#masthead")


def test_names_stay_text_in_the_list_and_every_tab(viewer: Viewer) -> None:
    page = viewer.go("/")
    expect(page.get_by_role("link", name=HOSTILE).last).to_be_visible()
    for tab in ("summary", "tiles", "vertices", "debug"):
        viewer.open("hostile", "program_tree", f"program=1&pt_tab={tab}&pt_search=%3Cscript")
        expect(page.locator(f"#pt_tab-panel-{tab}")).to_be_visible()
    assert page.evaluate("window.bad") is None
