"""Reading .pvti files: journals and finalised files give the same; foreign and damaged files raise one sentence."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.formats.errors import FormatError
from popvision.formats.pvti.bins import decode_bins, encode_bins
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.generate import generate_trace
from popvision.formats.pvti.reader import TraceReader
from popvision.formats.pvti.writer import TraceWriter
from tests.pvti.rewriting import set_meta, without_checksums

BEGIN, END, INSTANT = 0, 1, 2


def write(path: Path, events: list[tuple[int, int, int]], *, close: bool = True) -> TraceWriter:
    """A trace of one thread: (kind, site, monotonic ns), sites 1 to 3, chunks of five events."""
    writer = TraceWriter(path, {"run_id": "r"}, clock_offset_ns=1_000_000)
    with writer.transaction():
        writer.add_process(1, 10, 1, "program")
        writer.set_thread(1, 1, 11, "main")
        writer.set_channel(1, "c", True)
        for site in (1, 2, 3):
            writer.add_string(site, f"label {site}")
            writer.add_site(site, 1, site, None)
    for low in range(0, len(events), 5):
        chunk = events[low : low + 5]
        with writer.transaction():
            writer.add_events(1, [site << 2 | kind for kind, site, _ in chunk], [time for _, _, time in chunk])
    if close:
        writer.close()
    return writer


NESTED = [
    (BEGIN, 1, 0),
    (BEGIN, 2, 10),
    (INSTANT, 3, 12),
    (END, 2, 20),
    (BEGIN, 2, 30),
    (END, 2, 45),
    (END, 1, 60),
    (BEGIN, 3, 70),
]


def check_nested(reader: TraceReader) -> None:
    (thread,) = reader.threads()
    assert (thread.tid, thread.name, thread.pid) == (11, "main", 10)
    events = reader.events(thread.id)
    outer, inner = events.lanes
    assert (outer.start - 1_000_000).tolist() == [0, 70]
    assert outer.duration.tolist() == [60, 0]
    assert (inner.start - 1_000_000).tolist() == [10, 30]
    assert inner.duration.tolist() == [10, 15]
    assert inner.parent.tolist() == [0, 0]
    instants = events.instants
    assert [int(instants.time[0]) - 1_000_000, int(instants.depth[0]), int(instants.parent[0])] == [12, 2, 0]
    assert events.unfinished == [(0, 1)]


def test_the_journal_and_the_finalised_file_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "t.pvti"
    write(path, NESTED)
    reader = TraceReader(path)
    assert reader.state == "closed"
    check_nested(reader)
    finalise(path)
    finalise(path)
    reader = TraceReader(path)
    assert reader.state == "finalised"
    check_nested(reader)
    assert [each.name for each in tmp_path.iterdir()] == ["t.pvti"]


def test_a_writer_that_never_closed_can_be_read_from_a_copy_without_its_helpers(tmp_path: Path) -> None:
    writer = write(tmp_path / "t.pvti", NESTED, close=False)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("t.pvti", "t.pvti-wal"):
        shutil.copy(tmp_path / name, copy / name)
    reader = TraceReader(copy / "t.pvti")
    assert reader.state == "recording"
    check_nested(reader)
    writer.release()


def test_foreign_files_are_one_sentence(tmp_path: Path) -> None:
    paraview = tmp_path / "image.pvti"
    paraview.write_text('<?xml version="1.0"?>\n<VTKFile type="PImageData" version="0.1"></VTKFile>\n')
    other = tmp_path / "other.pvti"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE HEATMAP_DATA(bin_quantities)")
    empty, text = tmp_path / "empty.pvti", tmp_path / "text.pvti"
    empty.touch()
    text.write_text("not a trace")
    said = {
        paraview: "ParaView",
        other: "lacks the table",
        empty: "empty",
        text: "not an SQLite file",
        tmp_path / "missing.pvti": "cannot open",
        tmp_path: "cannot open",
    }
    for path, part in said.items():
        with pytest.raises(FormatError, match=part) as caught:
            TraceReader(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_newer_major_version_is_refused_and_a_newer_minor_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.pvti"
    write(path, NESTED)
    for version, is_read in (("1.7", True), ("2.0", False), ("x", False)):
        set_meta(path, "version", version)
        if is_read:
            check_nested(TraceReader(path))
        else:
            with pytest.raises(FormatError, match=version):
                TraceReader(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE slices SET duration_ns = x'0102'",
        "UPDATE slices SET crc = crc + 1",
        "UPDATE slices SET n = 1000000000",
        "UPDATE slices SET n = -1",
        "UPDATE slices SET depth = 99999999",
        "UPDATE sites SET id = 1 << 60 WHERE id = 3",
        "UPDATE slices SET start_ns = NULL",
        "DROP TABLE slices",
    ],
)
def test_damaged_tables_are_one_sentence(tmp_path: Path, damage: str) -> None:
    from popvision.analysis.trace.source import TraceSource

    path = tmp_path / "t.pvti"
    write(path, NESTED)
    finalise(path)
    with sqlite3.connect(path) as db:
        if "NULL" in damage:
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_master SET sql = replace(sql, 'start_ns BLOB NOT NULL', 'start_ns BLOB')")
    with sqlite3.connect(path) as db:
        db.execute(damage)
    with pytest.raises(FormatError) as caught:
        TraceSource(path)
    assert "\n" not in str(caught.value)


def test_cut_and_scrambled_files_never_crash(tmp_path: Path) -> None:
    from popvision.analysis.trace.source import TraceSource

    path = tmp_path / "t.pvti"
    generate_trace(path, 3000, threads=2, seed=3)
    whole = path.read_bytes()
    random = np.random.default_rng(1)
    damaged = tmp_path / "damaged.pvti"
    for attempt in range(60):
        data = bytearray(whole)
        if attempt % 2:
            del data[int(random.integers(1, len(data))) :]
        else:
            for position in random.integers(0, len(data), 40):
                data[position] = int(random.integers(0, 256))
        damaged.write_bytes(data)
        # Anything but a FormatError fails the test.
        with contextlib.suppress(FormatError):
            source = TraceSource(damaged)
            assert len(source.series) <= 2
            assert len(source.heatmaps) <= 1


@given(st.lists(st.integers(0, 2**32 - 1) | st.just(0), max_size=40))
def test_bin_quantities_come_back(quantities: list[int]) -> None:
    assert decode_bins(encode_bins(quantities)) == quantities


def test_bin_quantities_are_the_documented_bytes() -> None:
    assert encode_bins([0, 0, 0, 300, 1, 0]) == bytes([0, 2, 0xAC, 2, 1, 0, 0])
    with pytest.raises(ValueError, match="does not end"):
        decode_bins(bytes([0x80]))
    with pytest.raises(ValueError, match="more than 100"):
        decode_bins(bytes([0, 0xFF, 0xFF, 0x7F]), 100)


def test_generated_traces_are_the_same_for_a_seed_and_nest(tmp_path: Path) -> None:
    tables = []
    for name in ("a", "b"):
        generate_trace(tmp_path / f"{name}.pvti", 5000, threads=3, seed=9)
        with sqlite3.connect(tmp_path / f"{name}.pvti") as db:
            tables.append(
                [db.execute(f"SELECT * FROM {table}").fetchall() for table in ("slices", "samples", "HEATMAP_DATA")]
            )
    assert tables[0] == tables[1]
    reader = TraceReader(tmp_path / "a.pvti")
    total = 0
    for thread in reader.threads():
        lanes = reader.events(thread.id).lanes
        for depth, lane in enumerate(lanes):
            total += len(lane)
            assert (lane.end[:-1] <= lane.start[1:]).all()
            if depth:
                above = lanes[depth - 1]
                assert (above.start[lane.parent] <= lane.start).all()
                assert (lane.end <= above.end[lane.parent]).all()
    assert total == 5000


def test_rows_that_are_found_once_give_the_events_of_every_thread(tmp_path: Path) -> None:
    """A file of several threads, read by the ids of their rows and by a search for each thread."""
    path = tmp_path / "t.pvti"
    generate_trace(path, 600_000, threads=2)
    reader = TraceReader(path)
    with reader.one_state():
        stored = reader.stored_rows()
        assert stored is not None
        assert {thread: len(ids) for thread, ids in stored.ids["slices"].items()} == {1: 4, 2: 4}
        for thread in (1, 2):
            one, other = reader.events(thread), reader.events(thread, stored=stored)
            assert len(one.lanes) == len(other.lanes) == 4
            for a, b in zip(one.lanes, other.lanes, strict=True):
                for column in ("start", "duration", "site", "parent"):
                    assert np.array_equal(getattr(a, column), getattr(b, column))
            assert np.array_equal(one.instants.time, other.instants.time)
            assert len(one.instants.time) == 200


def test_rows_of_a_journal_that_are_found_once_give_its_events(tmp_path: Path) -> None:
    """The journal of a killed program, and the same file finalised."""
    path = tmp_path / "t.pvti"
    writer = TraceWriter(path, {"run_id": "one"}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 7, None, "p")
        writer.set_channel(1, "work", True)
        writer.add_string(1, "x")
        writer.add_site(1, 1, 1, None)
        for thread in (1, 2, 3):
            writer.set_thread(thread, 1, 100 + thread, "")
    for begin in range(0, 40, 10):
        with writer.transaction():
            for thread in (1, 3):  # the second has no events
                writer.add_events(thread, [1 << 2, 1 << 2 | 1], [begin + thread, begin + 5])
    writer.close()
    reader = TraceReader(path)
    with reader.one_state():
        stored = reader.stored_rows()
        assert stored is not None
        assert {thread: len(ids) for thread, ids in stored.ids["raw_chunks"].items()} == {1: 4, 3: 4}
        starts = {thread: [lane.start.tolist() for lane in reader.events(thread).lanes] for thread in (1, 2, 3)}
        found = {
            thread: [lane.start.tolist() for lane in reader.events(thread, stored=stored).lanes] for thread in (1, 2, 3)
        }
    assert found == starts == {1: [[1, 11, 21, 31]], 2: [], 3: [[3, 13, 23, 33]]}
    finalise(path)
    finalised = TraceReader(path)
    assert {thread: [lane.start.tolist() for lane in finalised.events(thread).lanes] for thread in (1, 2, 3)} == starts


def test_without_a_table_of_rows_nothing_is_said_about_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.pvti"
    generate_trace(path, 1000, threads=2)
    before = without_checksums(shutil.copy(path, tmp_path / "before.pvti"))
    readers = [TraceReader(path), TraceReader(before)]
    for each in (path, before):
        with contextlib.closing(sqlite3.connect(each)) as db, db:
            db.execute("DROP TABLE instants")
    with pytest.raises(FormatError, match="no such table: instants"):
        readers[0].stored_rows()
    assert readers[1].stored_rows() is None


def test_a_file_of_before_has_the_same_events(tmp_path: Path) -> None:
    path = tmp_path / "t.pvti"
    write(path, NESTED)
    check_nested(TraceReader(without_checksums(path)))
    finalise(path)
    reader = TraceReader(path)
    assert (reader.has_checksums, reader.meta["version"], reader.state) == (False, "1.0", "finalised")
    check_nested(reader)


def test_a_row_outside_a_transaction_is_refused(tmp_path: Path) -> None:
    """The checksum of its table would not be written: the file would read as damaged."""
    writer = TraceWriter(tmp_path / "t.pvti", {}, clock_offset_ns=0)
    with pytest.raises(ValueError, match=r"a row of meta is written inside transaction\(\)"):
        writer.set_meta("state", "closed")
    with writer.transaction():
        writer.set_meta("state", "closed")
    writer.release()
    assert TraceReader(tmp_path / "t.pvti").state == "closed"
