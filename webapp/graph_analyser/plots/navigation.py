"""Navigation group of a plot over positions: zoom, typed percentage and range, pages, fold (assets/shared/plots)."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components import icon, popover
from webapp.components.attributes import attributes

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
