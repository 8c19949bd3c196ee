"""The two sides of a comparison in one place: "739 → 4,073 (+3,334)", and the mark that names the side of a figure.

A page that shows a figure of one report beside a comparison names its side; one that has both writes the pair.
"""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components.difference import figure_text, signed_text

ARROW = "\u2192"


def pair_text(before: float | None, after: float | None, kind: str, clock_hz: float | None = None) -> str:
    """Source, target and difference; a side that was not recorded is a dash and has no difference."""
    text = f"{figure_text(before, kind, clock_hz)} {ARROW} {figure_text(after, kind, clock_hz)}"
    if before is None or after is None:
        return text
    return f"{text} ({signed_text(after - before, kind, clock_hz)})"


def side_mark(side: str, name: str = "") -> Component:
    """ "Source" or "Target" as a label, with the name of the report where it is given."""
    return html.Span([html.Strong(side), f" {name}" if name else ""], className="side-mark")
