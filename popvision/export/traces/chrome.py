"""Chrome trace events: the JSON that Perfetto, chrome://tracing and viztracer's viewer open, as a stream.

Format: "Trace Event Format" (Google, 2016). `ts` and `dur` are microseconds since the first event of the trace, with
three decimals; `otherData.begin_ns` is that event's time since the epoch. Flows are "s", "t" and "f". Nested events are
complete events ("X"). A viewer drops complete events that overlap without nesting, so these and what lies inside them
are asynchronous ("b", "e"), one id per outermost. Samples are counters ("C"). Histograms have no form there;
`otherData` counts them. Processes of several files have numbers of their own and the name of their file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

import numpy as np

from popvision.analysis.trace.call_order import nested_events
from popvision.analysis.trace.columns import HostTrace, Lane, TraceFile, TraceThread
from popvision.analysis.trace.flows import trace_flows
from popvision.arrays import BoolArray, Int64Array
from popvision.export.traces.texts import channel_texts, label_texts, thread_name
from popvision.formats.foreign_traces.chrome_json import OWN_IDS

_CHUNK = 1 << 16


def write_chrome(source: HostTrace, provenance: str, stream: IO[str]) -> None:
    """Write the whole trace as one JSON object with `traceEvents` and `otherData`."""
    other = {
        "producer": provenance,
        "begin_ns": str(source.begin),
        "heatmaps_left_out": len(source.heatmaps),
        **({"samples": source.samples} if source.samples else {}),
        **({"unit": source.unit} if source.unit else {}),
        **_facts(source.files),
    }
    stream.write(f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(other)}, "traceEvents": [')
    separator = "\n"
    for text in _Events(source).all():
        stream.write(separator + text)
        separator = ",\n"
    stream.write("\n]}\n")


def _distinct_numbers(pids: list[int], tids: list[int]) -> list[int]:
    """Numbers of threads that no two tracks of a process share: asynchronous tracks of other tools' traces have that of
    the thread they come from, and get one beyond all others."""
    taken: set[tuple[int, int]] = set()
    free = max(tids, default=0) + 1
    numbers = []
    for pid, tid in zip(pids, tids, strict=True):
        if (pid, tid) in taken:
            tid, free = free, free + 1
        taken.add((pid, tid))
        numbers.append(tid)
    return numbers


class _Events:
    """The events of a trace as JSON texts, some 65,536 in a text."""

    def __init__(self, source: HostTrace) -> None:
        self.source = source
        self.labels, self.channels = label_texts(source), channel_texts(source)
        self.pids = process_numbers(source)
        self.pid_of_thread = [
            pids[source.threads[number].row.pid]
            for file, pids in zip(source.files, self.pids, strict=True)
            for number in file.threads
        ]
        self.tid_of_thread = _distinct_numbers(self.pid_of_thread, [thread.row.tid for thread in source.threads])
        self.arguments: dict[int, str] = {}  # of the sites of the file that is written
        self.next_id = 1

    def all(self) -> Iterator[str]:
        """Metadata, then the events thread by thread and lane by lane, then counters."""
        for file, pids in zip(self.source.files, self.pids, strict=True):
            yield from self._file(file, pids)
        yield from self._flows()
        yield from self._counters()

    def _file(self, file: TraceFile, pids: Mapping[int, int]) -> Iterator[str]:
        self.arguments = {}
        several = len(self.source.files) > 1
        for pid, _, name in file.processes:
            title = f"{file.path}: {name or pid}" if several else name or f"{pid}"
            process = {"ph": "M", "pid": pids[pid], "name": "process_name"}
            yield json.dumps(process | {"args": {"name": title}})
        for number in file.threads:
            thread = self.source.threads[number]
            place = {"pid": self.pid_of_thread[number], "tid": self.tid_of_thread[number]}
            yield json.dumps({"ph": "M", **place, "name": "thread_name", "args": {"name": thread_name(thread)}})
            yield json.dumps({"ph": "M", **place, "name": "thread_sort_index", "args": {"sort_index": number}})
            yield from self._thread(number, thread)

    def _flows(self) -> Iterator[str]:
        flows = trace_flows(self.source)
        first = np.diff(flows.flow, prepend=flows.flow[:1] - 1) != 0
        last = np.append(first[1:], len(flows) > 0)
        names: dict[int, str] = {}
        for row in np.flatnonzero(~(first & last)).tolist():  # one event alone leads nowhere
            flow, number = int(flows.flow[row]), int(flows.thread[row])
            thread = f'"pid": {self.pid_of_thread[number]}, "tid": {self.tid_of_thread[number]}'
            if first[row]:
                names = self.source.flow_names([flow])
            what = json.dumps(names.get(flow) or "flow")
            phase = '"s"' if first[row] else '"f", "bp": "e"' if last[row] else '"t"'
            place = f'"ts": {self._us(int(flows.time[row]))}, {thread}'
            yield f'{{"ph": {phase}, "id": {flow}, "cat": "flow", "name": {what}, {place}}}'

    def _thread(self, number: int, thread: TraceThread) -> Iterator[str]:
        self.number = number
        place = f'"pid": {self.pid_of_thread[number]}, "tid": {self.tid_of_thread[number]}'
        ids = np.zeros(0, np.int64)
        for depth, (lane, nested) in enumerate(zip(thread.lanes, nested_events(thread), strict=True)):
            ids = self._asynchronous_ids(thread, depth, nested, ids)
            for first in range(0, len(lane), _CHUNK):
                rows = np.arange(first, min(first + _CHUNK, len(lane)))
                texts = list(self._complete(lane, rows[nested[rows]], place))
                texts += self._asynchronous(lane, rows[~nested[rows]], ids, place)
                yield ",\n".join(texts)
        columns = (thread.instant_time, thread.instant_name, thread.instant_site)
        for time, name, site in zip(*(column.tolist() for column in columns), strict=True):
            yield f'{{"ph": "i", "s": "t", "ts": {self._us(time)}, {self._what(name, site)}, {place}}}'

    def _asynchronous_ids(self, thread: TraceThread, depth: int, nested: BoolArray, above: Int64Array) -> Int64Array:
        """The id of each event that is not nested, 0 of the others: the id of what encloses it, or a new one where it
        outlives that or stands in a nested event."""
        lane = thread.lanes[depth]
        ids = np.zeros(len(lane), np.int64)
        if depth:
            outer, parent = thread.lanes[depth - 1], lane.parent.astype(np.int64)
            inside = lane.end <= outer.end[parent]
            ids[inside] = above[parent[inside]]
        new = np.flatnonzero(~nested & (ids == 0))
        ids[new] = np.arange(self.next_id, self.next_id + len(new))
        self.next_id += len(new)
        return ids

    def _complete(self, lane: Lane, rows: Int64Array, place: str) -> Iterator[str]:
        columns = (lane.start[rows], lane.duration[rows], lane.name[rows], lane.site[rows])
        for start, duration, name, site in zip(*(column.tolist() for column in columns), strict=True):
            length = f"{duration // 1000}.{duration % 1000:03d}"
            yield f'{{"ph": "X", "ts": {self._us(start)}, "dur": {length}, {self._what(name, site)}, {place}}}'

    def _asynchronous(self, lane: Lane, rows: Int64Array, ids: Int64Array, place: str) -> Iterator[str]:
        columns = (lane.start[rows], lane.duration[rows], lane.name[rows], lane.site[rows], ids[rows])
        for start, duration, name, site, id in zip(*(column.tolist() for column in columns), strict=True):
            what = f'"id": "{OWN_IDS}{id}", {self._what(name, site)}, {place}}}'
            yield f'{{"ph": "b", "ts": {self._us(start)}, {what}'
            yield f'{{"ph": "e", "ts": {self._us(start + duration)}, {what}'

    def _counters(self) -> Iterator[str]:
        pids = [
            next(iter(pids.values()), 0)
            for file, pids in zip(self.source.files, self.pids, strict=True)
            for _ in file.series
        ]
        for pid, (row, times, values) in zip(pids, self.source.series, strict=True):
            name = json.dumps(f"{row.graph} ({row.unit})" if row.unit else row.graph)
            series = json.dumps(row.name)
            for time, value in zip(times.tolist(), values.tolist(), strict=True):
                if np.isfinite(value):
                    counter = f'"name": {name}, "args": {{{series}: {value!r}}}'
                    yield f'{{"ph": "C", "ts": {self._us(time)}, "pid": {pid}, {counter}}}'

    def _us(self, time: int) -> str:
        microseconds, nanoseconds = divmod(time - self.source.begin, 1000)
        return f"{microseconds}.{nanoseconds:03d}"

    def _what(self, name: int, site: int) -> str:
        """Label, channel and metadata of an event."""
        return f'"name": {self.labels[name]}, "cat": {self.channels[name]}{self._arguments(site)}'

    def _arguments(self, site: int) -> str:
        text = self.arguments.get(site)
        if text is None:
            metadata = self.source.metadata(self.number, site)
            text = self.arguments[site] = "" if metadata is None else f', "args": {_as_object(metadata)}'
        return text


def process_numbers(source: HostTrace) -> list[dict[int, int]]:
    """Process id -> number in the export, for each file: two files never share one, as processes of two hosts may."""
    taken: set[int] = set()
    numbers: list[dict[int, int]] = []
    for file in source.files:
        pids = [pid for pid, *_ in file.processes] + [source.threads[number].row.pid for number in file.threads]
        own = dict.fromkeys(pids)
        numbers.append({pid: pid if pid not in taken else max(taken | set(own)) + 1 + at for at, pid in enumerate(own)})
        taken |= set(numbers[-1].values())
    return numbers


def _facts(files: Sequence[TraceFile]) -> dict[str, object]:
    """The run and command of one file; of several their paths and what their times were moved by."""
    if len(files) == 1:
        return {key: value for key, value in files[0].meta.items() if key in ("run_id", "command")}
    return {"files": [{"path": str(file.path), "shift_ns": str(file.shift)} for file in files]}


def _as_object(metadata: str) -> str:
    """The metadata as a JSON object: `args` may be nothing else. Text that is not JSON stays text, and so do numbers
    that JSON lacks: NaN and infinities."""
    try:
        value = json.loads(metadata, parse_constant=str, parse_float=_finite)
    except (ValueError, RecursionError):
        value = metadata
    return json.dumps(value if isinstance(value, dict) else {"metadata": value})


def _finite(digits: str) -> float | str:
    """The number of some digits; the digits where it is too large for one."""
    value = float(digits)
    return value if np.isfinite(value) else digits
