"""The ranks of one run as a dict and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.analysis.ranks.rank_figures import figures_by_rank, runs_of_ranks, steps_of_ranks
from popvision.analysis.ranks.sentences import sentences
from popvision.analysis.summary.report_list import open_report

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.ranks.rank_set import RankSet
    from popvision.analysis.ranks.trace_ranks import TraceSet


def ranks_answer(found: RankSet, limit: int | None = None) -> dict[str, Any]:
    """run, engine, ranks, missing, sentences; by_rank, by_run and by_step: frames as lists of rows with null for what
    is not recorded (`popvision.analysis.ranks.rank_figures` states columns and units), of by_step at most `limit`;
    steps: how many there are."""
    sources = {rank: open_report(folder) for rank, folder in found.folders.items()}
    by_rank, by_run, steps = figures_by_rank(sources), runs_of_ranks(sources), steps_of_ranks(sources)
    by_rank.insert(1, "folder", [str(found.folders[rank]) for rank in by_rank["rank"]])
    return {
        "run": found.run,
        "engine": found.engine,
        "ranks": found.ranks,
        "missing": found.missing,
        "sentences": sentences(found.ranks, by_rank, by_run, steps),
        "by_rank": _rows(by_rank),
        "by_run": _rows(by_run),
        "steps": len(steps.frame),
        "by_step": _rows(steps.frame.head(limit) if limit is not None else steps.frame),
    }


def traces_answer(found: TraceSet) -> dict[str, Any]:
    """The same keys for traces of ranks, which have no runs and steps of a device: `by_rank` has rank, trace, begin_us
    (after the first rank's) and length_us, both of host time."""
    first = min(trace.begin_ns for trace in found.traces.values())
    return {
        "run": "PyTorch's profiler",
        "engine": "",
        "ranks": found.ranks,
        "missing": found.missing,
        "sentences": found.sentences(),
        "by_rank": [
            {
                "rank": trace.rank,
                "trace": str(trace.path),
                "begin_us": (trace.begin_ns - first) / 1000,
                "length_us": (trace.end_ns - trace.begin_ns) / 1000,
            }
            for trace in found.traces.values()
        ],
        "by_run": [],
        "steps": 0,
        "by_step": [],
    }


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    objects = frame.astype(object)
    rows = objects.where(frame.notna(), None).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """A NumPy number as Python's; whole floats as integers."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
