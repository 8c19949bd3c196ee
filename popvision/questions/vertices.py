"""Questions about compute sets, vertex types and their vertices."""

from __future__ import annotations

import numpy as np

from popvision.analysis.programs.table import known_integers
from popvision.analysis.report.figure import Table
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import columns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array
from popvision.questions.question import Answer, question

COMPUTE_SETS = columns(
    "compute_sets",
    """
    compute_set  | id    | number
    name         | text  | debug name
    vertices     | count | vertices over all tiles
    vertex_types | count | how many types of vertices it has
    flops        | flops | floating point operations of one execution over all tiles; missing when unknown
    debug_id     | id    | debug context, -1 for none
    """,
)


@question(COMPUTE_SETS)
def compute_sets(source: ReportSource) -> Answer:
    """Compute sets of the program."""
    table = source.reader.compute_sets()
    count = len(table.name)
    compute_set, _, _, instances = source.reader.compute_set_counts()
    vertices = np.zeros(count, np.int64)
    sums = {id(counts): int(counts.sum(dtype=np.int64)) for counts in instances}  # arrays that are equal are shared
    np.add.at(vertices, compute_set, np.array([sums[id(counts)] for counts in instances], np.int64))
    pairs = set(source.reader.compute_set_types())
    types = np.bincount(np.array([number for number, _ in pairs], np.int64), minlength=count)
    return Answer(
        COMPUTE_SETS.table(
            compute_set=np.arange(count),
            name=table.name,
            vertices=vertices,
            vertex_types=types[:count],
            flops=known_integers(np.asarray(table.flops, np.int64)),
            debug_id=np.asarray(table.debug_id, np.int64),
        )
    )


VERTICES = columns(
    "vertices",
    """
    compute_set      | id            | compute set
    compute_set_name | text          | its name
    vertex_type      | text          | name of the vertex type
    kind             | text          | worker, supervisor or multi
    ipu              | id            | IPU
    instances        | count         | vertices over its tiles
    tiles            | count         | tiles with an instance
    thread_cycles    | thread_cycles | sum of the estimates; of supervisor and multi vertices tile cycles
    state_bytes      | bytes         | state of one instance
    flops            | flops         | of one execution, -1 when unknown
    provenance       | text          | of the estimate: exact, fitted, given, guess or unknown
    """,
)


@question(VERTICES)
def vertices(source: ReportSource, compute_set: int | None = None) -> Answer:
    """Vertices by compute set, vertex type and IPU, of one compute set or of all."""
    reader = source.reader
    sets, types = reader.compute_sets(), reader.vertex_types()
    rows = reader.compute_set_vertices(compute_set)
    kind = [row.vertex_type for row in rows]
    return Answer(
        VERTICES.table(
            compute_set=[row.compute_set for row in rows],
            compute_set_name=[sets.name[row.compute_set] for row in rows],
            vertex_type=[types.name[number] for number in kind],
            kind=[types.kind[number] for number in kind],
            ipu=[row.ipu for row in rows],
            instances=[int(row.count.sum()) for row in rows],
            tiles=[int(np.count_nonzero(row.count)) for row in rows],
            thread_cycles=[int(row.cycles.sum()) for row in rows],
            state_bytes=np.asarray(types.state_bytes, np.int64)[kind],
            flops=[row.flops for row in rows],
            provenance=[row.provenance for row in rows],
        )
    )


VERTICES_BY_TILE = columns(
    "vertices_by_tile",
    """
    tile    | id    | tile, counted over all IPUs
    {place} | count | vertices of the type on the tile
    """,
)


@question(VERTICES_BY_TILE)
def vertices_by_tile(source: ReportSource, compute_set: int) -> Answer:
    """Instances of each vertex type of one compute set on each tile, a column for each type."""
    target, types = target_of(source), source.reader.vertex_types()
    by_type: dict[str, Int64Array] = {}
    for row in source.reader.compute_set_vertices(compute_set):
        counts = by_type.setdefault(types.name[row.vertex_type], np.zeros(target.num_tiles, np.int64))
        first = row.ipu * target.tiles_per_ipu
        counts[first : first + len(row.count)] += row.count
    tile = VERTICES_BY_TILE.figure("tile", np.arange(target.num_tiles))
    counted = [VERTICES_BY_TILE.figure("{place}", counts, name) for name, counts in by_type.items()]
    return Answer(Table(VERTICES_BY_TILE.id, [tile, *counted]), {"compute_set": compute_set})


VERTEX_TYPES = columns(
    "vertex_types",
    """
    vertex_type | id    | number of the type
    name        | text  | its name
    kind        | text  | worker, supervisor or multi
    state_bytes | bytes | state of one instance
    code_bytes  | bytes | on a tile that holds the code; missing when unknown
    """,
)


@question(VERTEX_TYPES)
def vertex_types(source: ReportSource) -> Answer:
    """Vertex types of the program."""
    types = source.reader.vertex_types()
    return Answer(
        VERTEX_TYPES.table(
            vertex_type=np.arange(len(types.name)),
            name=types.name,
            kind=types.kind,
            state_bytes=np.asarray(types.state_bytes, np.int64),
            code_bytes=known_integers(np.asarray(types.code_bytes, np.int64)),
        )
    )
