"""Seeded host traces of any size, for benchmarks and tests: a training program's threads, graphs and heat map."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from popvision.formats.pvti.columns import Instants, Slices
from popvision.formats.pvti.finalise import finalise, write_instants, write_slices
from popvision.formats.pvti.summed_tables import SummedTables
from popvision.formats.pvti.writer import TraceWriter

_CHANNELS = (
    "application",
    "dataset",
    "Poplar Runtime",
    "graphConstruction/poplin",
    "graphConstruction/popops",
    "popart",
)
_FAN_OUT = 6
_RUN = 1 << 18

Ints = NDArray[np.int64]


def generate_trace(
    path: str | os.PathLike[str], events: int, *, threads: int = 12, labels: int = 240, seed: int = 1
) -> None:
    """Write a finalised trace of `events` nested events (exactly) on `threads` threads in four lanes each.

    The same arguments give the same bytes but for SQLite's own header counters. Raises FileExistsError when the path
    is taken, ValueError for fewer events than threads.
    """
    if not 1 <= threads <= events or labels < 4:
        raise ValueError(f"{events} events on {threads} threads with {labels} labels cannot be generated.")
    random = np.random.default_rng(seed)
    writer = TraceWriter(path, {"producer": "popvision generator", "run_id": f"generated-{seed}"}, clock_offset_ns=0)
    begin = 1_700_000_000_000_000_000
    with writer.transaction():
        writer.add_process(1, 4242, 1, "generated")
        for thread in range(threads):
            writer.set_thread(thread + 1, 1, 5000 + thread, "MainThread" if thread == 0 else f"worker-{thread}")
        _declare_labels(writer, labels)
    shares = [events // threads + (thread < events % threads) for thread in range(threads)]
    lanes = [_counts(share) for share in shares]
    with writer.transaction():
        ends = [
            _write_thread(writer.tables, thread, counts, begin, labels, random)
            for thread, counts in enumerate(lanes, start=1)
        ]
    _write_charts(writer, begin, max(ends), random)
    writer.close()
    finalise(path)


def _declare_labels(writer: TraceWriter, labels: int) -> None:
    for index, name in enumerate(_CHANNELS):
        writer.set_channel(index + 1, name, True)
    for label in range(labels):
        channel = label % len(_CHANNELS)
        writer.add_string(label + 1, f"{_CHANNELS[channel].split('/')[-1]}::operation{label}")
        writer.add_site(label + 1, channel + 1, label + 1, None)


def _counts(events: int) -> list[int]:
    """Events of each lane from the outermost: about six times as many in each lane as above it."""
    counts: list[int] = []
    left = events
    for depth in range(3, -1, -1):
        width = sum(_FAN_OUT**level for level in range(depth + 1))
        counts.append(max(1, left // width) if depth else left)
        left -= counts[-1]
        if left <= 0:
            break
    return counts


def _write_thread(
    tables: SummedTables, thread: int, counts: list[int], begin: int, labels: int, random: np.random.Generator
) -> int:
    """Write the lanes and instants of a thread; the end of its last event."""
    lanes = _lanes(counts, begin, random)
    quarter = labels // 4
    site = random.integers(0, quarter, len(lanes[0][0]))
    for depth, (start, duration, parent) in enumerate(lanes):
        if depth:
            # An operation calls at most six others, so that paths repeat as in a program.
            site = (site[parent] * 7 + random.integers(0, _FAN_OUT, len(start))) % quarter
        _write_lane(tables, thread, depth, start, duration, parent, 1 + depth * quarter + site)
    outermost = lanes[0][0]
    time = outermost[np.linspace(0, len(outermost) - 1, min(200, len(outermost))).astype(np.int64)]
    zero = np.zeros(len(time), np.uint64)
    write_instants(tables, thread, Instants(time, np.ones(len(time), np.uint64), zero, zero))
    return int(outermost[-1] + lanes[0][1][-1])


def _lanes(counts: list[int], begin: int, random: np.random.Generator) -> list[tuple[Ints, Ints, Ints]]:
    """(start, duration, parent) of each lane, outermost first; the innermost events decide about the rest."""
    n = counts[-1]
    duration = np.maximum(1, random.lognormal(8, 1.2, n)).astype(np.int64)
    gap = random.lognormal(6, 1, n).astype(np.int64) + 2 * len(counts)
    # A pause now and then, as between epochs.
    gap[:: max(1, n // 20)] += int(duration.sum() // 40)
    start = begin + np.cumsum(gap) + np.concatenate([[0], np.cumsum(duration)[:-1]])
    lanes = []
    for depth in range(len(counts) - 1, -1, -1):
        above = counts[depth - 1] if depth else 1
        parent = np.arange(len(start)) * above // len(start)
        lanes.append((start, duration, parent))
        first = np.searchsorted(parent, np.arange(above))
        last = np.append(first[1:], len(start)) - 1
        start, duration = start[first] - 1, start[last] + duration[last] + 2 - start[first]
    return lanes[::-1]


def _write_lane(
    tables: SummedTables, thread: int, depth: int, start: Ints, duration: Ints, parent: Ints, site: Ints
) -> None:
    for low in range(0, len(start), _RUN):
        run = slice(low, low + _RUN)
        columns = (column[run].view(np.uint64) for column in (duration, site, parent))
        write_slices(tables, thread, depth, Slices(start[run], *columns))


def _write_charts(writer: TraceWriter, begin: int, end: int, random: np.random.Generator) -> None:
    """A loss curve, an accuracy curve and a heat map of weights over the span of the events."""
    times = np.linspace(begin, end, 2000).astype(np.int64)
    progress = np.linspace(0, 1, len(times))
    curves = {
        ("Loss", ""): 2.3 * np.exp(-4 * progress) + random.normal(0, 0.03, len(times)),
        ("Accuracy", "%"): 100 - 90 * np.exp(-5 * progress),
    }
    with writer.transaction():
        for index, ((name, unit), values) in enumerate(curves.items(), start=1):
            writer.add_graph(index, name, unit)
            writer.add_series(index, index, "Training")
            writer.add_samples(index, times.tolist(), values.tolist())
        edges = np.arange(-16, 17)
        writer.add_heatmap(1, "weights", "2^x", edges.tolist())
        for time, share in zip(times[::10].tolist(), progress[::10].tolist(), strict=True):
            values = np.abs(random.normal(0, 0.1 + share, 500))
            counts = np.bincount(np.searchsorted(2.0**edges, values, "right"), minlength=len(edges) + 1)
            writer.add_heatmap_column(1, time, counts.tolist())
