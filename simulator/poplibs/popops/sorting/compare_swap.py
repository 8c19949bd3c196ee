"""Compare and swap pairs of elements: the steps of a bitonic sorting network, and their vertices.

Elements are in shares of 2^q on each tile. In blocks of `2 d` elements each of the first d elements meets one of the
others: the one d further on, or (`mirrored`) the one as far from the end as it is from the beginning. The better of the
two comes first. A block within a share is one run of memory; a larger block pairs two shares, and each of their tiles
does half of the comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import BOOL, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import sorting as cycles
from simulator.machine.cycles.described import described_as
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register


@dataclass(frozen=True)
class Work:
    """Keys, and values that move with them, as flat variables in shares of `share` elements. `ties`: of equal keys the
    one with the smaller value comes first (1), with the larger (-1), or either (0)."""

    tensors: tuple[Tensor, ...]
    share: int
    ties: int = 0

    @property
    def count(self) -> int:
        return self.tensors[0].numElements()


def laid_out(graph: Graph, types: tuple[Any, ...], count: int, ties: int, name: tuple[DebugInfo, str]) -> Work:
    """New variables of `count` elements, in equal shares of a power of two on as few tiles as possible."""
    tiles = graph.getTarget().getNumTiles()
    share = 2
    while share * tiles < count:
        share *= 2
    begins = np.arange(0, count, share, dtype=np.int64)
    made = []
    for type_ in types:
        tensor = graph.addVariable(type_, [count], name)
        graph.setTileMappingIntervals(tensor, begins, np.minimum(begins + share, count), np.arange(len(begins)))
        made.append(tensor)
    return Work(tuple(made), share, ties)


def add_step(
    graph: Graph, work: Work, distance: int, mirrored: bool, largest: bool, prog: Sequence, name: tuple[DebugInfo, str]
) -> None:
    """Append the compute set of one step: each block of 2 * distance elements; the count must be whole blocks."""
    cs = graph.addComputeSet(name)
    if 2 * distance <= work.share:
        _within(graph, cs, work, distance, mirrored, largest)
    else:
        _across(graph, cs, work, distance, mirrored, largest)
    attributes = {"distance": distance, "mirrored": mirrored, "largest": largest, "ties": work.ties}
    tensors = list(work.tensors)
    prog.add(LibraryGroup([Execute(cs)], "popops.compareAndSwap", tensors, tensors, attributes))


def _names(work: Work) -> list[str]:
    return ["keys", "values"][: len(work.tensors)]


def _within(graph: Graph, cs: Any, work: Work, distance: int, mirrored: bool, largest: bool) -> None:
    begins = np.arange(0, work.count, work.share, dtype=np.int64)
    lengths = np.minimum(begins + work.share, work.count) - begins
    edges = {
        n: vector_edges(int(t.regions()[0][0]) + begins, lengths)
        for n, t in zip(_names(work), work.tensors, strict=True)
    }
    state = {"distance": distance, "mirrored": mirrored, "largest": largest} | _second(work)
    graph.addVertices(cs, _vertex(_types(work), True, work.ties != 0), np.arange(len(begins)), edges, state)


def _across(graph: Graph, cs: Any, work: Work, distance: int, mirrored: bool, largest: bool) -> None:
    """The shares of the first halves of all blocks, each cut in two, paired with the shares that they meet."""
    size = work.share // 2
    block = np.arange(0, work.count, 2 * distance, dtype=np.int64)
    first = (block[:, None] + np.arange(0, distance, size)[None, :]).reshape(-1)
    into = first % (2 * distance)
    other = first - into + (2 * distance - into - size if mirrored else into + distance)
    half = (into // size) % 2 == 1
    tiles = np.where(half, other, first) // work.share
    edges = {}
    for n, t in zip(_names(work), work.tensors, strict=True):
        base = int(t.regions()[0][0])
        edges[n] = vector_edges(base + first, np.full(len(first), size, np.int64))
        edges[f"{n}Other"] = vector_edges(base + other, np.full(len(first), size, np.int64))
    state = {"mirrored": mirrored, "largest": largest} | _second(work)
    graph.addVertices(cs, _vertex(_types(work), False, work.ties != 0), tiles, edges, state)


def _types(work: Work) -> tuple[str, ...]:
    return tuple(short_name(t.elementType()) for t in work.tensors)


def _second(work: Work) -> dict[str, bool]:
    """State of vertices whose values are secondary keys."""
    return {"smallerValueFirst": work.ties > 0} if work.ties else {}


def swap(first: list[AnyArray], second: list[AnyArray], largest: bool, ties: int = 0) -> None:
    """Arrays of keys, and their values: each pair with the better key in `first`."""
    keys, others = first[0], second[0]
    wrong = others > keys if largest else others < keys
    if ties:
        wrong |= (others == keys) & (second[1] < first[1] if ties > 0 else second[1] > first[1])
    for mine, theirs in zip(first, second, strict=True):
        ours = np.where(wrong, theirs, mine)
        theirs[...] = np.where(wrong, mine, theirs)
        mine[...] = ours


def step(tensors: list[AnyArray], distance: int, mirrored: bool, largest: bool, ties: int = 0) -> None:
    """One step on flat arrays of whole blocks."""
    blocks = [t.reshape(-1, 2, distance) for t in tensors]
    second = [b[:, 1, ::-1] if mirrored else b[:, 1] for b in blocks]
    swap([b[:, 0] for b in blocks], second, largest, ties)


@register("popops.compareAndSwap")
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    for out, given in zip(outputs, inputs, strict=True):
        if out.__array_interface__["data"] != given.__array_interface__["data"]:
            out[...] = given
    step(outputs, attributes["distance"], attributes["mirrored"], attributes["largest"], attributes["ties"])


@lru_cache(maxsize=64)
def _vertex(types: tuple[str, ...], within: bool, second_key: bool) -> VertexType:
    with_values = len(types) > 1
    names = ["keys", "values"][: len(types)]
    values = "second key" if second_key else "carried" if with_values else "no"

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements["keys"] // 2 if within else elements["keys"]
        distance = np.asarray(block.values["distance"]) if within else n
        spent = cycles.compare_and_swap(types[0], values, n, distance)
        return BlockCosts(spent, "exact", described_as("PopLibs estimator", cycles.compare_and_swap), n)

    def compute(vertex: Any) -> None:
        mine = [np.asarray(getattr(vertex, n)) for n in names]
        mirrored, largest = bool(vertex.mirrored), bool(vertex.largest)
        ties = (1 if vertex.smallerValueFirst else -1) if second_key else 0
        if within:
            step(mine, int(vertex.distance), mirrored, largest, ties)
        else:
            theirs = [np.asarray(getattr(vertex, f"{n}Other")) for n in names]
            swap(mine, [t[::-1] for t in theirs] if mirrored else theirs, largest, ties)

    fields = [FieldSpec(n, "vector", "inout", None, "one_ptr", 4) for n in names]
    if within:
        fields.append(FieldSpec("distance", "value", "", UNSIGNED_INT))
    else:
        fields += [FieldSpec(f"{n}Other", "vector", "inout", None, "one_ptr", 4) for n in names]
    fields += [FieldSpec("mirrored", "value", "", BOOL), FieldSpec("largest", "value", "", BOOL)]
    if second_key:
        fields.append(FieldSpec("smallerValueFirst", "value", "", BOOL))
    name = f"popops::CompareAndSwapAtDistance{'KeyVal' if with_values else ''}"
    template = f"{','.join(types)}{f',{str(second_key).lower()}' if with_values else ''}"
    full = f"{name}{'' if within else 'Apart'}<{template}>"
    return VertexType(full, "multi", tuple(fields), costs, compute, doc="pairs in order")
