"""Perfetto's binary traces: track events of any data source, a packet at a time, with the package `perfetto`.

Taken: slices, instants and counters on threads, processes and custom tracks; names of these; debug annotations as
metadata. Interned names and incremental clocks are kept per packet sequence, as the format says
(https://perfetto.dev/docs/reference/synthetic-track-event). Packets of other data sources (ftrace, heap profiles ...)
are counted and left out. The wall clock comes from a clock snapshot, if the trace has one."""

from __future__ import annotations

import mmap
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.clock import BEFORE, BEYOND, EARLIEST_NS, LATEST_NS
from popvision.formats.foreign_traces.packed import is_packed, unpack_zstd, unpacked
from popvision.formats.foreign_traces.recording import MOST_EVENTS, NEGATIVE, Recording, Track, metadata_text

PACKET_TAG = 0x0A  #: field 1 of Trace, length-delimited
_CLEARED = 1  #: SEQ_INCREMENTAL_STATE_CLEARED
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_REALTIME, _BOOTTIME, _FIRST_OF_SEQUENCE = 1, 6, 64
_MOST_UNPACKED = 1 << 28  #: bytes of packets that one packet holds
_MOST_NESTED = 4  #: of them within others
_KEY_BITS = 0x7  #: of a protobuf tag: the wire type


def read_perfetto(path: Path) -> Recording:
    """Read a trace. Raises FormatError when it is none, or where the package is missing."""
    try:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket
    except ImportError:
        raise FormatError(
            f"{path} is a Perfetto trace, which needs the package perfetto: pip install 'popvision[perfetto]'."
        ) from None
    from google.protobuf.message import DecodeError

    reader = _Reader(path)
    try:
        with _plain(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for begin, end in _packets(data, reader.recording.not_read):
                reader.take_all(TracePacket.FromString(data[begin:end]))
    except (DecodeError, zlib.error, CutError, ValueError, OSError) as problem:
        if not reader.recording.events:
            raise FormatError(f"{path} is no Perfetto trace: {str(problem).splitlines()[0]}.") from None
        reader.recording.problem = f"{path} is damaged after {reader.recording.events:,} events: {problem}"
    reader.place_tracks()
    if not reader.recording.events:
        raise FormatError(f"{path} holds no track events; other data sources of Perfetto are not read.")
    return reader.recording


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    """The file, of a packed one a copy that goes with the context. One that is cut ends there: its packets say so."""
    with path.open("rb") as file, tempfile.TemporaryFile() as copy:
        if not is_packed(path):
            yield file
            return
        with suppress(EOFError):
            for part in unpacked(path):
                copy.write(part)
        copy.flush()
        yield copy


class CutError(Exception):
    """The file ends within a packet, or something else stands where a packet should."""


def _packets(data: mmap.mmap | bytes, not_read: Counter[str]) -> Iterator[tuple[int, int]]:
    """Begin and end of each packet; other fields of the trace are counted."""
    at, size = 0, len(data)
    while at < size:
        tag, at = varint(data, at)
        if tag & _KEY_BITS != 2:
            raise CutError(f"byte {at} begins no packet")
        length, at = varint(data, at)
        if at + length > size:
            raise CutError(f"a packet of {length} bytes at byte {at} is cut off")
        if tag == PACKET_TAG:
            yield at, at + length
        else:
            not_read["fields of the trace that are no packets"] += 1
        at += length


def _unpacked_packets(packed: bytes, *, is_zstd: bool) -> tuple[bytes, bool]:
    """The packets that a packet holds, up to _MOST_UNPACKED bytes, and whether these are all."""
    if not is_zstd:
        unpacking = zlib.decompressobj()
        return unpacking.decompress(packed, _MOST_UNPACKED), unpacking.eof
    inner = bytearray()
    with suppress(EOFError):
        for part in unpack_zstd(iter((packed,))):
            inner += part
            if len(inner) > _MOST_UNPACKED:
                return bytes(inner[:_MOST_UNPACKED]), False
        return bytes(inner), True
    return bytes(inner), False


def varint(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    """The number of protobuf at a byte, and the byte behind it. Raises CutError where it does not end."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise CutError(f"a number at byte {at} is cut off")


@dataclass
class _Sequence:
    """State of one packet sequence: interned texts by kind and id, defaults, clocks."""

    texts: dict[tuple[str, int], str] = field(default_factory=dict)
    track: int = 0
    clock: int = 0
    last: dict[int, int] = field(default_factory=dict)  #: ticks so far of each incremental clock
    clocks: dict[int, tuple[int, int, bool]] = field(
        default_factory=dict
    )  #: id -> (offset ns, ns per tick, incremental)


class _Reader:
    """Takes packets in the order of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = Recording("Perfetto")
        self.sequences: dict[int, _Sequence] = {}
        self.tracks: dict[int, Any] = {}  #: uuid -> TrackDescriptor
        self.clocks: dict[int, int] = {_BOOTTIME: 0}  #: clock of the machine -> its offset to the boot clock, ns
        self.counted: dict[int, float] = {}  #: running sums of incremental counters

    def take_all(self, packet: Any, depth: int = 0) -> None:
        """Add what one packet holds, with those that are packed in it."""
        packed = packet.compressed_packets or packet.zstd_compressed_packets
        if not packed or depth >= _MOST_NESTED:
            self.take(packet)
            return
        inner, is_whole = _unpacked_packets(packed, is_zstd=bool(packet.zstd_compressed_packets))
        if not is_whole:
            self.recording.left_out["packed packets that are cut, or too large"] += 1
        with suppress(CutError):
            for begin, end in _packets(inner, self.recording.not_read):
                self.take_all(type(packet).FromString(inner[begin:end]), depth + 1)

    def take(self, packet: Any) -> None:
        """Add what one packet holds itself."""
        sequence = self.sequences.setdefault(packet.trusted_packet_sequence_id, _Sequence())
        if packet.incremental_state_cleared or packet.sequence_flags & _CLEARED:
            sequence.texts.clear()
            sequence.last.clear()
            sequence.track, sequence.clock = 0, 0
        if packet.HasField("trace_packet_defaults"):
            sequence.clock = packet.trace_packet_defaults.timestamp_clock_id
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("interned_data"):
            self._intern(sequence, packet.interned_data)
        kind = packet.WhichOneof("data")
        if kind == "clock_snapshot":
            self._snapshot(sequence, packet.clock_snapshot)
        elif kind == "track_descriptor":
            self._describe(packet.track_descriptor)
        elif kind == "track_event":
            self._event(sequence, packet)
        elif kind is not None and not kind.startswith(("trace_", "system_info", "service_event", "synchronization")):
            self.recording.not_read[f"packets of {kind}"] += 1

    def _intern(self, sequence: _Sequence, data: Any) -> None:
        for kind in ("event_categories", "event_names", "debug_annotation_names"):
            for entry in getattr(data, kind):
                sequence.texts[kind, entry.iid] = _text(entry.name)
        for entry in data.debug_annotation_string_values:
            sequence.texts["values", entry.iid] = _text(entry.str)

    def _snapshot(self, sequence: _Sequence, snapshot: Any) -> None:
        """Offsets of all clocks to the boot clock at one moment."""
        boot = next((clock.timestamp for clock in snapshot.clocks if clock.clock_id == _BOOTTIME), None)
        for clock in snapshot.clocks:
            multiplier = clock.unit_multiplier_ns or 1
            if clock.clock_id >= _FIRST_OF_SEQUENCE:
                offset = 0 if boot is None else boot - clock.timestamp * multiplier
                sequence.clocks[clock.clock_id] = (offset, multiplier, clock.is_incremental)
                sequence.last[clock.clock_id] = clock.timestamp
            elif boot is not None:
                self.clocks[clock.clock_id] = boot - clock.timestamp
                epoch = clock.timestamp - boot
                if clock.clock_id == _REALTIME and not self.recording.epoch_ns and 0 < epoch < LATEST_NS:
                    self.recording.epoch_ns = epoch

    def _describe(self, descriptor: Any) -> None:
        self.tracks[descriptor.uuid] = descriptor
        if descriptor.HasField("process"):
            name = descriptor.process.process_name or descriptor.name
            self.recording.processes[descriptor.process.pid] = _text(name)
        elif not descriptor.HasField("counter"):
            track = self._track(descriptor.uuid)
            name = descriptor.thread.thread_name or descriptor.name or descriptor.static_name
            track.name = _text(name) or track.name

    def _time(self, sequence: _Sequence, packet: Any) -> int:
        clock = packet.timestamp_clock_id or sequence.clock or _BOOTTIME
        if clock in sequence.clocks:
            offset, multiplier, is_incremental = sequence.clocks[clock]
            ticks = packet.timestamp
            if is_incremental:
                ticks = sequence.last[clock] = sequence.last.get(clock, 0) + packet.timestamp
            return int(offset + ticks * multiplier)
        return int(packet.timestamp + self.clocks.get(clock, 0))

    def _event(self, sequence: _Sequence, packet: Any) -> None:
        event, time = packet.track_event, self._time(sequence, packet)
        self.recording.events += 1
        if self.recording.events > MOST_EVENTS:
            raise FormatError(f"{self.path} holds more than {MOST_EVENTS:,} events; cut it into shorter traces.")
        if not EARLIEST_NS <= time < LATEST_NS:
            self.recording.left_out[BEYOND if time > 0 else BEFORE] += 1
            return
        uuid = event.track_uuid if event.HasField("track_uuid") else sequence.track
        older = [*event.flow_ids_old, *event.terminating_flow_ids_old]
        if event.legacy_event.flow_direction:
            older.append(event.legacy_event.bind_id)
        for flow in [*event.flow_ids, *event.terminating_flow_ids, *older]:
            self.recording.flows.add((str(flow),), "", self._track(uuid), time)
        marks = self.recording.marks
        if event.type == _BEGIN:
            number = self._track(uuid).number
            marks.add_begin(number, time, self._site(sequence, event), number)
        elif event.type == _END:
            marks.add_end(self._track(uuid).number, time, self._site(sequence, event))
        elif event.type == _INSTANT:
            self._track(uuid).add_instant(time, self._site(sequence, event))
        elif event.type == _COUNTER:
            self._count(uuid, time, event)
        elif event.HasField("legacy_event"):
            self._legacy(sequence, uuid, time, event)
        else:
            self.recording.not_read["events of unknown type"] += 1

    def _legacy(self, sequence: _Sequence, uuid: int, time: int, event: Any) -> None:
        """Events that Chrome's older macros made: their phase is that of Chrome's JSON."""
        legacy, phase = event.legacy_event, chr(event.legacy_event.phase & 0x7F)
        if legacy.name_iid and not event.name_iid:
            event.name_iid = legacy.name_iid
        if phase == "X":
            self._complete(sequence, uuid, time, event)
        elif phase == "B":
            number = self._track(uuid).number
            self.recording.marks.add_begin(number, time, self._site(sequence, event), number)
        elif phase == "E":
            self.recording.marks.add_end(self._track(uuid).number, time, self._site(sequence, event))
        elif phase in "iI":
            self._track(uuid).add_instant(time, self._site(sequence, event))
        elif phase in "benSFTp":
            self._asynchronous(sequence, uuid, time, event)
        else:
            self.recording.not_read[f"older events of phase {phase!r}"] += 1

    def _complete(self, sequence: _Sequence, uuid: int, time: int, event: Any) -> None:
        end = time + event.legacy_event.duration_us * 1000
        if time <= end < LATEST_NS:
            self._track(uuid).add_span(time, end, self._site(sequence, event))
        else:
            self.recording.left_out[BEYOND if end > time else NEGATIVE] += 1

    def _asynchronous(self, sequence: _Sequence, uuid: int, time: int, event: Any) -> None:
        """An event of a category, id and scope, whichever thread it comes from; a local id counts in its process."""
        legacy, phase = event.legacy_event, chr(event.legacy_event.phase & 0x7F)
        kind = legacy.WhichOneof("id") or ""
        category, label = self._category(sequence, event), self._label(sequence, event)
        id = (category, legacy.id_scope, kind, getattr(legacy, kind, 0))
        group = self.recording.group((self._place(uuid)[0] if kind == "local_id" else None, *id))
        if phase in "eF":
            self.recording.marks.add_end(group, time, self._site(sequence, event))
            return
        track = self.recording.track((uuid, *id), 0, 0)
        if not track.name:
            track.name = f"{label} (asynchronous)"
            track.shares = (category, track.name)
        if phase in "bS":
            self.recording.marks.add_begin(group, time, self._site(sequence, event), track.number)
        else:
            track.add_instant(time, self._site(sequence, event))

    def _count(self, uuid: int, time: int, event: Any) -> None:
        descriptor = self.tracks.get(uuid)
        value = event.double_counter_value if event.HasField("double_counter_value") else float(event.counter_value)
        name = f"counter {uuid}" if descriptor is None else _text(descriptor.name or descriptor.static_name)
        if descriptor is not None:
            counter = descriptor.counter
            value *= counter.unit_multiplier or 1
            if counter.is_incremental:
                value = self.counted[uuid] = self.counted.get(uuid, 0.0) + value
            unit = _text(counter.unit_name) or {1: "ns", 3: "bytes"}.get(counter.unit, "")
            name = f"{name} ({unit})" if unit else name
        self.recording.sample((uuid, name), name, name, time, value)

    def _track(self, uuid: int) -> Track:
        return self.recording.track((uuid,), 0, 0)

    def place_tracks(self) -> None:
        """Give each track the process and thread that it, or one above it, describes: descriptors come in any order."""
        for key, track in self.recording.tracks.items():
            track.process, track.tid = self._place(int(str(key[0])))
            descriptor = self.tracks.get(int(str(key[0])))
            if track.shares is None and descriptor is not None and not descriptor.HasField("thread") and track.name:
                track.shares = (descriptor.parent_uuid, track.name)
            if track.shares is not None:
                track.shares = (track.process, track.shares)
            self.recording.processes.setdefault(track.process, "")
        self._tell_tracks()

    def _tell_tracks(self) -> None:
        """Events on tracks that share rows keep the track that they come from, or the id, in their metadata."""
        tracks = {key: track for key, track in self.recording.tracks.items() if track.shares is not None}
        sharers = Counter(track.shares for track in tracks.values())
        self.recording.add_facts(
            {
                track.number: {"id": str(key[-1])} if len(key) > 1 else {"track": str(key[0])}
                for key, track in tracks.items()
                if sharers[track.shares] > 1
            }
        )

    def _place(self, uuid: int) -> tuple[int, int]:
        """Process and thread of a track; 0 for what no descriptor says so far."""
        above, seen = self.tracks.get(uuid), 0
        while above is not None and seen < 64:
            if above.HasField("thread"):
                return above.thread.pid, above.thread.tid
            if above.HasField("process"):
                return above.process.pid, 0
            above, seen = self.tracks.get(above.parent_uuid) if above.parent_uuid else None, seen + 1
        return 0, 0

    def _site(self, sequence: _Sequence, event: Any) -> int:
        facts = {_annotation_name(sequence, each): _value(sequence, each) for each in event.debug_annotations}
        metadata = metadata_text(facts) if facts else None
        return self.recording.site(self._category(sequence, event), self._label(sequence, event), metadata)

    def _label(self, sequence: _Sequence, event: Any) -> str:
        return _text(event.name) or sequence.texts.get(("event_names", event.name_iid), "")

    def _category(self, sequence: _Sequence, event: Any) -> str:
        categories = [*map(_text, event.categories)]
        categories += [sequence.texts.get(("event_categories", iid), "") for iid in event.category_iids]
        return ",".join(filter(None, categories))


def _text(value: str | bytes) -> str:
    """A text of a message: protobuf gives bytes where it is no UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _annotation_name(sequence: _Sequence, annotation: Any) -> str:
    name = _text(annotation.name) or sequence.texts.get(("debug_annotation_names", annotation.name_iid), "")
    return name or "value"


def _value(sequence: _Sequence, annotation: Any, depth: int = 0) -> Any:
    """A debug annotation as a plain value; dictionaries and arrays to a depth of 8."""
    if depth > 8:
        return "..."
    if annotation.dict_entries:
        entries = annotation.dict_entries
        return {_annotation_name(sequence, each): _value(sequence, each, depth + 1) for each in entries}
    if annotation.array_values:
        return [_value(sequence, each, depth + 1) for each in annotation.array_values]
    kind = annotation.WhichOneof("value")
    if kind == "string_value_iid":
        return sequence.texts.get(("values", annotation.string_value_iid), "")
    value = None if kind is None else getattr(annotation, kind)
    return _text(value) if isinstance(value, bytes) else value
