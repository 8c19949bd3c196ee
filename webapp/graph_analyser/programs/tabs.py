"""The panel below the program tree: the tabs of the selected program. Tabs without content are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.programs.debug_chain import DebugRow, debug_chain
from popvision.analysis.programs.details import (
    CostRow,
    ProgramFacts,
    cost_rows,
    program_facts,
    tile_figures,
)
from popvision.analysis.programs.table import program_vertices
from webapp.base.view import ViewContext
from webapp.components import Column, Tab, data_table, empty_hint, tabs, unavailable
from webapp.components.debug_chain import debug_chain_list
from webapp.components.figure_columns import figure_columns, figure_frame
from webapp.graph_analyser.programs.summary_tab import CLASS_HELP, related_tab, summary_tab
from webapp.graph_analyser.programs.tiles_tab import tiles_tab

if TYPE_CHECKING:
    from popvision.analysis.report.figure import Table


HINT = "Select a program in the tree to see its details."


def program_panel(context: ViewContext) -> Component:
    """The tabs of the selected program; a hint when there is none."""
    source, selection, key = context.source, context.selection, context.key
    program = selection.program
    if program is None:
        return empty_hint(HINT)
    try:
        known = selection.ipu is None or selection.ipu < source.reader.target().num_ipus
        described = program_facts(source, program, selection.ipu if known else None)
    except ValueError as problem:
        return unavailable(problem)
    tiles = tile_figures(source, program)
    items = [Tab("summary", "Summary", summary_tab(source, described, key, context.target))]
    if any(column is not None for column in (tiles.estimated, tiles.recorded, tiles.received, tiles.exchange_code)):
        items.append(Tab("tiles", "Tiles", tiles_tab(source, tiles, selection, context.theme, key, context.target)))
    _add(items, "vertices", "Vertices", program_vertices(source, program), _vertices)
    _add(items, "cost", "Cost terms", cost_rows(source, program), _costs)
    related = related_tab(source, program, selection.extras.get("pt_layer", ""))
    if related is not None:
        items.append(related)
    chain = debug_chain(source, described.debug_id) if described.debug_id >= 0 else []
    items.append(Tab("debug", "Debug information", _debug(chain, described, key), str(len(chain)) if chain else ""))
    title = html.Div(
        [
            html.Strong(described.type),
            html.Span(described.name, className="panel-name path", title=described.name),
            html.Span(f"Id {described.program}", className="badge"),
        ],
        className="panel-title",
    )
    return html.Div(
        [title, tabs("pt_tab", items, selection.extras.get("pt_tab"), label="Program details")], className="panel-body"
    )


def _add(items: list[Tab], value: str, label: str, rows: Any, content: Callable[[Any], Component]) -> None:
    if len(rows):
        items.append(Tab(value, label, content(rows), str(len(rows))))


def _vertices(vertices: Table) -> Component:
    frame = figure_frame(vertices)
    return data_table("pt-vertices", frame, figure_columns(vertices), name="vertices", height="100%")


def _costs(rows: list[CostRow]) -> Component:
    table = [
        {"object": row.object, "term": row.term, "value": row.value, "provenance": row.provenance, "source": row.source}
        for row in rows
    ]
    columns = [
        Column("object", "Of", width=150, path=True),
        Column("term", "Term", flex=3, path=True),
        Column("value", "Value", "number", width=130),
        Column("provenance", "Class", width=90, help="; ".join(f"{name}: {text}" for name, text in CLASS_HELP.items())),
        Column("source", "Where it comes from", flex=3),
    ]
    return data_table("pt-costs", table, columns, name="cost-terms", height="100%")


def _debug(chain: list[DebugRow], described: ProgramFacts, key: str) -> Component:
    if described.debug_id < 0:
        return empty_hint("This program has no debug context: the compiler created it.")
    if not chain:
        return empty_hint(
            f"Debug context {described.debug_id} is not in the report: compile with autoReport.outputDebugInfo=true."
        )
    return debug_chain_list(chain, key)
