"""Questions about the memory of tiles, their variables and allocations. All sizes are bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.liveness import tile_peak as peaks
from popvision.analysis.memory import binary_memory, tile_contents, variable_tiles
from popvision.analysis.memory import lowered as allocations
from popvision.analysis.memory.usage import breakdown, category_arrays, memory_by_tile
from popvision.analysis.report import columns as report_columns
from popvision.analysis.report.figure_titles import opened_frame
from popvision.analysis.report.not_recorded import GRAPH_PROFILE, NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_columns import tile_columns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import CATEGORIES, REGIONS
from popvision.opened.frames import report_frame, report_table
from popvision.opened.questions import check_tile

if TYPE_CHECKING:
    import pandas as pd

    from popvision.formats.profile.model import EquivalenceClasses


def tiles(source: ReportSource, replica: int | None = None) -> pd.DataFrame:
    """A row per tile of all replicas or of one: tile, ipu, physical_tile (where known), capacity_bytes,
    including_gaps_bytes (highest used address), excluding_gaps_bytes, gaps_bytes, always_live_bytes,
    not_always_live_bytes (the tile's own maximum over liveness indices), overflowed_bytes.

    Raises NotRecordedError without a graph profile."""
    memory, target = memory_by_tile(source, replica), target_of(source)
    tile = np.arange(memory.tiles.start, memory.tiles.stop)
    columns: dict[str, Any] = {"tile": tile, "ipu": tile // target.tiles_per_ipu}
    if target.physical_tile is not None and len(target.physical_tile):
        columns["physical_tile"] = np.asarray(target.physical_tile, np.int64)[tile % target.tiles_per_ipu]
    columns |= {
        "capacity_bytes": np.full(len(tile), memory.capacity),
        "including_gaps_bytes": memory.including_gaps,
        "excluding_gaps_bytes": memory.excluding_gaps,
        "gaps_bytes": memory.gaps,
        "always_live_bytes": memory.always_live,
        "not_always_live_bytes": memory.not_always_live,
        "overflowed_bytes": memory.overflowed,
    }
    return report_frame(source, columns)


def memory(source: ReportSource, by: str = "category", replica: int | None = None) -> pd.DataFrame:
    """A row per tile: tile, and a column "<part>_bytes" per part that holds anything (for example vertexCode_bytes).
    `by` is "category", "region" or "liveness". The parts of a tile add up to its excluding_gaps_bytes."""
    parts = breakdown(source, by, replica)
    tiles = memory_by_tile(source, replica).tiles
    columns = {f"{key}_bytes": values for key, values in zip(parts.keys, parts.values, strict=True)}
    return report_frame(source, {"tile": np.arange(tiles.start, tiles.stop)} | columns)


def memory_totals(source: ReportSource) -> pd.DataFrame:
    """A row per category, region and overlap: category, region, overlapped (another allocation uses its addresses at
    another time), total_bytes over all tiles, largest_tile_bytes and largest_tile."""
    rows = [
        (*key, int(values.sum()), int(values.max()), int(values.argmax()))
        for key, values in category_arrays(source).items()
    ]
    names = ("category", "region", "overlapped", "total_bytes", "largest_tile_bytes", "largest_tile")
    return report_frame(source, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def variables(source: ReportSource) -> pd.DataFrame:
    """A row per variable before lowering, pseudo-variables such as vertexCode included: variable (its id), name,
    total_bytes over all tiles, always_live, eq_class, first_index and last_index (liveness indices, missing for
    always-live variables), indices (their number), debug_id (-1 for none)."""
    import pandas as pd

    table = report_columns.variables(source)
    classes = report_columns.stored_eq_classes(source)
    eq_class = np.where(table.always_live, -1, np.asarray(table.eq_class, np.int64))
    first, last, count = _live_spans(classes, eq_class)
    absent = first < 0
    return report_frame(
        source,
        {
            "variable": np.arange(len(table.name)),
            "name": table.name,
            "total_bytes": np.asarray(table.bytes, np.int64),
            "always_live": np.asarray(table.always_live, bool),
            "eq_class": eq_class,
            "first_index": pd.arrays.IntegerArray(first, absent),
            "last_index": pd.arrays.IntegerArray(last, absent),
            "indices": pd.arrays.IntegerArray(count, absent),
            "debug_id": np.asarray(table.debug_id, np.int64),
        },
    )


def lowered_variables(source: ReportSource, tile: int) -> pd.DataFrame:
    """A row per allocation of one tile, by address: id, name, variable (row of `variables()`, -1 for none), category,
    region, address_bytes, size_bytes, always_live, eq_class (-1 = always live), shared (another allocation uses one of
    its addresses too).

    Raises NotRecordedError unless lowered variables were recorded (autoReport.outputLoweredVars)."""
    low, names = allocations.lowered_tile(source, tile), report_columns.lowered_names(source)
    eq_class = np.asarray(low.eq_class, np.int64)
    return report_frame(
        source,
        {
            "id": low.first_id + np.arange(len(low.bytes)),
            "name": _texts(names, low.name),
            "variable": np.asarray(low.variable, np.int64),
            "category": _texts(CATEGORIES, low.category, "unknown"),
            "region": _texts(REGIONS, low.region, "unknown"),
            "address_bytes": np.asarray(low.address, np.int64),
            "size_bytes": np.asarray(low.bytes, np.int64),
            "always_live": eq_class < 0,
            "eq_class": eq_class,
            "shared": allocations.address_use(low).shared,
        },
        tile=tile,
    )


def tile_variables(source: ReportSource, tile: int) -> pd.DataFrame:
    """A row per category and name on one tile, most bytes first: category, name, size_bytes (the published table
    vars_info)."""
    check_tile(source, tile)
    category, name, size = source.reader.vars_info(tile)
    if not len(size):
        raise NotRecordedError(GRAPH_PROFILE)
    order = np.argsort(-np.asarray(size, np.int64), kind="stable")
    return report_frame(
        source,
        {
            "category": _texts(CATEGORIES, np.asarray(category)[order], "unknown"),
            "name": _texts(report_columns.lowered_names(source), np.asarray(name)[order]),
            "size_bytes": np.asarray(size, np.int64)[order],
        },
        tile=tile,
    )


def variable_bytes_by_tile(source: ReportSource, chosen: Sequence[int], replica: int | None = None) -> Int64Array:
    """(variables, tiles) bytes of each chosen variable (ids of `variables()`) on each tile of all replicas or of one.

    Reads the allocations of all tiles once. Raises NotRecordedError without lowered variables."""
    return variable_tiles.variable_bytes_by_tile(source, list(chosen), replica)


def tile_peak(source: ReportSource, tile: int) -> pd.DataFrame:
    """The memory of one tile as a waterfall: kind ("part" or "total": the sum so far), group ("always", "peak",
    "other", "gaps", "rest" = free, or "total"), label, size_bytes, category, variable (-1 unless the row is one
    variable), variables (their number). `attrs`: liveness_index and program of the tile's peak, note (what the report
    lacks)."""
    waterfall = peaks.tile_peak(source, tile)
    return report_table(
        source,
        opened_frame(peaks.peak_table(waterfall).select(peaks.OPENED_FIGURES)),
        tile=tile,
        liveness_index=waterfall.index,
        program=waterfall.program,
        note=waterfall.note,
    )


def tile_vertices(source: ReportSource, tile: int) -> pd.DataFrame:
    """A row per vertex type on one tile, most state first: name, vertex_type (its number), kind, instance_bytes (state
    of one instance), instances, state_bytes, code_bytes (missing when unknown)."""
    columns = tile_columns(target_of(source), tiles=[tile])
    return report_table(source, opened_frame(tile_contents.vertex_table(source, columns)), tile=tile)


def binary_bytes(source: ReportSource, replica: int | None = None) -> Int64Array:
    """Bytes of the sections of each tile's image in archive.a, an array over tiles; 0 for a tile without an image.

    Raises NotRecordedError without archive.a (autoReport.outputArchive)."""
    return binary_memory.binary_bytes(source, replica)


def _texts(names: Sequence[str], codes: npt.ArrayLike, other: str = "") -> list[str]:
    return [names[code] if 0 <= code < len(names) else other for code in np.asarray(codes).tolist()]


def _live_spans(classes: EquivalenceClasses | None, eq_class: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(first index, last index, number of indices) by row of `eq_class`, -1 for classes without ranges."""
    unknown = np.full(len(eq_class), -1, np.int64)
    if classes is None or not len(classes.starts):
        return unknown, unknown.copy(), unknown.copy()
    offsets = np.asarray(classes.offsets, np.int64)
    starts, ends = np.asarray(classes.starts, np.int64), np.asarray(classes.ends, np.int64)
    size = np.diff(offsets)
    filled = np.flatnonzero(size)
    first, last, count = (np.full(len(size), -1, np.int64) for _ in range(3))
    at = offsets[filled]
    first[filled] = np.minimum.reduceat(starts, at)
    last[filled] = np.maximum.reduceat(ends, at) - 1
    count[filled] = np.add.reduceat(ends - starts, at)
    is_known = (eq_class >= 0) & (eq_class < len(size))
    row = np.where(is_known, eq_class, 0)
    return tuple(np.where(is_known, column[row], -1) for column in (first, last, count))  # type: ignore[return-value]
