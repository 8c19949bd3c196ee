"""Vertices of one compute set may run in any order: none may touch what another one writes.

The obvious way looks at every pair of vertices. Here the writes of each vertex are first united, then sorted over the
element space: two vertices write the same element exactly where neighbours overlap. If none do, the writes under a read
are one range of that sorted list, and the read is free of conflicts when all writes of the range are its own vertex's.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import graph_cycle_error
from simulator.compiler.ir.grouping import union_in_groups

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


Touched = tuple[Int64Array, Int64Array, Int64Array]  #: (vertex within the compute set, first element, end)


def check_conflicts(store: GraphStore) -> None:
    """Raises graph_cycle_error naming the first compute set in which a vertex touches what another one writes."""
    by_set = sorted((b for b in store.blocks if len(b)), key=lambda block: block.compute_set)
    for compute_set, group in groupby(by_set, key=lambda block: block.compute_set):
        blocks = list(group)
        found = _conflict(*_touched(blocks, store.num_elements))
        if found is not None:
            vertex, element, what = found
            raise graph_cycle_error(_sentence(store, compute_set, blocks, vertex, element, what))


def _touched(blocks: Iterable[VertexBlock], span: int) -> tuple[Touched, Touched]:
    """(writes, reads) of the vertices, counted through over the blocks. Writes are disjoint for each vertex and sorted
    by element; reads are as connected. A field that is read and written counts as written."""
    columns: dict[bool, list[Touched]] = {True: [], False: []}
    first = 0
    for block in blocks:
        for name, edges in block.edges.items():
            owner = edges.vertex_of_region(len(block)) + first
            written = block.type.fields_by_name[name].direction != "in"
            columns[written].append((owner, edges.starts, edges.starts + edges.lengths))
        first += len(block)
    writes, reads = (_joined(columns[written]) for written in (True, False))
    owner, start, length = union_in_groups(writes[0], writes[1], writes[2] - writes[1], span)
    order = np.argsort(start, kind="stable")
    return (owner[order], start[order], (start + length)[order]), reads


def _joined(columns: list[Touched]) -> Touched:
    none = np.empty(0, np.int64)
    rows = [(none, none, none), *columns]
    return (
        np.concatenate([row[0] for row in rows]),
        np.concatenate([row[1] for row in rows]),
        np.concatenate([row[2] for row in rows]),
    )


def _conflict(writes: Touched, reads: Touched) -> tuple[int, int, str] | None:
    """(vertex, element, what it does) of some conflict, or None."""
    owner, start, end = writes
    if len(owner) == 0:
        return None
    overlap = np.flatnonzero(start[1:] < np.maximum.accumulate(end)[:-1])
    if len(overlap):
        return int(owner[overlap[0] + 1]), int(start[overlap[0] + 1]), "writes"
    reader, begin, stop = reads
    first = np.searchsorted(end, begin, side="right")
    last = np.searchsorted(start, stop, side="left") - 1
    under = np.flatnonzero(first <= last)
    if len(under) == 0:
        return None
    reader, first, last = reader[under], first[under], last[under]
    changes = np.concatenate([[0], np.cumsum(owner[1:] != owner[:-1])])
    bad = np.flatnonzero((owner[first] != reader) | (changes[first] != changes[last]))
    if len(bad) == 0:
        return None
    row = bad[0]
    others = np.flatnonzero(owner[first[row] : last[row] + 1] != reader[row])
    writer = first[row] + others[0]
    return int(reader[row]), int(max(start[writer], begin[under[row]])), "reads"


def _sentence(
    store: GraphStore, compute_set: int, blocks: Iterable[VertexBlock], vertex: int, element: int, what: str
) -> str:
    for block in blocks:
        if vertex < len(block):
            break
        vertex -= len(block)
    variable = int(store.variable_of(np.array([element], np.int64))[0])
    name = f"'{store.variables.name[variable]}'" if store.variables.name[variable] else str(variable)
    return (
        f"Compute set '{store.compute_set_names[compute_set]}': a vertex of type {block.type.name} on tile "
        f"{int(block.tiles[vertex])} {what} element {element - store.variables.base[variable]} of variable {name}, "
        "which another vertex of the set writes; put the two into different compute sets."
    )
