"""What a span costs the traced thread, ours and other tracers' in one run, and the memory of a traced program.

Each tracer runs in a process of its own, alone and beside four threads that compute. Costs are the thread's own
processor time over a bare loop, which other programs of the machine change less than wall time; the median of five
rounds. `pip install 'popvision[bench]'` for viztracer and OpenTelemetry's SDK, or name in PEERS_PYTHON the Python of an
environment that has them; a tracer that is not there says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.document import machine_sentence

ROUNDS = 5
BUSY_THREADS = 4
SPAN_LIMIT = 500  # nanoseconds
EVENTS_PER_SECOND = 500_000
MEMORY_SECONDS = 60


@dataclass(frozen=True)
class Case:
    """One way to record a span: `setup` runs once, `span` once per span."""

    name: str
    setup: str
    span: str
    spans: int = 200_000


_OURS = """
import popvision.pvti as pvti
channel = pvti.createTraceChannel("bench")
Tracepoint, begin, end, event = pvti.Tracepoint, pvti.Tracepoint.begin, pvti.Tracepoint.end, pvti.Tracepoint.event
scope = Tracepoint(channel, "x")
"""
OURS = (
    Case("`with pvti.Tracepoint(channel, label)`", _OURS, "with Tracepoint(channel, 'x'):\n    pass"),
    Case("a Tracepoint made once: `with scope`", _OURS, "with scope:\n    pass"),
    Case("`Tracepoint.begin` and `Tracepoint.end`", _OURS, "begin(channel, 'x')\nend(channel, 'x')"),
    Case("`Tracepoint.event` (instant)", _OURS, "event(channel, 'x')"),
)
PEERS = (
    Case(
        "a list: `append((label, begin, end))` of two clock readings, nothing written",
        "from time import perf_counter_ns as now\nspans = []\nappend = spans.append",
        "begin = now()\nappend(('x', begin, now()))",
    ),
    Case(
        "viztracer, a call traced by its C code, ring of a million entries, nothing written",
        "import viztracer\ntracer = viztracer.VizTracer(verbose=0, tracer_entries=1000000)\ntracer.start()\n"
        "def x(): pass",
        "x()",
    ),
    Case(
        "viztracer, `with tracer.log_event(label)`, nothing written",
        "import viztracer\ntracer = viztracer.VizTracer(verbose=0, tracer_entries=1000000, log_sparse=True)\n"
        "tracer.start()",
        "with tracer.log_event('x'):\n    pass",
        20_000,
    ),
    Case(
        "OpenTelemetry's SDK, `with tracer.start_as_current_span(label)`, batches to an exporter that drops them",
        """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
class Drop(SpanExporter):
    def export(self, spans): return SpanExportResult.SUCCESS
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(Drop()))
tracer = provider.get_tracer("bench")
""",
        "with tracer.start_as_current_span('x'):\n    pass",
        20_000,
    ),
)

SPAN_PROGRAM = """
import json, os, statistics, sys, threading, time
case = json.loads(sys.argv[1])
exec(case["setup"], globals())
span = range(case["spans"])
def loop(body):
    exec("def run():\\n    for _ in span:\\n" + "\\n".join("        " + line for line in body.splitlines()), globals())
    return globals()["run"]
def rounds(run, clock):
    run()
    times = []
    for _ in range(int(sys.argv[2])):
        start = clock()
        run()
        times.append((clock() - start) / case["spans"])
    return statistics.median(times)
bare, traced = loop("pass"), loop(case["span"])
alone = rounds(traced, time.thread_time_ns) - rounds(bare, time.thread_time_ns)
stop = False
def busy():
    while not stop:
        sum(range(100))
threads = [threading.Thread(target=busy, daemon=True) for _ in range(int(sys.argv[3]))]
for thread in threads: thread.start()
beside = rounds(traced, time.thread_time_ns) - rounds(bare, time.thread_time_ns)
print(json.dumps([alone, beside]))
sys.stdout.flush()
os._exit(0)  # what the spans cost is measured, not finalising millions of them
"""

MEMORY_PROGRAM = """
import json, os, sys, time
import popvision.pvti as pvti
channel = pvti.createTraceChannel("bench")
seconds, per_second = float(sys.argv[1]), int(sys.argv[2])
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
batch = per_second // 200
rows = []
start = time.perf_counter()
events = sampled = 0
while (now := time.perf_counter() - start) < seconds:
    while events < now * per_second:
        for _ in range(batch // 2):
            with pvti.Tracepoint(channel, "x"):
                pass
        events += batch // 2 * 2
    if now >= sampled:
        rows.append((now, events, resident()))
        sampled = int(now) + 1
    time.sleep(0.002)
rows.append((now, events, resident()))
time.sleep(0.3)
path = pvti.getCurrentTraceFilename()
size = sum(os.stat(path + end).st_size for end in ("", "-wal") if os.path.exists(path + end))
print(json.dumps({"rows": rows, "bytes": size}))
sys.stdout.flush()
os._exit(0)  # as a kill leaves it
"""


def traced(program: str, folder: Path, *arguments: str, on: bool = True, python: str = sys.executable) -> str | None:
    """Run a program with tracing on or off; its standard output, None when it lacks a module."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PVTI_OPTIONS", "POPVISION_RUN_ID")}
    if on:
        environment["PVTI_OPTIONS"] = json.dumps({"directory": str(folder)})
    command = [python, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode and "ModuleNotFoundError" in done.stderr:
        return None
    done.check_returncode()
    return done.stdout


def cost(case: Case, folder: Path, *, on: bool = True, python: str = sys.executable) -> tuple[float, float] | None:
    """Nanoseconds per span: alone, and of the thread's processor time beside the busy threads."""
    given = json.dumps({"setup": case.setup, "span": case.span, "spans": case.spans})
    printed = traced(SPAN_PROGRAM, folder, given, str(ROUNDS), str(BUSY_THREADS), on=on, python=python)
    if printed is None:
        return None
    alone, beside = json.loads(printed)
    return alone, beside


def span_section(folder: Path) -> list[str]:
    """The table of all tracers."""
    clock = Case("clock", "from time import perf_counter_ns as now", "now()")
    reading = cost(clock, folder, on=False)
    assert reading is not None
    lines = [
        "## Host tracer",
        "",
        f"`python -m benchmarks.host_trace spans`. Processor time of the traced thread per span over a bare loop (ns), "
        f"the median of {ROUNDS} rounds, alone and beside {BUSY_THREADS} busy threads of the same process; ours with "
        f"writing to the file included. Reading the clock once takes {reading[0]:.0f} ns on this machine, and a span "
        f"reads it twice. Limit of ours: {SPAN_LIMIT} ns. {machine_sentence()}",
        "",
        f"| tracer | alone (ns) | beside {BUSY_THREADS} threads (ns) | tracing off (ns) | within the limit |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for case in OURS:
        on, off = cost(case, folder / "on"), cost(case, folder / "off", on=False)
        assert on is not None
        assert off is not None
        worst = max(on)
        within = "yes" if worst <= SPAN_LIMIT else f"no, {worst / SPAN_LIMIT:.2f}x"
        lines.append(f"| {case.name} | {on[0]:.0f} | {on[1]:.0f} | {off[0]:.0f} | {within} |")
    for case in PEERS:
        figures = cost(case, folder / "peers", on=False, python=os.environ.get("PEERS_PYTHON", sys.executable))
        cells = "not installed | |" if figures is None else f"{figures[0]:.0f} | {figures[1]:.0f} |"
        lines.append(f"| {case.name} | {cells} | |")
    return lines


def memory_at_rate(folder: Path, seconds: float) -> tuple[list[tuple[float, int, int]], int]:
    """(seconds, events, resident bytes) about once a second at EVENTS_PER_SECOND, and the bytes of the file."""
    printed = traced(MEMORY_PROGRAM, folder, str(seconds), str(EVENTS_PER_SECOND))
    assert printed is not None
    answer = json.loads(printed)
    return [(float(at), int(events), int(resident)) for at, events, resident in answer["rows"]], int(answer["bytes"])


def memory_section(folder: Path) -> list[str]:
    """Memory and file of a program that records without a pause."""
    rows, size = memory_at_rate(folder, MEMORY_SECONDS)
    tenth = next(row for row in rows if row[0] >= MEMORY_SECONDS / 10)
    seconds, events, last = rows[-1]
    most = max(row[2] for row in rows)
    return [
        "`python -m benchmarks.host_trace memory`.",
        "",
        f"A program that records {EVENTS_PER_SECOND:,} begins and ends a second for {MEMORY_SECONDS} s: "
        f"{events / seconds:,.0f} a second, {events:,} in all; resident memory {tenth[2] / 2**20:.1f} MiB after "
        f"{tenth[0]:.0f} s, {last / 2**20:.1f} MiB at the end, at most {most / 2**20:.1f} MiB; "
        f"file {size / 1e6:,.0f} MB before it is finalised, {size / events:.1f} bytes per begin or end.",
    ]
