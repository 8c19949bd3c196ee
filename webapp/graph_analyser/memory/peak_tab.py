"""The Peak tab: the memory of a tile at its peak index, as a waterfall chart and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.tile_peak import compared_peaks
from popvision.analysis.liveness.curve import curve, fullest_tile, peak
from popvision.analysis.liveness.steps import program_label
from popvision.analysis.liveness.tile_peak import GROUPS, SHOWN_FIGURES, PeakRow, TilePeak, peak_table, tile_peak
from popvision.analysis.report.figure import Table
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from webapp.base.formats import bytes_text, head_tail
from webapp.base.query import number_of
from webapp.base.theme import tokens
from webapp.components import figure, help_text, long_table, plain, segments
from webapp.components.attributes import attributes
from webapp.components.figure_columns import HIDE, Layout, figure_columns
from webapp.graph_analyser.memory.state import MOST_COLUMNS, MemoryPage
from webapp.graph_analyser.plots.bytes_axis import both_units, byte_ticks
from webapp.graph_analyser.plots.category_colours import part_colour, translucent
from webapp.graph_analyser.plots.page import save_plot

_LAYOUT: Layout = {"label": {"flex": 3}, "variable": HIDE}

_ROW = 21  # pixels


def peak_tab(page: MemoryPage, theme: str) -> Component:
    """The waterfall of the selected tile, else of the fullest one. Raises NotRecordedError without a graph profile."""
    tile = page.state.focus
    chosen = tile is not None
    tile = fullest_tile(page.source, page.state.replica) if tile is None else tile
    tile_figures = tile_peak(page.source, tile)
    other = _of_target(page.target, tile)
    tiles = {str(each): f"Tile {each:,}" for each in page.state.tiles[:MOST_COLUMNS]}
    bar: list[Component] = [segments("mem_tile", "Tile", tiles, str(tile))] if len(tiles) > 1 else []
    if not chosen:
        bar.append(html.Span("No tile is selected, so the fullest one is shown.", className="tab-note"))
    draws_all = _draws_whole(tile_figures, page.state.whole)
    bar += [peak_line(page, tile), _help(), html.Div(className="spacer")]
    bar.append(
        segments("mem_whole", "Draw up to", {"0": "Live bytes", "1": "Tile capacity"}, "1" if draws_all else "0")
    )
    bar.append(save_plot("mem-peak", f"tile-{tile}-peak"))
    notes = [tile_figures.note] if tile_figures.note else []
    drawn, height = _figure(tile_figures, other, theme, draws_all)
    plot: Any = figure("mem-peak", drawn, theme, image_name=f"tile-{tile}-peak")
    plot.config = plot.config | {"displayModeBar": False}
    label = f"Waterfall chart of the peak of tile {tile}; the table beside it has the same rows"
    scroll = html.Div(
        html.Div(plot, style={"height": height}),
        className="peak-plot",
        tabIndex="0",
        role="group",
        **attributes(aria_label=label),
    )
    columns = figure_columns(_table(page.source, page.target, tile), _LAYOUT)
    table = long_table("memory-peak", page.key, page.query | {"tile": str(tile)}, columns, selectable=True)
    return html.Div(
        [
            html.Div(bar, className="tab-bar"),
            *[html.Div(note, className="tab-hint") for note in notes],
            html.Div([scroll, html.Div(table, className="peak-table")], className="tab-fill peak-halves"),
        ],
        className="tab-column",
    )


def _draws_whole(tile_figures: TilePeak, text: str) -> bool:
    """The user's choice; without one, whether live bytes fill at least a quarter of the tile's memory."""
    if text in ("0", "1"):
        return text == "1"
    return tile_figures.rows[_live_rows(tile_figures)].bytes * 4 >= tile_figures.capacity


def _live_rows(tile_figures: TilePeak) -> int:
    """The index of the row "Memory excluding gaps"; the rows up to it are the bytes that the tile holds."""
    return next(at for at, row in enumerate(tile_figures.rows) if row.group == "gaps") - 1


def peak_line(page: MemoryPage, tile: int) -> Component:
    """A line about the peak of a tile: its liveness index, its bytes and its program."""
    try:
        top = peak(curve(page.source, Where("tile", tile)))
    except NotRecordedError:
        return html.Div()
    index = page.link("liveness", live_source="tile", liveness=top.index, tiles=tile)
    program = page.link("program_tree", program=top.program, tiles=tile, liveness=top.index)
    return html.Div(
        [
            html.B(f"Tile {tile:,}"),
            f" peaks at liveness index {top.index:,}: ",
            html.Span(bytes_text(top.total), title=f"{both_units(top.total)} = always live + not always live"),
            f" live while {program_label(page.source, top.program)} runs. ",
            html.A("Open the index", href=index, **attributes(data_nav="jump")),
            " · ",
            html.A("Show the program", href=program, **attributes(data_nav="jump")),
        ],
        className="peak-line",
    )


def _of_target(target: ReportSource | None, tile: int) -> TilePeak | None:
    """The waterfall of the target; None without a target, its tile or its graph profile."""
    if target is None or tile >= target_of(target).num_tiles:
        return None
    try:
        return tile_peak(target, tile)
    except NotRecordedError:
        return None


def _help() -> Component:
    return help_text(
        "Waterfall chart",
        "From the top: always-live bytes by category, with the largest variables; bytes live at the peak index of the "
        "tile; bytes reserved for variables that are live at other indices; gaps; free bytes.",
        "Each bar begins where the bar above ends, so every byte counts once.",
        formula="always live + live at the peak + reserved for other indices + gaps + free = memory of a tile",
    )


def peak_rows(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> Table:
    """The waterfall of the tile of a query as rows, of two reports side by side."""
    return _table(source, target, number_of(query, "tile"))


def _table(source: ReportSource, target: ReportSource | None, tile: int) -> Table:
    peak_of_source, peak_of_target = tile_peak(source, tile), _of_target(target, tile)
    if target is None or peak_of_target is None:
        table = peak_table(peak_of_source)
        return table.select([id for id in SHOWN_FIGURES if id != "category" or any(table["category"])])
    return compared_peaks(source, target, (peak_of_source, peak_of_target))


def _figure(tile_figures: TilePeak, other: TilePeak | None, theme: str, draws_all: bool) -> tuple[dict[str, Any], str]:
    """(bars of the waterfall, height of the plot); without `draws_all` up to memory excluding gaps."""
    rows = tile_figures.rows if draws_all else tile_figures.rows[: _live_rows(tile_figures) + 1]
    traces = [_bars(rows, "Source" if other else "", theme, tile_figures.tile)]
    colours = tokens(theme)
    labels = [plain(_short(row.label)) for row in rows]
    top = max([1, *accumulate(row.bytes if row.kind == "part" else 0 for row in rows)])
    ticks, texts = byte_ticks(top, 5)
    layout = {
        "barmode": "overlay",
        "bargap": 0.28,
        "showlegend": False,
        "margin": {"l": 10, "r": 16, "t": 26, "b": 8},
        "hovermode": "closest",
        "xaxis": {"side": "top", "range": [0, top * 1.16], "tickvals": ticks, "ticktext": texts, "fixedrange": True},
        "yaxis": {
            "tickvals": list(range(len(labels))),
            "ticktext": labels,
            "range": [len(labels) - 0.5, -0.5],
            "fixedrange": True,
            "automargin": True,
            "ticks": "",
        },
        "shapes": [
            {
                "type": "line",
                "x0": tile_figures.capacity,
                "x1": tile_figures.capacity,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": colours["bad"], "width": 1, "dash": "dash"},
            }
        ]
        if tile_figures.capacity <= top * 1.1
        else [],
    }
    return {"data": traces, "layout": layout}, f"{_ROW * len(labels) + 40}px"


def _short(label: str) -> str:
    return head_tail(label, 34)


def _bars(rows: list[PeakRow], name: str, theme: str, tile: int) -> dict[str, Any]:
    colours = tokens(theme)
    ends = list(accumulate(row.bytes if row.kind == "part" else 0 for row in rows))
    base = [0 if row.kind == "total" else end - max(row.bytes, 0) for row, end in zip(rows, ends, strict=True)]
    fills, patterns = [], []
    for row in rows:
        colour = part_colour(row.category, theme) if row.category else colours["muted"]
        if row.kind == "total":
            colour = translucent(colours["ink"], 0.72)
        elif row.group == "rest":
            colour = colours["bad"] if row.bytes < 0 else colours["line"]
        fills.append(colour)
        patterns.append("/" if row.group == "gaps" else "." if row.group == "other" else "")
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(range(len(rows))),
        "x": [abs(row.bytes) for row in rows],
        "base": [end if row.bytes < 0 else start for row, start, end in zip(rows, base, ends, strict=True)],
        "marker": {"color": fills, "pattern": {"shape": patterns, "size": 5, "solidity": 0.35}},
        "text": [bytes_text(row.bytes) for row in rows],
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": [
            f"<b>{plain(row.label)}</b><br>{GROUPS[row.group]}"
            + (f", {plain(row.category)}" if row.category else "")
            + f"<br>{both_units(row.bytes)}<br>so far {both_units(end)} of tile {tile:,}"
            for row, end in zip(rows, ends, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
