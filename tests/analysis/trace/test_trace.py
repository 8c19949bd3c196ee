"""Drawing questions of a host trace against loops over plain rows."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.columns import Lane
from popvision.analysis.trace.drawing import (
    blocks_in,
    column_widths,
    events_between,
    heatmap_in,
    instants_in,
    overview,
    overview_strip,
    samples_in,
)
from popvision.analysis.trace.source import TraceSource
from popvision.formats.pvti.generate import generate_trace
from tests.analysis.trace.trace_case import Span, make_trace, nested_spans


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> TraceSource:
    path = tmp_path_factory.mktemp("trace") / "g.pvti"
    generate_trace(path, 60_000, threads=2, seed=4)
    return TraceSource(path)


def lanes_of(source: TraceSource) -> list[Lane]:
    return [lane for thread in source.threads for lane in thread.lanes]


@pytest.mark.parametrize("width", [1, 40, 1000, 16_000])
def test_blocks_hold_every_event_of_the_whole_trace(generated: TraceSource, width: int) -> None:
    """Counts and busy time add up at every zoom; blocks never overlap; a block of one is that event."""
    for lane in lanes_of(generated):
        blocks = blocks_in(lane, generated.begin, generated.end + 1, width)
        assert blocks.count.sum() == len(lane)
        assert blocks.busy.sum() == lane.duration.sum(dtype=np.int64)
        assert (blocks.end[:-1] <= blocks.start[1:]).all()
        assert (np.cumsum(blocks.count)[:-1] == blocks.first[1:]).all()
        single = blocks.count == 1
        rows = blocks.first[single]
        assert (blocks.start[single] == lane.start[rows]).all()
        assert (blocks.busy[single] == lane.duration[rows]).all()
        assert (blocks.name[single] == lane.name[rows]).all()


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.7), (0.5, 0.52), (0.5, 0.5001), (0.9, 1.5)])
def test_blocks_of_a_window_cover_the_events_that_overlap_it(generated: TraceSource, low: float, high: float) -> None:
    span = generated.end - generated.begin
    begin, end = generated.begin + int(low * span), generated.begin + int(high * span)
    counted = 0
    for lane in lanes_of(generated):
        inside = (lane.start < end) & (lane.start + lane.duration.astype(np.int64) > begin)
        counted += int(inside.sum())
        blocks = blocks_in(lane, begin, end, 800)
        wanted = np.flatnonzero(inside)
        held = (
            np.concatenate(
                [np.arange(first, first + count) for first, count in zip(blocks.first, blocks.count, strict=True)]
            )
            if len(blocks)
            else np.zeros(0)
        )
        assert np.isin(wanted, held).all()
        if (blocks.count == 1).all():
            assert held.tolist() == wanted.tolist()
    assert events_between(generated, begin, end) == counted


def test_merging_happens_only_below_a_pixel(generated: TraceSource) -> None:
    span = generated.end + 1 - generated.begin
    for lane in lanes_of(generated):
        blocks = blocks_in(lane, generated.begin, generated.end + 1, 500)
        last = np.append(blocks.first[1:], len(lane)) - 1
        begins_within = lane.start[last] - blocks.start
        assert (begins_within[blocks.count > 1] <= span / 500).all()


def test_the_name_of_a_block_is_that_of_its_longest_event(generated: TraceSource) -> None:
    lane = generated.threads[0].lanes[-1]
    blocks = lane.mipmap.levels[0].blocks()
    for index in range(0, len(blocks), 97):
        rows = slice(blocks.first[index], blocks.first[index] + blocks.count[index])
        longest = lane.duration[rows] == lane.duration[rows].max()
        assert blocks.name[index] in lane.name[rows][longest]


@given(spans=nested_spans(), window=st.tuples(st.integers(0, 220), st.integers(1, 220)))
def test_windows_of_small_traces(tmp_path: Path, spans: list[Span], window: tuple[int, int]) -> None:
    source = make_trace(tmp_path / "t.pvti", spans)
    begin, end = window[0], window[0] + window[1]
    inside = [span for span in spans if span[1] < end and span[2] > begin]
    assert events_between(source, begin, end) == len(inside)
    seen = [
        (index, int(low), int(high))
        for index, thread in enumerate(source.threads)
        for lane in thread.lanes
        for low, high in zip(blocks_in(lane, begin, end, 100).start, blocks_in(lane, begin, end, 100).end, strict=True)
    ]
    threads = sorted({span[0] for span in spans})
    assert sorted(seen) == sorted((threads.index(span[0]), span[1], span[2]) for span in inside)


def test_hidden_channels_leave_exactly_the_others(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "t.pvti", [(0, 0, 50, "a/x"), (0, 10, 20, "b/y"), (0, 60, 70, "b/x")])
    hidden = frozenset({source.names.channel_name.index("b")})
    first, second = source.lanes_without(0, hidden)
    blocks = blocks_in(first, 0, 100, 10)
    assert (blocks.start.tolist(), blocks.first.tolist(), len(second)) == ([0], [0], 0)
    only_b = source.lanes_without(0, frozenset({1 - next(iter(hidden))}))
    assert [blocks_in(lane, 0, 100, 10).first.tolist() for lane in only_b] == [[1], [0]]


def test_instants_are_thinned_to_one_per_pixel(tmp_path: Path) -> None:
    source = make_trace(tmp_path / "t.pvti", [(0, 0, 100, "a/x")], [(0, time, "a/flag") for time in range(0, 100, 2)])
    times, _, rows = instants_in(source.threads[0], 0, 100, 100)
    assert times.tolist() == list(range(0, 100, 2))
    times, _, rows = instants_in(source.threads[0], 0, 100, 10)
    assert times.tolist() == list(range(0, 100, 10))
    assert rows.tolist() == list(range(0, 50, 5))


def test_the_overview_fills_pixels_as_much_as_events_do(tmp_path: Path) -> None:
    spans = [(0, 0, 40, "a/x"), (0, 45, 46, "b/y"), (0, 90, 100, "b/y")]
    share, channel = overview(make_trace(tmp_path / "t.pvti", spans), 10)
    assert share.tolist() == [[255, 255, 255, 255, 26, 0, 0, 0, 0, 255]]
    assert channel[0, [0, 3, 4, 9]].tolist() == [0, 0, 1, 1]


def test_overview_of_a_large_trace_adds_up(generated: TraceSource) -> None:
    share, _ = overview(generated, 300)
    span = generated.end - generated.begin
    for row, lane in enumerate(lanes_of(generated)):
        busy = int(lane.duration.sum(dtype=np.int64)) / span
        assert share[row].mean() / 255 == pytest.approx(busy, abs=0.006)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7, 64])
def test_rows_of_the_overview_show_the_fullest_of_their_lanes(generated: TraceSource, rows: int) -> None:
    share, channel = overview(generated, 40)
    small, of_fullest = overview_strip(generated, 40, rows)
    height = min(rows, len(share))
    assert small.shape == of_fullest.shape == (height, 40)
    for row, pixel in itertools.product(range(height), range(40)):
        lanes = [lane for lane in range(len(share)) if lane * height // len(share) == row]
        fullest = max(lanes, key=lambda lane: share[lane, pixel])
        assert (small[row, pixel], of_fullest[row, pixel]) == (share[fullest, pixel], channel[fullest, pixel])


def test_thinned_samples_keep_every_extreme() -> None:
    random = np.random.default_rng(2)
    times = np.cumsum(random.integers(1, 5, 20_000))
    values = random.normal(0, 1, len(times))
    time, value = samples_in(times, values, int(times[0]), int(times[-1]) + 1, 50)
    assert len(time) <= 4 * 52
    pixel = (times - times[0]) * 50 // (times[-1] + 1 - times[0])
    for each in range(50):
        whole, kept = values[pixel == each], value[(time - times[0]) * 50 // (times[-1] + 1 - times[0]) == each]
        assert (kept.min(), kept.max(), kept[0], kept[-1]) == (whole.min(), whole.max(), whole[0], whole[-1])


def test_samples_of_a_window_hold_the_value_that_reaches_into_it() -> None:
    times, values = np.array([0, 10, 20, 30, 40]), np.array([0.0, 1, 2, 3, 4])
    assert samples_in(times, values, 12, 28, 100)[1].tolist() == [1, 2, 3]
    assert samples_in(times, values, 50, 60, 100)[1].tolist() == [4]


def test_heat_map_columns_stop_at_pauses_and_add_up_within_a_pixel() -> None:
    times = np.array([0, 10, 20, 30, 500, 510])
    assert column_widths(times).tolist() == [10, 10, 10, 20, 10, 10]
    table = np.arange(12, dtype=np.uint32).reshape(6, 2)
    start, end, cells = heatmap_in(times, table, 0, 600, 600)
    assert (start.tolist(), end.tolist()) == (times.tolist(), [10, 20, 30, 50, 510, 520])
    assert cells.tolist() == table.tolist()
    start, end, cells = heatmap_in(times, table, 0, 600, 3)
    assert (start.tolist(), end.tolist()) == ([0, 500], [50, 520])
    assert cells.tolist() == [[12, 16], [18, 20]]
    assert cells.sum() == table.sum()
