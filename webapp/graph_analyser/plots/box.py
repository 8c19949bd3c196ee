"""The box of a plot over tiles or indices; assets/shared/plots/axis.js takes its clicks, zooms and keys."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from webapp.arrays import Int64Array
from webapp.components import figure, icon, popover
from webapp.components.attributes import attributes
from webapp.graph_analyser.plots.navigation import navigation

#: A figure without axes, where a sentence stands instead of a drawing.
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
    """Where `plot_reading.reading` stands: `<name>-reading`, read aloud when it changes."""
    return html.Div(id=f"{name}-reading", className="plot-reading", role="status", **attributes(aria_live="polite"))


def hits_text(matching: Int64Array | None, count: int) -> str:
    """The positions that a search matches, for `hits` of a plot's configuration; "" without a search."""
    if matching is None:
        return ""
    found = np.zeros(count, dtype=np.bool_)
    found[matching] = True
    return base64.b64encode(np.packbits(found).tobytes()).decode()


def save_plot(plot: str, image_name: str) -> Component:
    """The camera: saves the plot with id `plot` as PNG (twice the size on screen) or SVG."""
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


def plot_stores(name: str, plot_keys: tuple[str, ...], tab_keys: tuple[str, ...]) -> list[Component]:
    """What the browser keeps for a plot page: its configuration, and the part of the selection that each half shows."""
    return [
        dcc.Store(id=f"{name}-plot-keys", data=list(plot_keys)),
        dcc.Store(id=f"{name}-tab-keys", data=list(tab_keys)),
        dcc.Store(id=f"{name}-plot-now"),
        dcc.Store(id=f"{name}-tab-now"),
        dcc.Store(id=f"{name}-config"),
        html.Div(id=f"{name}-done", hidden=True),
    ]


def register_plot(app: Dash, name: str) -> None:
    """Clicks, zooms and configuration of `<name>-plot`; `<name>-plot-now` and `<name>-tab-now` follow the selection and
    change only when one of their keys does."""
    for half in ("plot", "tab"):
        app.clientside_callback(
            ClientsideFunction("plots", "keep"),
            Output(f"{name}-{half}-now", "data"),
            Input("selection", "data"),
            State(f"{name}-{half}-keys", "data"),
            State(f"{name}-{half}-now", "data"),
        )
    for function, prop in (("clicked", "clickData"), ("zoomed", "relayoutData")):
        app.clientside_callback(
            ClientsideFunction("plots", function),
            Output(f"{name}-done", "title", allow_duplicate=True),
            Input(f"{name}-plot", prop),
            State(f"{name}-plot", "id"),
            prevent_initial_call=True,
        )
    app.clientside_callback(
        ClientsideFunction("plots", "configure"), Output(f"{name}-done", "className"), Input(f"{name}-config", "data")
    )
