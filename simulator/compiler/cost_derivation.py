"""How the wall cycles of one tile in one compute set come about, as cost terms.

The convention is that of `popvision.formats.profile.model.CostTerm`: terms that begin with "+ " add up to the figure,
the others are facts that those use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.formats.profile.model import CostTerm
from simulator.machine import footprint, launch

if TYPE_CHECKING:
    from simulator.poplar.store import VertexBlock

I8 = npt.NDArray[np.int64]
_UNIT = {"worker": "thread", "supervisor": "tile", "multi": "tile"}


@dataclass(frozen=True)
class CostedBlock:
    """A block with its costs; `type` is its row in the table of vertex types."""

    block: VertexBlock
    type: int
    kind: str
    tile: npt.NDArray[np.uint32]
    cycles: I8
    launch: I8  #: tile cycles of launching each vertex, 0 for worker vertices and on the IPU Model
    flops: I8 | None
    provenance: str
    source: str
    elements: dict[str, I8]  #: elements per vertex of each edge field
    own_launch: bool = False  #: the vertex type says what its launch costs


def derivation(
    name: str, costed: list[CostedBlock], rows: tuple[int, list[tuple[int, int, int]]], hardware: bool
) -> list[CostTerm]:
    """Terms of `name` ("computeSet:3") on one tile, `rows` = (tile, [(block, vertex, worker)]). Worker vertices count
    with those of the longest context, six tile cycles to each of its thread cycles."""
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
    """The sum over the vertices of one type, and the inputs of the formula for the dearest of them."""
    spent = [int(costed[block].cycles[vertex]) for block, vertex in members]
    block, vertex = members[int(np.argmax(spent))]
    dear = costed[block]
    type_ = dear.block.type.name
    source = f"{dear.provenance}: {dear.source}"
    where = f" on worker {longest}" if dear.kind == "worker" else ""
    factor = footprint.WORKERS if dear.kind == "worker" else 1
    unit = f"{_UNIT[dear.kind]} cycles"
    formula = f"{'6 x ' if factor > 1 else ''}{unit} of {type_}"
    count = f"{len(members)} {'vertex' if len(members) == 1 else 'vertices'}{where}"
    terms = [CostTerm(name, f"{type_}: {field}", value, source) for field, value in _inputs(dear, vertex)]
    terms.append(CostTerm(name, f"{type_}: {unit} of its dearest vertex", max(spent), source))
    terms.append(CostTerm(name, f"+ {formula}, {count}", factor * sum(spent), source))
    return terms


def _inputs(costed: CostedBlock, vertex: int) -> list[tuple[str, float]]:
    """What the formula may use: elements of each edge field, and numbers of the vertex state."""
    found = [(f"elements of {field}", float(count[vertex])) for field, count in costed.elements.items()]
    for field, value in costed.block.values.items():
        array = np.asarray(value)
        if array.dtype.kind in "iufb" and array.ndim <= 1 and (array.ndim == 0 or len(array) == len(costed.tile)):
            found.append((field, float(array if array.ndim == 0 else array[vertex])))
    return found


def _launches(
    name: str, costed: list[CostedBlock], by_type: dict[int, list[tuple[int, int]]], workers: bool
) -> list[CostTerm]:
    """What hardware spends on starting the tile's vertices."""
    terms = []
    if workers:
        terms.append(CostTerm(name, "+ launch of the workers", launch.WORKERS, launch.SOURCE["worker"]))
    for members in by_type.values():
        first = costed[members[0][0]]
        if first.kind != "worker":
            spent = sum(int(costed[block].launch[vertex]) for block, vertex in members)
            source = launch.OWN_SOURCE if first.own_launch else launch.SOURCE[first.kind]
            terms.append(CostTerm(name, f"+ launch of {first.block.type.name}", spent, source))
    return terms
