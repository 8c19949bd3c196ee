"""The plot of the memory page: total memory, its breakdowns, or selected variables by tile; of one report, of two over
each other, or their difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from popvision.analysis.compare.matching import match_variables
from popvision.analysis.compare.memory import BreakdownPair, breakdown_pair, by_position, replica_of_target
from popvision.analysis.memory.binary_memory import binary_bytes, has_archive
from popvision.analysis.memory.usage import Breakdown, MemoryByTile, breakdown, memory_by_tile
from popvision.analysis.memory.variable_tiles import variable_bytes_by_tile
from popvision.analysis.report.columns import variables
from popvision.analysis.report.range_statistics import Statistics, statistics
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import physical_id, target_of, tiles_in_order
from webapp.base.arrays import BoolArray, Int64Array
from webapp.base.theme import tokens
from webapp.graph_analyser.memory.ipu_plot import draw_ipus
from webapp.graph_analyser.memory.state import MemoryState, shown_tiles
from webapp.graph_analyser.plots.category_colours import mix, part_colour
from webapp.graph_analyser.plots.drawing import Drawing
from webapp.graph_analyser.plots.stepped_plot import Series, SteppedPlot, difference_series

#: Variables that are drawn together.
MOST_VARIABLES = 6

#: Letters of a variable's name in the legend.
_MOST_LETTERS = 36


def draw_memory(source: ReportSource, state: MemoryState, theme: str, target: ReportSource | None = None) -> Drawing:
    """The drawing of a state whose graph is "total" or "variables".

    Raises NotRecordedError, ValueError, FormatError."""
    if state.graph == "variables":
        return _draw_variables(source, state, theme, target)
    memory = memory_by_tile(source, state.replica)
    parts = breakdown(source, state.by, state.replica) if state.by != "none" else None
    theirs = None if target is None else memory_by_tile(target, replica_of_target(target, state.replica))
    pair = None
    if target is not None and parts is not None:  # parts add up to memory excluding gaps, so all figures exclude gaps
        pair, state = breakdown_pair(source, target, state.by, state.replica), replace(state, gaps=False)
    if state.by_ipu:
        return draw_ipus(memory, parts, state, theme, theirs, pair)
    ids = tiles_in_order(target_of(source), memory.tiles, state.order)
    order = ids - memory.tiles.start
    quantity = "memory including gaps" if state.gaps else "memory excluding gaps"
    main = _main(memory, state)
    if target is not None and theirs is not None:
        other = by_position(source, target, _main(theirs, state), state.replica)
        series = _pair(main, other, theme, state, order)
        figures = series[-1]
        if pair is not None:
            series = _parts_of_both(pair, theme, state, order)
            series += [replace(figures, side="")] if state.difference else []
        return _stepped(source, state, theme, ids, series, figures, _compared(quantity, state), memory.capacity)
    series = _series(memory, parts, theme, state.gaps, order)
    if state.binary and has_archive(source):
        values = binary_bytes(source, state.replica)[order]
        series.append(Series("Tile memory (from binary)", values, tokens(theme)["series-4"], filled=False))
    return _stepped(source, state, theme, ids, series, main[order], quantity, memory.capacity)


def _main(memory: MemoryByTile, state: MemoryState) -> Int64Array:
    return memory.including_gaps if state.gaps else memory.excluding_gaps


def _compared(quantity: str, state: MemoryState) -> str:
    return f"target − source, {quantity}" if state.difference else f"{quantity} of the target"


def _pair(main: Int64Array, other: Int64Array, theme: str, state: MemoryState, order: Int64Array) -> list[Series]:
    """Source and target over each other, or their difference. Statistics are those of the last series."""
    colours = tokens(theme)
    known = (other >= 0)[order]
    source = Series("Tile memory (Source)", main[order], colours["series-2"], side="source")
    target = Series(
        "Tile memory (Target)",
        np.maximum(other, 0)[order],
        colours["series-1"],
        side="target",
        known=None if known.all() else known,
    )
    return difference_series(source, target, theme) if state.difference else [source, target]


def _parts_of_both(pair: BreakdownPair, theme: str, state: MemoryState, order: Int64Array) -> list[Series]:
    """The stacked parts of both reports, each stack in its own plot, or the difference of each part."""
    parts = list(zip(pair.keys, pair.labels, pair.source, pair.target, strict=True))
    known = (pair.target[0] >= 0)[order] if parts else np.ones(len(order), dtype=np.bool_)
    if state.difference:
        return [
            Series(
                f"{label} (Target − Source)",
                np.where(known, (after - before)[order], 0),
                part_colour(key, theme),
                filled=False,
                known=known,
                signed=True,
                group=label,
            )
            for key, label, before, after in parts
        ]
    part_series = []
    for side in ("source", "target"):
        for key, label, before, after in parts:
            values = before[order] if side == "source" else np.maximum(after, 0)[order]
            colour = part_colour(key, theme)
            name = f"{label} ({side.capitalize()})"
            there = None if side == "source" else known
            part_series.append(Series(name, values, colour, stacked=True, side=side, known=there, group=label))
    return part_series


def _series(memory: MemoryByTile, parts: Breakdown | None, theme: str, gaps: bool, order: Int64Array) -> list[Series]:
    colours = tokens(theme)
    faint = mix(colours["series-1"], colours["surface"], 0.75)
    series = [Series("Including gaps", memory.including_gaps[order], faint, filled=False)] if gaps else []
    if parts is None:
        return [*series, Series("Excluding gaps", memory.excluding_gaps[order], colours["series-2"])]
    rows = zip(parts.keys, parts.labels, parts.values, strict=True)
    return series + [Series(label, values[order], part_colour(key, theme), stacked=True) for key, label, values in rows]


def _stepped(
    source: ReportSource,
    state: MemoryState,
    theme: str,
    ids: Int64Array,
    series: list[Series],
    main: Series | Int64Array,
    quantity: str,
    capacity: int,
) -> Drawing:
    hardware = state.order == "hardware"
    place = {tile: position for position, tile in enumerate(ids.tolist())}
    plot = SteppedPlot(
        series,
        lambda positions: _names(source, ids[positions], hardware),
        "Position %{x:,.0f}" if hardware else "Tile %{x:,.0f}",
        "Tiles (hardware order: by physical id within each IPU)" if hardware else "Tiles (software order)",
        window=state.window,
        marked=[place[tile] for tile in state.tiles if tile in place][:40],
        limit=(capacity, "Capacity of a tile") if state.show_max and not state.difference else None,
        mark=place.get(-1 if state.mark is None else state.mark),
        split=any(each.side == "target" and each.group for each in series),
    )
    drawn, decimated = plot.draw(theme)
    _number_ticks(drawn, ids, plot.shown)
    first, last = plot.shown
    known = next((each.known for each in series if each.known is not None), None)
    values, known = (main.values, main.known) if isinstance(main, Series) else (main, known)
    figures = _seen(values, known, first, last)
    curves = [] if state.difference else series
    also = [(each.name, _seen(each.values, each.known, first, last)) for each in curves]
    return Drawing(drawn, ids, figures, quantity, plot.shown, decimated, plot, len(ids), also)


def _seen(values: Int64Array, known: BoolArray | None, first: int, last: int) -> Statistics | None:
    """Statistics of the positions from first to last that have a value; None when none has."""
    inside = values[first : last + 1] if known is None else values[first : last + 1][known[first : last + 1]]
    return statistics(inside) if len(inside) else None


def _names(source: ReportSource, tiles: Int64Array, hardware: bool) -> list[str]:
    """The text of each tile in the hover box, besides its position."""
    target, texts = target_of(source), []
    for tile in tiles.tolist():
        physical = physical_id(target, tile)
        known = "" if physical is None else f", physical {physical}"
        texts.append(f"{f'tile {tile:,} ' if hardware else ''}on IPU {tile // target.tiles_per_ipu}{known}")
    return texts


def _number_ticks(drawn: dict[str, Any], ids: Int64Array, shown: tuple[int, int]) -> None:
    """Label positions with tile numbers where the two differ."""
    if len(ids) and (ids == np.arange(len(ids))).all():
        return
    at = np.unique(np.linspace(shown[0], shown[1], 12).astype(np.int64))
    drawn["layout"]["xaxis"] |= {"tickvals": at.tolist(), "ticktext": [f"{tile:,}" for tile in ids[at].tolist()]}


def _draw_variables(source: ReportSource, state: MemoryState, theme: str, target: ReportSource | None) -> Drawing:
    machine = target_of(source)
    tiles = shown_tiles(source, state)
    ids = tiles_in_order(machine, tiles, state.order)
    known = variables(source)
    names = known.name
    chosen = [variable for variable in state.variables if variable < len(names)][:MOST_VARIABLES]
    largest = not chosen
    if largest:
        chosen = np.argsort(-np.asarray(known.bytes, np.int64), kind="stable")[:MOST_VARIABLES].tolist()
    if not chosen:
        nothing = {"data": [], "layout": _hint("This report has no variables.")}
        return Drawing(nothing, ids, None, "", (0, len(ids) - 1))
    order = ids - tiles.start
    values = variable_bytes_by_tile(source, chosen, state.replica)[:, order]
    colours = [tokens(theme)[f"series-{row + 1}"] for row in range(len(chosen))]
    series = [
        Series(_end_of(names[variable]), values[row], colours[row], filled=len(chosen) == 1 and target is None)
        for row, variable in enumerate(chosen)
    ]
    main, of = (
        values.sum(axis=0),
        f"bytes of {names[chosen[0]]}"
        if len(chosen) == 1
        else f"bytes of the {len(chosen)} largest variables; select others in the Variables tab"
        if largest
        else "bytes of all selected variables",
    )
    if target is not None:
        series = _variables_of_both(source, target, state, chosen, series, order)
        main = sum((each.values for each in series if each.side == "target"), np.zeros(len(ids), dtype=np.int64))
        of += ", target" + (" − source" if state.difference else "")
    unlimited = replace(state, show_max=False)
    return _stepped(source, unlimited, theme, ids, series, main, of, machine.bytes_per_tile)


def _end_of(name: str) -> str:
    """The name in a legend: its end, which tells it apart."""
    return name if len(name) <= _MOST_LETTERS else "…" + name[1 - _MOST_LETTERS :]


def _variables_of_both(
    source: ReportSource,
    target: ReportSource,
    state: MemoryState,
    chosen: list[int],
    mine: list[Series],
    order: Int64Array,
) -> list[Series]:
    """The selected variables of the source and their matches in the target, or the differences."""
    partner = match_variables(source, target).target_rows()
    variable_series: list[Series] = []
    for variable, series in zip(chosen, mine, strict=True):
        theirs = int(partner[variable])
        series = replace(series, name=f"{series.name} (Source)", side="source")
        if theirs < 0:
            variable_series.append(replace(series, name=f"{series.name}, not in the target"))
            continue
        values = variable_bytes_by_tile(target, [theirs], replica_of_target(target, state.replica))[0]
        other = by_position(source, target, values, state.replica)[order]
        known = other >= 0
        if state.difference:
            name = series.name.removesuffix(" (Source)") + " (Target − Source)"
            change = np.where(known, other - series.values, 0)
            variable_series.append(Series(name, change, series.colour, filled=False, side="target", known=known))
        else:
            name = series.name.removesuffix(" (Source)") + " (Target)"
            shown = Series(name, np.maximum(other, 0), series.colour, filled=False, side="target", known=known)
            variable_series += [series, shown]
    return variable_series


def _hint(sentence: str) -> dict[str, Any]:
    return {
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
        "annotations": [{"text": sentence, "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}],
    }
