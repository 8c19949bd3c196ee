"""Exchange: the traffic of one program between tiles, IPUs and the host, and a ranking of all programs that move data.

The drawing is assets/exchange/*.js, which reads the routes of routes.py. The URL holds the state of the page:

    program, step   program shown (that of the step; by default the one with most bytes)   vs   report to compare with
    xch_view   "" matrix, "plan" floor plan, "tiles" plot by tile     xch_at     visible window
    tiles, xch_to   the tile, or the pair (source, destination)       xch_order  "hardware"
    xch_show   quantity of the floor plan                             xch_unit   "cycles", else bytes
    xch_mark   the marked tile or pair (source-destination); distances are measured from it
    xch_tab    tab of the lower pane
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dash import ClientsideFunction, Dash, html
from dash.development.base_component import Component

from popvision.analysis.exchange.messages import messages_of
from popvision.analysis.exchange.programs import EXCHANGE_TYPES, fans, moved_bytes
from popvision.analysis.exchange.tiles import QUANTITIES, exchange_of, exchange_tiles
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.range_statistics import statistics
from popvision.analysis.report.tiles import target_of
from webapp.base.view import View, ViewContext
from webapp.components import (
    TabSet,
    empty_hint,
    icon,
    options_menu,
    page_of_halves,
    popover,
    register_part,
    register_row_choice,
    register_rows,
    register_tabs,
    segments,
    select,
    spacer,
    toggle,
    toolbar,
)
from webapp.components.attributes import attributes
from webapp.components.download_link import download_link
from webapp.components.section import folded_when_low
from webapp.graph_analyser.exchange.compared_headline import compared_headline
from webapp.graph_analyser.exchange.headline import exchange_headline
from webapp.graph_analyser.exchange.routes import register_routes
from webapp.graph_analyser.exchange.tables import pair_rows, program_rows
from webapp.graph_analyser.exchange.tabs import NOTHING, tab_content
from webapp.graph_analyser.plots.headline import range_line
from webapp.graph_analyser.plots.page import save_plot

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

KEYS = (
    ("← → ↑ ↓", "Move the cursor; with Shift, by ten (focus the drawing first)"),
    ("W S", "Zoom in, zoom out"),
    ("A D  Page Up / Down", "Move left, right, up, down"),
    (". ,", "Next, previous tile"),
    ("f", "Zoom to the cursor"),
    ("0", "Show everything"),
    ("m", "Mark the tile or pair under the cursor and show differences from it"),
    ("Esc", "Clear the selection; press again to remove the mark"),
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

#: Keys of the selection that the figures above the tabs show.
PLOT_KEYS = ("program", "step", "xch_view", "vs")

TAB_SET = TabSet("xch", TABS, ("program", "step", "tiles", "vs"), "Exchange details")

NO_BYTES = (
    "This report has no traffic to show: its table program_by_ipu is missing. popvision's simulator always records it; "
    "reports of other producers may not."
)

_GUESS = "Tiles are placed by physical id. The exact floor plan is not public, so this layout is a guess."


def layout(context: ViewContext) -> Component:
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
    above = html.Div(
        [
            _toolbar(context),
            folded_when_low("Figures", html.Div(id="xch-headline", className="headline-line")),
            board,
            html.Div(id="xch-note", className="exchange-note"),
        ],
        className="exchange-top",
    )
    below, stores = TAB_SET.layout(context), TAB_SET.stores(context, PLOT_KEYS)
    return page_of_halves("exchange", above, below, KEYS, class_name="exchange-page", stores=stores)


def _quantities(context: ViewContext) -> dict[str, str]:
    """The choices of the floor plan; those that a report does not hold say so."""
    known = all(holds_code(each) for each in (context.source, context.target) if each is not None)
    return QUANTITIES if known else QUANTITIES | {"code": f"{QUANTITIES['code']} (not recorded)"}


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
            select("xch_show", "Show", _quantities(context), extras.get("xch_show", "received")),
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
            "A message is the data that one tile sends to another in one execution. Received bytes count every "
            "receiver; sent bytes count a multicast once. The colour scale is logarithmic; the key shows its range."
        ),
        html.P(
            "A tile moves 4 bytes per cycle each way. The tile with most bytes, plus a start-up time, sets the "
            "length of an exchange. Two tiles of one bus receive the same data at twice the rate."
        ),
    ]


def register(app: Dash, library: Library) -> None:
    """Routes of the drawing, rows of the tables, and the callbacks of headline and tabs."""
    register_routes(app, library)
    register_rows(app, library, "exchange-programs", program_rows)
    register_rows(app, library, "exchange-pairs", pair_rows)
    register_part(app, library, "xch", "plot", _OUTPUTS, _plot_part)
    register_tabs(app, library, TAB_SET, tab_content)
    register_row_choice(app, "xch", ClientsideFunction("exchange", "rows"), "exchange-programs", "exchange-pairs")


_OUTPUTS = ("xch-headline.children", "xch-export.children", "xch-note.children", "xch-show.hidden", "xch-unit.hidden")


def _plot_part(context: ViewContext) -> tuple[Any, ...]:
    """Headline, export and note of the drawing; whether the toolbar hides the quantity and the unit."""
    source, selection = context.source, context.selection
    view = selection.extras.get("xch_view", "")
    hidden = (view != "plan", view != "tiles")
    program, step = exchange_of(source, selection.program, selection.step)
    if program is None:
        return empty_hint(NOTHING), "", "", *hidden
    note: Any = _GUESS if view == "plan" else ""
    if view == "tiles":
        note = _statistics(source, program, step, "" if context.target is None else "Source: ")
    if context.target is None:
        head = exchange_headline(source, program, step, context.key)
    else:
        head = compared_headline(source, context.target, program, step, context.key, next(iter(context.targets)))
    return head, _export(source, context.key, program), note, *hidden


def _statistics(source: ReportSource, program: int, step: int | None, owner: str) -> list[Component]:
    """Lines of average, extremes and standard deviation over all tiles of the source; `owner` precedes their names."""
    tiles = exchange_tiles(source, program, step)
    lines = []
    for name, values in ((f"{owner}Received", tiles.received), (f"{owner}Sent", tiles.sent)):
        stats = statistics(values)
        lines.append(range_line(stats, name, "tiles", position=lambda at: f"tile {at:,}", decimated=False, drawn=""))
    return lines


def _export(source: ReportSource, key: str, program: int) -> Any:
    try:
        count = len(messages_of(source, program).src)
    except NotRecordedError:
        return ""
    href = f"/data/{key}/exchange/messages.csv?program={program}"
    return download_link("Messages", href, f"Save all {count:,} messages as CSV", f"messages-{program}.csv")


def _missing(context: ViewContext) -> str:
    if "program_by_ipu" in context.source.reader.missing:
        return NO_BYTES
    context.source.reader.steps()  # a report whose runs are damaged raises the error that says so
    types = programs_of(context.source).type
    return "" if any(each in EXCHANGE_TYPES for each in types) else NOTHING


def _ahead(source: ReportSource) -> None:
    program, step = exchange_of(source, None, None)
    if program is not None:
        exchange_tiles(source, program, step)
        moved_bytes(source)
        fans(source)


VIEW = View("exchange", "Exchange", "exchange", layout, register, missing=_missing, ahead=_ahead, draws=("table",))
