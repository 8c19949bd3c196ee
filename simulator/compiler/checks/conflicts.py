"""Detect conflicts: vertices of a compute set run in any order, so none may access elements that another one writes.

Comparing every pair of vertices would take quadratic time; this takes one sort. Where no two writes overlap, the writes
overlapping a read are one range of the sorted list, and the read is free of conflicts when they all belong to its own
vertex. Where some overlap, the writes of each vertex are united first, so that neighbours which overlap are of two
vertices. Reads before the first write and behind the last are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import graph_cycle_error
from simulator.compiler.ir.grouping import in_order, union_in_groups

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import FieldEdges, VertexBlock


Accessed = tuple[Int64Array, Int64Array, Int64Array]  #: (vertex within the compute set, first element, end)


def check_conflicts(store: GraphStore) -> None:
    """Raises graph_cycle_error naming the first compute set in which a vertex accesses what another one writes."""
    by_set = sorted((b for b in store.blocks if len(b)), key=lambda block: block.compute_set)
    for compute_set, group in groupby(by_set, key=lambda block: block.compute_set):
        blocks = list(group)
        found = _conflict(*_accesses(blocks, store.num_elements))
        if found is not None:
            vertex, element, what = found
            raise graph_cycle_error(_sentence(store, compute_set, blocks, vertex, element, what))


def _accesses(blocks: Iterable[VertexBlock], span: int) -> tuple[Accessed, Accessed]:
    """(writes, reads) of the vertices, numbered over all blocks. Writes are disjoint per vertex and sorted by element;
    reads are as connected, those that may overlap writes. A field that is read and written counts as written."""
    fields: dict[bool, list[tuple[int, VertexBlock, FieldEdges]]] = {True: [], False: []}
    first = 0
    for block in blocks:
        for name, edges in block.edges.items():
            written = block.type.fields_by_name[name].direction != "in"
            fields[written].append((first, block, edges))
        first += len(block)
    writes = _sorted(_joined([_accessed(*field) for field in fields[True]]), span)
    if not len(writes[0]):
        return writes, writes
    begin, end = int(writes[1][0]), int(writes[2].max())
    near = [field for field in fields[False] if _touches(field[2], begin, end)]
    return writes, _joined([_accessed(*field) for field in near])


def _accessed(first: int, block: VertexBlock, edges: FieldEdges) -> Accessed:
    """What a field accesses; `first`: the number of the block's first vertex."""
    return edges.vertex_of_region(len(block)) + first, edges.starts, edges.starts + edges.lengths


def _touches(edges: FieldEdges, begin: int, end: int) -> bool:
    """Whether some region may have elements from `begin` to `end`."""
    if not len(edges.starts) or int(edges.starts.min()) >= end:
        return False
    return int((edges.starts + edges.lengths).max()) > begin


def _sorted(writes: Accessed, span: int) -> Accessed:
    """Writes sorted by element, those of each vertex united where some overlap."""
    owner, start, end = writes
    order, begin = in_order(start)
    found = owner[order], begin, end[order]
    if (begin[1:] >= found[2][:-1]).all() and (found[2] > begin).all():
        return found
    owner, start, length = union_in_groups(owner, start, end - start, span)
    order, begin = in_order(start)
    return owner[order], begin, (start + length)[order]


def _joined(columns: list[Accessed]) -> Accessed:
    none = np.empty(0, np.int64)
    rows = [(none, none, none), *columns]
    return (
        np.concatenate([row[0] for row in rows]),
        np.concatenate([row[1] for row in rows]),
        np.concatenate([row[2] for row in rows]),
    )


def _conflict(writes: Accessed, reads: Accessed) -> tuple[int, int, str] | None:
    """(vertex, element, "reads" or "writes") of a conflict, or None."""
    owner, start, end = writes
    if len(owner) == 0:
        return None
    overlap = np.flatnonzero(start[1:] < np.maximum.accumulate(end)[:-1])
    if len(overlap):
        return int(owner[overlap[0] + 1]), int(start[overlap[0] + 1]), "writes"
    reader, begin, stop = reads
    first = np.searchsorted(end, begin, side="right")
    last = np.searchsorted(start, stop, side="left") - 1
    overlapping = np.flatnonzero(first <= last)
    if len(overlapping) == 0:
        return None
    reader, first, last = reader[overlapping], first[overlapping], last[overlapping]
    changes = np.concatenate([[0], np.cumsum(owner[1:] != owner[:-1])])
    bad = np.flatnonzero((owner[first] != reader) | (changes[first] != changes[last]))
    if len(bad) == 0:
        return None
    row = bad[0]
    others = np.flatnonzero(owner[first[row] : last[row] + 1] != reader[row])
    writer = first[row] + others[0]
    return int(reader[row]), int(max(start[writer], begin[overlapping[row]])), "reads"


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
