"""Chrome trace events, as viztracer, PyTorch's profiler, TensorFlow and many others write them.

Format: "Trace Event Format" (Google, 2016). Taken: complete events (X), begins and ends (B, E), instants (i, I, R),
asynchronous events (b, e, n; S, F, T) on a track per category, id, scope and process, counters (C), names of
processes and threads (M), flows (s, t, f; one that ends without `bp` leads to the next span of its thread). Samples
(P, and those beside the events) are instants with their stacks; a flow leads to and from spans by `bind_id` too.
Object snapshots (N, O, D) and marks of clocks are counted and left out. `baseTimeNanoseconds` (PyTorch) and
`otherData.begin_ns` (ours) give the zero of the trace's clock."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from zlib import crc32

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.clock import BEFORE, BEYOND, DATES_NS, EARLIEST_NS, LATEST_NS
from popvision.formats.foreign_traces.json_stream import JsonTraceStream
from popvision.formats.foreign_traces.recording import (
    MOST_EVENTS,
    NEGATIVE,
    NO_DURATION,
    NO_JSON,
    NO_PHASE,
    NO_TIME,
    OTHER_ENCODING,
    Recording,
    Track,
    metadata_text,
)
from popvision.formats.foreign_traces.sound_pieces import Fraction, Nanoseconds

NO_NUMBERS = "numbers that JSON lacks (NaN, infinities), read as texts"
FURTHER_DOCUMENTS = "further documents in one file"

#: Nanoseconds in a unit of `ts` and `dur`; the format has microseconds.
UNITS = {"us": 1000, "ns": 1, "ms": 1_000_000}

#: Of ids that our own export gives to what overlaps.
OWN_IDS = "popvision-"

#: Phases of asynchronous events, whose ids tell apart what shares a row.
_WITH_ID = frozenset("bSnTp")

_NOT_READ = {
    "N": "objects", "O": "objects", "D": "objects",
    "v": "memory dumps", "V": "memory dumps", "c": "clock marks", "(": "contexts", ")": "contexts", "R": "marks",
}  # fmt: skip


def read_chrome_json(path: Path, unit: str = "us") -> Recording:
    """Read a trace whose times count `unit`s, a key of UNITS. Raises FormatError when it is no JSON trace, has more
    than MOST_EVENTS events, or only times that look like nanoseconds."""
    reader = _Reader(path, UNITS[unit])
    stream = JsonTraceStream(path, UNITS[unit])
    for events in stream:
        for event in events:
            reader.take(event)
    reader.take_samples(stream.facts)
    recording = reader.recording
    if not reader.taken:
        raise FormatError(f"{path} holds no trace events (objects with a phase `ph`).")
    if reader.nanoseconds_given and not recording.events:
        raise FormatError(f"{path}: all of its times lie beyond the year 2116: {_in_nanoseconds(path)}.")
    if reader.nanoseconds_given:
        recording.left_out[f"{BEYOND}: {_in_nanoseconds(path)}"] = reader.nanoseconds_given
    losses = {NO_JSON: stream.broken, OTHER_ENCODING: stream.replaced}
    recording.left_out.update({what: number for what, number in losses.items() if number})
    repaired = {NO_NUMBERS: stream.constants, FURTHER_DOCUMENTS: stream.documents - 1}
    recording.repaired.update({what: number for what, number in repaired.items() if number > 0})
    recording.base_ns, recording.epoch_ns = _bases(stream.facts, recording)
    recording.samples, recording.unit = _measures(stream.facts)
    recording.rank = _rank(stream.facts)
    recording.problem, recording.is_open = stream.problem, stream.is_open
    return recording


def _in_nanoseconds(path: Path) -> str:
    """What times say that only nanoseconds can be."""
    return (
        "they look like nanoseconds where the format has microseconds, "
        f"and `popvision trace import --unit ns {path}` reads them so"
    )


def _bases(facts: dict[str, Any], recording: Recording) -> tuple[int, int]:
    """PyTorch's base, of which newer traces count all times and older ones none, and ours, from which all count."""
    other = facts.get("otherData")
    begin = other.get("begin_ns") if isinstance(other, dict) else None
    values = (facts.get("baseTimeNanoseconds"), begin)
    bases = [nanoseconds(value, 1) for value in values]
    if unread := sum(base is None and value is not None for base, value in zip(bases, values, strict=True)):
        recording.left_out["bases of all times that are no times, not added"] = unread
    pytorch, ours = (max(base or 0, 0) for base in bases)
    return pytorch, 0 if pytorch else ours


def _rank(facts: dict[str, Any]) -> tuple[int, int] | None:
    """What PyTorch's profiler (Kineto) says of a process of a distributed run; None for one alone, and for nonsense."""
    told = facts.get("distributedInfo")
    numbers = [told.get(name) for name in ("rank", "world_size")] if isinstance(told, dict) else []
    if len(numbers) != 2 or not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        return None
    rank, ranks = (int(number) for number in numbers if isinstance(number, int))
    return (rank, ranks) if ranks >= 2 and 0 <= rank < ranks else None


def _measures(facts: dict[str, Any]) -> tuple[int, str]:
    """What our own export says of sampled profiles and of what is no time."""
    other = facts.get("otherData")
    facts = other if isinstance(other, dict) else {}
    samples, unit = facts.get("samples"), facts.get("unit")
    return max(samples, 0) if isinstance(samples, int) else 0, unit if isinstance(unit, str) else ""


class _Reader:
    """Takes events one at a time. `ph` chooses the method."""

    def __init__(self, path: Path, unit_ns: int) -> None:
        self.path, self.unit_ns = path, unit_ns
        self.frames: dict[int, Any] = {}  #: site -> id of its innermost stack frame
        self.nanoseconds_given = 0  #: events whose times only nanoseconds can be
        self.recording = Recording("Chrome trace events")
        self.taken = 0
        self._threads: dict[tuple[int, int], Track] = {}  #: of numbers, as nearly all have
        self._take: dict[str, Callable[[dict[str, Any], int], None]] = {
            "B": self._begin,
            "E": self._end,
            "i": self._instant,
            "I": self._instant,
            "P": self._instant,
            "C": self._counter,
            **dict.fromkeys("stf", self._flow),
            **dict.fromkeys("bS", self._asynchronous_begin),
            **dict.fromkeys("eF", self._asynchronous_end),
            **dict.fromkeys("nTp", self._asynchronous_instant),
        }

    def take(self, event: dict[str, Any]) -> None:
        """Add an event to the recording, or count it as left out."""
        phase = event.get("ph")
        if phase == "X":
            self.taken += 1
            self._complete(event)
            return
        if not isinstance(phase, str):
            self.recording.left_out[NO_PHASE] += 1
            return
        self.taken += 1
        if phase == "M":
            self._metadata(event)
            return
        method, time = self._take.get(phase), nanoseconds(event.get("ts"), self.unit_ns)
        if method is None:
            self.recording.not_read[_NOT_READ.get(phase, f"events of phase {phase[:8]!r}")] += 1
        elif time is None:
            self._leave_out_timeless(event)
        else:
            self._count()
            method(event, time)

    def _leave_out_timeless(self, event: dict[str, Any]) -> None:
        """Count an event whose time is no number, or too large or small a one."""
        value = _number(event.get("ts"))
        if value is None or math.isnan(value):
            self.recording.left_out[NO_TIME] += 1
        elif self.unit_ns > 1 and DATES_NS <= value < LATEST_NS:
            self.nanoseconds_given += 1
        else:
            self.recording.left_out[BEYOND if value > 0 else BEFORE] += 1

    def _count(self) -> None:
        self.recording.events += 1
        if self.recording.events > MOST_EVENTS:
            raise FormatError(f"{self.path} holds more than {MOST_EVENTS:,} events; cut it into shorter traces.")

    def _complete(self, event: dict[str, Any]) -> None:
        time = event.get("ts")
        if type(time) is not Nanoseconds:
            time = nanoseconds(time, self.unit_ns)
        if time is None:
            self._leave_out_timeless(event)
            return
        self._count()
        duration = nanoseconds(event.get("dur", 0), self.unit_ns)
        if duration is None:
            is_long = (_number(event.get("dur")) or 0) > 0
            self.recording.left_out[BEYOND if is_long else NO_DURATION] += 1
            return
        if duration < 0 or time + duration >= LATEST_NS:
            self.recording.left_out[NEGATIVE if duration < 0 else BEYOND] += 1
            return
        track = self._thread(event)
        track.add_span(time, time + duration, self._site(event))
        if "bind_id" in event:
            self._bind(event, track, time)

    def _begin(self, event: dict[str, Any], time: int) -> None:
        track = self._thread(event)
        self.recording.marks.add_begin(track.number, time, self._site(event), track.number)
        self._bind(event, track, time)

    def _end(self, event: dict[str, Any], time: int) -> None:
        self.recording.marks.add_end(self._thread(event).number, time, self._site(event))

    def _instant(self, event: dict[str, Any], time: int) -> None:
        self._thread(event).add_instant(time, self._site(event))

    def _flow(self, event: dict[str, Any], time: int) -> None:
        phase = event["ph"]
        if "bind_id" in event and "id" not in event:
            event = {**event, "id": event["bind_id"]}
        name = _text(event.get("name"))
        key = (self._process_of_id(event), *_scoped_id(event), name)
        binds_next = phase == "f" and event.get("bp") != "e"
        track = self._thread(event)
        self.recording.flows.add(key, name, track, time, starts=phase == "s", binds_next=binds_next)

    def _bind(self, event: dict[str, Any], track: Track, time: int) -> None:
        """The flow that leads to or from a span by its `bind_id`."""
        if "bind_id" in event and (event.get("flow_in") or event.get("flow_out")):
            self.recording.flows.add(("bind_id", _text(event["bind_id"])), "", track, time)

    def _counter(self, event: dict[str, Any], time: int) -> None:
        values = event.get("args")
        name, process = _text(event.get("name")), self._process(event)
        for series, value in values.items() if isinstance(values, dict) else ():
            number = _number(value)
            if number is not None:
                key = (process, name, str(event.get("id", "")), series)
                self.recording.sample(key, name, str(series), time, number)

    def _asynchronous_begin(self, event: dict[str, Any], time: int) -> None:
        group, track = self._asynchronous_group(event), self._asynchronous_track(event)
        self.recording.marks.add_begin(group, time, self._site(event), track.number)
        self._bind(event, track, time)

    def _asynchronous_end(self, event: dict[str, Any], time: int) -> None:
        self.recording.marks.add_end(self._asynchronous_group(event), time, self._site(event))

    def _asynchronous_instant(self, event: dict[str, Any], time: int) -> None:
        self._asynchronous_track(event).add_instant(time, self._site(event))

    def _metadata(self, event: dict[str, Any]) -> None:
        given = event.get("args")
        arguments = given if isinstance(given, dict) else {}
        match event.get("name"):
            case "process_name":
                self.recording.processes[self._process(event)] = _text(arguments.get("name"))
            case "thread_name":
                self._thread(event).name = _text(arguments.get("name"))
            case "thread_sort_index":
                order = _number(arguments.get("sort_index")) or 0.0
                self._thread(event).order = 0.0 if math.isnan(order) else order

    def _thread(self, event: dict[str, Any]) -> Track:
        pid, tid = event.get("pid", 0), event.get("tid", 0)
        if type(pid) is not int or type(tid) is not int:
            return self._thread_of(event)
        track = self._threads.get((pid, tid))
        if track is None:
            track = self._threads[pid, tid] = self._thread_of(event)
        return track

    def _thread_of(self, event: dict[str, Any]) -> Track:
        process, tid = self._process(event), event.get("tid", 0)
        track = self.recording.track((process, "thread", str(tid)), process, _id(tid))
        if not track.name and isinstance(tid, str) and not tid.isdigit():
            track.name = tid
        return track

    def _asynchronous_group(self, event: dict[str, Any]) -> int:
        """What an asynchronous begin or end belongs to, whatever thread it comes from: its category, id and scope, and
        its process where the id is local."""
        return self.recording.group((self._process_of_id(event), *_scoped_id(event)))

    def _asynchronous_track(self, event: dict[str, Any]) -> Track:
        """Where an asynchronous event stands: in its process, beside what has the same category, id and scope."""
        process = self._process(event)
        key = (process, "asynchronous", *_scoped_id(event))
        track = self.recording.track(key, process, _id(event.get("tid", 0)))
        if not track.name:
            track.name = f"{_text(event.get('name'))} (asynchronous)"
            track.shares = (process, _text(event.get("cat")), track.name)
            track.order = float("inf")
        return track

    def _process_of_id(self, event: dict[str, Any]) -> str | None:
        """The process in which an id counts; None for one that counts in all."""
        if "id" in event:
            return None
        id = event.get("id2")
        return str(self._process(event)) if isinstance(id, dict) and "local" in id else None

    def _process(self, event: dict[str, Any]) -> int:
        pid = event.get("pid", 0)
        number = _id(pid)
        self.recording.processes.setdefault(number, "")
        if isinstance(pid, str) and not pid.isdigit():
            self.recording.processes[number] = self.recording.processes[number] or pid
        return number

    def _site(self, event: dict[str, Any]) -> int:
        facts = event.get("args")
        if type(facts) is not dict:
            facts = {}
        if event["ph"] in _WITH_ID:
            id = event.get("id", event.get("id2"))
            if not _text(id).startswith(OWN_IDS):
                facts = {"id": id, **facts}
        frame = event.get("sf")
        if frame is not None or "stack" in event:
            facts = {**facts, "stack": event.get("stack", frame)}
        text = metadata_text(facts) if facts else None
        site = self.recording.site(_text(event.get("cat")), _text(event.get("name")), text)
        if frame is not None:
            self.frames[site] = frame
        return site

    def take_samples(self, facts: dict[str, Any]) -> None:
        """Samples that stand beside the events, as instants of their threads; then the stacks of what has a frame."""
        samples = facts.get("samples")
        threads = {key[2]: track.process for key, track in self.recording.tracks.items() if key[1] == "thread"}
        for sample in samples if isinstance(samples, list) else ():
            if isinstance(sample, dict):
                known = {"pid": threads.get(str(sample.get("tid", 0)), 0), "cat": "samples"}
                more = {name: sample[name] for name in ("cpu", "weight") if name in sample}
                self.take({**known, **sample, "ph": "P", "args": more})
        frames = facts.get("stackFrames")
        for site, frame in self.frames.items():
            channel, label, metadata = self.recording.keys[site]
            if metadata is not None and isinstance(frames, dict):
                text = metadata_text(json.loads(metadata) | {"stack": _stack(frames, frame)})
                self.recording.keys[site] = (channel, label, text)


def nanoseconds(value: Any, unit_ns: int = 1000) -> int | None:
    """A time in whole nanoseconds of one that counts units, by default microseconds; None when it is no number, or one
    beyond 2116 or before 1897."""
    if type(value) is Nanoseconds:
        return value
    if type(value) is int:
        time = value * unit_ns
    elif type(value) is float:  # exact: see `sound_pieces`
        time = round(value * unit_ns)
    elif isinstance(value, (str, Fraction)):
        digits = value if isinstance(value, str) else value.digits
        if (number := _of_digits(digits, unit_ns)) is None:
            return None
        time = number
    else:
        return None
    return time if EARLIEST_NS <= time < LATEST_NS else None


def _of_digits(digits: str, unit_ns: int) -> int | None:
    """Whole nanoseconds of a time in decimal; None when it is no number, or one far from any time."""
    integer, _, decimals = digits.partition(".")
    if unit_ns == 1000 and integer.isdecimal() and decimals.isdecimal() and len(integer) < 18 and len(decimals) <= 3:
        return int(integer) * 1000 + int(decimals.ljust(3, "0"))
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > 21:
        return 0 if number == 0 or number.adjusted() < -21 else None
    return int((number * unit_ns).to_integral_value())


def _stack(frames: dict[str, Any], innermost: Any) -> list[str]:
    """Names of the frames from the outermost one; an id that has none stands for itself."""
    names: list[str] = []
    seen, id = set(), _text(innermost)
    while id and id not in seen:
        seen.add(id)
        frame = frames.get(id)
        names.append(_text(frame.get("name")) if isinstance(frame, dict) else id)
        id = _text(frame.get("parent")) if isinstance(frame, dict) else ""
    return names[::-1]


def _scoped_id(event: dict[str, Any]) -> tuple[str, str, str]:
    """Category, scope and id of an event."""
    id = event["id"] if "id" in event else event.get("id2", "")
    text = json.dumps(id, default=str) if isinstance(id, (dict, list)) else _text(id)
    return _text(event.get("cat")), _text(event.get("scope")), text


def _number(value: Any) -> float | None:
    """The float of a JSON number; fractions come as text."""
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _id(value: Any) -> int:
    """The number of a process or thread; names get one from their text."""
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int):
        return value if abs(value) < LATEST_NS else value % LATEST_NS
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 18 else crc32(text.encode("utf-8", "replace"))
