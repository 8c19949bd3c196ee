"""Which operators of torch read which operand as indices: a table by operator name.

The device reads zeros for an index beyond its tensor and writes nothing, as hardware does; torch raises an error. So
each operand is watched (`popops.slices.index_watch`), whether the host sends it or the device computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from simulator.frontends.captured import Operator, Value
from simulator.poplar import INT, UNSIGNED_INT, Tensor
from simulator.poplar.program import Sequence as ProgramSequence
from simulator.poplibs.popops.slices.index_watch import watch_indices

#: operators that read `index` along `dim` of `self`
_ALONG = frozenset(
    f"aten.{name}"
    for name in (
        "index_select.default",
        "gather.default",
        "index_add.default",
        "index_copy.default",
        "index_fill.int_Scalar",
        "scatter.src",
        "scatter.value",
        "scatter_add.default",
        "scatter_reduce.two",
        "scatter.reduce",
        "scatter.value_reduce",
        "index_reduce.default",
    )
)
_TARGETS = frozenset(f"aten.{name}.default" for name in ("cross_entropy_loss", "nll_loss", "nll_loss2d", "nll_loss_nd"))


@dataclass(frozen=True)
class IndexRead:
    """One operand that an operator reads as indices: `low` to `size`, `ignored` besides."""

    index: Value
    size: int
    low: int = 0
    ignored: int | None = None


def watch_operands(operator: Operator, tensor_of: Callable[[Value], Tensor], program: ProgramSequence) -> None:
    """Watch what an operator reads as indices, in the program that it is in."""
    for read in index_reads(operator):
        tensor = tensor_of(read.index)
        if tensor.elementType() in (INT, UNSIGNED_INT):
            watch_indices(tensor, program, _text(operator), read.size, read.low, read.ignored)


def index_reads(operator: Operator) -> Iterator[IndexRead]:
    """Operands that are read as indices."""
    name, operands = operator.name, operator.arguments
    if name == "aten.embedding.default":
        yield IndexRead(operands["indices"], operands["weight"].shape[0])
    elif name in _ALONG and operands["self"].shape:
        yield IndexRead(operands["index"], operands["self"].shape[operands["dim"]])
    elif name == "aten.one_hot.default" and operands["num_classes"] > 0:
        yield IndexRead(operands["self"], operands["num_classes"])
    elif name in ("aten.take.default", "aten.put.default"):
        yield IndexRead(operands["index"], operands["self"].elements, -operands["self"].elements)
    elif name in ("aten.index.Tensor", "aten.index_put.default"):
        yield from _of_dimensions(operands["self"], operands["indices"])
    elif name in _TARGETS and not operands["target"].is_floating:
        scores = operands["self"].shape
        yield IndexRead(operands["target"], scores[min(1, len(scores) - 1)], ignored=operands["ignore_index"])


def _of_dimensions(indexed: Value, indices: Sequence[Value | None]) -> Iterator[IndexRead]:
    """Negative indices count from the end; masks are no indices."""
    if any(index is not None and index.dtype == "bool" for index in indices):
        return
    for size, index in zip(indexed.shape, indices, strict=False):
        if index is not None:
            yield IndexRead(index, size, -size)


def _text(operator: Operator) -> str:
    return f"{operator.name} ({operator.place.text()})"
