"""The timeline of a program that runs: events that it adds, a window that stays, its end, its death, another file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from popvision.formats.pvti.writer import TraceWriter
from tests.browser.frame import open_page
from tests.browser.noted_problems import noted_problems
from tests.browser.visit_pages import serve

pytestmark = pytest.mark.browser

BEGIN, EACH = 1_700_000_000_000_000_000, 1_000_000


class Recording:
    """A trace of one thread, an event per millisecond, whose writer stays open."""

    def __init__(self, path: Path, run: str) -> None:
        self.events = 0
        self.writer = TraceWriter(path, {"run_id": run}, clock_offset_ns=0)
        with self.writer.transaction():
            self.writer.add_process(1, 1, None, "program")
            self.writer.set_thread(1, 1, 7, "main")
            self.writer.set_channel(1, "work", True)
            self.writer.add_string(1, "step")
            self.writer.add_site(1, 1, 1, None)

    def add(self, events: int) -> None:
        at = range(self.events, self.events + events)
        times = [BEGIN + EACH * event + half for event in at for half in (0, EACH // 2)]
        with self.writer.transaction():
            self.writer.add_events(1, [1 << 2 | kind for _ in at for kind in (0, 1)], times)
        self.events += events


Opener = Callable[[str], Page]


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens the timeline of the one trace in `tmp_path`, with a query."""
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    problems: list[list[str]] = []

    def open_timeline(query: str = "") -> Page:
        base, library = serve(tmp_path, follows=True)
        (key,) = [entry.key for entry in library.entries() if not entry.is_sample]
        problems.append(noted_problems(page, base))
        open_page(page, base, f"/t/{key}/timeline{query}")
        page.wait_for_selector('[data-timeline][data-state="complete"]')
        return page

    yield open_timeline
    page.close()
    assert not any(problems)


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


def test_a_fit_window_shows_what_is_added_until_the_end(opened: Opener, recording: Recording) -> None:
    page = opened("")
    expect(page.locator(".tl-live")).to_have_text("live, 100 events, last at 22:13:20 UTC")
    recording.add(2900)
    expect(page.locator(".tl-live")).to_have_text("live, 3,000 events, last at 22:13:22 UTC")
    expect(page.locator(".tl-corner")).to_contain_text("Events 3,000")
    assert window(page) == [0, 2_999_500_001, 2_999_500_001]
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
    page = opened("?tl_from=10000000&tl_to=20000000")
    aside = tmp_path / "other"
    other = Recording(aside, "second")
    other.add(7)
    other.writer.close()
    recording.writer.close()
    aside.replace(tmp_path / "run.pvti")
    expect(page.locator(".tl-live")).to_contain_text("replaced by another recording: ")
    expect(page.locator(".tl-live")).to_contain_text("7 events")
    assert window(page) == [0, 6_500_001, 6_500_001]


def test_a_killed_program_leaves_what_it_had_written(opened: Opener, tmp_path: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from tests.browser.system_analyser.test_live_timeline import Recording
recording = Recording(Path(sys.argv[1]), "killed")
while True:
    recording.add(50)
    time.sleep(0.05)
"""
    path = tmp_path / "run.pvti"
    writer = subprocess.Popen([sys.executable, "-c", program, str(path)], env={**os.environ})
    try:
        deadline = time.monotonic() + 60
        while sum(each.stat().st_size for each in tmp_path.glob("run.pvti*")) < 200_000:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        page = opened("")
        first = page.locator(".tl-live").inner_text()
        expect(page.locator(".tl-live")).not_to_have_text(first)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    expect(page.locator(".tl-live")).to_contain_text(
        "not written for 10 s (idle, or its program was killed)", timeout=30_000
    )
    expect(page.locator(".tl-corner")).to_contain_text("its process was killed")
