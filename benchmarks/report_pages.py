"""Every page of large reports: `python -m benchmarks.report_pages [--reports FOLDER] [--only NAME ...]`.

Generates the named reports, by default the first of three: 20 and 100 million intervals on 1,472 tiles; 5,888 tiles
with 31,000 execution steps; each with 2,000 compute sets, 31,000 liveness indices and 5 million lowered variables.
Opens each page in headless Chromium with a new server, works on it, and lets ten clients repeat the requests. Writes
its section of docs/measured/benchmarks.md.

The clock of a page runs from navigation to the last change before a second of quiet (benchmarks/page_clock.py).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.document import machine_sentence, write_section
from benchmarks.page_clock import Opening, PageClock
from benchmarks.replay import CLIENTS, Recorder, Reply, replay
from benchmarks.viewer import Memory, Serving, memory_of, page_of, processor_time, serving
from popvision.formats.generate.report import Size, generate
from webapp.base.views import views_of

_REST = {"layers": 200, "liveness_indices": 31_000, "lowered_variables": 5_000_000}
SIZES = {
    "20 M": Size(20e6, "distinct", **_REST),
    "100 M": Size(100e6, "distinct", **_REST),
    "5,888 tiles": Size(5_888 * 31_000, "repeat", 1_472, 4, **_REST, repeats=5, intervals_per_run=10**12),
}
FIRST_PAGE, REPLY_SIZE, REPLY_TIME = 1_500, 500_000, 100  #: ms, bytes, ms
PAUSE = 1_000  #: ms between two actions of the user

#: the actions of the user: changes of the selection, in turn; a page ignores keys that it does not know
ACTIONS: dict[str, list[dict[str, str]]] = {
    "memory": [
        {"tiles": "3"},
        {"tiles": "3,700"},
        {"mem_tab": "vertices"},
        {"mem_tab": "variables"},
        {"mem_by": "category"},
        {"mem_view": "100-400"},
        {"mem_graph": "map"},
    ],
    "liveness": [
        {"liveness": "12000"},
        {"liveness": "20000"},
        {"live_tab": "changing"},
        {"live_view": "11000-13000"},
        {"live_source": "tile:7"},
        {"live_map": "1"},
    ],
    "program_tree": [{"program": "900"}, {"program": "5003"}, {"tree_find": "softmax"}],
    "execution": [{"step": "40"}, {"from": "0", "to": "60000"}, {"from": "20000", "to": "30000"}, {"detail": "steps"}],
    "exchange": [{"program": "35"}, {"tiles": "9"}, {"program": "902"}],
}


@dataclass
class Measured:
    """The measurements of one page of one report."""

    report: str
    view: str
    first: Opening
    server: float  #: processor time in ms of the server for the first page
    actions: list[Opening]
    answers: list[Reply]
    memory: Memory


def main() -> int:
    """Measure, print, write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=Path, help="keep the generated reports here and use them again")
    parser.add_argument("--only", nargs="*", default=["20 M"], choices=list(SIZES), help="names of the reports")
    parser.add_argument("--views", nargs="*", help="ids of the pages")
    parser.add_argument("--open-only", action="store_true", help="no actions, no clients")
    arguments = parser.parse_args()
    views = arguments.views or [view.id for view in views_of("report")]
    with tempfile.TemporaryDirectory() as scratch:
        found = []
        for name in arguments.only:
            folder = _made(arguments.reports or Path(scratch), name)
            found += [measure(name, folder, view, arguments.open_only) for view in views]
    text = section(found)
    print(text)
    if not arguments.open_only and views == [view.id for view in views_of("report")]:
        write_section("report_pages", text)
    return 0


def _made(folder: Path, name: str) -> Path:
    path = folder / name.replace(" ", "-").replace(",", "") / "profile.pop"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        generate(path, SIZES[name])
    return path.parent


def measure(name: str, folder: Path, view: str, open_only: bool = False) -> Measured:
    """Open the page once with a new server, work on it, replay."""
    with serving(folder) as server, page_of() as page:
        clock = PageClock(page)
        recorder = Recorder(page)
        before = processor_time(server.pid)
        first = clock.open(server.page(view))
        spent = processor_time(server.pid) - before
        actions = []
        for patch in [] if open_only else ACTIONS.get(view, []):
            page.wait_for_timeout(PAUSE)
            actions.append(clock.act(f"popvision.select({patch!r})"))
        page.close()
        answers = [] if open_only else _replayed(server, recorder)
        found = Measured(name, view, first, spent, actions, answers, memory_of(server.pid))
    print(
        f"{name} {view}: {first.finished:.0f} ms; processor: page {first.busy:.0f} ms, server {spent:.0f} ms;"
        f" {first.requests} requests, {first.received / 1000:.0f} kB; replies p95 {_p95(found.answers):.0f} ms",
        file=sys.stderr,
    )
    return found


def _replayed(server: Serving, recorder: Recorder) -> list[Reply]:
    return replay(server.base, recorder.requests) if recorder.requests else []


def _p95(answers: list[Reply]) -> float:
    return float(np.percentile([each.seconds for each in answers], 95)) * 1000 if answers else 0.0


def section(found: list[Measured]) -> str:
    """The tables of docs/measured/benchmarks.md."""
    lines = [
        "## Pages of large reports",
        "",
        "Each page opened once by a new server and browser, nothing cached by popvision; from navigation to the last"
        f" change before a second of quiet (limit {FIRST_PAGE / 1000} s for 20 M intervals). An action is a change of"
        " the selection (tile, index, program, window, tab). Largest reply: of anything but scripts, styles and icons"
        f" (limit {REPLY_SIZE / 1000:.0f} kB). Processor time for the first page: of the page's main thread, and of the"
        f" server. Then {CLIENTS} clients at once repeat the requests of the whole visit"
        f" with its pauses (reply p95, limit {REPLY_TIME} ms). Memory of all server processes after that: their own"
        f" (PSS without mapped files), mapped files, highest resident size. {machine_sentence()}",
        "",
        "| report | page | first page (ms) | page, processor (ms) | server, processor (ms) | requests | received (kB) |"
        " action, median (ms) | worst (ms) | largest reply (kB) | replies |"
        " reply p50 (ms) | p95 (ms) | worst (ms) | failed | own (MiB) | mapped (MiB) | peak (MiB) |",
        "| --- | --- |" + " ---: |" * 16,
        *[_row(each) for each in found],
    ]
    return "\n".join(lines)


def _row(each: Measured) -> str:
    times = [action.finished for action in each.actions]
    replies = sorted(answer.seconds * 1000 for answer in each.answers) or [0.0]
    largest = max([each.first.largest, *(action.largest for action in each.actions)])
    acted = f"{statistics.median(times):.0f} | {max(times):.0f}" if times else "– | –"
    return (
        f"| {each.report} | {each.view} | {each.first.finished:.0f} | {each.first.busy:.0f} | {each.server:.0f} |"
        f" {each.first.requests} | {each.first.received / 1000:.0f} | {acted} | {largest / 1000:.0f} |"
        f" {len(each.answers)} | {np.percentile(replies, 50):.0f} | {np.percentile(replies, 95):.0f} |"
        f" {replies[-1]:.0f} | {sum(answer.status >= 400 for answer in each.answers)} |"
        f" {each.memory.own:.0f} | {each.memory.mapped:.0f} | {each.memory.peak:.0f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
