"""What is wrong with a trace of any tool, what reading it repaired, and what its producer should change.

One import of the file, and a look at the lanes for spans that overlap: O(events)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from popvision.analysis.trace.call_order import nested_events
from popvision.analysis.trace.source import TraceSource
from popvision.formats.foreign_traces.chrome_json import FURTHER_DOCUMENTS, NO_NUMBERS
from popvision.formats.foreign_traces.clock import ABSOLUTE
from popvision.formats.foreign_traces.importing import import_recording
from popvision.formats.foreign_traces.recognition import is_foreign_trace
from popvision.formats.foreign_traces.recording import ENDS_FIRST, LONG_LABELS, UNFINISHED, Recording

LOST, REPAIRED, NOT_READ = "lost", "repaired", "not read"

OVERLAPS = "spans that overlap others of their thread without lying inside them, drawn in deeper lanes"

#: How what was counted begins -> what a producer should change.
_ADVICE = {
    ENDS_FIRST: "write the events of a thread in the order of their times, or complete events (X), which need no pairs",
    UNFINISHED: "write an end for every begin, also when an exception passes and when the program ends",
    LONG_LABELS: "put long texts into args: a name is a label that events share",
    OVERLAPS: "give them asynchronous events (b and e, an id each): viewers drop or cut such spans",
    "ends without a begin": "write a begin on the same thread, with the same name, for every end",
    "pieces that are no JSON": "write texts with a JSON library, which escapes quotes and control characters",
    NO_NUMBERS: "write null or a text for what is no number",
    FURTHER_DOCUMENTS: "write one document a file: most viewers read the first alone",
    ABSOLUTE: "write no baseTimeNanoseconds, or times that count from it",
    "characters of another encoding": "write the file as UTF-8",
    "objects without a phase": "give every event its phase, ph",
    "events without a time": "give every event a time, ts, in microseconds",
    "events beyond the year 2116": "write times in microseconds, from 1970 or from the begin of the trace",
    "events before the year 1897": "write times in microseconds, from 1970 or from the begin of the trace",
    "events at time 0 among dates": "leave out an event whose time is not known",
    "spans without a duration": "give every complete event (X) a duration, dur",
    "spans that end before they begin": "write durations of zero or more: take both times from one monotonic clock",
    "spans nested too deep": "merge calls of deep recursions into one span",
    "metadata of events": "put what differs in every event into counters, or fewer args",
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
        lost = [Finding(LOST, sentence.rstrip("."), 1, "write it again, or restore a copy") for sentence in source.lost]
        return [*lost, *_of_spans(source)]
    with tempfile.TemporaryDirectory(prefix="popvision-check-") as folder:
        target = Path(folder, "trace.pvti")
        recording = import_recording(path, target, unit, keeps_losses=False)
        return [*_of_recording(recording), *_overlaps(TraceSource(target))]


def _of_recording(recording: Recording) -> Iterator[Finding]:
    if recording.problem:
        yield Finding(LOST, recording.problem.rstrip("."), 1, _END_ADVICE)
    elif recording.is_open:
        yield Finding(REPAIRED, "list of events without its end, which may still grow", 1, _END_ADVICE)
    for kind, counted in ((LOST, recording.left_out), (REPAIRED, recording.repaired)):
        for what, count in sorted(counted.items(), key=lambda item: -item[1]):
            yield Finding(kind, what, count, _advice(what))
    for what, count in sorted(recording.not_read.items(), key=lambda item: -item[1]):
        yield Finding(NOT_READ, what, count, _NOT_READ_ADVICE)


def _of_spans(source: TraceSource) -> Iterator[Finding]:
    unfinished = sum(len(thread.unfinished) for thread in source.threads)
    if unfinished:
        yield Finding(REPAIRED, UNFINISHED, unfinished, _advice(UNFINISHED))
    yield from _overlaps(source)


def _overlaps(source: TraceSource) -> Iterator[Finding]:
    overlapping = sum(int(np.count_nonzero(~nested)) for thread in source.threads for nested in nested_events(thread))
    if overlapping:
        yield Finding(REPAIRED, OVERLAPS, overlapping, _advice(OVERLAPS))


def _advice(what: str) -> str:
    return next((advice for begin, advice in _ADVICE.items() if what.startswith(begin)), "look at these events")
