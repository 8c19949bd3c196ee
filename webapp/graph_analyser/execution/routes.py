"""Binary routes of the execution trace, below /data/<key>/execution/. Each answers one window of the time axis.

A window is `pitch` (1/1024 cycles per column), `first` (leftmost column counted from cycle 0) and `columns`. A query
that cannot be answered gets status 400 and one sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash
from flask import Response, jsonify, request

from popvision.analysis.compare.matching import match_steps
from popvision.analysis.execution.bars import strip
from popvision.analysis.execution.flame import Flame, Level, flame, flat, run_level
from popvision.analysis.execution.kept_arrays import kept_arrays, read_cycles
from popvision.analysis.execution.overlap import bar_of, bars_of, lanes
from popvision.analysis.execution.raster import packed, raster
from popvision.analysis.execution.step_details import StepFacts, find_steps, step_at, step_facts, step_tiles
from popvision.analysis.execution.timeline import run_bars, timeline
from popvision.analysis.report.tile_knowledge import tiles_unknown
from webapp.base.arrays import AnyArray
from webapp.base.bar_answer import bars_answer, window
from webapp.base.data_routes import report_route
from webapp.base.packed import packed_response
from webapp.base.query import number_of, whole_numbers

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

#: Largest raster of one answer: bounds the memory that any client can make the server use.
MOST_PIXELS = 1 << 18

#: IPUs of one search.
MOST_IPUS = 1024

#: Matches of a search that are sent; the answer states their total.
MOST_MATCHES = 20_000


def register_routes(app: Dash, library: Library) -> None:
    """Add the routes to the viewer."""
    for name, answer in (_ANSWERS | {"partner": partner(library)}).items():
        report_route(app, library, f"execution/{name}", answer, keep=name in _KEPT)


def read_steps(source: ReportSource) -> None:
    """Read the steps of IPU 0 ahead of the first request, and what a picture of the whole run needs most."""
    flame(source, 0)
    if not tiles_unknown(source):
        read_cycles(source, 0)


def bars(source: ReportSource) -> Response:
    """Bars and merged cells of every level (level 0: the runs)."""
    rows = _rows(source, number_of(request.args, "ipu"), request.args.get("view"))
    runs = run_bars(source)
    texts = [runs.name, *[rows.names] * len(rows.levels)]
    return bars_answer([run_level(runs), *rows.levels], texts, window(), [1 + level for level in rows.lanes])


def level_count(source: ReportSource, ipu: int, view: str) -> int:
    """Levels of an answer of `bars`."""
    return 1 + len(_rows(source, ipu, view).levels)


def _rows(source: ReportSource, ipu: int, view: str | None) -> Flame:
    return flat(source, ipu) if view == "flat" else flame(source, ipu)


def overview(source: ReportSource) -> Response:
    """Shares of the classes in every column of the flat row."""
    ipu, grid = number_of(request.args, "ipu"), window()
    steps = timeline(source, ipu)
    each = np.arange(len(steps), dtype=np.int32)
    level = Level(steps.begin, steps.end, each, each, each, steps.type)
    return packed_response({}, {"pixels": strip(level, grid)})


def bsp(source: ReportSource) -> Response:
    """Shares of the classes in every pixel of the BSP raster (tiles x time), row by row."""
    _require_tiles(source)
    steps = timeline(source, number_of(request.args, "ipu"))
    grid = window(rows=number_of(request.args, "rows", 1, steps.tiles))
    if grid.columns * grid.rows > MOST_PIXELS:
        raise ValueError(f"{grid.columns} x {grid.rows} pixels are more than {MOST_PIXELS}: ask for fewer columns")
    with source.reader.together():
        pixels = packed(raster(steps.spans, kept_arrays(source), steps.tiles, grid), steps.tiles, grid)
    return packed_response({"rows": grid.rows, "columns": grid.columns}, {"pixels": pixels.ravel()})


def step(source: ReportSource) -> Response:
    """Facts of one step and its bar; with `tile`, counted within the IPU, also the interval of that tile."""
    facts = step_facts(source, number_of(request.args, "ipu"), number_of(request.args, "step"))
    bar = bar_of(lanes(source, facts.ipu), facts.step)
    answer = _described(facts) | {"bar_begin": bar[0], "bar_end": bar[1]}
    if "tile" in request.args:
        _require_tiles(source)
        tile, tiles = number_of(request.args, "tile", 0, facts.tiles - 1), step_tiles(source, facts.ipu, facts.step)
        answer |= {"tile": tile, "tile_begin": int(tiles.begin[tile]), "tile_cycles": int(tiles.cycles[tile])}
    return jsonify(answer)


def _require_tiles(source: ReportSource) -> None:
    """Raises ValueError when the report has no figures of single tiles."""
    if unknown := tiles_unknown(source):
        raise ValueError(unknown)


def at(source: ReportSource) -> Response:
    """The step that one tile spends most of the cycles up to `until` in, with the tile's own interval; {} where it is
    in none."""
    _require_tiles(source)
    ipu, tile, cycle = number_of(request.args, "ipu"), number_of(request.args, "tile"), number_of(request.args, "cycle")
    if tile >= timeline(source, ipu).tiles:
        raise ValueError(f"tile {tile} is not one of the {timeline(source, ipu).tiles} tiles of an IPU")
    step_index = step_at(source, ipu, tile, cycle, number_of(request.args, "until", cycle + 1, default=cycle + 1))
    if step_index < 0:
        return jsonify({})
    tiles = step_tiles(source, ipu, step_index)
    own = {"tile_begin": int(tiles.begin[tile]), "tile_cycles": int(tiles.cycles[tile])}
    return jsonify(_described(step_facts(source, ipu, step_index)) | own)


def find(source: ReportSource) -> Response:
    """Steps of the IPUs `ipus` whose name contains `text`: their count, and the first MOST_MATCHES bars by begin."""
    ipus = whole_numbers(request.args.get("ipus", ""), MOST_IPUS)
    if not ipus:
        raise ValueError(f"ipus={request.args.get('ipus', '')[:40]!r} does not name IPUs, such as 0,1")
    matches = [(ipu, find_steps(source, ipu, request.args.get("text", ""))) for ipu in ipus]
    ipu = np.concatenate([np.full(len(steps), ipu, np.int32) for ipu, steps in matches])
    step = np.concatenate([steps for _, steps in matches])
    bars = [bars_of(lanes(source, ipu), steps) for ipu, steps in matches]
    begin, end = (np.concatenate([each[side] for each in bars]) for side in (0, 1))
    order = np.argsort(begin, kind="stable")[:MOST_MATCHES]
    arrays: dict[str, AnyArray] = {
        "ipu": ipu[order],
        "step": step[order].astype(np.int32),
        "begin": begin[order].astype(np.float64),
        "end": end[order].astype(np.float64),
    }
    return packed_response({"count": len(step)}, arrays)


def partner(library: Library) -> Callable[[ReportSource], Response]:
    """The answer with the step of the report `vs` that matches a step of this one (`side=source`), or the reverse."""

    def answer(source: ReportSource) -> Response:
        matching = match_steps(source, library.report(request.args.get("vs", "")))
        rows = matching.source_rows() if request.args.get("side") == "target" else matching.target_rows()
        step = number_of(request.args, "step")
        other = int(rows[step]) if step < len(rows) else -1
        return jsonify({} if other < 0 else {"step": other})

    return answer


_ANSWERS = {"bars": bars, "overview": overview, "bsp": bsp, "step": step, "at": at, "find": find}

#: Answers that depend on the report and the query alone; they are cached.
_KEPT = ("bars", "overview", "bsp")


def _described(facts: StepFacts) -> dict[str, Any]:
    return asdict(facts)
