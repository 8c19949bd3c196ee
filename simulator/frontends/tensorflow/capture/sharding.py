"""The IPU of operators: a number that `ipu_shard` and pipeline stages hang on them as an attribute.

Gradients go to the IPU of the layer that they belong to; other operators without a number go where their last operand
was computed. O(1) for each operator. Programs without a number keep to the first IPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tensorflow.core.framework import attr_value_pb2

from simulator.frontends.captured import Operator, Place, operators_within
from simulator.frontends.lowering.differentiation import IS_GRADIENT
from simulator.frontends.lowering.shards import IPU, STAGE
from simulator.frontends.tensorflow.capture.entries import CaptureError

_ATTRIBUTE = "_ipu_shard"


@contextmanager
def on_shard(graph: Any, ipu: int) -> Iterator[None]:
    """Operators that are made within belong to this IPU of the device."""
    with graph._attr_scope({_ATTRIBUTE: attr_value_pb2.AttrValue(i=ipu)}):
        yield


class Sharding:
    """The IPUs of what was captured so far."""

    def __init__(self) -> None:
        self._of_modules: dict[str, int | None] = {}  #: None: several
        self._of_values: dict[int, int] = {}

    def place(self, op: Any, place: Place, operators: list[Operator], first: int, in_body: bool) -> None:
        """Give the operators from `first` on, which were made for `op` at `place`, their IPU. In the body of a loop or
        branch only operators with a number get one.

        Raises CaptureError for a body on several IPUs."""
        ipu = shard_of(op)
        if ipu is not None and IS_GRADIENT not in place.annotations:
            same = self._of_modules.setdefault(place.module, ipu) == ipu
            self._of_modules[place.module] = ipu if same else None
        if not self._of_modules:
            return
        if ipu is None and IS_GRADIENT in place.annotations:
            ipu = self._of_modules.get(place.module)
        if in_body and ipu is None:
            return
        for number in range(first, len(operators)):
            one = operators[number]
            if IPU in one.place.annotations:
                continue
            chosen = self._of_operands(one) if ipu is None else ipu
            places = (inner.place.annotations for inner in operators_within([one]))
            within = {int(place[IPU]) for place in places if IPU in place}
            if ipu is None and len(within) == 1:
                chosen = within.pop()
            if (chosen is not None and within - {chosen}) or len(within) > 1:
                raise CaptureError(
                    f"The loop or branch {op.type} '{op.name}' has operators on the IPUs "
                    f"{sorted({*within, chosen or 0})}; it runs on one IPU here, so put all of it on one."
                )
            if chosen is None:
                continue
            annotations = {**one.place.annotations, STAGE: chosen, IPU: chosen}
            operators[number] = replace(one, place=replace(one.place, annotations=annotations))
            self._of_values.update((result.number, chosen) for result in one.results)

    def _of_operands(self, operator: Operator) -> int | None:
        known = [self._of_values[one.number] for one in operator.operands() if one.number in self._of_values]
        return known[-1] if known else None


def shard_of(op: Any) -> int | None:
    """The number on an operator."""
    try:
        return int(op.get_attr(_ATTRIBUTE))
    except ValueError:
        return None
