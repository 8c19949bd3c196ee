"""Elements by index, and sorting, on the device beside float64 torch."""

from typing import Any

import pytest
import torch

from simulator.base.errors import poplar_error
from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional
X = torch.randn(4, 3, 5)


def test_gather() -> None:
    along = [
        torch.tensor([[[2, 0], [1, 1]]]),
        torch.tensor([[[4, 0, 4, 2, 1, 1]] * 3] * 2),
        torch.tensor([[[1]], [[3]]]),
    ]
    check_operator(
        lambda x, a, b, c: (
            x.gather(1, a),
            x.gather(2, b),
            x.gather(0, c),
            torch.take_along_dim(x, b[:1], -1),
        ),
        X,
        *along,
    )
    check_operator(
        lambda n, i: (n.gather(0, i), (n > 2).gather(0, i)), torch.arange(7), torch.tensor([3, 3, 6]), training=False
    )


def test_scatter() -> None:
    check_operator(
        lambda x, i, s: (
            x.scatter(1, i, s),
            x.scatter(1, i, -2.0),
            x.scatter_add(1, i, s),
            x.scatter_reduce(1, i, s, "sum"),
        ),
        X,
        torch.tensor([[[2, 0, 1], [1, 1, 2]], [[0, 0, 0], [1, 2, 1]]]),
        torch.randn(2, 2, 3),
    )


def test_rows() -> None:
    check_operator(
        lambda x, i, s: (
            x.index_select(1, i),
            x.index_add(1, i, s, alpha=0.5),
            x.index_fill(2, i, 3.0),
            x[i],
            x[:, :, i],
        ),
        X,
        torch.tensor([2, 0, 0, 1]),
        torch.randn(4, 4, 5),
    )
    check_operator(lambda x, i, s: x.index_copy(0, i, s), X, torch.tensor([2, 0]), torch.randn(2, 3, 5))


def test_several_indices() -> None:
    a, b = torch.tensor([[0, -1], [2, 3]]), torch.tensor([1, -3])
    check_operator(lambda x, a, b: (x[a, b], x[a, :, b], x[:, b], x[a, b, 1:3], x[..., b]), X, a, b)


def test_writing_by_index() -> None:
    def write(x: torch.Tensor, v: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        one, two = x.clone(), x.clone()
        one[a] = v
        two[:, a[:2]] = 1.5
        return one, two, x.index_put((a,), v, accumulate=True)

    check_operator(write, X, torch.randn(3, 5), torch.tensor([1, 2, -1]))
    repeated = torch.tensor([1, 1, 1])
    check_operator(lambda x, v, a: x.index_put((a,), v, accumulate=True), X, torch.randn(3, 3, 5), repeated)


def test_writing_by_mask() -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        out = x * 1
        out[x > 0.5] = -1.0
        return out

    check_operator(write, X)


def _write_by_mask(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return x.index_put((torch.tensor([True, False, True, True]),), values[:, None, None])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, v: x[x > 0].sum(), "depends on data"),
        (lambda x, v: x.narrow(0, v.argmax(), 1), "depends on the data"),
        (lambda x, v: x[: int(v.argmax())], "depends on"),
        (_write_by_mask, "The gradient of aten.index_put.default cannot be captured"),
        (lambda x, v: x.masked_scatter(x > 0, x), "aten.masked_scatter.default"),
    ],
)
def test_what_depends_on_data_is_refused(function: Any, message: str) -> None:
    with pytest.raises(poplar_error, match=message):
        check_operator(function, X, torch.randn(3))


def test_writing_by_mask_infers_single_values_only() -> None:
    mask = torch.tensor([True, False, True, True])
    with pytest.raises(poplar_error, match="index_put with a mask of truth values"):
        check_operator(lambda x, m, v: x.index_put((m,), v), X[:, 0, 0], mask, torch.randn(3), training=False)


def test_one_hot_and_take() -> None:
    check_operator(lambda n, x: (F.one_hot(n, 4), x.take(n)), torch.tensor([[0, 3], [2, 1]]), X, training=False)


def test_halves() -> None:
    check_operator(
        lambda x, i: (x[i], x.gather(0, i[:, None, None].expand(3, 3, 5))), X.half(), torch.tensor([1, 0, 3]), rtol=2e-2
    )


def test_top_elements() -> None:
    check_operator(
        lambda x: (
            x.topk(2).values,
            x.topk(3, 0, largest=False).values,
            x.sort(1).values,
            x.sort(-1, True)[0],
            x.msort(),
        ),
        X,
    )
    check_operator(
        lambda x: (*x.topk(2, 1), *x.sort(0), x.argsort(2, descending=True), *torch.sort((x * 2).int(), stable=True)),
        X,
        training=False,
    )


def test_middle_elements() -> None:
    check_operator(lambda x: (x.kthvalue(2, 1).values, x.median(2).values, x.median()), X)
    check_operator(lambda x: (*x.kthvalue(3, 0, keepdim=True), *x.median(0)), X, training=False)
