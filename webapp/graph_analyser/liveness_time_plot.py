"""Live bytes over device time: every execution step of a run as wide as it took, as high as what is live there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.decimate import min_max_positions
from popvision.analysis.live_steps import program_label
from popvision.analysis.live_time import TimedSteps, timed_steps
from popvision.analysis.liveness import Curve
from popvision.analysis.source import ReportSource
from popvision.analysis.tiles import target_of
from webapp.components import plain
from webapp.formats import cycles_phrase, cycles_text
from webapp.graph_analyser.bytes_axis import bytes_axis
from webapp.graph_analyser.category_colours import translucent
from webapp.graph_analyser.liveness_state import LivenessState
from webapp.graph_analyser.stepped_plot import OVERVIEW_POSITIONS, WINDOW_POSITIONS, legend
from webapp.theme import tokens

Int64Array = npt.NDArray[np.int64]

#: Executions of selected indices that are highlighted, the longest first.
_MOST_MARKED = 40


@dataclass(frozen=True)
class TimeDrawing:
    """`first` and `last` are the cycles shown, the last one excluded; `cycles` those of the run, likewise."""

    figure: dict[str, Any]
    steps: TimedSteps
    cycles: tuple[int, int]
    first: int
    last: int
    decimated: bool
    note: str


def draw_over_time(source: ReportSource, line: Curve, state: LivenessState, theme: str) -> TimeDrawing:
    """The drawing of a state whose graph is "time". Raises NotRecordedError when no run is recorded, ValueError for a
    run that does not exist."""
    per_ipu = target_of(source).tiles_per_ipu
    steps = timed_steps(source, state.run, line.tiles.start // per_ipu)
    if not len(steps.step):
        raise ValueError(f"Run {state.run} has no execution steps.")
    cycles = int(steps.begin[0]), int(steps.end[-1])
    first, last = _window(state.cycles, cycles)
    shown = steps.carried()
    live = np.where(shown >= 0, line.not_always_live[np.maximum(shown, 0)], 0)
    below = line.always_live if state.always else 0
    rows, decimated = _drawn(steps, live, (first, last))
    colours = tokens(theme)
    clock = target_of(source).clock_hz
    texts = [_hover(source, line, steps, row, clock) for row in rows.tolist()]
    traces = [_area("Not always live", steps, rows, live + below, colours["series-2"], theme, texts)]
    if state.always:
        always = np.full(len(live), below, dtype=np.int64)
        traces.append(_area("Always live", steps, rows, always, colours["series-1"], theme, None))
    limits = [line.capacity] if state.show_max else []
    if state.show_max:
        traces.append(_capacity(line.capacity, cycles, colours["ink"]))
    inside = (steps.end > first) & (steps.begin < last)
    top = max([int((live + below)[inside].max(initial=0)), *limits])
    figure = {"data": traces, "layout": _layout(steps, (first, last), cycles, top, clock, state, colours)}
    return TimeDrawing(figure, steps, cycles, first, last, decimated, _note(steps, state, clock))


def _window(wanted: tuple[int, int] | None, cycles: tuple[int, int]) -> tuple[int, int]:
    if wanted is None or wanted[0] >= cycles[1] or wanted[1] <= cycles[0]:
        return cycles
    return max(wanted[0], cycles[0]), min(wanted[1], cycles[1])


def _drawn(steps: TimedSteps, live: Int64Array, window: tuple[int, int]) -> tuple[Int64Array, bool]:
    """Rows to draw: all in the window, or the extremes of each bucket of it, and coarser extremes everywhere."""
    inside = np.flatnonzero((steps.end > window[0]) & (steps.begin < window[1]))
    chosen = min_max_positions(live[inside], WINDOW_POSITIONS) if len(inside) else None
    rows = [np.asarray([0, len(live) - 1])]
    if chosen is not None:
        rows.append(inside[chosen.positions])
    rows.append(min_max_positions(live, OVERVIEW_POSITIONS).positions)
    return np.unique(np.concatenate(rows)), chosen is not None and chosen.decimated


def _area(
    name: str, steps: TimedSteps, rows: Int64Array, values: Int64Array, colour: str, theme: str, texts: list[str] | None
) -> dict[str, Any]:
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
        "fillcolor": translucent(colour, 0.55 if theme == "light" else 0.5),
    }
    if texts is None:
        return trace | {"hoverinfo": "skip"}
    return trace | {"text": [*texts, texts[-1]], "hovertemplate": "%{text}<extra></extra>"}


def _hover(source: ReportSource, line: Curve, steps: TimedSteps, row: int, clock: float) -> str:
    index = int(steps.index[row])
    length = cycles_phrase(int(steps.end[row] - steps.begin[row]), clock)
    if index < 0:
        return f"step {int(steps.step[row]):,}, {length}: no liveness index, the level of the step before is shown"
    live = int(line.not_always_live[index])
    name = program_label(source, int(line.program[index]))
    head = f"index {index:,}, step {int(steps.step[row]):,}, {length}"
    return f"{head}<br>{plain(name[-80:])}<br>not always live {live:,} B, total {live + line.always_live:,} B"


def _capacity(value: int, cycles: tuple[int, int], colour: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "name": "Memory", "x": list(cycles), "y": [value, value],
        "line": {"width": 1.5, "color": colour}, "hoverinfo": "skip",
    }  # fmt: skip


def _layout(
    steps: TimedSteps, window: tuple[int, int], cycles: tuple[int, int], top: int, clock: float, state: LivenessState,
    colours: dict[str, str],
) -> dict[str, Any]:  # fmt: skip
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
            "title": {"text": f"Device time of run {steps.run} on IPU {steps.ipu} (every execution, modelled cycles)"},
            "tickvals": ticks,
            "ticktext": [cycles_text(tick, clock) for tick in ticks],
            "zeroline": False,
            "rangeslider": {
                "visible": True, "range": list(cycles), "thickness": 0.1, "bgcolor": colours["sunken"],
                "bordercolor": colours["line"], "borderwidth": 1,
            },
        },
        "yaxis": bytes_axis(top),
        "shapes": _marked(steps, state, colours),
    }  # fmt: skip


def _ticks(first: int, last: int) -> list[int]:
    """About eight round cycles inside the window."""
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
            "type": "rect", "xref": "x", "yref": "paper", "x0": begin, "x1": end, "y0": 0, "y1": 1, "layer": "above",
            "fillcolor": translucent(colours["accent"], 0.28),
            "line": {"width": 1, "color": translucent(colours["accent"], 0.8)},
        }
        for begin, end in zip(steps.begin[rows].tolist(), steps.end[rows].tolist(), strict=True)
    ]  # fmt: skip


def _note(steps: TimedSteps, state: LivenessState, clock: float) -> str:
    """How often the selected index ran, and where to find it."""
    if not state.indices:
        unknown = int((steps.index < 0).sum())
        text = f"{len(steps.step):,} executions in run {steps.run}"
        carried = f"; {unknown:,} of programs without a liveness index (syncs) show the level before them"
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
