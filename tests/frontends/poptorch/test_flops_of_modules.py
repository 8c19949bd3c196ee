"""Floating point operations of convolutions, LSTMs and attention, forward and backward, against their formulas: two for
each multiply-add, of sizes that the AMP units take without padding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import simulator


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(16, 16, 3, bias=False)
        self.second = nn.Conv2d(16, 32, 1, bias=False)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x)).sum((1, 2, 3))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, 32, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.lstm(x)[0].sum((1, 2))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(64, 64, bias=False)

    def forward(self, x: Any) -> Any:
        heads = self.query(x).view(2, 16, 4, 16).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(heads, heads, heads).sum((1, 2, 3))


@pytest.fixture(autouse=True)
def with_flop_estimates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"autoReport.all":"true","profiler.includeFlopEstimates":"true"}')
    monkeypatch.chdir(tmp_path)


def trained(module: nn.Module, *shape: int) -> Any:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    return simulator.profile(module, torch.randn(shape), loss=lambda y: y.pow(2).sum(), optimizer=optimizer, tiles=16)


def products(report: Any, operation: str) -> list[int]:
    """Floating point operations of each product of an operation, executed once."""
    sets = report.compute_sets()
    chosen = sets["name"].str.contains(f"model/{operation}/", regex=False) & sets["name"].str.endswith("/Convolve")
    return sorted(sets[chosen]["flops"].tolist())


def test_convolutions_and_their_gradients() -> None:
    with trained(Convolutions(), 2, 16, 10, 10) as report:
        first, second = 2 * (2 * 8 * 8) * 16 * (16 * 9), 2 * (2 * 8 * 8) * 32 * 16
        assert products(report, "first/Conv") == [first]
        assert products(report, "second/Conv") == [second]
        # the images need no gradient: the first layer's is that of its weights alone
        assert products(report, "first/ConvGrad") == [first]
        assert products(report, "second/ConvGrad") == [second, second]


def test_an_lstm_and_its_gradient() -> None:
    batch, steps, inputs, hidden = 8, 5, 16, 32
    with trained(Recurrent(), batch, steps, inputs) as report:
        of_inputs, of_hidden = (2 * batch * 4 * hidden * size for size in (inputs, hidden))
        assert products(report, "lstm/LSTM") == [of_inputs + of_hidden]  # one product of the input and the last output
        # going back, two products of each step: for the input with the output before, and for the weights
        assert products(report, "lstm/LSTMGrad") == [of_inputs + of_hidden] * 2
        operations = report.operations(layer="poptorch").set_index("name")
        forward = operations.loc["model/lstm/LSTM"]
        sum_of_biases = 4 * hidden
        assert forward["flops"] == sum_of_biases + steps * (forward["once_flops"] - sum_of_biases)


def test_attention_and_its_gradient() -> None:
    with trained(Attention(), 2, 16, 64) as report:
        one = 2 * (2 * 4) * 16 * 16 * 16
        assert products(report, "Attention") == [one, one]  # scores, values
        assert products(report, "AttentionGrad") == [one] * 4  # of values, shares, queries, keys
