"""Several traces that grow, joined again at each reading, hold what the join of whole readings holds."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.alignment import MODES, Marker
from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.drawing import blocks_in
from popvision.analysis.trace.growing import FollowedTrace
from popvision.analysis.trace.growing_joint import GrowingJoin
from popvision.analysis.trace.joint import JointTrace, join_traces
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from tests.analysis.trace.test_growing_trace import add, described, recording
from tests.analysis.trace.trace_case import JournalRow, journal_rows
from tests.example_profiles import costly

Appends = list[tuple[int, list[JournalRow]]]  # (file, rows that it gets)


def described_with_channels(source: HostTrace) -> list[object]:
    names = source.names
    counts = source.events_of_names().tolist()
    channels = [names.channel_name[channel] for channel in names.channel]
    return [*described(source), sorted(each for each in zip(channels, names.label, counts, strict=True) if each[2])]


def declare(writer: TraceWriter, site: int) -> None:
    """A site of the label x, y or z again, on a channel of its own."""
    with writer.transaction():
        writer.set_channel(site, f"late {site}", True)
        writer.add_site(site, site, 1 + site % 3, None)


@costly()
@given(st.lists(st.tuples(st.integers(0, 1), journal_rows()), max_size=6), st.sampled_from(MODES), st.data())
def test_joined_pieces_make_the_same_trace(appends: Appends, mode: str, data: st.DataObject) -> None:
    marker = Marker("y", occurrence=data.draw(st.integers(0, 2))) if mode == "event" else None
    with TemporaryDirectory() as folder, ExitStack() as stack:
        paths = [Path(folder, name) for name in ("a.pvti", "b.pvti")]
        offsets = data.draw(st.sampled_from([(0, 0), (1000, 7), (10**18, 10**18 + 5)]))
        writers = [stack.enter_context(recording(*each)) for each in zip(paths, offsets, strict=True)]
        followed, join = [FollowedTrace(path) for path in paths], GrowingJoin()
        now, sites = [[5, 5], [9, 9]], [3, 3]
        for file, rows in [(0, []), *appends]:
            if data.draw(st.booleans()):
                sites[file] += 1
                declare(writers[file], sites[file])
            for thread in (0, 1):
                added = []
                for _, step, kind, label in (row for row in rows if row[0] == thread):
                    now[file][thread] += step
                    # Begin and end name the same site, so that a piece ends what an earlier one began.
                    site = "xyz".index(label) + 1 if label != "z" else sites[file]
                    added.append((site << 2 | kind, now[file][thread]))
                if added:
                    add(writers[file], thread, added)
            joint = join.join([each.now() for each in followed], mode, marker)
            whole = join_traces([TraceSource(path) for path in paths], mode, marker)
            assert joint.alignment == whole.alignment
            assert described_with_channels(joint) == described_with_channels(whole)
            assert label_statistics(joint).equals(label_statistics(whole))
        finalise(paths[1])
        joint = join.join([each.now() for each in followed], mode, marker)
        whole = join_traces([TraceSource(path) for path in paths], mode, marker)
        assert described_with_channels(joint) == described_with_channels(whole)


def add_spans(writer: TraceWriter, random: np.random.Generator, time: int) -> int:
    rows = []
    for _ in range(int(random.integers(1, 3000))):
        rows += [(1 << 2, time), (1 << 2 | 1, time + 1 + int(random.integers(10)))]
        time = rows[-1][1] + int(random.integers(10))
    add(writer, 0, rows)
    return time


def test_blocks_of_a_file_that_moves_count_all_events(tmp_path: Path) -> None:
    random, times = np.random.default_rng(4), [100, 3000]
    paths = [tmp_path / "a.pvti", tmp_path / "b.pvti"]
    with recording(paths[0]) as first, recording(paths[1]) as second:
        followed, join = [FollowedTrace(path) for path in paths], GrowingJoin()
        for _ in range(8):
            times = [add_spans(*each) for each in zip((first, second), (random, random), times, strict=True)]
            joint = join.join([each.now() for each in followed], "first")
            whole = join_traces([TraceSource(path) for path in paths], "first")
            assert joint.alignment.shifts[1] == -2900
            lane, expected = joint.threads[1].lanes[0], whole.threads[1].lanes[0]
            assert lane.start.tolist() == expected.start.tolist()
            for level in lane.mipmap.levels:
                blocks = level.blocks()
                assert blocks.count.sum() == len(expected)
                assert (
                    blocks.busy.tolist() == np.add.reduceat(expected.duration.astype(np.int64), blocks.first).tolist()
                )
            assert blocks_in(lane, joint.begin, joint.end + 1, 300).count.sum() == len(expected)


def joined(join: GrowingJoin, *followed: FollowedTrace) -> JointTrace:
    return join.join([each.now() for each in followed], "first")


def test_a_reading_leaves_the_columns_of_earlier_events_where_they_are(tmp_path: Path) -> None:
    paths = [tmp_path / "a.pvti", tmp_path / "b.pvti"]
    with recording(paths[0]) as first, recording(paths[1]) as second:
        followed, join = [FollowedTrace(path) for path in paths], GrowingJoin()
        add(first, 0, [(1 << 2, 10), (1 << 2 | 1, 20)])
        add(second, 0, [(2 << 2, 40), (2 << 2 | 1, 50), (2 << 2, 60), (2 << 2 | 1, 70)])
        before = joined(join, *followed).threads[1].lanes[0]
        add(second, 0, [(2 << 2, 80), (2 << 2 | 1, 90)])
        after = joined(join, *followed).threads[1].lanes[0]
        assert after.start.tolist() == [10, 30, 50]
        assert np.shares_memory(before.start, after.start)


@pytest.mark.parametrize("at", [0, 1])
def test_another_recording_of_one_file_is_joined_anew(tmp_path: Path, at: int) -> None:
    paths = [tmp_path / "a.pvti", tmp_path / "b.pvti"]
    followed, join = [FollowedTrace(path) for path in paths], GrowingJoin()
    with ExitStack() as kept, ExitStack() as replaced:
        for number, path in enumerate(paths):
            writer = (replaced if number == at else kept).enter_context(recording(path))
            add(writer, 0, [(1 << 2, 10), (1 << 2 | 1, 20), (2 << 2, 30), (2 << 2 | 1, 40)])
        assert joined(join, *followed).events == 4
        replaced.close()
        paths[at].unlink()
        add(kept.enter_context(recording(paths[at])), 0, [(3 << 2, 5), (3 << 2 | 1, 8)])
        joint = joined(join, *followed)
        whole = join_traces([TraceSource(path) for path in paths], "first")
        assert described_with_channels(joint) == described_with_channels(whole)
        assert joint.events == 3
