"""Traces that are damaged, busy or extreme: opened as far as true, with a sentence, and never wrongly nested."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.formats.errors import FormatError
from popvision.formats.pvti.columns import Instants, Slices
from popvision.formats.pvti.finalise import finalise
from popvision.formats.pvti.generate import generate_trace
from popvision.formats.pvti.salvage import nested_part
from popvision.formats.pvti.writer import TraceWriter
from tests.pvti.trace_answers import use
from tests.pvti.traced import ROOT

YEAR_NS = 365 * 24 * 3600 * 10**9


def write(
    path: Path, events: list[tuple[int, int]], labels: list[str] | None = None, offset: int = 0, channel: str = "c"
) -> Path:
    """A trace of one thread, closed and not finalised: events are (code, time)."""
    writer = TraceWriter(path, {}, clock_offset_ns=offset)
    with writer.transaction():
        writer.add_process(1, 1, None, "p")
        writer.set_thread(1, 1, 100, "main")
        writer.set_channel(1, channel, True)
        for site, label in enumerate(labels or ["a", "b"], start=1):
            writer.add_string(site, label)
            writer.add_site(site, 1, site, None)
        if events:
            writer.add_events(1, [code for code, _ in events], [time_ for _, time_ in events])
    writer.close()
    return path


def begin(site: int) -> int:
    return site << 2


def end(site: int) -> int:
    return site << 2 | 1


# Damage


def test_a_truncated_trace_shows_what_is_left_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t.pvti"
    generate_trace(path, 300_000, threads=3, seed=3)
    complete = TraceSource(path)
    data = path.read_bytes()
    opened = 0
    for share in np.linspace(0.05, 0.95, 10):
        (tmp_path / "cut.pvti").write_bytes(data[: int(len(data) * share)])
        try:
            source = TraceSource(tmp_path / "cut.pvti")
        except FormatError:
            continue
        opened += 1
        use(source)
        assert source.lost
        assert all("\n" not in sentence for sentence in source.lost)
        assert 0 < source.events < complete.events
        for part, all_ in zip(source.threads, complete.threads, strict=True):
            for lane, all_lane in zip(part.lanes, all_.lanes, strict=False):
                assert (lane.start == all_lane.start[: len(lane)]).all()
                assert (lane.duration == all_lane.duration[: len(lane)]).all()
    assert opened >= 3


@pytest.mark.parametrize(
    ("damage", "left", "sentence"),
    [
        ("UPDATE instants SET site = x'ff'", 4, "instant events, is left out from the first damage on: instants row 1"),
        (
            "UPDATE slices SET site = zeroblob(2) WHERE depth = 1",
            2,
            "Thread 1 is left out from the first damage on: slices",
        ),
        ("UPDATE slices SET depth = 2 WHERE depth = 1", 2, "Events are left out from slices row 2 on: table slices is"),
        ("UPDATE slices SET depth = 0 WHERE depth = 1", 2, "Events are left out from slices row 2 on"),
        ("UPDATE slices SET t_max = 9 WHERE depth = 0", 0, "Events are left out from slices row 1 on"),
        ("DELETE FROM slices WHERE depth = 1", 2, "Events are left out from slices row 2 on"),
        ("DELETE FROM unfinished", 5, "The list of unfinished events is left out"),
        ("UPDATE instants SET thread = 2", 4, "Events are left out from instants row 1 on"),
        ("UPDATE samples SET crc = 0", 4, "Line 's' cannot be read"),
        ("UPDATE HEATMAP_DATA SET bin_quantities = x'ff'", 4, "Heat map 'h' cannot be read"),
        ("UPDATE heatmaps SET edges = x'ff'", 4, "The list of heat maps cannot be read"),
    ],
)
def test_one_damaged_part_leaves_the_others(tmp_path: Path, damage: str, left: int, sentence: str) -> None:
    path = tmp_path / "t.pvti"
    pairs = [(begin(1), 0), (begin(2), 1), (2 << 2 | 2, 2), (end(2), 3), (end(1), 4)]
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "p")
        writer.set_thread(1, 1, 100, "main")
        writer.set_channel(1, "c", True)
        for site in (1, 2):
            writer.add_string(site, "ab"[site - 1])
            writer.add_site(site, 1, site, None)
        events = [(code, time_ + 10 * turn) for turn in range(2) for code, time_ in pairs]
        if "unfinished" in damage:
            events.append((begin(1), 90))
        writer.add_events(1, [code for code, _ in events], [time_ for _, time_ in events])
        writer.add_graph(1, "g", "")
        writer.add_series(1, 1, "s")
        writer.add_samples(1, [1], [2.0])
        writer.add_heatmap(1, "h", "", [0.0, 1.0])
        writer.add_heatmap_column(1, 1, [0, 1, 0])
    writer.close()
    finalise(path)
    with sqlite3.connect(path) as db:
        db.execute(damage)
    source = TraceSource(path)
    use(source)
    assert source.events == left
    (lost,) = source.lost
    assert sentence in lost


# Other programs at the same file


def test_a_locked_trace_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from popvision.formats.profile import connection

    monkeypatch.setattr(connection, "PATIENCE", 0.1)
    path = write(tmp_path / "t.pvti", [(begin(1), 0), (end(1), 5)])
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(FormatError, match="is locked by another program"):
        TraceSource(path)
    db.execute("ROLLBACK")
    db.close()
    assert TraceSource(path).events == 1


def test_a_trace_with_a_hot_journal_opens_as_before_the_transaction(tmp_path: Path) -> None:
    """A program that is killed while it finalises leaves `-journal`; its transaction is rolled back."""
    path = write(tmp_path / "t.pvti", [(begin(1), 0), (end(1), 5)])
    code = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA cache_size = 1')\n"
        "db.execute('PRAGMA cache_spill = 1')\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "db.execute('DELETE FROM raw_chunks')\n"
        "for i in range(3000): db.execute('INSERT INTO strings VALUES (?, ?)', (100 + i, 'x' * 500))\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert path.with_name("t.pvti-journal").stat().st_size > 0
    source = TraceSource(path)
    assert (source.events, source.lost) == (1, [])
    use(source)


def test_a_growing_trace_is_whole_at_every_look(tmp_path: Path) -> None:
    """The writer commits chunks whose labels are new each time; a look between sees events and labels of one state."""
    path = tmp_path / "t.pvti"
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "p")
        writer.set_thread(1, 1, 100, "main")
        writer.set_channel(1, "c", True)
    stop = threading.Event()

    def grow() -> None:
        turn = 0
        while not stop.is_set() and turn < 3000:
            turn += 1
            with writer.transaction():
                writer.add_string(turn, f"label {turn}")
                writer.add_site(turn, 1, turn, None)
                writer.add_events(1, [begin(turn), end(turn)], [turn * 10, turn * 10 + 5])

    thread = threading.Thread(target=grow)
    thread.start()
    seen = []
    try:
        for _ in range(15):
            source = TraceSource(path)
            use(source)
            assert source.lost == []
            assert len(source.names) == source.events
            seen.append(source.events)
    finally:
        stop.set()
        thread.join()
        writer.close()
    assert seen == sorted(seen)
    assert TraceSource(path).events >= seen[-1] > 0


def test_a_replaced_and_a_removed_file(tmp_path: Path) -> None:
    path = write(tmp_path / "t.pvti", [(begin(1), 0), (end(1), 5)])
    source = TraceSource(path)
    other = write(tmp_path / "other.pvti", [(begin(2), 0), (end(2), 5), (begin(2), 6), (end(2), 7)])
    shutil.move(other, path)
    assert TraceSource(path).events == 2
    path.unlink()
    use(source)  # what was read stays
    with pytest.raises(FormatError, match="cannot open"):
        TraceSource(path)


# Extremes


def test_clock_steps_and_ends_before_begins(tmp_path: Path) -> None:
    """A clock that runs backwards stands still instead: durations are never negative, the order is kept."""
    events = [(begin(1), 1000), (begin(2), 400), (end(2), 300), (end(1), 1500), (begin(1), 1200), (end(1), 1100)]
    source = TraceSource(write(tmp_path / "t.pvti", events))
    use(source)
    first, second = source.threads[0].lanes
    assert (first.start.tolist(), first.duration.tolist()) == ([1000, 1500], [500, 0])
    assert (second.start.tolist(), second.duration.tolist()) == ([1000], [0])
    finalise(tmp_path / "t.pvti")
    again = TraceSource(tmp_path / "t.pvti")
    assert again.threads[0].lanes[0].start.tolist() == [1000, 1500]


def test_chrome_events_that_end_before_they_begin(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": 100, "dur": -50, "name": "negative"},
        {"ph": "B", "pid": 1, "tid": 1, "ts": 300, "name": "back"},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 250},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 400, "dur": 10, "name": "good"},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    source = TraceSource(path)
    use(source)
    labels = {source.names.label[int(name)] for lane in source.threads[0].lanes for name in lane.name}
    assert "good" in labels


def test_an_event_of_a_year_beside_one_of_a_nanosecond(tmp_path: Path) -> None:
    offset = 1_700_000_000_000_000_000
    events = [(begin(1), 0), (begin(2), 10), (end(2), 11), (end(1), YEAR_NS)]
    source = TraceSource(write(tmp_path / "t.pvti", events, offset=offset))
    use(source)
    assert (source.begin, source.end) == (offset, offset + YEAR_NS)
    outer, inner = source.threads[0].lanes
    assert (int(outer.duration[0]), int(inner.duration[0])) == (YEAR_NS, 1)
    table = label_statistics(source, None, None)
    assert table.set_index("label").loc["b", "total_us"] == 0.001


@pytest.mark.parametrize("channels", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_as_many_channels_as_a_file_claims(tmp_path: Path, channels: int) -> None:
    path = tmp_path / "t.pvti"
    writer = TraceWriter(path, {}, clock_offset_ns=0)
    with writer.transaction():
        writer.add_process(1, 1, None, "p")
        writer.set_thread(1, 1, 100, "main")
        writer.add_string(1, "x")
        for n in range(1, channels + 1):
            writer.set_channel(n, f"channel {n}", True)
            writer.add_site(n, n, 1, None)
        sites = range(1, channels + 1, channels // 1000)
        codes = [code for site in sites for code in (begin(site), end(site))]
        writer.add_events(1, codes, list(range(len(codes))))
    writer.close()
    started = time.process_time()
    source = TraceSource(path)
    use(source)
    assert source.events == 1000
    assert len(source.names.channel_name) == channels
    assert time.process_time() - started < 40  # a million: about 4 s alone


HOSTILE = [
    "",
    "\0",
    "a" * 100_000,
    "<script>alert(1)</script>",
    "\u202eright to left",
    "\ud800",
    "\r\n",
    "💥" * 50,
    "=1+1",
]


def test_hostile_labels_and_channels(tmp_path: Path) -> None:
    sites = range(1, len(HOSTILE) + 1)
    events = [(code, 10 * site + step) for site in sites for step, code in enumerate((begin(site), end(site)))]
    path = write(tmp_path / "t.pvti", events, HOSTILE, channel="<img src=x onerror=alert(1)>")
    source = TraceSource(path)
    use(source)
    shown = [source.names.label[int(name)] for name in source.threads[0].lanes[0].name]
    expected = [label.encode("utf-8", "replace").decode().replace("\0", "␀") for label in HOSTILE]
    assert shown == expected
    assert source.names.channel_name == ["<img src=x onerror=alert(1)>"]


def test_an_empty_trace_opens(tmp_path: Path) -> None:
    for number, finish in enumerate((False, True)):
        path = write(tmp_path / f"{number}.pvti", [])
        if finish:
            finalise(path)
        source = TraceSource(path)
        use(source)
        assert (source.events, source.begin, source.end, source.lost) == (0, 0, 0, [])
    done = subprocess.run(
        [sys.executable, "-m", "popvision", "trace", "stats", str(path), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["rows"] == []


def slow_nested_lengths(lanes: list[Slices]) -> list[int]:
    """How many events of each lane nest, an event at a time."""
    lengths: list[int] = []
    for depth, lane in enumerate(lanes):
        count, above = 0, lanes[depth - 1] if depth else None
        for start, parent in zip(lane.start.tolist(), lane.parent.tolist(), strict=True):
            before = count - 1
            if count and start < int(lane.start[before]) + int(lane.duration[before]):
                break
            if above is not None:
                if parent >= lengths[depth - 1] or (count and parent < int(lane.parent[before])):
                    break
                begins = int(above.start[parent])
                if not begins <= start <= begins + int(above.duration[parent]):
                    break
            count += 1
        lengths.append(count)
    return lengths


@given(st.data())
def test_the_part_that_nests_is_that_of_a_slow_loop(data: st.DataObject) -> None:
    lanes = []
    for _ in range(data.draw(st.integers(1, 3))):
        rows = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2)), max_size=8))
        start, at = [], 0
        for step, duration, _ in rows:
            start.append(at + step - data.draw(st.sampled_from([0, 0, 0, 0, 1])))
            at += step + duration
        parent = sorted(row[2] for row in rows) if data.draw(st.booleans()) else [row[2] for row in rows]
        lanes.append(
            Slices(
                np.array(start, np.int64),
                np.array([row[1] for row in rows], np.uint8),
                np.zeros(len(rows), np.uint8),
                np.array(parent, np.uint8),
            )
        )
    instants = Instants(np.zeros(0, np.int64), *(np.zeros(0, np.uint8),) * 3)
    nested, _, intact = nested_part(lanes, instants)
    expected = slow_nested_lengths(lanes)
    assert intact == (expected == [len(lane) for lane in lanes])
    while expected and not expected[-1]:
        expected.pop()
    assert [len(lane) for lane in nested] == expected
