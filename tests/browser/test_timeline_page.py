"""The host timeline in a browser: figures against plain SQL over the .pvti, keys, search, ticks, and the URL."""

from __future__ import annotations

import csv
import re
import sqlite3
import struct
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from popvision.formats.pvti.generate import generate_trace
from tests.browser.frame import open_page
from tests.browser.shared_viewer import SharedViewer

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("no_problem")]

EVENTS = 6000

#: Until the page has written a window that moved into its address, 250 ms later by its own clock, and begun to draw it.
_AT_REST = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => done()), 350))"


class Viewer:
    """The shared viewer on the folder of one trace; `problems` fills, see `noted_problems`."""

    def __init__(self, shared: SharedViewer, path: Path) -> None:
        self.base, self.key, self.path = shared.base, shared.show(path.parent)[path.name], path
        self.page: Page = shared.visit(1280, 800)
        self.problems = shared.problems

    def go(self, query: str = "") -> None:
        open_page(self.page, self.base, f"/t/{self.key}/timeline{'?' + query if query else ''}")
        self.complete()

    def complete(self) -> None:
        self.page.wait_for_selector('[data-timeline][data-state="complete"]')
        self.page.evaluate(_AT_REST)
        self.page.wait_for_selector('[data-timeline][data-state="complete"]')

    def url(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlparse(self.page.url).query).items()}

    def sql(self, query: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(self.path) as db:
            return db.execute(query).fetchall()

    def corner(self) -> str:
        return self.page.inner_text(".tl-corner")


@pytest.fixture(scope="module")
def viewer(shared: SharedViewer, tmp_path_factory: pytest.TempPathFactory) -> Viewer:
    folder = tmp_path_factory.mktemp("timeline")
    generate_trace(folder / "run.pvti", EVENTS, threads=3, labels=24, seed=8)
    return Viewer(shared, folder / "run.pvti")


def starts(viewer: Viewer, thread: int, depth: int) -> list[int]:
    """Begins of a lane in ns after the first event, decoded from the blobs without our reader."""
    (begin,) = viewer.sql("SELECT min(t_min) FROM (SELECT t_min FROM slices UNION ALL SELECT t_min FROM instants)")[0]
    (samples,) = viewer.sql("SELECT time_ns FROM samples LIMIT 1")[0]
    assert isinstance(samples, bytes)
    assert isinstance(begin, int)
    begin = min(begin, struct.unpack_from("<q", samples)[0])
    rows = viewer.sql(f"SELECT n, start_ns FROM slices WHERE thread = {thread} AND depth = {depth} ORDER BY id")
    return [time - begin for n, blob in rows for time in struct.unpack(f"<{n}q", blob)]  # type: ignore[arg-type]


def test_the_number_of_events_is_that_of_the_database(viewer: Viewer) -> None:
    viewer.go()
    (total,) = viewer.sql("SELECT sum(n) FROM slices")[0]
    assert total == EVENTS
    assert f"Events {total:,}" in viewer.corner()
    viewer.page.wait_for_selector(f".tl-facts >> text=/^{total:,}$/")
    assert viewer.page.locator(".tl-row-thread").count() == viewer.sql("SELECT count(*) FROM threads")[0][0]


def test_moving_writes_the_window_into_the_url_and_counts_what_is_visible(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0")
    viewer.page.focus(".tl")
    for key in ("+", "+", "+", "+", "ArrowRight"):
        viewer.page.keyboard.press(key)
    viewer.complete()
    begin, end = int(viewer.url()["tl_from"]), int(viewer.url()["tl_to"])
    assert 0 < begin < end
    viewer.go(f"tl_fold=h0&tl_from={begin}&tl_to={end}")
    assert abs(int(viewer.url()["tl_from"]) - begin) <= (end - begin) // 500 + 1
    counted = int(viewer.corner().split()[1].replace(",", ""))
    assert 0 < counted < EVENTS
    viewer.page.focus(".tl")
    viewer.page.keyboard.press("f")
    viewer.complete()
    assert "tl_from" not in viewer.url()
    assert f"Events {EVENTS:,}" in viewer.corner()


def test_w_and_s_zoom_and_a_and_d_move(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0")
    viewer.page.focus(".tl")

    def window_after(keys: str) -> tuple[int, int]:
        for key in keys:
            viewer.page.keyboard.press(key)
        viewer.complete()
        return int(viewer.url()["tl_from"]), int(viewer.url()["tl_to"])

    begin, end = window_after("wwww")
    right = window_after("d")
    assert right[0] > begin
    assert abs((right[1] - right[0]) - (end - begin)) <= 2
    assert window_after("a")[0] < right[0]
    narrow = window_after("w")
    wide = window_after("s")
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_search_selects_matches_one_after_another(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0")
    (text,) = viewer.sql("SELECT text FROM strings WHERE id = 2")[0]
    viewer.page.fill(".search input", str(text).split("::")[1])
    viewer.page.wait_for_selector(".tl-matches >> text=/^1 of /")
    viewer.complete()
    first = viewer.url()["tl_event"]
    viewer.page.focus(".tl")
    viewer.page.keyboard.press("g")
    viewer.page.wait_for_selector(".tl-matches >> text=/^2 of /")
    viewer.complete()
    assert viewer.url()["tl_event"] != first
    viewer.page.keyboard.press("Shift+G")
    viewer.page.wait_for_selector(".tl-matches >> text=/^1 of /")
    viewer.complete()
    assert viewer.url()["tl_event"] == first
    viewer.page.wait_for_selector(f".tl-facts >> text={str(text).split('::')[1]}")


def test_the_search_tab_lists_the_matches_and_a_row_zooms_to_its_event(viewer: Viewer) -> None:
    ((label,),) = viewer.sql("SELECT text FROM strings WHERE id = 2")
    word = str(label).split("::")[1]
    viewer.go(f"tl_fold=h0&tl_find={word}&tl_tab=matches")
    viewer.page.wait_for_selector(".tl-scope >> text=events in the")
    said = viewer.page.inner_text(".tl-scope")
    count = int(said.split(" ")[0].replace(",", ""))
    viewer.page.wait_for_selector(f".tl-matches >> text=/ of {count:,}$/")
    viewer.complete()
    first = viewer.url()["tl_event"]
    rows = viewer.page.locator(".tl-table .ag-center-cols-container .ag-row")
    expect(rows.nth(1).locator("[col-id=duration_us]")).to_have_text(re.compile(r"\d"))
    second = rows.nth(1).inner_text().split("\n")
    rows.nth(1).click()
    viewer.page.wait_for_url(lambda url: parse_qs(urlparse(url).query)["tl_event"] != [first])
    viewer.complete()
    state = viewer.url()
    thread, depth, position = state["tl_event"].split(".")
    assert int(state["tl_from"]) / 1e3 <= float(second[0].replace(",", "")) <= int(state["tl_to"]) / 1e3
    assert (int(state["tl_to"]) - int(state["tl_from"])) / 1e3 < 20 * max(1.0, float(second[-1].replace(",", "")))
    assert int(thread) >= 0
    assert depth == "i" or int(depth) >= 0
    assert int(position) >= 0
    assert viewer.page.inner_text(".tl-scope") == said  # the list stays


def test_clicking_an_event_shows_its_facts_and_n_goes_on(viewer: Viewer) -> None:
    times = starts(viewer, 1, 0)
    viewer.go(f"tl_fold=h0&tl_event=0.0.3&tl_from={times[3]}&tl_to={times[5]}")
    viewer.page.wait_for_selector(".tl-facts >> text=Self time")
    stamp = f"{times[3] // 1000 % 10**6:06}"
    assert f".{stamp[:3]} {stamp[3:]}" in viewer.page.inner_text(".tl-facts")
    viewer.page.wait_for_function("() => popvision.timeline.current.chosen")
    viewer.page.focus(".tl")
    viewer.page.keyboard.press("n")
    expect(viewer.page).to_have_url(re.compile(r"tl_event=0\.0\.4"))
    viewer.complete()
    viewer.page.keyboard.press("Escape")
    viewer.page.wait_for_selector(".tl-facts >> text=All events")
    assert "tl_event" not in viewer.url()
    box = viewer.page.locator('.tl-row[data-row="t0"]').bounding_box()
    assert box is not None
    viewer.page.mouse.click(box["x"] + 250 + 400, box["y"] + 3 + 16 + 9)
    viewer.page.wait_for_selector(".tl-facts >> text=Self time")
    assert viewer.url()["tl_event"].startswith("0.0.")


def test_hiding_a_channel_says_so_and_leaves_the_statistics_alone(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0&tl_tab=statistics")
    viewer.page.wait_for_selector("#tl-tab-statistics .ag-row")
    before = statistics(viewer)
    viewer.page.click(".tl-key > summary")
    viewer.page.locator(".tl-key-row input").first.uncheck()
    viewer.complete()
    assert viewer.url()["tl_hide"] == "0"
    assert "not drawn, but counted" in viewer.corner()
    assert f"Events {EVENTS:,}" in viewer.corner()
    viewer.page.wait_for_selector("#tl-tab-statistics >> text=hidden in the drawing")
    assert statistics(viewer) == before
    assert sum(count for count, _ in before.values()) == EVENTS


def statistics(viewer: Viewer) -> dict[str, tuple[int, float]]:
    """(count, total µs) per label, from the exported CSV."""
    viewer.page.wait_for_selector("#tl-tab-statistics .ag-row")
    with viewer.page.expect_download() as download:
        viewer.page.click('#tl-tab-statistics [data-export="csv"]')
    with Path(download.value.path()).open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    return {row["label"]: (int(row["count"]), float(row["total_us"])) for row in rows}


def test_statistics_equal_sums_over_the_blobs(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0&tl_tab=statistics")
    sums: dict[int, list[int]] = {}
    for n, duration, site in viewer.sql("SELECT n, duration_ns, site FROM slices"):
        widths = {1: "B", 2: "H", 4: "I", 8: "Q"}
        durations = struct.unpack(f"<{n}{widths[len(duration) // n]}", duration)  # type: ignore[arg-type, operator]
        sites = struct.unpack(f"<{n}{widths[len(site) // n]}", site)  # type: ignore[arg-type, operator]
        for each, ns in zip(sites, durations, strict=True):
            row = sums.setdefault(each, [0, 0])
            row[0] += 1
            row[1] += ns
    names = dict(viewer.sql("SELECT sites.id, text FROM sites JOIN strings ON strings.id = label"))
    shown = statistics(viewer)
    assert {names[site]: count for site, (count, _) in sums.items()} == {
        name: count for name, (count, _) in shown.items()
    }
    for site, (_, ns) in sums.items():
        assert shown[str(names[site])][1] == pytest.approx(ns / 1e3, rel=1e-9)


def test_call_tree_of_a_selected_event(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0&tl_tab=calls&tl_event=0.0.0")
    viewer.page.wait_for_selector("#tl-tab-calls .ag-row")
    rows = viewer.page.locator("#tl-tab-calls .ag-row")
    expect(rows.nth(3)).to_be_attached()
    expect(rows.first).to_contain_text("100.00 %")
    viewer.page.wait_for_selector("#tl-tab-calls >> text=/^Inside /")


def test_pins_folds_merging_areas_and_absolute_time(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0")
    viewer.page.click('.tl-row[data-row="g0"] .tl-pin')
    viewer.complete()
    assert viewer.url()["tl_pin"] == "g0"
    assert viewer.page.locator('.tl-names-pinned .tl-row[data-row="g0"]').count() == 1
    viewer.page.click('.tl-row[data-row="t1"] .tl-fold')
    viewer.complete()
    assert set(viewer.url()["tl_fold"].split(",")) == {"h0", "t1"}
    viewer.page.click('[data-param="tl_clock"][data-value="absolute"]')
    viewer.page.click('.options > summary[aria-label="Options"]')
    viewer.page.select_option('select[data-param="tl_line"]', "area")
    viewer.page.click('[data-param="tl_merge"]')
    viewer.page.keyboard.press("Escape")
    viewer.complete()
    assert viewer.page.locator(".tl-row-thread").count() == 1
    assert viewer.page.locator(".tl-overlap").count() == 1
    url = viewer.url()
    assert (url["tl_line"], url["tl_clock"], url["tl_merge"]) == ("area", "absolute", "1")


def test_shift_dragging_measures_and_typed_zoom_zooms(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0")
    box = viewer.page.locator(".tl canvas").first.bounding_box()
    assert box is not None
    viewer.page.keyboard.down("Shift")
    viewer.page.mouse.move(box["x"] + 400, box["y"] + 250)
    viewer.page.mouse.down()
    viewer.page.mouse.move(box["x"] + 600, box["y"] + 255, steps=4)
    viewer.page.mouse.up()
    viewer.page.keyboard.up("Shift")
    viewer.complete()
    begin, end = map(int, viewer.url()["tl_sel"].split("-"))
    viewer.page.wait_for_selector(".tl-facts >> text=selected window")
    (span,) = viewer.sql("SELECT max(t_max) - min(t_min) FROM slices")[0]
    assert isinstance(span, int)
    drawn = box["width"] - 250 - 8
    assert (end - begin) / span == pytest.approx(200 / drawn, rel=0.02)
    viewer.page.fill(".tl-zoom input", "400")
    viewer.page.keyboard.press("Enter")
    viewer.complete()
    url = viewer.url()
    assert span / (int(url["tl_to"]) - int(url["tl_from"])) == pytest.approx(4, rel=0.02)


def test_heat_map_cells_are_those_of_the_database(viewer: Viewer) -> None:
    viewer.go()
    box = viewer.page.locator('.tl-row[data-row="h0"]').bounding_box()
    assert box is not None
    viewer.page.mouse.move(box["x"] + 250 + 500, box["y"] + box["height"] / 2)
    viewer.page.wait_for_selector(".tl-tip >> text=/ of 500$/")


def test_dark_theme_draws_the_same_page(viewer: Viewer) -> None:
    viewer.go("tl_fold=h0")
    viewer.page.focus(".tl")
    viewer.page.keyboard.press("t")
    viewer.complete()
    assert viewer.page.get_attribute("html", "data-theme") == "dark"
    viewer.page.keyboard.press("t")


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("blocks?from=5&to=5&width=10", 400, "must be greater"),
        ("blocks?from=0&to=5&width=99999999", 400, "width="),
        ("blocks?from=0&to=5&width=10&threads=7", 400, "threads="),
        ("blocks?from=0&to=5&width=10&threads=0&hide=x", 400, "hide="),
        ("event?at=0.0.99999999", 404, "no such event"),
        ("event?at=zero", 400, "names no event"),
        ("heatmap?id=3&from=0&to=5&width=10", 400, "id="),
    ],
)
def test_queries_that_cannot_be_answered(viewer: Viewer, query: str, status: int, said: str) -> None:
    answer = viewer.page.request.get(f"{viewer.base}/data/{viewer.key}/timeline/{query}")
    assert (answer.status, said in answer.text()) == (status, True)
    viewer.problems.clear()


def test_a_damaged_trace_says_what_is_left_out(shared: SharedViewer, tmp_path: Path) -> None:
    path = tmp_path / "damaged.pvti"
    generate_trace(path, 600, threads=3, labels=24, seed=8)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE slices SET site = zeroblob(length(site)) WHERE thread = 2 AND depth = 0")
        (left,) = db.execute("SELECT sum(n) FROM slices WHERE thread != 2").fetchone()
    damaged = Viewer(shared, path)
    damaged.go()
    banner = damaged.page.inner_text(".damage")
    assert banner.startswith("This trace is damaged.")
    assert "Thread 2 is left out from the first damage on" in banner
    assert f"{left:,}" in damaged.corner()
    assert damaged.problems == []
