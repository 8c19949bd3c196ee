"""Cost terms of the wall cycles of one tile in one compute set.

By the convention of `popvision.formats.profile.model.CostTerm`, terms that begin with "+ " add up to the cycles; the
others are their inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from popvision.formats.profile.model import CostTerm
from simulator.arrays import Int64Array, UInt32Array
from simulator.graph.vertices import FieldEdges
from simulator.machine import footprint, launch

if TYPE_CHECKING:
    from simulator.graph.vertices import VertexBlock


_GIVEN = "exact: field of the most expensive vertex"
_DEAREST = "the formula of the sum below"
_UNIT = {"worker": "thread", "supervisor": "tile", "multi": "tile"}


@dataclass(frozen=True)
class CostedBlock:
    """A block with its costs. Columns are sorted by tile, then by vertex of the block."""

    block: VertexBlock
    type: int  #: row in the table of vertex types
    kind: str
    tile: UInt32Array
    cycles: Int64Array
    launch: Int64Array | None  #: tile cycles of launching each vertex; None for worker vertices and on the IPU Model
    flops: Int64Array | None
    provenance: str
    source: str
    own_launch: bool  #: the vertex type gives its launch cost
    order: Int64Array | None  #: vertex of the block in each row of the columns; None = the same order

    @cached_property
    def total_flops(self) -> int:
        """Operations of all its vertices, -1 where they are unknown."""
        if self.flops is None:
            return -1
        return int(self.flops.sum()) if int(self.flops.min(initial=0)) >= 0 else -1

    def vertex(self, row: int) -> int:
        """The vertex of the block in a row of the columns."""
        return row if self.order is None else int(self.order[row])


def derivation(
    name: str, costed: list[CostedBlock], rows: tuple[int, list[tuple[int, int, int]]], hardware: bool
) -> list[CostTerm]:
    """Terms of `name` ("computeSet:3") on one tile, `rows` = (tile, [(block, row, worker)]). Of worker vertices those
    of the longest context count, at six tile cycles per thread cycle."""
    tile, vertices = rows
    if not vertices:
        return []
    terms = [CostTerm(name, "tile", tile, "exact: the busiest tile")]
    load: dict[int, int] = {}
    for block, vertex, worker in vertices:
        if costed[block].kind == "worker":
            load[worker] = load.get(worker, 0) + int(costed[block].cycles[vertex])
    longest = max(load, key=lambda worker: (load[worker], -worker)) if load else -1
    by_type: dict[int, list[tuple[int, int]]] = {}
    for block, vertex, worker in vertices:
        if costed[block].kind != "worker" or worker == longest:
            by_type.setdefault(costed[block].type, []).append((block, vertex))
    for members in by_type.values():
        terms += _of_type(name, costed, members, longest)
    if hardware:
        terms += _launches(name, costed, by_type, bool(load))
    return terms


def _of_type(name: str, costed: list[CostedBlock], members: list[tuple[int, int]], longest: int) -> list[CostTerm]:
    """The sum over the vertices of one type, and the inputs of the formula for the most expensive of them."""
    spent = [int(costed[block].cycles[vertex]) for block, vertex in members]
    block, vertex = members[int(np.argmax(spent))]
    dearest = costed[block]
    type_ = dearest.block.type.name
    source = f"{dearest.provenance}: {dearest.source}"
    where = f" on worker {longest}" if dearest.kind == "worker" else ""
    factor = footprint.WORKERS if dearest.kind == "worker" else 1
    unit = f"{_UNIT[dearest.kind]} cycles"
    formula = f"{'6 x ' if factor > 1 else ''}{unit} of {type_}"
    count = f"{len(members)} {'vertex' if len(members) == 1 else 'vertices'}{where}"
    terms = [CostTerm(name, f"{type_}: {field}", value, _GIVEN) for field, value in _inputs(dearest, vertex)]
    terms.append(
        CostTerm(name, f"{type_}: {unit} of its most expensive vertex", max(spent), f"{dearest.provenance}: {_DEAREST}")
    )
    terms.append(CostTerm(name, f"+ {formula}, {count}", factor * sum(spent), source))
    return terms


def _inputs(costed: CostedBlock, row: int) -> list[tuple[str, float]]:
    """Possible inputs of the formula: elements of each edge field, and numbers in the vertex state."""
    vertex, block = costed.vertex(row), costed.block
    found = [(f"elements of {field}", float(elements_of_vertex(edges, vertex))) for field, edges in block.edges.items()]
    for field, value in block.values.items():
        array = np.asarray(value)
        if array.dtype.kind in "iufb" and array.ndim <= 1 and (array.ndim == 0 or len(array) == len(costed.tile)):
            found.append((field, float(array if array.ndim == 0 else array[vertex])))
    return found


def _launches(
    name: str, costed: list[CostedBlock], by_type: dict[int, list[tuple[int, int]]], workers: bool
) -> list[CostTerm]:
    """Terms of launching the tile's vertices on hardware."""
    terms = []
    if workers:
        terms.append(CostTerm(name, "+ launch of the workers", launch.WORKERS, launch.SOURCE["worker"]))
    for members in by_type.values():
        first = costed[members[0][0]]
        if first.kind != "worker":
            spent = sum(_launch(costed[block], row) for block, row in members)
            source = launch.OWN_SOURCE if first.own_launch else launch.SOURCE[first.kind]
            terms.append(CostTerm(name, f"+ launch of {first.block.type.name}", spent, source))
    return terms


def _launch(costed: CostedBlock, row: int) -> int:
    return 0 if costed.launch is None else int(costed.launch[row])


def elements_of_vertex(edges: FieldEdges, vertex: int) -> int:
    """Elements connected to one field of one vertex."""
    if edges.offsets is None:
        return int(edges.lengths[vertex])
    first, last = int(edges.offsets[vertex]), int(edges.offsets[vertex + 1])
    if edges.row_offsets is not None:
        first, last = int(edges.row_offsets[first]), int(edges.row_offsets[last])
    return int(edges.lengths[first:last].sum())
