"""The page of a plot over tiles or indices; assets/shared/plots/axis.js handles its clicks, zooms and keys."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from webapp.base.arrays import Int64Array
from webapp.base.view import ViewContext
from webapp.components import TabSet, figure, icon, page_of_halves, popover
from webapp.components.attributes import attributes
from webapp.components.section import folded_when_low

#: A figure without axes, for a sentence in place of a plot.
NOTHING: dict[str, Any] = {"data": [], "layout": {"xaxis": {"visible": False}, "yaxis": {"visible": False}}}


def plot_box(name: str, label: str, theme: str, image_name: str, beside: Sequence[Component] = ()) -> Component:
    """The plot `<name>-plot` under its Navigation group: the wheel zooms, a double click shows everything. Keys work
    while the box has the focus, or nothing else has. `beside` are canvases that take its place at times."""
    graph: Any = figure(f"{name}-plot", None, theme, image_name=image_name)
    graph.config = graph.config | {"scrollZoom": True, "doubleClick": "autosize", "displayModeBar": False}
    box = html.Div(
        graph,
        id=f"{name}-box",
        className="plot-box",
        tabIndex="0",
        role="group",
        **attributes(data_plot=name, aria_label=label),
    )
    return html.Div([navigation(name), box, *beside], className="plot-frame")


def reading_line(name: str) -> Component:
    """The place `<name>-reading` of the reading line (reading.py), announced when it changes."""
    return html.Div(id=f"{name}-reading", className="plot-reading", role="status", **attributes(aria_live="polite"))


def hits_text(matching: Int64Array | None, count: int) -> str:
    """The positions that a search matches, for `hits` of a plot's configuration; "" without a search."""
    if matching is None:
        return ""
    hits = np.zeros(count, dtype=np.bool_)
    hits[matching] = True
    return base64.b64encode(np.packbits(hits).tobytes()).decode()


def save_plot(plot: str, image_name: str) -> Component:
    """The button that saves the plot with id `plot` as PNG (twice its size on screen) or SVG."""
    buttons = [
        html.Button(
            f"Save as {kind.upper()}",
            type="button",
            className="button",
            **attributes(data_save_plot=plot, data_format=kind, data_name=image_name),
        )
        for kind in ("png", "svg")
    ]
    return popover(icon("camera"), buttons, label="Save the plot as an image", class_name="save-plot")


def plot_page(
    context: ViewContext,
    tab_set: TabSet,
    name: str,
    toolbar: Component,
    plot_title: str,
    shortcuts: tuple[tuple[str, str], ...],
    plot_keys: tuple[str, ...],
    beside: Sequence[Component] = (),
) -> Component:
    """The page of a plot with its toolbar, headline, values and statistics above the tabs. Ids begin with the prefix of
    the tabs; `plot_keys` are the selection keys that the plot shows; `beside` are canvases that take its place at
    times."""
    prefix = tab_set.prefix
    above = html.Div(
        [
            toolbar,
            folded_when_low("Figures", html.Div(id=f"{prefix}-headline", className="headline-line")),
            plot_box(prefix, plot_title, context.theme, name, beside),
            reading_line(prefix),
            html.Div(id=f"{prefix}-range", className="range-box"),
        ],
        className="plot-column",
    )
    stores = [*tab_set.stores(context, plot_keys), dcc.Store(id=f"{prefix}-config")]
    below = tab_set.layout(context)
    return page_of_halves(name, above, below, shortcuts, percent=56, class_name=f"{name}-page", stores=stores)


def register_plot(app: Dash, name: str) -> None:
    """Clicks, zooms and configuration of `<name>-plot`."""
    for function, prop in (("clicked", "clickData"), ("zoomed", "relayoutData")):
        app.clientside_callback(
            ClientsideFunction("plots", function),
            Output(f"{name}-done", "title", allow_duplicate=True),
            Input(f"{name}-plot", prop),
            State(f"{name}-plot", "id"),
            prevent_initial_call=True,
        )
    app.clientside_callback(
        ClientsideFunction("plots", "rescaled"),
        Output(f"{name}-done", "lang"),
        Input(f"{name}-plot", "restyleData"),
        Input(f"{name}-plot", "figure"),
        State(f"{name}-plot", "id"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("plots", "configure"), Output(f"{name}-done", "className"), Input(f"{name}-config", "data")
    )


# ---- navigation of a plot ----

_HELP = (
    ("W S, + −, wheel", "Zoom in and out"),
    ("A D", "Move left and right"),
    ("Page Up / Down, « »", "Previous and next page, as wide as the window"),
    ("f", "Fit the selection"),
    ("0", "Show everything"),
    (". ,", "Select the next or previous match of the filter; without a filter, position"),
    ("m", "Set a mark; the line below the plot shows differences from it"),
    ("Drag", "Zoom to the dragged range; or use the handles of the strip below the plot"),
)


def navigation(name: str) -> Component:
    """Buttons and boxes that move the window of the plot `<name>-plot`. The boxes of the first and last position do by
    keyboard what the handles of the strip below the plot do by pointer."""
    rows = [html.Div([html.Kbd(keys), html.Span(text)], className="plot-nav-key") for keys, text in _HELP]
    return html.Div(
        [
            html.Div(
                [
                    _button("zoom_out", "out", "Zoom out (S)"),
                    html.Span(**attributes(data_slot="percent")),
                    _button("zoom_in", "in", "Zoom in (W)"),
                    _text_button("«", "back", "Previous page (Page Up)"),
                    html.Span(className="plot-nav-range", **attributes(data_slot="range")),
                    _text_button("»", "on", "Next page (Page Down)"),
                    _button("reset", "reset", "Show everything and all curves, remove the mark (0)"),
                    popover(icon("help"), rows, label="Keys of the plot", class_name="help plot-nav-help"),
                ],
                className="plot-nav-parts",
            ),
            _text_button("‹", "fold", "Collapse the navigation"),
        ],
        className="plot-nav",
        role="group",
        **attributes(aria_label="Navigation", data_plot_nav=name),
    )


def _button(icon_name: str, action: str, title: str) -> Component:
    return html.Button(
        icon(icon_name),
        type="button",
        className="button icon-button small",
        title=title,
        **attributes(aria_label=title, data_plot_action=action),
    )


def _text_button(text: str, action: str, title: str) -> Component:
    return html.Button(
        html.Span(text, **attributes(aria_hidden="true")),
        type="button",
        className="button icon-button small",
        title=title,
        **attributes(aria_label=title, data_plot_action=action),
    )
