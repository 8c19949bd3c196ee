"""Training steps with all reports, after the runs that the reports keep, take no longer than without."""

from __future__ import annotations

import statistics

import pytest
import torch

from benchmarks.frontends.pytorch_reports import ratios
from examples.pytorch.mnist_network import Network, WithLoss
from simulator.poplibs.poplin.products.blas_threads import in_one_thread


@pytest.mark.long
def test_a_step_takes_at_most_a_tenth_longer() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))
    with in_one_thread():
        plain, reporting = ratios(WithLoss(Network(dropout=0.0)), inputs, per_call=5, calls=41)
    assert statistics.median(with_ / without for without, with_ in zip(plain, reporting, strict=True)) < 1.10
