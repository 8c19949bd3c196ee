"""Runs of a report and the `Engine::run` events of a host trace that are the same calls, by the host's clock.

A recorded run spans its event: the simulator reads the clock before the event begins and after it ends. So a run is the
longest such event inside its span, since a span may also contain runs of other engines on other threads; an event that
several runs claim belongs to the shortest. A clock that was set during the program leaves runs without an event, which
then have no link, rather than a wrong one. The cost is one look at each event of the trace, and a search per run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.source import ReportSource
from popvision.analysis.trace.activity import RUN_LABEL
from popvision.analysis.trace.columns import HostTrace
from popvision.arrays import Int64Array

_SLACK = 2_000  # ns; reports round host times down to microseconds


@dataclass(frozen=True)
class EngineRuns:
    """Row i: recorded run `run[i]` of the report is event (`thread`, `depth`, `position`)[i] of the trace, which takes
    [begin, end)[i], ns since the epoch. Rows are in the order of the runs; runs without an event have no row."""

    run: Int64Array
    thread: Int64Array
    depth: Int64Array
    position: Int64Array
    begin: Int64Array
    end: Int64Array

    def row_of_run(self, run: int) -> int | None:
        """The row of a run, None without one."""
        return _only(np.flatnonzero(self.run == run))

    def row_of_event(self, thread: int, depth: int, position: int) -> int | None:
        """The row of an event, None without one."""
        here = (self.thread == thread) & (self.depth == depth) & (self.position == position)
        return _only(np.flatnonzero(here))


def match_engine_runs(trace: HostTrace, report: ReportSource) -> EngineRuns:
    """The runs of `report` that are events of `trace`. Both must be of one execution (equal run ids)."""
    return trace.kept.beside(report).once("engine runs", lambda: _match(trace, report))


def places_in_trace(trace: HostTrace, runs: EngineRuns) -> tuple[list[int], int]:
    """The place of each row's event among all `Engine::run` events of the trace by begin, from 0, and their number;
    they may be of several engines."""
    begin = _run_events(trace)[3]
    return np.sort(np.searchsorted(begin, runs.begin)).tolist(), len(begin)


def _match(trace: HostTrace, report: ReportSource) -> EngineRuns:
    thread, depth, position, begin, end = _run_events(trace)
    runs = if_recorded(report.reader.runs)
    matches: dict[int, tuple[int, int]] = {}  # event -> (length of the run, run)
    spans = [] if runs is None else zip(runs.host_start_us.tolist(), runs.host_end_us.tolist(), strict=True)
    for run, (start_us, end_us) in enumerate(spans):
        first, last = start_us * 1000 - _SLACK, end_us * 1000 + _SLACK
        low, high = np.searchsorted(begin, [first, last])
        inside = low + np.flatnonzero(end[low:high] <= last)
        if len(inside):
            event = int(inside[np.argmax(end[inside] - begin[inside])])
            matches[event] = min(matches.get(event, (last - first, run)), (last - first, run))
    pairs = sorted((run, event) for event, (_, run) in matches.items())
    order = np.array(pairs, np.int64).reshape(-1, 2)
    rows = order[:, 1]
    return EngineRuns(order[:, 0], thread[rows], depth[rows], position[rows], begin[rows], end[rows])


def _run_events(trace: HostTrace) -> tuple[Int64Array, ...]:
    """(thread, depth, position, begin, end) of all events labelled RUN_LABEL, by begin."""
    return trace.kept.once("engine runs", lambda: _read_run_events(trace))


def _read_run_events(trace: HostTrace) -> tuple[Int64Array, ...]:
    parts = [np.zeros((5, 0), np.int64)]
    for number, depth, position in trace.positions_of(RUN_LABEL):
        lane = trace.threads[number].lanes[depth]
        begin = lane.start[position].astype(np.int64)
        same = np.ones_like(position)
        end = begin + lane.duration[position].astype(np.int64)
        parts.append(np.stack([number * same, depth * same, position, begin, end]))
    columns = np.concatenate(parts, axis=1)
    return tuple(columns[:, np.argsort(columns[3], kind="stable")])


def _only(rows: Int64Array) -> int | None:
    return int(rows[0]) if len(rows) else None
