"""Parts of a view's toolbar: groups, icon buttons, drop-downs, search boxes, switches, segments and popovers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.icon import icon


def toolbar(*groups: Any, label: str = "Controls") -> Component:
    """A row of groups; `spacer()` separates left from right."""
    return html.Div(list(groups), className="toolbar", role="toolbar", **attributes(aria_label=label))


def group(*items: Any) -> Component:
    return html.Div(list(items), className="toolbar-group")


def spacer() -> Component:
    return html.Div(className="spacer")


def icon_button(icon_name: str, title: str, *, id: Any = None, action: str | None = None) -> Component:
    """`title` is the tooltip and the accessible name; `action` becomes data-action for JavaScript."""
    more = attributes(aria_label=title)
    if action is not None:
        more["data-action"] = action
    if id is not None:
        return html.Button(
            icon(icon_name), id=id, type="button", className="button icon-button", title=title, n_clicks=0, **more
        )
    return html.Button(icon(icon_name), type="button", className="button icon-button", title=title, **more)


def select(param: str, label: str, options: Mapping[str, str], value: str) -> Component:
    """A labelled drop-down that writes `param` of the selection; `options` are texts by value."""
    choices = [html.Option(shown, value=key, selected=key == value) for key, shown in options.items()]
    menu = html.Select(choices, className="select", title=label, **attributes(data_param=param, aria_label=label))
    return html.Label([html.Span(label, className="field-label"), menu], className="field")


def search_box(param: str, placeholder: str, value: str = "", *, width: int = 200) -> Component:
    """A text box that writes `param` of the selection 200 ms after the last key, at once on Enter."""
    box = dcc.Input(
        id=f"box-{param}",
        type="text",
        value=value,
        placeholder=placeholder,
        className="box",
        autoComplete="off",
        spellCheck="false",
    )
    return html.Div(
        [icon("search"), box],
        className="search",
        style={"width": width},
        **attributes(data_param=param, data_search=""),
    )


def toggle(param: str, label: str, is_on: bool, *, on: str = "1", off: str = "", title: str = "") -> Component:
    """A switch that writes `on` or `off` as `param` of the selection ("" = not in the URL)."""
    return html.Button(
        [html.Span(className="switch"), label],
        type="button",
        role="switch",
        className="toggle",
        title=title or label,
        **attributes(aria_checked="true" if is_on else "false", data_param=param, data_on=on, data_off=off),
    )


def segments(param: str, label: str, options: Mapping[str, str], value: str) -> Component:
    """Buttons of which one is pressed; writes `param` of the selection. `options` are texts by value."""
    buttons = [
        html.Button(
            shown,
            type="button",
            role="radio",
            className="segment",
            **attributes(aria_checked="true" if key == value else "false", data_param=param, data_value=key),
        )
        for key, shown in options.items()
    ]
    return html.Div(buttons, className="segments", role="radiogroup", **attributes(aria_label=label))


def popover(summary: Any, content: Any, *, label: str, class_name: str = "") -> Component:
    """A button that opens a box below it; Esc or a click elsewhere closes it."""
    return html.Details(
        [
            html.Summary(summary, className="button", title=label, **attributes(aria_label=label)),
            html.Div(content, className="popover-box"),
        ],
        className=f"popover {class_name}".strip(),
    )


def help_text(title: str, *paragraphs: Any, formula: str = "") -> Component:
    """A small "?" that opens an explanation, with the formula on a line of its own."""
    content: list[Any] = [html.Strong(title), *[html.P(each) for each in paragraphs]]
    if formula:
        content.append(html.Code(formula, className="formula"))
    return popover(icon("help"), content, label=f"About {title}", class_name="help")


def options_menu(*items: Any, label: str = "Options") -> Component:
    """A button that opens a popover of switches and drop-downs."""
    return popover([icon("settings"), html.Span(label)], list(items), label=label, class_name="options")
