"""Reductions on the device beside float64 torch."""

import torch

from tests.frontends.operators.operator_twin import check_operator

X = torch.randn(3, 4, 5)


def test_sums_and_means() -> None:
    check_operator(
        lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(), x.mean(-1), x.mean((0, 1), keepdim=True)),
        X,
        length=60,
    )


def test_halves_are_added_in_float() -> None:
    check_operator(
        lambda x: (x.sum(1), x.mean(0), x.sum(0, dtype=torch.float32)), torch.randn(300, 3).half(), rtol=2e-2
    )


def test_size_one_and_none() -> None:
    check_operator(lambda x, y: (x.sum(), x.mean(0), y.sum(1), y.prod(1)), torch.tensor(2.0), torch.randn(3, 1))
    check_operator(
        lambda x: (x[:0].sum(), x[:0].sum(0), x[:0].mean(0), x[:0].prod(), x[:0].logsumexp(0)), torch.randn(2, 3)
    )


def test_integers_and_bools() -> None:
    check_operator(
        lambda n: (
            n.sum(),
            n.sum(0),
            (n > 2).sum(1),
            n.prod(1),
            n.amax(0),
            n.min(),
            (n > 2).any(),
            (n > 0).all(1),
            n.any(0),
        ),
        torch.arange(12).reshape(3, 4),
        training=False,
    )


def test_extremes() -> None:
    check_operator(
        lambda x: (x.amax(1), x.amin((0, 2)), x.max(), x.min(), x.max(1).values, x.min(-1, keepdim=True)[0]), X
    )
    check_operator(
        lambda x: (*x.max(1), *x.min(2, keepdim=True), x.argmax(0), x.argmin(-1, keepdim=True), x.argmax()),
        X,
        training=False,
    )


def test_products_and_logarithms() -> None:
    check_operator(lambda x: (x.prod(1), x.prod()), X[0], rtol=1e-3)
    check_operator(lambda x: (x.logsumexp(1), x.logsumexp((0, 2), keepdim=True)), X, length=20)


def test_scans() -> None:
    with_zeros = torch.tensor([[2.0, 0.0, 3.0, -1.0, 0.5], [1.5, 2.0, 0.0, 0.0, 3.0], [-1.0, 2.0, 0.25, 3.0, 1.0]])
    check_operator(lambda x: (x.cumsum(0), x.cumsum(1), x.cumprod(0), x.cumprod(-1), x.prod(1), x.prod()), with_zeros)
    check_operator(
        lambda n: (n.cumsum(0), n.cumprod(1), (n > 3).cumsum(1)), torch.arange(12).reshape(3, 4), training=False
    )
    check_operator(lambda x: (x.cumsum(0), x.prod(0), x.cumprod(0)), torch.tensor(2.0))


def test_variances() -> None:
    check_operator(
        lambda x: (
            x.var(),
            x.var(1),
            x.var((0, 2), keepdim=True),
            x.std(0),
            x.std(-1, correction=0),
            x.var(2, correction=2),
        ),
        X,
        rtol=3e-4,
    )
    check_operator(lambda x: (*torch.var_mean(x, 1), *torch.std_mean(x, (0, 1))), X + 3, rtol=3e-4)
    check_operator(lambda x: (x.var(0, correction=0), x.std(1)), torch.randn(1, 3))
    check_operator(lambda x: x.var(0), torch.randn(40, 3).half(), rtol=2e-2)


def test_norms() -> None:
    norm = torch.linalg.vector_norm
    check_operator(
        lambda x: (
            x.norm(),
            norm(x, 1, 1),
            norm(x, 3, (0, 2), keepdim=True),
            norm(x, float("inf"), 2),
            x.norm(dim=1, p=2),
        ),
        X,
    )
    check_operator(
        lambda x: (norm(x, 0, 0), norm(x, -float("inf"), 1), norm(x, 0.5), x.count_nonzero(1)),
        X,
        training=False,
        rtol=1e-3,
    )
    check_operator(lambda x: (torch.nn.functional.normalize(x, dim=1), torch.dist(x, 2 * x, 1)), X)
    check_operator(lambda x: x.norm(dim=0), torch.full((100, 2), 30.0).half(), rtol=2e-2)
