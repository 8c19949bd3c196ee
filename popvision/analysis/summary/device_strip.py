"""The steps of one IPU as a lane of bars over the host's time: an interval map of runs, each stretched to its event.

A run of the report and its `Engine::run` event in the trace are one call on two clocks, which are never added: the
run's cycles are drawn evenly over the time of the event, from its begin to its end. So the order of the steps and their
shares of the run are the device's own, and only the two ends of a run are host times. On a simulated device the event
takes the time of the simulation.

A copy of a stream begins with its StreamCopyBegin; the StreamCopyMid and StreamCopyEnd of that stream up to its next
Begin belong to it. Copies are tied to the host's `StreamCopy` events of the stream by order: within a run, the n-th
copy is the n-th transfer. Where their numbers differ, for instance because an event was not recorded, no copy of that
stream is tied. Cost: a pass over the steps for each IPU, a pass over the events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.execution.flame import Level
from popvision.analysis.execution.timeline import TYPE_NAMES, run_bars, timeline
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.engine_runs import EngineRuns, match_engine_runs
from popvision.analysis.trace.columns import HostTrace
from popvision.arrays import Int64Array

_BEGIN, _MID, _END = (TYPE_NAMES.index(f"StreamCopy{part}") for part in ("Begin", "Mid", "End"))
_TRANSFER = "StreamCopy "


@dataclass(frozen=True)
class DeviceStrip:
    """Row i: recorded run `run[i]` takes [begin[i], end[i]) of host time, ns since the first event of its file, and
    cycles [first_cycle[i], first_cycle[i] + cycles[i]) of the report's time axis.

    `level` holds the steps of these runs in host time; its `first` and `last` are execution steps."""

    ipu: int
    run: Int64Array
    begin: Int64Array
    end: Int64Array
    first_cycle: Int64Array
    cycles: Int64Array
    level: Level

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        level = self.level
        columns = (level.begin, level.end, level.first, level.last, level.name, level.kind)
        return sum(each.nbytes for each in (*columns, self.run, self.begin, self.end, self.first_cycle, self.cycles))


@dataclass(frozen=True)
class HostWaits:
    """Row i: the copy of stream `stream[i]` that begins in step `step[i]` of run `run[i]`. Its StreamCopyBegin, in
    which the device waits until the host has answered, takes `cycles[i]`; its StreamCopyMid, in which the bytes pass,
    `mid_cycles[i]`; its StreamCopyEnd, in which the host acknowledges, `end_cycles[i]`. The host's transfer is event
    (`thread`, `depth`, `position`)[i] of the trace, which takes [begin, end)[i], ns since the epoch; thread -1 where
    the transfer is not known. Of the replicas' transfers it is the last to end. Step `part_step[j]`, in order of time,
    is a part of the copy of row `part_row[j]`."""

    stream: list[str]
    run: Int64Array
    step: Int64Array
    cycles: Int64Array
    mid_cycles: Int64Array
    end_cycles: Int64Array
    part_step: Int64Array
    part_row: Int64Array
    thread: Int64Array
    depth: Int64Array
    position: Int64Array
    begin: Int64Array
    end: Int64Array

    @property
    def copy_cycles(self) -> Int64Array:
        """Cycles of the three parts together."""
        return np.asarray(self.cycles + self.mid_cycles + self.end_cycles)

    def row_of_step(self, step: int) -> int | None:
        """The row of the copy that a step is a part of; None where it is no part of a copy of a stream."""
        at = int(np.searchsorted(self.part_step, step))
        return int(self.part_row[at]) if at < len(self.part_step) and int(self.part_step[at]) == step else None


def device_strip(trace: HostTrace, report: ReportSource, ipu: int) -> DeviceStrip:
    """The strip of one IPU over a trace of one file of the same execution. Raises NotRecordedError without steps,
    ValueError for an unknown IPU."""
    return trace.kept.beside(report).recent(("device strip", ipu), lambda: _strip(trace, report, ipu))


def host_waits(trace: HostTrace, report: ReportSource, ipu: int) -> HostWaits:
    """The copies of streams of one IPU, in order of their begins; of runs that are events of the trace. Raises what
    `device_strip` raises."""
    return trace.kept.beside(report).once(("host waits", ipu), lambda: _waits(trace, report, ipu))


def _strip(trace: HostTrace, report: ReportSource, ipu: int) -> DeviceStrip:
    matches, bars, steps = match_engine_runs(trace, report), run_bars(report), timeline(report, ipu)
    order = np.argsort(matches.begin, kind="stable")
    run = matches.run[order]
    begin, end = matches.begin[order] - trace.begin, matches.end[order] - trace.begin
    first_cycle, cycles = bars.begin[run], bars.end[run] - bars.begin[run]
    parts = [np.zeros(0, np.int64)]
    for each in run.tolist():
        parts.append(np.arange(bars.first[each], bars.last[each] + 1, dtype=np.int64))
    rows = np.concatenate(parts)
    of_run = np.repeat(np.arange(len(run)), [len(part) for part in parts[1:]])
    scale = (end - begin) / np.maximum(cycles, 1)

    def on_host(cycle: Int64Array) -> Int64Array:
        placed = begin[of_run] + np.rint((cycle - first_cycle[of_run]) * scale[of_run]).astype(np.int64)
        return np.asarray(np.minimum(placed, end[of_run]))

    numbers = rows.astype(np.int32)
    level = Level(
        on_host(steps.begin[rows]),
        on_host(steps.end[rows]),
        numbers,
        numbers,
        steps.program[rows].astype(np.int32),
        steps.type[rows],
    )
    return DeviceStrip(ipu, run, begin, end, first_cycle, cycles, level)


def _waits(trace: HostTrace, report: ReportSource, ipu: int) -> HostWaits:
    matches, bars, steps = match_engine_runs(trace, report), run_bars(report), timeline(report, ipu)
    names = report.reader.programs().name
    rows: list[tuple[int, int]] = []
    tied: list[tuple[int, ...]] = []
    parts: list[tuple[int, int]] = []  # (step, step of the Begin)
    for row in np.argsort(matches.run).tolist():
        run = int(matches.run[row])
        own = np.arange(bars.first[run], bars.last[run] + 1)
        of_stream: dict[str, list[int]] = {}
        for step in own[np.isin(steps.type[own], (_BEGIN, _MID, _END))].tolist():
            if name := names[int(steps.program[step])]:
                if int(steps.type[step]) == _BEGIN:
                    of_stream.setdefault(name, []).append(step)
                if name in of_stream:
                    parts.append((step, of_stream[name][-1]))
        for stream, waits in of_stream.items():
            events = _transfers(trace, stream, matches, row)
            each = len(events) // len(waits)
            if not each or each * len(waits) != len(events):
                tied += [(-1, -1, -1, 0, 0)] * len(waits)
            else:
                groups = events.reshape(len(waits), each, 5)
                tied += [tuple(group[group[:, 4].argmax()].tolist()) for group in groups]
            rows += [(run, step) for step in waits]
    order = sorted(range(len(rows)), key=lambda at: rows[at][1])
    columns = np.array([tied[at] for at in order], np.int64).reshape(-1, 5).T
    run_and_step = np.array([rows[at] for at in order], np.int64).reshape(-1, 2).T
    step = run_and_step[1]
    streams = [names[int(program)] for program in steps.program[step]]
    part_step, begin = np.array(sorted(parts), np.int64).reshape(-1, 2).T
    part_row = np.searchsorted(step, begin)
    length = np.asarray(steps.end[part_step] - steps.begin[part_step], np.int64)

    def cycles(type_: int) -> Int64Array:
        of_copy = np.zeros(len(step), np.int64)
        of_type = steps.type[part_step] == type_
        np.add.at(of_copy, part_row[of_type], length[of_type])
        return of_copy

    parts_of_copy = cycles(_BEGIN), cycles(_MID), cycles(_END)
    thread, depth, position, start, end = columns
    return HostWaits(
        streams, run_and_step[0], step, *parts_of_copy, part_step, part_row, thread, depth, position, start, end
    )


def _transfers(trace: HostTrace, stream: str, matches: EngineRuns, row: int) -> Int64Array:
    """(thread, depth, position, begin, end) of the events of a stream's transfers within a run's event, by begin."""
    events = trace.kept.once(("transfers", stream), lambda: _read_transfers(trace, stream))
    first, last = np.searchsorted(events[:, 3], [matches.begin[row], matches.end[row]])
    inside = events[first:last]
    return np.asarray(inside[inside[:, 4] <= matches.end[row]])


def _read_transfers(trace: HostTrace, stream: str) -> Int64Array:
    names = [number for number, label in enumerate(trace.names.label) if label == _TRANSFER + stream]
    parts = [np.zeros((0, 5), np.int64)]
    for number, thread in enumerate(trace.threads) if names else ():
        for depth, lane in enumerate(thread.lanes):
            position = np.flatnonzero(np.isin(lane.name, names))
            begin = lane.start[position].astype(np.int64)
            end = begin + lane.duration[position].astype(np.int64)
            same = np.ones_like(position)
            parts.append(np.stack([number * same, depth * same, position, begin, end], axis=1))
    events = np.concatenate(parts)
    return np.asarray(events[np.argsort(events[:, 3], kind="stable")])
