"""Recurrent layers on the device beside float64 torch: results, gradients of inputs, states and weights."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator, in_torch, on_ipu

STEPS, BATCH, SIZE, OUT = 4, 3, 5, 2


def check_layer(kind: Any, states: int, **named: Any) -> None:
    """Compare a layer whose weights are operands."""
    torch.manual_seed(1)
    named = {"num_layers": 1, "bidirectional": False, "bias": True, "batch_first": False, **named}
    layer = kind(SIZE, OUT, **named)
    weights = [one.detach() for one in layer._flat_weights]
    function = {"LSTM": torch.lstm, "GRU": torch.gru}.get(kind.__name__, torch.rnn_tanh)
    if named.get("nonlinearity") == "relu":
        function = torch.rnn_relu
    rows = named["num_layers"] * (1 + named["bidirectional"])
    first = [torch.randn(rows, BATCH, OUT) for _ in range(states)]

    def call(x: Any, *rest: Any) -> Any:
        given = list(rest[:states]) if states > 1 else rest[0]
        plain = (named["bias"], named["num_layers"], 0.0, True, named["bidirectional"], named["batch_first"])
        return function(x, given, list(rest[states:]), *plain)

    shape = (BATCH, STEPS, SIZE) if named["batch_first"] else (STEPS, BATCH, SIZE)
    check_operator(call, torch.randn(*shape), *first, *weights, length=STEPS * SIZE)


@pytest.mark.parametrize("named", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}])
def test_lstm(named: dict[str, Any]) -> None:
    check_layer(torch.nn.LSTM, 2, **named)


@pytest.mark.parametrize("named", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "batch_first": True}])
def test_gru(named: dict[str, Any]) -> None:
    check_layer(torch.nn.GRU, 1, **named)


@pytest.mark.parametrize("named", [{}, {"nonlinearity": "relu", "num_layers": 2}])
def test_plain(named: dict[str, Any]) -> None:
    check_layer(torch.nn.RNN, 1, **named)


def test_only_the_last_state_is_used() -> None:
    layer = torch.nn.LSTM(SIZE, OUT)
    weights = [one.detach() for one in layer._flat_weights]
    zeros = torch.zeros(1, BATCH, OUT)
    check_operator(
        lambda x, *w: torch.lstm(x, [zeros.to(x.dtype)] * 2, list(w), True, 1, 0.0, True, False, False)[2],
        torch.randn(1, BATCH, SIZE),
        *weights,
        length=SIZE,
    )


@pytest.mark.parametrize("result", [0, 1, 2])
def test_slopes_that_are_one_number(result: int) -> None:
    """The gradient of a plain sum is a broadcast of 1."""
    layer = torch.nn.LSTM(SIZE, OUT)
    inputs = torch.randn(STEPS, BATCH, SIZE)
    weights = [one.detach() for one in layer._flat_weights]
    zeros = torch.zeros(1, BATCH, OUT)

    def call(x: Any, *w: Any) -> Any:
        return torch.lstm(x, [zeros.to(x.dtype)] * 2, list(w), True, 1, 0.0, True, False, False)[result]

    factors = [torch.ones(())]
    _, got = on_ipu(call, [inputs, *weights], factors)
    _, expected = in_torch(call, [inputs, *weights], factors)
    for name, gradient in expected.items():
        np.testing.assert_allclose(got[name], gradient, rtol=1e-4, atol=1e-5, err_msg=name)
