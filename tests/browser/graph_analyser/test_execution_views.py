"""The execution trace in a browser: goldens, lanes, cursor, marks, filters, workers, sums, comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import expect

from popvision.analysis.compare.matching import match_steps
from popvision.analysis.execution.step_details import step_facts
from popvision.analysis.execution.timeline import program_labels
from popvision.analysis.execution.worker_lanes import worker_lanes
from popvision.analysis.report.source import ReportSource
from tests.analysis.execution.overlap_case import write_overlap
from tests.browser.execution_pages import Opened
from tests.browser.shared_viewer import SharedViewer
from tests.browser.small_traces import Steps, drawn, picture_of, write_small
from tests.samples import SAMPLES

pytestmark = pytest.mark.browser

#: A compute set whose vertices work longer in train_mlp_wide.
WORKED = "layer1/biasGrad/Reduce/ReduceOnTile"

TWO: Steps = [("C", (2, 3)), ("S", (1, 0)), ("X", (1, 2))]
TWO_DRAWN = ["CCSX.", "CCCXX"]

EIGHT: Steps = [
    ("W", (0, 1, 1, 1, 1, 1, 1, 0)),
    ("H", (3, 0, 2, 2, 2, 2, 0, 3)),
    ("S", (0, 2, 0, 0, 0, 0, 2, 0)),
    ("X", (1, 1, 2, 2, 1, 1, 2, 2)),
    ("S", (1, 1, 0, 0, 1, 1, 0, 0)),
    ("C", (1, 2, 3, 4, 4, 3, 2, 1)),
    ("S", (3, 2, 1, 0, 0, 1, 2, 3)),
    ("G", (2, 2, 0, 0, 1, 1, 0, 2)),
]
EIGHT_DRAWN = [
    "HHHXSCSSSGG",
    "WSSXSCCSSGG",
    "WHHXXCCCS..",
    "WHHXXCCCC..",
    "WHHXSCCCCG.",
    "WHHXSCCCSG.",
    "WSSXXCCSS..",
    "HHHXXCSSSGG",
]


class Pages(Opened):
    """Several reports in one viewer: `key` is the one that `go` opens."""

    keys: dict[str, str]

    def use(self, name: str) -> Pages:
        self.key = self.keys[name]
        return self

    def tab(self, text: str, selector: str) -> str:
        """The text of a part of the lower pane once it says `text`."""
        self.page.locator(selector, has_text=text).first.wait_for()
        return str(self.page.locator(selector).first.inner_text())

    def rows(self, name: str, query: str) -> list[dict[str, Any]]:
        """The exported rows of a table."""
        text = self.page.evaluate(
            "async href => (await fetch(href)).text()", f"/data/{self.key}/table/{name}.json?{query}"
        )
        found: list[dict[str, Any]] = json.loads(text)
        return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, shared: SharedViewer) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("views")
    longer = [*TWO[:2], ("X", (2, 2))]
    for name, steps in {"two": TWO, "longer": longer, "eight": EIGHT}.items():
        write_small(folder / name, steps)
    write_small(folder / "ipulevel", EIGHT, target="Ipu", level="Ipu")
    write_overlap(folder / "overlap")
    shared.show(folder)
    library = shared.library
    keys = {re.sub(r"-[0-9a-f]{12}$", "", e.key): e.key for e in library.entries() if not e.is_sample}
    sample = next(e.key for e in library.entries() if re.fullmatch("train-mlp-[0-9a-f]{12}", e.key))
    opened = Pages(shared.base, keys["two"], Path(), shared.visit(1100, 800), shared.problems)
    wide = next(e.key for e in library.entries() if e.key.startswith("train-mlp-wide-"))
    opened.keys = keys | {"mlp": sample, "wide": wide}
    yield opened
    assert opened.problems == []


@pytest.mark.parametrize(("name", "steps", "golden"), [("two", TWO, TWO_DRAWN), ("eight", EIGHT, EIGHT_DRAWN)])
def test_small_reports_are_drawn_cycle_by_cycle(pages: Pages, name: str, steps: Steps, golden: list[str]) -> None:
    assert picture_of(steps) == golden
    pages.use(name).go()
    assert drawn(pages, len(golden[0]), len(golden)) == golden


def test_one_cycle_more_is_another_picture(pages: Pages) -> None:
    pages.use("longer").go()
    assert drawn(pages, 5, 2) == ["CCSXX", "CCCXX"] != TWO_DRAWN


def test_hidden_types_are_not_drawn_and_figures_say_so(pages: Pages) -> None:
    pages.use("two").go("hide=compute")
    assert drawn(pages, 5, 2) == ["..SX.", "...XX"]
    text = pages.tab("still count everything", "#execution-tab-summary")
    assert "compute 50.00 %" in text
    pages.page.get_by_role("switch", name="Filtered figures").click()
    text = pages.tab("every share, balance and byte count below excludes", "#execution-tab-summary")
    assert "compute" not in text.partition("Proportions")[2].replace("OnTileExecute", "")
    assert "exchange 60.00 %" in text  # 3 exchange, 1 sync, 1 tail


def test_cursor_is_read_out_as_the_table_says(pages: Pages) -> None:
    pages.use("eight").go("detail=details&step=5")
    spoken = pages.page.locator("[data-trace] [aria-live]")
    pages.page.locator("[data-trace]").focus()
    pages.page.keyboard.press("ArrowDown")
    pages.page.locator("[data-trace] [aria-live]", has_text="step 5, OnTileExecute, layer/C5").wait_for()
    for tile in range(3):
        pages.page.keyboard.press("ArrowDown")
        pages.page.locator("[data-trace] [aria-live]", has_text=f"tile {tile}: ").wait_for()
    row = pages.page.locator("#execution-tiles .ag-center-cols-container .ag-row").nth(2)
    expect(row).to_have_text(re.compile(r"^\s*2\s+5\s+3\s+8\b"), use_inner_text=True)
    assert "begins at 5, 3 cycles" in spoken.inner_text()
    pages.page.keyboard.press("Enter")
    pages.settle()
    assert pages.params()["tiles"] == "2"
    pages.page.keyboard.press("Escape")


def test_marks_are_kept_in_the_address_and_measured(pages: Pages) -> None:
    pages.use("eight").go("step=5")
    pages.page.locator("[data-trace]").focus()
    pages.page.keyboard.press("m")
    pages.settle()
    assert pages.params()["marks"] == "5"
    pages.page.keyboard.press("ArrowRight")
    pages.page.keyboard.press("ArrowRight")
    pages.page.locator("[data-trace] [aria-live]", has_text="step 6").wait_for()
    pages.page.keyboard.press("m")
    pages.page.locator("[data-trace] [aria-live]", has_text="mark 2 at cycle 9, Δ 4 cycles").wait_for()
    pages.page.keyboard.press("M")
    pages.settle()
    assert "marks" not in pages.params()


def test_overlapped_io_has_its_own_lane(pages: Pages) -> None:
    pages.use("overlap").go("mode=flat")
    lanes = pages.page.evaluate("() => popvision.execution.current.barsOf(0).data.header.lanes")
    assert lanes == [1, 2]
    bars = pages.page.evaluate(
        "() => { const a = popvision.execution.current.barsOf(0).data.arrays;"
        " return Array.from(a.level).map((l, i) => [l, a.begin[i], a.end[i]]); }"
    )
    assert [2, 20, 80] in bars
    assert [1, 0, 100] in bars


def test_level_ipu_invents_no_tiles(pages: Pages) -> None:
    pages.use("ipulevel").go()
    assert pages.view()["bands"][0]["tilesHeight"] == 0
    expect(pages.page.get_by_text("BSP unknown")).to_have_count(1)
    text = pages.tab("debug.computeInstrumentationLevel=tile", "#execution-tab-summary")
    assert "Tile balance" in text
    with pages.page.expect_console_message(lambda said: "status of 400" in said.text):
        status = pages.page.evaluate(
            "async address => (await fetch(address)).status",
            f"/data/{pages.key}/execution/bsp?ipu=0&pitch=1024&first=0&columns=4&rows=8",
        )
    assert status == 400
    pages.problems[:] = [each for each in pages.problems if "400" not in each]


def test_a_report_against_itself_shows_no_difference(pages: Pages) -> None:
    pages.use("eight").go(f"vs={pages.keys['eight']}")
    text = pages.tab("Difference", ".trace-compared")
    assert "8 matched, 0 only in the source, 0 only in the target" in text
    differences = pages.page.locator(".trace-compared .diff-more, .trace-compared .diff-less")
    expect(differences).to_have_count(2)  # those of the key
    expect(pages.page.locator("[data-trace]")).to_have_count(2)


def test_one_cycle_is_found_and_signed(pages: Pages) -> None:
    pages.use("two").go(f"vs={pages.keys['longer']}&step=2")
    text = pages.tab("Difference", ".trace-compared")
    signs = re.findall(r"[+−]\S+", text)
    assert "+1" in signs
    rows = pages.rows("steps-of-both", f"ipu=0&from=0&to=5&vs={pages.keys['longer']}&vsfrom=0&vsto=5")
    assert [row["mean_cycles_diff"] for row in rows] == [0, 0, 0.5]
    pages.page.wait_for_function("() => (popvision.execution.target.selected || {}).step === 2")


def test_details_of_a_comparison_have_both_reports(pages: Pages) -> None:
    """Step 2 takes (1, 2) cycles in the source and (2, 2) in the target."""
    pages.use("two").go(f"vs={pages.keys['longer']}&step=2&detail=details")
    text = pages.tab("Difference", "#execution-tab-details .trace-facts")
    assert re.search(r"Source two\S*: ", text)
    assert re.search(r"Target longer\S*: ", text)
    figures = {line.split("\t")[0]: line.split("\t")[1:] for line in text.splitlines() if "\t" in line}
    assert figures["Min"] == ["1", "2", "+1 (+100.00 %)"]
    assert figures["Max"] == ["2", "2", "0"]
    row = pages.page.locator("#execution-tab-details .ag-center-cols-container .ag-row").first
    for name, cycles in {"cycles_source": "1", "cycles_target": "2"}.items():
        expect(row.locator(f'[col-id="{name}"]')).to_have_text(cycles)


def test_a_step_without_a_match_counts_in_full(pages: Pages) -> None:
    pages.use("two").go(f"vs={pages.keys['eight']}&tstep=1&detail=details")
    text = pages.tab("Difference", "#execution-tab-details .trace-facts")
    assert "The source has no step that matches this one." in text
    assert re.search(r"Cycles\t0\t(\d+)\t\+\1\n", text)
    assert re.search(r"From\t–\t\d+\t–", text)


def test_a_window_is_marked_in_source_and_target(pages: Pages) -> None:
    """A window behind the end of the shorter source is empty there and keeps its cycles in the target."""
    pages.use("two").go(f"vs={pages.keys['eight']}&sel=8-10")
    chosen = pages.page.evaluate("() => ['current', 'target'].map((role) => popvision.execution[role].chosen)")
    assert chosen == [[8, 10], [8, 10]]
    note = pages.tab("Only the selected window", ".trace-filter-line")
    assert "device cycles 5 to 5 of 5, of the target 8 to 10 of 11." in note
    text = pages.tab("Difference", ".trace-compared")
    assert "Source: cycles 5 to 5. Target: cycles 8 to 10." in text
    assert "+ more, − less in the target" in text


def test_a_window_chosen_in_the_target_is_marked_there(pages: Pages) -> None:
    pages.use("two").go(f"vs={pages.keys['eight']}")
    pages.page.evaluate("() => popvision.execution.target.choose(2, 9)")
    pages.page.wait_for_url("**sel=2-9*")
    pages.page.wait_for_function("() => String(popvision.execution.target.chosen) === '2,9'")


def test_steps_of_a_comparison_have_room_for_rows(pages: Pages) -> None:
    pages.use("eight").go(f"vs={pages.keys['eight']}&detail=steps&sel=0-11")
    rows = pages.page.locator("#execution-tab-steps .ag-center-cols-viewport")
    rows.locator(".ag-row").first.wait_for()
    hint = pages.page.get_by_role("button", name="Got it")
    if hint.is_visible():
        hint.click()  # the hint of the first visit takes a line
        hint.wait_for(state="hidden")
    box = rows.bounding_box()
    assert box is not None
    size = pages.page.viewport_size
    assert size is not None
    seen = min(box["y"] + box["height"], size["height"]) - box["y"]
    assert seen >= 4 * rows.locator(".ag-row").first.evaluate("row => row.offsetHeight")


def test_aggregation_equals_a_sum_and_finds_its_steps(pages: Pages) -> None:
    pages.use("eight").go("detail=aggregate&agg=type")
    pages.page.locator("#execution-tab-aggregate .ag-row").first.wait_for()
    rows = {row["name"]: row for row in pages.rows("steps-added-up", "by=type&ipus=0&from=0&to=11")}
    assert sum(row["self_cycles"] for row in rows.values()) == 11
    assert rows["OnTileExecute"]["total_tile_cycles"] == 20
    assert (rows["Sync"]["count"], rows["Sync"]["total_tile_cycles"]) == (3, 4 + 4 + 12)
    pages.page.locator("#execution-tab-aggregate .ag-row", has_text="OnTileExecute").first.click()
    pages.page.locator(".trace-matches", has_text="1 matches").wait_for()
    assert pages.params()["find"] == "type:OnTileExecute"


def test_workers_of_a_tile(pages: Pages) -> None:
    """The fullest context's thread cycles, added up from the exported vertices, times six is the worker part."""
    pages.use("mlp").go("find=OneHotEncode&detail=workers&tiles=3")
    pages.page.locator(".trace-matches", has_text="matches").wait_for()
    for _ in range(2):
        pages.page.keyboard.press(".")
        pages.settle()
    text = pages.tab(f"step {int(pages.params()['step']):,} ", "#execution-tab-workers .trace-facts")
    assert "tile 3 " in text
    href = pages.page.locator('#execution-tab-workers a[href*="vertices-on-workers.json"]').get_attribute("href")
    query = dict(parse_qsl(urlsplit(str(href)).query))
    assert query["tile"] == "3"
    rows = pages.rows("vertices-on-workers", f"cs={query['cs']}&tile=3")
    loads: dict[str, int] = {}
    for row in rows:
        assert row["end"] - row["begin"] == row["tile_cycles"] == 6 * row["thread_cycles"]
        loads[row["context"]] = loads.get(row["context"], 0) + row["thread_cycles"]
    assert re.search(rf"Worker part\s+{6 * max(loads.values()):,}\s", text)
    idle = 1 - sum(loads.values()) / (6 * max(loads.values()))
    assert f"{100 * idle:.2f} %" in text


def test_workers_of_the_target_are_its_own(pages: Pages) -> None:
    """The lanes, the figures and the rows of the matched step in the other report, whose layer is twice as wide."""
    ours, theirs = (ReportSource(SAMPLES / name) for name in ("train_mlp", "train_mlp_wide"))
    names = program_labels(ours)
    step = next(at for at, of in enumerate(ours.reader.steps().program.tolist()) if names[of] == WORKED)
    partner = int(match_steps(ours, theirs).target_rows()[step])
    lanes = worker_lanes(theirs, step_facts(theirs, 0, partner).compute_set, 3)
    pages.use("mlp").go(f"step={step}&detail=workers&tiles=3&vs={pages.keys['wide']}&wr=target")
    text = pages.tab(f"Target train_mlp_wide: {WORKED}", "#execution-tab-workers .trace-facts")
    assert f"step {partner} " in text
    part = re.search(r"Worker part\s+([\d,]+)", text)
    assert part is not None
    assert int(part[1].replace(",", "")) == lanes.worker_part
    href = pages.page.locator('#execution-tab-workers a[href*="vertices-on-workers.json"]').get_attribute("href")
    query = dict(parse_qsl(urlsplit(str(href)).query))
    assert (query["of"], query["vs"]) == ("target", pages.keys["wide"])
    rows = pages.rows("vertices-on-workers", urlsplit(str(href)).query)
    loads: dict[str, int] = {}
    for row in rows:
        loads[row["context"]] = loads.get(row["context"], 0) + row["thread_cycles"]
    assert 6 * max(loads.values()) == lanes.worker_part
    plot = "document.querySelector('#execution-tab-workers .js-plotly-plot')"
    pages.page.wait_for_function(f"() => {plot}?.data?.length > 0")
    drawn_lanes = pages.page.evaluate(f"() => {plot}.data.flatMap((trace) => [...trace.y])")
    assert len(set(drawn_lanes)) == len(loads)
    pages.page.locator("#execution-tab-workers .trace-sides .segment", has_text="Source").click()
    own = pages.tab(f"Source train_mlp: {WORKED}", "#execution-tab-workers .trace-facts")
    assert part[0] not in own  # the source's part is another


def test_picture_as_svg(pages: Pages) -> None:
    pages.use("eight").go("ipu=0")
    with pages.page.expect_download() as download:
        pages.page.get_by_label("Save the drawing as SVG").click()
    text = download.value.path().read_text()
    assert text.startswith("<svg xmlns=")
    assert text.count("<title>layer") >= 1
    assert "data:image/png;base64," in text
