"""Profiles of call stacks: speedscope's JSON (https://www.speedscope.app/file-format-schema.json) and .cpuprofile
(Profiler.Profile of the Chrome DevTools Protocol, with the tree of older versions too).

A profile becomes a track. Its samples are stacks that hold for a time: what two samples in a row share is one span, so
that times are estimates and a span is no call; `Recording.samples` counts them. Events of speedscope's evented profiles
are calls, and pair as begins and ends do. Where a profile counts no time (weights, bytes), a microsecond stands for one
unit, and `Recording.unit` names it.

The whole document is in memory: some ten times MOST_BYTES of text at most."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import orjson

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.clock import BEYOND, EARLIEST_NS, LATEST_NS
from popvision.formats.foreign_traces.packed import unpacked
from popvision.formats.foreign_traces.recording import MOST_EVENTS, OTHER_ENCODING, Recording, Track, metadata_text
from popvision.formats.pvti.schema import MAX_DEPTH

#: Bytes of JSON text.
MOST_BYTES = 1 << 28

_CALLS, _SAMPLES = "calls", "samples"

#: Nanoseconds in a unit of speedscope's profiles; of what is no time a microsecond.
_NANOSECONDS = {
    "nanoseconds": 1, "microseconds": 1000, "milliseconds": 1_000_000, "seconds": 1_000_000_000,
    "none": 1000, "bytes": 1000,
}  # fmt: skip

#: What a unit that is no time is called.
_WEIGHTS = {"none": "weight", "bytes": "bytes"}

#: What a .cpuprofile calls the frame above all others.
_ROOT = "(root)"


def read_speedscope(path: Path) -> Recording:
    """Read all profiles of a file. Raises FormatError when it is none, or holds nothing that can be read."""
    document, recording = _document(path, "speedscope")
    shared = document.get("shared")
    frames = _dicts(shared.get("frames") if isinstance(shared, dict) else None)
    profiles = _dicts(document.get("profiles"))
    units = [str(profile.get("unit", "none")) for profile in profiles]
    weights = next(iter(units), "none") if all(unit in _WEIGHTS for unit in units) else ""
    recording.unit = _WEIGHTS.get(weights, "")
    recording.processes[0] = str(document.get("name") or "")
    for number, (profile, unit) in enumerate(zip(profiles, units, strict=True), start=1):
        if (unit in _WEIGHTS and unit != weights) or unit not in _NANOSECONDS:
            recording.not_read[f"profiles in {unit[:40]}"] += 1
            continue
        track = recording.track((0, number), 0, number)
        track.name, track.order = str(profile.get("name") or f"profile {number}"), number
        reader = _ProfileReader(path, recording, track, frames, _NANOSECONDS[unit])
        match profile.get("type"):
            case "evented":
                reader.take_events(_dicts(profile.get("events")))
            case "sampled":
                reader.take_weighted(profile)
            case kind:
                recording.not_read[f"profiles of type {str(kind)[:40]!r}"] += 1
    return _checked(path, recording)


def read_cpuprofile(path: Path) -> Recording:
    """Read the samples of a file. Raises FormatError when it is none, or holds nothing that can be read."""
    document, recording = _document(path, "CPU profile")
    tree = _CallTree(path, document, recording)
    track = recording.track((0, 1), 0, 1)
    track.name = str(document.get("title") or "samples")
    recording.processes[0] = ""
    reader = _ProfileReader(path, recording, track, tree.frames, 1)
    nodes, times, lengths = _node_samples(document, recording)
    reader.take_stacks(
        (tree.stack(node), 1000 * time, 1000 * length) for node, time, length in zip(nodes, times, lengths, strict=True)
    )
    return _checked(path, recording)


class _ProfileReader:
    """Puts stacks of frames, by their numbers in the file, onto one track."""

    def __init__(
        self, path: Path, recording: Recording, track: Track, frames: Sequence[Mapping[str, Any]], unit_ns: int
    ) -> None:
        self.path, self.recording, self.track, self.unit_ns = path, recording, track, unit_ns
        self._frames = frames
        self._sites: dict[tuple[str, int], int] = {}
        self._open: list[tuple[int, int]] = []  #: number and begin of the frames of the stack that holds

    def take_events(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Begins and ends of calls."""
        for event in events:
            time, kind = _time(event.get("at"), self.unit_ns), event.get("type")
            site = self._site(_CALLS, event.get("frame"))
            if time is None or site is None or kind not in ("O", "C"):
                self.recording.left_out["events without a time, a frame or a type"] += 1
                continue
            if not EARLIEST_NS <= time < LATEST_NS:
                self.recording.left_out[BEYOND] += 1
                continue
            self._count(1)
            if kind == "O":
                self.recording.marks.add_begin(self.track.number, time, site, self.track.number)
            else:
                self.recording.marks.add_end(self.track.number, time, site)

    def take_weighted(self, profile: Mapping[str, Any]) -> None:
        """Samples that hold one after the other, each for its weight."""
        samples, weights = (profile.get(name) for name in ("samples", "weights"))
        samples = samples if isinstance(samples, list) else []
        lengths = [_time(weight, self.unit_ns) for weight in weights] if isinstance(weights, list) else []
        if len(samples) > len(lengths):
            self.recording.left_out["samples without a weight"] += len(samples) - len(lengths)
        begin = _time_or_zero(self.recording, profile.get("startValue", 0), self.unit_ns)
        self.take_stacks(_one_after_the_other(samples, lengths, begin))

    def take_stacks(self, samples: Iterable[tuple[Any, int, int | None]]) -> None:
        """Samples in order of time: stack, begin and length in ns."""
        end = 0
        for stack, begin, length in samples:
            sites = [self._site(_SAMPLES, frame) for frame in stack] if isinstance(stack, list) else [None]
            if None in sites or length is None or length < 0:
                self.recording.left_out["samples without a stack or a length"] += 1
                continue
            if not EARLIEST_NS <= begin <= begin + length < LATEST_NS:
                self.recording.left_out[BEYOND] += 1
                continue
            if begin != end:
                self._close(0, end)
            self._hold([site for site in sites if site is not None], begin)
            self.recording.samples += 1
            end = begin + length
        self._close(0, end)

    def _hold(self, sites: list[int], time: int) -> None:
        """The stack that holds from now on."""
        same = 0
        while same < min(len(sites), len(self._open)) and sites[same] == self._open[same][0]:
            same += 1
        self._close(same, time)
        self._count(len(sites) - same)
        self._open += [(site, time) for site in sites[same:]]

    def _close(self, keep: int, time: int) -> None:
        """End all but the outermost frames."""
        for site, begin in self._open[keep:]:
            self.track.add_span(begin, time, site)
        del self._open[keep:]

    def _count(self, events: int) -> None:
        self.recording.events += events
        if self.recording.events > MOST_EVENTS:
            raise FormatError(f"{self.path} holds more than {MOST_EVENTS:,} events; cut it into shorter profiles.")

    def _site(self, channel: str, frame: Any) -> int | None:
        """The site of a frame's number; None where there is no such frame."""
        if not isinstance(frame, int) or isinstance(frame, bool) or not 0 <= frame < len(self._frames):
            return None
        site = self._sites.get((channel, frame))
        if site is None:
            facts = self._frames[frame]
            more = {name: facts[name] for name in ("file", "line", "col") if facts.get(name) not in (None, "")}
            label = str(facts.get("name") or "(anonymous)")
            site = self.recording.site(channel, label, metadata_text(more) if more else None)
            self._sites[channel, frame] = site
        return site


def _document(path: Path, producer: str) -> tuple[dict[str, Any], Recording]:
    """The object of a file, and the recording in which it is counted. Raises FormatError."""
    recording = Recording(producer)
    data = bytearray()
    try:
        for part in unpacked(path):
            data += part
            if len(data) > MOST_BYTES:
                raise FormatError(f"{path} is a profile of more than {MOST_BYTES >> 20} MiB, the most that is read.")
    except EOFError as problem:
        raise FormatError(f"{path} is damaged: {problem}.") from None
    try:
        document = orjson.loads(data)
    except ValueError:
        document = _lenient(path, bytes(data), recording)
    if not isinstance(document, dict):
        raise FormatError(f"{path} is no profile: it holds no JSON object.")
    return document, recording


def _lenient(path: Path, data: bytes, recording: Recording) -> Any:
    """The value of JSON in another encoding, or with NaN and infinities."""
    encoding = json.detect_encoding(data)
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    replaced = text.count("\ufffd") - data.count("\ufffd".encode(encoding))
    if replaced > 0:
        recording.left_out[OTHER_ENCODING] = replaced
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"{path} is no complete JSON: {str(problem).splitlines()[0]}.") from None


def _checked(path: Path, recording: Recording) -> Recording:
    """The recording, which must hold something."""
    if not recording.events and not recording.samples:
        lost = [f"{what}: {number:,}" for what, number in (recording.left_out + recording.not_read).items()]
        raise FormatError(f"{path} holds no sample and no call that can be read{'; ' * bool(lost)}{'; '.join(lost)}.")
    return recording


def _one_after_the_other(
    samples: list[Any], lengths: list[int | None], begin: int
) -> Iterator[tuple[Any, int, int | None]]:
    for stack, length in zip(samples, lengths, strict=False):
        yield stack, begin, length
        begin += max(length or 0, 0)


class _CallTree:
    """The nodes of a .cpuprofile: the frame of each, and its node above."""

    def __init__(self, path: Path, document: Mapping[str, Any], recording: Recording) -> None:
        self._path, self._recording = path, recording
        self.frames: list[dict[str, Any]] = []
        self._walked = 0  #: frames of all stacks that were asked for
        self._places: dict[Any, int] = {}
        listed = [(node, node.get("children")) for node in _dicts(document.get("nodes"))]
        waiting = _dicts([document.get("head")])  # of older versions, whose children are the nodes themselves
        while waiting:
            node = waiting.pop()
            below = _dicts(node.get("children"))
            waiting += below
            listed.append((node, [child.get("id") for child in below]))
        for node, _ in listed:
            if isinstance(node.get("id"), (int, str)) and node["id"] not in self._places:
                self._places[node["id"]] = len(self.frames)
                self.frames.append(_frame(node.get("callFrame", node)))
            else:
                recording.left_out["nodes without an id of their own"] += 1
        self._above = [-1] * len(self.frames)
        for node, children in listed:
            for child in children if isinstance(children, list) else ():
                self._put_below(child, node.get("id"))
            if node.get("parent") is not None:  # some producers name it instead
                self._put_below(node.get("id"), node["parent"])

    def _put_below(self, child: Any, parent: Any) -> None:
        if isinstance(child, (int, str)) and isinstance(parent, (int, str)) and {child, parent} <= self._places.keys():
            self._above[self._places[child]] = self._places[parent]
        else:
            self._recording.left_out["nodes that are above or below another and not there"] += 1

    def stack(self, node: Any) -> list[int] | None:
        """Numbers of the frames from the outermost one, without the root; None for a node that is not there, that is
        above itself or too deep. Raises FormatError where all stacks together are too long."""
        place = self._places.get(node, -1) if isinstance(node, (int, str)) else -1
        if place < 0:
            return None
        stack: list[int] = []
        while place >= 0 and len(stack) <= MAX_DEPTH:
            stack.append(place)
            place = self._above[place]
        self._walked += len(stack)
        if self._walked > MOST_EVENTS:
            raise FormatError(
                f"{self._path} holds stacks of more than {MOST_EVENTS:,} frames; cut it into shorter ones."
            )
        if place >= 0:
            return None
        if self.frames[stack[-1]].get("name") == _ROOT:
            stack.pop()
        return stack[::-1] if len(stack) <= MAX_DEPTH else None


def _node_samples(document: Mapping[str, Any], recording: Recording) -> tuple[list[Any], list[int], list[int]]:
    """The node of each sample in order of time, when it was taken and how long it holds, in microseconds: until the
    next; the last one until the end of the profile, or, where that is not said, as long as the others on average."""
    nodes, deltas, stamps = (document.get(name) for name in ("samples", "timeDeltas", "timestamps"))
    nodes = nodes if isinstance(nodes, list) else []
    counts_deltas = isinstance(deltas, list)
    times_in_file = deltas if isinstance(deltas, list) else stamps if isinstance(stamps, list) else []
    numbers = [_time_or_zero(recording, value, 1) for value in times_in_file[: len(nodes)]]
    if len(numbers) < len(nodes):
        recording.left_out["samples without a time"] += len(nodes) - len(numbers)
    bounds = (_time_or_zero(recording, document.get(name, 0), 1) for name in ("startTime", "endTime"))
    start, end = bounds if counts_deltas else (min(numbers, default=0), 0)
    times = [start + time for time in accumulate(numbers)] if counts_deltas else numbers
    order = sorted(range(len(times)), key=times.__getitem__)
    ordered = [times[place] for place in order]
    if not ordered:
        return [], [], []
    last = end - ordered[-1] if end > ordered[-1] else (ordered[-1] - start) // len(ordered)
    lengths = [after - before for before, after in pairwise(ordered)]
    return [nodes[place] for place in order], ordered, [*lengths, max(last, 0)]


def _frame(frame: Any) -> dict[str, Any]:
    """The facts of a node's function; the protocol counts lines and columns from 0, -1 where there are none."""
    if not isinstance(frame, dict):
        return {}
    places = {name: _time(frame.get(key), 1) for name, key in (("line", "lineNumber"), ("col", "columnNumber"))}
    from_one = {name: place + 1 for name, place in places.items() if place is not None and place >= 0}
    return {"name": frame.get("functionName"), "file": frame.get("url"), **from_one}


def _time(value: Any, unit: int) -> int | None:
    """A number in whole nanoseconds of one in a unit; None where it is none, or none that a column holds."""
    if isinstance(value, int) and not isinstance(value, bool):
        time = value * unit
    elif isinstance(value, float) and math.isfinite(value):
        time = round(value * unit)
    else:
        return None
    return time if abs(time) < 1 << 63 else None


def _time_or_zero(recording: Recording, value: Any, unit: int) -> int:
    """The same, 0 for what is none, which is counted."""
    time = _time(value, unit)
    if time is None:
        recording.left_out["times that are no numbers of 64 bits, taken as 0"] += 1
    return time or 0


def _dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
