"""Count the operations of one run of a Python codelet: fields are counting arrays, loop trips are backward jumps.

The vertex runs on made-up data of the right sizes (ones), as values are not known at compile time; a codelet whose work
depends on its data gets the figure of that run. Vertex state has its real values. Everything is
deterministic.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from types import FrameType
from typing import Any

import numpy as np

from simulator.base.types import FLOAT, HALF, QUARTER
from simulator.codelets.counted_functions import NotCountableError
from simulator.codelets.counting import CountedArray, Counter, counted, register
from simulator.codelets.fields import attribute_of
from simulator.graph.vertices import FieldSpec
from simulator.machine.cycles.rounding import WORKERS

#: Slots of entering and leaving a vertex, and of loading pointer and size of an edge: published estimators have 5 for
#: entry and exit and one load for each word of the vertex's state (published-numbers 7).
ENTRY, PER_EDGE = 5, 2


@dataclass(frozen=True)
class Figures:
    """The cost of one vertex: thread cycles of a worker, tile cycles of a supervisor or multi vertex."""

    cycles: int
    flops: int
    text: str  #: what was counted


def count_vertex(
    cls: type[Any],
    kind: str,
    fields: tuple[FieldSpec, ...],
    sizes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, Any],
) -> Figures:
    """Count a run of the codelet with fields of these sizes (elements of each inner vector) and these values.

    Raises NotCountableError for operations that cannot be counted, and for failures on made-up data."""
    problem: Exception | None = None
    for fill in (1, 0):  # ones; zeros for codelets that index by what they read
        try:
            workers = range(WORKERS) if kind == "multi" else [None]
            runs = [_run(cls, fields, sizes, values, fill, worker) for worker in workers]
        except NotCountableError:
            raise
        except Exception as error:  # a codelet may raise anything
            problem = error
            continue
        longest = max(runs, key=lambda counter: counter.slots())
        slots = math.ceil(longest.slots() - 1e-9)
        flops = sum(counter.flops() for counter in runs)
        return Figures(slots if kind == "worker" else WORKERS * slots, flops, longest.text())
    raise NotCountableError(f"fails on made-up data ({type(problem).__name__}: {problem})")


def _run(
    cls: type[Any],
    fields: tuple[FieldSpec, ...],
    sizes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, Any],
    fill: int,
    worker: int | None,
) -> Counter:
    counter = Counter()
    instance = object.__new__(cls)
    given: dict[str, Any] = {}
    for field in fields:
        given[field.name] = _made_up(field, sizes, values, fill, counter)
        setattr(instance, attribute_of(field.name), given[field.name])
        counter.add("load", 1 if field.kind == "value" else PER_EDGE)
    counter.add("integer", ENTRY)
    before = sys.gettrace()
    sys.settrace(_loops_of(cls.compute.__code__.co_filename, counter))
    try:
        with np.errstate(all="ignore"), redirect_stdout(StringIO()):
            instance.compute() if worker is None else instance.compute(worker)
    finally:
        sys.settrace(before)
    for field in fields:
        if field.direction in ("out", "inout"):
            _assigned(field, given[field.name], getattr(instance, attribute_of(field.name)), counter)
    return counter


def _made_up(
    field: FieldSpec, sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any], fill: int, counter: Counter
) -> Any:
    if field.kind == "value":
        return values.get(field.name)
    type_ = field.type or FLOAT
    dtype = np.dtype(np.float32) if type_ in (HALF, QUARTER) else type_.dtype
    half = type_ is HALF
    if field.kind == "scalar":
        counter.add("load", 0 if field.direction == "out" else 1)
        return register(np.full((), fill, dtype), counter)
    if field.kind == "scalars" and field.direction == "in":
        return counted(np.full(sum(sizes[field.name]), fill, dtype), counter, half=half)
    parts = [counted(np.full(size, fill, dtype), counter, half=half) for size in sizes[field.name]]
    if field.kind == "vector":
        whole = np.full(sum(sizes[field.name]), fill, dtype)
        return counted(whole, counter, half=half)
    return parts if field.kind == "vectors" else [part.reshape(()) if part.size == 1 else part for part in parts]


def _assigned(field: FieldSpec, before: Any, after: Any, counter: Counter) -> None:
    """Stores of outputs that were assigned rather than written into."""
    if after is before:
        return
    if isinstance(after, (list, tuple)):
        for old, new in zip(before, after, strict=False):
            _assigned(field, old, new, counter)
        return
    elements = int(np.size(after))
    if isinstance(after, CountedArray) and after.in_memory:
        counter.add("load", elements)
    counter.add("store half" if field.type is HALF else "store", elements)
    counter.add("trip", elements if np.ndim(after) else 0)


def _loops_of(file: str, counter: Counter) -> Any:
    """A trace function that counts the loop trips of the code of one file: a jump to an earlier instruction."""

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        last = frame.f_lasti

        def on_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            counter.step()
            if event == "line":
                if frame.f_lasti < last:
                    counter.add("trip")
                last = frame.f_lasti
            return on_line

        return on_line

    return on_call
