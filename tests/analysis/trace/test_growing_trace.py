"""A trace that grows, read in pieces, holds what one reading of the whole file holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.drawing import blocks_in
from popvision.analysis.trace.growing import FollowedTrace
from popvision.analysis.trace.joint import JointTrace, join_traces
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.writer import TraceWriter
from tests.analysis.trace.trace_case import JournalRow, journal_rows

RUN = "poplar::core::Engine::run"


@contextmanager
def recording(path: Path, offset: int = 0) -> Iterator[TraceWriter]:
    """A trace of two threads with labels x, y, z whose writer stays open."""
    writer = TraceWriter(path, {"run_id": "one"}, clock_offset_ns=offset)
    with writer.transaction():
        writer.add_process(1, 7, None, "p")
        writer.set_channel(1, "work", True)
        for site, label in enumerate("xyz", start=1):
            writer.add_string(site, label)
            writer.add_site(site, 1, site, None)
    try:
        yield writer
    finally:
        writer.close()


def add(writer: TraceWriter, thread: int, rows: list[tuple[int, int]]) -> None:
    with writer.transaction():
        writer.set_thread(thread + 1, 1, 100 + thread, f"thread {thread}")
        writer.add_events(thread + 1, [code for code, _ in rows], [time for _, time in rows])


def described(source: HostTrace) -> list[object]:
    """All that a trace holds, as plain values; labels in place of the numbers of names."""
    facts: list[object] = [source.begin, source.end, source.events, [each.row for each in source.threads]]
    label = source.names.label
    for thread in source.threads:
        for lane in thread.lanes:
            names = [label[name] for name in lane.name]
            facts += [lane.start.tolist(), lane.duration.tolist(), names, lane.parent.tolist()]
        facts += [thread.instant_time.tolist(), [label[name] for name in thread.instant_name]]
        facts.append(sorted(thread.unfinished))
    counts = source.events_of_names().tolist()
    facts.append(sorted((name, count) for name, count in zip(label, counts, strict=True) if count))
    facts += [[at, depth, rows.tolist()] for at, depth, rows in source.positions_of("x")]
    facts += [(row.name, times.tolist(), values.tolist()) for row, times, values in source.series]
    facts += [(row.name, times.tolist(), table.tolist()) for row, times, table in source.heatmaps]
    return facts


@given(journal_rows(), st.integers(1, 9))
def test_pieces_make_the_same_trace(rows: list[JournalRow], piece: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.pvti")
        now = [5, 5]
        with recording(path, offset=1000) as writer:
            followed = FollowedTrace(path)
            for begin in range(0, len(rows), piece):
                for thread in (0, 1):
                    added = []
                    for _, step, kind, label in (row for row in rows[begin : begin + piece] if row[0] == thread):
                        now[thread] += step
                        added.append((("xyz".index(label) + 1) << 2 | kind, now[thread]))
                    if added:
                        add(writer, thread, added)
                grown = followed.now()
                grown.positions_of("x")
                assert described(grown) == described(TraceSource(path))
        finalise(path)
        assert described(followed.now()) == described(TraceSource(path))


def test_lines_and_heat_maps_grow(tmp_path: Path) -> None:
    path = tmp_path / "run.pvti"
    with recording(path) as writer:
        followed = FollowedTrace(path)
        with writer.transaction():
            writer.add_graph(1, "loss", "")
            writer.add_series(1, 1, "training")
            writer.add_heatmap(1, "weights", "", [0.0, 1.0, 2.0])
        for number in range(5):
            with writer.transaction():
                writer.add_samples(1, [10 * number, 10 * number + 3], [number / 2, 1.0])
                writer.add_heatmap_column(1, 7 * number, [0, number, 1, 0])
            assert described(followed.now()) == described(TraceSource(path))
        assert followed.now().series[0][2].tolist()[-2:] == [2.0, 1.0]


def test_names_declared_late_are_known(tmp_path: Path) -> None:
    path = tmp_path / "run.pvti"
    with recording(path) as writer:
        followed = FollowedTrace(path)
        add(writer, 0, [(1 << 2, 10), (1 << 2 | 1, 20)])
        followed.now()
        with writer.transaction():
            writer.set_channel(2, "late", True)
            writer.add_string(9, RUN)
            writer.add_site(9, 2, 9, None)
        add(writer, 0, [(9 << 2, 30)])
        (found,) = followed.now().positions_of(RUN)
        assert (found[0], found[1], found[2].tolist()) == (0, 0, [1])  # it has not ended
        add(writer, 0, [(9 << 2 | 1, 40), (9 << 2, 50), (9 << 2 | 1, 60)])
        assert followed.now().positions_of(RUN)[0][2].tolist() == [1, 2]


def test_blocks_of_a_growing_lane_count_all_events(tmp_path: Path) -> None:
    path, random = tmp_path / "run.pvti", np.random.default_rng(3)
    with recording(path) as writer:
        followed, time = FollowedTrace(path), 100
        for number in range(12):
            rows = []
            for _ in range(int(random.integers(1, 4000))):
                gap = 10 if number < 6 else 1000  # the rate of events changes
                rows += [(1 << 2, time), (1 << 2 | 1, time + 1 + int(random.integers(gap)))]
                time = rows[-1][1] + int(random.integers(gap))
            add(writer, 0, rows)
            grown = followed.now()
            lane, whole = grown.threads[0].lanes[0], TraceSource(path).threads[0].lanes[0]
            assert lane.duration.tolist() == whole.duration.tolist()
            for level in lane.mipmap.levels:
                blocks = level.blocks()
                assert blocks.count.sum() == len(whole)
                assert blocks.busy.tolist() == np.add.reduceat(whole.duration.astype(np.int64), blocks.first).tolist()
                assert (np.diff(blocks.start >> level.shift) > 0).all()
            drawn = blocks_in(lane, grown.begin, grown.end + 1, 300)
            assert len(drawn) < 5000
            assert drawn.count.sum() == len(whole)
        middle = grown.begin + (grown.end - grown.begin) // 2
        for window in ((None, None), (middle, middle + (grown.end - grown.begin) // 5)):
            assert label_statistics(grown, *window).equals(label_statistics(TraceSource(path), *window))


def test_another_recording_in_its_place_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.pvti"
    with recording(path) as writer:
        followed = FollowedTrace(path)
        add(writer, 0, [(1 << 2, 10), (1 << 2 | 1, 20)])
        assert followed.now().events == 1
    path.unlink()
    with recording(path) as writer:
        add(writer, 0, [(2 << 2, 10), (2 << 2 | 1, 20), (2 << 2, 30), (2 << 2 | 1, 50)])
        assert described(followed.now()) == described(TraceSource(path))


def test_a_file_cut_off_in_place_shows_what_is_left(tmp_path: Path) -> None:
    """The row with the last events is still there; that their bytes are gone shows in the size of the file."""
    path = tmp_path / "run.pvti"
    with recording(path) as writer:
        for number in range(40):
            times = range(number * 1000, number * 1000 + 600, 2)
            add(writer, 0, [row for time in times for row in ((1 << 2, time), (1 << 2 | 1, time + 1))])
    followed = FollowedTrace(path)
    assert followed.now().events == 12_000
    os.truncate(path, path.stat().st_size - 8192)
    grown = followed.now()
    assert grown.lost
    assert 0 < grown.events < 12_000
    assert described(grown) == described(TraceSource(path))


def test_a_damaged_chunk_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "run.pvti"
    with recording(path) as writer:
        followed = FollowedTrace(path)
        add(writer, 0, [(1 << 2, 10), (1 << 2 | 1, 20)])
        followed.now()
        add(writer, 0, [(1 << 2, 30), (1 << 2 | 1, 40)])
        writer.connection.execute("UPDATE raw_chunks SET crc = 1 WHERE id = 2")
        grown = followed.now()
        assert grown.events == 1
        assert "checksum" in grown.lost[0]


@pytest.mark.parametrize("pieces", [1, 40])
def test_a_reading_touches_new_chunks_alone(tmp_path: Path, pieces: int) -> None:
    """Chunks that were read may be damaged later: nobody looks at them again."""
    path = tmp_path / "run.pvti"
    with recording(path) as writer:
        followed = FollowedTrace(path)
        for number in range(pieces):
            add(writer, 0, [(1 << 2, 10 + number * 20), (1 << 2 | 1, 20 + number * 20)])
        followed.now()
        writer.connection.execute("UPDATE raw_chunks SET data = zeroblob(length(data))")
        add(writer, 0, [(1 << 2, 10 + pieces * 20), (1 << 2 | 1, 20 + pieces * 20)])
        grown = followed.now()
        assert (grown.events, grown.lost) == (pieces + 1, [])


def mark(phase: str, time: int, name: str) -> str:
    return json.dumps({"ph": phase, "ts": time, "name": name, "pid": 1, "tid": 1})


def ends_of(source: TraceSource) -> dict[str, tuple[int, bool]]:
    """Label -> (end in us, whether it is open), of a trace in which each label has one span."""
    return {
        source.names.label[lane.name[at]]: (int(lane.end[at]) // 1000, (depth, at) in thread.unfinished)
        for thread in source.threads
        for depth, lane in enumerate(thread.lanes)
        for at in range(len(lane))
    }


def test_late_ends_move_spans_of_another_tools_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    followed = FollowedTrace(path)
    readings = []
    for added in (
        ["[" + mark("B", 0, "a"), mark("B", 10, "b"), mark("i", 100, "i")],
        [mark("E", 110, "b")],  # in its time: nothing shown so far was wrong
        [mark("E", 50, "a")],  # a was shown up to 110
        [mark("E", 20, "b")],  # b ended at 20, its end at 110 is one of none
        [mark("i", 200, "i") + "]"],
    ):
        with path.open("a") as file:
            file.write(",\n".join(["", *added]) if file.tell() else ",\n".join(added))
        reading = followed.now()
        readings.append((ends_of(reading), reading.moved, reading.files[0].state))
    assert readings == [
        ({"a": (100, True), "b": (100, True)}, 0, "recording"),
        ({"a": (110, True), "b": (110, False)}, 0, "recording"),
        ({"a": (50, False), "b": (110, False)}, 1, "recording"),
        ({"a": (50, False), "b": (20, False)}, 2, "recording"),
        ({"a": (50, False), "b": (20, False)}, 2, "finalised"),
    ]
    assert TraceSource(path).moved == 0
    assert JointTrace.moved == 0
    assert join_traces([followed.now(), followed.now()]).moved == 4
    path.write_text("[" + mark("X", 0, "another"))
    assert followed.now().moved == 0


def test_many_moved_spans_are_counted_apart(tmp_path: Path) -> None:
    """Spans of equal begins and names count by how many of them have other ends."""
    path = tmp_path / "t.json"
    followed = FollowedTrace(path)
    begins = [mark("B", 0, "f") for _ in range(4)] + [mark("i", 1000, "last")]
    path.write_text("[" + ",".join([*begins, mark("E", 900, "f")]))
    assert followed.now().moved == 0
    path.write_text("[" + ",".join([*begins, mark("E", 900, "f"), mark("E", 5, "f"), mark("E", 6, "f")]))
    reading = followed.now()
    assert sum(len(thread.unfinished) for thread in reading.threads) == 1
    assert reading.moved == 3  # one from 900 to 5, two from open to 6 and 900
