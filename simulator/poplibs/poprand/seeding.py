"""poprand.setSeed, and poplar's getHwSeeds and setHwSeeds: the state of the generators of all tiles of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base import regions
from simulator.base.types import UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import random_numbers as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.poprand.counter import WORDS, modifier_word
from simulator.poplibs.poprand.generators_state import device_tiles, generators, rows_of
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.runtime.values.kernels import as_array, register

#: the words of one state as one element
_STATE = np.dtype(f"V{4 * WORDS}")


def setSeed(graph: Graph, masterSeed: Tensor, seedModifier: int, prog: Sequence, debugContext: Context = "") -> None:
    """Seed the generators of all tiles of the graph from two words. Each tile then draws different numbers.

    Raises `poplibs_error` unless the seed is a vector of two UNSIGNED_INT."""
    call = operation(graph, debugContext, "poprand", "setSeed", masterSeed=masterSeed, seedModifier=seedModifier)
    seed_all_tiles(graph, masterSeed, seedModifier, prog, (call, "setMasterSeed"), salted=True)


def check_seed(seed: Tensor) -> None:
    """Raise `poplibs_error` unless the seed is a vector of two UNSIGNED_INT."""
    if seed.rank() != 1 or seed.numElements() != 2 or seed.elementType() is not UNSIGNED_INT:
        raise poplibs_error(
            f"A seed is a vector of two UNSIGNED_INT, not {seed.elementType()} of shape {seed.shape()}."
        )


def seed_all_tiles(
    graph: Graph, seed: Tensor, modifier: int, prog: Sequence, name: tuple[DebugInfo, str], salted: bool
) -> None:
    """`salted`: each tile mixes in its number; otherwise all tiles get the same generator."""
    check_seed(seed)
    state, tiles = generators(graph), device_tiles(graph)
    cs = graph.addComputeSet(name)
    starts, lengths = seed.regions()
    n = len(tiles)
    offsets = np.arange(n + 1, dtype=np.int64) * len(starts)
    salts = (tiles + 1 if salted else np.zeros(n, np.int64)).tolist()
    edges = {
        "seed": vector_edges(np.tile(starts, n), np.tile(lengths, n), offsets),
        "generator": _own_rows(state, tiles),
    }
    values = {"seedModifierUser": modifier % 2**32, "seedModifierHw": np.asarray(salts, np.uint32)}
    graph.addVertices(cs, _SET_SEED, np.arange(n), edges, values)
    attributes = {"modifier": modifier, "salts": salts}
    prog.add(LibraryGroup([Execute(cs)], "poprand.setSeed", [seed], [rows_of(state, tiles)], attributes))


def getHwSeeds(graph: Graph, prog: Sequence, debugContext: Context = "") -> Tensor:
    """The state of the generators as a new tensor [tiles, workers, 4]; each tile's part is on the tile itself."""
    call = operation(graph, debugContext, "poprand", "getHwSeeds")
    tiles, workers = device_tiles(graph), graph.getTarget().getNumWorkerContexts()
    seeds = graph.addVariable(UNSIGNED_INT, [len(tiles), workers, WORDS], (call, "hwSeeds"))
    begins = np.arange(len(tiles), dtype=np.int64) * workers * WORDS
    graph.setTileMappingIntervals(seeds, begins, begins + workers * WORDS, np.arange(len(tiles)))
    _between(graph, seeds, prog, (call, "getHwSeeds"), False)
    return seeds


def setHwSeeds(graph: Graph, hwSeeds: Tensor, prog: Sequence, debugContext: Context = "") -> None:
    """Set the state of the generators to that returned by getHwSeeds, or to any other.

    Raises `poplibs_error` for another shape or type."""
    tiles, workers = graph.getTarget().getNumTiles(), graph.getTarget().getNumWorkerContexts()
    if hwSeeds.shape() != [tiles, workers, WORDS] or hwSeeds.elementType() is not UNSIGNED_INT:
        raise poplibs_error(
            f"setHwSeeds needs UNSIGNED_INT of shape {[tiles, workers, WORDS]}, "
            f"not {hwSeeds.elementType()} of shape {hwSeeds.shape()}."
        )
    call = operation(graph, debugContext, "poprand", "setHwSeeds", hwSeeds=hwSeeds)
    _between(graph, hwSeeds, prog, (call, "setHwSeeds"), True)


def _between(graph: Graph, seeds: Tensor, prog: Sequence, name: Context, into: bool) -> None:
    """Add a vertex on each tile that moves words between its generator and its part of `seeds`."""
    state, tiles = generators(graph), device_tiles(graph)
    cs = graph.addComputeSet(name)
    each = seeds.numElements() // max(len(tiles), 1)
    begins = np.arange(len(tiles), dtype=np.int64) * each
    starts, lengths, of = regions.cuts(*seeds.flatten().regions(), begins, begins + each)
    offsets = np.searchsorted(of, np.arange(len(tiles) + 1), side="left").astype(np.int64)
    edges = {"seeds": vector_edges(starts, lengths, offsets), "generator": _own_rows(state, tiles)}
    graph.addVertices(cs, _SET_HW if into else _GET_HW, np.arange(len(tiles)), edges)
    ends = [seeds], [rows_of(state, tiles)]
    given, made = ends if into else (ends[1], ends[0])
    prog.add(LibraryGroup([Execute(cs)], f"poprand.{'set' if into else 'get'}HwSeeds", given, made))


def _own_rows(state: Tensor, tiles: Int64Array) -> Any:
    return vector_edges(int(state.regions()[0][0]) + tiles * WORDS, np.full(len(tiles), WORDS, np.int64))


def seeded_words(seed: AnyArray, modifier: int, salts: Any) -> AnyArray:
    """The state of generators after seeding, [..., 4]."""
    salts = np.asarray(salts)
    words = np.zeros((*salts.shape, WORDS), np.uint32)
    words[..., 0], words[..., 1] = seed[0], seed[1]
    words[..., 2], words[..., 3] = modifier_word(modifier), salts
    return words


def spread_words(words: AnyArray, workers: int) -> AnyArray:
    """[..., 4] -> [..., workers, 4]: the first worker gets the generator's words, the others words derived
    from them."""
    out = np.empty((*words.shape[:-1], workers, WORDS), np.uint32)
    for worker in range(workers):
        _of_worker(out, worker)[...] = (words ^ _difference(worker)).view(_STATE)
    return out


def gathered_words(seeds: AnyArray) -> AnyArray:
    """[..., workers, 4] -> [..., 4], the inverse of `spread_words`; a change of any word changes the result."""
    seeds = np.ascontiguousarray(seeds)
    first = _of_worker(seeds, 0).copy().view(np.uint32)
    total = first.copy()
    with np.errstate(over="ignore"):
        for worker in range(1, seeds.shape[-2]):
            total += _of_worker(seeds, worker).copy().view(np.uint32) ^ first ^ _difference(worker)
    return total


def _of_worker(seeds: AnyArray, worker: int) -> AnyArray:
    """One worker's states of [..., workers, 4] as single elements of 16 bytes, which NumPy copies in one loop."""
    states: AnyArray = seeds.view(_STATE)
    return states[..., worker, :]


def _difference(worker: int) -> np.uint32:
    """What the words of a worker differ by from those of the first."""
    return np.uint32(worker * 0x85EBCA6B & 0xFFFFFFFF)


@register("poprand.setSeed")
def _set_seed_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    outputs[0][...] = seeded_words(inputs[0], attributes["modifier"], as_array(attributes, "salts"))


@register("poprand.getHwSeeds")
def _get_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
    outputs[0][...] = spread_words(inputs[0], outputs[0].shape[-2])


@register("poprand.setHwSeeds")
def _set_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: object) -> None:
    outputs[0][...] = gathered_words(inputs[0])


def _set_seed(vertex: Any) -> None:
    seed = np.asarray(vertex.seed)
    vertex.generator[...] = seeded_words(seed, int(vertex.seedModifierUser), int(vertex.seedModifierHw))


def _get_hw(vertex: Any) -> None:
    words = np.asarray(vertex.generator)
    vertex.seeds[...] = spread_words(words, len(vertex.seeds) // WORDS).reshape(-1)


def _set_hw(vertex: Any) -> None:
    vertex.generator[...] = gathered_words(np.asarray(vertex.seeds).reshape(-1, WORDS))


def _type(name: str, compute: Any, fields: tuple[FieldSpec, ...], into: bool, known: bool) -> VertexType:
    direction: Literal["in", "out"] = "out" if into else "in"
    generator = FieldSpec("generator", "vector", direction, UNSIGNED_INT, "one_ptr", 4)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        spent = np.full(len(block), cycles.SET_SEED, np.int64)
        source = described("7.6", cycles.set_seed)
        if not known:
            source += " (a guess: moving the words takes as long as SetSeed)"
        return BlockCosts(spent, "exact" if known else "guess", source, np.zeros_like(spent))

    return VertexType(name, "multi", (*fields, generator), costs, compute, doc="state of the generators")


_WORD = [FieldSpec(n, "value", "", UNSIGNED_INT) for n in ("seedModifierUser", "seedModifierHw")]
_SEED = FieldSpec("seed", "vector", "in", UNSIGNED_INT, "one_ptr", 8)
_SET_SEED = _type("poprand::SetSeed", _set_seed, (_SEED, *_WORD), True, True)
_GET_HW = _type(
    "poplar_rt::GetHwSeeds", _get_hw, (FieldSpec("seeds", "vector", "out", UNSIGNED_INT, "span", 8),), False, False
)
_SET_HW = _type(
    "poplar_rt::SetHwSeeds", _set_hw, (FieldSpec("seeds", "vector", "in", UNSIGNED_INT, "span", 8),), True, False
)
