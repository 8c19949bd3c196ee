"""Questions about the memory of tiles, their variables and allocations. All sizes are bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.liveness import tile_peak as peaks
from popvision.analysis.memory import binary_memory, tile_contents, variable_tiles
from popvision.analysis.memory import lowered as allocations
from popvision.analysis.memory.tile_ranking import TILES, tile_table
from popvision.analysis.memory.usage import BREAKDOWNS, breakdown, category_arrays, memory_by_tile
from popvision.analysis.report import columns as report_columns
from popvision.analysis.report.figure import Table
from popvision.analysis.report.not_recorded import GRAPH_PROFILE, NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import catalogued, columns
from popvision.analysis.report.tile_columns import tile_columns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import CATEGORIES, REGIONS
from popvision.questions.question import Answer, question

if TYPE_CHECKING:
    from popvision.formats.profile.model import EquivalenceClasses


@question(TILES)
def tiles(source: ReportSource, replica: int | None = None) -> Answer:
    """Memory of each tile of all replicas, or of one.

    Raises NotRecordedError without a graph profile."""
    return Answer(tile_table(source, replica))


MEMORY = columns(
    "memory",
    """
    tile          | id    | tile, counted over all IPUs
    {place}_bytes | bytes | bytes of the part
    """,
)


@question(MEMORY, by=BREAKDOWNS)
def memory(source: ReportSource, by: str = "category", replica: int | None = None) -> Answer:
    """Memory of each tile in parts, a column for each part that holds anything, such as vertexCode_bytes; the parts of
    a tile add up to its excluding_gaps_bytes."""
    parts = breakdown(source, by, replica)
    numbers = memory_by_tile(source, replica).tiles
    tile = MEMORY.figure("tile", np.arange(numbers.start, numbers.stop))
    sizes = [
        MEMORY.figure("{place}_bytes", values, place) for place, values in zip(parts.keys, parts.values, strict=True)
    ]
    return Answer(Table(MEMORY.id, [tile, *sizes]))


MEMORY_TOTALS = columns(
    "memory_totals",
    """
    category           | text  | memory category, for example vertexCode
    region             | text  | nonInterleaved, interleaved or overflowed
    overlapped         | flag  | whether another allocation uses these addresses at another time
    total_bytes        | bytes | sum over all tiles
    largest_tile_bytes | bytes | on the tile that has most
    largest_tile       | id    | the first tile that has most
    """,
)


@question(MEMORY_TOTALS)
def memory_totals(source: ReportSource) -> Answer:
    """Bytes by category, region and overlap over all tiles."""
    parts = category_arrays(source)
    category, region, overlapped = (list(names) for names in zip(*parts, strict=True))
    return Answer(
        MEMORY_TOTALS.table(
            category=category,
            region=region,
            overlapped=overlapped,
            total_bytes=[int(values.sum()) for values in parts.values()],
            largest_tile_bytes=[int(values.max()) for values in parts.values()],
            largest_tile=[int(values.argmax()) for values in parts.values()],
        )
    )


VARIABLES = columns(
    "graph_variables",
    """
    variable    | id    | number of the variable, or of a part of it that lives at other times
    name        | text  | its debug name
    total_bytes | bytes | over all tiles
    always_live | flag  | whether it is live at every liveness index
    eq_class    | id    | its class in live_ranges, -1 for none
    first_index | id    | first liveness index at which it is live; missing for always-live variables
    last_index  | id    | last liveness index at which it is live
    indices     | count | how many liveness indices it is live at
    debug_id    | id    | its debug context, -1 for none
    """,
)


@question(VARIABLES)
def variables(source: ReportSource) -> Answer:
    """Variables before lowering, pseudo-variables such as vertexCode included."""
    import pandas as pd

    table = report_columns.variables(source)
    classes = report_columns.stored_eq_classes(source)
    eq_class = np.where(table.always_live, -1, np.asarray(table.eq_class, np.int64))
    first, last, count = _live_spans(classes, eq_class)
    absent = first < 0
    return Answer(
        VARIABLES.table(
            variable=np.arange(len(table.name)),
            name=table.name,
            total_bytes=np.asarray(table.bytes, np.int64),
            always_live=np.asarray(table.always_live, bool),
            eq_class=eq_class,
            first_index=pd.arrays.IntegerArray(first, absent),
            last_index=pd.arrays.IntegerArray(last, absent),
            indices=pd.arrays.IntegerArray(count, absent),
            debug_id=np.asarray(table.debug_id, np.int64),
        )
    )


LOWERED_VARIABLES = columns(
    "tile_allocations",
    """
    id            | id    | id of the allocation
    name          | text  | name of the allocation
    variable      | id    | row of variables, -1 for none
    category      | text  | memory category
    region        | text  | region of the memory
    address_bytes | bytes | offset from the beginning of the tile's memory
    size_bytes    | bytes | size
    always_live   | flag  | whether it is live at every liveness index
    eq_class      | id    | class in live_ranges, -1 = always live
    shared        | flag  | whether another allocation uses one of its addresses too
    """,
)


@question(LOWERED_VARIABLES)
def lowered_variables(source: ReportSource, tile: int) -> Answer:
    """Allocations of one tile, by address.

    Raises NotRecordedError unless lowered variables were recorded (autoReport.outputLoweredVars)."""
    low, names = allocations.lowered_tile(source, tile), report_columns.lowered_names(source)
    eq_class = np.asarray(low.eq_class, np.int64)
    return Answer(
        LOWERED_VARIABLES.table(
            id=low.first_id + np.arange(len(low.bytes)),
            name=_texts(names, low.name),
            variable=np.asarray(low.variable, np.int64),
            category=_texts(CATEGORIES, low.category, "unknown"),
            region=_texts(REGIONS, low.region, "unknown"),
            address_bytes=np.asarray(low.address, np.int64),
            size_bytes=np.asarray(low.bytes, np.int64),
            always_live=eq_class < 0,
            eq_class=eq_class,
            shared=allocations.address_use(low).shared,
        ),
        {"tile": tile},
    )


TILE_VARIABLES = columns(
    "tile_variables",
    """
    category   | text  | memory category
    name       | text  | name of the variable
    size_bytes | bytes | bytes of the variable on the tile
    """,
)


@question(TILE_VARIABLES)
def tile_variables(source: ReportSource, tile: int) -> Answer:
    """Contents of one tile by category and name, most bytes first (the published table vars_info)."""
    category, name, size = source.reader.vars_info(tile)
    if not len(size):
        raise NotRecordedError(GRAPH_PROFILE)
    order = np.argsort(-np.asarray(size, np.int64), kind="stable")
    return Answer(
        TILE_VARIABLES.table(
            category=_texts(CATEGORIES, np.asarray(category)[order], "unknown"),
            name=_texts(report_columns.lowered_names(source), np.asarray(name)[order]),
            size_bytes=np.asarray(size, np.int64)[order],
        ),
        {"tile": tile},
    )


@question()
def variable_bytes_by_tile(source: ReportSource, chosen: Sequence[int], replica: int | None = None) -> Int64Array:
    """(variables, tiles) bytes of each chosen variable (ids of `variables()`) on each tile of all replicas or of one.

    Reads the allocations of all tiles once. Raises NotRecordedError without lowered variables."""
    return variable_tiles.variable_bytes_by_tile(source, list(chosen), replica)


@question(catalogued("tile_peak", {id: peaks.PEAK_FIGURES[id] for id in peaks.OPENED_FIGURES}))
def tile_peak(source: ReportSource, tile: int) -> Answer:
    """The memory of one tile at its peak as a waterfall: parts, and totals so far. Facts: liveness_index and program of
    the peak, note (what the report lacks)."""
    waterfall = peaks.tile_peak(source, tile)
    return Answer(
        peaks.peak_table(waterfall).select(peaks.OPENED_FIGURES),
        {"tile": tile, "liveness_index": waterfall.index, "program": waterfall.program, "note": waterfall.note},
    )


@question(catalogued("vertices_on_tiles", tile_contents.VERTEX_FIGURES))
def tile_vertices(source: ReportSource, tile: int) -> Answer:
    """Vertex types on one tile, most state first."""
    return Answer(tile_contents.vertex_table(source, tile_columns(target_of(source), tiles=[tile])), {"tile": tile})


@question()
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
    begin = offsets[filled]
    first[filled] = np.minimum.reduceat(starts, begin)
    last[filled] = np.maximum.reduceat(ends, begin) - 1
    count[filled] = np.add.reduceat(ends - starts, begin)
    is_known = (eq_class >= 0) & (eq_class < len(size))
    row = np.where(is_known, eq_class, 0)
    return tuple(np.where(is_known, column[row], -1) for column in (first, last, count))  # type: ignore[return-value]
