"""Codelets in Python.

    class SumVertex(Vertex):
        x = Input(Vector(FLOAT))
        out = Output(FLOAT)

        def compute(self):
            self.out = self.x.sum()

        @classmethod
        def estimate(cls, sizes, values, target):
            return 9 + 3 * sizes["x"]

In `compute` every vector is an ndarray, every scalar a number, a vector of edges a list. Outputs are written in place
(`self.y[:] = ...`) or assigned; they are rounded to the field's type once, at the end. HALF and
QUARTER fields are float32 inside.

`compute_batch`, if a codelet has it, gets many vertices with equal sizes at once: the same attributes with one more
dimension in front, that of the vertices. It must have the same results as `compute`.

`estimate(sizes, values, target)` gives cycles of all vertices of a block: `sizes[field]` = elements per vertex,
`values[field]` = the simple field's value or values. It returns cycles, or (cycles, flops): thread cycles for `Vertex`,
tile cycles for `SupervisorVertex` and `MultiVertex`. A codelet without it is run on made-up data and its loads, stores,
operations and loop trips are counted (`counting`); the figure is marked as a guess.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import graph_object_load_error, missing_perf_estimate, poplar_error
from simulator.codelets.counted_costs import counted_costs
from simulator.codelets.fields import InOut, Input, Output, Vector, VectorList, field_spec
from simulator.codelets.python_code import python_code
from simulator.codelets.quarter_fields import with_numbers
from simulator.codelets.run import batch_runner, vertex_runner
from simulator.graph.vertices import (
    MOST_CYCLES,
    BlockCosts,
    CostFunction,
    FieldSpec,
    VertexBlock,
    VertexType,
    with_metadata_fields,
)

__all__ = [
    "InOut",
    "Input",
    "MultiVertex",
    "Output",
    "SupervisorVertex",
    "Vector",
    "VectorList",
    "Vertex",
    "vertex_type",
]


class Vertex:
    """A codelet that one worker runs; its cycles are thread cycles."""

    kind: ClassVar[Literal["worker", "supervisor", "multi"]] = "worker"

    def compute(self) -> Any:
        raise NotImplementedError


class SupervisorVertex(Vertex):
    """A codelet that runs on the supervisor; its cycles are tile cycles."""

    kind = "supervisor"


class MultiVertex(Vertex):
    """A codelet that all workers run together: `compute(workerId)`, workerId 0 to 5; its cycles are tile cycles."""

    kind = "multi"

    def compute(self, workerId: int) -> Any:  # type: ignore[override]
        raise NotImplementedError


def vertex_type(cls: type[Vertex]) -> VertexType:
    """The vertex type of a codelet class, named like the class (or its `name`).

    Raises `graph_object_load_error` for a class without `compute` or with attributes that are no fields."""
    if cls.compute in (Vertex.compute, MultiVertex.compute):
        raise graph_object_load_error(f"Codelet {cls.__name__} has no compute method.")
    fields = with_metadata_fields(_fields(cls))
    declared_name = vars(cls).get("name")
    batch = getattr(cls, "compute_batch", None)
    return VertexType(
        name=declared_name if isinstance(declared_name, str) else cls.__name__,
        kind=cls.kind,
        fields=fields,
        costs=_costs(cls, fields),
        compute=with_numbers(vertex_runner(cls, fields, cls.kind == "multi"), fields),
        compute_batch=None if batch is None else with_numbers(batch_runner(cls, fields), fields),
        code=partial(python_code, cls, fields),
        codelet=cls,
        doc=inspect.cleandoc(cls.__doc__ or "") if cls.__doc__ is not Vertex.__doc__ else "",
    )


def _fields(cls: type[Vertex]) -> tuple[FieldSpec, ...]:
    """Declared fields in order, those of base classes first; a name declared again replaces the earlier one."""
    fields: dict[str, FieldSpec] = {}
    for base in reversed(cls.__mro__):
        for name, declared in vars(base).items():
            spec = field_spec(name, declared)
            if spec is not None:
                fields[name] = spec
    return tuple(fields.values())


def _costs(cls: type[Vertex], fields: tuple[FieldSpec, ...]) -> CostFunction:
    estimate = getattr(cls, "estimate", None)
    if estimate is None:
        return counted_costs(cls, cls.kind, fields)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        try:
            result = estimate(elements, block.values, target)
        except poplar_error:
            raise
        except Exception as error:
            raise missing_perf_estimate(
                f"{cls.__name__} cannot estimate its vertices: its estimate raised {type(error).__name__}: {error}; "
                "mend it, or give cycles with setPerfEstimate."
            ) from error
        cycles, flops = result if isinstance(result, tuple) else (result, None)
        per_vertex = _per_vertex(cls, cycles, len(block))
        return BlockCosts(
            per_vertex,
            "fitted",
            f"{cls.__qualname__}.estimate of the program",
            None if flops is None else _per_vertex(cls, flops, len(block)),
        )

    return costs


def _per_vertex(cls: type[Vertex], figures: Any, n: int) -> Int64Array:
    try:
        array = np.ceil(np.asarray(figures, np.float64))
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    fits = array.shape in ((), (n,)) and bool(((array >= 0) & (array <= MOST_CYCLES)).all())
    if not fits:
        raise missing_perf_estimate(
            f"{cls.__name__} cannot estimate its vertices: {cls.__name__}.estimate must give one number from 0 to "
            f"{MOST_CYCLES}, or one for each of the {n} vertices, not {figures!r:.60}."
        )
    return np.broadcast_to(array.astype(np.int64), (n,)).copy()
