"""The tab "Device": the three parts of the copies of each stream in each recorded run, beside the host's time for them.

A row has two clocks, in columns of their own: cycles of the device, microseconds of the host. Nothing adds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.execution.timeline import run_bars
from popvision.analysis.report.tiles import target_of
from popvision.analysis.summary.device_strip import HostWaits, host_waits
from webapp.base.arrays import Int64Array
from webapp.base.joint_key import trace_keys
from webapp.base.view import ViewContext
from webapp.components.message import empty_hint
from webapp.components.table import MOST_ROWS, Column, data_table
from webapp.system_analyser.timeline.device_rows import host_event, part_of, reports_of
from webapp.system_analyser.timeline.scope_line import scope_line

COLUMNS = (
    Column("report", "Report", width=150),
    Column("ipu", "IPU", "integer", width=70),
    Column("run", "Run", width=190),
    Column("stream", "Stream", width=150),
    Column("copies", "Copies", "integer", "Copies of this stream in the run: steps StreamCopyBegin", width=90),
    Column(
        "cycles",
        "Copy cycles",
        "integer",
        "Begin + transfer + end of these copies, on the device's clock",
        width=130,
        sort="desc",
    ),
    Column(
        "share",
        "Of the run",
        "percent",
        "Copy cycles / cycles of the run, both on the device's clock. Copies beside computing count in full",
        width=110,
    ),
    Column(
        "begin_cycles",
        "Begin: host answers",
        "integer",
        "Sum of the StreamCopyBegin steps: the device waits for its tiles and until the host has answered. On the IPU "
        "Model the host answers at once",
        width=160,
    ),
    Column(
        "mid_cycles",
        "Transfer",
        "integer",
        "Sum of the StreamCopyMid steps: the bytes pass between host and tiles; no wait for code of the host",
        width=110,
    ),
    Column(
        "end_cycles",
        "End: host acknowledges",
        "integer",
        "Sum of the StreamCopyEnd steps: until the host has acknowledged the transfer, and tiles have put the elements "
        "in order. On the IPU Model the host acknowledges at once",
        width=180,
    ),
    Column(
        "longest_cycles", "Longest, cycles", "integer", "The longest of these copies: begin + transfer + end", width=150
    ),
    Column(
        "host_us",
        "Host µs",
        "decimal",
        "Sum of the durations of the host's StreamCopy events of these copies, on the host's clock; empty where their "
        "number differs from the number of copies, so that none can be told apart. Of the replicas' transfers the last "
        "to end counts",
    ),
    Column("longest_us", "Longest, host µs", "decimal", "The longest of these events, which a click selects"),
)


def device_content(context: ViewContext) -> Component:
    """A row per stream, run, IPU and report; choosing one selects the longest transfer of the host."""
    rows: list[dict[str, Any]] = []
    library = context.library
    for number, key in enumerate(trace_keys(context.key)):
        part = part_of(context.trace, number)
        for report_key, report in reports_of(library, key, part) if library is not None else ():
            bars = run_bars(report)
            for ipu in range(target_of(report).num_ipus):
                waits = host_waits(part, report, ipu)
                for run, stream, own in _groups(waits):
                    length = int(bars.end[run] - bars.begin[run])
                    name = f"{report_key}/{ipu}/{run}/{stream}"
                    place = {"row": name, "report": report.label, "ipu": ipu, "run": bars.name[run], "stream": stream}
                    rows.append(place | _figures(waits, own, length) | _event(context, number, waits, own))
    if not rows:
        return empty_hint(
            "No run of a report of this execution copies a stream here. A report and its trace know each other by "
            "the run that wrote both: set PVTI_OPTIONS and autoReport.outputExecutionProfile for the same program."
        )
    scope = (
        "All recorded runs that are Engine::run events of this trace. Cycles are the device's clock, microseconds the "
        "host's; the two are never added"
    )
    rows.sort(key=lambda row: -row["cycles"])
    if len(rows) > MOST_ROWS:
        scope += f". {len(rows) - MOST_ROWS:,} rows with fewer cycles are not listed"
    id: dict[str, str] = {"rows": "tl-matches", "query": "device"}
    table = data_table(id, rows[:MOST_ROWS], COLUMNS, name="device_waits", height="100%", selectable=True, row_id="row")
    return html.Div([scope_line(scope, "device"), table], className="tl-table")


def _groups(waits: HostWaits) -> list[tuple[int, str, Int64Array]]:
    """(run, stream, rows of the copies)."""
    groups: dict[tuple[int, str], list[int]] = {}
    for row, key in enumerate(zip(waits.run.tolist(), waits.stream, strict=True)):
        groups.setdefault(key, []).append(row)
    return [(run, stream, np.array(own, np.int64)) for (run, stream), own in groups.items()]


def _figures(waits: HostWaits, own: Int64Array, length: int) -> dict[str, Any]:
    cycles = waits.copy_cycles[own]
    spent = (waits.end - waits.begin)[own]
    tied = bool((waits.thread[own] >= 0).all())
    return {
        "copies": len(own),
        "cycles": int(cycles.sum()),
        "share": int(cycles.sum()) / length if length else 0.0,
        "begin_cycles": int(waits.cycles[own].sum()),
        "mid_cycles": int(waits.mid_cycles[own].sum()),
        "end_cycles": int(waits.end_cycles[own].sum()),
        "longest_cycles": int(cycles.max()),
        "host_us": int(spent.sum()) / 1e3 if tied else None,
        "longest_us": int(spent.max()) / 1e3 if tied else None,
    }


def _event(context: ViewContext, number: int, waits: HostWaits, own: Int64Array) -> dict[str, Any]:
    """The longest transfer, for the script that selects it; nothing where it is not known."""
    longest = int(own[(waits.end - waits.begin)[own].argmax()])
    return {} if waits.thread[longest] < 0 else {"event": host_event(context.trace, number, waits, longest)}
