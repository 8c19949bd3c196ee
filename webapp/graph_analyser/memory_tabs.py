"""What the tabs of the memory page hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from popvision.analysis.live_steps import program_label
from popvision.analysis.liveness import Where, curve, peak
from popvision.analysis.lowered import lowered_table, lowered_tile, variables
from popvision.analysis.not_recorded import NotRecordedError
from popvision.analysis.source import ReportSource
from popvision.analysis.tile_columns import tile_columns
from popvision.analysis.tile_contents import compute_set_table, exchange_table, vertex_table
from popvision.analysis.tile_details import tile_details
from popvision.analysis.tiles import target_of
from webapp.components import Column, empty_hint, long_table, segments
from webapp.components.attributes import attributes
from webapp.formats import bytes_text
from webapp.graph_analyser.address_map_view import address_map_box, address_map_help, save_map
from webapp.graph_analyser.bytes_axis import both_units
from webapp.graph_analyser.details_tree import details_tree
from webapp.graph_analyser.memory_state import MOST_COLUMNS, MemoryState, memory_state, parse_numbers

if TYPE_CHECKING:
    import pandas as pd

#: Names under which the rows of long tables are registered.
ROWS = {"compute_sets": "memory-compute-sets", "vertices": "memory-vertices", "exchanges": "memory-exchanges"}
_TABLES = {"compute_sets": compute_set_table, "vertices": vertex_table, "exchanges": exchange_table}
_TEXT = {"Compute set", "Vertex type", "Exchange"}
_COUNTS = {"Id", "Programs", "Program"}
_HELP = {
    "State": "Instances x bytes of one instance's state",
    "Code": "Bytes, once per tile that holds it; a dash where the size is not known",
    "Received": "Bytes received in one execution",
    "Sent": "Bytes sent in one execution, a multicast once",
    "Programs": "Programs that run the compute set",
}


def tab_content(source: ReportSource, key: str, state: MemoryState) -> Component:
    """The chosen tab. What the report lacks is said in its place."""
    try:
        if state.tab == "details":
            return _details(source, key, state)
        if state.tab == "variables":
            return _variables(source, key, state)
        return _table(source, key, state)
    except NotRecordedError as lacking:
        return empty_hint(str(lacking))


def query_of(state: MemoryState) -> dict[str, str]:
    """The part of a state that the tables depend on, as a query that `columns_of_query` reads."""
    query = {
        "tiles": ",".join(map(str, state.tiles[:MOST_COLUMNS])),
        "ipu": ",".join(map(str, state.ipus[:MOST_COLUMNS])),
        "replica": "all" if state.replica is None else str(state.replica),
    }
    return {name: value for name, value in query.items() if value}


def details_frame(source: ReportSource, query: Mapping[str, str]) -> pd.DataFrame:
    """The details tree as a table: Depth, Memory, then a column per tile. Raises as `tile_details`."""
    import pandas as pd

    details = tile_details(source, _columns(source, query))
    frame = pd.DataFrame({"Path": [r.key for r in details.rows], "Memory": [r.label for r in details.rows]})
    for column, name in enumerate(details.columns):
        frame[name] = pd.array([row.values[column] for row in details.rows], dtype="Int64")
    return frame


def table_frame(tab: str, source: ReportSource, query: Mapping[str, str]) -> pd.DataFrame:
    """Rows of the compute sets, vertices or exchanges tab."""
    return _TABLES[tab](source, _columns(source, query))


def lowered_frame(source: ReportSource, query: Mapping[str, str]) -> pd.DataFrame:
    """Allocations of the tile that the query names."""
    return lowered_table(source, int(query["tile"]))


def variables_frame(source: ReportSource, query: Mapping[str, str]) -> pd.DataFrame:
    """Variables before lowering, largest first: Variable, Id, Bytes (of one replica), Live."""
    import pandas as pd

    known = variables(source)
    replicas = target_of(source).num_replicas
    frame = pd.DataFrame(
        {
            "Variable": known.name,
            "Id": range(len(known.name)),
            "Bytes": known.bytes // replicas,
            "Live": ["always" if each else "at times" for each in known.always_live.tolist()],
        }
    )
    return frame.sort_values(["Bytes", "Id"], ascending=[False, True])


def _columns(source: ReportSource, query: Mapping[str, str]) -> Any:
    replica = None if query.get("replica") == "all" else int(query.get("replica", "0"))
    tiles, ipus = parse_numbers(query.get("tiles", "")), parse_numbers(query.get("ipu", ""))
    return tile_columns(target_of(source), tiles, ipus, replica)


def _details(source: ReportSource, key: str, state: MemoryState) -> Component:
    details = tile_details(source, state.columns(source))
    tree = details_tree(details, f"/data/{key}/table/memory-details", "?" + urlencode(sorted(query_of(state).items())))
    lines = [_peak_line(source, key, tile) for tile in state.tiles[:MOST_COLUMNS]]
    more = len(state.tiles) - MOST_COLUMNS
    if more > 0:
        lines.append(html.Div(f"{more:,} more selected tiles are marked in the plot only.", className="peak-line"))
    if not lines:
        return tree
    if len(lines) > 3:
        lines = [*lines[:2], html.Details([html.Summary(f"Peaks of {len(lines) - 2:,} more"), *lines[2:]])]
    return html.Div([html.Div(lines, className="peak-lines"), tree])


def _peak_line(source: ReportSource, key: str, tile: int) -> Component:
    """Where a tile's own curve peaks, and the program that runs there."""
    try:
        top = peak(curve(source, Where("tile", tile)))
    except NotRecordedError:
        return html.Div()
    href = f"/r/{key}/liveness?live_source=tile&liveness={top.index}&tiles={tile}"
    return html.Div(
        [
            html.B(f"Tile {tile:,}"),
            f" is fullest at liveness index {top.index:,}: ",
            html.Span(bytes_text(top.total), title=f"{both_units(top.total)} = always live + live there"),
            f" live while {program_label(source, top.program)} runs. ",
            html.A("Open this index", href=href, **attributes(data_nav="jump")),
            " · ",
            html.A(
                "Show the program", href=f"/r/{key}/program_tree?program={top.program}", **attributes(data_nav="jump")
            ),
        ],
        className="peak-line",
    )


def _table(source: ReportSource, key: str, state: MemoryState) -> Component:
    frame = table_frame(state.tab, source, query_of(state))
    columns = [_column(name, many=len(frame.columns) > 7) for name in frame.columns]
    if frame.empty:
        return empty_hint(f"No {state.tab.replace('_', ' ')} here.")
    return long_table(ROWS[state.tab], key, query_of(state), columns)


def _column(name: str, many: bool) -> Column:
    first = name.split(",")[0]
    if name in ("Kind", "Type"):
        return Column(name, name, width=130)
    if name in _TEXT:
        return Column(name, name, width=280) if many else Column(name, name, flex=3)
    if name in _COUNTS:
        return Column(name, name, "integer", help=_HELP.get(name, ""), width=90)
    kind = "integer" if first in ("Vertices", "Instances") else "bytes"
    unit = "" if kind == "integer" else " (B)"
    return Column(name, name.replace(", ", " on ", 1) + unit, kind, help=_HELP.get(first, ""), width=170)


def _variables(source: ReportSource, key: str, state: MemoryState) -> Component:
    if state.focus is None:
        columns = [
            Column("Variable", "Variable", flex=4),
            Column("Id", "Id", "integer", width=80),
            Column("Bytes", "Bytes", "bytes", help="Over all tiles of one replica", width=140),
            Column("Live", "Live", width=110),
        ]
        variables(source)
        return html.Div(
            [
                html.Div(
                    "Select rows to draw them across tiles (graph type Variables); select a tile to see its addresses.",
                    className="tab-hint",
                ),
                html.Div(
                    long_table("memory-variables", key, query_of(state), columns, selectable=True), className="tab-fill"
                ),
            ],
            className="tab-column",
        )
    return _on_tile(source, key, state, state.focus)


def _on_tile(source: ReportSource, key: str, state: MemoryState, tile: int) -> Component:
    """What lies on one of the selected tiles, as a table or as a map."""
    bar: list[Component] = [
        segments("mem_map", "Show as", {"": "Table", "map": "Address map"}, "map" if state.as_map else "")
    ]
    tiles = {str(each): f"Tile {each:,}" for each in state.tiles[:MOST_COLUMNS]}
    if len(tiles) > 1:
        bar.append(segments("mem_tile", "Tile", tiles, str(tile)))
    lowered_tile(source, tile)
    if state.as_map:
        body: Any = address_map_box(key, tile)
        bar += [html.Span(f"Tile {tile:,}: addresses by liveness index", className="tab-note"), address_map_help()]
        bar += [html.Div(className="spacer"), save_map()]
    else:
        body = _lowered_table(source, key, tile)
        bar.append(html.Span(f"What lies on tile {tile:,}, by address.", className="tab-note"))
    return html.Div(
        [html.Div(bar, className="tab-bar"), html.Div(body, className="tab-fill")],
        className="tab-column",
    )


def _lowered_table(source: ReportSource, key: str, tile: int) -> Component:
    columns = [
        Column("Address", "Address", "integer", help="Byte offset within the tile's memory", width=110),
        Column("Bytes", "Bytes", "bytes", width=100),
        Column("Name", "Name", flex=3),
        Column("Variable", "Variable", flex=2),
        Column("Category", "Category", width=170),
        Column("Region", "Region", width=130),
        Column("Live", "Live (indices)", width=140, help="Liveness indices at which it is live, last included"),
        Column("Shared", "Shared", width=90, help="yes = another allocation uses one of its addresses at another time"),
        Column("Id", "Id", "integer", width=90),
    ]
    return long_table("memory-lowered", key, {"tile": str(tile)}, columns)


__all__ = [
    "ROWS",
    "details_frame",
    "lowered_frame",
    "memory_state",
    "query_of",
    "tab_content",
    "table_frame",
    "variables_frame",
]
