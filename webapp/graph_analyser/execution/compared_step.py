"""The Details tab of a comparison: the selected step of the source beside its match in the target, figure by figure and
tile by tile. A step without a match stands alone: the other report spends 0 cycles and moves 0 bytes in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.matching import match_steps
from popvision.analysis.execution.step_details import StepFacts, StepTiles, step_facts, step_tiles
from popvision.analysis.report.tile_knowledge import tiles_unknown
from webapp.base.comparison import target_keys
from webapp.base.query import whole_number
from webapp.base.theme import step_style, tokens
from webapp.base.view import ViewContext
from webapp.components import Column, data_table, empty_hint, figure
from webapp.components.difference import difference_columns, difference_mark, difference_rows
from webapp.components.difference import figure_text as text_of
from webapp.components.difference_key import difference_key
from webapp.components.row_export import exportable, row_values
from webapp.graph_analyser.execution.last_to_arrive import last_to_arrive
from webapp.graph_analyser.execution.state import selected_ipu
from webapp.graph_analyser.execution.step_links import where_line

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Side:
    """The step of one report. `facts` is None without a match, `tiles` where the report does not know its tiles."""

    role: str  #: "Source" or "Target"
    source: ReportSource
    key: str
    facts: StepFacts | None
    tiles: StepTiles | None


def compared_step(context: ViewContext, target: ReportSource) -> Component | None:
    """Figures, plot and table of both steps; None when no step is selected. Raises ValueError for an unknown step."""
    ours, theirs = _steps(context, target)
    if ours is None and theirs is None:
        return None
    sides = (
        _side("Source", context.source, context.key, selected_ipu(context.selection), ours),
        _side("Target", target, target_keys(context.params)[0], selected_ipu(context.selection), theirs),
    )
    facts = [*(part for side in sides for part in _named(side)), _figures(*sides), difference_key()]
    parts: list[Component] = [html.Div(facts, className="trace-facts")]
    unknown = [tiles_unknown(side.source) for side in sides if side.facts is not None and side.tiles is None]
    if all(side.tiles is None for side in sides):
        return html.Div([*parts, empty_hint(unknown[0])], className="trace-details trace-details-both")
    name = f"step-{ours if ours is not None else theirs}"
    table = data_table("execution-tiles", _rows(*sides), _COLUMNS, name=f"{name}-tiles-source-target", height="100%")
    plot = figure(
        "execution-tile-plot", _plot(sides, context.theme), context.theme, image_name=f"{name}-cycles-source-target"
    )
    parts += [html.Div(plot, className="trace-plot"), html.Div(table, className="trace-tiles")]
    return html.Div(parts, className="trace-details trace-details-both")


def _steps(context: ViewContext, target: ReportSource) -> tuple[int | None, int | None]:
    """The selected step of the source and its match; or the step of the target that has none (`tstep`)."""
    step = context.selection.step
    if step is None:
        return None, whole_number(context.selection.extras.get("tstep", ""))
    step_facts(context.source, selected_ipu(context.selection), step)  # raises for an unknown step
    partner = int(match_steps(context.source, target).target_rows()[step])
    return step, None if partner < 0 else partner


def _side(role: str, source: ReportSource, key: str, ipu: int, step: int | None) -> Side:
    if step is None:
        return Side(role, source, key, None, None)
    ipu = min(ipu, source.reader.target().num_ipus - 1)
    tiles = None if tiles_unknown(source) else step_tiles(source, ipu, step)
    return Side(role, source, key, step_facts(source, ipu, step), tiles)


def _named(side: Side) -> Iterator[Component]:
    """Whose step it is, and where it leads."""
    name = "no match" if side.facts is None else side.facts.name
    swatch = "other" if side.facts is None else step_style(side.facts.type, "light").family
    head: list[Any] = [html.Span(className=f"trace-swatch step-{swatch}"), f"{side.role} {side.source.label}: {name}"]
    yield html.H2(head)
    if side.facts is None:
        yield html.P(f"The {side.role.lower()} has no step that matches this one.", className="where")
    else:
        yield html.P(where_line(side.source, side.key, side.facts, [], lists_tiles=False), className="where")
        yield from last_to_arrive(side.source, side.key, side.facts, f"execution-last-{side.role.lower()}")


def _figures(ours: Side, theirs: Side) -> Component:
    """One row per figure: source, target, target - source."""
    left, right = (dict(_figures_of(side)) for side in (ours, theirs))
    rows = []
    for name, (kind, about) in _KINDS.items():
        before, after = left.get(name), right.get(name)
        if (before is None and after is None) or name not in (left if ours.facts is not None else right):
            continue
        cells: list[Any] = [text_of(before, kind), text_of(after, kind), difference_mark(before, after, kind)]
        values = row_values({"figure": name, "unit": kind, "source": before, "target": after})
        rows.append(html.Tr([html.Th(name, scope="row", title=about), *(html.Td(cell) for cell in cells)], **values))
    head = html.Tr([html.Th(each) for each in ("Figure", ours.role, theirs.role, "Difference")])
    table = html.Table([html.Thead(head), html.Tbody(rows)], className="trace-table trace-step-figures")
    return exportable(table, "step-figures-source-target", "these figures")


#: Kind and definition of each figure.
_KINDS = {
    "Cycles": ("cycles", "to - from; the lengths of all steps add up to the total"),
    "From": ("cycles", "largest begin over all tiles (flat bar)"),
    "To": ("cycles", "largest end over all tiles (flat bar)"),
    "Tile balance": ("percent", "mean / max of tile cycles over all tiles of the IPU"),
    "Active balance": ("percent", "mean / max of tile cycles over active tiles"),
    "Active tiles": ("integer", "tiles with cycles > 0"),
    "Min": ("cycles", "minimum of cycles over active tiles"),
    "Mean of all tiles": ("decimal", "sum of tile cycles / tiles of the IPU"),
    "Mean of active tiles": ("decimal", "sum of tile cycles / active tiles"),
    "Max": ("cycles", "maximum of cycles over active tiles"),
    "First begin": ("cycles", "over active tiles"),
    "Last end": ("cycles", "over active tiles"),
    "Waiting, tile cycles": ("integer", "sum over active tiles of last end - own end; idle tiles are left out"),
    "Data in": ("bytes", "bytes received on the device"),
    "Data out": ("bytes", "bytes sent on the device"),
}


#: Figures that are 0 for a step that a report does not have; its places in time and shares are not there.
_OF_NO_STEP = ("Cycles", "Active tiles", "Waiting, tile cycles", "Data in", "Data out")


def _figures_of(side: Side) -> Iterator[tuple[str, float]]:
    facts = side.facts
    if facts is None:
        yield from dict.fromkeys(_OF_NO_STEP, 0).items()
        return
    yield from {"Cycles": facts.end - facts.begin, "From": facts.begin, "To": facts.end}.items()
    yield from {"Data in": facts.data_in, "Data out": facts.data_out}.items()
    if side.tiles is None:
        return
    active = side.tiles.active
    yield from {
        "Tile balance": facts.tile_balance,
        "Active balance": facts.active_tile_balance,
        "Active tiles": facts.active_tiles,
    }.items()
    if len(active):
        yield from {
            "Min": int(active.min()),
            "Mean of all tiles": float(active.sum() / facts.tiles),
            "Mean of active tiles": float(active.mean()),
            "Max": int(active.max()),
            "First begin": facts.busy_begin,
            "Last end": facts.busy_end,
            "Waiting, tile cycles": side.tiles.waiting,
        }.items()


_COLUMNS = (
    Column("tile", "Tile", "integer", "tile, counted over all IPUs of its report", width=90),
    *difference_columns("cycles", "Cycles", "cycles", help="0 = takes no part."),
    *difference_columns("end", "End", "cycles", help="Device cycle at which the tile ends the step."),
)


def _rows(ours: Side, theirs: Side) -> DataFrame:
    """A row for each tile that either report has."""
    first = next(side.facts.ipu * side.facts.tiles for side in (ours, theirs) if side.facts is not None)
    pairs = zip_longest(_tiles(ours), _tiles(theirs), fillvalue=(None, None))
    rows = [
        {
            "tile": first + place,
            "cycles_source": before[0],
            "cycles_target": after[0],
            "end_source": before[1],
            "end_target": after[1],
        }
        for place, (before, after) in enumerate(pairs)
    ]
    return difference_rows(rows, "cycles", "end")


def _tiles(side: Side) -> list[tuple[int | None, int | None]]:
    """(cycles, end) of each tile, without an end where it takes no part."""
    if side.facts is None:
        return [(0, None)] * side.source.reader.target().tiles_per_ipu
    if side.tiles is None:
        return []
    cycles, end = side.tiles.cycles.tolist(), side.tiles.end.tolist()
    return [(length, last if length else None) for length, last in zip(cycles, end, strict=True)]


def _plot(sides: tuple[Side, Side], theme: str) -> dict[str, Any]:
    drawn = []
    for side, dash in zip(sides, ("solid", "dot"), strict=True):
        if side.facts is None or side.tiles is None:
            continue
        first = side.facts.ipu * side.facts.tiles
        colour = step_style(side.facts.type, theme).edge if side.role == "Source" else tokens(theme)["ink"]
        drawn.append(
            {
                "type": "scatter",
                "mode": "lines",
                "line": {"width": 1, "shape": "hvh", "dash": dash, "color": colour},
                "x": np.arange(first, first + side.facts.tiles),
                "y": side.tiles.cycles,
                "name": side.role,
                "hovertemplate": f"{side.role}, tile %{{x}}: %{{y:,}} cycles<extra></extra>",
            }
        )
    return {
        "data": drawn,
        "layout": {
            "xaxis": {"title": {"text": "Tile"}},
            "yaxis": {"title": {"text": "Cycles"}, "rangemode": "tozero"},
            "showlegend": True,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 64, "r": 12, "t": 10, "b": 36},
        },
    }
