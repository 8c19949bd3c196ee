"""An icon: an SVG file of webapp/assets/icons used as a mask, so that it takes the colour of its text."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes


def icon(name: str) -> Component:
    """`name` is the file's stem. Decorative: the text beside it, or the title of its button, carries the meaning."""
    return html.Span(className=f"icon icon-{name}", **attributes(aria_hidden="true"))
