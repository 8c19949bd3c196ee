"""The tab "Difference": this trace and the one that `vs` names, by call path."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import FormatError
from popvision.analysis.trace.difference import DIFFERENCES, difference_frame, trace_difference
from webapp.comparison import compared_trace, target_keys
from webapp.components.difference import add_difference, difference_columns
from webapp.components.message import empty_hint
from webapp.components.table import Column, data_table
from webapp.system_analyser.timeline.difference_flame import difference_flame
from webapp.system_analyser.timeline.files_menu import both_link
from webapp.system_analyser.timeline.measured import measured_columns
from webapp.view import ViewContext

#: Paths that are listed, with what encloses them.
MOST_PATHS = 2_000

COLUMNS = (
    Column("event", "Event", width=380),
    Column("channel", "Channel", width=150),
    *difference_columns("total_us", "Total µs", "decimal", help="Sum of durations on this path."),
    *difference_columns("self_us", "Self µs", "decimal", help="Total minus the time of events directly inside."),
    *difference_columns("count", "Count", "integer", help="Events on this path."),
    Column("path", "Path", width=300, help="Labels from the outermost event to this one"),
)


def difference_content(context: ViewContext) -> Component:
    """A row per path of calls of either trace; a path that one of them lacks counts 0 there."""
    target = None if context.library is None else compared_trace(context.library, context.params)
    if target is None:
        return empty_hint("Choose a trace to compare with in the menu Files of the toolbar.")
    if isinstance(target, str):
        return empty_hint(target)
    try:
        difference = trace_difference(context.trace, target)
    except FormatError as problem:
        return empty_hint(str(problem))
    if not len(difference):
        return empty_hint("Neither trace holds an event with a duration.")
    rows = difference.listed(MOST_PATHS)
    frame = difference_frame(difference, rows)
    frame["event"] = ["\u2003" * depth + label for depth, label in zip(frame["depth"], frame["label"], strict=True)]
    for field in DIFFERENCES:
        if f"{field}_diff" not in frame:
            continue  # of a sampled trace
        frame = add_difference(frame.drop(columns=f"{field}_diff"), field)
    scope = (
        f"Source {context.trace.label}, target {target.label}, both in full; all threads. Largest differences first at "
        "each depth. A path that one trace lacks counts 0 there"
    )
    if len(difference) > len(rows):
        scope += f". {len(difference) - len(rows):,} paths with smaller differences are not listed"
    if len(target_keys(context.params)) > 1:
        scope += ". Further targets of the address are not compared"
    columns = measured_columns(target if target.samples else context.trace, COLUMNS)
    table = data_table("tl-difference-table", frame, columns, name="difference", height="100%")
    both = both_link(context, target_keys(context.params)[0])
    line = html.Div([scope + ". ", both], className="tl-scope")
    drawing = html.Details(
        [html.Summary("Flame graph of the differences"), difference_flame(difference, context.trace)],
        className="tl-difference-flame",
    )
    return html.Div([line, drawing, table], className="tl-table")
