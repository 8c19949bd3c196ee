"""Links between a report and the host traces of the same execution: of the files, and of single runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html
from dash.development.base_component import Component

from popvision.analysis.execution.timeline import run_bars
from popvision.analysis.report.not_recorded import FormatError, NotRecordedError
from popvision.analysis.summary.engine_runs import match_engine_runs
from popvision.analysis.trace.joint import JointTrace
from webapp.base.joint_key import trace_keys
from webapp.components.attributes import attributes

if TYPE_CHECKING:
    from webapp.base.library import Entry, Library
    from webapp.base.view import ViewContext


def partner_links(library: Library, entry: Entry) -> list[Component]:
    """Of a report, links to the host traces of its execution; of a trace, to the reports."""
    partners = library.partners(entry.key)
    return [_to_trace(library, each) if each.kind == "trace" else _to_report(library, each) for each in partners]


def _to_trace(library: Library, entry: Entry) -> Component:
    title = f"The host's activity in the same execution: {entry.path.name}"
    more = attributes(data_nav="to", data_key=entry.key)  # the list of recent files looks for keys on the page
    return html.A(f"Host trace {library.card(entry).label}", href=f"/t/{entry.key}/timeline", title=title, **more)


def _to_report(library: Library, entry: Entry) -> Component:
    title = f"The device's work in the same execution: {entry.path}"
    text = f"Report {library.card(entry).label}"
    return html.A(text, href=f"/r/{entry.key}/summary", title=title, **attributes(data_nav="to"))


def device_run_links(context: ViewContext, thread: int, depth: int, position: int) -> list[Component]:
    """Links from an `Engine::run` event of a trace to the recorded runs that it is, in the execution traces."""
    links: list[Component] = []
    library, key, trace = context.library, context.key, context.trace
    if library is None:
        return links
    if isinstance(trace, JointTrace):  # runs match by the clock of their own file, which the timeline may have moved
        number, thread = trace.place_of(thread)
        key, trace = trace_keys(key)[number], trace.parts[number]
    for entry in library.partners(key):
        try:
            report = library.report(entry.key)
            matches = match_engine_runs(trace, report)
            row = matches.row_of_event(thread, depth, position)
            bars = None if row is None else run_bars(report)
        except (FormatError, NotRecordedError):
            continue
        if row is not None and bars is not None:
            run = int(matches.run[row])
            href = f"/r/{entry.key}/execution?from={bars.begin[run]}&to={bars.end[run]}"
            links.append(html.A(f"{bars.name[run]} of {report.label}", href=href, **attributes(data_nav="to")))
    return links


def host_run_links(context: ViewContext, run: int) -> list[Component]:
    """Links from a recorded run of a report to the same time in the host traces. The server finds the event when a link
    is followed, since that reads the trace."""
    library = context.library
    traces = [] if library is None else library.partners(context.key)
    return [
        html.A(
            "host trace" if len(traces) == 1 else f"host trace {each.path.name}",
            href=f"/data/{each.key}/timeline/run?report={context.key}&run={run}",
            title="The Engine::run of the host that made this run, on the host's clock",
        )
        for each in traces
    ]
