"""Rows of the tables of tile-to-tile traffic: `messages` and `sendings`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from popvision.formats.profile.tables import Tables

_COLUMNS = {
    "messages": ("src_array", "dst_array", "bytes_array"),
    "sendings": ("src_array", "receivers_array", "bytes_array"),
}


def traffic_rows(tables: Tables, table: str, programs: Sequence[int]) -> list[tuple[int, int, list[int]]]:
    """(program, ipu, ids of the columns) of those of `programs` that have rows in `table`; none where the file does not
    have the table."""
    if not tables.holds(table):
        return []
    rows = np.flatnonzero(np.isin(tables[table]["program"], np.asarray(programs, np.int64)))
    names = ("program", "ipu", *_COLUMNS[table])
    found = np.stack([np.asarray(tables.ints(table, name))[rows] for name in names], axis=1).tolist()
    return [(program, ipu, ids) for program, ipu, *ids in found]
