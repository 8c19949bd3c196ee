"""Two panes with a handle between them, moved by pointer or arrow keys (assets/shared/split.js)."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes


def split(name: str, first: Any, second: Any, *, percent: int = 58, direction: str = "rows") -> Component:
    """The first pane has `percent` of the height (direction "rows") or width ("columns") until the user moves the
    handle; the browser remembers its place under `name`. Double click or Home resets it."""
    return html.Div(
        [
            html.Div(first, className="split-pane split-first"),
            html.Div(
                className="split-handle",
                role="separator",
                tabIndex="0",
                title="Drag, or use the arrow keys; Home resets",
                **attributes(
                    aria_orientation="horizontal" if direction == "rows" else "vertical",
                    aria_label="Size of the panes",
                    aria_valuenow=str(percent),
                    aria_valuemin="10",
                    aria_valuemax="90",
                ),
            ),
            html.Div(second, className="split-pane split-second"),
        ],
        className=f"split split-{direction}",
        style={"--split": f"{percent}%"},
        **attributes(data_split=name, data_percent=str(percent)),
    )
