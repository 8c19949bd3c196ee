"""Performance estimates of vertices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import missing_perf_estimate, poplar_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.target import Target
from simulator.building.codelets import type_of
from simulator.building.state import GraphState
from simulator.graph.introspection import introspect
from simulator.graph.objects import VertexPerfEstimate, VertexRef
from simulator.graph.store import GraphStore
from simulator.graph.vertices import MOST_CYCLES, BlockCosts, VertexBlock

_VERTEX = Parameter("v", instance_of(VertexRef))
_SET = Overloads(
    "setPerfEstimate",
    poplar_error,
    (
        (_VERTEX, Parameter("cycles", other_than(VertexPerfEstimate)), Parameter("flops", None, 0)),
        (_VERTEX, Parameter("estimate", instance_of(VertexPerfEstimate))),
    ),
)


def set_estimate(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> None:
    """`Graph.setPerfEstimate`."""
    form, given = _SET.choose(arguments, names)
    state.require_vertex(given["v"], "setPerfEstimate")
    estimate = given["estimate"] if form else VertexPerfEstimate(given["cycles"], given["flops"])
    if not _countable(estimate):
        raise poplar_error(
            f"setPerfEstimate: {estimate.cycles!r} cycles and {estimate.flops!r} flops are not whole numbers from 0 to "
            f"{MOST_CYCLES}."
        )
    given["v"].builder.set_estimate(given["v"].row, int(estimate.cycles), int(estimate.flops))


def register_estimator(
    store: GraphStore, vertex_type: str, f: Callable[[Any, Target], VertexPerfEstimate | int]
) -> None:
    """`Graph.registerPerfEstimator`."""
    type_ = type_of(store, vertex_type)
    if not callable(f):
        raise poplar_error(f"registerPerfEstimator: {f!r} for {vertex_type} cannot be called.")

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        rows = [_estimated(f, block, row, target) for row in range(len(block))]
        table = np.array([(e.cycles, e.flops) for e in rows], np.int64).reshape(-1, 2)
        return BlockCosts(table[:, 0], "given", "the program's performance estimator", table[:, 1])

    store.vertex_types[type_.name] = replace(type_, costs=costs)
    store.estimators[type_.name] = costs


def estimate_of(state: GraphState, v: VertexRef, *, guess: bool = False) -> VertexPerfEstimate:
    """`Graph.getPerfEstimate`, and with `guess` `Graph.guessPerfEstimate`."""
    state.require_vertex(v, "guessPerfEstimate" if guess else "getPerfEstimate")
    explicit = v.builder.estimates.get(v.row)
    if explicit is not None:
        return VertexPerfEstimate(*explicit)
    state.store.settle()
    block = v.builder.block
    try:
        costs = block.type.costs(block, elements_of(block), state.target)
    except missing_perf_estimate:
        raise
    except Exception as error:
        raise missing_perf_estimate(f"{block.type.name} cannot estimate its vertices: {error}") from error
    if costs.counted and not guess and not state.store.is_executed(block, v.row):
        raise missing_perf_estimate(
            f"{block.type.name} has no performance estimate before an engine has run the graph; give one with "
            "setPerfEstimate or registerPerfEstimator, or ask guessPerfEstimate for what its code suggests."
        )
    return VertexPerfEstimate(int(costs.cycles[v.row]), 0 if costs.flops is None else int(costs.flops[v.row]))


def elements_of(block: VertexBlock) -> dict[str, Int64Array]:
    """Elements per vertex of every edge field of a block."""
    return {name: column.elements_per_vertex(len(block)) for name, column in block.edges.items()}


def _estimated(f: Callable[[Any, Target], Any], block: VertexBlock, row: int, target: Any) -> VertexPerfEstimate:
    """What a program's estimator says of a vertex. Raises `missing_perf_estimate` where it raises or says nonsense."""
    estimator = f"{block.type.name} cannot estimate its vertices: {getattr(f, '__qualname__', repr(f))}"
    try:
        value = f(introspect(block, row), target)
    except Exception as error:
        raise missing_perf_estimate(
            f"{estimator}, registered for it, raised {type(error).__name__} for vertex {row}: {error}; mend it, or "
            "give cycles with setPerfEstimate."
        ) from error
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    estimate = value if isinstance(value, VertexPerfEstimate) else VertexPerfEstimate(value)
    if not _countable(estimate):
        raise missing_perf_estimate(
            f"{estimator}, registered for it, gave {value!r:.60} for vertex {row}; give cycles, or a "
            f"VertexPerfEstimate, as whole numbers from 0 to {MOST_CYCLES}."
        )
    return estimate


def _countable(estimate: VertexPerfEstimate) -> bool:
    """Whether both figures are whole numbers that sums of cycles can hold."""
    figures = (estimate.cycles, estimate.flops)
    return all(isinstance(n, int | np.integer) and 0 <= n <= MOST_CYCLES for n in figures)
