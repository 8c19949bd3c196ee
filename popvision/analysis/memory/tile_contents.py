"""Contents of the selected tiles: tables of compute sets, vertex types and exchanges with their bytes.

Each table has figures per column of a `TileColumns`. State bytes are instances x bytes of one instance's state; code
bytes are counted once per tile that holds the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.memory.exchanges_on_tiles import exchange_figures
from popvision.analysis.memory.vertices_on_tiles import vertices_on_tiles
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Figure, Table, Unit, Values
from popvision.analysis.report.tile_columns import TileColumns
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Programs that move bytes and so have exchange code.
EXCHANGE_TYPES = ("DoExchange", "GlobalExchange", "StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd")


VERTEX_FIGURES: dict[str, Unit] = {
    "name": "text",
    "vertex_type": "id",
    "kind": "text",
    "instance_bytes": "bytes",
    "instances": "count",
    "state_bytes": "bytes",
    "code_bytes": "bytes",
}


def vertex_table(source: ReportSource, columns: TileColumns) -> Table:
    """Vertex types present, most state first: name, vertex_type (its number), kind, instance_bytes (state of one), then
    per column instances, state_bytes and code_bytes (missing where the code size is not known)."""
    import pandas as pd

    vertices = vertices_on_tiles(source, columns)
    types = source.reader.vertex_types()
    instances = np.zeros((len(types.name), columns.width), dtype=np.int64)
    np.add.at(instances, vertices.vertex_type, vertices.counts)
    each = np.asarray(types.state_bytes, dtype=np.int64)
    state = instances * each[:, None]
    code_each = np.asarray(types.code_bytes, dtype=np.int64)
    present = _most_first(instances, state)
    values: list[tuple[str, Values, str]] = [
        ("name", [types.name[i] for i in present], ""),
        ("vertex_type", present, ""),
        ("kind", [types.kind[i] for i in present], ""),
        ("instance_bytes", each[present], ""),
    ]
    for column, place in enumerate(columns.labels):
        code = [int(code_each[i] * vertices.holders[i, column]) if code_each[i] >= 0 else None for i in present]
        values += [
            ("instances", instances[present, column], place),
            ("state_bytes", state[present, column], place),
            ("code_bytes", pd.array(code, dtype="Int64"), place),
        ]
    return Table("vertices_on_tiles", [Figure(id, VERTEX_FIGURES[id], column, place) for id, column, place in values])


def compute_set_table(source: ReportSource, columns: TileColumns) -> Table:
    """Compute sets with vertices there, most state first: name, compute_set (its number), programs (how many run it),
    program (the id of the first of these, -1 = none), then per column vertices and state_bytes."""
    counts_on_tiles = vertices_on_tiles(source, columns)
    sets = source.reader.compute_sets()
    each = np.asarray(source.reader.vertex_types().state_bytes, dtype=np.int64)
    vertices = np.zeros((len(sets.name), columns.width), dtype=np.int64)
    state = np.zeros_like(vertices)
    np.add.at(vertices, counts_on_tiles.compute_set, counts_on_tiles.counts)
    np.add.at(state, counts_on_tiles.compute_set, counts_on_tiles.counts * each[counts_on_tiles.vertex_type][:, None])
    runs_it = np.asarray(source.reader.programs().compute_set, dtype=np.int64)
    programs = np.bincount(runs_it[runs_it >= 0], minlength=len(sets.name))
    first = np.full(len(sets.name), -1, dtype=np.int64)
    first[runs_it[runs_it >= 0][::-1]] = np.flatnonzero(runs_it >= 0)[::-1]
    present = _most_first(vertices, state)
    table = [
        Figure("name", "text", [sets.name[i] for i in present]),
        Figure("compute_set", "id", present),
        Figure("programs", "count", programs[present]),
        Figure("program", "id", first[present]),
    ]
    for column, place in enumerate(columns.labels):
        table += [
            Figure("vertices", "count", vertices[present, column], place),
            Figure("state_bytes", "bytes", state[present, column], place),
        ]
    return Table("compute_sets_on_tiles", table)


def _most_first(count: Int64Array, order_by: Int64Array) -> Int64Array:
    present = np.flatnonzero(count.any(axis=1))
    return present[np.lexsort((present, -order_by[present].sum(axis=1)))]


def exchange_table(source: ReportSource, columns: TileColumns) -> Table:
    """Exchange programs with code or traffic there, most code first: name, type, program (its id), then per column
    code_bytes (missing where not recorded), and received_bytes and sent_bytes of one execution."""
    import pandas as pd

    programs = programs_of(source)
    exchanges = [program for program, type_ in enumerate(programs.type) if type_ in EXCHANGE_TYPES]
    figures = exchange_figures(source, exchanges, columns)
    present = np.flatnonzero(figures.any(axis=(1, 2)))
    present = present[np.lexsort((present, -figures[present, 0].sum(axis=1)))]
    program = np.asarray(exchanges, np.int64)[present]
    table = [
        Figure("name", "text", [programs.name[p] or programs.type[p] for p in program.tolist()]),
        Figure("type", "text", [programs.type[p] for p in program.tolist()]),
        Figure("program", "id", program),
    ]
    unknown = np.full(len(present), not holds_code(source))
    for column, place in enumerate(columns.labels):
        code, received, sent = figures[present, :, column].T
        table += [
            Figure("code_bytes", "bytes", pd.arrays.IntegerArray(code.astype(np.int64), unknown), place),
            Figure("received_bytes", "bytes", received, place),
            Figure("sent_bytes", "bytes", sent, place),
        ]
    return Table("exchanges_on_tiles", table)
