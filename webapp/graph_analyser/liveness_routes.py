"""Binary routes of the tile x liveness heat map, below /data/<key>/liveness/. Each answers a window of tiles x indices.

    heat?tiles=0-1471&indices=0-30999&rows=300&columns=1100[&always=1][&capacity=1]
    cell?tiles=60-64&indices=310-338[&always=1]

A picture's level of a cell is its bytes in 255ths of `top`, rounded up: the highest value of the picture, or the memory
of a tile with capacity=1 (bytes above it have level 255). A query that cannot be answered gets status 400 and one
sentence.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from dash import Dash
from flask import Response, jsonify, request

from popvision.analysis.live_heat import Heat, heat, highest_place
from popvision.analysis.live_steps import program_at, program_label
from popvision.analysis.tiles import target_of
from webapp.data_routes import report_route
from webapp.packed import packed_response
from webapp.query import number_of, range_of

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource
    from webapp.library import Library

#: Cells of one answer: one byte each.
MOST_CELLS = 400_000

_PICTURES_KEPT = 8


def register_routes(app: Dash, library: Library) -> None:
    """Add the routes to the viewer."""
    pictures = _Pictures()
    report_route(app, library, "liveness/heat", pictures.answer)
    report_route(app, library, "liveness/cell", _cell)


class _Pictures:
    """The last few pictures, so that going back and forth costs nothing."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], tuple[ref[ReportSource], Heat]] = OrderedDict()
        self._lock = Lock()

    def answer(self, source: ReportSource) -> Response:
        tiles, indices = range_of("tiles"), range_of("indices")
        grid = (number_of("rows", 1, MOST_CELLS), number_of("columns", 1, MOST_CELLS))
        if grid[0] * grid[1] > MOST_CELLS:
            raise ValueError(f"{grid[0]} x {grid[1]} cells are more than {MOST_CELLS:,}: ask for fewer columns")
        always = request.args.get("always") == "1"
        picture = self._picture(source, (tiles, indices, grid, always))
        highest = int(picture.values.max())
        top = target_of(source).bytes_per_tile if request.args.get("capacity") == "1" else highest
        levels = np.minimum(-(-255 * picture.values // max(top, 1)), 255).astype(np.uint8)
        header = {
            "top": top,
            "highest": highest,
            "rows": levels.shape[0],
            "columns": levels.shape[1],
            "tilesPerRow": int(picture.tile_edges[1] - picture.tile_edges[0]),
            "indicesPerColumn": int(picture.index_edges[1] - picture.index_edges[0]),
        }
        return packed_response(header, {"levels": levels.ravel()})

    def _picture(self, source: ReportSource, wanted: tuple[range, range, tuple[int, int], bool]) -> Heat:
        key = (id(source), *wanted)
        with self._lock:
            held = self._kept.get(key)
        if held is not None and held[0]() is source:
            return held[1]
        tiles, indices, grid, always = wanted
        made = heat(source, tiles, indices, grid, always=always)
        with self._lock:
            self._kept[key] = (ref(source), made)
            while len(self._kept) > _PICTURES_KEPT:
                self._kept.popitem(last=False)
        return made


def _cell(source: ReportSource) -> Response:
    """Where a cell is highest, and what runs there."""
    tiles, indices = range_of("tiles"), range_of("indices")
    found = highest_place(source, tiles, indices, always=request.args.get("always") == "1")
    program = program_at(source, found.index)
    answer = {
        "tile": found.tile,
        "index": found.index,
        "bytes": found.bytes,
        "ipu": found.tile // target_of(source).tiles_per_ipu,
        "program": program,
        "name": program_label(source, program),
    }
    response: Response = jsonify(answer)
    response.headers["Cache-Control"] = "no-store"
    return response
