"""The answer of a route with bars: levels of bars in a window of columns, at most two entries per column and level.

A window is `pitch` (1/1024 units of time per column), `first` (leftmost column counted from 0) and `columns`. The unit
is a cycle on the device's axis, a nanosecond on the host's. assets/execution/bars.js draws the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flask import Response, request

from popvision.analysis.execution.bars import Bars, Merged, bars_in_window
from popvision.analysis.execution.flame import Level
from popvision.analysis.execution.raster import Grid
from webapp.base.arrays import AnyArray, Int32Array
from webapp.base.packed import packed_response
from webapp.base.query import number_of

#: Largest window of one answer: bounds the memory that any client can make the server use.
MOST_COLUMNS = 16_384

#: Largest answer with bars, however many the window holds.
MOST_BYTES = 450_000

_NARROWEST_LABEL = 18  # columns


def window(rows: int = 1) -> Grid:
    """The grid of the query. Raises ValueError."""
    columns = number_of(request.args, "columns", 1, MOST_COLUMNS)
    return Grid(number_of(request.args, "pitch", 1), number_of(request.args, "first"), columns, rows)


def bars_answer(
    levels: Sequence[Level],
    texts: Sequence[Sequence[str]],
    requested: Grid,
    lanes: Sequence[int],
    more: Mapping[str, Any] | None = None,
) -> Response:
    """Bars and merged cells of every level, with names of bars wide enough for a label (`texts`: the names of each
    level). `lanes`: the level with which each lane begins; `more` joins the header. An answer beyond MOST_BYTES uses
    wider columns; the header states their grid and how many of the requested ones each replaces (`coarser`)."""
    grid = requested
    while True:
        drawn, merged = bars_in_window(levels, grid)
        names, labels = _labels(drawn, grid, texts)
        arrays = _bar_columns(drawn, merged, labels)
        size = sum(each.nbytes for each in arrays.values()) + sum(len(text) + 8 for text in names)
        if size <= MOST_BYTES or grid.columns <= 2:
            break
        grid = grid.twice_as_coarse()
    header = {"names": names, "levels": len(levels), "lanes": list(lanes)}
    drawn_in = {"pitch": grid.pitch, "first": grid.first, "columns": grid.columns}
    return packed_response(header | drawn_in | {"coarser": grid.pitch // requested.pitch} | dict(more or {}), arrays)


def _labels(drawn: Bars, grid: Grid, texts: Sequence[Sequence[str]]) -> tuple[list[str], Int32Array]:
    """(names of wide bars, index of each bar's name or -1)."""
    names: dict[str, int] = {}
    labels = np.full(len(drawn.begin), -1, np.int32)
    wide = np.flatnonzero((drawn.end - drawn.begin) * 1024 >= _NARROWEST_LABEL * grid.pitch)
    for row in wide.tolist():
        labels[row] = names.setdefault(texts[drawn.level[row]][drawn.name[row]], len(names))
    return list(names), labels


def _bar_columns(drawn: Bars, merged: Merged, labels: Int32Array) -> dict[str, AnyArray]:
    return {
        "begin": drawn.begin.astype(np.float64),
        "end": drawn.end.astype(np.float64),
        "level": drawn.level,
        "kind": drawn.kind,
        "name": labels,
        "first": drawn.first,
        "last": drawn.last,
        "cell_level": merged.level,
        "cell_column": merged.column,
        "cell_shares": merged.shares,
        "cell_group": merged.group,
        "cell_count": merged.count,
        "cell_first": merged.first,
    }
