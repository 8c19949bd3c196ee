"""The tabs of the memory page: details tree, and tables of compute sets, vertices and exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.memory import details_pair
from popvision.analysis.memory.tile_details import tile_details
from popvision.analysis.report.not_recorded import CODE_SIZES
from popvision.analysis.report.nouns import with_noun
from popvision.query.areas import bytes_of_tiles
from webapp.base.view import ViewContext
from webapp.components import empty_hint, long_table, missing_note, noted
from webapp.components.attributes import attributes
from webapp.components.figure_columns import why_missing
from webapp.graph_analyser.memory.details_tree import compared_tree, details_tree
from webapp.graph_analyser.memory.peak_tab import peak_line, peak_tab
from webapp.graph_analyser.memory.state import MOST_COLUMNS, MemoryPage
from webapp.graph_analyser.memory.tables import ROWS, columns_of, table_columns, table_of
from webapp.graph_analyser.memory.tiles_tab import tiles_tab
from webapp.graph_analyser.memory.variables_tab import variables_tab

#: View and text of the link for a selected row of each table.
_NEXT = {
    "compute_sets": ("program_tree", "Open its program in the Program Tree"),
    "exchanges": ("exchange", "Open its traffic in the Exchange view"),
}


def tab_content(context: ViewContext, tab: str) -> Component:
    """The chosen tab. Raises NotRecordedError or ValueError for what a report lacks."""
    page = MemoryPage.read(context)
    if tab == "peak":
        return peak_tab(page, context.theme)
    if tab == "tiles":
        return tiles_tab(page, context.theme)
    return {"details": _details, "variables": variables_tab}.get(tab, _table)(page)


def _details(page: MemoryPage) -> Component:
    state, query = page.state, page.query
    export = f"/data/{page.key}/table/memory-details"
    if page.target is None:
        tree = details_tree(tile_details(page.source, columns_of(page.source, query)), export, page.query_text)
    else:
        columns = columns_of(page.source, query)
        pair = details_pair(page.source, page.target, columns, state.tiles[:MOST_COLUMNS], state.ipus, state.replica)
        tree = compared_tree(pair, export, page.query_text)
    lines = [] if page.target is not None else [peak_line(page, tile) for tile in state.tiles[:MOST_COLUMNS]]
    hidden = len(state.tiles) - MOST_COLUMNS
    if hidden > 0:
        lines.insert(0, html.Div(f"{hidden:,} more selected tiles appear in the plot only.", className="peak-line"))
    if not state.tiles:
        return tree
    if len(lines) > 3:
        lines = [*lines[:2], html.Details([html.Summary(f"Peaks of {len(lines) - 2:,} more"), *lines[2:]])]
    area = html.Div(_area_link(page.key, state.tiles), className="peak-lines peak-area")
    return html.Div([html.Div(lines, className="peak-lines"), area, tree])


def _area_link(key: str, tiles: Sequence[int]) -> Component | str:
    """The link to the bytes of the selected tiles by category, as SQL."""
    try:
        sql = bytes_of_tiles(tiles)
    except ValueError as problem:
        return f"No SQL of this area: {problem}."
    href = f"/r/{key}/sql?{urlencode({'sql': sql})}"
    return html.A(f"SQL of {with_noun(len(tiles), 'selected tile')}", href=href, **_NAV)


_NAV = attributes(data_nav="to")


def _table(page: MemoryPage) -> Component:
    tab = page.state.tab
    shown = table_of(tab, page.source, page.target, page.query)
    if not len(shown):
        return empty_hint(f"No {tab.replace('_', ' ')} here.")
    table = long_table(ROWS[tab], page.key, page.query, table_columns(shown), selectable=tab in _NEXT)
    table = noted(missing_note(why_missing(shown, {"code_bytes": CODE_SIZES})), table)
    if tab not in _NEXT:
        return table
    view, text = _NEXT[tab]
    link = html.A(text, href=f"/r/{page.key}/{view}", **attributes(data_nav="view"))
    hint = html.Div(["Select a row, then: ", link], className="tab-hint")
    return html.Div([hint, html.Div(table, className="tab-fill")], className="tab-column")
