"""A page with a plot above and tabs below: what the memory and the liveness report have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from webapp.components import Tab, split, tabs, view_shortcuts
from webapp.graph_analyser.plots.box import plot_box, plot_stores, reading_line


def plot_page(
    prefix: str,
    name: str,
    plot_title: str,
    theme: str,
    toolbar: Component,
    tab_titles: Mapping[str, str],
    tab: str,
    stores: tuple[tuple[str, ...], tuple[str, ...]],
    keys: tuple[tuple[str, str], ...],
    further: Sequence[Component] = (),
    beside: Sequence[Component] = (),
) -> Component:
    """Ids begin with `prefix`; `stores` are the selection keys that the plot and the tabs follow; `further` are
    components without a place on the page; `beside` are canvases that stand in the place of the plot at times."""
    plot = html.Div(
        [
            toolbar,
            html.Div(id=f"{prefix}-headline", className="headline-line"),
            plot_box(prefix, plot_title, theme, name, beside),
            reading_line(prefix),
            html.Div(id=f"{prefix}-range", className="range-box"),
        ],
        className="plot-column",
    )
    items = [
        Tab(value, label, html.Div(id=f"{prefix}-tab-{value}", className="tab-body"))
        for value, label in tab_titles.items()
    ]
    lower = tabs(f"{prefix}_tab", items, tab, label=f"{name.capitalize()} details")
    return html.Div(
        [split(name, plot, lower, percent=56), *plot_stores(prefix, *stores), *further, view_shortcuts(keys)],
        className=f"{name}-page",
    )
