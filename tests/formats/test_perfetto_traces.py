"""Perfetto traces built packet by packet with Perfetto's own message classes."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.trace.flows import trace_flows
from popvision.analysis.trace.search import list_matches
from popvision.analysis.trace.source import TraceSource
from popvision.export.traces.chrome import write_chrome
from popvision.export.traces.events import event_columns
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.importing import import_trace

messages: Any = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Building:
    """A trace under construction; each call adds one packet."""

    def __init__(self) -> None:
        self.trace = messages.Trace()

    def packet(self, **fields: Any) -> Any:
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = fields.pop("sequence", 1)
        for name, value in fields.items():
            setattr(packet, name, value)
        return packet

    def thread(self, uuid: int, pid: int, tid: int, name: str) -> None:
        descriptor = self.packet().track_descriptor
        descriptor.uuid = uuid
        descriptor.thread.pid, descriptor.thread.tid, descriptor.thread.thread_name = pid, tid, name

    def event(self, time: int, type: int, uuid: int, name: str = "", category: str = "c", **fields: Any) -> Any:
        packet = self.packet(timestamp=time, **fields)
        packet.track_event.type, packet.track_event.track_uuid = type, uuid
        if name:
            packet.track_event.name = name
            packet.track_event.categories.append(category)
        return packet.track_event

    def source(self, folder: Path) -> TraceSource:
        path = folder / "t.pftrace"
        path.write_bytes(self.trace.SerializeToString())
        return TraceSource(path)


def spans(source: TraceSource) -> Counter[tuple[Any, ...]]:
    columns = event_columns(source)
    names = ("pid", "thread", "begin_ns", "duration_ns", "channel", "label", "metadata")
    return Counter(row[:-1] for row in zip(*(columns[n] for n in (*names, "kind")), strict=True) if row[-1] == "span")


def test_slices_instants_and_counters(tmp_path: Path) -> None:
    made = Building()
    made.thread(10, 4, 5, "main")
    made.event(100, BEGIN, 10, "outer").debug_annotations.add(name="batch", int_value=3)
    made.event(120, BEGIN, 10, "inner")
    made.event(130, END, 10)
    made.event(140, INSTANT, 10, "mark")
    made.event(160, END, 10)
    counter = made.packet().track_descriptor
    counter.uuid, counter.name, counter.counter.unit_name = 11, "memory", "MB"
    made.event(150, COUNTER, 11).double_counter_value = 2.5
    made.event(155, COUNTER, 11).counter_value = 7
    source = made.source(tmp_path)
    assert spans(source) == Counter(
        [(4, "main", 100, 60, "c", "outer", '{"batch": 3}'), (4, "main", 120, 10, "c", "inner", "")]
    )
    (series,) = source.series
    assert (series[0].graph, series[1].tolist(), series[2].tolist()) == ("memory (MB)", [150, 155], [2.5, 7.0])
    assert [each.instant_time.tolist() for each in source.threads] == [[140]]


def test_ends_close_begins_by_time_and_name(tmp_path: Path) -> None:
    """The end of "late" stands before its begin, as where two writers make one file; "outer" names what it ends."""
    made = Building()
    made.thread(10, 4, 5, "main")
    made.event(5_000, END, 10)
    made.event(1_000, BEGIN, 10, "late")
    made.event(10_000, BEGIN, 10, "outer")
    made.event(11_000, BEGIN, 10, "lost")
    made.event(15_000, END, 10, "outer").debug_annotations.add(name="rows", int_value=9)
    made.event(16_000, END, 10, "unknown")
    path = tmp_path / "t.pftrace"
    path.write_bytes(made.trace.SerializeToString())
    assert import_trace(path, tmp_path / "t.pvti") == {"ends without a begin": 1}
    source = TraceSource(tmp_path / "t.pvti")
    assert spans(source) == Counter(
        [
            (4, "main", 1_000, 4_000, "c", "late", ""),
            (4, "main", 10_000, 5_000, "c", "outer", '{"rows": 9}'),
            (4, "main", 11_000, 4_000, "c", "lost", ""),
        ]
    )
    assert [thread.unfinished for thread in source.threads] == [frozenset({(1, 0)})]


def test_values_that_are_no_finite_numbers(tmp_path: Path) -> None:
    """The facts of an end join those of its begin, and both are written again as JSON."""
    trace = Building()
    trace.thread(10, 4, 5, "main")
    begin, end = trace.event(100, BEGIN, 10, "outer"), trace.event(160, END, 10, "outer")
    begin.debug_annotations.add(name="loss", double_value=math.nan)
    end.debug_annotations.add(name="bound", double_value=-math.inf)
    source = trace.source(tmp_path)
    assert spans(source) == Counter([(4, "main", 100, 60, "c", "outer", '{"loss": NaN, "bound": -Infinity}')])
    text = io.StringIO()
    write_chrome(source, "", text)
    (outer,) = (event for event in json.loads(text.getvalue())["traceEvents"] if event["name"] == "outer")
    assert outer["args"] == {"loss": "NaN", "bound": "-Infinity"}


def test_older_events_pair_by_id(tmp_path: Path) -> None:
    """Phases of Chrome's older macros: B and E of a thread, b and e of an id, which belongs to a process if local."""
    made = Building()
    made.thread(10, 4, 5, "main")
    made.thread(11, 6, 7, "other")

    def older(phase: str, time: int, uuid: int, name: str, **id: int) -> None:
        event = made.event(time, 0, uuid, name)
        event.legacy_event.phase = ord(phase)
        for kind, value in id.items():
            setattr(event.legacy_event, kind, value)

    older("B", 0, 10, "call")
    older("E", 9, 10, "call")
    older("E", 10, 10, "call")
    older("b", 1, 10, "load", unscoped_id=3)
    older("b", 2, 10, "load", local_id=3)
    older("b", 3, 10, "load", global_id=3)
    older("e", 20, 11, "load", unscoped_id=3)
    older("e", 30, 11, "load", local_id=3)
    older("e", 40, 11, "load", global_id=3)
    older("e", 50, 10, "load", local_id=3)
    older("n", 60, 10, "load", global_id=3)
    path = tmp_path / "t.pftrace"
    path.write_bytes(made.trace.SerializeToString())
    assert import_trace(path, tmp_path / "t.pvti") == {"ends without a begin": 2}
    source = TraceSource(tmp_path / "t.pvti")
    load = "load (asynchronous)"
    assert spans(source) == Counter(
        [
            (4, "main", 0, 9, "c", "call", ""),
            (4, load, 1, 19, "c", "load", '{"id": "3"}'),
            (4, load, 2, 48, "c", "load", '{"id": "3"}'),
            (4, load, 3, 37, "c", "load", '{"id": "3"}'),
        ]
    )


def test_interned_names_defaults_and_incremental_clocks_belong_to_a_sequence(tmp_path: Path) -> None:
    made = Building()
    for sequence, name in ((1, "first"), (2, "second")):
        packet = made.packet(sequence=sequence, sequence_flags=1)
        packet.trace_packet_defaults.timestamp_clock_id = 64
        packet.trace_packet_defaults.track_event_defaults.track_uuid = 20 + sequence
        packet.interned_data.event_names.add(iid=1, name=name)
        packet.interned_data.event_categories.add(iid=1, name="kind")
        snapshot = made.packet(sequence=sequence).clock_snapshot
        snapshot.clocks.add(clock_id=6, timestamp=1000 * sequence)
        snapshot.clocks.add(clock_id=1, timestamp=5_000_000 + 1000 * sequence)
        snapshot.clocks.add(clock_id=64, timestamp=0, is_incremental=True, unit_multiplier_ns=10)
    for step, type in ((3, BEGIN), (4, END)):
        for sequence in (1, 2):
            event = made.packet(sequence=sequence, timestamp=step * sequence).track_event
            event.type = type
            if type == BEGIN:
                event.name_iid = 1
                event.category_iids.append(1)
    made.thread(21, 1, 2, "a")
    made.thread(22, 1, 3, "b")
    epoch = 5_000_000
    assert spans(made.source(tmp_path)) == Counter(
        [(1, "a", epoch + 1030, 40, "kind", "first", ""), (1, "b", epoch + 2060, 80, "kind", "second", "")]
    )


def test_custom_tracks_belong_to_the_process_above_them(tmp_path: Path) -> None:
    made = Building()
    made.event(1, BEGIN, 31, "request")
    made.event(9, END, 31)
    track = made.packet().track_descriptor
    track.uuid, track.parent_uuid, track.name = 31, 30, "requests"
    process = made.packet().track_descriptor
    process.uuid, process.process.pid, process.process.process_name = 30, 77, "server"
    source = made.source(tmp_path)
    assert spans(source) == Counter([(77, "requests", 1, 8, "c", "request", "")])
    assert (77, None, "server") in source.reader.processes()


def test_what_a_trace_cannot_hold_is_counted(tmp_path: Path) -> None:
    made = Building()
    made.event(1, BEGIN, 1, "a").flow_ids.extend([4, 5])
    made.packet(timestamp=2).ftrace_events.cpu = 1
    made.event(3, END, 1)
    made.event(4, END, 1)
    (tmp_path / "t.pftrace").write_bytes(made.trace.SerializeToString())
    left_out = import_trace(tmp_path / "t.pftrace", tmp_path / "t.pvti")
    assert left_out == {"packets of ftrace_events": 1, "ends without a begin": 1}


def test_fields_that_are_no_packets_are_counted(tmp_path: Path) -> None:
    building = Building()
    for time, kind in ((10, BEGIN), (20, END)):
        building.event(time, kind, 5, "a")
    data = bytearray(building.trace.SerializeToString())
    data[0] = 2 << 3 | 2  # another field of the trace, as one wrong bit makes it
    (tmp_path / "t.pftrace").write_bytes(building.trace.SerializeToString() + bytes(data))
    source = TraceSource(tmp_path / "t.pftrace")
    assert "Not read: fields of the trace that are no packets: 1." in source.lost


@pytest.mark.parametrize("cut", [1, 3, 10])
def test_a_cut_trace_gives_the_events_before(tmp_path: Path, cut: int) -> None:
    made = Building()
    made.event(1, BEGIN, 1, "a")
    made.event(3, END, 1)
    made.event(5, BEGIN, 1, "b")
    (tmp_path / "t.pftrace").write_bytes(made.trace.SerializeToString()[:-cut])
    source = TraceSource(tmp_path / "t.pftrace")
    assert [row[5] for row in spans(source)] == ["a"]
    assert "damaged after 2 events" in source.meta["problem"]


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.pftrace").write_bytes(b"\n\x05plain text")
    with pytest.raises(FormatError, match="is no Perfetto trace"):
        TraceSource(tmp_path / "t.pftrace")


def test_texts_that_are_no_utf8_lose_the_bytes_alone(tmp_path: Path) -> None:
    """In names of processes, threads, tracks, counters, labels, categories and annotations, interned ones too."""
    made = Building()
    process = made.packet().track_descriptor
    process.uuid, process.process.pid, process.process.process_name = 9, 7, "process¤"
    made.thread(1, 7, 8, "thread¤")
    interned = made.packet().interned_data
    for kind, text in (("event_names", "label¤"), ("event_categories", "category¤"), ("debug_annotation_names", "x¤")):
        getattr(interned, kind).add(iid=5, name=text)
    made.event(1, BEGIN, 1, "name¤", "c¤").debug_annotations.add(name="a¤", string_value="v¤")
    made.event(2, END, 1)
    event = made.event(3, BEGIN, 1)
    event.name_iid = 5
    event.category_iids.append(5)
    event.debug_annotations.add(name_iid=5, string_value="w")
    made.event(4, END, 1)
    counter = made.packet().track_descriptor
    counter.uuid, counter.name, counter.counter.unit_name = 3, "line¤", "unit¤"
    made.event(5, COUNTER, 3).counter_value = 1
    path = tmp_path / "t.pftrace"
    path.write_bytes(made.trace.SerializeToString().replace("¤".encode(), b"\xff\xff"))
    source = TraceSource(path)
    assert {row[1] for row in spans(source)} == {"thread\ufffd\ufffd"}
    assert {row[4:6] for row in spans(source)} == {
        ("c\ufffd\ufffd", "name\ufffd\ufffd"),
        ("category\ufffd\ufffd", "label\ufffd\ufffd"),
    }
    assert {row[6] for row in spans(source)} == {
        json.dumps({"a\ufffd\ufffd": "v\ufffd\ufffd"}),
        json.dumps({"x\ufffd\ufffd": "w"}),
    }
    assert "process\ufffd\ufffd" in str(source.files[0].processes)
    assert [row.name for row, *_ in source.series] == ["line\ufffd\ufffd (unit\ufffd\ufffd)"]


def test_older_flows_are_read(tmp_path: Path) -> None:
    made = Building()
    for uuid in (10, 11, 12):
        made.thread(uuid, 4, uuid, f"thread {uuid}")
    made.event(0, BEGIN, 10, "a").flow_ids_old.extend([4])
    made.event(5, END, 10)
    made.event(10, BEGIN, 11, "b").terminating_flow_ids_old.extend([4])
    made.event(15, END, 11)
    for at, direction in ((10, 2), (12, 1)):
        legacy = made.event(20 * at, 0, at, "older").legacy_event
        legacy.phase, legacy.duration_us, legacy.bind_id, legacy.flow_direction = ord("X"), 1, 9, direction
    flows = trace_flows(made.source(tmp_path))
    assert (flows.flow.tolist(), flows.thread.tolist()) == ([1, 1, 2, 2], [0, 1, 0, 2])


def test_events_on_shared_rows_tell_their_tracks(tmp_path: Path) -> None:
    """Tracks of one name and parent share rows; search and export find the track that a span came from."""
    made = Building()
    for uuid in (41, 42, 43):
        track = made.packet().track_descriptor
        track.uuid, track.name = uuid, "alone" if uuid == 43 else "requests"
        made.event(uuid, BEGIN, uuid, "call")
        made.event(uuid + 1, INSTANT, uuid, "mark")
        made.event(100, END, uuid)
    source = made.source(tmp_path)
    metadata = {(row[3], row[-1]) for row in spans(source)}
    assert metadata == {(59, '{"track": "41"}'), (58, '{"track": "42"}'), (57, "")}
    assert [thread.row.name for thread in source.threads] == ["requests", "requests", "alone"]
    assert list_matches(source, "meta:42", source.begin, source.end, 10).total == 2
