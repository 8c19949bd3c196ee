"""An icon: an SVG file of webapp/assets/icons used as a mask, so that it takes the colour of its text."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes


def icon(name: str) -> Component:
    """`name` is the stem of the file. Icons are decorative: text or a button title must carry the meaning."""
    return html.Span(className=f"icon icon-{name}", **attributes(aria_hidden="true"))
