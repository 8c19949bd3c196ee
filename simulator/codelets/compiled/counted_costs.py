"""Costs of compiled codelets: a few vertices are run with counters in their basic blocks, the others interpolated.

The same rules as for Python codelets (`simulator.codelets.counted_costs`): made-up data of the right sizes, ones or
zeros; vertex state as it is; figures are guesses.
"""

from __future__ import annotations

import functools
import json
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from simulator.base.errors import application_runtime_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.types import QUARTER, numpy_type
from simulator.codelets.compiled.assembly import instrumented, operations
from simulator.codelets.compiled.host_compiler import DamagedCacheError, cached, cached_description, compiler
from simulator.codelets.compiled.linking import Program, linked
from simulator.codelets.compiled.session import Session
from simulator.codelets.compiled.source import Preprocessed
from simulator.codelets.compiled.unit import Unit, called_symbol, compile_text
from simulator.codelets.count_run import ENTRY, Figures
from simulator.codelets.counted_costs import costs_by_counting
from simulator.codelets.counted_functions import NotCountableError
from simulator.graph.vertices import CompiledClass, CostFunction, FieldSpec, metadata_field
from simulator.machine.cycles.rounding import WORKERS
from simulator.machine.instructions import OperationCounts

#: Flags before the user's, and after them: one instruction for one operation, and room for counters.
_BEFORE = {"c++": ("-std=c++17", "-O2"), "c": ("-std=gnu11", "-O2")}
_AFTER = (
    "-S",
    "-g0",
    "-fno-tree-vectorize",
    "-fno-tree-slp-vectorize",
    "-fno-tree-loop-distribute-patterns",
    "-fno-unroll-loops",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
)
_AFTER_ON_X86 = ("-fcf-protection=none", "-mno-red-zone")
#: Part of the names of cached files; goes up when `operations` counts otherwise.
RULES = 3
#: Seconds that a counted vertex may take.
_PATIENCE = 5.0


def counted_costs(program: Callable[[Mapping[str, str]], Program], class_: CompiledClass) -> CostFunction:
    """The cost function of a vertex class. `program`: `CodeletLibrary.program`, called when a vertex is counted."""
    layout = class_.layout
    fields = tuple(field.spec for field in layout.fields)

    def count(sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any]) -> Figures:
        external = {called_symbol(class_): class_.symbol} if class_.symbol else {}
        return _count(program(external), class_, sizes, values)

    return costs_by_counting(layout.name, layout.kind, fields, count, "register a performance estimator")


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
        for unit in program.units:
            object_, blocks = counted_object(unit, unit.text(), "counted")
            self.blocks += blocks
            objects.append(object_)
        self._session = Session(_Linked(program.units, program.external, tuple(objects)), limit=_PATIENCE)

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


@dataclass(frozen=True)
class _Linked(Program):
    """The same units, with other object files."""

    objects: tuple[Path, ...] = ()

    def path(self) -> Path:
        return linked(self.objects, self.external)


@functools.lru_cache(maxsize=8)
def _counted_program(program: Program) -> _CountedProgram:
    return _CountedProgram(program)


def counted_object(unit: Unit, text: str, what: str) -> tuple[Path, list[dict[str, int]]]:
    """The object file of a unit's text with counters, and the operations of each block. `what`: names the text in the
    cache."""
    name = counted_name(unit, what)
    try:
        assembly, blocks = cached_description(f"{name}.json", lambda path: _describe(unit, text, path), _read)
    except DamagedCacheError as error:
        raise NotCountableError("has a count that comes back damaged from the cache of compiled codelets") from error

    def make(path: Path) -> None:
        given = path.with_suffix(".s")
        given.write_text(assembly)
        code, messages = compiler().run(["-c", str(given), "-o", str(path)])
        if code != 0:
            raise NotCountableError(f"cannot be assembled with counters ({messages.strip()[:200]})")

    return cached(f"{name}.o", make), blocks


def _read(description: Any) -> tuple[str, list[dict[str, int]]]:
    assembly, blocks = description["assembly"], description["blocks"]
    if not isinstance(assembly, str):
        raise TypeError
    return assembly, [dict(block) for block in blocks]


def _describe(unit: Unit, text: str, path: Path) -> None:
    assembly, blocks = instrumented(plain_assembly(unit.source, text, path), unit.key)
    path.write_text(json.dumps({"assembly": assembly, "blocks": [operations(block) for block in blocks]}))


def plain_assembly(source: Preprocessed, text: str, beside: Path) -> str:
    """The assembly of a text of this source, an instruction for an operation. `beside`: a file in a scratch folder."""
    made = beside.with_suffix(".s")
    after = (*_AFTER, *(_AFTER_ON_X86 if is_translated() else ()), *(("-mf16c",) if _converts_halves() else ()))
    compile_text(source, text, made, _BEFORE[source.language], after)
    return made.read_text()


def is_translated() -> bool:
    """Whether `simulator.codelets.compiled.assembly` knows this processor's instructions."""
    return platform.machine() in ("x86_64", "AMD64")


def counted_name(unit: Unit, what: str) -> str:
    """The name in the cache of something counted in a unit's assembly on this processor."""
    what = what if is_translated() else f"{what}.{platform.machine()}."
    return f"{unit.key}.{'half.' if _converts_halves() else ''}{what}{RULES}"


@functools.cache
def _converts_halves() -> bool:
    """Whether this x86-64 has an instruction that converts halves; calls instead would count as work."""
    try:
        return " f16c" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
