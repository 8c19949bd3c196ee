"""Buckets of durations against sorted lists: every rank, repeated durations, very long ones, few and many labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace import duration_buckets
from popvision.analysis.trace.columns import HostTrace, Lane, TraceThread
from popvision.analysis.trace.statistics import window_statistics
from popvision.formats.pvti.names import Names
from popvision.formats.pvti.reader import ThreadRow
from popvision.kept import Kept


@pytest.fixture(autouse=True)
def _small_steps() -> Iterator[None]:
    """Buckets of two sampled events, a sample of one event in some, and steps of a few events."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duration_buckets, "_SAMPLE", 150)
        patch.setattr(duration_buckets, "_FEWEST", 2)
        patch.setattr(duration_buckets, "_CHUNK", 7)
        patch.setattr(duration_buckets, "_SORTED_AT_ONCE", 5)
        yield


class _Columns(HostTrace):
    """A trace without a file."""

    files = ()
    series, heatmaps = [], []
    has_checksums = True

    def metadata(self, thread: int, site: int) -> str | None:
        return None

    def metadata_texts(self, thread: int) -> Mapping[int, str]:
        return {}


DURATIONS = st.one_of(st.integers(0, 5), st.integers(0, 300), st.sampled_from([0, 1, 1 << 32, (1 << 56) + 3, 1 << 61]))


def trace_of(lanes: list[list[tuple[int, int]]], names: int) -> HostTrace:
    """A thread per lane with events (label, duration) that follow one another."""
    threads = []
    for number, events in enumerate(lanes):
        label, duration = (np.array(column, np.int64) for column in zip(*events, strict=True))
        start = np.minimum(np.arange(len(events)) * 1000, 1 << 40)
        columns = (
            column.astype(np.min_scalar_type(int(column.max()))) for column in (duration, label, label, 0 * label)
        )
        threads.append(
            TraceThread(
                ThreadRow(number, number, "", 1),
                [Lane(start, *columns)],
                np.zeros(0, np.int64),
                np.zeros(0, np.uint8),
                np.zeros(0, np.uint8),
                frozenset(),
            )
        )
    trace = _Columns()
    trace.threads, trace.begin, trace.end, trace.kept = threads, 0, 1 << 62, Kept()
    trace.names = Names(np.arange(names), np.zeros(names, np.int32), [f"l{n}" for n in range(names)], ["c"])
    return trace


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 4), DURATIONS), min_size=1, max_size=120), min_size=1, max_size=3),
    st.integers(5, 70_000),
)
def test_every_rank_is_that_of_a_sorted_list(lanes: list[list[tuple[int, int]]], names: int) -> None:
    source = trace_of(lanes, names)
    window = window_statistics(source)
    durations: dict[int, list[int]] = {}
    for label, duration in (event for lane in lanes for event in lane):
        durations.setdefault(label, []).append(duration)
    assert window.name.tolist() == sorted(durations)
    assert window.count.tolist() == [len(durations[label]) for label in sorted(durations)]
    for label, held in durations.items():
        held.sort()
        every = np.full(len(held), label)
        assert window.window.at_ranks(every, np.arange(len(held))).tolist() == held
        limits = sorted({limit for each in held for limit in (each, each + 1, max(0, each - 1))})
        shorter = [sum(each < limit for each in held) for limit in limits]
        assert window.window.below(np.full(len(limits), label), np.array(limits)).tolist() == shorter


def test_a_duration_that_fills_quantiles_is_a_bucket_of_its_own() -> None:
    events = [(0, 7)] * 400 + [(0, duration) for duration in range(100, 140)]
    buckets = duration_buckets.duration_buckets(trace_of([events], 1))
    (seven,) = np.flatnonzero(buckets.low == 7)
    assert buckets.single[seven]
    assert (buckets.of_event[:400] == seven).all()
    assert not buckets.single[buckets.of_event[400:]].all()
