"""Binary routes of the address map, below /data/<key>/memory/: the allocations in a window of a tile's addresses and
liveness indices, and the allocation at one place. A query that cannot be answered gets status 400 and one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dash import Dash
from flask import Response, jsonify, request

from popvision.analysis.liveness.steps import program_label
from popvision.analysis.memory.address_map import AddressMap, Bands, Place, address_map, place_at
from popvision.analysis.memory.address_raster import Window, bands_in_window, cells, margins
from popvision.analysis.memory.usage import CATEGORY_KEYS
from popvision.analysis.report.columns import lowered_names, variables
from popvision.analysis.report.memory_labels import CATEGORY_LABELS
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import target_of
from webapp.base.arrays import AnyArray
from webapp.base.data_routes import report_route
from webapp.base.packed import packed_response
from webapp.base.query import number_of, optional_number_of
from webapp.base.theme import THEMES
from webapp.graph_analyser.plots.category_colours import part_colour

if TYPE_CHECKING:
    from webapp.base.library import Library

#: Bands of one answer; more are rasterised into cells.
MOST_BANDS = 8_000
MOST_CELLS = 1 << 17
MOST_PIXELS = 4_096
MOST_GAPS = 4_000

_LABEL_ROWS, _LABEL_COLUMNS = 12, 46  # pixels that a name needs


def register_memory_routes(app: Dash, library: Library) -> None:
    """Add the routes to the viewer."""
    report_route(app, library, "memory/map", map_window)
    report_route(app, library, "memory/at", what_is_at)


def map_window(source: ReportSource) -> Response:
    """Bands of the window (large ones with names) or cells; margins; the bands of the selected variable."""
    of = address_map(source, number_of(request.args, "tile"))
    window = _window(of)
    bands = bands_in_window(of.bands, window)
    exact = len(bands) <= MOST_BANDS
    window = window if exact else _coarse(window)
    names, arrays = _as_bands(source, of, bands, window) if exact else ([], _as_cells(bands, window))
    gaps = (of.gap_end > window.bottom) & (of.gap_begin < window.top)
    if np.count_nonzero(gaps) > MOST_GAPS:
        gaps &= of.gap_end - of.gap_begin >= window.cell_bytes
    beside = margins(of, window)
    arrays.update(
        {
            "gap_begin": of.gap_begin[gaps].astype(np.uint32),
            "gap_end": of.gap_end[gaps].astype(np.uint32),
            "gap_bytes": beside.gap_bytes.astype(np.float64),
            "sharing": beside.sharing.astype(np.uint32),
            "live_most": beside.live_most.astype(np.float64),
            "live_least": beside.live_least.astype(np.float64),
        }
    )
    arrays.update(_chosen(of))
    shape = window.shape
    header = _facts(source, of) | {
        "names": names,
        "exact": exact,
        "inWindow": len(bands),
        "rows": shape[0],
        "columns": shape[1],
        "cellBytes": window.cell_bytes,
        "cellIndices": window.cell_indices,
        "bottom": window.bottom,
        "top": window.top,
        "first": window.first,
        "last": window.last,
    }
    return packed_response(header, arrays)


def _facts(source: ReportSource, of: AddressMap) -> dict[str, Any]:
    theme = request.args.get("theme", "")
    theme = theme if theme in THEMES else "light"
    target = target_of(source)
    present = np.unique(np.asarray(of.allocations.category)).tolist()
    return {
        "indices": of.indices,
        "including": of.including_gaps,
        "excluding": of.excluding_gaps,
        "capacity": target.bytes_per_tile,
        "split": target.region_split,
        "peak": int(of.live.argmax()),
        "allocations": len(of.allocations.bytes),
        "gaps": len(of.gap_begin),
        "categories": [
            [code, CATEGORY_LABELS[CATEGORY_KEYS[code]], part_colour(CATEGORY_KEYS[code], theme)] for code in present
        ],
    }


def _window(of: AddressMap) -> Window:
    """The requested window; without bounds, everything up to the highest used address."""
    columns = number_of(request.args, "columns", 0, MOST_PIXELS, 800)
    rows = number_of(request.args, "rows", 0, MOST_PIXELS, 300)
    first = min(number_of(request.args, "first", default=0), of.indices - 1)
    last = max(first + 1, min(number_of(request.args, "last", default=of.indices), of.indices))
    bottom = number_of(request.args, "bottom", default=0)
    top = number_of(request.args, "top", default=max(of.including_gaps, 1))
    return Window(bottom, top, first, last, max(columns, 1), max(rows, 1))


def _coarse(window: Window) -> Window:
    """The same window with at most MOST_CELLS cells. Rows are reduced first: users follow the indices."""
    rows, columns = window.shape
    if rows * columns <= MOST_CELLS:
        return window
    return Window(window.bottom, window.top, window.first, window.last, window.columns, max(1, MOST_CELLS // columns))


def _as_cells(bands: Bands, window: Window) -> dict[str, AnyArray]:
    """The category of each cell and its live share, 0..255, rounded up so that live bytes always show."""
    drawn = cells(bands, window)
    share = -(-drawn.area * 255 // (window.cell_bytes * window.cell_indices))
    return {"cell_category": drawn.category.ravel(), "cell_share": share.astype(np.uint8).ravel()}


def _as_bands(
    source: ReportSource, of: AddressMap, bands: Bands, window: Window
) -> tuple[list[str], dict[str, AnyArray]]:
    high = (np.minimum(bands.end, window.top) - np.maximum(bands.begin, window.bottom)) * window.rows
    wide = (np.minimum(bands.live_to, window.last) - np.maximum(bands.live_from, window.first)) * window.columns
    labelled = np.flatnonzero(
        (high >= _LABEL_ROWS * (window.top - window.bottom)) & (wide >= _LABEL_COLUMNS * (window.last - window.first))
    )[:1000]
    names: dict[str, int] = {}
    label = np.full(len(bands), -1, dtype=np.int32)
    for band in labelled.tolist():
        label[band] = names.setdefault(_name(source, of, int(bands.row[band]))[:80], len(names))
    columns = {"begin": bands.begin, "end": bands.end, "live_from": bands.live_from, "live_to": bands.live_to}
    arrays: dict[str, AnyArray] = {name: values.astype(np.uint32) for name, values in columns.items()}
    shade = (bands.row % 3).astype(np.uint8)  # distinguishes neighbours of one category
    return list(names), arrays | {"category": bands.category.astype(np.uint8), "label": label, "shade": shade}


def _chosen(of: AddressMap) -> dict[str, AnyArray]:
    """Bands of the requested variable, inside the window or not."""
    chosen = optional_number_of(request.args, "variable")
    wanted = -1 if chosen is None else chosen
    owner = np.asarray(of.allocations.variable, dtype=np.int64)[of.bands.row]
    mine = np.flatnonzero((owner == wanted) & (wanted >= 0))[:MOST_GAPS]
    bands = of.bands.take(mine)
    columns = {"begin": bands.begin, "end": bands.end, "from": bands.live_from, "to": bands.live_to}
    return {f"chosen_{name}": values.astype(np.uint32) for name, values in columns.items()}


def what_is_at(source: ReportSource) -> Response:
    """The allocation at an address and liveness index, with names."""
    of = address_map(source, number_of(request.args, "tile"))
    address, index = number_of(request.args, "address"), number_of(request.args, "index")
    place = place_at(of, address, index)
    return jsonify(
        _described(source, of, place)
        | {"address": address, "index": index, "live": int(of.live[index])}
        | _step(source, index)
    )


def _described(source: ReportSource, of: AddressMap, place: Place) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "state": place.state,
        "begin": place.begin,
        "end": place.end,
        "sharing": place.sharing,
        "from": place.live_from,
        "to": place.live_to,
        "always": (place.live_from, place.live_to) == (0, of.indices),
        "name": "",
        "variable": -1,
        "category": "",
    }
    if place.row >= 0:
        low = of.allocations
        facts |= {
            "name": _name(source, of, place.row),
            "variable": int(low.variable[place.row]),
            "category": CATEGORY_LABELS[CATEGORY_KEYS[int(low.category[place.row])]],
        }
    return facts


def _step(source: ReportSource, index: int) -> dict[str, Any]:
    stored = source.reader.liveness()
    if stored is None or index >= len(stored.program):
        return {"program": -1, "step": ""}
    program = int(stored.program[index])
    return {"program": program, "step": program_label(source, program)}


def _name(source: ReportSource, of: AddressMap, row: int) -> str:
    """The name of the allocation, else that of its variable."""
    variable, name = int(of.allocations.variable[row]), int(of.allocations.name[row])
    lowered = lowered_names(source)
    if 0 <= name < len(lowered):
        return lowered[name]
    return variables(source).name[variable] if variable >= 0 else "(unnamed)"
