"""A debug context, then those it was made in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.section import facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from popvision.analysis.programs.debug_chain import DebugRow


def debug_chain_list(chain: Iterable[DebugRow], key: str) -> Component:
    """The contexts of a chain of report `key`."""
    return html.Ol([_context(row, key) for row in chain], className="debug-chain")


def _context(row: DebugRow, key: str) -> Component:
    """One context of a chain: layer, name, a link to its line, arguments and outputs."""
    place = f"{row.file}:{row.line}" if row.file and row.line else row.file
    head: list[Any] = [html.Span(row.layer or "no layer", className="badge"), html.Strong(row.name or "–")]
    if place:
        shown = html.Code(html.Bdi(place), className="debug-place", title=place)
        query = urlencode({"src_file": row.file, "src_line": row.line})
        link = html.A(shown, href=f"/r/{key}/source?{query}", className="debug-link", **attributes(data_nav="to"))
        head.append(link if row.line else shown)
    values: list[tuple[Any, Any]] = [(html.Code(name), value) for name, value in row.arguments]
    values += [([html.Code(name), html.Span(" output", className="dim")], value) for name, value in row.outputs]
    body = [facts(values)] if values else []
    return html.Li([html.Div(head, className="debug-head"), *body])
