"""What is wrong with a trace of any tool, what reading it repaired, and what its producer should change.

One import of the file, and a look at the lanes for spans that overlap: O(events)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from popvision.analysis.trace.call_order import nested_events
from popvision.analysis.trace.source import LEFT_OUT, NOT_READ, TraceSource
from popvision.formats.foreign_traces import clock, recording
from popvision.formats.foreign_traces.chrome_json import FURTHER_DOCUMENTS, NO_NUMBERS
from popvision.formats.foreign_traces.importing import import_recording
from popvision.formats.foreign_traces.recognition import is_foreign_trace
from popvision.formats.foreign_traces.recording import Recording
from popvision.formats.integrity import LostPart

LOST, REPAIRED = "lost", "repaired"

OVERLAPS = "spans that overlap others of their thread without lying inside them, drawn in deeper lanes"

#: How what was counted begins -> what a producer should change.
_ADVICE = {
    recording.ENDS_FIRST: "write events in the order of their times, or complete ones (X), which need no pairs",
    recording.UNFINISHED: "write an end for every begin, also when an exception passes and when the program ends",
    recording.LONG_LABELS: "put long texts into args: a name is a label that events share",
    OVERLAPS: "give them asynchronous events (b and e, an id each): viewers drop or cut such spans",
    recording.ENDS_ALONE: "write a begin on the same thread, with the same name, for every end",
    recording.NO_JSON: "write texts with a JSON library, which escapes quotes and control characters",
    NO_NUMBERS: "write null or a text for what is no number",
    FURTHER_DOCUMENTS: "write one document a file: most viewers read the first alone",
    clock.ABSOLUTE: "write no baseTimeNanoseconds, or times that count from it",
    recording.OTHER_ENCODING: "write the file as UTF-8",
    recording.NO_PHASE: "give every event its phase, ph",
    recording.NO_TIME: "give every event a time, ts, in microseconds",
    clock.BEYOND: "write times in microseconds, from 1970 or from the begin of the trace",
    clock.BEFORE: "write times in microseconds, from 1970 or from the begin of the trace",
    clock.ZERO: "leave out an event whose time is not known",
    recording.NO_DURATION: "give every complete event (X) a duration, dur",
    recording.NEGATIVE: "write durations of zero or more: take both times from one monotonic clock",
    recording.TOO_DEEP: "merge calls of deep recursions into one span",
    recording.METADATA: "put what differs in every event into counters, or fewer args",
    "nodes": "give every node an id of its own, and name only nodes of the tree above and below it",
    "bases of": "write baseTimeNanoseconds in nanoseconds since 1970, or none",
    "times that are no numbers": "write times as numbers of microseconds",
    "fields of the trace": "nothing but packets belongs into the trace: look for damage of the file",
    "samples without": "write a weight and a stack of known frames for every sample",
    "packed packets": "end the trace before it is copied",
}

#: What there is to say of a file that ends early, and of a kind of events that has no form here.
_END_ADVICE = "let the program close the file; a killed one leaves it without its end"
_NOT_READ_ADVICE = "nothing: other viewers may show it"


@dataclass(frozen=True)
class Finding:
    """`kind` is LOST, REPAIRED or NOT_READ; `count` of `what`; `advice` is what the producer should do."""

    kind: str
    what: str
    count: int
    advice: str


def trace_findings(path: Path, unit: str = "us") -> list[Finding]:
    """All there is to say of a trace, what was lost first. `unit` as in `import_trace`. Raises FormatError when it is
    no trace."""
    if not is_foreign_trace(path):
        source = TraceSource(path)
        return [*map(_of_part, source.survey()), *_of_spans(source)]
    with tempfile.TemporaryDirectory(prefix="popvision-check-") as folder:
        target = Path(folder, "trace.pvti")
        counted = import_recording(path, target, unit, keeps_losses=False)
        return [*_of_recording(counted), *_overlaps(TraceSource(target))]


def _of_recording(read: Recording) -> Iterator[Finding]:
    if read.problem:
        yield Finding(LOST, read.problem.rstrip("."), 1, _END_ADVICE)
    elif read.is_open:
        yield Finding(REPAIRED, "list of events without its end, which may still grow", 1, _END_ADVICE)
    for kind, counted in ((LOST, read.left_out), (REPAIRED, read.repaired)):
        for what, count in sorted(counted.items(), key=lambda item: -item[1]):
            yield Finding(kind, what, count, _advice(what))
    for what, count in sorted(read.not_read.items(), key=lambda item: -item[1]):
        yield Finding(NOT_READ, what, count, _NOT_READ_ADVICE)


def _of_part(part: LostPart) -> Finding:
    """Of a .pvti: what the file that it was imported from lost, or what of it is damaged."""
    is_of_import = part.kind in ("file", LEFT_OUT, NOT_READ)
    advice = "look at the file that it was imported from" if is_of_import else "write it again, or restore a copy"
    return Finding(NOT_READ if part.kind == NOT_READ else LOST, part.rstrip("."), part.number, advice)


def _of_spans(source: TraceSource) -> Iterator[Finding]:
    unfinished = sum(len(thread.unfinished) for thread in source.threads)
    if unfinished:
        yield Finding(REPAIRED, recording.UNFINISHED, unfinished, _advice(recording.UNFINISHED))
    yield from _overlaps(source)


def _overlaps(source: TraceSource) -> Iterator[Finding]:
    overlapping = sum(int(np.count_nonzero(~nested)) for thread in source.threads for nested in nested_events(thread))
    if overlapping:
        yield Finding(REPAIRED, OVERLAPS, overlapping, _advice(OVERLAPS))


def _advice(what: str) -> str:
    return next((advice for begin, advice in _ADVICE.items() if what.startswith(begin)), "look at these events")
