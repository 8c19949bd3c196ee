"""The device under the host: a row of bars for each IPU of the reports of the same execution, and facts of a bar.

A row shows the recorded runs that are `Engine::run` events of the trace; analysis/summary/device_strip.py of popvision
says how a run is stretched over its event. Routes below /data/<key>/timeline/: `device` answers bars in a window of
host time, `device_step` the facts of one step. Their queries name the `report`, the `file` of the trace, and the `ipu`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from flask import Response, jsonify, request

from popvision.analysis.execution.flame import RUN, Level
from popvision.analysis.execution.raster import Grid
from popvision.analysis.execution.step_details import step_facts
from popvision.analysis.execution.timeline import TYPE_NAMES, program_labels, run_bars, step_count
from popvision.analysis.report.not_recorded import FormatError, NotRecordedError
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.tiles import target_of
from popvision.analysis.summary.device_strip import DeviceStrip, HostWaits, device_strip, host_waits
from popvision.analysis.summary.engine_runs import EngineRuns, match_engine_runs, places_in_trace
from popvision.analysis.trace.joint import JointTrace
from webapp.base.bar_answer import bars_answer, window
from webapp.base.joint_key import trace_keys
from webapp.base.query import number_of
from webapp.base.theme import STEP_FAMILY

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.columns import HostTrace
    from popvision.analysis.trace.source import TraceSource
    from webapp.base.library import Library

#: Nanoseconds of a trace whose bars have positions; longer ones have no rows of the device.
_LONGEST = (1 << 62) // 1024

#: Ranges of recorded runs that a text lists.
_MOST_RANGES = 6

#: Runs narrower than this have no clock of their own in the drawing.
_CLOCK_COLUMNS = 24


def device_rows(library: Library | None, key: str, source: HostTrace) -> list[list[dict[str, Any]]]:
    """For each file of a trace, the reports with runs in it: key, label, number of IPUs; how many runs are recorded,
    and a text that says which and why."""
    if library is None or source.end - source.begin >= _LONGEST:
        return [[] for _ in source.files]
    return [
        [
            {
                "report": other,
                "label": report.label,
                "ipus": target_of(report).num_ipus,
                **_runs_text(part, report),
            }
            for other, report in reports_of(library, own, part)
        ]
        for number, own in enumerate(trace_keys(key))
        for part in [part_of(source, number)]
    ]


def _runs_text(part: TraceSource, report: ReportSource) -> dict[str, str]:
    """How many runs of the host are drawn under it; which they are, and why the others are not."""
    matches = match_engine_runs(part, report)
    places, events = places_in_trace(part, matches)
    drawn, recorded = len(places), len(run_bars(report).name)
    runs = with_noun(events, "run")
    about = (
        f"All {runs} of this trace (Engine::run) are recorded in the report."
        if drawn == events
        else f"Of the {runs} of this trace (Engine::run, of any engine) the report has recorded "
        f"{_ordinals(places)}, in order of time."
    )
    if recorded > drawn:
        lost = recorded - drawn
        about += (
            f" {with_noun(lost, 'more recorded run')} match no such event (of another process, or not "
            "written yet), so they are not drawn."
        )
    option = "autoReport.executionProfileProgramRunCount"
    kept = str(dict(report.reader.meta.get("engineOptions") or {}).get(option, ""))
    if kept.isdigit():
        about += f" A report keeps the first runs of each program, here up to {int(kept):,}: option {option}={kept}."
    else:
        about += f" A report keeps the first runs of each program: option {option}."
    return {"runs": runs if drawn == events else f"{drawn:,} of {runs} recorded", "about": about}


def _ordinals(places: list[int]) -> str:
    """[0, 1, 2, 6] -> "number 1 to 3, 7"; the first ranges of many."""
    starts = [place for at, place in enumerate(places) if not at or places[at - 1] != place - 1]
    ends = [place for at, place in enumerate(places) if at + 1 == len(places) or places[at + 1] != place + 1]
    texts = [f"{a + 1:,}" if a == b else f"{a + 1:,} to {b + 1:,}" for a, b in zip(starts, ends, strict=True)]
    more = len(texts) - _MOST_RANGES
    return "number " + ", ".join(texts[:_MOST_RANGES]) + (f" and {more:,} more ranges" if more > 0 else "")


@dataclass(frozen=True)
class DrawnDevice:
    """One IPU under the threads of a trace: `level` and the runs are placed in ns since the trace's first event."""

    report: str
    strip: DeviceStrip
    runs: Level
    steps: Level
    names: list[str]  #: of the report's runs


def drawn_devices(source: HostTrace, reports: Iterable[tuple[int, ReportSource]]) -> list[DrawnDevice]:
    """A row for each IPU of (number of the file, report of its execution). Reports without a run in it have none."""
    rows: list[DrawnDevice] = []
    for number, report in reports if source.end - source.begin < _LONGEST else ():
        part = part_of(source, number)
        shift = part.begin + source.files[number].shift - source.begin
        try:
            strips = [device_strip(part, report, ipu) for ipu in range(target_of(report).num_ipus)]
        except (FormatError, NotRecordedError):
            continue
        names = run_bars(report).name
        rows += [
            DrawnDevice(report.label, each, _run_level(each, shift), _moved(each.level, shift), names)
            for each in strips
            if len(each.run)
        ]
    return rows


def reports_of_files(library: Library, key: str, source: HostTrace) -> list[tuple[int, ReportSource]]:
    """(number of the file, report) of the reports of the same executions in the open folders."""
    return [
        (number, report)
        for number, own in enumerate(trace_keys(key))
        for _, report in reports_of(library, own, part_of(source, number))
    ]


def families() -> list[str]:
    """The family of each program type, whose colour a bar has."""
    return [STEP_FAMILY.get(name, "other") for name in TYPE_NAMES]


def reports_of(library: Library, key: str, part: TraceSource) -> Iterator[tuple[str, ReportSource]]:
    """(key, report) of the same execution that have steps and a run in this trace."""
    for entry in library.partners(key):
        try:
            report = library.report(entry.key)
            if step_count(report) and len(match_engine_runs(part, report).run):
                yield entry.key, report
        except (FormatError, NotRecordedError):
            continue


def part_of(source: HostTrace, number: int) -> TraceSource:
    """The trace of one file of a timeline, on its own clock."""
    part: TraceSource = source.parts[number] if isinstance(source, JointTrace) else source  # type: ignore[assignment]
    return part


def device(library: Library, source: HostTrace) -> Response:
    """Bars of the runs (level 0) and the steps (level 1) of an IPU in a window of host time. `runs` of the header: for
    each run with room for a clock its number, its begin and end on the host, and its cycles."""
    number, part, report, ipu = _asked(library, source)
    strip = device_strip(part, report, ipu)
    shift = part.begin + source.files[number].shift - source.begin
    grid = window()
    levels = [_run_level(strip, shift), _moved(strip.level, shift)]
    texts = [run_bars(report).name, program_labels(report)]
    return bars_answer(levels, texts, grid, [0], {"runs": _clocks(strip, shift, grid)})


def device_step(library: Library, source: HostTrace) -> Response:
    """Facts of a step: its run and cycles, and the host's transfer of the copy that it is a part of."""
    number, part, report, ipu = _asked(library, source)
    facts = step_facts(report, ipu, number_of(request.args, "step", 0, max(0, step_count(report) - 1)))
    bars, waits = run_bars(report), host_waits(part, report, ipu)
    length = int(bars.end[facts.run] - bars.begin[facts.run])
    row = waits.row_of_step(facts.step)
    matches = match_engine_runs(part, report)
    own = matches.row_of_run(facts.run)
    page = f"/r/{request.args.get('report', '')}/execution"
    answer: dict[str, Any] = {
        "name": facts.name,
        "family": STEP_FAMILY.get(facts.type, "other"),
        "type": facts.type,
        "cycles": facts.end - facts.begin,
        "at": facts.begin - int(bars.begin[facts.run]),
        "run": bars.name[facts.run],
        "run_cycles": length,
        "stream": None if row is None else waits.stream[row],
        "host": None,
        "event": None if own is None else host_event(source, number, matches, own),
        "href": f"{page}?step={facts.step}&from={facts.begin}&to={max(facts.end, facts.begin + 1)}",
        "run_href": f"{page}?from={bars.begin[facts.run]}&to={bars.end[facts.run]}",
    }
    if row is not None and waits.thread[row] >= 0:
        answer["host"] = host_event(source, number, waits, row)
    return jsonify(answer)


def host_event(source: HostTrace, number: int, events: EngineRuns | HostWaits, row: int) -> dict[str, int]:
    """The event of the timeline that a row of events of its file `number` names; its start in ns as drawn."""
    file = source.files[number]
    return {
        "thread": int(events.thread[row]) + file.threads.start,
        "depth": int(events.depth[row]),
        "position": int(events.position[row]),
        "start": int(events.begin[row]) + file.shift - source.begin,
        "duration": int(events.end[row] - events.begin[row]),
    }


def _asked(library: Library, source: HostTrace) -> tuple[int, TraceSource, ReportSource, int]:
    number = number_of(request.args, "file", 0, len(source.files) - 1)
    report: ReportSource = library.report(request.args.get("report", ""))
    return number, part_of(source, number), report, number_of(request.args, "ipu", 0, target_of(report).num_ipus - 1)


def _run_level(strip: DeviceStrip, shift: int) -> Level:
    """The runs as bars; `name` is the row of the report's runs."""
    rows = strip.run.astype(np.int32)
    return Level(strip.begin + shift, strip.end + shift, rows, rows, rows, np.full(len(rows), RUN, np.uint8))


def _moved(level: Level, shift: int) -> Level:
    return replace(level, begin=level.begin + shift, end=level.end + shift) if shift else level


def _clocks(strip: DeviceStrip, shift: int, grid: Grid) -> list[list[int]]:
    """(run, begin, end, cycles) of the runs in the window that are wide enough for ticks; times in ns, as drawn."""
    begin, end = strip.begin + shift, strip.end + shift
    left, right = grid.first * grid.pitch // 1024, (grid.first + grid.columns) * grid.pitch // 1024
    wide = (end - begin) * 1024 >= _CLOCK_COLUMNS * grid.pitch
    rows = np.flatnonzero(wide & (end > left) & (begin < right))
    clocks: list[list[int]] = np.stack([strip.run, begin, end, strip.cycles], axis=1)[rows].tolist()
    return clocks
