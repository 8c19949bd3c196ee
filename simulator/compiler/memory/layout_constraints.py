"""Layout constraints of variables: interleaved memory, addresses at multiples of 16 bytes, separate memory elements.

A vertex field may ask for interleaved memory or a wide alignment. Two fields that a vertex accesses in one cycle must
lie in different memory elements (`VertexType.apart`); so must source and destination of a copy within a tile that loads
and stores in one cycle (opt.enableMultiAccessCopies). Variables of such a pair get different element groups: greedy
colouring in the order of variables. Message and gather buffers have no group, since one holds operands of several
fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import variables_in
from simulator.compiler.ir.element_map import ElementMap, Pieces
from simulator.compiler.ir.program_table import ProgramTable
from simulator.compiler.memory.layout import ALIGNMENT, LayoutConstraints

if TYPE_CHECKING:
    from simulator.graph.vertices import FieldEdges, VertexBlock


Pairs = tuple[Int64Array, Int64Array]
"""Columns of (variable, variable) that must not share a memory element."""


def interleaved_variables(
    blocks: Sequence[VertexBlock], emap: ElementMap, variables: int, has_interleaved: bool
) -> BoolArray:
    """Flags of variables connected to a field that asks for interleaved memory, where the target has some."""
    wanted = np.zeros(variables, np.bool_)
    if has_interleaved:
        for block in blocks:
            for name, edges in block.edges.items():
                if block.type.fields_by_name[name].interleaved:
                    wanted[_variables(edges, emap)] = True
    return wanted


def layout_constraints(
    blocks: Sequence[VertexBlock], emap: ElementMap, copies: Iterable[Pairs], variables: int, rows: int
) -> LayoutConstraints:
    """The constraints of the first `variables` of `rows` variable rows. `copies` = pairs from copies within tiles."""
    wide = np.zeros(rows, np.bool_)
    pairs: list[Pairs] = []
    for block in blocks:
        for name, edges in block.edges.items():
            if block.type.fields_by_name[name].alignment > ALIGNMENT:
                wide[_variables(edges, emap)] = True
        for one, other in block.type.apart:
            if one in block.edges and other in block.edges:
                pairs.append(_paired(_local(block, one, emap), _local(block, other, emap), variables))
    group = np.zeros(rows, np.int64)
    group[:variables] = element_groups([*copies, *pairs], variables)
    return LayoutConstraints(group, wide, apart=pairs)


def element_groups(pairs: Sequence[Pairs], variables: int) -> Int64Array:
    """The element group of each variable: 0 without a pair; the variables of a pair get different groups."""
    partners: dict[int, set[int]] = {}
    for ones, others in pairs:
        for one, other in zip(ones.tolist(), others.tolist(), strict=True):
            if one != other:
                partners.setdefault(one, set()).add(other)
                partners.setdefault(other, set()).add(one)
    group = np.zeros(variables, np.int64)
    for variable in sorted(partners):
        taken = {int(group[partner]) for partner in partners[variable]}
        group[variable] = next(number for number in range(1, len(taken) + 2) if number not in taken)
    return group


def copied_pairs(table: ProgramTable, first_copy: int, bases: Int64Array) -> list[Pairs]:
    """(read, written) variables of copies within tiles. Compute sets from `first_copy` on are copies; `bases` = first
    element of each variable."""
    pairs: list[Pairs] = []
    for compute_set, work in zip(table.compute_set, table.work, strict=True):
        if compute_set >= first_copy and work.accesses is not None:
            written, reads = (variables_in(part, bases) for part in (work.accesses.writes, work.accesses.reads))
            pairs.append((np.repeat(reads, len(written)), np.tile(written, len(reads))))
    return pairs


def _variables(edges: FieldEdges, emap: ElementMap) -> Int64Array:
    return emap.variable[emap.cut(edges.starts, edges.lengths).row]


def _local(block: VertexBlock, field: str, emap: ElementMap) -> tuple[Int64Array, Int64Array]:
    """(vertex, variable) of the pieces of a field that lie on the vertex's tile, each pair once."""
    edges = block.edges[field]
    pieces: Pieces = emap.cut(edges.starts, edges.lengths)
    vertex = edges.vertex_of_region(len(block))[pieces.region]
    near = emap.tile[pieces.row] == block.tiles[vertex]
    wide = int(emap.variable.max(initial=0)) + 1
    key = np.unique(vertex[near] * wide + emap.variable[pieces.row[near]])
    return key // wide, key % wide


def _paired(one: tuple[Int64Array, Int64Array], other: tuple[Int64Array, Int64Array], variables: int) -> Pairs:
    """Pairs of variables that belong to the same vertex."""
    first = np.searchsorted(other[0], one[0], side="left")
    count = np.searchsorted(other[0], one[0], side="right") - first
    of = np.repeat(np.arange(len(one[0])), count)
    at = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    key = np.unique(one[1][of] * variables + other[1][at])
    return key // max(variables, 1), key % max(variables, 1)
