"""The Variables tab: all variables, or the allocations of the selected tiles by address, by variable or as a map."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from popvision.analysis.memory.lowered import lowered_table, lowered_tile
from webapp.components import help_text, icon, long_table, popover, segments
from webapp.components.attributes import attributes
from webapp.components.figure_columns import HIDE, Layout, figure_columns
from webapp.graph_analyser.memory.state import MOST_COLUMNS, MemoryPage
from webapp.graph_analyser.memory.tables import ROWS, all_variables, table_columns, table_of

_ALLOCATIONS: Layout = {"variable_name": {"flex": 2}, "category": {"width": 160}, "variable": HIDE}


def variables_tab(page: MemoryPage) -> Component:
    """The table or map of the state. Raises NotRecordedError when the report has no lowered variables."""
    tile = page.state.focus
    if tile is None and not page.state.ipus:
        return _all(page)
    bar: list[Component] = []
    if tile is not None:
        views = {"address": "By address", "sizes": "By variable", "map": "Address map"}
        bar.append(segments("mem_map", "Show as", views, page.state.shows or "address"))
        tiles = {str(each): f"Tile {each:,}" for each in page.state.tiles[:MOST_COLUMNS]}
        if len(tiles) > 1 and page.state.shows != "sizes":
            bar.append(segments("mem_tile", "Tile", tiles, str(tile)))
    if tile is None or page.state.shows == "sizes":
        body = _sizes(page, bar)
    elif page.state.shows == "map":
        body = _map(page, tile, bar)
    else:
        body = _by_address(page, tile, bar)
    return html.Div(
        [html.Div(bar, className="tab-bar"), html.Div(body, className="tab-fill")],
        className="tab-column",
    )


def lifetime_link(page: MemoryPage) -> Component:
    """A link to the liveness page with the selected variable, which the browser adds."""
    link = html.A(
        "Show the lifetime of the selected variable",
        href=f"/r/{page.key}/liveness",
        **attributes(data_nav="view"),
    )
    return html.Span(link, className="tab-note")


def _all(page: MemoryPage) -> Component:
    columns = figure_columns(all_variables(page.source, page.target, page.query))
    hint = "Select rows to plot them across tiles (graph Variables), or a tile to see its addresses. "
    table = long_table("memory-variables", page.key, page.query, columns, selectable=True)
    return html.Div(
        [
            html.Div([hint, lifetime_link(page)], className="tab-hint"),
            html.Div(table, className="tab-fill"),
        ],
        className="tab-column",
    )


def _sizes(page: MemoryPage, bar: list[Component]) -> Component:
    bar += [html.Span("Bytes of each variable. Select a row, then:", className="tab-note"), lifetime_link(page)]
    shown = table_of("sizes", page.source, page.target, page.query)
    return long_table(ROWS["sizes"], page.key, page.query, table_columns(shown), selectable=True)


def _map(page: MemoryPage, tile: int, bar: list[Component]) -> Component:
    key, name, source = page.key, f"Tile {tile:,}", page.source
    if page.target is not None:
        sides = {"": "Source", "target": "Target"}
        bar.append(segments("mem_side", "Report", sides, "target" if page.state.side == "target" else ""))
        if page.state.side == "target":
            key, source = page.vs.split(",")[0], page.target
            name += " of the target"
    lowered_tile(source, tile)
    bar += [html.Span(f"{name}: addresses by liveness index", className="tab-note"), _address_map_help()]
    bar += [html.Div(className="spacer"), _save_map()]
    return _address_map(key, tile)


def _by_address(page: MemoryPage, tile: int, bar: list[Component]) -> Component:
    which = " in the source" if page.target is not None else ""
    note = f"Allocations of tile {tile:,}{which} by address. Select a row, then:"
    bar += [html.Span(note, className="tab-note"), lifetime_link(page)]
    columns = figure_columns(
        lowered_table(page.source, tile), _ALLOCATIONS, order=("address", "size_bytes", "name", "variable_name")
    )
    return long_table("memory-lowered", page.key, {"tile": str(tile)}, columns, selectable=True)


def _address_map(key: str, tile: int) -> Component:
    """The elements that assets/memory/address_map.js draws in and speaks through, for a tile of report `key`."""
    label = f"Addresses of tile {tile} by liveness index. Arrow keys move the cursor and read out the allocation there."
    return html.Div(
        [
            html.Div(
                id=f"address-map-{tile}",
                className="address-map",
                tabIndex="0",
                role="group",
                **attributes(data_key=key, data_tile=tile, aria_label=label),
            ),
            html.Div(className="address-reading", role="status", **attributes(aria_live="polite")),
            html.Div(
                [html.Div(className="address-legend"), html.Div(className="address-drawn")], className="address-below"
            ),
        ],
        className="address-box",
    )


def _address_map_help() -> Component:
    """The help of the map: what it shows, and how its bytes add up."""
    return help_text(
        "Address map",
        "Each band is one allocation: its height is its address range, its width its live range. Variables that share "
        "an address at different times lie side by side; the bars on the right count them. The curve above shows live "
        "bytes and reserved bytes at each index.",
        "A live range ends with the last use known to the compiler. Addresses that are reserved before the first or "
        "after the last use are idle: they hold no data at that index.",
        "Drag to zoom into a box, Shift-drag to move, use the wheel to zoom (Shift: indices, Alt: addresses), and "
        "click to select the variable and the index.",
        formula="live(index) + idle(index) + gaps = memory including gaps",
    )


def _save_map() -> Component:
    """The button that saves the map as an image."""
    buttons = [
        html.Button(f"Save as {kind.upper()}", type="button", className="button", **attributes(data_save_map=kind))
        for kind in ("png", "svg")
    ]
    return popover(icon("camera"), buttons, label="Save the map as an image", class_name="save-plot")
