"""Costs of compiled codelets: a few vertices are run with counters in their basic blocks, the others interpolated.

The same rules as for Python codelets (`simulator.codelets.counted_costs`): made-up data of the right sizes, ones or
zeros; vertex state as it is; figures are guesses.
"""

from __future__ import annotations

import functools
import math
import platform
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from simulator.arrays import Int64Array, UInt64Array
from simulator.base.errors import application_runtime_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.types import QUARTER, numpy_type
from simulator.codelets.compiled.counted_objects import WithObjects, counted_object, is_translated
from simulator.codelets.compiled.cycle_counter import needs_slots
from simulator.codelets.compiled.linking import Program
from simulator.codelets.compiled.session import Session
from simulator.codelets.compiled.unit import called_symbol
from simulator.codelets.count_run import ENTRY, Figures
from simulator.codelets.counted_costs import costs_by_counting
from simulator.codelets.counted_functions import NotCountableError
from simulator.graph.vertices import CompiledClass, CostFunction, FieldSpec, VertexKind, metadata_field
from simulator.machine.cycles.rounding import WORKERS
from simulator.machine.instructions import PARTS, OperationCounts

#: Seconds that a counted vertex may take.
_PATIENCE = 5.0


def counted_costs(program: Callable[[Mapping[str, str]], Program], class_: CompiledClass) -> CostFunction:
    """The costs that a vertex class counts; they raise NotCountableError. `program`: `CodeletLibrary.program`, called
    when a vertex is counted."""
    layout = class_.layout
    fields = tuple(field.spec for field in layout.fields)

    def count(sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any]) -> Figures:
        external = {called_symbol(class_): class_.symbol} if class_.symbol else {}
        return _count(program(external), class_, sizes, values)

    return costs_by_counting(layout.kind, fields, count)


def _count(
    program: Program, class_: CompiledClass, sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any]
) -> Figures:
    """Run one vertex on made-up data. Raises NotCountableError where that fails."""
    counted = _counted_program(program)
    problem = ""
    for fill in (1, 0):  # ones; zeros for codelets that index by what they read
        try:
            return _figures(counted, class_, sizes, values, fill)
        except application_runtime_error as error:
            problem = str(error)
        finally:
            counted.close()
    raise NotCountableError(f"fails on made-up data ({problem.rstrip('.')})")


def _figures(
    counted: _CountedProgram,
    class_: CompiledClass,
    sizes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, Any],
    fill: int,
) -> Figures:
    kind = class_.layout.kind
    given = SimpleNamespace()
    for field in class_.layout.fields:
        setattr(given, field.spec.name, _made_up(field.spec, sizes, values, fill))
        if field.spec.type is QUARTER:
            setattr(given, metadata_field(field.spec.name), np.full((), QuarterMetadata().getBinary(), np.uint8))
    workers = [(w, w + 1) for w in range(WORKERS)] if kind == "multi" else [(0, WORKERS)]
    runs = [counted.run(class_, given, some) for some in workers]
    longest = max(runs, key=lambda run: run.slots())
    slots = math.ceil(longest.slots() - 1e-9)
    flops = sum(run.flops() for run in runs)
    return Figures(slots if kind == "worker" else WORKERS * slots, flops, longest.text())


def cycles_of_parts(parts: UInt64Array, kind: VertexKind) -> Int64Array:
    """Cycles of vertices, as BlockCosts has them, from the parts of issue slots that they counted. Those of a
    MultiVertex are of its longest worker."""
    slots = -(-parts.astype(np.int64) // PARTS) + ENTRY
    return np.asarray(slots if kind == "worker" else WORKERS * slots, np.int64)


def _made_up(spec: FieldSpec, sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any], fill: int) -> Any:
    if spec.kind == "value":
        return values.get(spec.name)
    dtype = numpy_type(spec.type)
    if spec.kind == "scalar":
        return np.full((), fill, dtype)
    if spec.kind == "vector":
        return np.full(sum(sizes[spec.name]), fill, dtype)
    if spec.kind == "scalars":
        return [np.full((), fill, dtype) for _ in range(sum(sizes[spec.name]))]
    return [np.full(size, fill, dtype) for size in sizes[spec.name]]


class _CountedProgram:
    """The units with counters, in a process. `blocks`: the operations of the block of each counter."""

    def __init__(self, program: Program) -> None:
        if not is_translated():
            raise NotCountableError(f"is compiled for {platform.machine()}, whose instructions have no table")
        self.blocks: list[dict[str, int]] = []
        objects = []
        with_slots = needs_slots(program)
        for unit in program.units:
            object_, blocks = counted_object(unit, with_slots)
            self.blocks += blocks
            objects.append(object_)
        self._session = Session(WithObjects(program.units, program.external, tuple(objects)), limit=_PATIENCE)

    def run(self, class_: CompiledClass, given: SimpleNamespace, workers: tuple[int, int]) -> OperationCounts:
        """Count one vertex, or some workers of it."""
        name = class_.layout.name
        times = self._session.run_one(
            class_, given, lambda _: (f"Vertex of type {name}", None), lambda *_: None, workers, counted=True
        )
        counts = OperationCounts()
        counts.add("integer", ENTRY)
        for block, number in zip(self.blocks, times.tolist(), strict=True):
            counts.add_block(block, number)
        return counts

    def close(self) -> None:
        """End the process; it starts again when it is needed."""
        self._session.close()


@functools.lru_cache(maxsize=8)
def _counted_program(program: Program) -> _CountedProgram:
    return _CountedProgram(program)
