"""Costs of codelets without an estimate: a few vertices are run and counted, the others are interpolated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import text_output
from simulator.codelets.count_run import Figures, count_vertex
from simulator.codelets.counted_functions import NotCountableError, TooLongError
from simulator.graph.introspection import value_at, vector_sizes
from simulator.graph.vertices import BlockCosts, CostFunction, FieldSpec, VertexBlock

#: Vertices of a block that are run, at most; figures of others are interpolated by the number of their elements.
SAMPLES = 9
#: A vertex that is too large to be run is run with its longest vector this long, and half as long.
FOLLOWED = 2048

#: For codelets that cannot be counted: 20 instructions to start, as published estimators of element-wise vertices have
#: (published-numbers 7.1), and 2 per element read or written. A published naive triad takes 6.3 issue slots per element
#: of three arrays (published-numbers 2), which is 2.1 per element moved.
GUESS_START = 20
GUESS_PER_ELEMENT = 2


Count = Callable[[Mapping[str, tuple[int, ...]], Mapping[str, Any]], Figures]
"""(elements of each inner vector of each field, values of simple fields) -> figures of one vertex"""


def counted_costs(cls: type[Any], kind: str, fields: tuple[FieldSpec, ...]) -> CostFunction:
    """The cost function of a codelet class."""

    def count(sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any]) -> Figures:
        try:
            return count_vertex(cls, kind, fields, sizes, values)
        except TooLongError:
            return _extrapolated(cls, kind, fields, sizes, values)

    return or_guessed(cls.__name__, kind, costs_by_counting(kind, fields, count))


#: Compute sets are estimated on several threads, but counting runs code of the program in a shared process and fills a
#: shared table, so one vertex is counted at a time.
_counting = Lock()


def costs_by_counting(kind: str, fields: tuple[FieldSpec, ...], count: Count) -> CostFunction:
    """A cost function that counts some vertices and caches their figures by size. It raises NotCountableError."""
    figures_by_size: dict[Any, Figures | NotCountableError] = {}

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        with _counting:
            return _counted(kind, fields, count, block, elements, _moved(block, elements), figures_by_size)

    return costs


def or_guessed(name: str, kind: str, counting: CostFunction, better: str = "give it an `estimate`") -> CostFunction:
    """The costs that `counting` gives, else a guess by the elements moved. `better`: advice for a better figure."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        try:
            return counting(block, elements, target)
        except NotCountableError as reason:
            text_output.once(
                f"codelet {name}",
                f"the cycles of codelet {name} cannot be counted: it {reason}. They are guessed from the "
                f"elements it moves; {better} for a better figure.",
            )
            return guess(kind, _moved(block, elements), target.getNumWorkerContexts())

    return costs


def _moved(block: VertexBlock, elements: Mapping[str, Int64Array]) -> Int64Array:
    """Elements of all fields of each vertex."""
    return sum((np.asarray(elements[name]) for name in elements), np.zeros(len(block), np.int64))


def _counted(
    kind: str,
    fields: tuple[FieldSpec, ...],
    count: Count,
    block: VertexBlock,
    elements: Mapping[str, Int64Array],
    moved: Int64Array,
    figures_by_size: dict[Any, Figures | NotCountableError],
) -> BlockCosts:
    if len(block) == 0:
        return guess(kind, moved, 1)
    shape = _shapes(block, elements)
    _, first, inverse = np.unique(shape, return_index=True, return_inverse=True)
    if len(first) <= SAMPLES:
        figures = [_figures(fields, count, block, int(row), figures_by_size) for row in first]
        cycles = np.array([f.cycles for f in figures], np.int64)[inverse]
        flops = np.array([f.flops for f in figures], np.int64)[inverse]
    else:
        by_size = first[np.argsort(moved[first], kind="stable")]
        rows = by_size[np.unique(np.linspace(0, len(by_size) - 1, SAMPLES).round().astype(np.int64))]
        figures = [_figures(fields, count, block, int(row), figures_by_size) for row in rows]
        cycles = _interpolated(moved, moved[rows], [f.cycles for f in figures])
        flops = _interpolated(moved, moved[rows], [f.flops for f in figures])
    most = max(figures, key=lambda f: f.cycles)
    source = f"counted in a run of the codelet (simulator/machine/instructions.py), most: {most.text}"
    return BlockCosts(cycles, "guess", source, flops, counted=True)


def _interpolated(moved: Int64Array, at: Int64Array, figures: list[int]) -> Int64Array:
    """Figures interpolated by the elements moved; they never fall as the elements grow."""
    size, last = np.unique(at, return_inverse=True)
    highest = np.zeros(len(size), np.int64)
    np.maximum.at(highest, last, np.asarray(figures, np.int64))
    return np.ceil(np.interp(moved, size, np.maximum.accumulate(highest))).astype(np.int64)


def _shapes(block: VertexBlock, elements: Mapping[str, Int64Array]) -> Int64Array:
    """A hash per vertex, equal for vertices of equal sizes and values."""
    mixed = np.zeros(len(block), np.uint64)
    columns: list[Any] = [elements[name] for name in elements]
    columns += [v for v in block.values.values() if np.ndim(v) == 1 and len(v) == len(block)]
    for column in columns:
        array = np.asarray(column)
        bits = array.astype(np.float64).view(np.uint64) if array.dtype.kind == "f" else array.astype(np.uint64)
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)


def _figures(
    fields: tuple[FieldSpec, ...],
    count: Count,
    block: VertexBlock,
    row: int,
    figures_by_size: dict[Any, Figures | NotCountableError],
) -> Figures:
    """The figures of one vertex, or why it has none, counted once for each size and state."""
    nested = {field.name for field in fields if field.kind == "vectors"}
    sizes = {name: vector_sizes(edges, row, name in nested) for name, edges in block.edges.items()}
    values = {name: value_at(value, row) for name, value in block.values.items()}
    key = (tuple(sizes.items()), tuple((name, np.asarray(value).tobytes()) for name, value in values.items()))
    if key not in figures_by_size:
        try:
            figures_by_size[key] = count(sizes, values)
        except NotCountableError as reason:
            figures_by_size[key] = reason
    figures = figures_by_size[key]
    if isinstance(figures, NotCountableError):
        raise figures
    return figures


def _extrapolated(
    cls: type[Any],
    kind: str,
    fields: tuple[FieldSpec, ...],
    sizes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, Any],
) -> Figures:
    """The figures of a vertex that is too large to be run, on a straight line through those of two smaller ones, whose
    vectors are all shorter by the same factor."""
    largest = max(max(lengths, default=0) for lengths in sizes.values())
    factor = -(-largest // FOLLOWED)
    if factor < 2:
        raise TooLongError("takes too many steps even on few elements")
    small, smaller = (_shorter(sizes, by) for by in (factor, 2 * factor))
    high, low = (count_vertex(cls, kind, fields, lengths, values) for lengths in (small, smaller))
    many, more, less = (sum(map(sum, lengths.values())) for lengths in (sizes, small, smaller))
    times = (many - more) / max(more - less, 1)
    cycles, flops = (
        math.ceil(top + max(top - bottom, 0) * times)
        for top, bottom in ((high.cycles, low.cycles), (high.flops, low.flops))
    )
    return Figures(cycles, flops, f"{high.text}; extrapolated from {less:,} and {more:,} elements to {many:,}")


def _shorter(sizes: Mapping[str, tuple[int, ...]], factor: int) -> dict[str, tuple[int, ...]]:
    return {name: tuple(-(-length // factor) for length in lengths) for name, lengths in sizes.items()}


def guess(kind: str, elements_moved: Int64Array, workers: int) -> BlockCosts:
    """The cost of vertices by the number of elements that they read and write.

    worker: 20 + 2 per element, thread cycles. supervisor: the same, each instruction taking a turn of all workers.
    multi: the elements shared out over the workers, in tile cycles."""
    if kind == "multi":
        cycles = workers * (GUESS_START + GUESS_PER_ELEMENT * -(-elements_moved // workers))
    else:
        cycles = GUESS_START + GUESS_PER_ELEMENT * elements_moved
        if kind == "supervisor":
            cycles = workers * cycles
    source = f"{GUESS_START} + {GUESS_PER_ELEMENT} per element moved; the codelet cannot be counted"
    return BlockCosts(np.asarray(cycles, np.int64), "guess", source, counted=True)
