"""/catalogue: the reports of a folder as a table and a scatter of two figures; assets/catalogue/catalogue.js fills it.

The URL holds the state: cat_folder, cat_where (an SQL condition), cat_sort, cat_down ("1" = highest first), cat_page,
cat_x (figure or axis), cat_y and cat_y2 (figures) of the scatters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from dash import dcc, html
from dash.development.base_component import Component

from webapp.base.library import Library
from webapp.components import help_text, view_shortcuts
from webapp.components.attributes import attributes
from webapp.components.compare_bar import compare_bar
from webapp.components.icon import icon
from webapp.help.link import help_link

#: The page that each of the two leads to.
_OTHER = {"Catalogue": ("What if", "/what-if"), "What if": ("Catalogue", "/catalogue")}

_KEYS = (
    ("/", "Go to the condition"),
    ("Enter", "Apply the condition; on a report: open it"),
    ("n / p", "Next or previous page of the table"),
)


def masthead(title: str = "Catalogue") -> Component:
    """The header line of a page about many reports; it leads to the other one."""
    other, address = _OTHER[title]
    return html.Div(
        [
            html.A([icon("logo"), html.Span("PopVision")], href="/", className="brand", **attributes(data_nav="home")),
            html.H1([html.Span(title), html.Span(" – ", className="visually-hidden")], className="view-title"),
            html.A(other, href=address, **attributes(data_nav="to")),
            html.Span("", id="catalogue-state", className="fact", role="status"),
            html.Div(
                [
                    _button("reload", "Look for new and changed reports (r)", "nav-reload"),
                    _button("search", "Command palette (Ctrl + K)", "nav-palette"),
                    _button("settings", "Preferences: units, theme", "nav-preferences"),
                    _button("theme", "Switch between light and dark (t)", "nav-theme"),
                    help_link(title),
                    _button("keyboard", "Shortcuts (?)", "nav-shortcuts"),
                ],
                className="facts",
            ),
        ],
        className="masthead",
    )


def layout(library: Library, params: Mapping[str, str], *, refresh: bool) -> Component:
    """The page; its script asks for the rows. `refresh`: it asks for new and changed reports first."""
    folders = library.folders
    if not folders:
        return no_folder()
    about = help_text(
        "Figures of many reports",
        "Headline figures of every report below the folder, from .popvision-catalogue.parquet in it. DuckDB and "
        "pandas read that file; it may be deleted. New and changed reports are read when this page is opened or "
        "reloaded.",
        "The condition is SQL over the columns, such as cycles > 1e6 AND peak < 600000; an axis of a sweep stands in "
        'double quotes: "axis.tiles" = 64. It has no access to other files.',
        formula="each figure as in docs/compare.md; the formula is in the title of its column",
    )
    where = dcc.Input(
        id="catalogue-where",
        className="box",
        type="text",
        placeholder="SQL condition, such as cycles > 1e6 AND peak < 600000",
        value=params.get("cat_where", ""),
        autoComplete="off",
        spellCheck="false",
    )
    bar = html.Div(
        [
            folder_choice(folders),
            where,
            html.Button("Apply", type="button", className="button", id="catalogue-apply"),
            about,
            html.Span(
                [_export(kind) for kind in ("csv", "json")],
                className="toolbar-group catalogue-export",
            ),
        ],
        className="toolbar catalogue-bar",
    )
    problem = html.P("", id="catalogue-problem", className="note note-warn", hidden=True, role="alert")
    return html.Div(
        [
            bar,
            problem,
            _scatter(),
            html.Div(
                html.Table([html.Thead(), html.Tbody()], className="cards catalogue-table", id="catalogue-table"),
                className="card-section catalogue-rows",
                tabIndex="0",
                role="region",
                **attributes(aria_label="Reports"),
            ),
            html.Div(id="catalogue-pages", className="catalogue-pages"),
            compare_bar(),
            view_shortcuts(_KEYS),
        ],
        className="catalogue",
        **attributes(data_catalogue=json.dumps({"refresh": refresh})),
    )


def _scatter() -> Component:
    return html.Section(
        [
            html.Div(
                [_choice("catalogue-y", "Y"), _choice("catalogue-y2", "Second plot"), _choice("catalogue-x", "X")],
                className="section-head",
            ),
            html.Div(
                [html.Div(className="catalogue-scatter"), html.Div(className="catalogue-scatter", hidden=True)],
                id="catalogue-scatters",
                className="catalogue-scatters",
            ),
            html.P("", id="catalogue-note", className="dim catalogue-note"),
        ],
        className="card-section",
        **attributes(aria_label="Scatter of two figures"),
    )


def _choice(id: str, label: str) -> Component:
    select = html.Select([], id=id, className="select", **attributes(aria_label=f"{label}: figure"))
    return html.Label([html.Span(label, className="field-label"), select], className="field")


def no_folder() -> Component:
    """What the page says when the viewer was given no folder."""
    text = "The viewer was given no folder. Open a folder of reports: "
    return html.Section(
        [html.H2("No folder"), html.P([text, html.Code("popvision view FOLDER")])], className="message-page"
    )


def folder_choice(folders: list[Path]) -> Component:
    """The choice among the folders of the viewer, hidden where there is one."""
    options = [html.Option(str(folder), value=str(number)) for number, folder in enumerate(folders)]
    select = html.Select(options, id="catalogue-folder", className="select", **attributes(aria_label="Folder"))
    return html.Label(
        [html.Span("Folder", className="field-label"), select], className="field", hidden=len(folders) == 1
    )


def _export(kind: str) -> Component:
    title = f"All reports that the condition selects, as {kind.upper()}"
    return html.A(
        [icon("download"), kind.upper()],
        href=f"/data/catalogue/table.{kind}",
        className="button",
        title=title,
        **attributes(data_catalogue_export=kind),
    )


def _button(name: str, title: str, action: str) -> Component:
    more = attributes(data_action=action, aria_label=title)
    return html.Button(icon(name), type="button", className="button icon-button", title=title, **more)
