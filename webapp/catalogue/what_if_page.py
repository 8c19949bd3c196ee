"""/what-if: one program on other chips, tiles, memories and exchange widths, from the reports of a sweep: time and
memory side by side, and where it stops fitting. assets/catalogue/what_if.js fills it.

The URL holds the state: wi_folder, wi_program, wi_across and wi_lines (axes by their column), hold.<axis> (value of
another axis), wi_speed and wi_memory (metrics), wi_report (key of the report whose cell is marked).
"""

from __future__ import annotations

import json

from dash import html
from dash.development.base_component import Component

from webapp.base.library import Library
from webapp.catalogue.page import folder_choice, no_folder
from webapp.components import help_text, view_shortcuts
from webapp.components.attributes import attributes
from webapp.components.download_link import download_link

#: A sweep that answers the question.
_SWEEP = """program = "your_program.py"

[grid]
target = ["ipu1", "ipu2", "ipu21"]
tiles = [256, 512, 1216]

[grid.constants]
memoryBytesPerTile = [262144, 638976]
exchangeBytesPerCycle = [4, 8]"""

_COMMANDS = "popvision sweep what_if.toml -d what_if\npopvision view what_if"

_KEYS = (
    ("Enter", "On a figure: open its report"),
    ("Shift + Enter", "Choose its report; the second one opens the comparison of both"),
)


def layout(library: Library, *, refresh: bool) -> Component:
    """The page; its script asks for the answer. `refresh`: it asks for new and changed reports first."""
    folders = library.folders
    if not folders:
        return no_folder()
    about = help_text(
        "What if",
        "The reports of one program of a sweep (popvision sweep) over two axes, the others held at a value each. Lines "
        "join reports that differ only in the axis across; a cross does not fit into the memory of its tiles.",
        "A figure is that of a report; nothing between points is estimated. Of "
        "several reports of a point the newest counts.",
        formula="fits: no tile's highest used byte lies beyond its memory; figures as in docs/compare.md",
    )
    choices = [
        folder_choice(folders),
        _choice("program", "Program"),
        _choice("across", "X"),
        _choice("lines", "Lines"),
        html.Span(id="what-if-held", className="what-if-held"),
        _choice("speed", "Time"),
        _choice("memory", "Memory"),
        about,
        html.Span([_export(kind) for kind in ("csv", "json")], className="toolbar-group catalogue-export"),
    ]
    answer = [
        html.Ul(id="what-if-sentences", className="what-if-sentences"),
        html.Div(id="what-if-legend", className="what-if-legend"),
        html.Div(
            [html.Div(className="what-if-plot"), html.Div(className="what-if-plot")],
            id="what-if-plots",
            className="what-if-plots",
        ),
        html.Div(
            html.Table(id="what-if-table", className="what-if-table"),
            className="what-if-rows",
            tabIndex="0",
            role="region",
            **attributes(aria_label="Time and memory side by side"),
        ),
        html.P(
            "A click on a point or a figure opens its report; Shift-click on two compares them.",
            className="dim catalogue-note",
        ),
    ]
    return html.Div(
        [
            html.Div(choices, className="toolbar catalogue-bar"),
            html.P("", id="what-if-problem", className="note note-warn", hidden=True, role="alert"),
            html.Section(answer, id="what-if-answer", className="card-section", hidden=True),
            _how(),
            view_shortcuts(_KEYS),
        ],
        className="catalogue what-if",
        **attributes(data_what_if=json.dumps({"refresh": refresh})),
    )


def _how() -> Component:
    """How to make a sweep that answers; shown where there is none."""
    return html.Section(
        [
            html.H2("No sweeps in this folder"),
            html.P("Run one with popvision sweep. Name the machines to try in what_if.toml, then open the folder:"),
            html.Pre(_SWEEP, tabIndex="0"),
            html.Pre(_COMMANDS, tabIndex="0"),
        ],
        id="what-if-how",
        className="message-page",
        hidden=True,
    )


def _choice(id: str, label: str) -> Component:
    select = html.Select([], id=f"what-if-{id}", className="select", **attributes(aria_label=label))
    return html.Label([html.Span(label, className="field-label"), select], className="field", hidden=True)


def _export(kind: str) -> Component:
    href, title = f"/data/what-if/table.{kind}", f"Save these reports with both figures and all axes as {kind.upper()}"
    return download_link(kind.upper(), href, title, f"what_if.{kind}", **attributes(data_what_if_export=kind))
