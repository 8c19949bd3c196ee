"""Indices that the host sends: those beyond their tensor are said once, or raise an error.

The device reads zeros for such an index and writes nothing, as hardware does; torch raises an error. A table tells
which operator reads which operand as indices. What stands between an input and its reader (views, casts, sums with
numbers) is computed on the host again, for each micro-batch. Indices that other values on the device decide are not
seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from simulator.frontends.capture.operators import place_text
from simulator.frontends.captured import Operator, Program, Value
from simulator.frontends.poptorch.environment import raises_for_indices
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.logging import logger

#: operators that the host computes again
_REPLAYED = frozenset(
    f"aten.{name}"
    for name in (
        "alias.default",
        "clone.default",
        "contiguous.default",
        "detach.default",
        "_to_copy.default",
        "view.default",
        "reshape.default",
        "flatten.using_ints",
        "unsqueeze.default",
        "squeeze.default",
        "squeeze.dim",
        "squeeze.dims",
        "expand.default",
        "permute.default",
        "transpose.int",
        "t.default",
        "slice.Tensor",
        "select.int",
        "add.Tensor",
        "sub.Tensor",
        "mul.Tensor",
    )
)
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

    operator: Operator
    index: Value
    size: int
    low: int = 0
    ignored: int | None = None

    def wrong(self, values: Any) -> int | None:
        """The first index out of range."""
        beyond = (values < self.low) | (values >= self.size)
        if self.ignored is not None:
            beyond &= values != self.ignored
        found = values[beyond]
        return int(found.reshape(-1)[0]) if found.numel() else None

    def text(self, wrong: int) -> str:
        return (
            f"Index {wrong} of {self.operator.name} ({place_text(self.operator.place)}) is out of range for size "
            f"{self.size}"
        )


class IndexChecks:
    """The checks of one compiled program."""

    def __init__(self, program: Program) -> None:
        self._inputs = {one.value.number: one.name for one in program.inputs}
        makers = {result.number: one for one in program.operators for result in one.results}
        self._reads: list[tuple[IndexRead, str, list[Operator]]] = []
        for read in index_reads(program.operators):
            steps: list[Operator] = []
            value = read.index
            while value.number in makers and makers[value.number].name in _REPLAYED:
                steps.append(makers[value.number])
                operands = list(steps[-1].operands())
                if len(operands) != 1:
                    break
                value = operands[0]
            if value.number in self._inputs:
                self._reads.append((read, self._inputs[value.number], steps[::-1]))

    def check(self, buffers: Mapping[str, Any]) -> None:
        """Check what a run sends, by the name of the input, [micro-batches, *shape]. Raises Error if POPVISION_INDICES
        is "raise"; else each operator is named once."""
        for entry in list(self._reads):
            read, name, steps = entry
            sent = torch.from_numpy(buffers[name])
            batches = [_replayed(batch, steps) for batch in sent] if steps else [sent]
            wrong = next((one for one in map(read.wrong, batches) if one is not None), None)
            if wrong is None:
                continue
            if raises_for_indices():
                raise Error(f"{read.text(wrong)}.")
            self._reads.remove(entry)
            logger.warning(
                "%s: the device reads zeros there and writes nothing, as hardware does; POPVISION_INDICES=raise makes "
                "it an error.",
                read.text(wrong),
            )


def index_reads(operators: Sequence[Operator]) -> Iterator[IndexRead]:
    """Operands that are read as indices."""
    for one in operators:
        given = one.arguments
        if one.name == "aten.embedding.default":
            yield IndexRead(one, given["indices"], given["weight"].shape[0])
        elif one.name in _ALONG and given["self"].shape:
            yield IndexRead(one, given["index"], given["self"].shape[given["dim"]])
        elif one.name == "aten.one_hot.default" and given["num_classes"] > 0:
            yield IndexRead(one, given["self"], given["num_classes"])
        elif one.name == "aten.take.default":
            yield IndexRead(one, given["index"], given["self"].elements, -given["self"].elements)
        elif one.name in ("aten.index.Tensor", "aten.index_put.default"):
            yield from _of_dimensions(one, given["self"], given["indices"])
        elif one.name in _TARGETS and not given["target"].is_floating:
            scores = given["self"].shape
            yield IndexRead(one, given["target"], scores[min(1, len(scores) - 1)], ignored=given["ignore_index"])


def _of_dimensions(operator: Operator, indexed: Value, indices: Sequence[Value | None]) -> Iterator[IndexRead]:
    """Negative indices count from the end; masks are no indices."""
    if any(one is not None and one.dtype == "bool" for one in indices):
        return
    for size, one in zip(indexed.shape, indices, strict=False):
        if one is not None:
            yield IndexRead(operator, one, size, -size)


def _replayed(tensor: Any, steps: Sequence[Operator]) -> Any:
    """The indices that these operators make of an input."""
    for one in steps:
        _, name, overload = one.name.split(".")
        given = {
            key: tensor if isinstance(argument, Value) else _argument(key, argument)
            for key, argument in one.arguments.items()
        }
        tensor = getattr(getattr(torch.ops.aten, name), overload)(**given)
    return tensor


def _argument(key: str, argument: Any) -> Any:
    return getattr(torch, argument) if key == "dtype" and isinstance(argument, str) else argument
