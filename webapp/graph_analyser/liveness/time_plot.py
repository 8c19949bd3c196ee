"""Live bytes over device time: each execution step of a run spans its cycles, at the height of its live bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from popvision.analysis.compare.difference import relative
from popvision.analysis.compare.matching import match_runs
from popvision.analysis.liveness.curve import Curve, curve
from popvision.analysis.liveness.device_time import TimedSteps, timed_steps
from popvision.analysis.liveness.steps import program_label
from popvision.analysis.report.decimate import min_max_positions
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.base.arrays import Int64Array
from webapp.base.formats import cycles_phrase, cycles_text
from webapp.base.theme import tokens
from webapp.components import plain
from webapp.components.difference import relative_text, signed_text
from webapp.graph_analyser.liveness.state import LivenessState
from webapp.graph_analyser.plots.bytes_axis import bytes_axis
from webapp.graph_analyser.plots.category_colours import translucent
from webapp.graph_analyser.plots.stepped_plot import OVERVIEW_POSITIONS, WINDOW_POSITIONS, legend

#: Executions of the selected indices that are highlighted: the longest.
_MOST_MARKED = 40


@dataclass(frozen=True)
class TimeDrawing:
    """The figure of a state. [first, last) are the visible cycles, `cycles` the half-open range of the axis."""

    figure: dict[str, Any]
    steps: TimedSteps
    cycles: tuple[int, int]
    first: int
    last: int
    decimated: bool
    notes: list[str]


@dataclass(frozen=True)
class _Timed:
    """The run of one report with its not-always-live bytes by step; `side` is "" without a comparison."""

    report: ReportSource
    line: Curve
    steps: TimedSteps
    live: Int64Array
    side: str
    paint: tuple[str, str]  #: tokens of always live and of not always live

    @property
    def end(self) -> int:
        return int(self.steps.end[-1])


def draw_over_time(
    source: ReportSource, line: Curve, state: LivenessState, theme: str, target: ReportSource | None = None
) -> TimeDrawing:
    """The drawing of a state whose graph is "time", with the matching run of the target from the same cycle on. Raises
    NotRecordedError when no run is recorded, ValueError for a run that does not exist."""
    clock = target_of(source).clock_hz
    ours = _timed(source, line, state.run, "" if target is None else "Source", ("series-1", "series-2"))
    theirs, why = (None, []) if target is None else _of_target(source, target, ours)
    shown = [ours] if theirs is None else [ours, theirs]
    cycles = int(ours.steps.begin[0]), max(each.end for each in shown)
    first, last = _window(state.cycles, cycles)
    colours = tokens(theme)
    traces, decimated, tops = [], False, [line.capacity] if state.show_max else []
    for each in shown:
        below = each.line.always_live if state.always else 0
        rows, coarser = _drawn(each.steps, each.live, (first, last))
        decimated |= coarser
        traces += _areas(each, rows, state, theme)
        inside = (each.steps.end > first) & (each.steps.begin < last)
        tops.append(int((each.live + below)[inside].max(initial=0)))
    if state.show_max:
        traces.append(_capacity(line.capacity, cycles, colours["ink"]))
    figure = {"data": traces, "layout": _layout(ours.steps, (first, last), cycles, max(tops), clock, state, colours)}
    notes = [_note(ours.steps, state, clock)]
    notes += why if theirs is None else [_compared(ours, theirs, clock)]
    return TimeDrawing(figure, ours.steps, cycles, first, last, decimated, notes)


def _timed(source: ReportSource, line: Curve, run: int, side: str, paint: tuple[str, str]) -> _Timed:
    steps = timed_steps(source, run, line.tiles.start // target_of(source).tiles_per_ipu)
    if not len(steps.step):
        raise ValueError(f"Run {run} has no execution steps.")
    shown = steps.carried()
    live = np.where(shown >= 0, line.not_always_live[np.maximum(shown, 0)], 0)
    return _Timed(source, line, steps, live, side, paint)


def _of_target(source: ReportSource, target: ReportSource, ours: _Timed) -> tuple[_Timed | None, list[str]]:
    """The matching run of the target, shifted to the same first cycle; None and a reason when there is none."""
    try:
        run = int(match_runs(source, target)[ours.steps.run])
        if run < 0:
            raise ValueError(f"it has no run with the program and name of run {ours.steps.run}.")
        timed = _timed(target, curve(target, ours.line.where), run, "Target", ("series-3", "series-5"))
    except (NotRecordedError, ValueError) as problem:
        return None, [f"Only the source is shown. Target: {problem}"]
    moved = int(ours.steps.begin[0]) - int(timed.steps.begin[0])
    steps = replace(timed.steps, begin=timed.steps.begin + moved, end=timed.steps.end + moved)
    return replace(timed, steps=steps), []


def _compared(ours: _Timed, theirs: _Timed, clock: float) -> str:
    before, after = (each.end - int(each.steps.begin[0]) for each in (ours, theirs))
    change = signed_text(after - before, "cycles", clock)
    share = relative_text(float(relative(before, after)))
    other = target_of(theirs.report).clock_hz
    took = f"takes {cycles_phrase(after, other)}, {change}" + (f" ({share})" if share else "")
    clocks = "" if other == clock else f" The target's clock is {other / 1e9:g} GHz, the source's {clock / 1e9:g} GHz."
    return (
        f"Run {theirs.steps.run} of the target, drawn from the same cycle on, {took}. The curve and the Steps tab show "
        f"differences by index.{clocks}"
    )


def _areas(each: _Timed, rows: Int64Array, state: LivenessState, theme: str) -> list[dict[str, Any]]:
    """Areas of always-live and other bytes; those of the target are fainter, so that both reports are visible."""
    colours = [tokens(theme)[name] for name in each.paint]
    below = each.line.always_live if state.always else 0
    clock = target_of(each.report).clock_hz
    texts = [_hover(each.report, each.line, each.steps, row, clock) for row in rows.tolist()]
    name = (lambda what: f"{each.side}: {what[0].lower()}{what[1:]}") if each.side else str
    alpha = 0.2 if each.side == "Target" else 0.55 if theme == "light" else 0.5
    live = _area(name("Not always live"), each.steps, rows, each.live + below, (colours[1], alpha), texts)
    if not state.always:
        return [live]
    always = _area(
        name("Always live"), each.steps, rows, np.full(len(each.live), below, np.int64), (colours[0], alpha), None
    )
    return [always, live | {"fill": "tonexty"}]  # the areas meet and do not mix their colours


def _window(wanted: tuple[int, int] | None, cycles: tuple[int, int]) -> tuple[int, int]:
    if wanted is None or wanted[0] >= cycles[1] or wanted[1] <= cycles[0]:
        return cycles
    return max(wanted[0], cycles[0]), min(wanted[1], cycles[1])


def _drawn(steps: TimedSteps, live: Int64Array, window: tuple[int, int]) -> tuple[Int64Array, bool]:
    """(rows to draw, whether they are decimated): rows of the window or their extremes; coarser extremes elsewhere."""
    inside = np.flatnonzero((steps.end > window[0]) & (steps.begin < window[1]))
    chosen = min_max_positions(live[inside], WINDOW_POSITIONS) if len(inside) else None
    rows = [np.asarray([0, len(live) - 1])]
    if chosen is not None:
        rows.append(inside[chosen.positions])
    rows.append(min_max_positions(live, OVERVIEW_POSITIONS).positions)
    return np.unique(np.concatenate(rows)), chosen is not None and chosen.decimated


def _area(
    name: str,
    steps: TimedSteps,
    rows: Int64Array,
    values: Int64Array,
    paint: tuple[str, float],
    texts: list[str] | None,
) -> dict[str, Any]:
    colour, alpha = paint
    heights = values[rows].tolist()
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [*steps.begin[rows].tolist(), int(steps.end[rows[-1]])],
        "y": [*heights, heights[-1]],
        "customdata": [*steps.index[rows].tolist(), int(steps.index[rows[-1]])],
        "line": {"shape": "hv", "width": 1.2, "color": colour},
        "fill": "tozeroy",
        "fillcolor": translucent(colour, alpha),
    }
    if texts is None:
        return trace | {"hoverinfo": "skip"}
    return trace | {"text": [*texts, texts[-1]], "hovertemplate": "%{text}<extra></extra>"}


def _hover(source: ReportSource, line: Curve, steps: TimedSteps, row: int, clock: float) -> str:
    index = int(steps.index[row])
    length = cycles_phrase(int(steps.end[row] - steps.begin[row]), clock)
    if index < 0:
        return f"step {int(steps.step[row]):,}, {length}: no liveness index, shown at the level of the previous step"
    live = int(line.not_always_live[index])
    name = program_label(source, int(line.program[index]))
    head = f"index {index:,}, step {int(steps.step[row]):,}, {length}"
    return f"{head}<br>{plain(name[-80:])}<br>not always live {live:,} B, total {live + line.always_live:,} B"


def _capacity(value: int, cycles: tuple[int, int], colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Memory",
        "x": list(cycles),
        "y": [value, value],
        "line": {"width": 1.5, "color": colour},
        "hoverinfo": "skip",
    }


def _layout(
    steps: TimedSteps,
    window: tuple[int, int],
    cycles: tuple[int, int],
    top: int,
    clock: float,
    state: LivenessState,
    colours: dict[str, str],
) -> dict[str, Any]:
    ticks = _ticks(*window)
    return {
        "hovermode": "x",
        "dragmode": "zoom",
        "showlegend": True,
        "uirevision": "kept",
        "margin": {"l": 70, "r": 18, "t": 38, "b": 34},
        "legend": legend(3),
        "xaxis": {
            "range": list(window),
            "hoverformat": ",.0f",
            "title": {"text": f"Device time of run {steps.run} on IPU {steps.ipu} (every execution, modelled cycles)"},
            "tickvals": ticks,
            "ticktext": [cycles_text(tick, clock) for tick in ticks],
            "zeroline": False,
            "rangeslider": {
                "visible": True,
                "range": list(cycles),
                "thickness": 0.1,
                "bgcolor": colours["sunken"],
                "bordercolor": colours["line"],
                "borderwidth": 1,
            },
        },
        "yaxis": bytes_axis(top),
        "shapes": _marked(steps, state, colours),
    }


def _ticks(first: int, last: int) -> list[int]:
    """About eight round cycle numbers inside the window."""
    step = 1
    while step * 8 < last - first:
        step *= 10
    while step >= 2 and (last - first) / step < 4:
        step //= 2
    return list(range(-(-first // step) * step, last, step))


def _marked(steps: TimedSteps, state: LivenessState, colours: dict[str, str]) -> list[dict[str, Any]]:
    rows = np.flatnonzero(np.isin(steps.index, np.asarray(state.indices, dtype=np.int64)))
    length = steps.end[rows] - steps.begin[rows]
    rows = rows[np.argsort(-length, kind="stable")][:_MOST_MARKED]
    return [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": begin,
            "x1": end,
            "y0": 0,
            "y1": 1,
            "layer": "above",
            "fillcolor": translucent(colours["accent"], 0.28),
            "line": {"width": 1, "color": translucent(colours["accent"], 0.8)},
        }
        for begin, end in zip(steps.begin[rows].tolist(), steps.end[rows].tolist(), strict=True)
    ]


def _note(steps: TimedSteps, state: LivenessState, clock: float) -> str:
    """A sentence about the executions of the selected index."""
    if not state.indices:
        unknown = int((steps.index < 0).sum())
        text = f"{len(steps.step):,} executions in run {steps.run}"
        carried = f"; {unknown:,} without a liveness index (syncs) are shown at the previous level"
        return text + (carried if unknown else "") + "."
    index = state.indices[-1]
    rows = np.flatnonzero(steps.index == index)
    if not len(rows):
        return f"Index {index:,} did not run in run {steps.run}."
    length = steps.end[rows] - steps.begin[rows]
    longest = int(rows[length.argmax()])
    began, most = (cycles_phrase(int(each), clock) for each in (steps.begin[rows[0]], length.max()))
    return (
        f"Index {index:,} ran {len(rows):,} times in run {steps.run}: first at {began} "
        f"(step {int(steps.step[rows[0]]):,}), longest for {most} (step {int(steps.step[longest]):,}), "
        f"together {cycles_phrase(int(length.sum()), clock)}."
    )
