"""What changes in the content of a tab while its table and drawing stay: rows, figures, lines of text, and HTML.

A table that is made anew loses the user's sorting, filter, place and focus. So where the same tables and drawings are
shown again, a callback sets their rows and figures alone (page_parts.py). Such content has a part with an id
{"renewed": name}, which says what it is of; ids of its tables and drawings are dicts. Content without tables can be
such a part as a whole: `renewed_html`. The cost is one walk over the components.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import dash_ag_grid as dag
from dash import dcc
from dash.development.base_component import Component

from webapp.components.frozen import Managed, frozen

#: The id of a component, and the properties to set.
Part = tuple[dict[str, str], dict[str, Any]]


def renewed_parts(content: Any) -> dict[str, Part]:
    """The parts to set, by their ids as text; empty for content that is only made as a whole."""
    parts = {json.dumps(id, sort_keys=True): (id, props) for id, props in _parts(content)}
    return parts if any("renewed" in id for id, _ in parts.values()) else {}


def renewed_html(name: str, content: Component) -> Component:
    """The same content as HTML, of which the browser renews what has changed (assets/shared/renew_html.js); the content
    itself where a text cannot be written as HTML."""
    written: Component = frozen(content, Managed())
    text = getattr(written, "data-html", None)
    if text is None:
        return content
    del written.key  # type: ignore[attr-defined]
    written.id = {"renewed": name}  # type: ignore[attr-defined]
    return written


def _parts(content: Any) -> Iterator[Part]:
    if isinstance(content, (list, tuple)):
        for each in content:
            yield from _parts(each)
    elif isinstance(content, Component):
        id = getattr(content, "id", None)
        if isinstance(id, dict) and isinstance(content, dag.AgGrid):
            yield id, {"rowData": getattr(content, "rowData", None)}
        elif isinstance(id, dict) and isinstance(content, dcc.Graph):
            yield id, {"figure": getattr(content, "figure", None)}
        elif isinstance(id, dict) and "renewed" in id:
            html = getattr(content, "data-html", None)
            yield id, {"children": content.children} if html is None else {"data-html": html}
        else:
            yield from _parts(getattr(content, "children", None))
