"""The tab "Kernels": what accelerators ran in a trace of PyTorch's profiler, what communicated, why streams idled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import FormatError
from popvision.analysis.trace.kernels import FORMULAS, KERNEL_QUESTIONS, has_kernels
from webapp.components.message import empty_hint, unavailable
from webapp.components.table import MOST_ROWS, Column, data_table

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace

#: Question -> heading of its table.
HEADINGS = {
    "kernels": "Kernels of each stream",
    "communication": "Communication",
    "idle": "Idle time of each stream, by reason",
}

#: Titles and kinds of columns that are no microseconds.
_COLUMNS = {
    "rank": ("Rank", "integer"),
    "device": ("Device", "integer"),
    "stream": ("Stream", "integer"),
    "label": ("Kernel", "text"),
    "kind": ("Kind", "text"),
    "count": ("Count", "integer"),
    "share": ("Share", "percent"),
    "overlap": ("Overlap", "percent"),
    "idle_share": ("Idle share", "percent"),
    "occupancy_percent": ("Occupancy %", "decimal"),
}


def kernel_column(name: str) -> Column:
    """A column of these tables; its header explains the figure."""
    title, kind = _COLUMNS.get(name, (f"{name.removesuffix('_us').capitalize()} µs", "decimal"))
    missing = "The trace has no occupancy of these kernels" if name == "occupancy_percent" else ""
    is_text = name in ("label", "kind")
    # wide enough for the title beside its filter
    width = {"label": 420, "kind": 130}.get(name, max(115, 10 * len(title) + 10))
    return Column(name, title, kind, "" if is_text else FORMULAS.get(name, ""), width=width, missing=missing)


def kernels_content(source: HostTrace) -> Component:
    """A table for each question."""
    if not has_kernels(source):
        return empty_hint("This trace has no kernels of an accelerator; PyTorch's profiler records them.")
    parts: list[Component] = []
    for question, (ask, _) in KERNEL_QUESTIONS.items():
        try:
            frame = ask(source)
        except FormatError as problem:
            return unavailable(problem)
        parts.append(html.H3(HEADINGS[question], className="tl-kernels-heading"))
        if not len(frame):
            parts.append(html.P("None: no name begins with nccl or rccl.", className="tl-scope"))
            continue
        if len(frame) > MOST_ROWS:
            parts.append(html.P(f"The first {MOST_ROWS:,} of {len(frame):,} rows, by time.", className="tl-scope"))
        columns = [kernel_column(name) for name in frame.columns]
        parts.append(data_table(f"tl-{question}", frame.head(MOST_ROWS), columns, name=question))
    return html.Div(parts, className="tl-kernels")
