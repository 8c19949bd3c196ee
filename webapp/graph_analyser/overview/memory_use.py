"""Memory of the tiles: those that use most, how many use which sixth, and the largest user of each kind."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.insights.largest_users import SIXTHS, MemoryUse, memory_use
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.nouns import with_noun
from webapp.base.formats import bytes_text, percent_text
from webapp.base.view import ViewContext
from webapp.components import loading, unavailable
from webapp.components.attributes import attributes
from webapp.components.row_export import Value, exportable, row_values
from webapp.components.section import meter, section

#: Headings of the largest users, and what they mean.
_HEADS = (
    ("Where", "All tiles, the IPU with most bytes in use, and the fullest tile"),
    ("Kind", "What is compared: the largest one of each kind is listed"),
    ("Largest", "Name of the program, variable or vertex type"),
    ("Bytes", "Of the largest one of its kind, in this place"),
    ("Id", "Of the program, variable or vertex type"),
)


def place(side: str = "") -> Component:
    """The place of the section, with a note until it is there. `side` begins its hint: whose figures these are."""
    body = html.Div(loading(), id="overview-use")
    return section("use", "What fills the memory", body, hint=side + "bytes in use, gaps excluded")


def contents(context: ViewContext) -> list[Component]:
    """The contents of the section."""
    try:
        use = memory_use(context.source)
    except NotRecordedError as problem:
        return [unavailable(problem)]
    sides = [_tiles(context.key, use), _sixths(use)]
    return [html.Div(sides, className="section-columns"), _users(use)]


def _tiles(key: str, use: MemoryUse) -> Component:
    rows = []
    columns = zip(use.tiles.tolist(), use.excluding_gaps.tolist(), use.including_gaps.tolist(), strict=True)
    for tile, size, highest in columns:
        share = size / use.capacity if use.capacity else 0.0
        link = html.A(f"tile {tile:,}", href=f"/r/{key}/memory?tiles={tile}", **attributes(data_nav="to"))
        title = f"{size:,} B of {use.capacity:,} B; highest used address {highest:,}"
        bar = html.Div(meter(share, f"{percent_text(share)} of the tile's memory"), title=title)
        cells = [html.Th(link, scope="row"), html.Td(bar), html.Td(bytes_text(size), className="number")]
        values = {"tile": tile, "used_bytes": size, "capacity_bytes": use.capacity, "highest_address": highest}
        rows.append(html.Tr(cells, **row_values(values)))
    every = ",".join(str(tile) for tile in use.tiles.tolist())
    link = html.A("Memory of these tiles", href=f"/r/{key}/memory?tiles={every}", **attributes(data_nav="to"))
    table = html.Table(html.Tbody(rows), className="use-table")
    is_over = bool((use.including_gaps > use.capacity).any())
    title = "Fullest tiles, furthest over their memory first" if is_over else "Fullest tiles"
    return html.Div([html.H3(title), exportable(table, "fullest-tiles", "the fullest tiles"), link])


def _sixths(use: MemoryUse) -> Component:
    """How many tiles use which sixth of their memory."""
    most = max(int(use.sixths.max()), 1)
    rows: list[Any] = []
    for number, tiles in enumerate(use.sixths.tolist()):
        if number == SIXTHS and not tiles:
            continue
        low, high = (use.capacity * each // SIXTHS for each in (number, number + 1))
        name = f"{bytes_text(low)} to {bytes_text(high)}" if number < SIXTHS else f"over {bytes_text(use.capacity)}"
        bar = meter(tiles / most, with_noun(tiles, "tile"))
        values = {"from_bytes": low, "to_bytes": high if number < SIXTHS else None, "tiles": tiles}
        cells = [html.Th(name, scope="row"), html.Td(bar), html.Td(f"{tiles:,}", className="number")]
        rows.append(html.Tr(cells, **row_values(values)))
    table = exportable(html.Table(html.Tbody(rows), className="use-table"), "tiles-by-use", "tiles by their use")
    return html.Div([html.H3("Tiles by the part of their memory in use"), table])


def _users(use: MemoryUse) -> Component:
    """A row for each place and kind. They are a few rows, so the page draws them: a grid costs the browser 0.1 s."""
    heads = [
        html.Th(text, scope="col", title=hint, className="number" if text in ("Bytes", "Id") else "")
        for text, hint in _HEADS
    ]
    rows = []
    for each in use.users:
        cells = [
            html.Td(each.where),
            html.Td(each.kind),
            html.Td(each.name, className="name"),
            html.Td(bytes_text(each.bytes), title=f"{each.bytes:,} B", className="number"),
            html.Td(str(each.id) if each.id >= 0 else "", className="number"),
        ]
        id_ = each.id if each.id >= 0 else None
        values: dict[str, Value] = {
            "where": each.where,
            "kind": each.kind,
            "name": each.name,
            "bytes": each.bytes,
            "id": id_,
        }
        rows.append(html.Tr(cells, **row_values(values)))
    table = html.Table([html.Thead(html.Tr(heads)), html.Tbody(rows)], className="users-table")
    return html.Div([html.H3("Largest consumers"), exportable(table, "largest-users", "the largest consumers")])
