"""Binary routes of the tile x liveness heat map, below /data/<key>/liveness/. Each answers a window of tiles x indices.

    heat?tiles=0-1471&indices=0-30999&rows=300&columns=1100[&always=1][&capacity=1]
    cell?tiles=60-64&indices=310-338[&always=1]
    ...&vs=<key>[&by=programs]     the same of the difference target - source, in bytes and signed

The level of a cell is its bytes in 255ths of `top`, rounded up. `top` is the maximum of the picture, or with capacity=1
the memory of a tile (more bytes have level 255). In a difference, level 127 means none, 254 `top` bytes more, 0 `top`
bytes less, rounded away from 127; 255 marks a missing partner. A query that cannot be answered gets status 400 and one
sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash
from flask import Response, jsonify, request

from popvision.analysis.compare.live_heat import HeatDifference, heat_difference, most_different_place
from popvision.analysis.liveness.heat import Heat, heat, highest_place
from popvision.analysis.liveness.steps import program_at, program_label
from popvision.analysis.report.tiles import target_of
from webapp.base.arrays import UInt8Array
from webapp.base.data_routes import pair_route
from webapp.base.packed import packed_response
from webapp.base.query import number_of, range_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.base.library import Library

#: Cells of one answer: one byte each.
MOST_CELLS = 400_000


def register_routes(app: Dash, library: Library) -> None:
    """Add the routes to the viewer."""
    pair_route(app, library, "liveness/heat", _heat)
    pair_route(app, library, "liveness/cell", _cell)


def _heat(source: ReportSource, target: ReportSource | None) -> Response:
    tiles, indices = range_of(request.args, "tiles"), range_of(request.args, "indices")
    grid = (number_of(request.args, "rows", 1, MOST_CELLS), number_of(request.args, "columns", 1, MOST_CELLS))
    if grid[0] * grid[1] > MOST_CELLS:
        raise ValueError(f"{grid[0]} x {grid[1]} cells are more than {MOST_CELLS:,}: ask for fewer columns")
    picture = _picture(source, target, tiles, indices, grid)
    highest = int(np.abs(picture.values).max())
    top = target_of(source).bytes_per_tile if request.args.get("capacity") == "1" else highest
    levels = _signed_levels(picture, top) if isinstance(picture, HeatDifference) else _levels(picture, top)
    header = {
        "top": top,
        "highest": highest,
        "rows": levels.shape[0],
        "columns": levels.shape[1],
        "tilesPerRow": int(picture.tile_edges[1] - picture.tile_edges[0]),
        "indicesPerColumn": int(picture.index_edges[1] - picture.index_edges[0]),
    }
    return packed_response(header, {"levels": levels.ravel()})


def _picture(
    source: ReportSource, target: ReportSource | None, tiles: range, indices: range, grid: tuple[int, int]
) -> Heat | HeatDifference:
    """Kept for a while, so that going back and forth costs nothing."""
    always, by = request.args.get("always") == "1", _by()
    key = ("heat", tiles, indices, grid, always, by)
    if target is None:
        return source.kept.recent(key, lambda: heat(source, tiles, indices, grid, always=always))
    return source.kept.beside(target).recent(
        key, lambda: heat_difference(source, target, tiles, indices, grid, always=always, by=by)
    )


def _levels(picture: Heat, top: int) -> UInt8Array:
    return np.minimum(-(-255 * picture.values // max(top, 1)), 255).astype(np.uint8)


def _signed_levels(picture: HeatDifference, top: int) -> UInt8Array:
    away = np.minimum(-(-127 * np.abs(picture.values) // max(top, 1)), 127)
    return np.where(picture.known, 127 + np.sign(picture.values) * away, 255).astype(np.uint8)


def _cell(source: ReportSource, target: ReportSource | None) -> Response:
    """The place of a cell's maximum or largest difference, and the program there."""
    tiles, indices = range_of(request.args, "tiles"), range_of(request.args, "indices")
    always = request.args.get("always") == "1"
    answer: dict[str, Any]
    if target is None:
        peak_place = highest_place(source, tiles, indices, always=always)
        tile, index, answer = peak_place.tile, peak_place.index, {"bytes": peak_place.bytes}
    else:
        place = most_different_place(source, target, tiles, indices, always=always, by=_by())
        tile, index = place.tile, place.index
        answer = {"bytes": place.source, "target": place.target, "targetIndex": place.target_index}
    program = program_at(source, index)
    answer |= {
        "tile": tile,
        "index": index,
        "ipu": tile // target_of(source).tiles_per_ipu,
        "program": program,
        "name": program_label(source, program),
    }
    response: Response = jsonify(answer)
    response.headers["Cache-Control"] = "no-store"
    return response


def _by() -> str:
    return request.args.get("by", "index")
