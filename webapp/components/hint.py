"""A hint at the first visit of a view: one line over the page until it was read; assets/shell/hints.js."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes


def first_hint(name: str, text: str) -> Component:
    """Shown until the user dismisses it (button, Escape) or zooms; then never again in this browser."""
    close = html.Button("Got it", type="button", className="button", title="Do not show this again (Esc)")
    return html.Div([html.Span(text), close], className="hint", hidden=True, role="note", **attributes(data_hint=name))
