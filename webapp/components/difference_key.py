"""What the two colours of differences mean: a sentence, and a short form beside tables and in toolbars.

They say more or less, not better or worse: less memory is better, less utilisation is worse.
"""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

MINUS = "\u2212"

_ABOUT = f"Difference = target {MINUS} source. Colours do not say which is better."


def difference_key() -> Component:
    """The whole sentence, as a paragraph."""
    return html.P(
        [
            f"Difference = target {MINUS} source: ",
            html.Span("+ more", className="diff diff-more"),
            ", ",
            html.Span(f"{MINUS} less", className="diff diff-less"),
            " in the target. Colours do not say which is better.",
        ],
        className="diff-key",
    )


def short_difference_key() -> Component:
    """The two colours; the sentence is their title."""
    return html.Span(
        [
            "Target: ",
            html.Span("+ more", className="diff diff-more"),
            " ",
            html.Span(f"{MINUS} less", className="diff diff-less"),
        ],
        className="diff-key-short",
        title=_ABOUT,
    )
