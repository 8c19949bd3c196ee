"""Statistics of a host trace and the difference of two, in pages, and the alignment of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from popvision.analysis.trace.alignment import Marker, Mode, align_traces
from popvision.analysis.trace.difference import difference_frame, trace_difference
from popvision.answers.page import Page, page_of, with_name
from popvision.formats.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from popvision.opened.trace import OpenedTrace


#: Figures whose differences order the call paths of two traces.
DIFFERENCES = ("total_us", "self_us", "count")


def trace_statistics_answer(
    trace: OpenedTrace,
    page: Page,
    *,
    name: str = "",
    by: str = "self_us",
    begin_us: float | None = None,
    end_us: float | None = None,
) -> dict[str, Any]:
    """Rows of `OpenedTrace.statistics`, largest `by` first, with the trace's duration.

    Raises FormatError for an unknown column or an empty window."""
    table = trace.statistics(begin_us, end_us)
    numbers = [column for column in table.columns if column not in ("label", "channel")]
    if by not in numbers:
        raise FormatError(f"there is no column {by!r} to sort by; use one of {', '.join(numbers)}.")
    facts = dict(table.attrs)
    table = table.sort_values(by, ascending=False, kind="stable", ignore_index=True)
    table.attrs = facts
    answer = {"provenance": facts["provenance"], "duration_us": trace.duration_us, "by": by}
    return answer | page_of(with_name(table, name, ("label", "channel")), page)


def trace_difference_answer(
    source: OpenedTrace, target: OpenedTrace, page: Page, *, name: str = "", by: str = "total_us"
) -> dict[str, Any]:
    """Call paths of two traces with count, total and self time of both, largest difference of `by` (count, total_us or
    self_us) first, more or less alike.

    Raises FormatError for another `by`."""
    if by not in DIFFERENCES:
        raise FormatError(f"there is no difference {by!r} to sort by; use one of {', '.join(DIFFERENCES)}.")
    table = difference_frame(trace_difference(source.source, target.source))
    order = (-table[f"{by}_diff"].abs()).argsort(kind="stable")
    table = table.iloc[order].reset_index(drop=True)
    answer = {
        "provenance": f"Source: {source.provenance}. Target: {target.provenance}.",
        "source": str(source.path),
        "target": str(target.path),
        "source_duration_us": source.duration_us,
        "target_duration_us": target.duration_us,
        "by": by,
    }
    return answer | page_of(with_name(table, name, ("path", "channel")), page)


def trace_alignment_answer(
    traces: Sequence[OpenedTrace], *, mode: str = "absolute", label: str = "", channel: str = "", occurrence: int = 0
) -> dict[str, Any]:
    """Where traces lie on a common clock: begin and duration of each in microseconds since the earliest begin.

    `mode` is "absolute" (time of day), "first" (first events coincide) or "event" (the events with this label, on this
    channel if given, coincide; `occurrence` 0 is the first). Raises FormatError for no trace, an unknown mode, and the
    mode "event" without a label."""
    modes = {each: each for each in get_args(Mode)}
    if mode not in modes:
        raise FormatError(f"traces cannot be aligned by {mode!r}; use one of {', '.join(modes)}.")
    if mode == "event" and not label:
        raise FormatError("traces are aligned by an event only when its label is given.")
    if not traces:
        raise FormatError("there is no trace to align; name one or more.")
    sources = [trace.source for trace in traces]
    alignment = align_traces(sources, modes[mode], Marker(label, channel, occurrence) if mode == "event" else None)
    rows = [
        {
            "path": str(trace.path),
            "name": source.label,
            "run_id": source.meta.get("run_id", ""),
            "pids": [pid for pid, _, _ in source.reader.processes()],
            "shift_ns": shift,
            "begin_us": (source.begin + shift - alignment.begin) / 1000,
            "duration_us": trace.duration_us,
            "aligned": number not in alignment.fallback,
        }
        for number, (trace, source, shift) in enumerate(zip(traces, sources, alignment.shifts, strict=True))
    ]
    return {
        "mode": alignment.mode,
        "begin_ns": alignment.begin,
        "end_ns": alignment.end,
        "traces": rows,
        "notes": list(alignment.notes),
    }
