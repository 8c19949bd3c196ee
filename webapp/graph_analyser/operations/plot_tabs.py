"""The Code, Cycles and FLOPs tabs: plots, and tables with the same figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.operations.code import operation_code
from popvision.analysis.operations.operations import FLOPS
from popvision.analysis.operations.parts import (
    compute_set_rows,
    cycles_by_type,
    tile_parts,
    vertex_type_rows,
)
from popvision.analysis.operations.roofline import PEAK_PER_TILE
from popvision.analysis.report.figure_titles import viewer_frame
from webapp.base.formats import bytes_text, cycles_text, integer_text, percent_text
from webapp.base.selection import Selection
from webapp.base.theme import step_style, tokens
from webapp.components import data_table, empty_hint, figure
from webapp.components.figure_columns import figure_columns
from webapp.components.section import facts
from webapp.components.table import MOST_ROWS
from webapp.graph_analyser.operations.state import Chosen, OperationState
from webapp.graph_analyser.plots.tile_plot import tile_plot

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def code_tab(
    source: ReportSource, state: OperationState, chosen: Chosen, selection: Selection, theme: str
) -> Component:
    """Code by kind and by tile, and its vertex types."""
    owners = state.groups(source).sums.owners
    code = operation_code(source, state.layer)
    colours = tokens(theme)
    values = {
        "Exchange": int(code.exchange[chosen.rows].sum()),
        "Control": int(code.control[chosen.rows].sum()),
        "Vertex, own": int(code.vertex[chosen.rows].sum()),
    }
    if 0 not in chosen.rows:
        values["Vertex, with shared code"] = int(tile_parts(source, owners, chosen.rows).vertex.sum())
    bars = [(name, value, colours[f"series-{at}"], "") for at, (name, value) in enumerate(values.items(), start=1)]
    parts: list[Component] = [
        _bars("ops-code", bars, theme, "Code, bytes", bytes_text),
    ]
    if 0 in chosen.rows:
        note = "Vertex code that several operations share on a tile, and code outside all operations of the layer."
        return html.Div([*parts, html.P(note, className="dim ops-hint")], className="ops-figures")
    code_parts = tile_parts(source, owners, chosen.rows)
    series = [("Exchange", code_parts.exchange), ("Control", code_parts.control), ("Vertex", code_parts.vertex)]
    parts.append(html.Div(tile_plot("ops-code-tiles", "bytes", series, selection, theme), className="tile-plots"))
    types = vertex_type_rows(source, owners, chosen.rows)
    rows, columns = viewer_frame(types), figure_columns(types, {"type": {"flex": 3}})
    parts.append(data_table("ops-types", rows, columns, name="operation-code", height=260))
    return html.Div(parts, className="ops-figures")


def cycles_tab(
    source: ReportSource, state: OperationState, chosen: Chosen, selection: Selection, theme: str
) -> Component:
    """Recorded cycles by program type, and estimated cycles by tile."""
    owners = state.groups(source).sums.owners
    clock = source.reader.target().clock_hz
    parts: list[Component] = []
    sums = cycles_by_type(source, owners, chosen.rows, state.ipu)
    if sums:
        styles = {name: step_style(name, theme) for name in sums}
        bars = [(name, value, styles[name].fill, styles[name].edge) for name, value in sums.items()]
        parts.append(_bars("ops-cycles", bars, theme, "Cycles", lambda value: cycles_text(value, clock)))
    else:
        ran = state.groups(source).sums.cycles is not None
        parts.append(empty_hint("No recorded step belongs to this operation." if ran else why_no_run(source)))
    if 0 not in chosen.rows:
        estimates = tile_parts(source, owners, chosen.rows).cycles
        series = [("Estimate, each program once", estimates)]
        plot = tile_plot("ops-cycles-tiles", "cycles", series, selection, theme)
        parts.append(html.Div(plot, className="tile-plots"))
    return html.Div(parts, className="ops-figures")


def flops_tab(
    source: ReportSource, state: OperationState, chosen: Chosen, selection: Selection, theme: str
) -> Component:
    """FLOPs, their rate compared with the machine's peak, and the compute sets."""
    sums = state.groups(source).sums
    sets = compute_set_rows(source, sums.owners, chosen.rows, state.ipu)
    if sums.flops is None or not len(sets):
        return empty_hint(FLOPS if sums.flops is None else "This operation has no compute sets.")
    table = data_table(
        "ops-flops",
        viewer_frame(sets).head(MOST_ROWS),
        figure_columns(sets),
        name="operation-flops",
        height=260,
    )
    return html.Div([html.Div(_rates(source, sums, chosen), className="detail-columns"), table])


def _rates(source: ReportSource, sums: Any, chosen: Chosen) -> list[Component]:
    target = source.reader.target()
    columns = sums.columns()

    def own(field: str) -> int:
        return int(columns[field][chosen.rows].clip(min=0).sum()) if field in columns else 0

    flops, cycles, received = own("flops"), own("cycles"), own("received")
    work: list[tuple[Any, Any]] = [("FLOPs, each program once", integer_text(own("flops_once")))]
    if "flops" in columns:
        work.append(("FLOPs, all recorded runs", integer_text(flops)))
        work.append(("Cycles", cycles_text(cycles, target.clock_hz)))
    rates: list[tuple[Any, Any]] = []
    if flops and cycles:
        rate = flops / cycles
        rates.append((html.Span("FLOPs per cycle", title="FLOPs / cycles"), f"{rate:,.2f}"))
        if target.clock_hz > 0:
            rates.append((html.Span("FLOPs per second", title="FLOPs / cycles x clock"), _si(rate * target.clock_hz)))
        for name, per_tile in zip(("half", "float"), PEAK_PER_TILE.get(target.architecture, ()), strict=False):
            peak = per_tile * target.tiles_per_ipu
            formula = f"{rate:,.2f} / ({per_tile} x {target.tiles_per_ipu:,} tiles), the peak of the data sheet"
            rates.append((html.Span(f"Share of the peak in {name}", title=formula), percent_text(rate / peak)))
    if flops and received:
        rates.append((html.Span("FLOPs per byte received", title="FLOPs / bytes received"), f"{flops / received:,.3f}"))
    return [
        html.Div([html.H2("Work"), facts(work)]),
        html.Div([html.H2("Rate"), facts(rates) if rates else html.P("No execution was recorded.", className="dim")]),
    ]


def _si(value: float) -> str:
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:,.2f} {unit}FLOP/s"
    return f"{value:,.2f} FLOP/s"


def _bars(name: str, bars: list[tuple[str, int, str, str]], theme: str, title: str, text: Any) -> Component:
    """Horizontal bars from top to bottom, each with its figure and its share of their sum."""
    total = max(1, sum(value for _, value, _, _ in bars))
    values = [value for _, value, _, _ in bars]
    trace = {
        "type": "bar",
        "orientation": "h",
        "y": [label for label, _, _, _ in bars],
        "x": values,
        "text": [text(value) for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [fill for _, _, fill, _ in bars], "line": {"width": 0}},
        "customdata": np.array(values) / total,
        "hovertemplate": "%{y}: %{x:,} (%{customdata:.2%} of the sum)<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": title}, "rangemode": "tozero", "separatethousands": True, "nticks": 6},
        "yaxis": {"autorange": "reversed"},
        "margin": {"l": 150, "r": 150, "t": 8, "b": 40},
        "bargap": 0.35,
    }
    box = figure(name, {"data": [trace], "layout": layout}, theme, image_name=name)
    return html.Div(box, className="ops-bars", style={"height": f"{64 + 28 * len(bars)}px"})
