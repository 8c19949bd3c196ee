"""Exchange code, received and sent bytes of every exchange program on the selected tiles: one dense table per figure.

Obvious way: read each program's array of each IPU and add up the selected tiles. This module reads the arrays of a
figure once, in batches, into one table (programs x tiles) of the narrowest type that fits; a selection is then a few of
its columns. Above `MOST_BYTES` each selection reads them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.tile_columns import TileColumns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import AnyArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Figures of a program, as the reader names them.
FIGURES = ("exchange_code", "rx", "tx")

#: The largest table of one figure that is cached, in bytes.
MOST_BYTES = 48 << 20

#: Programs whose arrays are read together.
_PROGRAMS_AT_ONCE = 256


def exchange_figures(source: ReportSource, programs: Sequence[int], columns: TileColumns) -> Int64Array:
    """(programs, 3, columns): bytes of FIGURES. `programs` are the same at every call for a source."""
    return source.kept.recent(
        ("exchange figures", *columns.labels),
        lambda: np.stack([_sums(source, figure, programs, columns) for figure in FIGURES], axis=1),
    )


@dataclass(frozen=True)
class _Table:
    """Row r: the figure of program `program[r]` (a position in the requested list) on the tiles of `ipu[r]`."""

    program: Int64Array
    ipu: Int64Array
    values: AnyArray


def _sums(source: ReportSource, figure: str, programs: Sequence[int], columns: TileColumns) -> Int64Array:
    sums = np.zeros((len(programs), columns.width), dtype=np.int64)
    per_ipu = target_of(source).tiles_per_ipu
    rows = len(programs) * target_of(source).num_ipus
    if rows * per_ipu * 2 <= MOST_BYTES:
        tables = iter([source.kept.once(f"exchange_{figure}", lambda: _read_table(source, figure, programs))])
    else:
        tables = _batches(source, figure, programs)
    for table in tables:
        for ipu in np.unique(table.ipu).tolist():
            of_ipu = np.flatnonzero(table.ipu == ipu)
            for column, tiles in columns.on_ipu(ipu):
                on_tiles = table.values[of_ipu] if len(tiles) == per_ipu else table.values[of_ipu][:, tiles]
                np.add.at(sums[:, column], table.program[of_ipu], on_tiles.sum(axis=1, dtype=np.int64))
    return sums


def _batches(source: ReportSource, figure: str, programs: Sequence[int]) -> Iterator[_Table]:
    place = {program: row for row, program in enumerate(programs)}
    width = target_of(source).tiles_per_ipu
    for begin in range(0, len(programs), _PROGRAMS_AT_ONCE):
        stored = source.reader.program_columns(figure, programs[begin : begin + _PROGRAMS_AT_ONCE])
        values = np.zeros((len(stored), width), dtype=np.int64)
        for row, (_, _, array) in enumerate(stored):
            values[row, : len(array)] = array
        kind = np.min_scalar_type(int(values.max(initial=0)))
        program = np.asarray([place[each] for each, _, _ in stored], dtype=np.int64)
        yield _Table(program, np.asarray([ipu for _, ipu, _ in stored], dtype=np.int64), values.astype(kind))


def _read_table(source: ReportSource, figure: str, programs: Sequence[int]) -> _Table:
    parts = list(_batches(source, figure, programs))
    if not parts:
        empty = np.empty(0, dtype=np.int64)
        return _Table(empty, empty, np.empty((0, target_of(source).tiles_per_ipu), dtype=np.uint8))
    return _Table(
        np.concatenate([part.program for part in parts]),
        np.concatenate([part.ipu for part in parts]),
        np.concatenate([part.values for part in parts]),
    )
