"""Program Tree: the lowered programs, what each took, and everything known of the selected one."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dash import Dash, Input, Output, State, html
from dash.development.base_component import Component

from popvision.analysis.program_tree import PROGRAM_TYPES, Root, root_of, roots
from webapp.components import (
    empty_hint,
    group,
    help_text,
    icon_button,
    options_menu,
    search_box,
    select,
    spacer,
    split,
    toggle,
    toolbar,
    view_shortcuts,
)  # fmt: skip
from webapp.components.attributes import attributes
from webapp.graph_analyser import program_routes
from webapp.graph_analyser.program_panel import program_panel
from webapp.library import Library
from webapp.selection import Selection
from webapp.theme import STEP_FAMILY
from webapp.view import View, ViewContext, page_key

_KEYS = (
    ("↑ ↓ Page Home End", "Move in the tree"),
    ("→ ←", "Open, or go in; close, or go out"),
    ("Enter", "Select the program and show its details"),
    ("*", "Open everything below"),
    ("n N", "Next, previous match of the search"),
)

_HINT = "Select a program in the tree to see its details."


def layout(context: ViewContext) -> Component:
    source, selection = context.source, context.selection
    found = roots(source)
    if not found:
        return empty_hint("This report holds no programs.")
    ipus = source.reader.target().num_ipus
    start = _start_root(context, found)
    tree = html.Div([_head(bool(len(source.reader.runs().name))), _tree_box(context, start)], className="tree-pane")
    top = html.Div([_root_list(found, start), tree], className="tree-area")
    details = html.Div(empty_hint(_HINT), id="pt-details", className="panel")
    return html.Div(
        [
            _toolbar(selection, ipus),
            html.Div(split("program_tree", top, details, percent=62), className="fill"),
            view_shortcuts(_KEYS),
        ],
        className="column-page",
    )


def _start_root(context: ViewContext, found: Sequence[Root]) -> int:
    """The root in the URL, else the one above the selected program, else the first control program."""
    wanted = context.params.get("pt_root", "")
    if wanted.isdecimal() and int(wanted) in {root.program for root in found}:
        return int(wanted)
    program = context.selection.program
    if program is not None:
        try:
            return root_of(context.source, program)
        except ValueError:
            pass
    return next((root.program for root in found if root.owner == "control"), found[0].program)


def _toolbar(selection: Selection, ipus: int) -> Component:
    depths = [
        html.Button(
            text, type="button", className="segment", title=title, **attributes(data_tree="depth", data_depth=depth)
        )
        for text, depth, title in (
            ("1", 1, "Show the root's children"),
            ("2", 2, "Two levels"),
            ("3", 3, "Three levels"),
            ("4", 4, "Four levels"),
        )
    ]
    every = html.Button(
        "All", type="button", className="segment", title="Open everything", **attributes(data_tree="open")
    )
    left = [html.Span("Depth", className="field-label"), html.Div([*depths, every], className="segments")]
    choices = {"": "All (largest)"} | {str(ipu): f"IPU {ipu}" for ipu in range(ipus)}
    ipu = "" if selection.ipu is None else str(selection.ipu)
    more = [select("ipu", "IPU", choices, ipu)] if ipus > 1 else []
    columns = [
        toggle(f"pt_{name}", label, selection.extras.get(f"pt_{name}") != "0", on="", off="0")
        for name, label in (
            ("ids", "Id of each program"),
            ("cycles", "Cycles, self and total"),
            ("executions", "Executions"),
            ("bytes", "Bytes received"),
            ("code", "Code bytes"),
        )
    ]
    find = [
        search_box("pt_search", "Search type, name or #id", selection.extras.get("pt_search", ""), width=230),
        html.Span(className="tree-status", role="status"),
        _tree_button("up", "Previous match (N)", "previous"),
        _tree_button("down", "Next match (n)", "next"),
    ]
    return toolbar(group(*left), *more, spacer(), group(*find), options_menu(*columns, label="Columns"))


def _tree_button(icon_name: str, title: str, command: str) -> Component:
    button = icon_button(icon_name, title)
    setattr(button, "data-tree", command)
    return button


def _root_list(found: Sequence[Root], start: int) -> Component:
    items: list[Component] = []
    for owner, title in (("control", "Control programs"), ("function", "Functions")):
        members = [root for root in found if root.owner == owner]
        items.append(html.H2(title))
        items += [_root_item(root, start) for root in members] or [html.Span("none", className="dim")]
    return html.Nav(items, className="tree-list", **attributes(aria_label="Programs"))


def _root_item(root: Root, start: int) -> Component:
    parts = [html.Span(str(root.number))] + ([html.Span(root.name, className="dim cut")] if root.name else [])
    return html.Button(
        parts,
        type="button",
        title=f"Id {root.program}" + (f": {root.name}" if root.name else ""),
        **attributes(data_root_id=root.program, aria_current="true" if root.program == start else "false"),
    )


def _head(has_runs: bool) -> Component:
    note = "" if has_runs else " No run was recorded, so cycles and executions are 0."
    about = help_text(
        "Columns of the tree",
        "Self: device cycles of the program's own steps over all recorded runs. Total adds everything below it; a body "
        "that is shared counts at each place. Executions: its execution steps. Received: bytes its steps received over "
        "all recorded runs. Code: exchange and control code of the program itself, over all tiles." + note,
        formula="self = sum of (cyclesTo.max - cyclesFrom.max) over its steps",
    )
    cells = [
        html.Div(title, className=f"tree-cell tree-{name}")
        for name, title in (
            ("self", "Self cycles"),
            ("total", "Total cycles"),
            ("executions", "Executions"),
            ("bytes", "Received, B"),
            ("code", "Code, B"),
        )
    ]
    return html.Div([html.Div(["Program", about], className="tree-name"), *cells], className="tree-head")


def _tree_box(context: ViewContext, start: int) -> Component:
    families = [STEP_FAMILY.get(name, "other") for name in PROGRAM_TYPES]
    scroller = html.Div(
        html.Div(className="tree-space"),
        className="tree-scroll",
        tabIndex="0",
        role="tree",
        **attributes(aria_label="Programs"),
    )
    return html.Div(
        scroller,
        id="program-tree",
        className="tree-box",
        **attributes(
            data_key=context.key,
            data_root=start,
            data_types=json.dumps(PROGRAM_TYPES),
            data_families=json.dumps(families),
        ),
    )


def register(app: Dash, library: Library) -> None:
    program_routes.register(app, library)

    @app.callback(
        Output("pt-details", "children"),
        Input("selection", "data"),
        Input("theme", "data"),
        State("url", "pathname"),
    )
    def show_details(data: dict[str, str] | None, theme: str | None, pathname: str) -> Component:
        selection = Selection.parse(data)
        if selection.program is None:
            return empty_hint(_HINT)
        source = library.report(page_key(pathname))
        return program_panel(source, selection, theme or "light", page_key(pathname))


VIEW = View(id="program_tree", title="Program Tree", icon="program_tree", layout=layout, register=register)
