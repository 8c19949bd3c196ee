"""Kernels of accelerators in traces of PyTorch's profiler, in pages: what ran, what communicated, why streams idled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from popvision.analysis.trace.kernels import FORMULAS, KERNEL_QUESTIONS
from popvision.answers.page import Page, page_of, with_name
from popvision.answers.several_traces import Clock, joined
from popvision.answers.trace import check_column, losses_of, measures_of
from popvision.formats.errors import FormatError
from popvision.opened.frames import labelled

if TYPE_CHECKING:
    from popvision.opened.trace import OpenedTrace


def kernels_answer(
    traces: Sequence[OpenedTrace], question: str, page: Page, *, name: str = "", by: str = ""
) -> dict[str, Any]:
    """Rows of `OpenedTrace.kernels`, `.communication` or `.idle` (the question) of several ranks, largest `by` first,
    by default total or idle time; `formulas` defines the figures.

    Raises FormatError for an unknown question or column, for a name that idle time has not, and for traces without
    kernels."""
    if question not in KERNEL_QUESTIONS:
        raise FormatError(f"there is no question {question!r} about kernels; ask {', '.join(KERNEL_QUESTIONS)}.")
    ask, largest = KERNEL_QUESTIONS[question]
    table = ask(joined(traces, Clock()))
    by = by or largest
    check_column(table, by)
    if name and "label" not in table:
        raise FormatError(f"rows of {question} are streams, which have no name {name!r} to look for; leave it out.")
    table = labelled(table.sort_values(by, ascending=False, kind="stable", ignore_index=True), "")
    answer = {
        "provenance": "; ".join(dict.fromkeys(trace.provenance for trace in traces)),
        "question": question,
        "by": by,
        "formulas": {column: FORMULAS[column] for column in table.columns if column in FORMULAS},
        **losses_of(traces),
        **measures_of(traces),
    }
    return answer | page_of(with_name(table, name, ("label",)), page)
