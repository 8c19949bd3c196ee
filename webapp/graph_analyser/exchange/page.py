"""Exchange: the traffic of one program between tiles, IPUs and the host, and all programs that move data, ranked.

The drawing is assets/exchange/*.js, fed by exchange_routes. What is shown stands in the URL:

    program, step   whose traffic (a step's program; else the one that moved most)    vs   difference to that report
    xch_view   "" matrix, "plan" floor plan, "tiles" plot by tile     xch_at     visible window
    tiles, xch_to   the tile, or the pair (source, destination)       xch_order  "hardware"
    xch_show   quantity of the floor plan                             xch_unit   "cycles", else bytes
    xch_mark   the tile or pair (source-destination) that the cursor is measured from
    xch_tab    tab of the lower pane
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.exchange.programs import EXCHANGE_TYPES, fans, moved
from popvision.analysis.exchange.tiles import QUANTITIES, exchange_of, exchange_tiles
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.range_statistics import statistics
from popvision.analysis.report.tiles import target_of
from webapp.comparison import target_of_page
from webapp.components import (
    Tab,
    empty_hint,
    icon,
    options_menu,
    popover,
    register_rows,
    segments,
    select,
    spacer,
    split,
    tabs,
    toggle,
    toolbar,
    view_shortcuts,
)
from webapp.components.attributes import attributes
from webapp.graph_analyser.exchange.headline import exchange_headline
from webapp.graph_analyser.exchange.panes import NOTHING, tab_content
from webapp.graph_analyser.exchange.routes import register_routes
from webapp.graph_analyser.exchange.tables import pair_frame, program_frame
from webapp.graph_analyser.plots.box import save_plot
from webapp.graph_analyser.plots.headline import range_line
from webapp.selection import Selection
from webapp.view import View, ViewContext, page_key

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.library import Library

KEYS = (
    ("← → ↑ ↓", "Move the cursor; with Shift by ten (focus the drawing first)"),
    ("W S", "Zoom in, zoom out"),
    ("A D  Page Up / Down", "Move left, right, up, down"),
    (". ,", "Next, previous tile"),
    ("f", "Zoom to the cursor"),
    ("0", "Show everything"),
    ("m", "Mark the tile or pair under the cursor: its values are measured from there"),
    ("Esc", "Select nothing; again: take the mark away"),
    ("Wheel, drag, double click", "Zoom, move, show everything"),
)

VIEWS = {"": "Matrix", "plan": "Floor plan", "tiles": "By tile"}
TABS = {
    "programs": "Programs",
    "tile": "Tile",
    "pairs": "Heaviest pairs",
    "fan": "Fan-out",
    "ipus": "IPUs",
    "host": "Host",
}

#: Keys of the selection that each half follows.
HEAD_KEYS = ("program", "step", "vs")
TAB_KEYS = ("program", "step", "tiles", "xch_tab", "vs")

NO_BYTES = (
    "This report does not say what programs move (its table program_by_ipu is missing), so there is no traffic. "
    "popvision's simulator always records it; reports of other producers may not."
)

_GUESS = "Places follow physical ids; no public source gives the exact floor plan, so this one is a guess."


def layout(context: ViewContext) -> Component:
    extras = context.selection.extras
    facts = {"key": context.key, "generation": context.source.generation, "vs": context.target is not None}
    drawing = html.Div(
        className="exchange-board",
        id="xch-board",
        tabIndex="0",
        role="application",
        **attributes(
            aria_label="Traffic between tiles: arrow keys move the cursor, W and S zoom",
            data_exchange=json.dumps(facts),
            data_saves="xch-plot",
        ),
    )
    board = html.Div([drawing, html.Div(className="exchange-reason", role="status")], className="exchange-frame")
    top = html.Div(
        [
            _toolbar(context),
            html.Div(id="xch-headline", className="headline-line"),
            board,
            html.Div(id="xch-note", className="exchange-note"),
        ],
        className="exchange-top",
    )
    items = [Tab(value, label, html.Div(id=f"xch-tab-{value}", className="tab-body")) for value, label in TABS.items()]
    lower = tabs("xch_tab", items, extras.get("xch_tab"), label="Exchange details")
    return html.Div(
        [
            split("exchange", top, lower, percent=58),
            dcc.Store(id="xch-head-keys", data=list(HEAD_KEYS)),
            dcc.Store(id="xch-tab-keys", data=list(TAB_KEYS)),
            dcc.Store(id="xch-head-now"),
            dcc.Store(id="xch-tab-now"),
            html.Div(id="xch-done", hidden=True),
            view_shortcuts(KEYS),
        ],
        className="exchange-page",
    )


def _toolbar(context: ViewContext) -> Component:
    extras = context.selection.extras
    view = extras.get("xch_view", "")
    view = view if view in VIEWS else ""
    has_order = target_of(context.source).physical_tile is not None
    order = toggle(
        "xch_order",
        "Hardware order",
        extras.get("xch_order") == "hardware",
        on="hardware",
        title="Sort tiles by physical id within each IPU",
    )
    return toolbar(
        segments("xch_view", "Drawing", VIEWS, view),
        html.Div(
            select("xch_show", "Show", QUANTITIES, extras.get("xch_show", "received")),
            id="xch-show",
            hidden=view != "plan",
        ),
        html.Div(
            segments("xch_unit", "Plot", {"": "Bytes", "cycles": "Cycles"}, extras.get("xch_unit", "")),
            id="xch-unit",
            hidden=view != "tiles",
        ),
        spacer(),
        html.Span(id="xch-export"),
        options_menu(order) if has_order else None,
        save_plot("xch-plot", "exchange"),
        popover(icon("help"), _about(), label="About this page", class_name="help"),
        label="Exchange",
    )


def _about() -> list[Component]:
    return [
        html.Strong("Traffic"),
        html.P(
            "A message is what one tile sends another in one execution. Received counts every receiver, sent counts a "
            "multicast once. Colours are logarithmic; the key gives their ends."
        ),
        html.P(
            "A tile moves 4 bytes a cycle each way, so the tile with most bytes dictates the length of an exchange, "
            "plus a start. Tiles that share a bus take what both receive at twice that rate."
        ),
    ]


def register(app: Dash, library: Library) -> None:
    """Routes of the drawing, rows of the tables, and the callbacks of headline and tabs."""
    register_routes(app, library)
    register_rows(app, library, "exchange-programs", program_frame)
    register_rows(app, library, "exchange-pairs", pair_frame)
    for half in ("head", "tab"):
        app.clientside_callback(
            ClientsideFunction("plots", "keep"),
            Output(f"xch-{half}-now", "data"),
            Input("selection", "data"),
            State(f"xch-{half}-keys", "data"),
            State(f"xch-{half}-now", "data"),
        )
    for name in ("exchange-programs", "exchange-pairs"):
        app.clientside_callback(
            ClientsideFunction("exchange", "rows"),
            Output("xch-done", "title", allow_duplicate=True),
            Input({"rows": name, "query": ALL}, "selectedRows"),
            prevent_initial_call=True,
        )
    _register_head(app, library)
    _register_tabs(app, library)


def _register_head(app: Dash, library: Library) -> None:
    @app.callback(
        Output("xch-headline", "children"),
        Output("xch-export", "children"),
        Input("xch-head-now", "data"),
        State("url", "pathname"),
    )
    def head(params: dict[str, str] | None, pathname: str) -> tuple[Any, Any]:
        if params is None:
            return no_update, no_update
        key = page_key(pathname)
        source = library.report(key)
        selection = Selection.parse(params)
        program, step = exchange_of(source, selection.program, selection.step)
        if program is None:
            return empty_hint(NOTHING), ""
        shown = exchange_headline(source, program, step, key, target_of_page(library, params))
        return shown, _export(source, key, program)

    @app.callback(
        Output("xch-show", "hidden"),
        Output("xch-unit", "hidden"),
        Output("xch-note", "children"),
        Input("selection", "data"),
        State("url", "pathname"),
    )
    def fields(params: dict[str, str] | None, pathname: str) -> tuple[bool, bool, Any]:
        view = (params or {}).get("xch_view", "")
        note: Any = _GUESS if view == "plan" else ""
        if view == "tiles":
            owner = "Source: " if target_of_page(library, params) is not None else ""
            note = _statistics(library.report(page_key(pathname)), Selection.parse(params), owner)
        return view != "plan", view != "tiles", note


def _statistics(source: ReportSource, selection: Selection, owner: str) -> Any:
    """Average, extremes and standard deviation over all tiles, in the source report; `owner` says so."""
    program, step = exchange_of(source, selection.program, selection.step)
    if program is None:
        return ""
    tiles = exchange_tiles(source, program, step)
    lines = []
    for name, values in ((f"{owner}Received", tiles.received), (f"{owner}Sent", tiles.sent)):
        found = statistics(values)
        lines.append(range_line(found, name, "tiles", position=lambda at: f"tile {at:,}", decimated=False, drawn=""))
    return lines


def _export(source: ReportSource, key: str, program: int) -> Any:
    try:
        count = len(messages_of(source, program).src)
    except NotRecordedError:
        return ""
    return html.A(
        [icon("download"), "Messages"],
        href=f"/data/{key}/exchange/messages.csv?program={program}",
        download=f"messages-{program}.csv",
        className="button small",
        title=f"Save all {count:,} messages as CSV",
    )


def _register_tabs(app: Dash, library: Library) -> None:
    @app.callback(
        [Output(f"xch-tab-{tab}", "children") for tab in TABS],
        Input("xch-tab-now", "data"),
        Input("theme", "data"),
        State("url", "pathname"),
    )
    def fill(params: dict[str, str] | None, theme: str | None, pathname: str) -> Any:
        shown = None if params is None else params.get("xch_tab", "programs")
        if params is None or shown not in TABS:
            return [no_update] * len(TABS)
        key, target = page_key(pathname), target_of_page(library, params)
        content = tab_content(library.report(key), key, shown, params, theme or "light", target)
        return [content if tab == shown else no_update for tab in TABS]


def _missing(context: ViewContext) -> str:
    if "program_by_ipu" in context.source.reader.missing:
        return NO_BYTES
    context.source.reader.steps()  # runs that damage took leave no figures of executions: say so, in its own words
    types = programs_of(context.source).type
    return "" if any(each in EXCHANGE_TYPES for each in types) else NOTHING


def _ahead(source: ReportSource) -> None:
    program, step = exchange_of(source, None, None)
    if program is not None:
        exchange_tiles(source, program, step)
        moved(source)
        fans(source)


VIEW = View("exchange", "Exchange", "exchange", layout, register, missing=_missing, ahead=_ahead)
