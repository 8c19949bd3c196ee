"""The line above the content of a tab: what is counted, and what is not listed."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component


def scope_line(scope: str, name: str) -> Component:
    """The line of the table or drawing `name`; a trace that grows renews it with them (components/renewed.py)."""
    return html.Div(scope + ".", id={"renewed": f"tl-{name}"}, className="tl-scope")
