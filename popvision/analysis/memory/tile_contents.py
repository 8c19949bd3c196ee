"""What runs on the selected tiles: tables of compute sets, vertex types and exchanges with their bytes.

Each table has figures per column of a `TileColumns`. State bytes are instances x bytes of one instance's state; code
bytes are counted once per tile that holds the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.memory.exchanges_on_tiles import exchange_figures
from popvision.analysis.memory.vertices_on_tiles import vertices_on_tiles
from popvision.analysis.report.tile_columns import TileColumns
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


#: Programs that move bytes and so have exchange code.
EXCHANGE_TYPES = ("DoExchange", "GlobalExchange", "StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd")


def vertex_table(source: ReportSource, columns: TileColumns) -> pd.DataFrame:
    """Vertex types present, most state first: Vertex type, Id, Kind, State each, then per column Instances, State and
    Code bytes (missing where the code size is not known)."""
    import pandas as pd

    found = vertices_on_tiles(source, columns)
    types = source.reader.vertex_types()
    instances = np.zeros((len(types.name), columns.width), dtype=np.int64)
    np.add.at(instances, found.vertex_type, found.counts)
    each = np.asarray(types.state_bytes, dtype=np.int64)
    state = instances * each[:, None]
    code_each = np.asarray(types.code_bytes, dtype=np.int64)
    present = _most_first(instances, state)
    table: dict[str, object] = {
        "Vertex type": [types.name[i] for i in present],
        "Id": present,
        "Kind": [types.kind[i] for i in present],
        "State each": each[present],
    }
    for column, label in enumerate(columns.labels):
        code = [int(code_each[i] * found.holders[i, column]) if code_each[i] >= 0 else None for i in present]
        table[f"Instances, {label}"] = instances[present, column]
        table[f"State, {label}"] = state[present, column]
        table[f"Code, {label}"] = pd.array(code, dtype="Int64")
    return pd.DataFrame(table)


def compute_set_table(source: ReportSource, columns: TileColumns) -> pd.DataFrame:
    """Compute sets with vertices there, most state first: Compute set, Id, Programs (how many run it), Program (the Id
    of the first of these, -1 = none), then per column Vertices and State bytes."""
    import pandas as pd

    found = vertices_on_tiles(source, columns)
    sets = source.reader.compute_sets()
    each = np.asarray(source.reader.vertex_types().state_bytes, dtype=np.int64)
    vertices = np.zeros((len(sets.name), columns.width), dtype=np.int64)
    state = np.zeros_like(vertices)
    np.add.at(vertices, found.compute_set, found.counts)
    np.add.at(state, found.compute_set, found.counts * each[found.vertex_type][:, None])
    runs_it = np.asarray(source.reader.programs().compute_set, dtype=np.int64)
    programs = np.bincount(runs_it[runs_it >= 0], minlength=len(sets.name))
    first = np.full(len(sets.name), -1, dtype=np.int64)
    first[runs_it[runs_it >= 0][::-1]] = np.flatnonzero(runs_it >= 0)[::-1]
    present = _most_first(vertices, state)
    table: dict[str, object] = {
        "Compute set": [sets.name[i] for i in present],
        "Id": present,
        "Programs": programs[present],
        "Program": first[present],
    }
    for column, label in enumerate(columns.labels):
        table[f"Vertices, {label}"] = vertices[present, column]
        table[f"State, {label}"] = state[present, column]
    return pd.DataFrame(table)


def _most_first(count: Int64Array, order_by: Int64Array) -> Int64Array:
    present = np.flatnonzero(count.any(axis=1))
    return present[np.lexsort((present, -order_by[present].sum(axis=1)))]


def exchange_table(source: ReportSource, columns: TileColumns) -> pd.DataFrame:
    """Exchange programs with code or traffic there, most code first: Exchange, Type, Program (its Id), then per column
    Code, Received and Sent bytes of one execution."""
    import pandas as pd

    programs = source.kept.once("programs", source.reader.programs)
    exchanges = [program for program, type_ in enumerate(programs.type) if type_ in EXCHANGE_TYPES]
    figures = exchange_figures(source, exchanges, columns)
    present = np.flatnonzero(figures.any(axis=(1, 2)))
    present = present[np.lexsort((present, -figures[present, 0].sum(axis=1)))]
    rows = [(exchanges[each], figures[each]) for each in present.tolist()]
    table: dict[str, object] = {
        "Exchange": [programs.name[p] or programs.type[p] for p, _ in rows],
        "Type": [programs.type[p] for p, _ in rows],
        "Program": [p for p, _ in rows],
    }
    for column, label in enumerate(columns.labels):
        for figure, name in enumerate(("Code", "Received", "Sent")):
            table[f"{name}, {label}"] = [int(figures[figure, column]) for _, figures in rows]
    return pd.DataFrame(table)
