"""The page of a trace of thousands of asynchronous operations, an id each:
`python -m benchmarks.traces.asynchronous_rows [--ids 3000]`.

Eight of them are under way at once, so that they share eight rows. `popvision view` serves the trace, and a page of
Chromium shows its timeline, for the first time, with the import, and again in a new page. Writes its section of
docs/measured/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.document import machine_sentence, write_section
from benchmarks.traces.peers import browser_page
from benchmarks.viewer import processor_time, serving
from popvision.analysis.trace.source import TraceSource

#: Seconds that a page may take, and for which one is waited.
LIMIT, _PATIENCE = 1.5, 120

#: Operations at once.
_TOGETHER = 8


@dataclass(frozen=True)
class Shown:
    """Seconds from the address to the complete picture, and processor seconds of the server and of the page."""

    seconds: float
    server: float
    page: float

    @property
    def processor(self) -> float:
        """All processor seconds."""
        return self.server + self.page


def main() -> int:
    """Generate, measure, print, write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, default=3000)
    ids = parser.parse_args().ids
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["POPVISION_TRACE_CACHE"] = str(Path(temporary, "cache"))
        pages, rows = _pages(_trace(Path(temporary, "traces"), ids))
    text = section(ids, rows, pages)
    print(text)
    write_section("asynchronous rows", text)
    return 0


def _trace(folder: Path, ids: int) -> Path:
    """A file that has not changed for a minute."""
    folder.mkdir()
    events = []
    for number in range(ids):
        common = {"cat": "requests", "name": "request", "id": number, "pid": 1, "tid": 1}
        events += [
            {"ph": "b", "ts": 100 * number, **common, "args": {"n": number}},
            {"ph": "e", "ts": 100 * (number + _TOGETHER) - 1, **common},
        ]
    path = folder / "requests.json"
    path.write_text(json.dumps(events))
    os.utime(path, (time.time() - 60,) * 2)
    return path


def _pages(trace: Path) -> tuple[list[Shown], int]:
    """The first page, one after it, and the rows of the timeline."""
    pages = []
    with serving(trace.parent) as server:
        for _ in range(2):
            with browser_page() as (page, used):
                before, of_page = processor_time(server.pid), used()[0]
                begun = time.perf_counter()
                page.goto(f"{server.base}/t/{server.key}/timeline")
                page.wait_for_selector(
                    "[data-timeline][data-first-complete]", state="attached", timeout=1000 * _PATIENCE
                )
                seconds = time.perf_counter() - begun
                spent = (processor_time(server.pid) - before) / 1000
                pages.append(Shown(seconds, spent, used()[0] - of_page))
    return pages, len(TraceSource(trace).threads)


def section(ids: int, rows: int, pages: list[Shown]) -> str:
    """The table of docs/measured/benchmarks.md."""
    lines = [
        "## A timeline of asynchronous operations",
        "",
        f"`python -m benchmarks.traces.asynchronous_rows --ids {ids}`. {ids:,} operations of a name, an id each, "
        f"{_TOGETHER} at once, on {rows} rows. From the address to the complete picture, limit {LIMIT:g} s. "
        f"{machine_sentence()}",
        "",
        "| page | time (s) | processor time: server (s) | page (s) | |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for what, shown in zip(("the first, with the import", "a new one"), pages, strict=True):
        verdict = "within the limit" if shown.seconds <= LIMIT else f"{shown.processor:.1f} s of processor time"
        figures = f"{shown.seconds:.2f} | {shown.server:.2f} | {shown.page:.2f}"
        lines.append(f"| {what} | {figures} | {verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
