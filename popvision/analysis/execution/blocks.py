"""Blocks of lightweight profiling, aggregated by program and tile: executions and their durations.

A block counts in a window when a part of it lies there, with its full length: lightweight profiling is for the lengths
of single executions. Names: a Block's own, that of the program that a filter names, and for parts of stream copies
also their type. An overflow is a time during which its tile recorded nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Table, Unit, table_of
from popvision.formats.profile.model import BLOCK_KINDS, Programs, TileBlocks

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Figures of `block_statistics`; cycles are those of single executions, `total` of all.
BLOCK_FIGURES: dict[str, Unit] = {
    "name": "text",
    "kind": "text",
    "tile": "id",
    "program": "id",
    "count": "count",
    "min": "cycles",
    "median": "mean_cycles",
    "mean": "mean_cycles",
    "max": "cycles",
    "total": "cycles",
}


def tiles_with_blocks(source: ReportSource) -> list[int]:
    """Tiles with recorded blocks, ascending."""
    return source.kept.once("tiles_with_blocks", source.reader.tiles_with_blocks)


def block_statistics(source: ReportSource, ipus: Sequence[int], begin: int, end: int) -> Table:
    """One row for each program and tile of these IPUs with blocks in the window [begin, end), by total cycles:
    BLOCK_FIGURES; `program` is -1 of an overflow."""
    import pandas as pd

    per_ipu = source.reader.target().tiles_per_ipu
    programs = programs_of(source)
    rows = [
        row
        for tile in tiles_with_blocks(source)
        if tile // per_ipu in ipus
        for row in _tile_statistics(source.reader.blocks(tile), programs, begin, end)
    ]
    frame = pd.DataFrame(rows, columns=list(BLOCK_FIGURES))
    frame = frame.sort_values("total", ascending=False, kind="stable", ignore_index=True)
    return table_of("blocks", BLOCK_FIGURES, frame)


def _tile_statistics(runs: Sequence[TileBlocks], programs: Programs, begin: int, end: int) -> list[tuple[Any, ...]]:
    tile = runs[0].tile
    columns = ([getattr(run, name) for run in runs] for name in ("program", "kind", "start", "end"))
    program, kind, first, last = (np.concatenate(column) for column in columns)
    inside = (first < end) & (last > begin) | ((first == last) & (first >= begin) & (first < end))
    rows = []
    for each in np.unique(program[inside]).tolist():
        of_program = inside & (program == each)
        cycles = (last - first)[of_program]
        figures = (int(cycles.min()), float(np.median(cycles)), float(cycles.mean()), int(cycles.max()))
        kind_name = BLOCK_KINDS.get(int(kind[of_program][0]), "unknown")
        rows.append((_name(programs, each), kind_name, tile, each, len(cycles), *figures, int(cycles.sum())))
    return rows


def _name(programs: Programs, program: int) -> str:
    if program < 0:
        return "(buffer full)"
    type_, name = programs.type[program], programs.name[program]
    return f"{type_} {name}".rstrip() if type_.startswith("StreamCopy") else name
