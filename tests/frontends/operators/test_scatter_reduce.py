"""Elements combined by index, beside torch: values and gradients of both tensors."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

X, SOURCE = torch.randn(3, 4), torch.randn(3, 5)
INDEX = torch.tensor([[0, 1, 1, 3], [3, 3, 3, 0]])
ALONG_ROWS = torch.tensor([[2, 0, 1], [2, 2, 1]])
KINDS = list(itertools.product(("sum", "mean", "prod", "amax", "amin"), (True, False)))


@pytest.mark.parametrize(("reduce", "include_self"), KINDS)
def test_scatter_reduce(reduce: str, include_self: bool) -> None:
    """The index is smaller than the tensor; two elements are named several times, one never."""
    check_operator(
        lambda x, s, t, i, j: (
            x.scatter_reduce(1, i, s, reduce, include_self=include_self),
            x.scatter_reduce(-2, j, t, reduce, include_self=include_self),
        ),
        X,
        SOURCE[:2, :4],
        SOURCE[1:, 1:4],
        INDEX,
        ALONG_ROWS,
    )


def test_a_source_larger_than_the_index() -> None:
    check_operator(lambda x, s, i: x.scatter_reduce(1, i, s, "prod"), X, SOURCE, INDEX, training=False)


@pytest.mark.parametrize(("reduce", "include_self"), KINDS)
def test_whole_numbers(reduce: str, include_self: bool) -> None:
    numbers = torch.tensor([[-7, 2, 5, -3], [1, 8, -4, 6]], dtype=torch.int32)
    check_operator(
        lambda x, s, i: x.scatter_reduce(1, i, s, reduce, include_self=include_self),
        numbers,
        torch.tensor([[3, -8, 5, 2], [-1, 4, 4, -9]], dtype=torch.int32),
        INDEX,
        training=False,
    )


def test_equal_extremes_share_the_gradient() -> None:
    x, s = torch.tensor([1.0, 2.0, 0.0]), torch.tensor([2.0, 2.0, 0.0, -1.0])
    check_operator(
        lambda x, s, i: (x.scatter_reduce(0, i, s, "amax"), x.scatter_reduce(0, i, s, "amin")),
        x,
        s,
        torch.tensor([1, 1, 2, 0]),
    )


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize(("reduce", "include_self"), [pair for pair in KINDS if pair[0] != "sum"])
def test_index_reduce(reduce: str, include_self: bool) -> None:
    check_operator(
        lambda x, s, i: x.index_reduce(1, i, s, reduce, include_self=include_self),
        X,
        torch.randn(3, 3),
        torch.tensor([3, 0, 3]),
    )


def test_scatter_with_a_value() -> None:
    check_operator(lambda x, i: x.scatter(1, i, -2.5), X, INDEX)


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
def test_the_older_spelling() -> None:
    def function(x: Any, s: Any, i: Any) -> Any:
        return (
            x.scatter(1, i, s, reduce="add"),
            x.scatter(1, i, s, reduce="multiply"),
            x.scatter(1, i, 2.0, reduce="add"),
            x.scatter(1, i, 2.0, reduce="multiply"),
        )

    check_operator(function, X, SOURCE, INDEX, training=False)


def test_one_element() -> None:
    check_operator(
        lambda x, i: (x.scatter_reduce(0, i, x * 2, "amax"), x.scatter_reduce(0, i, x * 2, "prod")),
        torch.tensor(-1.5),
        torch.tensor(0),
    )


def test_halves() -> None:
    def function(x: Any, s: Any, i: Any) -> Any:
        return tuple(x.scatter_reduce(1, i, s, reduce) for reduce in ("sum", "mean", "prod", "amax", "amin"))

    check_operator(function, X.half(), SOURCE.half(), INDEX, rtol=3e-3, training=False)
