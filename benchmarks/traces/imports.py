"""Traces of other tools, opened for the first time and again: `python -m benchmarks.traces.imports [--events 1e6]
[--large 9e6]`.

Two files of Chrome's trace events: the generated trace of the other viewers (peers.py), and one like PyTorch's profiler
writes it, in which each launch has arguments of its own, a kernel and a flow; of the latter a large one, too. A process
opens each and sums up every label with an empty cache folder, then again. Writes its section of
docs/measured/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.document import machine_sentence, write_section
from benchmarks.traces.peers import inputs

#: A file that changed this long ago (seconds) is kept.
_SETTLED = 60


def main() -> int:
    """Generate, measure, print, write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=float, default=1e6)
    parser.add_argument("--large", type=float, default=9e6, help="events of the large trace, of 1.5 GB by default")
    parser.add_argument("--scratch", type=Path, help="keep files here")
    arguments = parser.parse_args()
    events = int(arguments.events)
    with tempfile.TemporaryDirectory() as temporary:
        scratch = arguments.scratch or Path(temporary)
        files = {
            "the generated trace": inputs(scratch, events)["chrome"],
            "like PyTorch's": _like_pytorch(scratch, events),
            f"like PyTorch's, {int(arguments.large):,} events": _like_pytorch(scratch, int(arguments.large)),
        }
        rows = [_row(name, path, Path(temporary)) for name, path in files.items()]
    text = section(rows, events, int(arguments.large), _start())
    print(text)
    write_section("trace imports", text)
    return 0


def _like_pytorch(scratch: Path, events: int) -> Path:
    path = scratch / f"pytorch-{events}.json"
    if not path.is_file():
        with path.open("w") as file:
            file.write('{"schemaVersion": 1, "traceEvents": [\n')
            file.write(",\n".join(_texts(events)))
            file.write("\n]}\n")
    return path


def _texts(events: int) -> Iterator[str]:
    """An operator, its launch, the kernel, and the flow between them; microseconds since 1970."""
    chance, time = random.Random(3), 1_700_000_000_000_000.0
    for number in range(events // 5):
        time += 20 * chance.random()
        facts = f'"External id": {number}'
        launch = f'{facts}, "cbid": 211, "correlation": {number}'
        kernel = (
            f'{facts}, "device": 0, "stream": 7, "correlation": {number}, "grid": [{chance.randrange(1, 300)}, 1, 1]'
        )
        yield _span("cpu_op", f"aten::op{chance.randrange(120)}", 77, time, 9.5, facts)
        yield _span("cuda_runtime", "cudaLaunchKernel", 77, time + 2, 3.25, launch)
        flow = f'"id": {number}, "cat": "ac2g", "name": "ac2g"'
        yield f'{{"ph": "s", "pid": 77, "tid": 77, "ts": {time + 2:.3f}, {flow}}}'
        name = f"void at::native::vectorized_elementwise_kernel<4, at::native::f{chance.randrange(80)}>"
        yield _span("kernel", name, 7, time + 10, 8.125, kernel)
        yield f'{{"ph": "f", "bp": "e", "pid": 7, "tid": 7, "ts": {time + 10:.3f}, {flow}}}'


def _span(category: str, name: str, thread: int, time: float, duration: float, facts: str) -> str:
    place = f'"pid": {thread}, "tid": {thread}, "ts": {time:.3f}, "dur": {duration:.3f}'
    return f'{{"ph": "X", "cat": "{category}", "name": "{name}", {place}, "args": {{{facts}}}}}'


def _row(name: str, path: Path, folder: Path) -> dict[str, object]:
    """Processor seconds of the first reading and of the next one, and MiB of the first."""
    os.utime(path, (path.stat().st_mtime - _SETTLED,) * 2)
    environment = os.environ | {"POPVISION_TRACE_CACHE": str(folder / f"cache-{path.stem}")}
    first, again = (_measured(path, environment) for _ in range(2))
    size = path.stat().st_size / 1e6
    return {"name": name, "mb": size, "first": first[0], "again": again[0], "mib": first[1]}


def _start() -> float:
    """Processor seconds of a process that reads nothing."""
    return _used(_LIBRARIES + _MEASURE)[0]


_LIBRARIES = """
import json, resource, sys
import pandas
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
"""
_READ = "label_statistics(TraceSource(sys.argv[1]))\n"
_MEASURE = """
used = resource.getrusage(resource.RUSAGE_SELF)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps([used.ru_utime + used.ru_stime, peak]))
"""


def _measured(path: Path, environment: dict[str, str]) -> tuple[float, float]:
    return _used(_LIBRARIES + _READ + _MEASURE, path, environment=environment)


def _used(program: str, *arguments: Path, environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Processor seconds and MiB of a program."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory


def section(rows: list[dict[str, object]], events: int, large: int, start: float) -> str:
    """The table of docs/measured/benchmarks.md; `start` are the seconds of a process that reads nothing."""
    lines = [
        "## Traces of other tools, first and again",
        "",
        f"`python -m benchmarks.traces.imports --events {events} --large {large}`. {events:,} Chrome trace events "
        "where the row does not say another number; processor time of a "
        f"process that opens the file and sums up every label, Python's start and pandas included ({start:.1f} s). The "
        f"first reading imports, the next one opens what was kept. {machine_sentence()} What peers take for the same "
        "events stands in the section on other viewers, which read all of the file each time.",
        "",
        "| trace | file (MB) | first (s) | again (s) | memory of the first (MiB) |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        lines.append(
            f"| {row['name']} | {row['mb']:,.0f} | {row['first']:.1f} | {row['again']:.1f} | {row['mib']:,.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
