"""Layers over sequences take cycles in proportion to their steps: no step moves the whole sequence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from popvision import pva
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Sequence
from simulator.poplibs.popnn import NonLinearityType, gru, lstm, rnn

BATCH, FAN_IN, OUT = 2, 6, 16


def add_lstm(graph: Graph, prog: Sequence, steps: int) -> None:
    params = lstm.LstmParams(FLOAT, BATCH, steps, [FAN_IN, OUT])
    x, state, weights = (f(graph, params) for f in (lstm.createInput, lstm.createInitialState, lstm.createWeights))
    out, _, saved = lstm.lstmFwd(graph, params, state, x, weights, prog)
    assert saved is not None
    lstm.lstmBwd(graph, params, prog, state, saved, weights, x, out, out)


def add_gru(graph: Graph, prog: Sequence, steps: int) -> None:
    params = gru.GruParams(FLOAT, BATCH, steps, [FAN_IN, OUT], resetAfter=True)
    x, state, weights = (f(graph, params) for f in (gru.createInput, gru.createInitialState, gru.createWeights))
    out, saved = gru.gruFwd(graph, params, state, x, weights, prog)
    assert saved is not None
    gru.gruBwd(graph, params, prog, state, saved, weights, x, out, out)


def add_rnn(graph: Graph, prog: Sequence, steps: int) -> None:
    x = rnn.createInput(graph, steps, BATCH, FAN_IN, OUT, FLOAT)
    state = rnn.createFwdState(graph, FLOAT, BATCH, OUT, prog, True, False)
    forward = rnn.createWeightsInput(graph, steps, BATCH, FAN_IN, OUT, FLOAT)
    feedback = rnn.createWeightsFeedback(graph, BATCH, OUT, FLOAT)
    biases = graph.addVariable(FLOAT, [OUT], "biases")
    graph.setTileMapping(biases, 0)
    last = biases, forward, feedback
    out = rnn.rnnFwdSequence(graph, prog, state, None, *last, x, NonLinearityType.TANH)
    rnn.rnnBwdSequence(graph, False, False, prog, state, out, *last, out, x, NonLinearityType.TANH)


def cycles_of(add: Callable[[Graph, Sequence, int], None], steps: int, folder: Path) -> int:
    model = IPUModel()
    model.tilesPerIPU = 8
    device = model.createDevice()
    graph, prog = Graph(device), Sequence()
    add(graph, prog, steps)
    with Engine(graph, prog, {"autoReport.all": "true", "autoReport.directory": str(folder)}) as engine:
        engine.load(device)
        engine.run(0)
    return sum(ipu.cycles for step in pva.openReport(str(folder)).execution.steps for ipu in step.ipus)


@pytest.mark.parametrize("add", [add_lstm, add_gru, add_rnn])
def test_cycles_grow_with_the_steps(add, tmp_path):
    """50 steps more cost the same from 10 steps and from 60."""
    few, more, many = (cycles_of(add, steps, tmp_path / str(steps)) for steps in (10, 60, 110))
    assert many - more == pytest.approx(more - few, rel=0.01)
