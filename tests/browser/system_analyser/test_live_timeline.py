"""The timeline of a program that runs: events that it adds, a window that stays, its end, its death, another file."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Locator, Page, Response, expect

from popvision.formats.pvti.summed_tables import SummedTables
from popvision.formats.pvti.writer import TraceWriter
from tests.browser.frame import PATIENCE, open_page, until_quiet
from tests.browser.shared_viewer import SharedViewer

pytestmark = pytest.mark.browser

BEGIN, EACH = 1_700_000_000_000_000_000, 1_000_000


class Recording:
    """A trace of one thread, an event per millisecond, whose writer stays open."""

    def __init__(self, path: Path, run: str) -> None:
        self.events = self.labels = 0
        self.writer = TraceWriter(path, {"run_id": run}, clock_offset_ns=0)
        with self.writer.transaction():
            self.writer.add_process(1, 1, None, "program")
            self.writer.set_thread(1, 1, 7, "main")
            self.writer.set_channel(1, "work", True)
            self.writer.add_string(1, "step")
            self.writer.add_site(1, 1, 1, None)

    def add_labels(self, labels: int) -> None:
        """An event of each of some labels."""
        with self.writer.transaction():
            for label in range(2, labels + 2) if not self.labels else ():
                self.writer.add_string(label, f"label {label - 2:02}")
                self.writer.add_site(label, 1, label, None)
            times = [BEGIN + EACH * (self.events + at) + half for at in range(labels) for half in (0, EACH // 2)]
            self.writer.add_events(1, [label << 2 | kind for label in range(2, labels + 2) for kind in (0, 1)], times)
        self.labels = labels
        self.events += labels

    def add(self, events: int) -> None:
        at = range(self.events, self.events + events)
        times = [BEGIN + EACH * event + half for event in at for half in (0, EACH // 2)]
        with self.writer.transaction():
            self.writer.add_events(1, [1 << 2 | kind for _ in at for kind in (0, 1)], times)
        self.events += events


class Opener(Protocol):
    def __call__(self, query: str = "", *, goes_away: bool = False) -> Page:
        """Open the timeline of the one trace with a query; a file that `goes_away` makes requests fail."""


@pytest.fixture
def opened(shared: SharedViewer, tmp_path: Path) -> Iterator[Opener]:
    """Opens the timeline of the one trace in `tmp_path`, with a query."""
    is_whole = True

    def open_timeline(query: str = "", *, goes_away: bool = False) -> Page:
        nonlocal is_whole
        is_whole = not goes_away
        (key,) = shared.show(tmp_path, follows=True).values()
        page = shared.visit(1280, 800)
        open_page(page, shared.base, f"/t/{key}/timeline{query}")
        page.wait_for_selector('[data-timeline][data-state="complete"]')
        return page

    yield open_timeline
    assert not is_whole or shared.problems == []


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording(tmp_path / "run.pvti", "first")
    made.add(100)
    yield made
    made.writer.close()


def window(page: Page) -> list[int]:
    found: list[int] = page.evaluate(
        "(({viewport}) => [viewport.from, viewport.to, viewport.total].map(Math.round))(popvision.timeline.current)"
    )
    return found


def fact(tab: Locator, name: str) -> Locator:
    """The value beside a name in a list of facts."""
    return tab.locator("tr").filter(has=tab.page.get_by_role("rowheader", name=name, exact=True)).locator("td")


def put_another(folder: Path, events: int) -> None:
    """Put the trace of another run, as far as it was recorded, in the place of the first one."""
    other = Recording(folder / "other", "second")
    other.add(events)
    other.writer.close()
    (folder / "other").replace(folder / "run.pvti")


def test_a_fit_window_shows_what_is_added_until_the_end(opened: Opener, recording: Recording) -> None:
    page = opened("")
    expect(page.locator(".tl-live")).to_have_text("live, 100 events, last at 22:13:20 UTC")
    recording.add(2900)
    expect(page.locator(".tl-live")).to_have_text("live, 3,000 events, last at 22:13:22 UTC")
    expect(page.locator(".tl-corner")).to_contain_text("Events 3,000")
    assert window(page) == [0, 2_999_500_001, 2_999_500_001]
    with recording.writer.transaction():
        recording.writer.set_meta("state", "closed")
    expect(page.locator(".tl-live")).to_have_text("ended, 3,000 events, last at 22:13:22 UTC")
    expect(page.locator("#growth")).to_be_empty()


def test_a_window_at_the_end_moves_and_any_other_stays(opened: Opener, recording: Recording) -> None:
    page = opened("?tl_from=50000000&tl_to=99500001")
    recording.add(100)
    expect(page.locator(".tl-live")).to_contain_text("200 events")
    begin, end, total = window(page)
    assert end == total == 199_500_001
    assert abs(begin - 150_000_000) < 100_000  # two columns of pixels
    expect(page).to_have_url(re.compile("tl_to=199500001"))
    page.get_by_role("switch", name="Follow the end").click()
    expect(page).to_have_url(re.compile("tl_follow=0"))
    recording.add(100)
    expect(page.locator(".tl-live")).to_contain_text("300 events")
    assert window(page)[0] == begin
    assert window(page)[2] == 299_500_001


def test_a_window_before_the_end_stays(opened: Opener, recording: Recording) -> None:
    page = opened("?tl_from=10000000&tl_to=20000000")
    before = window(page)[:2]
    recording.add(100)
    expect(page.locator(".tl-live")).to_contain_text("200 events")
    assert window(page)[:2] == before


def test_a_replaced_file_is_said_to_be_so_and_shown_whole(opened: Opener, recording: Recording, tmp_path: Path) -> None:
    of_the_old = (
        "tl_event=0.0.12&tl_sel=11000000-13000000&tl_marks=12000000&tl_label=0&tl_find=step&tl_only=1&tl_fold=t0"
        "&tl_hide=0"
    )
    page = opened(f"?tl_from=10000000&tl_to=20000000&{of_the_old}&tl_clock=absolute")
    expect(page.locator("#tl-tab-summary")).to_contain_text("Mark 1")
    recording.writer.close()
    put_another(tmp_path, 7)
    expect(page.locator(".tl-live")).to_have_text(
        "replaced by another recording: ended, 7 events, last at 22:13:20 UTC", timeout=PATIENCE
    )
    summary = page.locator("#tl-tab-summary")
    expect(fact(summary, "All events")).to_have_text("7")
    expect(fact(summary, "run_id")).to_have_text("second")
    expect(summary).not_to_contain_text("Mark 1")
    expect(page.locator('[data-param="tl_find"] input')).to_have_value("")
    assert window(page) == [0, 6_500_001, 6_500_001]
    assert page.url.partition("?")[2] == "tl_clock=absolute"  # how the user looks at traces stays
    put_another(tmp_path, 10)
    expect(page.locator(".tl-live")).to_contain_text(
        "replaced by another recording: ended, 10 events", timeout=PATIENCE
    )
    expect(fact(summary, "All events")).to_have_text("10")
    expect(page.locator("#notice")).to_be_empty()


def test_facts_of_the_whole_trace_are_counted_again(opened: Opener, recording: Recording) -> None:
    page = opened("")
    summary = page.locator("#tl-tab-summary")
    expect(fact(summary, "All events")).to_have_text("100")
    page.evaluate("window.theSame = document.querySelector('#tl-tab-summary table')")
    recording.add(50)
    expect(fact(summary, "All events")).to_have_text("150")
    expect(fact(summary, "To")).to_have_text("00:00:00.149 500")
    assert page.evaluate("window.theSame.isConnected")
    with recording.writer.transaction():
        recording.writer.set_meta("state", "closed")
    expect(fact(summary, "State")).to_have_count(0)


def test_a_table_that_grows_keeps_what_the_user_did(opened: Opener, recording: Recording) -> None:
    recording.add_labels(60)
    page = opened("?tl_tab=statistics")
    tab = page.locator("#tl-tab-statistics")
    tab.locator(".ag-header-cell-text", has_text="Event").click()
    tab.get_by_placeholder("Filter rows").fill("label")
    expect(tab.locator("[data-row-count]")).to_have_text("60 of 61 rows")
    tab.locator(".ag-body-viewport").evaluate("(box) => { box.scrollTop = 500; }")
    row = tab.locator("[row-id='30']")
    row.locator("[col-id=count]").click()
    expect(page).to_have_url(re.compile("tl_event=0.0.129"))
    expect(tab.locator(".tl-scope")).to_contain_text("is the only one of label 29 there")
    before = tab.locator(".ag-body-viewport").evaluate("(box) => box.scrollTop")
    assert before > 0
    recording.add_labels(60)
    expect(row.locator("[col-id=count]")).to_have_text("2")
    expect(tab.locator(".tl-scope")).to_contain_text("of the 2 events label 29")
    expect(row).to_have_class(re.compile("tl-row-lit"))
    expect(row.locator("[col-id=count]")).to_be_focused()
    expect(tab.locator("[data-row-count]")).to_have_text("60 of 61 rows")
    expect(tab.get_by_placeholder("Filter rows")).to_have_value("label")
    assert tab.locator(".ag-body-viewport").evaluate("(box) => box.scrollTop") == before
    assert tab.locator(".ag-header-cell[col-id=label]").get_attribute("aria-sort") == "ascending"


def test_a_window_that_is_over_is_left_alone(opened: Opener, recording: Recording) -> None:
    page = opened("?tl_sel=10000000-20000000&tl_tab=statistics&tl_find=step")
    scope = page.locator("#tl-tab-statistics .tl-scope")
    expect(scope).to_contain_text("selected window")
    expect(page.locator(".tl-matches")).to_have_text("1 of 100")
    expect(page.locator("#tl-tab-statistics .ag-row").first).to_be_visible()
    recording.add(50)  # the first look at a file that grows; what the page asked at its start is answered by then
    expect(page.locator(".tl-matches")).to_have_text("1 of 150")
    page.wait_for_function("() => !popvision.timeline.current.live.tabs.begun")
    until_quiet(page)
    asked: list[str] = []

    def note(answer: Response) -> None:
        if "_dash-update" in answer.url:
            asked.append(answer.text())

    page.on("response", note)
    recording.add(50)
    expect(page.locator(".tl-matches")).to_have_text("1 of 200")
    page.wait_for_function("() => !popvision.timeline.current.live.tabs.begun")
    page.remove_listener("response", note)
    assert not any("rowData" in answer for answer in asked)


def test_a_file_that_is_deleted_and_made_again(opened: Opener, recording: Recording, tmp_path: Path) -> None:
    page = opened("", goes_away=True)
    live = page.locator(".tl-live")
    recording.writer.close()
    for path in tmp_path.glob("run.pvti*"):
        path.unlink()
    expect(live).to_contain_text("cannot be read at the moment: ", timeout=PATIENCE)
    with page.expect_response(re.compile(r"/state\?"), timeout=PATIENCE):  # the shell asks every 4 s
        pass
    until_quiet(page)
    expect(page.locator("#growth")).to_be_empty()
    assert live.evaluate("(line) => line.scrollWidth <= line.clientWidth")
    page.get_by_role("tab", name="Call Tree").click()
    expect(page.locator("#notice")).not_to_be_empty()
    put_another(tmp_path, 7)
    expect(live).to_contain_text("replaced by another recording: ended, 7 events", timeout=PATIENCE)
    expect(page.locator("#tl-tab-calls [col-id=count]").last).to_have_text("7")
    expect(page.locator("#notice")).to_be_empty()
    expect(page.locator("#growth")).to_be_empty()


def test_a_file_that_is_locked_is_read_when_it_is_free(opened: Opener, recording: Recording, tmp_path: Path) -> None:
    recording.writer.close()
    with closing(sqlite3.connect(tmp_path / "run.pvti", PATIENCE / 1000, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")  # refused while the viewer reads
        page = opened("", goes_away=True)
        other.execute("BEGIN")
        tables = SummedTables(other)
        tables.put("meta", ("note", "first"))
        tables.write_sums()
        other.execute("COMMIT")
        other.execute("BEGIN EXCLUSIVE")
        expect(page.locator(".tl-live")).to_contain_text(
            re.compile("cannot be read at the moment: .*lock"), timeout=PATIENCE
        )
        expect(page.locator(".tl-corner")).to_contain_text("Events 100")
        other.execute("COMMIT")
    expect(page.locator(".tl-live")).to_have_text("ended, 100 events, last at 22:13:20 UTC", timeout=PATIENCE)
    expect(page.locator("#notice")).to_be_empty()


def test_a_file_that_is_cut_off_shows_what_is_left(opened: Opener, recording: Recording, tmp_path: Path) -> None:
    for _ in range(4):
        recording.add(5000)
    recording.writer.close()
    page = opened("", goes_away=True)
    expect(page.locator(".tl-live")).to_contain_text("ended, 20,100 events")
    (tmp_path / "cut").write_bytes((tmp_path / "run.pvti").read_bytes()[:-8192])
    (tmp_path / "cut").replace(tmp_path / "run.pvti")
    expect(page.locator(".damage")).to_contain_text("This trace", timeout=PATIENCE)
    expect(page.locator(".tl-live")).to_contain_text(re.compile(r"ended, 1\d,\d00 events"))
    os.truncate(tmp_path / "run.pvti", 0)
    expect(page.locator(".tl-live")).to_contain_text("cannot be read at the moment: ", timeout=PATIENCE)
    expect(page.locator(".tl-live")).to_contain_text("it is empty")


def test_a_refused_search_draws_all_events_and_leaves_no_red_sentence(opened: Opener, recording: Recording) -> None:
    page = opened("?tl_only=1&tl_find=/step(/", goes_away=True)
    expect(page.locator(".tl-problem")).not_to_be_empty()
    expect(page.locator("#notice")).to_be_empty()
    page.wait_for_function("() => popvision.timeline.current.flames.data?.arrays.start.length === 100")
    expect(page.locator(".tl-corner")).not_to_contain_text("only matches")
    page.locator('[data-param="tl_find"] input').fill("no such label")
    expect(page.locator(".tl-corner")).to_contain_text("only matches")
    expect(page.locator(".tl-problem")).to_be_empty()
    page.wait_for_function("() => popvision.timeline.current.flames.data.arrays.start.length === 0")
    expect(page.locator("#notice")).to_be_empty()


def test_a_killed_program_leaves_what_it_had_written(opened: Opener, tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from tests.browser.system_analyser.test_live_timeline import Recording
from tests.browser.shared_viewer import SharedViewer
recording = Recording(Path(sys.argv[1]), "killed")
for line in sys.stdin:
    recording.add(int(line))
    print(recording.events, flush=True)
"""
    path = tmp_path / "run.pvti"
    command = [sys.executable, "-c", program, str(path)]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    assert writer.stdin is not None
    assert writer.stdout is not None
    try:
        for _ in range(100):
            writer.stdin.write("50\n")
            writer.stdout.readline()
        page = opened("")
        first = page.locator(".tl-live").inner_text()
        writer.stdin.write("50\n")
        expect(page.locator(".tl-live")).not_to_have_text(first)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        for stream in (writer.stdin, writer.stdout):
            stream.close()
    expect(page.locator(".tl-live")).to_contain_text(
        "not written for 10 s (idle, or its program was killed)", timeout=PATIENCE
    )
    expect(page.locator(".tl-corner")).to_contain_text("its process was killed")
