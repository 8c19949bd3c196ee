"""popops.countedLoop and countedForLoop: loops with a counter that the body can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, overload

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import INT, UNSIGNED_INT
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context
from simulator.graph.program import Copy, Execute, LibraryGroup, Program, Repeat, RepeatWhileTrue, Sequence
from simulator.graph.tensor import Tensor
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles import slices
from simulator.poplibs.library_calls import operation
from simulator.poplibs.pieces import vector_edges
from simulator.poplibs.popops import elementwise
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.runtime.values.kernels import register

CountedLoopBodyType = Callable[[Tensor], Program]


@overload
def countedLoop(
    graph: Graph, begin: int, end: int, step: int, body: CountedLoopBodyType, /, debugContext: Context = ""
) -> Sequence: ...
@overload
def countedLoop(graph: Graph, count: int, body: CountedLoopBodyType, /, debugContext: Context = "") -> Sequence: ...
def countedLoop(graph: Graph, *arguments: Any, debugContext: Context = "", **named: Any) -> Sequence:
    """A program that runs the body for i = begin, begin + step, ... below end, or for 0 to count - 1. `body(i)` is
    called once and returns the program of the body; i is an UNSIGNED_INT tensor of one element.

    Raises `poplibs_error` for a step of 0 and for an empty range."""
    rest = list(arguments)
    numbers = [rest.pop(0) for _ in range(len(rest)) if isinstance(rest[0], (int, np.integer))]
    body = rest.pop(0) if rest else named.pop("body")
    debugContext = rest.pop(0) if rest else debugContext
    if "count" in named:
        numbers = [named.pop("count")]
    begin, end, step = (
        (numbers if len(numbers) == 3 else [0, numbers[0], 1])
        if numbers
        else (
            named["begin"],
            named["end"],
            named["step"],
        )
    )
    if step <= 0:
        raise poplibs_error(f"countedLoop: step {step} must be greater than zero.")
    if begin >= end:
        raise poplibs_error(f"countedLoop: begin {begin} must be less than end {end}.")
    call = operation(graph, debugContext, "popops", "countedLoop", begin=begin, end=end, step=step)
    counter = graph.addVariable(UNSIGNED_INT, [1], (call, "counter"))
    first = graph.addConstant(UNSIGNED_INT, [1], begin, (call, f"begin-{begin}"))
    each = graph.addConstant(UNSIGNED_INT, [1], step, (call, f"step-{step}"))
    for tensor in (counter, first, each):
        graph.setTileMapping(tensor, 0)
    inner = Sequence([body(counter)])
    elementwise.binary(graph, "ADD", counter, each, inner, (call, "increment"), in_place=True)
    return Sequence([Copy(first, counter, False, (call, "begin")), Repeat(-(-(end - begin) // step), inner, call)])


@overload
def countedForLoop(
    graph: Graph,
    count: Tensor,
    initialCount: int,
    countLimit: Tensor,
    countStep: int,
    body: Program,
    debugContext: Context = "",
) -> Sequence: ...
@overload
def countedForLoop(
    graph: Graph, initialCount: int, countLimit: Tensor, countStep: int, body: Program, debugContext: Context = ""
) -> Sequence: ...
def countedForLoop(graph: Graph, *arguments: Any, **named: Any) -> Sequence:
    """A program that runs the body for count = initialCount, initialCount + countStep, ... until it equals the tensor
    `countLimit`. `count` is a tensor of one element that the body may read; without one the loop makes its own.

    Raises `poplibs_error` unless both hold INT or both UNSIGNED_INT."""
    rest = list(arguments)
    count = rest.pop(0) if rest and isinstance(rest[0], Tensor) else named.pop("count", None)
    names = ("initialCount", "countLimit", "countStep", "body", "debugContext")
    given = dict(zip(names, rest, strict=False)) | named
    limit, step = given["countLimit"], int(given["countStep"])
    call = operation(graph, given.get("debugContext", ""), "popops", "countedForLoop", countLimit=limit, countStep=step)
    if count is None:
        count = graph.addVariable(limit.elementType(), [], (call, "count"))
        graph.setTileMapping(count, 0)
    if count.elementType() is not limit.elementType() or count.elementType() not in (INT, UNSIGNED_INT):
        raise poplibs_error(
            f"countedForLoop: count holds {count.elementType()}, countLimit {limit.elementType()}; both must be INT or "
            "UNSIGNED_INT."
        )
    dtype = count.elementType().dtype
    assert dtype is not None
    before = int(np.int64(int(given["initialCount"]) - step).astype(dtype))
    first = graph.addConstant(count.elementType(), [], before, (call, "begin"))
    graph.setTileMapping(first, 0)
    cond = Sequence()
    predicate = _counted(graph, count, limit, step, cond, call)
    begin = Copy(first.reshape(count.shape()), count, False, (call, "begin"))
    return Sequence([begin, RepeatWhileTrue(cond, predicate, given["body"], (call, "loop"))])


def addForLoopCounterVertex(
    graph: Graph,
    count: Tensor,
    countLimit: Tensor,
    countStep: int,
    tile: int,
    prog: Sequence,
    debugContext: Context = "",
) -> Tensor:
    """Append the step of a counter; returns an UNSIGNED_INT scalar, 1 until the limit is reached."""
    call = operation(graph, debugContext, "popops", "addForLoopCounterVertex", count=count, countStep=countStep)
    return _counted(graph, count, countLimit, countStep, prog, call, tile)


def _counted(graph: Graph, count: Tensor, limit: Tensor, step: int, prog: Sequence, call: Any, tile: int = 0) -> Tensor:
    predicate = graph.addVariable(UNSIGNED_INT, [], (call, "predicate"))
    graph.setTileMapping(predicate, tile)
    cs = graph.addComputeSet((call, "counter"))
    one = np.ones(1, np.int64)
    fields = (("count", count), ("limit", limit), ("comparisonResult", predicate))
    edges = {name: vector_edges(t.flatten().regions()[0][:1], one) for name, t in fields}
    graph.addVertices(cs, _vertex(short_name(count.elementType())), [tile], edges, {"increment": step})
    given, made = [count.flatten(), limit.flatten()], [count.flatten(), predicate.flatten()]
    prog.add(LibraryGroup([Execute(cs)], "popops.forLoopCounter", given, made, {"step": step}))
    return predicate


@register("popops.forLoopCounter")
def _kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: Mapping[str, Any]) -> None:
    stepped = (inputs[0].astype(np.int64) + attributes["step"]).astype(inputs[0].dtype)
    limit = inputs[1].copy()
    outputs[0][...] = stepped
    outputs[1][...] = stepped != limit


@lru_cache(maxsize=2)
def _vertex(dtype: str) -> VertexType:
    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        spent = np.full(len(block), slices.FOR_LOOP_COUNTER, np.int64)
        source = "ForLoopCounter: 43 [PopLibs estimator, published-numbers 7.3]"
        return BlockCosts(spent, "exact", source, np.zeros_like(spent))

    def compute(vertex: Any) -> None:
        count = np.asarray(vertex.count)
        stepped = (count.astype(np.int64) + int(vertex.increment)).astype(count.dtype)
        vertex.count[...] = stepped
        vertex.comparisonResult[...] = stepped != np.asarray(vertex.limit)

    fields = (
        FieldSpec("count", "vector", "inout", None, "one_ptr", 4),
        FieldSpec("limit", "vector", "in", None, "one_ptr", 4),
        FieldSpec("comparisonResult", "vector", "out", UNSIGNED_INT, "one_ptr", 4),
        FieldSpec("increment", "value", "", INT),
    )
    return VertexType(f"popops::ForLoopCounter<{dtype}>", "worker", fields, costs, compute, doc="counts a loop")
