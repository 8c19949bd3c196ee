"""How many tiles receive in one execution of a program: the ports that an exchange can fill at 4 B a cycle.

One matrix per report, read once: a row per IPU, a column per program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Programs whose columns are read together.
_AT_ONCE = 128


def receiving_tiles(source: ReportSource, ipu: int) -> Int64Array:
    """By program: tiles of an IPU that receive bytes in one execution of a DoExchange; 0 for other types, and where the
    report does not store the bytes of tiles. Raises FormatError when a column cannot be read."""
    counted: Int64Array = source.kept.once("receiving tiles", lambda: _counted(source))
    of_ipu: Int64Array = counted[ipu]
    return of_ipu


def _counted(source: ReportSource) -> Int64Array:
    types = source.reader.programs().type
    counted = np.zeros((source.reader.target().num_ipus, len(types)), np.int64)
    rows = [row for row, name in enumerate(types) if name == "DoExchange"]
    for begin in range(0, len(rows), _AT_ONCE):
        for program, ipu, received in source.reader.program_columns("rx", rows[begin : begin + _AT_ONCE]):
            counted[ipu, program] = np.count_nonzero(received)
    return counted
