"""The tabs below the execution trace: what each shows, and what it depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from popvision.analysis.execution.blocks import tiles_with_blocks
from webapp.components import TabSet
from webapp.graph_analyser.execution import aggregate, blocks, details, steps, summary, workers
from webapp.view import ViewContext

TABS = {
    "summary": "Summary",
    "details": "Details",
    "workers": "Workers",
    "aggregate": "Aggregation",
    "steps": "Steps",
    "blocks": "Blocks",
}

#: Keys of the selection that make the window, and those of single tabs.
_WINDOW_KEYS = ("from", "to", "sel", "step", "ipu", "on", "vs", "link", "tfrom", "tto")
TAB_KEYS = (*_WINDOW_KEYS, "hide", "filtered", "agg", "wl", "tiles")

#: Tab -> the table's query from the page, and the content from both.
_BY_QUERY: dict[str, tuple[Callable[[ViewContext], dict[str, str]], Callable[[str, Mapping[str, str]], Any]]] = {
    "aggregate": (aggregate.query, aggregate.content),
    "steps": (steps.query, steps.content),
    "blocks": (blocks.query, blocks.content),
}

#: Tab -> its content, and the keys of the selection that it shows.
_BY_KEYS: dict[str, tuple[Callable[[ViewContext], Any], tuple[str, ...]]] = {
    "summary": (summary.content, (*_WINDOW_KEYS, "hide", "filtered")),
    "details": (details.content, ("step", "ipu", "on")),
    "workers": (workers.content, ("step", "ipu", "on", "tiles", "wl")),
}


def _absent(context: ViewContext) -> tuple[str, ...]:
    return () if tiles_with_blocks(context.source) else ("blocks",)


TAB_SET = TabSet("execution", TABS, TAB_KEYS, key="detail", absent=_absent)


def tab_query(context: ViewContext, tab: str) -> Any:
    """What a tab depends on: its table's query, else the keys that it shows and the theme."""
    if tab in _BY_QUERY:
        return _BY_QUERY[tab][0](context)
    return [context.theme, {key: context.params.get(key) for key in _BY_KEYS[tab][1]}]


def tab_content(context: ViewContext, tab: str) -> Any:
    """What a tab shows. Raises NotRecordedError or ValueError for what a report lacks."""
    if tab in _BY_KEYS:
        return _BY_KEYS[tab][0](context)
    query, content = _BY_QUERY[tab]
    return content(context.key, query(context))
