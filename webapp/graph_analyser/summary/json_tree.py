"""framework.json and app.json as a foldable tree. Their content is untrusted and shown as text only."""

from __future__ import annotations

import json
from typing import Any

from dash import html
from dash.development.base_component import Component

#: Entries of one file on the page; the rest is only counted.
MOST_ENTRIES = 1_000

#: Levels that are expanded at first.
OPEN_LEVELS = 2

_DEEPEST = 40


def json_tree(value: Any) -> Component:
    """A value as a tree; objects and lists fold."""
    return html.Div(_Tree().entries(value, 0), className="json-tree")


class _Tree:
    def __init__(self) -> None:
        self._left = MOST_ENTRIES

    def entries(self, value: Any, level: int) -> list[Component]:
        if not isinstance(value, (dict, list)) or not value:
            return [_leaf("", value)]
        pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        elements: list[Component] = []
        for place, (name, part) in enumerate(pairs):
            if self._left <= 0:
                elements.append(html.Div(f"… {len(pairs) - place:,} more", className="json-leaf dim"))
                break
            self._left -= 1
            elements.append(self._entry(str(name), part, level))
        return elements

    def _entry(self, name: str, part: Any, level: int) -> Component:
        if not isinstance(part, (dict, list)) or not part or level >= _DEEPEST:
            return _leaf(name, part if level < _DEEPEST else "…")
        size = f"{{{len(part)}}}" if isinstance(part, dict) else f"[{len(part)}]"
        head = html.Summary([html.Span(name, className="json-key"), " ", html.Span(size, className="dim")])
        return html.Details([head, *self.entries(part, level + 1)], open=level + 1 < OPEN_LEVELS)


def _leaf(name: str, value: Any) -> Component:
    text = value if isinstance(value, str) else json.dumps(value)
    key = [html.Span(f"{name}: ", className="json-key")] if name else []
    return html.Div([*key, text], className="json-leaf")
