"""Several host traces on one clock: where each lies, what each holds, and statistics of each and of all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from popvision.analysis.trace.alignment import Alignment, Marker, Mode, align_traces, is_empty
from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.joint import JointTrace, join_traces
from popvision.analysis.trace.source import TraceSource
from popvision.analysis.trace.statistics import label_statistics
from popvision.answers.page import Page, page_of, with_name
from popvision.answers.trace import check_column, losses_of, measures_of
from popvision.formats.errors import FormatError
from popvision.opened.frames import labelled

if TYPE_CHECKING:
    import pandas as pd

    from popvision.opened.trace import OpenedTrace

#: `file` of the rows that count the events of all files.
ALL_FILES = "(all files)"

_MODES: dict[str, Mode] = {each: each for each in get_args(Mode)}


@dataclass(frozen=True)
class Clock:
    """How traces come onto one clock: by absolute time, by their first events ("first"), or by the event with this
    label, on this channel if given ("event"; `occurrence` 0 is the first)."""

    mode: str = "absolute"
    label: str = ""
    channel: str = ""
    occurrence: int = 0

    def checked(self) -> tuple[Mode, Marker | None]:
        """The mode and the event. Raises FormatError for an unknown mode and for "event" without a label."""
        if self.mode not in _MODES:
            raise FormatError(f"traces cannot be aligned by {self.mode!r}; use one of {', '.join(_MODES)}.")
        if self.mode != "event":
            return _MODES[self.mode], None
        if not self.label:
            raise FormatError("traces are aligned by an event only when its label is given.")
        return "event", Marker(self.label, self.channel, self.occurrence)


def trace_alignment_answer(traces: Sequence[OpenedTrace], clock: Clock) -> dict[str, Any]:
    """Where traces lie on one clock: begin and duration of each in microseconds since the earliest begin; a trace
    without events has no begin. Raises FormatError for no trace."""
    if not traces:
        raise FormatError("there is no trace to align; name one or more.")
    alignment = align_traces([trace.source for trace in traces], *clock.checked())
    return {
        "mode": alignment.mode,
        "begin_ns": alignment.begin,
        "end_ns": alignment.end,
        "traces": _places(traces, alignment),
        **losses_of(traces),
        "notes": list(alignment.notes),
    }


def joined(traces: Sequence[OpenedTrace], clock: Clock) -> HostTrace:
    """One trace of several, on the clock of the first; one alone as it is."""
    mode, marker = clock.checked()
    return traces[0].source if len(traces) == 1 else join_traces([trace.source for trace in traces], mode, marker)


def notes_of(source: HostTrace) -> tuple[str, ...]:
    """What is to be said about the figures of a trace, and the alignment of several."""
    return source.notes + (source.alignment.notes if isinstance(source, JointTrace) else ())


def files_statistics_answer(
    traces: Sequence[OpenedTrace],
    page: Page,
    clock: Clock,
    *,
    name: str = "",
    by: str = "self_us",
    begin_us: float | None = None,
    end_us: float | None = None,
) -> dict[str, Any]:
    """Statistics per label of each file and, where there are several, of all together (`file` is ALL_FILES): labels
    with the largest `by` of all files first, below each what the files hold of it. The window counts from the earliest
    begin on the common clock. Of several files the page counts labels (of a channel), each with all its rows; `labels`
    is then their number on the page, and `total`, `offset` and `next_offset` are numbers of labels.

    Raises FormatError for an unknown column or an empty window."""
    import pandas as pd

    if begin_us is not None and end_us is not None and end_us <= begin_us:
        raise FormatError(f"the window from {begin_us} to {end_us} microseconds is empty.")
    joint = joined(traces, clock)
    window = [None if at is None else joint.begin + round(at * 1000) for at in (begin_us, end_us)]
    whole = label_statistics(joint, *window)
    check_column(whole, by)
    columns = list(whole.columns)  # a sampled file takes its columns from all
    whole = with_name(whole, name, ("label", "channel")).sort_values(by, ascending=False, kind="stable")
    ranks = pd.Series(range(len(whole)), pd.MultiIndex.from_frame(whole[["label", "channel"]]), dtype="int64")
    tables = [] if len(traces) == 1 else [_ranked(whole, ranks, ALL_FILES)]
    for trace, file in zip(traces, joint.files, strict=True):
        own = label_statistics(trace.source, *(None if at is None else at - file.shift for at in window))[columns]
        tables.append(_ranked(with_name(own, name, ("label", "channel")), ranks, str(trace.path)))
    table = pd.concat(tables).sort_values("rank", kind="stable", ignore_index=True)
    provenance = "; ".join(dict.fromkeys(trace.provenance for trace in traces))
    paged = _page_of_labels(table, page, provenance) if len(traces) > 1 else page_of(_unranked(table, provenance), page)
    return {
        "provenance": provenance,
        "duration_us": (joint.end - joint.begin) / 1000,
        "by": by,
        **losses_of(traces),
        **_clock_facts(traces, joint),
    } | paged


def _unranked(table: pd.DataFrame, provenance: str) -> pd.DataFrame:
    return labelled(table.drop(columns="rank"), provenance)


def _page_of_labels(table: pd.DataFrame, page: Page, provenance: str) -> dict[str, Any]:
    """`page_of` of the labels, by rank, each with the rows of all its files."""
    total = int(table["rank"].nunique())
    end = page.offset + page.limit
    shown = table[(table["rank"] >= page.offset) & (table["rank"] < end)]
    answer = page_of(_unranked(shown, provenance), Page(0, len(shown)))
    labels = int(shown["rank"].nunique())
    return answer | {
        "total": total,
        "offset": page.offset,
        "next_offset": end if labels and end < total else None,
        "labels": labels,
    }


def files_info_answer(traces: Sequence[OpenedTrace], infos: Sequence[dict[str, Any]], clock: Clock) -> dict[str, Any]:
    """What several files hold together, and `files`: what each holds (`infos`), with its place on the common clock."""
    joint = joined(traces, clock)
    facts = _clock_facts(traces, joint)
    places = facts.pop("files")
    runs = {trace.facts.get("run_id", "") for trace in traces}
    return {
        "begin_ns": joint.begin,
        "duration_us": (joint.end - joint.begin) / 1000,
        "events": joint.events,
        "instants": sum(len(thread.instant_time) for thread in joint.threads),
        "threads": len(joint.threads),
        "processes": sum(len(file.processes) for file in joint.files),
        "channels": len(joint.names.channel_name),
        "runs": len(runs),
        **losses_of(traces),
        **facts,
        "files": [place | info for place, info in zip(places, infos, strict=True)],
    }


def _clock_facts(traces: Sequence[OpenedTrace], joint: HostTrace) -> dict[str, Any]:
    """How the files came onto one clock: `align`, `files` and `notes`, which one file may have too."""
    if not isinstance(joint, JointTrace):
        return measures_of(traces)
    alignment = joint.alignment
    facts = {"align": alignment.mode, "files": _places(traces, alignment), "notes": list(notes_of(joint))}
    return measures_of(traces) | facts


def _places(traces: Sequence[OpenedTrace], alignment: Alignment) -> list[dict[str, Any]]:
    return [
        {
            "path": str(trace.path),
            "name": trace.source.label,
            "run_id": trace.source.meta.get("run_id", ""),
            "pids": [pid for pid, _, _ in trace.source.reader.processes()],
            "shift_ns": shift,
            "begin_us": _begin_us(trace.source, shift, alignment),
            "duration_us": trace.duration_us,
            "aligned": number not in alignment.fallback,
        }
        for number, (trace, shift) in enumerate(zip(traces, alignment.shifts, strict=True))
    ]


def _begin_us(source: TraceSource, shift: int, alignment: Alignment) -> float | None:
    return None if is_empty(source) else (source.begin + shift - alignment.begin) / 1000


def _ranked(table: pd.DataFrame, ranks: pd.Series[int], file: str) -> pd.DataFrame:
    """Statistics of a file, with the rank of each label over all files."""
    keys = list(zip(table["label"], table["channel"], strict=True))
    ranked = table.assign(rank=ranks.reindex(keys).to_numpy())
    ranked.insert(0, "file", file)
    return ranked
