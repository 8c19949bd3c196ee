"""Performance estimates of vertices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import missing_perf_estimate, poplar_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.target import Target
from simulator.graph.introspection import introspect
from simulator.graph.objects import VertexPerfEstimate, VertexRef
from simulator.graph.vertices import BlockCosts, VertexBlock
from simulator.programming.fields import FieldMethods

_VERTEX = Parameter("v", instance_of(VertexRef))
_SET = Overloads(
    "setPerfEstimate",
    poplar_error,
    (
        (_VERTEX, Parameter("cycles", other_than(VertexPerfEstimate)), Parameter("flops", None, 0)),
        (_VERTEX, Parameter("estimate", instance_of(VertexPerfEstimate))),
    ),
)


class EstimateMethods(FieldMethods):
    @overload
    def setPerfEstimate(self, v: VertexRef, cycles: int, flops: int = 0) -> None: ...
    @overload
    def setPerfEstimate(self, v: VertexRef, estimate: VertexPerfEstimate) -> None: ...
    def setPerfEstimate(self, *arguments: Any, **names: Any) -> None:
        """The cycles and flops that a vertex takes, in place of what its type estimates. Raises `poplar_error` for
        negative numbers."""
        form, given = _SET.choose(arguments, names)
        self._own_vertex(given["v"], "setPerfEstimate")
        estimate = given["estimate"] if form else VertexPerfEstimate(given["cycles"], given["flops"])
        if (
            not (isinstance(estimate.cycles, int | np.integer) and isinstance(estimate.flops, int | np.integer))
            or min(estimate.cycles, estimate.flops) < 0
        ):
            raise poplar_error(
                f"setPerfEstimate: {estimate.cycles} cycles and {estimate.flops} flops are not whole numbers from 0 on."
            )
        builder = given["v"].builder
        builder.set_estimate(given["v"].row, int(estimate.cycles), int(estimate.flops))

    def registerPerfEstimator(self, vertexTypeName: str, f: Callable[[Any, Target], VertexPerfEstimate | int]) -> None:
        """Estimate every vertex of a type by `f(VertexIntrospector, target)`, cycles or a `VertexPerfEstimate`.
        Raises `unknown_vertex_type`, and `poplar_error` for an `f` that cannot be called."""
        type_ = self._vertex_type(vertexTypeName)
        if not callable(f):
            raise poplar_error(f"registerPerfEstimator: {f!r} for {vertexTypeName} cannot be called.")

        def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
            rows = [_estimate(f(introspect(block, row), target)) for row in range(len(block))]
            table = np.array([(e.cycles, e.flops) for e in rows], np.int64).reshape(-1, 2)
            return BlockCosts(table[:, 0], "fitted", "the program's performance estimator", table[:, 1])

        self.store.vertex_types[vertexTypeName] = replace(type_, costs=costs)
        self.store.estimators[vertexTypeName] = costs

    def getPerfEstimate(self, v: VertexRef) -> VertexPerfEstimate:
        """The estimate that compilation uses for a vertex; `missing_perf_estimate` where its type has none."""
        self._own_vertex(v, "getPerfEstimate")
        explicit = v.builder.estimates.get(v.row)
        if explicit is not None:
            return VertexPerfEstimate(*explicit)
        self.store.settle()
        block = v.builder.block
        try:
            costs = block.type.costs(block, elements_of(block), self._target)
        except Exception as error:
            raise missing_perf_estimate(f"{block.type.name} cannot estimate its vertices: {error}") from error
        return VertexPerfEstimate(int(costs.cycles[v.row]), 0 if costs.flops is None else int(costs.flops[v.row]))


def elements_of(block: VertexBlock) -> dict[str, Int64Array]:
    """Elements per vertex of every edge field of a block."""
    return {name: column.elements_per_vertex(len(block)) for name, column in block.edges.items()}


def _estimate(value: VertexPerfEstimate | int) -> VertexPerfEstimate:
    return value if isinstance(value, VertexPerfEstimate) else VertexPerfEstimate(int(value))
