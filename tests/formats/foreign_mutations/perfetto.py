"""Mutated Perfetto traces: an event of which no packet was touched has the times and the arguments that it had, or is
missing or marked as unfinished, and then something is said.

No packet but those of an event itself tells of it, other than the descriptors of the tracks, which are not changed.
Bytes are changed anywhere else: in lengths, in tags, in times, within names."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from typing import Any

EVENTS, TRACKS = 30, 3

_BEGIN, _END, _INSTANT = 1, 2, 3

#: Label -> begin, duration (ns) and arguments of its spans.
Told = dict[str, list[tuple[int, int, str | None]]]


def packets(event: int, rng: random.Random) -> list[Any]:
    """The packets of an event: a begin and an end, or one that holds both, packed."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

    made = []
    for kind, time in ((_BEGIN, 1_000_000 * event + 125), (_END, 1_000_000 * event + 8_625)):
        packet = messages.TracePacket()
        packet.timestamp, packet.trusted_packet_sequence_id = time, 1
        packet.track_event.type, packet.track_event.track_uuid = kind, 10 + event % TRACKS
        packet.track_event.name = f"a{event}"
        packet.track_event.categories.append("c")
        if kind == _BEGIN:
            fact = packet.track_event.debug_annotations.add()
            fact.name, fact.int_value = "n", rng.choice([event, 2**53 + 1 + event])
        made.append(packet)
    if event % 5:
        return made
    together = messages.Trace()
    together.packet.extend(made)
    packed = messages.TracePacket()
    packed.compressed_packets = zlib.compress(together.SerializeToString())
    return [packed]


def head() -> bytes:
    """The packets that name the tracks."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

    trace = messages.Trace()
    for track in range(TRACKS):
        descriptor = trace.packet.add().track_descriptor
        descriptor.uuid, descriptor.name = 10 + track, f"track {track}"
        descriptor.thread.pid, descriptor.thread.tid = 1, 1 + track
    return bytes(trace.SerializeToString())


def mutation(number: int) -> tuple[bytes, frozenset[int]]:
    """The mutated file of that number, and which of its events a change has touched."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

    rng = random.Random(number)
    parts = [(event, packet) for event in range(EVENTS) for packet in packets(event, rng)]
    if rng.random() < 0.5:
        rng.shuffle(parts)  # times decide, not places
    first = head()
    data, places = bytearray(first), []
    for event, packet in parts:
        trace = messages.Trace()
        trace.packet.append(packet)
        begin = len(data)
        data += trace.SerializeToString()
        places.append((event, begin, len(data)))
    touched: set[int] = set()
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        place = rng.randrange(len(first), len(data))
        removed, added = rng.choice(_CHANGES)(rng)
        removed = min(removed, len(data) - place)
        data[place : place + removed] = added
        touched |= {event for event, begin, end in places if begin <= place + removed and place <= end}
        moved = len(added) - removed
        places = [(event, begin + moved * (begin > place), end + moved * (end > place)) for event, begin, end in places]
    return bytes(data), frozenset(touched)


def _write(rng: random.Random) -> tuple[int, bytes]:
    count = rng.choice([1, 1, 2, 20])
    return count, rng.randbytes(count)


def _insert(rng: random.Random) -> tuple[int, bytes]:
    return 0, rng.choice([b"\0", b"\n", b"\xff", b"\x80" * 12, b"\n\x00", rng.randbytes(3)])


def _remove(rng: random.Random) -> tuple[int, bytes]:
    return rng.choice([1, 3, 40]), b""


_CHANGES: list[Callable[[random.Random], tuple[int, bytes]]] = [_write, _insert, _remove]


def truth(number: int) -> Told:
    """What a sound file says."""
    rng = random.Random(number)
    told: Told = {}
    for event in range(EVENTS):
        state = random.Random()
        state.setstate(rng.getstate())
        packets(event, rng)
        value = state.choice([event, 2**53 + 1 + event])
        told[f"a{event}"] = [(1_000_000 * event + 125, 8_500, json.dumps({"n": value}))]
    return told
