"""Layers over sequences take cycles in proportion to their steps: no step moves the whole sequence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from popvision import pva
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Sequence
from simulator.poplibs.popnn import NonLinearityType, gru, lstm, rnn
from simulator.poplibs.poputil import mapTensorLinearly

BATCH, FAN_IN, OUT = 2, 6, 16


def given(graph: Graph, steps: int, width: int, scattered: bool, otherwise: Tensor) -> Tensor:
    """`otherwise`, or a tensor of its shape whose steps lie on different tiles."""
    if not scattered:
        return otherwise
    tensor = graph.addVariable(FLOAT, [steps, BATCH, width], "scattered")
    mapTensorLinearly(graph, tensor)
    return tensor


def add_lstm(graph: Graph, prog: Sequence, steps: int, scattered: bool) -> None:
    params = lstm.LstmParams(FLOAT, BATCH, steps, [FAN_IN, OUT])
    x, state, weights = (f(graph, params) for f in (lstm.createInput, lstm.createInitialState, lstm.createWeights))
    x = given(graph, steps, FAN_IN, scattered, x)
    out, _, saved = lstm.lstmFwd(graph, params, state, x, weights, prog)
    assert saved is not None
    lstm.lstmBwd(graph, params, prog, state, saved, weights, x, out, given(graph, steps, OUT, scattered, out))


def add_gru(graph: Graph, prog: Sequence, steps: int, scattered: bool) -> None:
    params = gru.GruParams(FLOAT, BATCH, steps, [FAN_IN, OUT], resetAfter=True)
    x, state, weights = (f(graph, params) for f in (gru.createInput, gru.createInitialState, gru.createWeights))
    x = given(graph, steps, FAN_IN, scattered, x)
    out, saved = gru.gruFwd(graph, params, state, x, weights, prog)
    assert saved is not None
    gru.gruBwd(graph, params, prog, state, saved, weights, x, out, given(graph, steps, OUT, scattered, out))


def add_rnn(graph: Graph, prog: Sequence, steps: int, scattered: bool) -> None:
    x = given(graph, steps, FAN_IN, scattered, rnn.createInput(graph, steps, BATCH, FAN_IN, OUT, FLOAT))
    state = rnn.createFwdState(graph, FLOAT, BATCH, OUT, prog, True, False)
    forward = rnn.createWeightsInput(graph, steps, BATCH, FAN_IN, OUT, FLOAT)
    feedback = rnn.createWeightsFeedback(graph, BATCH, OUT, FLOAT)
    biases = graph.addVariable(FLOAT, [OUT], "biases")
    graph.setTileMapping(biases, 0)
    last = biases, forward, feedback
    out = rnn.rnnFwdSequence(graph, prog, state, None, *last, x, NonLinearityType.TANH)
    slope = given(graph, steps, OUT, scattered, out)
    rnn.rnnBwdSequence(graph, False, False, prog, state, out, *last, slope, x, NonLinearityType.TANH)


def cycles_of(add: Callable[[Graph, Sequence, int, bool], None], steps: int, scattered: bool, folder: Path) -> int:
    model = IPUModel()
    model.tilesPerIPU = 8
    device = model.createDevice()
    graph, prog = Graph(device), Sequence()
    add(graph, prog, steps, scattered)
    with Engine(graph, prog, {"autoReport.all": "true", "autoReport.directory": str(folder)}) as engine:
        engine.load(device)
        engine.run(0)
    return sum(ipu.cycles for step in pva.openReport(str(folder)).execution.steps for ipu in step.ipus)


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("add", [add_lstm, add_gru, add_rnn])
def test_cycles_grow_with_the_steps(add, scattered, tmp_path):
    """50 steps more cost the same from 10 steps and from 60. Scattered sequences are copied once, before the loops;
    their exchanges differ a little."""
    few, more, many = (cycles_of(add, steps, scattered, tmp_path / str(steps)) for steps in (10, 60, 110))
    assert many - more == pytest.approx(more - few, rel=0.02 if scattered else 0.01)
