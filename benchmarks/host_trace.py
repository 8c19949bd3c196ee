"""The host tracer and the host timeline: `python -m benchmarks.host_trace [spans | memory | open]...`, by default all.

Spans: see `benchmarks.host_trace_spans`. Opening: a generated trace of ten million events (nested, twelve threads),
from starting to read it to the overview and the first window, in a fresh process; and in Chromium from navigation to
the last pixel. Each part writes its section into docs/measured/benchmarks.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.document import write_section
from benchmarks.host_trace_spans import memory_section, span_section, traced

if TYPE_CHECKING:
    from playwright.sync_api import Page

EVENTS = 10_000_000
JOURNAL_SPANS = 1_000_000
OPEN_LIMIT = 1.5  # seconds
ATTEMPTS = 3

JOURNAL_PROGRAM = """
import os, sys
import popvision.pvti as pvti
channel = pvti.createTraceChannel("bench")
for _ in range(int(sys.argv[1])):
    with pvti.Tracepoint(channel, "x"):
        pass
pvti.Graph("done").addSeries("x").add(1)
import time; time.sleep(0.3)
os._exit(0)  # as a kill leaves it
"""

OPEN_PROGRAM = """
import sys, time
import numpy, popvision.analysis.trace.drawing as trace
from popvision.analysis.trace.source import TraceSource
start = time.perf_counter()
source = TraceSource(sys.argv[1])
opened = time.perf_counter() - start
trace.overview(source, 1400)
for lane in [lane for thread in source.threads for lane in thread.lanes]:
    trace.blocks_in(lane, source.begin, source.end + 1, 1400)
complete = time.perf_counter() - start
# Not ru_maxrss, which a child process inherits from its parent.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(opened, complete, peak, source.events)
"""


PARTS: dict[str, Callable[[Path], list[str]]] = {
    "spans": lambda folder: span_section(folder),
    "memory": lambda folder: ["## Memory of a traced program", "", *memory_section(folder)],
    "open": lambda folder: open_section(folder),
}


def main(parts: list[str]) -> None:
    """Measure, print and write the sections."""
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            text = "\n".join(PARTS[part](Path(folder)))
        print(text)
        write_section(f"host_trace {part}", text)


def open_section(folder: Path) -> list[str]:
    from popvision.formats.pvti.generate import generate_trace

    path = folder / "open" / "ten_million.pvti"
    generate_trace(path, EVENTS, seed=5)
    opened, complete, peak, events = opening(path)
    browser, empty = in_browser(path.parent)
    traced(JOURNAL_PROGRAM, folder / "journal", str(JOURNAL_SPANS))
    (journal,) = (folder / "journal").glob("*.pvti")
    j_opened, j_complete, j_peak, j_events = opening(journal)
    return [
        "## Host traces opened",
        "",
        "`python -m benchmarks.host_trace open`.",
        "",
        f"Ten million events on twelve threads, {path.stat().st_size / 1e6:.0f} MB; and the journal of a program that "
        f"was killed after a million spans. A fresh process each, nothing of the trace kept from before; the best of "
        f"{ATTEMPTS}, because other programs may use the machine. Limit: {OPEN_LIMIT} s.",
        "",
        "| trace | events | columns read (s) | overview and first window (s) | peak memory (MiB) | within the limit |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        f"| finalised | {events:,} | {opened:.2f} | {complete:.2f} | {peak / 1024:.0f} | {verdict(complete)} |",
        f"| killed | {j_events:,} | {j_opened:.2f} | {j_complete:.2f} | {j_peak / 1024:.0f} | {verdict(j_complete)} |",
        "",
        f"In Chromium, server up, trace not opened before: {browser:.2f} s from navigation to the last pixel of the "
        f"finalised one ({verdict(browser)}; the empty viewer itself takes {empty:.2f} s of these).",
    ]


def verdict(seconds: float) -> str:
    return "within the limit" if seconds <= OPEN_LIMIT else f"{seconds / OPEN_LIMIT:.2f}x the limit"


def opening(path: Path) -> tuple[float, float, int, int]:
    """Seconds until the columns are read and until everything is drawn, peak memory in KiB, events."""
    command = [sys.executable, "-c", OPEN_PROGRAM, str(path)]
    attempts = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(ATTEMPTS)
    ]
    best = min(attempts, key=lambda figures: float(figures[1]))
    return float(best[0]), float(best[1]), int(best[2]), int(best[3])


def in_browser(folder: Path) -> tuple[float, float]:
    """Seconds from navigation to the complete timeline in a started browser, and to the list of traces."""
    from playwright.sync_api import sync_playwright

    from tests.browser.visit_pages import CHROMIUM, serve

    base, library = serve(folder)
    (key,) = [entry.key for entry in library.entries() if not entry.is_sample]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        complete, empty = [], []
        for _ in range(ATTEMPTS):
            library.forget(key)
            empty.append(seconds_until(page, base, f'[href^="/t/{key}"]'))
            library.forget(key)
            complete.append(seconds_until(page, f"{base}/t/{key}/timeline", "[data-timeline][data-first-complete]"))
        browser.close()
    return min(complete), min(empty)


def seconds_until(page: Page, address: str, selector: str) -> float:
    """From navigation until an element is there."""
    page.goto("about:blank")
    page.wait_for_timeout(1500)
    start = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(selector, state="attached", timeout=60_000)
    return time.perf_counter() - start


if __name__ == "__main__":
    main(sys.argv[1:])
