"""Tabs whose choice is in the URL. The browser part is assets/shared/tabs.js; keys: arrows, Home, End."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes


@dataclass(frozen=True)
class Tab:
    """`value` goes into the URL; `count` is shown after the label ("" = nothing)."""

    value: str
    label: str
    content: Any
    count: str = ""


def tabs(param: str, items: Sequence[Tab], chosen: str | None = None, *, label: str = "Details") -> Component:
    """A tab list over its panels, of which one is visible. Choosing a tab writes `param` of the selection. `label` is
    read aloud."""
    values = [each.value for each in items]
    current = chosen if chosen in values else values[0]
    buttons = [_button(param, each, each.value == current) for each in items]
    panels = [_panel(param, each, each.value == current) for each in items]
    return html.Div(
        [
            html.Div(buttons, className="tab-list", role="tablist", **attributes(aria_label=label)),
            html.Div(panels, className="tab-panels"),
        ],
        className="tabs",
        **attributes(data_tabs=param),
    )


def _button(param: str, tab: Tab, is_chosen: bool) -> Component:
    label: list[Any] = [tab.label]
    if tab.count:
        label.append(html.Span(tab.count, className="tab-count"))
    return html.Button(
        label,
        type="button",
        role="tab",
        id=f"{param}-tab-{tab.value}",
        className="tab-button",
        tabIndex="0" if is_chosen else "-1",
        **attributes(
            aria_selected="true" if is_chosen else "false",
            aria_controls=f"{param}-panel-{tab.value}",
            data_value=tab.value,
        ),
    )


def _panel(param: str, tab: Tab, is_chosen: bool) -> Component:
    return html.Div(
        tab.content,
        role="tabpanel",
        id=f"{param}-panel-{tab.value}",
        className="tab-panel",
        tabIndex="0",
        hidden=not is_chosen,
        **attributes(aria_labelledby=f"{param}-tab-{tab.value}", data_value=tab.value),
    )
