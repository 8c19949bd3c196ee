"""The panel below the program tree: tabs about the selected program, those its type has something to say in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.debug_chain import DebugRow, debug_chain
from popvision.analysis.program_details import (
    CostRow,
    ProgramFacts,
    VertexRow,
    cost_rows,
    program_facts,
    tile_figures,
    vertex_rows,
)
from webapp.components import Column, Tab, data_table, empty_hint, tabs
from webapp.components.attributes import attributes
from webapp.components.section import facts
from webapp.formats import bytes_text, cycles_text, integer_text, percent_text
from webapp.graph_analyser.program_tiles import tiles_tab
from webapp.selection import Selection

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource

_CLASS_HELP = {
    "exact": "a public formula",
    "fitted": "a constant fitted to published figures",
    "guess": "a default, because nothing says how long this takes",
    "unknown": "the report does not say where this comes from",
}


def program_panel(source: ReportSource, selection: Selection, theme: str, key: str) -> Component:
    """Tabs for the selected program; a hint when there is no such program."""
    program = selection.program
    if program is None:
        return empty_hint("Select a program in the tree to see its details.")
    try:
        found = program_facts(source, program, selection.ipu)
    except ValueError as problem:
        return empty_hint(f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    tiles = tile_figures(source, program)
    clock = source.reader.target().clock_hz
    items = [Tab("summary", "Summary", _summary(found, source.reader.total_cycles(), key, clock))]
    if any(column is not None for column in (tiles.estimated, tiles.recorded, tiles.received, tiles.exchange_code)):
        items.append(Tab("tiles", "Tiles", tiles_tab(tiles, selection, theme)))
    _add(items, "vertices", "Vertices", vertex_rows(source, program), _vertices)
    _add(items, "cost", "Cost terms", cost_rows(source, program), _costs)
    chain = debug_chain(source, found.debug_id) if found.debug_id >= 0 else []
    items.append(Tab("debug", "Debug information", _debug(chain, found), str(len(chain)) if chain else ""))
    title = html.Div(
        [
            html.Strong(found.type),
            html.Span(found.name, className="panel-name", title=found.name),
            html.Span(f"Id {found.program}", className="badge"),
        ],
        className="panel-title",
    )
    return html.Div(
        [title, tabs("pt_tab", items, selection.extras.get("pt_tab"), label="Program details")], className="panel-body"
    )


def _add(items: list[Tab], value: str, label: str, rows: list[Any], content: Callable[[list[Any]], Component]) -> None:
    if rows:
        items.append(Tab(value, label, content(rows), str(len(rows))))


def _summary(found: ProgramFacts, total: int, key: str, clock: float) -> Component:
    share = found.total_cycles / total if total else None
    time: list[tuple[Any, Any]] = [
        ("Executions", integer_text(found.executions)),
        ("Self cycles", cycles_text(found.self_cycles, clock)),
        ("Total cycles", cycles_text(found.total_cycles, clock)),
        ("Share of all cycles", percent_text(share)),
    ]
    if found.executions:
        time.insert(2, ("Cycles per execution", f"{found.self_cycles / found.executions:,.1f}"))
    what: list[tuple[Any, Any]] = [("Id", str(found.program)), ("Type", found.type), ("Name", found.name or "–")]
    what += [
        ("List", "Control programs" if found.owner == "control" else "Functions"),
        ("Phase", found.phase or "takes no time"),
    ]
    if found.repeat_count:
        what.append(("Trips", integer_text(found.repeat_count)))
    if found.trips >= 0:
        what.append(("Recorded trips", f"{integer_text(found.trips)} in {integer_text(found.entered)} entries"))
    if found.sync_type:
        what.append(("Sync", found.sync_type))
    if found.children:
        what.append(("Children", integer_text(found.children)))
    if found.compute_set >= 0:
        what.append(("Compute set", f"{found.compute_set}: {found.compute_set_name}"))
    columns = [
        html.Div([html.H2("Program"), facts(what)]),
        html.Div([html.H2("Device time"), facts(time), _links(found, key)]),
    ]
    data = _data_facts(found)
    if data:
        columns.append(html.Div([html.H2("Data and work"), facts(data)]))
    return html.Div(columns, className="detail-columns")


def _data_facts(found: ProgramFacts) -> list[tuple[Any, Any]]:
    rows: list[tuple[Any, Any]] = []
    if found.bytes_received or found.bytes_sent:
        rows += [
            ("Received, all executions", _bytes(found.bytes_received)),
            ("Sent, all executions", _bytes(found.bytes_sent)),
        ]
    if found.flops >= 0:
        rows.append(("FLOPs per execution", integer_text(found.flops)))
    if found.provenance:
        rows.append(("Figures come from", _provenance(found.provenance)))
    return rows


def _bytes(size: int) -> str:
    return f"{size:,} B" if size < 1024 else f"{size:,} B ({bytes_text(size)})"


def _provenance(name: str) -> Component:
    return html.Span([html.Span(name, className=f"class class-{name}"), f" {_CLASS_HELP.get(name, '')}"])


def _links(found: ProgramFacts, key: str) -> Component | str:
    if not found.executions:
        return ""
    href = f"/r/{key}/execution?program={found.program}"
    return html.A("Show in the execution trace", href=href, **attributes(data_nav="to"))


def _vertices(rows: list[VertexRow]) -> Component:
    table = [
        {
            "name": row.name,
            "kind": row.kind,
            "instances": row.instances,
            "tiles": row.tiles,
            "cycles": row.cycles,
            "largest": row.largest_tile_cycles,
            "state": row.state_bytes,
            "flops": None if row.flops < 0 else row.flops,
            "provenance": row.provenance,
        }
        for row in rows
    ]
    columns = [
        Column("name", "Vertex type", flex=3),
        Column("kind", "Kind", width=100),
        Column("instances", "Instances", "integer", width=100),
        Column("tiles", "Tiles", "integer", "Tiles that hold at least one", width=90),
        Column(
            "cycles",
            "Cycles",
            "cycles",
            "Of one execution: thread cycles for workers, tile cycles for others",
            width=130,
        ),
        Column("largest", "Largest tile", "cycles", "Cycles on the tile that has most", width=120),
        Column("state", "State, B", "bytes", "Bytes of vertex state over all tiles", width=110),
        Column("flops", "FLOPs", "integer", "Of one execution", width=120),
        Column("provenance", "From", width=90, help="; ".join(f"{name}: {text}" for name, text in _CLASS_HELP.items())),
    ]
    return data_table("pt-vertices", table, columns, name="vertices", height="100%")


def _costs(rows: list[CostRow]) -> Component:
    table = [
        {"object": row.object, "term": row.term, "value": row.value, "provenance": row.provenance, "source": row.source}
        for row in rows
    ]
    columns = [
        Column("object", "Of", width=130),
        Column("term", "Term", flex=2),
        Column("value", "Value", "number", width=130),
        Column("provenance", "From", width=90, help="; ".join(f"{name}: {text}" for name, text in _CLASS_HELP.items())),
        Column("source", "Source", flex=3),
    ]
    return data_table("pt-costs", table, columns, name="cost-terms", height="100%")


def _debug(chain: list[DebugRow], found: ProgramFacts) -> Component:
    if found.debug_id < 0:
        return empty_hint("This program has no debug context: the compiler made it.")
    if not chain:
        return empty_hint(
            f"Debug context {found.debug_id} is not in this folder: compile with autoReport.outputDebugInfo=true."
        )
    return html.Ol([_context(row) for row in chain], className="debug-chain")


def _context(row: DebugRow) -> Component:
    place = f"{row.file}:{row.line}" if row.file and row.line else row.file
    head: list[Any] = [html.Span(row.layer or "no layer", className="badge"), html.Strong(row.name or "–")]
    if place:
        head.append(html.Code(html.Bdi(place), className="debug-place", title=place))
    values: list[tuple[Any, Any]] = [(html.Code(name), value) for name, value in row.arguments]
    values += [([html.Code(name), html.Span(" output", className="dim")], value) for name, value in row.outputs]
    body = [facts(values)] if values else []
    return html.Li([html.Div(head, className="debug-head"), *body])
