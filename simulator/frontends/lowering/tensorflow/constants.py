"""Constants of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor


@lowers("tf.Const", kind="Constant", call="Graph::addConstant")
def constant(at: Building, shape: Sequence[int], dtype: str, data: bytes) -> Tensor:
    """`data` are the elements in order, as bytes; one number fills the whole constant."""
    values = np.frombuffer(data, dtype).reshape(list(shape))
    if values.size > 1 and bool((values == values.flat[0]).all()):
        return filled(at, element_type(dtype), shape, values.flat[0].item(), "constant")
    return at.constant(dtype, shape, values)
