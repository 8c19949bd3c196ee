"""Plotly figures in the style of the viewer."""

from __future__ import annotations

from typing import Any

from dash import dcc
from dash.development.base_component import Component

from webapp.base.theme import figure_template

_CONFIG = {
    "displaylogo": False,
    "scrollZoom": False,
    "responsive": True,
    "showTips": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}


def figure(
    id: Any, drawn: Any = None, theme: str = "light", *, class_name: str = "figure", image_name: str = "plot"
) -> Component:
    """A graph that fills its box, which needs a height. `drawn` is a plotly Figure or dict; the camera button saves it
    as `<image_name>.png`. A callback that updates the figure needs Input("theme", "data") and `themed`."""
    config: Any = _CONFIG | {"toImageButtonOptions": {"format": "png", "scale": 2, "filename": image_name}}
    return dcc.Graph(
        id=id, figure=themed(drawn or {"data": [], "layout": {}}, theme), config=config, className=class_name
    )


def themed(drawn: Any, theme: str) -> dict[str, Any]:
    """The figure as a dict with the theme's template; settings of the figure take precedence."""
    as_dict: dict[str, Any] = drawn.to_plotly_json() if hasattr(drawn, "to_plotly_json") else dict(drawn)
    layout = dict(as_dict.get("layout") or {})
    layout["template"] = figure_template(theme)
    return {**as_dict, "layout": layout}


def plain(text: str) -> str:
    """Text for a Plotly label, escaped: Plotly interprets <b>, <a href> and entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
