"""The plot area of the liveness page: figure or heat map, headline, values at the cursor, statistics and notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.steps import first_step, program_count, program_label
from popvision.analysis.memory.lowered import lowered_tile
from popvision.analysis.report.columns import variables
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from webapp.base.arrays import Int64Array
from webapp.components import themed, unavailable
from webapp.components.attributes import attributes
from webapp.graph_analyser.liveness.headline import liveness_headline
from webapp.graph_analyser.liveness.paired_curve import PairedCurve
from webapp.graph_analyser.liveness.plot import LivenessDrawing, draw_liveness
from webapp.graph_analyser.liveness.state import LivenessState
from webapp.graph_analyser.liveness.time_plot import draw_over_time
from webapp.graph_analyser.plots.headline import range_line
from webapp.graph_analyser.plots.page import NOTHING, hits_text
from webapp.graph_analyser.plots.reading import reading

_HINT = "Select an index to see its values here: click it, or use the arrow keys; p selects the peak."
_HEAT_HINT = "Select a cell to see its values here: click it, or use the arrow keys (up and down: tiles)."


def plot_parts(
    source: ReportSource,
    key: str,
    state: LivenessState,
    theme: str,
    target: ReportSource | None = None,
    vs: str = "",
) -> tuple[Any, ...]:
    """(figure, configuration for assets/shared/plots/axis.js, headline, values at the cursor, lines below it).

    Where `target`, the report compared with (`vs` names it), lacks the curve, only the source is shown and a line
    says why.
    """
    try:
        if target is not None:
            try:
                curve(target, state.where)
                if state.graph == "heat":
                    lowered_tile(target, 0)
            except (NotRecordedError, ValueError) as problem:
                state = replace(state, problems=(*state.problems, f"Target: {problem}"))
                target = None
        drawing = draw_liveness(source, state, theme, target)
        if state.graph == "heat":
            lowered_tile(source, drawing.curve.tiles.start)
    except (NotRecordedError, ValueError) as problem:
        empty = themed(NOTHING, theme)
        return empty, {"name": "live", "count": 0}, "", "", unavailable(problem)
    if state.graph == "time":
        return _over_time(source, key, drawing, state, theme, target)
    shown = drawing.figure if state.graph == "curve" else NOTHING
    return (
        themed(shown, theme),
        _config(source, key, drawing, state, vs),
        liveness_headline(source, key, drawing.curve, state, None if drawing.pair is None else drawing.pair.target),
        _reading(source, key, drawing, state, target),
        _below(source, drawing, state),
    )


def _over_time(
    source: ReportSource,
    key: str,
    drawing: LivenessDrawing,
    state: LivenessState,
    theme: str,
    target: ReportSource | None,
) -> tuple[Any, ...]:
    """The same parts over device time. The window is `from` and `to` of the selection, as in the execution trace."""
    other = None if drawing.pair is None else drawing.pair.target
    head = liveness_headline(source, key, drawing.curve, state, other)
    try:
        over = draw_over_time(source, drawing.curve, state, theme, target)
    except (NotRecordedError, ValueError) as problem:
        return themed(NOTHING, theme), {"name": "live", "count": 0}, head, "", unavailable(problem)
    first, last = over.cycles
    config = _config(source, key, drawing, state) | {"count": last - first, "first": first, "span": ["from", "to"]}
    config |= {"ids": len(drawing.curve.program), "mark": "", "view": "span"}
    lines: list[Component] = [html.Div(problem, className="range-problem") for problem in state.problems]
    if over.decimated:
        text = "The plot shows minima and maxima only; zoom in to see every step."
        lines.append(html.Div(text, className="range-note"))
    lines += [html.Div(note, className="range-plain") for note in over.notes]
    return themed(over.figure, theme), config, head, _reading(source, key, drawing, state), lines


def _config(
    source: ReportSource, key: str, drawing: LivenessDrawing, state: LivenessState, vs: str = ""
) -> dict[str, Any]:
    """The configuration of the plot for assets/shared/plots/axis.js and assets/liveness/."""
    count = drawing.plot.count
    spans = drawing.lifetime
    heat = None
    if state.graph == "heat":
        tiles = drawing.curve.tiles
        heat = {"key": key, "tiles": [tiles.start, tiles.stop - 1], "perIpu": target_of(source).tiles_per_ipu}
        heat |= {"always": state.always, "capacity": state.show_max, "by": state.by}
        heat |= {"vs": vs if drawing.pair is not None else ""}
        count = len(drawing.curve.program)  # indices of the target alone have no column in the heat map
    return {
        "name": "live",
        "view": "live_view",
        "pick": "liveness",
        "also": "live_also",
        "count": count,
        "first": 0,
        "order": None,
        "peak": peak(drawing.curve).index,
        "peaks": drawing.peaks,
        "mark": "live_mark",
        "hits": hits_text(drawing.matching, count),
        "fit": [min(s for s, _ in spans), max(e for _, e in spans) - 1] if spans else None,
        "heat": heat,
    }


def _reading(
    source: ReportSource, key: str, drawing: LivenessDrawing, state: LivenessState, target: ReportSource | None = None
) -> Any:
    cursor = state.indices[-1] if state.indices else None
    links = [] if cursor is None else _links(source, key, int(drawing.curve.program[cursor]))
    if state.graph != "heat":
        return reading(drawing.plot, _naming(source, drawing), cursor, _HINT, "Total") + links
    tile = state.tile
    if tile is None or cursor is None:
        return reading(drawing.plot, _naming(source, drawing), None, _HEAT_HINT)
    if target is not None and tile >= target_of(target).num_tiles:
        target = None
    of_tile = draw_liveness(source, replace(state, where=Where("tile", tile), difference=False), "light", target)
    name = _naming(source, of_tile)
    named = lambda index: f"Tile {tile:,}, {name(index)[0].lower()}{name(index)[1:]}"  # noqa: E731
    return reading(of_tile.plot, named, cursor, _HEAT_HINT, "Total") + links


def _links(source: ReportSource, key: str, program: int) -> list[Component]:
    """Links to the program in the program tree, and to its first recorded execution in the trace."""
    tree = html.A("Program tree", href=f"/r/{key}/program_tree?program={program}", **attributes(data_nav="jump"))
    step = first_step(source, program)
    if step is None:
        return [tree]
    href = f"/r/{key}/execution?program={program}&step={step}"
    return [tree, html.A("First execution", href=href, **attributes(data_nav="jump"))]


def _naming(source: ReportSource, drawing: LivenessDrawing) -> Callable[[int], str]:
    program = drawing.curve.program

    def named(index: int) -> str:
        if index >= len(program):
            return f"Index {index:,}, only in the target"
        return f"Index {index:,}: {program_label(source, int(program[index]))}"

    return named


def _below(source: ReportSource, drawing: LivenessDrawing, state: LivenessState) -> list[Component]:
    lines: list[Component] = [html.Div(problem, className="range-problem") for problem in state.problems]
    first, last = drawing.shown
    indices = len(drawing.curve.program)
    quantity = "Live, always live included" if state.always else "Live, always live not included"
    quantity = quantity if drawing.pair is None else "Source: " + quantity[0].lower() + quantity[1:]
    name = "indices" if last - first + 1 == indices else f"of {indices:,} indices shown"
    drawn = "The plot shows minima and maxima only; zoom in to see every index" if drawing.decimated else ""

    def position(at: int) -> str:
        return f"index {first + at:,}"

    if state.graph == "heat":
        return [*lines, html.Div(_heat_note(drawing, state), className="range-plain")]
    lines.append(
        range_line(drawing.statistics, quantity, name, position=position, decimated=drawing.decimated, drawn=drawn)
    )
    notes = [] if drawing.pair is None else _pairing_notes(drawing.pair, state)
    if drawing.matching is not None and not state.filter.strip():
        notes.append(_program_note(source, state.program, drawing.matching))
    elif drawing.matching is not None:
        notes.append(
            f"{len(drawing.matching):,} of {indices:,} steps match the filter (marked below the curve). "
            "The statistics include all steps shown."
        )
    if state.variable is not None:
        notes.append(_lifetime_note(source, state.variable, drawing.lifetime))
    return lines + [html.Div(note, className="range-plain") for note in notes]


def _pairing_notes(pair: PairedCurve, state: LivenessState) -> list[str]:
    """How the indices of two reports are paired, and how many have no partner: none is dropped silently."""
    ours, theirs = len(pair.source.program), len(pair.target.program)
    if state.by == "index":
        if ours == theirs:
            return []
        return [
            f"The source has {ours:,} indices, the target {theirs:,}; they are paired by number. Use Options to pair "
            "them by matched programs."
        ]
    alone = int((pair.partner < 0).sum())
    return [
        f"Indices are paired by matched programs: {ours - alone:,} pairs; {alone:,} of the source and "
        f"{len(pair.alone):,} of the target have no partner (Steps lists them all)."
    ]


def _program_note(source: ReportSource, program: int | None, indices: Int64Array) -> str:
    known = program is not None and program < program_count(source)
    name = (
        f"Program {program}: {program_label(source, program)},"
        if known and program is not None
        else f"Program {program}"
    )
    if not len(indices):
        return f"{name} has no liveness index; only programs that run on tiles have one."
    places = ", ".join(f"{index:,}" for index in indices[:8].tolist()) + (" ..." if len(indices) > 8 else "")
    times = "once, at index" if len(indices) == 1 else f"at {len(indices):,} indices:"
    return f"{name} runs {times} {places} (marked below the curve; . and , step through them)."


def _lifetime_note(source: ReportSource, variable: int, ranges: list[tuple[int, int]] | None) -> str:
    name = variables(source).name[variable]
    if ranges is None:
        return f"{name} is always live."
    return f"{name} is live at " + ", ".join(f"{s:,} to {e - 1:,}" for s, e in ranges[:8]) + " (shaded)."


def _heat_note(drawing: LivenessDrawing, state: LivenessState) -> str:
    what = "always live included" if state.always else "not always live"
    tiles = with_noun(len(drawing.curve.tiles), "tile")
    pair = drawing.pair
    if pair is not None:
        alone = len(pair.target.program) - int((pair.partner[: len(pair.source.program)] >= 0).sum())
        paired = "by matched programs" if state.by == "programs" else "by their number"
        more = f" {alone:,} indices of the target are not shown (Steps lists them)." if alone else ""
        return (
            f"Target − source: live bytes on each of {tiles}, {what}; indices are paired {paired}. A cell shows the "
            "largest difference among its tiles and indices; it is hatched without a partner in the target. Click a "
            "cell to select the tile and index with that difference." + more
        )
    return (
        f"Live bytes on each of {tiles}, {what}. A cell shows the maximum over its tiles and indices; click it to "
        "select the tile and index of the maximum. The Steps tab lists the indices of the selected tile."
    )
