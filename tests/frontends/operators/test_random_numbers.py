"""Random numbers of the device: values in range, and mean and variance of the distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import distributions

from tests.frontends.operators.operator_twin import on_ipu

N = 4000
ONE = torch.ones(N)

#: function of a tensor of ones, mean, variance, least value, largest value
DRAWS: dict[str, tuple[Callable[[Any], Any], float, float, float, float]] = {
    "normal of two tensors": (lambda x: torch.normal(x * 3, x * 2), 3, 4, -9, 15),
    "normal of a tensor and a number": (lambda x: torch.normal(x, 0.5), 1, 0.25, -2, 4),
    "normal of a number and a tensor": (lambda x: torch.normal(1.0, x), 1, 1, -5, 7),
    "exponential_": (lambda x: x.clone().exponential_(2.0), 0.5, 0.25, 1e-9, 20),
    "geometric_": (lambda x: x.clone().geometric_(0.25), 4, 12, 1, 200),
    "log_normal_": (lambda x: x.clone().log_normal_(0, 0.5), 1.1331, 0.3647, 0, 20),
    "random_ between": (lambda x: x.clone().random_(2, 6), 3.5, 1.25, 2, 5),
    "random_ below": (lambda x: x.clone().random_(5), 2, 2, 0, 4),
    "random_ of whole numbers": (lambda x: x.int().random_(-3, 3), -0.5, 35 / 12, -3, 2),
    "randint_like": (lambda x: torch.randint_like(x, 3, 7), 4.5, 1.25, 3, 6),
    "bernoulli_ of a tensor": (lambda x: x.clone().bernoulli_(x * 0.3), 0.3, 0.21, 0, 1),
    "multinomial": (lambda x: torch.multinomial(torch.tensor([1.0, 0, 3]), N, True), 1.5, 0.75, 0, 2),
    "Normal": (lambda x: distributions.Normal(x, 2.0).sample(), 1, 4, -12, 14),
    "Uniform": (lambda x: distributions.Uniform(x, x + 2).rsample(), 2, 1 / 3, 1, 3),
    "Exponential": (lambda x: distributions.Exponential(x * 2).rsample(), 0.5, 0.25, 0, 20),
    "Bernoulli": (lambda x: distributions.Bernoulli(x * 0.25).sample(), 0.25, 0.1875, 0, 1),
    "Laplace": (lambda x: distributions.Laplace(x, 1.0).rsample(), 1, 2, -20, 20),
    "Gumbel": (lambda x: distributions.Gumbel(x, 1.0).rsample(), 1.5772, 1.6449, -5, 20),
    "Categorical": (lambda x: distributions.Categorical(torch.ones(N, 4)).sample(), 1.5, 1.25, 0, 3),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_mean_and_variance_of_their_distribution(name: str) -> None:
    function, mean, variance, least, largest = DRAWS[name]
    (drawn,), _ = on_ipu(function, [ONE], None)
    assert drawn.shape == (N,)
    assert least <= drawn.min()
    assert drawn.max() <= largest
    assert drawn.mean() == pytest.approx(mean, abs=5 * (variance / N) ** 0.5)
    assert drawn.var() == pytest.approx(variance, rel=0.25)


def test_numbers_from_a_range_take_all_of_it() -> None:
    (drawn,), _ = on_ipu(lambda x: x.clone().random_(-2, 4), [ONE], None)
    assert sorted(set(drawn.tolist())) == [-2, -1, 0, 1, 2, 3]


def test_half_of_cauchys_numbers_lie_within_its_scale() -> None:
    (drawn,), _ = on_ipu(lambda x: x.clone().cauchy_(1, 2), [ONE], None)
    assert np.mean(np.abs(drawn - 1) < 2) == pytest.approx(0.5, abs=0.04)


def test_a_permutation_has_each_number_once() -> None:
    (first, second), _ = on_ipu(lambda x: (torch.randperm(100), torch.randperm(100)), [ONE], None)
    assert sorted(first) == sorted(second) == list(range(100))
    assert list(first) != list(second)


def test_samples_without_replacement_differ() -> None:
    (drawn,), _ = on_ipu(lambda x: torch.multinomial(torch.tensor([[1.0, 0, 2, 3]] * 50), 3), [ONE], None)
    assert {tuple(sorted(row)) for row in drawn} == {(0, 2, 3)}


def test_draws_have_no_gradient_and_parameters_of_reparametrised_ones_have() -> None:
    def function(x: Any) -> Any:
        return torch.normal(x, 1.0), x.clone().exponential_(), distributions.Normal(x, 1.0).rsample()

    ones = [torch.ones(4) for _ in range(3)]
    _, gradients = on_ipu(function, [torch.ones(4)], ones)
    np.testing.assert_allclose(gradients["operand0"], 1, rtol=1e-5)


def test_densities_are_those_of_torch() -> None:
    def function(x: Any) -> Any:
        normal = distributions.Normal(x, 2.0)
        return (
            normal.log_prob(x + 1),
            distributions.kl_divergence(normal, distributions.Normal(0.0, 1.0)),
            distributions.Categorical(logits=x).entropy(),
        )

    x = torch.randn(5)
    got, _ = on_ipu(function, [x], None)
    for mine, theirs in zip(got, function(x), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
