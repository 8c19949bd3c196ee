"""Which step types the drawing hides, and whether the figures leave them out as well.

`hide` of the URL names classes of the drawing, separated by commas. Figures count everything whatever is hidden, unless
`filtered=1` asks for the other: then every table says which types it leaves out.
"""

from __future__ import annotations

from typing import Any

from dash import html

from popvision.analysis.execution.raster import CLASSES
from popvision.analysis.execution.timeline import PIXEL_CLASS, TYPE_NAMES
from webapp.components import toggle
from webapp.selection import Selection

#: Class of the drawing -> what its switch says. The names are those of raster.CLASSES.
CLASS_TEXT = {
    "compute": "compute (OnTileExecute)",
    "exchange": "exchange (DoExchange)",
    "global": "global exchange",
    "host": "host transfer (StreamCopyMid)",
    "wait": "waiting for host (StreamCopyBegin)",
    "sync": "sync (and StreamCopyEnd)",
}


def hidden_classes(selection: Selection) -> list[str]:
    """Classes named by `hide`, in the order of CLASSES."""
    named = selection.extras.get("hide", "").split(",")
    return [name for name in CLASSES if name in named]


def hidden_types(selection: Selection) -> frozenset[str]:
    """Program types of the hidden classes."""
    rows = {CLASSES.index(name) for name in hidden_classes(selection)}
    return frozenset(name for name, row in zip(TYPE_NAMES, PIXEL_CLASS.tolist(), strict=True) if row in rows)


def types_named(text: str) -> frozenset[str]:
    """Known program types of a comma-separated text; others are left out."""
    return frozenset(text.split(",")) & frozenset(TYPE_NAMES)


def filter_line(hidden: frozenset[str], counted: bool) -> list[Any]:
    """The sentence above figures while the drawing hides something, with the switch that decides what they count."""
    if not hidden:
        return []
    names = ", ".join(name for name in TYPE_NAMES if name in hidden)
    text: list[Any] = (
        ["Filtered figures: ", html.Strong(names), " are left out of every share, balance and byte count below."]
        if counted
        else ["The drawing hides ", html.Strong(names), ". The figures below still count everything."]
    )
    switch = toggle("filtered", "Filtered figures", counted, title="Leave the hidden types out of the figures as well")
    return [html.Div([html.Span(text), switch], className="trace-filter-line", role="note")]
