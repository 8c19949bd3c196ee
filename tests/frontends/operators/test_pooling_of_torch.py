"""Pooling on the device beside float64 torch."""

from typing import Any

import numpy as np
import pytest
import torch

from simulator.base.errors import poplar_error
from tests.frontends.operators.operator_twin import check_operator, on_ipu

F = torch.nn.functional

MAX = (F.max_pool1d, F.max_pool2d, F.max_pool3d)
AVERAGE = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
ADAPTIVE_MAX = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)
ADAPTIVE_AVERAGE = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)


def fields(*shape: int) -> torch.Tensor:
    """Distinct numbers, so that every maximum is one element."""
    count = int(np.prod(shape))
    return (torch.randperm(count).float() * 2 / count - 1).reshape(shape)


@pytest.mark.parametrize(
    ("shape", "kernel", "named"),
    [
        ((2, 3, 6, 5), 2, {}),
        ((1, 2, 7, 5), (3, 2), {"stride": (2, 1), "padding": (1, 0)}),
        ((2, 1, 6, 7), 3, {"stride": 2, "ceil_mode": True}),
        ((1, 3, 5, 5), 2, {"stride": 2, "padding": 1, "ceil_mode": True}),
        ((1, 3, 5, 5), 2, {"stride": 3}),
        ((2, 4, 9), 3, {"stride": 2}),
        ((1, 2, 4, 5, 3), 2, {"stride": 1}),
        ((1, 1, 1, 1), 1, {}),
        ((2, 2, 9, 8), (3, 2), {"dilation": 2}),
        ((1, 2, 10), 3, {"dilation": 3, "stride": 1, "padding": 1}),
        ((1, 1, 9, 8), 2, {"dilation": (3, 1), "stride": 2, "ceil_mode": True}),
    ],
)
def test_max_pool(shape: tuple[int, ...], kernel: Any, named: Any) -> None:
    check_operator(lambda x: MAX[len(shape) - 3](x, kernel, **named), fields(*shape))


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d, lambda x, size: F.adaptive_avg_pool2d(x, 3)])
def test_a_field_without_a_batch(pool: Any) -> None:
    check_operator(lambda x: pool(x, 2), fields(3, 5, 5))


def test_max_pool_of_halves() -> None:
    check_operator(lambda x: F.max_pool2d(x, 2), fields(1, 3, 4, 4).half(), rtol=2e-2)


def test_the_gradient_goes_to_every_largest_element() -> None:
    x = torch.tensor([[[1.0, 1.0, 0.0, 2.0]]])
    _, gradients = on_ipu(lambda x: F.max_pool1d(x, 2), [x], [torch.tensor([[[3.0, 5.0]]])])
    np.testing.assert_array_equal(gradients["operand0"], [[[3, 3, 0, 5]]])


def test_places_of_maxima_are_refused_by_a_sentence() -> None:
    with pytest.raises(
        poplar_error, match=r"aten.max_pool2d_with_indices.default of the outermost .* gives no result 1 on"
    ):
        on_ipu(lambda x: F.max_pool2d(x, 2, return_indices=True), [fields(1, 1, 4, 4)], None)


@pytest.mark.parametrize(
    ("shape", "kernel", "named"),
    [
        ((2, 3, 6, 5), 2, {}),
        ((1, 2, 7, 5), (3, 2), {"stride": (2, 1), "padding": (1, 0)}),
        ((1, 2, 7, 5), (3, 2), {"stride": (2, 1), "padding": (1, 0), "count_include_pad": False}),
        ((1, 3, 5, 5), 3, {"stride": 2, "padding": 1, "ceil_mode": True}),
        ((2, 1, 6, 7), 3, {"stride": 2, "ceil_mode": True}),
        ((1, 3, 5, 6), 2, {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}),
        ((2, 2, 5, 4), 2, {"divisor_override": 3}),
        ((1, 2, 5, 4), 3, {"padding": 1, "divisor_override": 5}),
        ((2, 4, 9), 4, {"stride": 2, "padding": 2}),
        ((1, 2, 4, 5, 3), 2, {"stride": 1, "padding": 1}),
        ((1, 1, 1, 1), 1, {}),
    ],
)
def test_average_pool(shape: tuple[int, ...], kernel: Any, named: Any) -> None:
    check_operator(lambda x: AVERAGE[len(shape) - 3](x, kernel, **named), torch.randn(*shape), length=9)


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((2, 3, 6, 4), (3, 2)),
        ((2, 3, 6, 4), 1),
        ((1, 2, 7, 5), (3, 2)),
        ((1, 2, 3, 2), (5, 4)),
        ((2, 3, 10), 4),
        ((1, 2, 3, 4, 5), (2, 2, 3)),
    ],
)
def test_adaptive_pools(shape: tuple[int, ...], sizes: Any) -> None:
    dims = len(shape) - 3
    check_operator(lambda x: ADAPTIVE_AVERAGE[dims](x, sizes), torch.randn(*shape), length=9)
    check_operator(lambda x: ADAPTIVE_MAX[dims](x, sizes), fields(*shape))


def test_pools_made_of_others() -> None:
    check_operator(lambda x: F.lp_pool2d(x, 2.0, 2), torch.rand(1, 2, 4, 4) + 0.1, length=4)
    check_operator(lambda x: F.local_response_norm(x, 2), torch.randn(2, 4, 3, 3), length=4)
