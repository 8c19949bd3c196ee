"""The type in which operands meet, beside torch.result_type."""

import itertools

import torch

from simulator.frontends.lowering.element_types import common_type, element_type
from simulator.poplar import Graph, IPUModel

_TYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def test_common_type_is_that_of_torch() -> None:
    """Every pair of types, each with dimensions, as a scalar tensor and as a number."""
    graph = Graph(IPUModel().createDevice().getTarget())
    operands = [
        (torch.ones(shape, dtype=dtype), graph.addVariable(element_type(_name(dtype)), shape, "operand"))
        for dtype in _TYPES
        for shape in ([2], [])
    ]
    operands += [(number, number) for number in (True, 2, 2.0)]
    for (one, mine), (other, theirs) in itertools.product(operands, repeat=2):
        if isinstance(mine, float | int) and isinstance(theirs, float | int):
            continue
        expected = element_type(_name(torch.result_type(one, other)))
        assert common_type([mine, theirs]) is expected, (one, other)
