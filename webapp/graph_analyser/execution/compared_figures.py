"""The figures of the window in source and target with their differences."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.matching import match_steps
from popvision.analysis.execution.timeline import PHASES
from popvision.analysis.execution.window import WindowFigures, window_figures
from webapp.components.difference import difference_mark, figure_text
from webapp.components.difference_key import difference_key
from webapp.components.row_export import exportable, row_values
from webapp.graph_analyser.execution.state import ipus_of, target_window, window_of
from webapp.selection import Selection

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

Figure = tuple[str, str, float | None]


def difference_table(
    source: ReportSource, target: ReportSource, selection: Selection, hidden: Collection[str]
) -> Component:
    """One row per figure and IPU: source, target, target - source; a dash for an IPU missing in the target."""
    source_window, target_cycles = window_of(source, selection), target_window(source, target, selection)
    count = target.reader.target().num_ipus
    rows = []
    for ipu in ipus_of(source, selection):
        ours = dict_of(window_figures(source, ipu, source_window.begin, source_window.end, hidden))
        theirs = dict_of(window_figures(target, ipu, *target_cycles, hidden)) if ipu < count else {}
        rows += [_row(ipu, name, kind, value, theirs.get(name, ("", None))[1]) for name, (kind, value) in ours.items()]
    matching = match_steps(source, target)
    about = (
        f"Source: cycles {source_window.begin:,} to {source_window.end:,}."
        f" Target: cycles {target_cycles[0]:,} to {target_cycles[1]:,}."
        f" Steps of the entire reports: {len(matching.source):,} matched,"
        f" {len(matching.only_source):,} only in the source, {len(matching.only_target):,} only in the target."
    )
    head = html.Tr([html.Th(each) for each in ("Figure", "Source", "Target", "Difference")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="trace-table trace-transfers")
    figures = exportable(table, "window-figures-source-target", "figures of both reports")
    return html.Div([html.P(about, className="trace-note"), difference_key(), figures], className="trace-compared")


def dict_of(figures: WindowFigures) -> dict[str, tuple[str, float | None]]:
    """(kind of number, value) by name."""
    return {name: (kind, value) for name, kind, value in _figures(figures)}


def _figures(each: WindowFigures) -> Iterator[Figure]:
    yield "Cycles", "cycles", each.length
    yield "Steps", "integer", each.steps
    for phase in PHASES:
        yield f"Tile cycles, {phase}", "cycles", each.recorded_cycles(phase)
    yield "Tile utilisation", "percent", each.utilisation
    yield "Tile balance", "percent", each.balance
    yield "Active tile balance", "percent", each.active_balance
    for name, moved in each.transfers.items():
        yield f"{name.capitalize()} Rx", "bytes", moved.received
        yield f"{name.capitalize()} Tx", "bytes", moved.sent
        yield f"{name.capitalize()}, bytes per cycle", "decimal", moved.bandwidth


def _row(ipu: int, name: str, kind: str, ours: float | None, theirs: float | None) -> Any:
    return html.Tr(
        [
            html.Th(f"IPU {ipu} · {name}", scope="row"),
            html.Td(figure_text(ours, kind)),
            html.Td(figure_text(theirs, kind)),
            html.Td(difference_mark(ours, theirs, kind)),
        ],
        **row_values({"ipu": ipu, "figure": name, "unit": kind, "source": ours, "target": theirs}),
    )
