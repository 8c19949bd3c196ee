"""The details tree as nested, foldable rows: labels on the left, one column of figures per selected tile.

The second and later tiles also have their difference to the first; in a comparison each column has source, target and
difference. Rows fold with `<details>`, which works from the keyboard and without the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.memory import DetailsPair
from popvision.analysis.memory.tile_details import DetailRow, TileDetails
from webapp.base.formats import bytes_text
from webapp.components.attributes import attributes
from webapp.components.difference import direction_class, signed_text
from webapp.components.difference_key import short_difference_key
from webapp.components.download_link import table_links
from webapp.graph_analyser.plots.bytes_axis import both_units


@dataclass(frozen=True)
class _Line:
    row: DetailRow
    cells: list[Component]
    empty: bool


def details_tree(details: TileDetails, export: str, query: str) -> Component:
    """The tree under its header. `export` is the path of its CSV and JSON files without suffix and `query`."""
    heads: list[str] = details.columns[:1]
    for name in details.columns[1:]:
        heads += [name, f"{_short(name)} − {_short(details.columns[0])}"]
    lines = []
    for row in details.rows:
        cells = [_value(row, row.values[0])]
        for value in row.values[1:]:
            cells += [_value(row, value), _difference(row, row.values[0], value)]
        lines.append(_Line(row, cells, row.unit == "bytes" and not any(row.values)))
    return _tree(lines, heads, export, query)


def compared_tree(pair: DetailsPair, export: str, query: str) -> Component:
    """The tree of two reports: source, target and difference (target - source) of each column."""
    heads = []
    for name in pair.columns:
        which = f" {name}" if len(pair.columns) > 1 else ""
        heads += [f"Source{which}", f"Target{which}", "Difference"]
    lines = []
    for mine, theirs in pair.rows:
        row = mine or theirs
        assert row is not None
        cells: list[Component] = []
        values: list[int | None] = []
        for column in range(len(pair.columns)):
            before = None if mine is None else mine.values[column]
            after = None if theirs is None else theirs.values[column]
            cells += [_value(row, before), _value(row, after), _difference(row, before, after)]
            values += [before, after]
        lines.append(_Line(row, cells, row.unit == "bytes" and not any(values)))
    return _tree(lines, heads, export, query)


def _short(name: str) -> str:
    return name.removeprefix("tile ").removeprefix("IPU ")


def _tree(lines: Sequence[_Line], heads: Sequence[str], export: str, query: str) -> Component:
    header = html.Div(
        [
            html.Span("Memory", className="mem-tree-label"),
            *[html.Span(name, className="mem-tree-value", title=name) for name in heads],
        ],
        className="mem-tree-row mem-tree-head",
    )
    links = table_links(export, query, "details", "these details")
    rows, _ = _nest(lines, 0, 0)
    key = [short_difference_key()] if "Difference" in heads else []
    bar = html.Div([html.Div(className="spacer"), *key, *links], className="table-bar")
    tree = html.Div([header, *rows], className="mem-tree", role="group", **attributes(aria_label="Memory details"))
    return html.Div([bar, tree])


def _nest(lines: Sequence[_Line], start: int, depth: int) -> tuple[list[Component], int]:
    """(components of the lines at this depth from `start` on, the first line that is not below them)."""
    built: list[Component] = []
    at = start
    while at < len(lines) and lines[at].row.depth >= depth:
        line = lines[at]
        children, after = _nest(lines, at + 1, depth + 1)
        if children:
            is_open = line.row.depth < 2 and not line.row.key.startswith("vertex")
            built.append(html.Details([html.Summary(_row(line, True)), *children], open=is_open))
        else:
            built.append(html.Div(_row(line, False), className="mem-tree-leaf"))
        at = after
    return built, at


def _row(line: _Line, foldable: bool) -> Component:
    row = line.row
    fold: Any = html.Span(className="mem-tree-fold") if foldable else html.Span(className="mem-tree-fold none")
    label = html.Span(
        [fold, row.label], className="mem-tree-label", style={"paddingLeft": f"{8 + 16 * row.depth}px"}, title=row.label
    )
    name = "mem-tree-row" + (" mem-tree-zero" if line.empty else "")
    return html.Div([label, *line.cells], className=name, **attributes(data_key=row.key))


def _value(row: DetailRow, value: int | None) -> Component:
    if value is None:
        return html.Span("–", className="mem-tree-value")
    if row.unit == "id":
        return html.Span(f"{value:,}", className="mem-tree-value")
    return html.Span(bytes_text(value), className="mem-tree-value", title=f"{value:,} B")


def _difference(row: DetailRow, before: int | None, after: int | None) -> Component:
    if row.unit == "id" or before is None or after is None:
        return html.Span("" if row.unit == "id" else "–", className="mem-tree-value")
    change = after - before
    text = signed_text(change, "bytes")
    title = f"{change:+,} B: {both_units(after)} − {both_units(before)}"
    name = f"mem-tree-value diff {direction_class(change)}".strip()
    return html.Span(text, className=name, title=title)
