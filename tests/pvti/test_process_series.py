"""Processor time and memory that every trace records by itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from popvision.formats.pvti.reader import TraceReader
from tests.pvti.traced import only_trace, run, traces

WORK = """
import time
with pvti.Tracepoint(channel, "begin"):
    begin = time.process_time()
until = time.perf_counter() + 0.8
while time.perf_counter() < until:
    sum(range(1000))
block = bytearray(64 << 20)
block[::4096] = bytes(len(block[::4096]))
time.sleep(0.6)
print(time.process_time() - begin)
"""


def values(reader: TraceReader, graph: str) -> tuple[list[int], list[float]]:
    (series,) = [row for row in reader.series() if row.graph == graph]
    times, numbers = reader.samples(series.id)
    return times.tolist(), numbers.tolist()


def test_shares_times_windows_are_the_processor_time(tmp_path: Path) -> None:
    spent = float(run(WORK, tmp_path).stdout)
    reader = only_trace(tmp_path)
    times, shares = values(reader, "Process CPU")
    assert len(times) >= 4
    windows = np.diff(times)
    assert (windows[:-1] >= 250_000_000).all()
    # Between the file's creation and the first reading, and after the last one, a little more is spent.
    assert 0 <= float(np.dot(shares[:-1], windows)) / 1e11 - spent < 0.3
    assert min(shares) < max(shares) / 2
    assert shares[-1] == shares[-2]
    # The first value holds from the file's creation, before the first event.
    assert abs(times[0] - int(reader.events(reader.threads()[0].id).lanes[0].start[0])) < 500_000_000


def test_memory_grows_with_what_the_program_takes(tmp_path: Path) -> None:
    run(WORK, tmp_path)
    _, mebibytes = values(only_trace(tmp_path), "Process memory")
    assert 64 <= mebibytes[-1] - mebibytes[0] < 80


def test_a_short_program_and_one_that_says_so_have_none(tmp_path: Path) -> None:
    run("with pvti.Tracepoint(channel, 'x'): pass\n", tmp_path / "short")
    assert only_trace(tmp_path / "short").series() == []
    off = tmp_path / "off"
    run(WORK, off, options=json.dumps({"directory": str(off), "process": False}))
    assert only_trace(off).series() == []


def test_a_forked_child_has_its_own(tmp_path: Path) -> None:
    run("import os\n" + WORK + "if os.fork() == 0:\n" + WORK.replace("\n", "\n    ") + "\nelse: os.wait()\n", tmp_path)
    for reader in traces(tmp_path):
        times, _ = values(reader, "Process CPU")
        assert len(times) >= 4
