"""The tabs below the host timeline, and those that are tables: call tree, statistics by label, search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import FormatError
from popvision.analysis.trace.calls import CallTree, call_tree
from popvision.analysis.trace.difference import DIFFERENCES, difference_frame, trace_difference
from popvision.analysis.trace.search import EventFacts, list_matches, name_of_event
from popvision.analysis.trace.statistics import WindowStatistics, statistics_frame, window_statistics
from webapp.base.comparison import compared_trace, target_keys
from webapp.base.view import ViewContext
from webapp.components import Column, TabSet, data_table, empty_hint, unavailable
from webapp.components.difference import add_difference, difference_columns
from webapp.components.renewed import renewed_html
from webapp.components.table import MOST_ROWS
from webapp.system_analyser.timeline.device_tab import device_content
from webapp.system_analyser.timeline.difference_flame import difference_flame
from webapp.system_analyser.timeline.files_menu import both_link
from webapp.system_analyser.timeline.flame_tab import flame_content
from webapp.system_analyser.timeline.kernels_tab import kernels_content
from webapp.system_analyser.timeline.live import live_state, window_state
from webapp.system_analyser.timeline.measured import length_text, measured_columns
from webapp.system_analyser.timeline.occurrences_tab import occurrences_content, wanted_of
from webapp.system_analyser.timeline.scope_line import scope_line
from webapp.system_analyser.timeline.selection import only_selected, selected_event, window_of
from webapp.system_analyser.timeline.summary_tab import event_links, summary

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace

STATISTICS = (
    Column("label", "Event", flex=1),
    Column("channel", "Channel", width=110),
    Column("count", "Count", "integer", "Events that overlap the window", width=75),
    Column(
        "total_us",
        "Total µs",
        "decimal",
        "Sum of durations; of an event that crosses an edge of the window, the part inside",
        sort="desc",
        width=118,
    ),
    Column("self_us", "Self µs", "decimal", "Total minus the time of events directly inside", width=115),
    Column(
        "spread",
        "Spread",
        "text",
        "Numbers of events in 12 logarithmic steps from the shortest to the longest duration",
        width=112,
    ),
    Column(
        "mean_us",
        "Mean µs",
        "decimal",
        "Mean of entire durations, beyond the window too, like the columns after it",
        width=100,
    ),
    Column("min_us", "Min µs", "decimal", width=85),
    Column("p50_us", "50 % µs", "decimal", "Median duration: at least half of the events take no longer", width=90),
    Column("p95_us", "95 % µs", "decimal", "At least 95 % of the events take no longer", width=90),
    Column("p99_us", "99 % µs", "decimal", "At least 99 % of the events take no longer", width=90),
    Column("max_us", "Max µs", "decimal", width=92),
)

CALLS = (
    Column("event", "Event", width=420),
    Column("channel", "Channel", width=180),
    Column("count", "Count", "integer", "Events on this path", width=100),
    Column(
        "total_us",
        "Total µs",
        "decimal",
        "Sum of durations; of an event that crosses an edge of the window, the part inside",
    ),
    Column("self_us", "Self µs", "decimal", "Total minus the time of events directly inside"),
    Column("share", "Share", "percent", "Total / total of the outermost events", width=100),
)


MATCHES = (
    Column("start_us", "Begin µs", "decimal", "Time since the first event of the trace", width=150),
    Column("label", "Event", width=320),
    Column("channel", "Channel", width=180),
    Column("thread", "Thread", width=180),
    Column("duration_us", "Duration µs", "decimal", "Empty for instants", width=130),
)

_NO_CALLS = "An instant event has no calls. Select an event with a duration, or clear the selection to see the window."

#: Heights of the bars of a spread.
_BARS = " ▁▂▃▄▅▆▇█"

#: Paths of the call tree that are listed, with what encloses them.
_MOST_PATHS = 2_000

#: Matches that are listed.
MOST_MATCHES = 1_000

TAB_SET = TabSet(
    "tl",
    {
        "summary": "Summary",
        "calls": "Call Tree",
        "flame": "Flame",
        "statistics": "Statistics",
        "occurrences": "Occurrences",
        "matches": "Search",
        "device": "Device",
        "kernels": "Kernels",
        "difference": "Difference",
    },
    ("tl_sel", "tl_from", "tl_to", "tl_event", "tl_hide", "tl_find", "tl_marks", "tl_label", "vs"),
    kind="trace",
)


#: What the content of a tab depends on; of the others, all keys.
_DEPENDS = {
    "calls": ("tl_sel", "tl_from", "tl_to", "tl_event"),
    "flame": ("tl_sel", "tl_from", "tl_to", "tl_event"),
    "statistics": ("tl_sel", "tl_from", "tl_to", "tl_event", "tl_hide", "tl_label"),
    "matches": ("tl_find", "tl_sel"),
    "difference": ("vs",),
    "device": (),
    "kernels": (),
}


def tab_content(context: ViewContext, tab: str) -> Component:
    """The content of a tab."""
    if tab == "summary":
        facts = summary(context.trace, context.params, context.theme, event_links(context))
        return renewed_html("tl-summary", facts)
    if tab == "difference":
        return difference_content(context)
    if tab == "occurrences":
        return occurrences_content(context, *window_of(context.trace, only_selected(context.params)))
    if tab == "device":
        return device_content(context)
    if tab == "kernels":
        return kernels_content(context.trace)
    if tab == "flame":
        return renewed_html("tl-flame", flame(context.trace, context.params, context.theme))
    content = {"calls": calls, "statistics": statistics, "matches": matches}[tab]
    return content(context.trace, context.params, context.theme)


def tab_depends(context: ViewContext, tab: str) -> str:
    """What the content of a tab depends on. The list of matches stays while its rows are chosen, which moves the
    visible window."""
    if tab == "occurrences":
        return f"{context.theme}&{context.params.get('tl_sel', '')}&{wanted_of(context)!r}&{_grown(context, tab)}"
    names = _DEPENDS.get(tab, TAB_SET.keys)
    parts = [f"{name}={context.params.get(name, '')}" for name in names]
    return "&".join([context.theme if tab in ("summary", "flame") else "", *parts, _grown(context, tab)])


def _grown(context: ViewContext, tab: str) -> str:
    """Of a trace that is followed a text that changes with what the tab shows of it."""
    source, library = context.trace, context.library
    if library is None or not library.follows:
        return ""
    if tab in ("summary", "device", "difference", "kernels"):
        return live_state(source, library.look(context.key))["known"]
    event = selected_event(source, context.params) if tab in ("calls", "flame") else None
    if event is not None:
        return window_state(source, event.start, event.start + event.duration)
    is_list = tab in ("matches", "occurrences")
    begin, end, _ = window_of(source, only_selected(context.params) if is_list else context.params)
    return window_state(source, begin, end)


# -- Call Tree and Statistics


def calls(source: HostTrace, selection: Mapping[str, str], theme: str) -> Component:
    """The call tree of the selected event, else of the window; calls with the same path of labels are merged."""
    event = selected_event(source, selection)
    if event is not None and event.depth < 0:
        return empty_hint(_NO_CALLS)
    tree, scope = _tree_of(source, event, selection)
    all_ns = int(tree.total[tree.depth == 0].sum())
    tree = tree.largest(_MOST_PATHS)
    names = source.names
    columns = (tree.depth, tree.name, tree.count, tree.total, tree.self_time)
    rows = [
        {
            "row": path,
            "event": "\u2003" * depth + names.label[label],
            "channel": names.channel_name[names.channel[label]],
            "count": count,
            "total_us": total / 1e3,
            "self_us": own / 1e3,
            "share": total / all_ns if all_ns else 0.0,
        }
        for path, depth, label, count, total, own in zip(
            _paths(tree), *(column.tolist() for column in columns), strict=True
        )
    ]
    id = {"rows": "tl-calls", "query": "" if event is None else selection["tl_event"]}
    return _table(id, "calls", rows, measured_columns(source, CALLS), scope, tree.omitted, "paths with smaller totals")


def _paths(tree: CallTree) -> list[str]:
    """The path of each row of a call tree: the numbers of its names from the outermost on."""
    paths: list[str] = []
    enclosing: list[str] = []
    for depth, name in zip(tree.depth, tree.name, strict=True):
        del enclosing[depth:]
        enclosing.append(str(name))
        paths.append("/".join(enclosing))
    return paths


def flame(source: HostTrace, selection: Mapping[str, str], theme: str) -> Component:
    """The same calls as a drawing."""
    event = selected_event(source, selection)
    if event is not None and event.depth < 0:
        return empty_hint(_NO_CALLS)
    tree, scope = _tree_of(source, event, selection)
    if not len(tree):
        return empty_hint("There are no events in this window.")
    return flame_content(source, tree, f"{scope}, calls merged by path, widths by total time", theme)


def _tree_of(source: HostTrace, event: EventFacts | None, selection: Mapping[str, str]) -> tuple[CallTree, str]:
    """The call tree of an event, else of the window, and what it is of."""
    begin, end, name = window_of(source, selection)
    if event is None:
        return call_tree(source, begin, end), f"All threads, {name}"
    chosen = event.thread, event.depth, event.position
    return call_tree(source, begin, end, chosen), f"Inside {event.label}"


def statistics(source: HostTrace, selection: Mapping[str, str], theme: str) -> Component:
    """One row per label in the window, including hidden channels."""
    begin, end, name = window_of(source, selection)
    window = window_statistics(source, begin, end)
    frame = statistics_frame(source, window)
    hidden = len([each for each in selection.get("tl_hide", "").split(",") if each])
    scope = f"All threads, {name}; totals count the parts of events inside it"
    if hidden:
        scope += f". Includes the {hidden} channels hidden in the drawing"
    event = selected_event(source, selection)
    if event is not None and event.depth >= 0 and not source.samples:
        scope += _rank_of(event, source, window)
    spreads = [spread_text(counts) for counts in window.spreads(frame.index[:MOST_ROWS].to_numpy()).tolist()]
    rows: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    rows = [row | {"spread": spread} for row, spread in zip(rows, spreads, strict=False)] + rows[MOST_ROWS:]
    chosen = None if event is None else name_of_event(source, event.thread, event.depth, event.position)
    for row, number in zip(rows, window.name[frame.index].tolist(), strict=True):
        is_lit = str(number) == selection.get("tl_label", "")
        row |= {"row": str(number), "name": number, "chosen": number == chosen, "lit": is_lit}
    # While the trace grows into the window, its table stays: with its sorting, its filter and its place. Else it is
    # made anew for another window or event, and shows the row of the event.
    grows = end >= source.end and any(file.state == "recording" for file in source.files)
    query = "growing" if grows else f"{begin}-{end} {selection.get('tl_event', '')}".strip()
    id = {"rows": "tl-labels", "query": query}
    return _table(
        id,
        "statistics",
        rows,
        measured_columns(source, STATISTICS),
        scope,
        0,
        "",
        selectable=True,
        grid=_MARKED | _scroll_to(rows),
    )


#: The label of the selected event and the highlighted one are marked.
_MARKED = {"rowClassRules": {"tl-row-chosen": "params.data.chosen", "tl-row-lit": "params.data.lit"}}


def _scroll_to(rows: list[dict[str, Any]]) -> dict[str, Any]:
    marked = [row["row"] for row in rows[:MOST_ROWS] if row["chosen"]]
    return {"scrollTo": {"rowId": marked[0], "rowPosition": None}} if marked else {}


def _rank_of(event: EventFacts, source: HostTrace, window: WindowStatistics) -> str:
    """Where the selected event stands among those of its label in the window; "" when the window has none."""
    name = int(source.threads[event.thread].lanes[event.depth].name[event.position])
    rows = (window.name == name).nonzero()[0].tolist()
    if not rows:
        return ""
    count = int(window.count[rows[0]])
    if count == 1:
        return f". The selected event, {length_text(source, event.duration)}, is the only one of {event.label} there"
    shorter = window.rank(rows[0], event.duration)
    return (
        f". The selected event, {length_text(source, event.duration)}, takes longer than {shorter:.1%} of the {count:,}"
        f" events {event.label} there"
    )


def spread_text(counts: list[int]) -> str:
    """A bar of eight heights per count, the largest the highest; a space for none."""
    most = max(counts, default=0)
    return "".join(_BARS[-(-8 * count // most)] if count else _BARS[0] for count in counts)


def matches(source: HostTrace, selection: Mapping[str, str], theme: str) -> Component:
    """The events that the search finds in the selected window or the whole trace, in time order; choosing one selects
    it and zooms to it."""
    text = selection.get("tl_find", "")
    if not text:
        return empty_hint(
            "Type a part of a name into the search box to list the events that contain it; or /regular expression/, "
            "channel:TEXT, dur>10us, dur<1ms, meta:TEXT."
        )
    begin, end, name = window_of(source, only_selected(selection))
    try:
        found = list_matches(source, text, begin, end, MOST_MATCHES)
    except ValueError as problem:
        return empty_hint(f"{problem}.")
    if not found.total:
        return empty_hint(f"No event in the {name} matches '{text}'.")
    names, threads = source.names, [thread.row.name or f"Thread {thread.row.tid}" for thread in source.threads]
    columns = (found.thread, found.depth, found.position, found.name, found.start, found.duration)
    rows = [
        {
            "row": f"{thread}.{depth}.{position}",
            "start_us": (start - source.begin) / 1e3,
            "label": names.label[label],
            "channel": names.channel_name[names.channel[label]],
            "thread": threads[thread],
            "duration_us": None if depth < 0 else duration / 1e3,
            "event": {
                "thread": thread,
                "depth": depth,
                "position": position,
                "start": start - source.begin,
                "duration": duration,
            },
        }
        for thread, depth, position, label, start, duration in zip(*(c.tolist() for c in columns), strict=True)
    ]
    scope = f"{found.total:,} events in the {name} match '{text}'"
    if found.total > MOST_MATCHES:
        scope += f"; the first {MOST_MATCHES:,} are listed (Shift-drag a window for others)"
    id: dict[str, str] = {"rows": "tl-matches", "query": text}
    table = data_table(
        id, rows, measured_columns(source, MATCHES), name="matches", height="100%", selectable=True, row_id="row"
    )
    return html.Div([scope_line(scope, "matches"), table], className="tl-table")


def _table(
    id: Any,
    name: str,
    rows: list[dict[str, Any]],
    columns: tuple[Column, ...],
    scope: str,
    omitted: int,
    what: str,
    *,
    selectable: bool = False,
    grid: Mapping[str, Any] | None = None,
) -> Component:
    if not rows:
        return empty_hint("There are no events in this window.")
    more = omitted + max(0, len(rows) - MOST_ROWS)
    if more:
        scope += f". {more:,} {what or 'labels with smaller totals'} are not listed"
    shown = rows[:MOST_ROWS]
    table = data_table(id, shown, columns, name=name, height="100%", selectable=selectable, row_id="row", grid=grid)
    return html.Div([scope_line(scope, name), table], className="tl-table")


# ---- the difference of two traces ----

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
        return unavailable(problem)
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
