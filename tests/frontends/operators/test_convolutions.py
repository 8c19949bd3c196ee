"""Convolutions on the device beside float64 torch."""

from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize(
    ("field", "kernel", "channels", "named"),
    [
        ((5, 7), (3, 3), (2, 3), {}),
        ((6, 6), (3, 2), (4, 6), {"stride": 2, "padding": 1, "groups": 2}),
        ((9,), (3,), (1, 1), {"dilation": 2, "padding": 2}),
        ((8, 5), (2, 3), (3, 2), {"padding": "same", "dilation": 2}),
        ((4, 4, 3), (2, 2, 2), (2, 3), {"stride": (1, 2, 1)}),
        ((1, 1), (1, 1), (1, 5), {}),
        ((7, 8), (3, 3), (4, 4), {"stride": (3, 2), "groups": 4}),
        ((7,), (4,), (2, 3), {"padding": "same"}),
        ((3, 3), (5, 4), (1, 2), {"padding": 3, "stride": 2}),
        ((6,), (3,), (3, 2), {"padding": "valid", "stride": 2}),
    ],
)
def test_convolution(field: Any, kernel: Any, channels: Any, named: Any) -> None:
    inputs, outputs = channels
    function = (F.conv1d, F.conv2d, F.conv3d)[len(field) - 1]
    groups = named.get("groups", 1)
    weight = torch.randn(outputs, inputs // groups, *kernel)
    check_operator(
        lambda x, w, b: function(x, w, b, **named),
        torch.randn(2, inputs, *field),
        weight,
        torch.randn(outputs),
        length=weight[0].numel(),
    )


@pytest.mark.parametrize(
    ("field", "kernel", "channels", "named"),
    [
        ((4, 3), (3, 3), (2, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((5,), (4,), (4, 2), {"groups": 2, "dilation": 2}),
        ((2, 3, 2), (2, 2, 2), (1, 2), {}),
        ((3, 4), (2, 3), (3, 4), {"stride": (3, 1), "output_padding": (2, 0), "dilation": (1, 2)}),
    ],
)
def test_transposed_convolution(field: Any, kernel: Any, channels: Any, named: Any) -> None:
    inputs, outputs = channels
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[len(field) - 1]
    weight = torch.randn(inputs, outputs // named.get("groups", 1), *kernel)
    check_operator(
        lambda x, w, b: function(x, w, b, **named),
        torch.randn(2, inputs, *field),
        weight,
        torch.randn(outputs),
        length=weight.numel(),
    )


def test_input_without_a_batch() -> None:
    check_operator(F.conv2d, torch.randn(2, 5, 4), torch.randn(3, 2, 2, 2), torch.randn(3), length=8)


@pytest.mark.parametrize("dims", [1, 3])
def test_one_field_of_other_dimensions(dims: int) -> None:
    function = (F.conv1d, F.conv2d, F.conv3d)[dims - 1]
    check_operator(function, torch.randn(2, *[3] * dims), torch.randn(3, 2, *[2] * dims), length=16)


def test_a_transposed_field_without_a_batch() -> None:
    check_operator(F.conv_transpose2d, torch.randn(2, 3, 4), torch.randn(2, 3, 2, 2), torch.randn(3), length=8)


def test_convolution_of_halves() -> None:
    operands = (torch.randn(1, 2, 4, 4).half(), torch.randn(3, 2, 3, 3).half(), torch.randn(3).half())
    check_operator(F.conv2d, *operands, rtol=2e-2, length=18)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_general_form(transposed: bool) -> None:
    weight = torch.randn(4, 2, 3, 3)
    inputs = 4 if transposed else 2
    check_operator(
        lambda x, w: torch.convolution(x, w, None, [2, 1], [1, 0], [1, 1], transposed, [1 * transposed, 0], 1),
        torch.randn(2, inputs, 5, 4),
        weight,
        length=36,
    )


def test_a_convolution_infers() -> None:
    check_operator(F.conv2d, torch.randn(2, 2, 4, 4), torch.randn(3, 2, 2, 2), training=False, length=8)
