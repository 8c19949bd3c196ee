"""The tabs below the execution trace: their content, and the keys or query that each depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dash import Dash
from dash.development.base_component import Component

from popvision.analysis.execution.blocks import tiles_with_blocks
from webapp.base.view import ViewContext
from webapp.components import TabSet, register_tabs
from webapp.graph_analyser.execution import (
    aggregation_tab,
    blocks_tab,
    details_tab,
    steps_tab,
    summary_tab,
    workers_tab,
)

if TYPE_CHECKING:
    from webapp.base.library import Library

TABS = {
    "summary": "Summary",
    "details": "Details",
    "workers": "Workers",
    "aggregate": "Aggregation",
    "steps": "Steps",
    "blocks": "Blocks",
}

#: Keys of the selection that set the window, and all keys that the tabs show.
_WINDOW_KEYS = ("from", "to", "sel", "step", "ipu", "on", "vs", "link", "tfrom", "tto", "tstep")
TAB_KEYS = (*_WINDOW_KEYS, "hide", "filtered", "agg", "among", "wl", "wr", "tiles")

#: Content of each tab. Raises NotRecordedError or ValueError for what a report lacks.
_CONTENT: dict[str, Callable[[ViewContext], Component]] = {
    "summary": summary_tab.content,
    "details": details_tab.content,
    "workers": workers_tab.content,
    "aggregate": aggregation_tab.content,
    "steps": steps_tab.content,
    "blocks": blocks_tab.content,
}

#: Query of each tab that is a long table: it may stay the same while keys of the selection change.
_QUERIES: dict[str, Callable[[ViewContext], dict[str, str]]] = {
    "aggregate": aggregation_tab.table_query,
    "steps": steps_tab.table_query,
    "blocks": blocks_tab.table_query,
}

#: Keys of the selection that each other tab shows.
_KEYS = {
    "summary": (*_WINDOW_KEYS, "hide", "filtered", "tiles"),
    "details": ("step", "ipu", "on", "vs", "tstep", "among"),
    "workers": ("step", "ipu", "on", "tiles", "wl", "wr", "vs"),
}


def _absent(context: ViewContext) -> tuple[str, ...]:
    return () if tiles_with_blocks(context.source) else ("blocks",)


TAB_SET = TabSet("execution", TABS, TAB_KEYS, key="detail", absent=_absent)


def register(app: Dash, library: Library) -> None:
    """The callback that fills the shown tab, and the rows of the tables."""
    register_tabs(app, library, TAB_SET, lambda context, tab: _CONTENT[tab](context), _depends)
    for tab in (summary_tab, workers_tab, aggregation_tab, steps_tab, blocks_tab):
        tab.register(app, library)


def _depends(context: ViewContext, tab: str) -> Any:
    """What a tab depends on: its table's query, else the keys that it shows and the theme."""
    if tab in _QUERIES:
        return _QUERIES[tab](context)
    return [context.theme, {key: context.params.get(key) for key in _KEYS[tab]}]
