"""Statistics of a host trace and the difference of two, in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from popvision.analysis.trace.difference import DIFFERENCES, difference_frame, trace_difference
from popvision.answers.page import Page, page_of, with_name
from popvision.formats.errors import FormatError
from popvision.formats.integrity import summed, verified

if TYPE_CHECKING:
    import pandas as pd

    from popvision.opened.trace import OpenedTrace


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
    check_column(table, by)
    facts = dict(table.attrs)
    table = table.sort_values(by, ascending=False, kind="stable", ignore_index=True)
    table.attrs = facts
    answer = {"provenance": facts["provenance"], "duration_us": trace.duration_us, "by": by}
    answer |= losses_of([trace]) | measures_of([trace])
    return answer | page_of(with_name(table, name, ("label", "channel")), page)


def losses_of(traces: Sequence[OpenedTrace]) -> dict[str, Any]:
    """`lost`: what was left out of traces, by kind, and the sentence about the first, after the path where there are
    several; `verified`: the least of theirs."""
    lost = [part.within(str(trace.path)) if len(traces) > 1 else part for trace in traces for part in trace.source.lost]
    return {"lost": summed(lost), "verified": verified(lost, all(trace.source.has_checksums for trace in traces))}


def measures_of(traces: Sequence[OpenedTrace]) -> dict[str, Any]:
    """`notes` that must stand beside figures of sampled traces and of those that count no time; and their `samples`
    and `unit`. Nothing of others."""
    notes = list(dict.fromkeys(note for trace in traces for note in trace.source.notes))
    samples = sum(trace.source.samples for trace in traces)
    unit = "; ".join(dict.fromkeys(trace.source.unit for trace in traces if trace.source.unit))
    facts = {"notes": notes, "samples": samples, "unit": unit}
    return {name: fact for name, fact in facts.items() if fact}


def check_column(table: pd.DataFrame, by: str) -> None:
    """Raise FormatError unless a table has a column of numbers called `by`."""
    numbers = [str(column) for column in table.select_dtypes("number")]
    if by not in numbers:
        raise FormatError(f"there is no column {by!r} to sort by; use one of {', '.join(numbers)}.")


def trace_difference_answer(
    source: OpenedTrace, target: OpenedTrace, page: Page, *, name: str = "", by: str = "total_us"
) -> dict[str, Any]:
    """Call paths of two traces with count, total and self time of both, largest difference of `by` (count, total_us or
    self_us) first, more or less alike.

    Raises FormatError for another `by`."""
    if by not in DIFFERENCES:
        raise FormatError(f"there is no difference {by!r} to sort by; use one of {', '.join(DIFFERENCES)}.")
    table = difference_frame(trace_difference(source.source, target.source))
    if f"{by}_diff" not in table:
        raise FormatError(f"a trace is sampled, and has no {by} to sort by; use total_us or self_us.")
    order = (-table[f"{by}_diff"].abs()).argsort(kind="stable")
    table = table.iloc[order].reset_index(drop=True)
    answer = {
        "provenance": f"Source: {source.provenance}. Target: {target.provenance}.",
        "source": str(source.path),
        "target": str(target.path),
        "source_duration_us": source.duration_us,
        "target_duration_us": target.duration_us,
        "by": by,
        **losses_of([source, target]),
        **measures_of([source, target]),
    }
    return answer | page_of(with_name(table, name, ("path", "channel")), page)
