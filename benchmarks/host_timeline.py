"""The host timeline at ten million events on 224 threads: `python -m benchmarks.host_timeline [EVENTS]`.

A fresh process opens the trace and answers what the page asks: the drawing of random windows, the statistics of
windows, the call paths and the search over all labels. Its times are processor time of the answering thread, which
other programs on the machine hardly change. Then servers and browsers: opening is wall time; keys are held down; the
statistics, the list of a search and the call paths are opened; then the memory of the server. At last a trace of five
times as many events is opened. Writes its section into docs/measured/benchmarks.md.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.document import machine_sentence, write_section
from benchmarks.host_trace import seconds_until
from benchmarks.trace_open import MainThread, hold, percentile
from benchmarks.viewer import memory_of, page_of, processor_time, serving

EVENTS, THREADS, OPENINGS = 10_000_000, 224, 5
COMPLETE = "[data-timeline][data-first-complete]"

#: What is measured -> its title, its limit and its unit.
ROWS = {
    "browser": ("navigation to the complete first picture, Chromium, median", 1.5, "s"),
    "slowest": ("the slowest of these openings", None, "s"),
    "open": ("processor time of server and page for one such opening, median", None, "s"),
    "draw": (
        "server part of a drawing of 12 threads: 95 % of 60 random windows take no longer",
        10,
        "ms",
    ),
    "statistics": ("statistics of a window per label: the slowest of 12", 300, "ms"),
    "first_statistics": ("the first statistics, which make the buckets of durations", None, "ms"),
    "paths": ("call paths of all threads in one row (Aggregated), the entire trace: the slowest of 5", 300, "ms"),
    "callers": ("12 rows bottom-up, the entire trace: the slowest of 5", 300, "ms"),
    "search": ("search over all labels, a step to the next match: the slowest of 5", 300, "ms"),
    "list": ("list of the first 1,000 matches of the entire trace: the slowest of 5", 300, "ms"),
    "key": ("frames while a key is held: 95 % come within", 20, "ms"),
    "answer": ("server part of the answers meanwhile, processor time: 95 % within", 10, "ms"),
    "drawing": ("peak memory of the server, after the page was drawn and keys were held", 400, "MB"),
    "memory": ("peak memory of the server, after statistics, a search and call paths too", 400, "MB"),
    "large": ("navigation to the complete first picture, 5 times the events", None, "s"),
    "large_memory": ("peak memory of the server of that", None, "MB"),
}

PROGRAM = """
import json, sys, time
import numpy as np

from popvision.analysis.trace.bottom_up import bottom_up
from popvision.analysis.trace.calls import threads_tree
from popvision.analysis.trace.drawing import blocks_in
from popvision.analysis.trace.search import find_event, list_matches
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import statistics_frame, window_statistics

def spent(question):
    begin = time.thread_time()
    question()
    return 1000 * (time.thread_time() - begin)

def statistics(begin, end):
    return spent(lambda: statistics_frame(source, window_statistics(source, begin, end)))

source = TraceSource(sys.argv[1])
length, random = source.end - source.begin, np.random.default_rng(1)
for thread in source.threads:  # what opening the page prepares in the background
    for lane in thread.lanes:
        lane.mipmap
windows = []
for _ in range(60):
    size = int(length * 10.0 ** random.uniform(-5, 0))
    begin = source.begin + int(random.integers(0, length - size + 1))
    windows.append((begin, begin + size + 1))
def draw(begin, end):
    for thread in source.threads[:12]:
        for lane in thread.lanes:
            blocks_in(lane, begin, end, 1400)
drawn = [spent(lambda: draw(*window)) for window in windows]
first = statistics(source.begin, source.end + 1)
slowest = max(statistics(*window) for window in windows[:12])
texts = [source.names.label[index] for index in (0, 3, 7)] + ["operation", "nothing like this"]
begins = [source.begin + length * share // 5 for share in range(5)]
found = max(
    spent(lambda: find_event(source, text, (at, -1, -2, -1))) for text, at in zip(texts, begins, strict=True)
)
whole = source.begin, source.end + 1
paths = max(spent(lambda: threads_tree(source, range(len(source.threads)), *whole)) for _ in range(5))
callers = max(spent(lambda: [bottom_up(threads_tree(source, [row], *whole)) for row in range(12)]) for _ in range(5))
listed = max(spent(lambda: list_matches(source, text, source.begin, source.end + 1, 1000)) for text in texts)
print(json.dumps({
    "events": source.events, "threads": len(source.threads), "draw": float(np.percentile(drawn, 95)),
    "first_statistics": first, "statistics": slowest, "search": found, "list": listed,
    "paths": paths, "callers": callers,
}))
"""


def main(events: int) -> None:
    """Measure, print and write the section."""
    from popvision.formats.pvti.generate import generate_trace

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "one", "many.pvti")
        path.parent.mkdir()
        generate_trace(path, events, threads=THREADS)
        size = path.stat().st_size / 1e6
        command = [sys.executable, "-c", PROGRAM, str(path)]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        times = [opening(path.parent) for _ in range(OPENINGS)]
        wall, spent, empty = zip(*times, strict=True)
        figures |= {"browser": statistics.median(wall), "slowest": max(wall), "open": statistics.median(spent)}
        figures |= with_server(path.parent)
        path = Path(folder, "five", "many.pvti")
        path.parent.mkdir()
        generate_trace(path, 5 * events, threads=THREADS)
        with page_of() as page, serving(path.parent) as server:
            figures["large"] = seconds_until(page, f"{server.base}/t/{server.key}/timeline", COMPLETE)
            figures["large_memory"] = memory_of(server.pid).peak * 2**20 / 1e6
    text = section(figures, size, statistics.median(empty))
    print(text)
    if events == EVENTS:
        write_section("host_timeline", text)


def opening(folder: Path) -> tuple[float, float, float]:
    """Seconds from navigation to the complete first picture, processor seconds of server and page meanwhile, and
    seconds until the first page of the viewer lists the trace."""
    with page_of() as page, serving(folder) as server:
        before = processor_time(server.pid) / 1000 + page_seconds(page)
        seconds = seconds_until(page, f"{server.base}/t/{server.key}/timeline", COMPLETE)
        spent = processor_time(server.pid) / 1000 + page_seconds(page) - before
        return seconds, spent, seconds_until(page, server.base, f'[href^="/t/{server.key}"]')


def with_server(folder: Path) -> dict[str, float]:
    """Frames and answers while keys are held, and the peak memory of a server then and after statistics and search."""
    with page_of() as page, serving(folder) as server:
        address = f"{server.base}/t/{server.key}/timeline"
        seconds_until(page, address, COMPLETE)
        page.wait_for_load_state("networkidle")
        page.keyboard.press("f")
        busy = MainThread(page)
        held = [hold(page, busy, key) for key in ("+", "d", "-")]
        figures = {
            "key": percentile([frame for each in held for frame in each.frames], 95),
            "answer": percentile([busy for each in held for busy in each.processor], 95),
            "drawing": memory_of(server.pid).peak * 2**20 / 1e6,
        }
        seconds_until(page, f"{address}?tl_tab=statistics", "#tl-tab-statistics .ag-row")
        seconds_until(page, f"{address}?tl_tab=matches&tl_find=operation", "#tl-tab-matches .ag-row")
        seconds_until(page, f"{address}?tl_flame=paths&tl_merge=1", COMPLETE)
        return figures | {"memory": memory_of(server.pid).peak * 2**20 / 1e6}


def page_seconds(page: Page) -> float:
    """Processor seconds of the renderers of a browser so far."""
    browser = page.context.browser
    assert browser is not None
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return sum(float(each["cpuTime"]) for each in found if each["type"] == "renderer")


def section(figures: dict[str, float], size: float, empty: float) -> str:
    """The table of the figures beside their limits; `size` of the file in MB, `empty` s for the viewer alone."""
    lines = [
        "## The host timeline with many events",
        "",
        f"{figures['events']:,} events on {figures['threads']} threads, {size:.0f} MB, "
        "`python -m benchmarks.host_timeline`. Processor time of the answering thread; opening in Chromium and frames "
        f"are wall time. Each of {OPENINGS} openings is by a new server and browser; the viewer's first page, which "
        f"lists this trace, takes {empty:.2f} s. {machine_sentence()}",
        "",
        "| question | measured | limit | |",
        "| --- | ---: | ---: | --- |",
    ]
    for key, (title, limit, unit) in ROWS.items():
        value = f"{figures[key]:.3g}" if figures[key] < 1000 else f"{figures[key]:,.0f}"
        verdict, most = "", "–"
        if limit is not None:
            most = f"{limit:g} {unit}"
            verdict = "within the limit" if figures[key] <= limit else f"{figures[key] / limit:.2f}x the limit"
        lines.append(f"| {title} | {value} {unit} | {most} | {verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)
