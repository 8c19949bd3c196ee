"""The tables for export, one function each: named columns of equal length.

Sizes are bytes, times device cycles; ids are those of the viewer and libpva.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from popvision.analysis.execution.intervals import interval_table
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_knowledge import steps_of_tiles_unknown
from popvision.formats.profile.model import CATEGORIES, PROGRAM_TYPES

Column = Sequence[Any] | np.ndarray[Any, Any]
Table = dict[str, Column]

#: Columns of `steps` that single tiles decide.
_OF_TILES = ("active_from_min", "active_to_min", "all_from_min", "all_to_min", "tile_balance", "active_tile_balance")


def intervals(source: ReportSource) -> Table:
    """Numbers of tiles in each phase over time: the rows of `reportIntervals`."""
    table = interval_table(source)
    return {
        "begin_cycle": table.begin,
        "end_cycle": table.end,
        "tiles_computing": table.computing,
        "tiles_exchanging": table.exchanging,
        "tiles_syncing": table.syncing,
    }


def tiles(source: ReportSource) -> Table:
    """Memory of every tile, with a column per category in use."""
    target, memory = source.reader.target(), source.reader.tile_memory()
    if memory is None:
        return {}
    ids = np.arange(target.num_tiles)
    table: Table = {"tile": ids, "ipu": ids // target.tiles_per_ipu}
    if target.physical_tile is not None:
        table["physical_tile"] = np.tile(target.physical_tile, target.num_ipus)
    table |= {
        "including_gaps": memory.including_gaps,
        "excluding_gaps": memory.excluding_gaps,
        "always_live": memory.always_live,
        "not_always_live_max": memory.not_always_live,
        "overflowed": memory.overflowed,
    }
    by_category = {category: np.zeros(target.num_tiles, np.int64) for category in CATEGORIES}
    for part in source.reader.category_memory():
        first = part.ipu * target.tiles_per_ipu
        by_category[part.category][first : first + target.tiles_per_ipu] += part.bytes.astype(np.int64)
    return table | {category: sizes for category, sizes in by_category.items() if sizes.any()}


def steps(source: ReportSource) -> Table:
    """Every execution step on every IPU, in execution order. What single tiles decide is NaN where hardware counted
    on one tile (`tile_knowledge`)."""
    reader = source.reader
    rows, programs = reader.steps(), reader.programs()
    ipus, n = reader.target().num_ipus, len(rows.program)
    names = [programs.name[p] for p in rows.program.tolist()]
    columns = [reader.steps_on_ipu(ipu) for ipu in range(ipus)]

    def by_step(values: Column) -> Column:
        return np.repeat(np.asarray(values), ipus)

    def of_ipus(name: str) -> Column:
        return np.stack([np.asarray(getattr(c, name)) for c in columns], axis=1).reshape(-1)

    table: Table = {
        "step": by_step(np.arange(n)),
        "run": by_step(rows.run),
        "type": by_step(np.array(PROGRAM_TYPES)[rows.type]),
        "program": by_step(rows.program),
        "name": [name for name in names for _ in range(ipus)],
        "compute_set": by_step(rows.compute_set),
        "ipu": np.tile(np.arange(ipus), n),
    }
    for name in (
        "cycles",
        "active_tiles",
        "active_from_min",
        "active_from_max",
        "active_to_min",
        "active_to_max",
        "all_from_min",
        "all_from_max",
        "all_to_min",
        "all_to_max",
        "data_in",
        "data_out",
        "tile_balance",
        "active_tile_balance",
    ):
        table[name] = of_ipus(name)
    unknown = np.repeat(steps_of_tiles_unknown(source), ipus)
    if unknown.any():
        table |= {name: np.where(unknown, np.nan, np.asarray(table[name])) for name in _OF_TILES}
    return table


def liveness(source: ReportSource) -> Table:
    """Live bytes of one replica and not-always-live bytes of each IPU at each liveness index."""
    reader = source.reader
    rows, memory, programs = reader.liveness(), reader.tile_memory(), reader.programs()
    if rows is None:
        return {}
    n, ids = len(rows.program), rows.program.tolist()
    replicas = reader.target().num_replicas
    always = 0 if memory is None else int(memory.always_live.sum(dtype=np.int64)) // replicas
    table: Table = {
        "liveness_index": np.arange(n),
        "program": rows.program,
        "type": [programs.type[p] for p in ids],
        "name": [programs.name[p] for p in ids],
        "always_live": np.full(n, always),
        "not_always_live": rows.bytes,
    }
    for ipu, sizes in enumerate(rows.bytes_by_ipu):
        table[f"not_always_live_ipu_{ipu}"] = sizes
    return table


TABLES: dict[str, Callable[[ReportSource], Table]] = {
    "intervals": intervals,
    "tiles": tiles,
    "steps": steps,
    "liveness": liveness,
}
