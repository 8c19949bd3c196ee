"""Program Tree: the lowered programs with their figures, and all details of the selected program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dash import Dash, dcc, html
from dash.development.base_component import Component

from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.programs.figures import figures
from popvision.analysis.programs.program_tree import PROGRAM_TYPES, Root, root_of, roots
from popvision.analysis.programs.related_programs import BY_VERTEX, layers
from popvision.analysis.programs.table import OF_RUNS, SHARES, column_totals
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.not_recorded import CODE_SIZES, LIVENESS
from webapp.base.library import Library
from webapp.base.theme import STEP_FAMILY
from webapp.base.view import View, ViewContext
from webapp.components import (
    empty_hint,
    group,
    help_text,
    icon_button,
    missing_note,
    noted,
    options_menu,
    page_of_halves,
    part_stores,
    register_part,
    search_box,
    segments,
    select,
    spacer,
    toggle,
    toolbar,
)
from webapp.components.attributes import attributes
from webapp.components.difference_key import short_difference_key
from webapp.graph_analyser.programs import routes
from webapp.graph_analyser.programs.tables import COLUMNS, register_table
from webapp.graph_analyser.programs.tabs import HINT, program_panel
from webapp.graph_analyser.programs.tiles_tab import register_tiles

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_KEYS = (
    ("↑ ↓ Page Up / Down Home End", "Move in the tree"),
    ("→ ←", "Expand, or go to the first child; collapse, or go to the parent"),
    ("Enter", "Select the program and show its details"),
    ("*", "Expand everything below"),
    (".  ,", "Next, previous match of the search; without a search, next, previous program"),
    ("f", "Scroll to the selected program"),
    ("Esc", "Clear the selection"),
)

#: Field of the program table -> (shown by default, text of its switch; "" = that of the field before).
_SWITCHES = {
    "self": (True, "Cycles, self and total"),
    "total": (True, ""),
    "apart": (False, "Cycles once per attachment"),
    "executions": (True, "Executions"),
    "received": (True, "Bytes received"),
    "live": (True, "Peak live bytes"),
    "code": (True, "Code bytes"),
    "trips": (False, "Trips of loops"),
    "sent": (False, "Bytes sent"),
}

#: Keys of the selection that the panel shows.
_DETAILS_KEYS = ("program", "ipu", "tiles", "pt_layer", "pt_tab", "vs")


def layout(context: ViewContext) -> Component:
    source = context.source
    tops = roots(source)
    if not tops:
        return empty_hint("This report has no programs.")
    start = _start_root(context, tops)
    tree = html.Div([_root_list(tops, start), _tree_box(context, start)], className="tree-area", id="pt-tree")
    either = html.Div([tree, html.Div(id="pt-table", className="tree-table", hidden=True)], className="tree-either")
    above = noted(None if context.target is not None else _why_dashes(source, context.selection.extras), either)
    details = html.Div(empty_hint(HINT), id="pt-details", className="panel")
    stores = [*part_stores("pt", "details", _DETAILS_KEYS), dcc.Store(id="pt-table-query")]
    return page_of_halves("program_tree", above, details, _KEYS, toolbar=_toolbar(context), percent=62, stores=stores)


def _why_dashes(source: ReportSource, extras: Mapping[str, str]) -> Component | None:
    """Why columns that are shown hold a dash in every row."""
    reasons = {} if len(source.reader.runs().name) else dict.fromkeys(OF_RUNS, why_no_run(source))
    reasons |= dict.fromkeys([] if source.reader.liveness() is not None else ["live"], LIVENESS)
    reasons |= dict.fromkeys([] if holds_code(source) else ["code"], CODE_SIZES)
    shown = {field: COLUMNS[field][0] for field in reasons if _is_shown(field, extras)}
    return missing_note({title: reasons[field] for field, title in shown.items()})


def _is_shown(field: str, extras: Mapping[str, str]) -> bool:
    shown = _SWITCHES[field][0]
    return extras.get("pt_cycles" if field in ("self", "total") else f"pt_{field}", "1" if shown else "0") != "0"


def _start_root(context: ViewContext, tops: Sequence[Root]) -> int:
    """The root that the URL names, else that of the selected program, else the first control program."""
    wanted = context.params.get("pt_root", "")
    named = next((root.program for root in tops if str(root.program) == wanted), None)
    if named is not None:
        return named
    program = context.selection.program
    if program is not None:
        try:
            return root_of(context.source, program)
        except ValueError:
            pass
    return next((root.program for root in tops if root.owner == "control"), tops[0].program)


def _toolbar(context: ViewContext) -> Component:
    source, selection = context.source, context.selection
    extras, ipus = selection.extras, source.reader.target().num_ipus
    views = segments("pt_view", "Show", {"": "Tree", "table": "Table"}, extras.get("pt_view", ""))
    depths = [_depth(str(depth), depth, f"{depth} levels") for depth in (1, 2, 3, 4)]
    every = html.Button(
        "All", type="button", className="segment", title="Expand everything", **attributes(data_tree="open")
    )
    left = [views, html.Span("Depth", className="field-label"), html.Div([*depths, every], className="segments")]
    choices = {"": "All (maximum)"} | {str(ipu): f"IPU {ipu}" for ipu in range(ipus)}
    ipu = "" if selection.ipu is None else str(selection.ipu)
    more = [select("ipu", "IPU", choices, ipu)] if ipus > 1 else []
    if context.target is not None:
        metrics = {"" if field == "total" else field: title for field, (title, _, _) in COLUMNS.items()}
        more.append(select("pt_metric", "Figure", metrics, extras.get("pt_metric", "")))
    rules = {"": "Compute set or name", BY_VERTEX: "Vertex type"} | {each: f"Layer {each}" for each in layers(source)}
    related = select("pt_layer", "Related by", rules, extras.get("pt_layer", ""))
    find = [
        search_box("pt_search", "Search type, name or #id", extras.get("pt_search", ""), width=200),
        html.Span(className="tree-status", role="status"),
        _tree_button("up", "Previous match (,)", "previous"),
        _tree_button("down", "Next match (.)", "next"),
    ]
    count = html.Span(className="tree-related", role="status")
    columns = [short_difference_key()] if context.target is not None else [_columns_menu(extras)]
    return toolbar(group(*left), *more, group(related, count), spacer(), group(*find), *columns, _about(source))


def _depth(text: str, depth: int, title: str) -> Component:
    return html.Button(
        text, type="button", className="segment", title=title, **attributes(data_tree="depth", data_depth=depth)
    )


def _columns_menu(extras: Mapping[str, str]) -> Component:
    toggles = [toggle("pt_ids", "Id of each program", extras.get("pt_ids") != "0", on="", off="0")]
    for field, (shown, label) in _SWITCHES.items():
        name = "pt_cycles" if field == "self" else f"pt_{field}"
        if label:
            is_on = extras.get(name) != "0" if shown else extras.get(name) == "1"
            toggles.append(toggle(name, label, is_on, on="" if shown else "1", off="0" if shown else ""))
    return options_menu(*toggles, label="Columns")


def _tree_button(icon_name: str, title: str, command: str) -> Component:
    button = icon_button(icon_name, title)
    setattr(button, "data-tree", command)
    return button


def _root_list(tops: Sequence[Root], start: int) -> Component:
    items: list[Component] = []
    for owner, title in (("control", "Control programs"), ("function", "Functions")):
        members = [root for root in tops if root.owner == owner]
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


def _about(source: ReportSource) -> Component:
    problem = figures(source).calls_unknown
    notes = [f"Totals of programs that call functions are unknown: {problem}"] if problem else []
    if not len(source.reader.runs().name):
        notes.append(why_no_run(source))
    return help_text(
        "Columns of the tree",
        "Self: device cycles of the program's own steps over all recorded runs. Total: self cycles plus those of all "
        "programs below it and of called functions, each step counted at its call. The control programs "
        "add up to the total of the device; the total of a function covers all its calls. Executions: how often the "
        "program ran.",
        "Received, sent: bytes of its own steps and all below. Peak live: maximum of the liveness curve (of the first "
        "replica) while it runs. Code: exchange and control code of the program itself over all tiles. Hover over a "
        "figure to see its share.",
        *notes,
        formula="self = sum of (cyclesTo.max - cyclesFrom.max) over its steps",
    )


#: Why a figure is unknown, but for what the report did not record.
_UNKNOWN = {"trips": "Not a Repeat", "apart": "No run happens once per attachment"}


def _head(compares: bool) -> Component:
    if compares:
        cells = [(name.lower(), name) for name in ("Source", "Target", "Difference", "Change")]
    else:
        cells = [(field, title) for field, (title, _, _) in COLUMNS.items()]
    return html.Div(
        [
            html.Div("Program", className="tree-name", role="columnheader"),
            *[html.Div(title, className=f"tree-cell tree-{name}", role="columnheader") for name, title in cells],
        ],
        className="tree-head",
        role="row",
    )


def _tree_box(context: ViewContext, start: int) -> Component:
    families = [STEP_FAMILY.get(name, "other") for name in PROGRAM_TYPES]
    columns = [
        {"field": field, "kind": kind, "share": SHARES.get(field), "unknown": _UNKNOWN.get(field)}
        for field, (_, kind, _) in COLUMNS.items()
    ]
    scroller = html.Div(
        [_head(context.target is not None), html.Div(className="tree-space", role="rowgroup")],
        className="tree-scroll",
        tabIndex="0",
        role="treegrid",
        **attributes(aria_label="Programs"),
    )
    return html.Div(
        scroller,
        id="program-tree",
        className="tree-box",
        **attributes(
            data_key=context.key,
            data_root=start,
            data_compares="yes" if context.target is not None else "no",
            data_types=json.dumps(PROGRAM_TYPES),
            data_families=json.dumps(families),
            data_columns=json.dumps(columns),
        ),
    )


def register(app: Dash, library: Library) -> None:
    """Routes of the tree, rows of the tables, and the callback of the panel."""
    routes.register(app, library)
    register_table(app, library)
    register_tiles(app, library)
    register_part(app, library, "pt", "details", ("pt-details.children",), lambda context: [program_panel(context)])


def _ahead(source: ReportSource) -> None:
    column_totals(source)


VIEW = View("program_tree", "Program Tree", "program_tree", layout, register, ahead=_ahead)
