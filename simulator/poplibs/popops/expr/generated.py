"""One vertex for a whole expression, as PopLibs generates it: it reads and writes each element of a tile once.

It is used where all operands have the same shape, none holds an element twice and the expression has more than one
operation. A tile with one run gets a MultiVertex; otherwise each worker gets its runs as one vector.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, type_named
from simulator.building.graph import Graph
from simulator.building.mapping import grain
from simulator.codelets.run import store
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Execute, LibraryGroup
from simulator.graph.program import Sequence as ProgramSequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine import flops as flop_counts
from simulator.machine.cycles import elementwise as cycles
from simulator.machine.cycles.described import described_as
from simulator.poplibs.memory_order import in_memory_order
from simulator.poplibs.pieces import Runs, aligned_runs, vector_edges
from simulator.poplibs.popops.elementwise import createOutputForElementWiseOp
from simulator.poplibs.popops.expr.coding import Code, casts_in, evaluate, operators_in
from simulator.poplibs.popops.operators import BINARY
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

TYPES = {t.name for t in (FLOAT, HALF, INT, UNSIGNED_INT, BOOL)}
#: operators that PopLibs does not generate code for
_NOT_GENERATED = ("VARIANCE_TO_INV_STD_DEV", "INV_STD_DEV_TO_VARIANCE")


def can_generate(code: Code, tensors: Sequence[Tensor], forced: bool) -> bool:
    """PopLibs' conditions for generated code."""
    if not tensors or any(t.shape() != tensors[0].shape() or t.containsAliases() for t in tensors):
        return False
    operations = operators_in(code)
    if any(op in _NOT_GENERATED for op in operations) or not _types_in(code) <= TYPES or not _finite(code):
        return False
    return forced or len(operations) + casts_in(code) > 1


def _types_in(code: Code) -> set[str]:
    below = code[2] if code[0] == "op" else (code[1],) if code[0] == "cast" else ()
    return {code[-1]}.union(*(_types_in(c) for c in below))


def _finite(code: Code) -> bool:
    if code[0] == "const":
        return bool(np.isfinite(code[1]))
    return all(_finite(c) for c in (code[2] if code[0] == "op" else (code[1],) if code[0] == "cast" else ()))


def map_generated(
    graph: Graph, code: Code, tensors: Sequence[Tensor], prog: ProgramSequence, call: DebugInfo, in_place: bool
) -> Tensor:
    """Append the compute set; returns the result, the first tensor when in place."""
    vertex = _vertex_pair(code, tuple(short_name(t.elementType()) for t in tensors), in_place)
    name = vertex[0].name
    type_ = type_named(code[-1])
    out = tensors[0] if in_place else createOutputForElementWiseOp(graph, tensors, type_, (call, f"{name}/Out"))
    if out.numElements() == 0:
        return out
    cs = graph.addComputeSet(call)
    operands = list(tensors[1:] if in_place else tensors)
    unit = max([grain(out.elementType()), *[grain(t.elementType()) for t in operands]])
    runs = aligned_runs(graph.store, out, operands, unit)
    fields = [f"in{i + 1 + in_place}" for i in range(len(operands))]
    target = "in1" if in_place else "out"
    for multi in (False, True):
        mine = runs.take((runs.workers < 0) == multi)
        if len(mine.tiles):
            _add(graph, cs, vertex[multi], target, mine, fields)
    *given, result = in_memory_order(out, tensors)
    prog.add(LibraryGroup([Execute(cs)], "popops.map", given, [result], {"expression": code}))
    return out


def _add(graph: Graph, cs: Any, type_: VertexType, target: str, runs: Runs, fields: list[str]) -> None:
    """One vertex for the runs of each worker, joined into one vector."""
    first = np.flatnonzero(np.diff(runs.tiles * 8 + runs.workers, prepend=-2))
    rows = np.append(first, len(runs.tiles)).astype(np.int64)
    edges = {target: vector_edges(runs.starts, runs.lengths, rows)}
    for name, (starts, lengths), offsets in zip(fields, runs.operands, runs.offsets, strict=True):
        edges[name] = vector_edges(starts, lengths, offsets[rows])
    graph.addVertices(cs, type_, graph.state.graph_tiles(runs.tiles[first]), edges)


@register("popops.map", elementwise=True)
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    store(outputs[0], evaluate(attributes["expression"], inputs))


@lru_cache(maxsize=256)
def _vertex_pair(code: Code, dtypes: tuple[str, ...], in_place: bool) -> tuple[VertexType, VertexType]:
    """(worker vertex, MultiVertex) of an expression. Their names hold a number derived from the expression."""
    number = zlib.crc32(repr((code, dtypes, in_place)).encode())
    return _vertex(code, dtypes, in_place, False, number), _vertex(code, dtypes, in_place, True, number)


def _vertex(code: Code, dtypes: tuple[str, ...], in_place: bool, multi: bool, number: int) -> VertexType:
    operations = operators_in(code)
    names = [f"in{i + 1}" for i in range(len(dtypes))]
    target = "in1" if in_place else "out"
    each = sum(_flops(op) for op in operations)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target_: Any) -> BlockCosts:
        body = sum((cycles.generated_body(dtypes[0], len(operations), elements[n]) for n in names), np.int64(0))
        form = cycles.generated_multi if multi else cycles.generated_worker
        count = flop_counts.typed(each * elements[target], dtypes[0])
        source = described_as("PopLibs ExpressionGenerator", form)
        return BlockCosts(form(np.asarray(body)), "exact", source, count)

    def compute(vertex: Any) -> None:
        store(getattr(vertex, target), evaluate(code, [np.asarray(getattr(vertex, n)) for n in names]))

    given = [FieldSpec(n, "vector", "in", None, "one_ptr", 8) for n in names]
    if in_place:
        given[0] = FieldSpec("in1", "vector", "inout", None, "span", 8)
    fields = tuple(given) if in_place else (FieldSpec("out", "vector", "out", None, "span", 8), *given)
    name = f"MapGenerated{'Multi' if multi else ''}Vertex_{number:08x}"
    return VertexType(name, "multi" if multi else "worker", fields, costs, compute, doc="an expression in one loop")


def _flops(op: str) -> int:
    if op in ("CLAMP", "SELECT"):
        return flop_counts.ternary(op)
    return flop_counts.binary(op) if op in BINARY else flop_counts.unary(op)
