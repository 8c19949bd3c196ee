"""Vertices that draw random numbers: one on each tile that holds elements of the result.

The tile's generator and the element's place in the flattened result determine its value, so the mapping does not matter
where all generators are equal. A tile whose elements are not consecutive in the result has a constant with the places
of its runs. A draw advances the tile's generator. Values of the distributions come from random bits in float64 and are
rounded once, to the type of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, erfc, log10, sqrt
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array, UInt64Array
from simulator.base import regions
from simulator.base.types import FLOAT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.codelets.run import store
from simulator.graph.debug_context import DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Execute, LibraryGroup, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import random_numbers as cycles
from simulator.machine.cycles.described import described
from simulator.poplibs.pieces import Runs, aligned_runs, places_of, vector_edges
from simulator.poplibs.poprand.counter import DRAWN, WORDS, halves, random_bits, redrawn
from simulator.poplibs.poprand.generators_state import generators
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import as_array, register

#: largest number of draws of a truncated normal before values outside are clipped (PopLibs folds them back)
MOST_ATTEMPTS = 64


def values(kind: str, bits: UInt64Array, parameters: Mapping[str, Any], dtype: np.dtype[Any]) -> AnyArray:
    """The distribution `kind` at each place, not yet rounded to `dtype`."""
    if kind == "uniform":
        return _uniform(bits, parameters, dtype)
    if kind == "bernoulli":
        return _bernoulli(bits, parameters["prob"])
    if kind == "normal":
        return np.asarray(parameters["mean"] + parameters["stdDev"] * _standard_normal(bits))
    if kind == "truncatedNormal":
        truncated = _truncated(bits, parameters["alpha"])
        return np.asarray(parameters["mean"] + parameters["stdDev"] * truncated)
    raise ValueError(f"there is no distribution '{kind}'")


def _uniform(bits: UInt64Array, parameters: Mapping[str, Any], dtype: np.dtype[Any]) -> AnyArray:
    low, high = parameters["minVal"], parameters["maxVal"]
    first, _ = halves(bits)
    if dtype.kind == "i":
        return np.asarray(int(low) + np.floor(first * (int(high) - int(low) + 1)))
    return np.asarray(low + first * (high - low))


def _bernoulli(bits: UInt64Array, probability: float) -> AnyArray:
    """1 with the probability, in steps of 2^-16 as the device has it."""
    return np.asarray((bits >> np.uint64(48)) < np.uint64(int(probability * 65536)), np.float64)


def _standard_normal(bits: UInt64Array) -> AnyArray:
    """Box and Muller."""
    first, second = halves(bits)
    return np.asarray(np.sqrt(-2 * np.log(first + 2.0**-33)) * np.cos(2 * np.pi * second))


def _truncated(bits: UInt64Array, alpha: float) -> AnyArray:
    """Normal numbers; those beyond alpha are drawn again."""
    result = _standard_normal(bits)
    for attempt in range(1, MOST_ATTEMPTS):
        outside = np.abs(result) > alpha
        if not outside.any():
            return result
        result[outside] = _standard_normal(redrawn(bits[outside], attempt))
    return np.asarray(np.clip(result, -alpha, alpha))


def attempts(alpha: float) -> int:
    """The number of draws in PopLibs' vertex: until fewer than 1 in 10,000 numbers lie outside."""
    outside = erfc(alpha / sqrt(2))
    return 1 if outside <= 0 else ceil(-4 / log10(outside))


def dropped(bits: UInt64Array, given: AnyArray, keep: float, scale: float) -> AnyArray:
    """The values of `given` that dropout keeps, scaled; 0 for the others."""
    return np.asarray(np.where(_bernoulli(bits, keep) > 0, given * np.float32(scale), np.float32(0)))


Parameters = dict[str, float]


@dataclass(frozen=True)
class _Segments:
    """Runs of the result cut where places are not consecutive; vertex i has segments `rows[i]:rows[i + 1]`."""

    place: Int64Array
    length: Int64Array
    rows: Int64Array


def add_draw(
    graph: Graph,
    kind: str,
    out: Tensor,
    given: Tensor | None,
    parameters: Parameters,
    prog: Sequence,
    name: tuple[DebugInfo, str],
    alike: bool,
) -> None:
    """Append the compute set that fills `out` (from `given` for dropout). `alike`: all generators are equal."""
    if out.numElements() == 0:
        return
    state = generators(graph)
    cs = graph.addComputeSet(name)
    operands = [] if given is None else [given]
    runs = aligned_runs(graph.store, out, operands, out.numElements())
    first = np.flatnonzero(np.diff(runs.tiles, prepend=-1))
    rows = np.append(first, len(runs.tiles)).astype(np.int64)
    segments = _segments(out, runs, rows)
    single = np.diff(segments.rows) == 1
    for flat in (True, False):
        mine = np.flatnonzero(single == flat)
        if len(mine):
            _add(graph, cs, state, runs, rows, segments, mine, (kind, parameters, flat), name)
    device = graph.state.device_tiles(graph.state.graph_tiles(runs.tiles[first]))
    counts = np.diff(segments.rows)
    attributes: dict[str, Any] = {"kind": kind, "parameters": parameters, "tiles": device.tolist()}
    if not alike:
        attributes["places"] = segments.place.tolist()
        attributes["lengths"] = segments.length.tolist()
        attributes["of"] = np.repeat(device, counts).tolist()
    prog.add(LibraryGroup([Execute(cs)], "poprand.draw", [state, *operands], [out, state], attributes))


def _segments(out: Tensor, runs: Runs, rows: Int64Array) -> _Segments:
    place, size, run = places_of(out, runs)
    return _Segments(place, size, np.searchsorted(run, rows, side="left").astype(np.int64))


def _add(
    graph: Graph,
    cs: ComputeSet,
    state: Tensor,
    runs: Runs,
    rows: Int64Array,
    segments: _Segments,
    mine: Int64Array,
    what: tuple[str, Parameters, bool],
    name: tuple[DebugInfo, str],
) -> None:
    kind, parameters, flat = what
    tiles = runs.tiles[rows[mine]]
    edges = {"out": _edges_of_vertices(runs.starts, runs.lengths, rows, mine)}
    if runs.operands:
        offsets = runs.offsets[0][rows]
        edges["in"] = _edges_of_vertices(*runs.operands[0], offsets, mine)
    base = int(state.regions()[0][0])
    edges["generator"] = vector_edges(base + tiles * WORDS, np.full(len(mine), WORDS, np.int64))
    given: dict[str, Any] = dict(parameters)
    if flat:
        given["firstElement"] = segments.place[segments.rows[mine]]
    else:
        counts = np.diff(segments.rows)[mine]
        which = np.repeat(segments.rows[mine] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        table = np.stack([segments.place[which], segments.length[which]], 1).reshape(-1)
        constant = graph.addConstant(UNSIGNED_INT, [len(table)], table, (name[0], f"{name[1]}/places"))
        ends = 2 * np.cumsum(counts)
        graph.setTileMappingIntervals(constant, ends - 2 * counts, ends, graph.state.graph_tiles(tiles))
        edges["places"] = vector_edges(int(constant.regions()[0][0]) + ends - 2 * counts, 2 * counts)
    dtype = short_name(graph.store.variables.type[int(graph.store.variable_of(runs.starts[:1])[0])])
    type_ = vertex_type(kind, dtype, flat, tuple(sorted(parameters)))
    graph.addVertices(cs, type_, graph.state.graph_tiles(tiles), edges, given)


def _edges_of_vertices(starts: Int64Array, lengths: Int64Array, offsets: Int64Array, mine: Int64Array) -> Any:
    """Edges of some vertices of a field."""
    counts = np.diff(offsets)[mine]
    ends = np.cumsum(counts)
    which = np.repeat(offsets[mine] - ends + counts, counts) + np.arange(int(counts.sum()))
    return vector_edges(starts[which], lengths[which], np.append(0, ends).astype(np.int64))


@register("poprand.draw")
def _draw_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    out, state = outputs
    tiles = as_array(attributes, "tiles")
    words = inputs[0][tiles[0]].copy()
    places = np.arange(out.size, dtype=np.uint64)
    if "of" in attributes:
        lengths = as_array(attributes, "lengths")
        of = np.empty(out.size, np.int64)
        of[_place_list(as_array(attributes, "places"), lengths)] = np.repeat(as_array(attributes, "of"), lengths)
        words = inputs[0][of]
    given = np.asarray(inputs[1]).reshape(-1) if len(inputs) > 1 else None
    drawn = draw(attributes["kind"], words, places, attributes["parameters"], given, out.dtype)
    store(out, drawn.reshape(out.shape))
    with np.errstate(over="ignore"):
        state[tiles, 2] += DRAWN


def draw(
    kind: str, words: AnyArray, places: AnyArray, parameters: Mapping[str, Any], given: AnyArray | None, dtype: Any
) -> AnyArray:
    """The values at some places, not yet rounded."""
    bits = random_bits(words, places)
    if given is not None:
        wide = given.astype(np.float32) if given.dtype == np.float16 else given
        return dropped(bits, wide, parameters["prob"], parameters["scale"])
    drawn = values(kind, bits, parameters, np.dtype(dtype))
    return drawn.astype(np.float32) if np.dtype(dtype).kind == "f" else drawn


def _place_list(places: Any, lengths: Any) -> Int64Array:
    return regions.elements(np.asarray(places, np.int64), np.asarray(lengths, np.int64))


_NAMES: dict[str, tuple[str, Any, int]] = {
    "uniform": ("Uniform", cycles.uniform, 3),
    "bernoulli": ("Bernoulli", cycles.bernoulli, 1),
    "normal": ("Normal", cycles.normal, 3),
    "truncatedNormal": ("TruncatedNormal", cycles.truncated_normal, 3),
    "dropout": ("Dropout", cycles.dropout, 2),
}


@lru_cache(maxsize=128)
def vertex_type(kind: str, dtype: str, flat: bool, parameters: tuple[str, ...]) -> VertexType:
    """The MultiVertex of a distribution. Operations, as PopLibs counts them: 1 for the number, 1 each for its scale and
    offset."""
    name, formula, each = _NAMES[kind]

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        n = elements["out"]
        if kind == "truncatedNormal":
            spent = cycles.truncated_normal(dtype, n, attempts(float(block.values["alpha"])))
        elif kind == "uniform":
            spans_all = block.values["maxVal"] - block.values["minVal"] >= 2**32 - 1
            spent = cycles.uniform(dtype, n, 0.0 if spans_all else 1.0)
        else:
            spent = formula(dtype, n)
        source = described("7.6 and PopLibs' poprand estimators", formula)
        return BlockCosts(spent, "exact", source, flop_counts.typed(each * n, dtype))

    def compute(vertex: Any) -> None:
        if flat:
            places = int(vertex.firstElement) + np.arange(len(vertex.out), dtype=np.uint64)
        else:
            table = np.asarray(vertex.places).reshape(-1, 2)
            places = _place_list(table[:, 0], table[:, 1]).astype(np.uint64)
        chosen = {p: float(getattr(vertex, p)) for p in parameters}
        given = np.asarray(getattr(vertex, "in")) if kind == "dropout" else None
        words = np.array(vertex.generator)
        store(vertex.out, draw(kind, words, places, chosen, given, np.asarray(vertex.out).dtype))
        with np.errstate(over="ignore"):
            vertex.generator[2] += DRAWN

    where = FieldSpec("firstElement", "value", "", UNSIGNED_INT)
    if not flat:
        where = FieldSpec("places", "vector", "in", UNSIGNED_INT, "span", 4)
    fields = [FieldSpec("out", "vector", "out", None, "span", 8)]
    fields += [FieldSpec("in", "vector", "in", None, "one_ptr", 8)] if kind == "dropout" else []
    fields += [FieldSpec("generator", "vector", "inout", UNSIGNED_INT, "one_ptr", 4), where]
    fields += [FieldSpec(p, "value", "", FLOAT) for p in parameters]
    full = f"poprand::{name}<{dtype}>" if flat else f"poprand::{name}Runs<{dtype}>"
    return VertexType(full, "multi", tuple(fields), costs, compute, doc=f"random numbers: {kind}")
