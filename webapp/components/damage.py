"""What the pages of a damaged report say above their content."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

_SHOWN = 3


def damage_banner(lost: Sequence[str], name: str = "This report") -> Component | None:
    """A bar that names what was lost, the long list folded; None for a whole report."""
    if not lost:
        return None
    head: list[Component | str] = [
        html.Strong(f"{name} is damaged."),
        " Shown is what matches its checksums; nothing else is. Lost: ",
        "; ".join(each.rstrip(".") for each in lost[:_SHOWN]),
        "." if len(lost) <= _SHOWN else "; and more.",
    ]
    parts: list[Component] = [html.P(head)]
    if len(lost) > _SHOWN:
        rows = html.Ul([html.Li(each) for each in lost])
        parts.append(html.Details([html.Summary(f"All {len(lost):,} losses"), rows]))
    return html.Div(parts, className="damage", role="status")
