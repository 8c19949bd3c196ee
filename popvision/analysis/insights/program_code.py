"""Code of programs by tile: the stored columns, which many programs share, and the row of each program and IPU.

Cost: each distinct column is read once for all rules and all scopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from popvision.arrays import AnyArray, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

CodeColumn = Literal["exchange_code", "control_code"]


@dataclass(frozen=True)
class ProgramCode:
    """One row per program and IPU that store the column."""

    program: Int64Array
    ipu: Int64Array
    column: Int64Array  #: the row of `columns`
    columns: list[AnyArray]  #: bytes on each tile of the IPU, each distinct column once
    bytes: Int64Array  #: of each row on all tiles of its IPU

    def bytes_on(self, tiles: slice) -> Int64Array:
        """Bytes of each row on these tiles of its IPU."""
        return self.bytes if tiles == slice(None) else _sums([each[tiles] for each in self.columns])[self.column]


def program_code(source: ReportSource, column: CodeColumn) -> ProgramCode:
    """The code of all programs."""
    return source.kept.recent(("program_code", source.generation, column), lambda: _read(source, column))


def _read(source: ReportSource, column: CodeColumn) -> ProgramCode:
    figures = source.reader.program_figures()
    rows = np.flatnonzero(figures[f"{column}_array"] >= 0)
    distinct, which = np.unique(figures[f"{column}_array"][rows], return_inverse=True)
    which = which.reshape(-1).astype(np.int64)
    arrays = source.reader.arrays(distinct.tolist(), narrow=True)
    return ProgramCode(figures["program"][rows], figures["ipu"][rows], which, arrays, _sums(arrays)[which])


def _sums(columns: list[AnyArray]) -> Int64Array:
    return np.array([np.add.reduce(each, dtype=np.int64) for each in columns], np.int64)
