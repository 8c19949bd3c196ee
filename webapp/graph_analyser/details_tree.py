"""The details tree as nested, foldable rows: labels on the left, one column of figures per selected tile.

Folding is the browser's own (`<details>`), so it works from the keyboard and survives without the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.tile_details import DetailRow, TileDetails
from webapp.components.attributes import attributes
from webapp.components.icon import icon
from webapp.formats import bytes_text


def details_tree(details: TileDetails, export: str, query: str) -> Component:
    """The tree under a header line. `export` is the path of its CSV and JSON without the ending and `query`."""
    header = html.Div(
        [
            html.Span("Memory", className="mem-tree-label"),
            *[html.Span(name, className="mem-tree-value") for name in details.columns],
        ],
        className="mem-tree-row mem-tree-head",
    )
    links = [
        html.A(
            [icon("download"), kind.upper()],
            href=f"{export}.{kind}{query}",
            className="button small",
            download=f"details.{kind}",
            title=f"Save these details as {kind.upper()}",
        )
        for kind in ("csv", "json")
    ]
    rows, _ = _nest(details.rows, 0, 0)
    bar = html.Div([html.Div(className="spacer"), *links], className="table-bar")
    tree = html.Div([header, *rows], className="mem-tree", role="group", **attributes(aria_label="Memory details"))
    return html.Div([bar, tree])


def _nest(rows: Sequence[DetailRow], start: int, depth: int) -> tuple[list[Component], int]:
    """(components of the rows of this depth from `start`, the first row that is not below them)."""
    built: list[Component] = []
    at = start
    while at < len(rows) and rows[at].depth >= depth:
        row = rows[at]
        children, after = _nest(rows, at + 1, depth + 1)
        if children:
            is_open = row.depth < 2 and not row.key.startswith("vertex")
            built.append(html.Details([html.Summary(_line(row, True)), *children], open=is_open))
        else:
            built.append(html.Div(_line(row, False), className="mem-tree-leaf"))
        at = after
    return built, at


def _line(row: DetailRow, foldable: bool) -> Component:
    fold: Any = html.Span(className="mem-tree-fold") if foldable else html.Span(className="mem-tree-fold none")
    empty = row.unit == "bytes" and not any(row.values)
    return html.Div(
        [
            html.Span([fold, row.label], className="mem-tree-label", style={"paddingLeft": f"{8 + 16 * row.depth}px"}),
            *[
                html.Span(_text(row, value), className="mem-tree-value", title=_hint(row, value))
                for value in row.values
            ],
        ],
        className="mem-tree-row" + (" mem-tree-zero" if empty else ""),
        **attributes(data_key=row.key),
    )


def _text(row: DetailRow, value: int | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if row.unit == "id" else f"{value:,} B"


def _hint(row: DetailRow, value: int | None) -> str | None:
    return bytes_text(value) if row.unit == "bytes" and value is not None else None
