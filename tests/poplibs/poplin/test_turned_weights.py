"""Weights with channels exchanged: values against NumPy, and the exchange code of whole groups of channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.compiler.compile import compile_graph
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poplin.convolutions.params import InputTransform, OutputTransform
from simulator.runtime.clock.device_clock import DeviceClock
from tests.poplibs.programs import both_ways, run_engine, small_graph

TILES = 16


def _weights(graph: Graph, channels: tuple[int, int], field: int, kernel: int, groups: int) -> tuple[Tensor, Tensor]:
    """Weights of a convolution, and of the gradient of its input, as their plans lay them out."""
    pad = InputTransform(paddingLower=[kernel // 2] * 2, paddingUpper=[kernel // 2] * 2)
    shape = ([field] * 2, [kernel] * 2, *channels, groups)
    params = poplin.ConvParams(FLOAT, 2, *shape, pad, InputTransform(), OutputTransform())
    turned = poplin.createWeights(graph, poplin.getGradientParams(params), "turned")
    return poplin.createWeights(graph, params, "weights"), turned


def _code_and_cycles(graph: Graph, prog: Sequence) -> tuple[int, int]:
    """(bytes of exchange code of the tile that has most, cycles of a run)."""
    compiled = compile_graph(graph.store, graph.getTarget(), [prog])
    lowered = compiled.lowered
    code = [work.exchange.code for work in lowered.table.work if work.exchange is not None and work.code]
    clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, compiled.machine)
    return int(np.sum(code, axis=0).max()), clock.run(lowered.branches[0]).cycles


@pytest.mark.parametrize(
    ("channels", "field", "kernel", "groups"),
    [
        ((64, 64), 4, 3, 1),
        ((64, 64), 1, 3, 1),
        ((32, 48), 4, 1, 1),
        ((40, 24), 3, 3, 1),
        ((12, 20), 5, 3, 2),
        ((1, 7), 4, 3, 1),
    ],
)
def test_turned_weights_are_numpys(channels: tuple[int, int], field: int, kernel: int, groups: int) -> None:
    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        weights, turned = _weights(graph, channels, field, kernel, groups)
        poplin.weightsTransposeChansFlipXY(graph, weights, turned, prog, "turn")
        return {"weights": (weights, np.arange(weights.numElements(), dtype=np.float32))}, turned

    shape = [groups, channels[1], channels[0], kernel, kernel]
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    wanted = values.swapaxes(1, 2)[..., ::-1, ::-1].reshape(-1)
    for result in (*both_ways(build, TILES), run_engine(build)):
        np.testing.assert_array_equal(np.ravel(result), wanted)


def test_turned_weights_at_their_addresses() -> None:
    model = IPUModel()
    model.tilesPerIPU = TILES
    device = model.createDevice()
    graph, prog = Graph(device), Sequence()
    weights, turned = _weights(graph, (64, 64), 4, 3, 1)
    poplin.weightsTransposeChansFlipXY(graph, weights, turned, prog, "turn")
    graph.createHostWrite("weights", weights)
    graph.createHostRead("turned", turned)
    values = np.arange(weights.numElements(), dtype=np.float32).reshape(weights.shape())
    out = np.zeros(turned.shape(), np.float32)
    with Engine(graph, prog, {"popvision.addressAccurate": "true"}) as engine:
        engine.load(device)
        engine.writeTensor("weights", values)
        engine.run(0)
        engine.readTensor("turned", out)
    np.testing.assert_array_equal(out, values.swapaxes(1, 2)[..., ::-1, ::-1])


@pytest.mark.parametrize("field", [4, 1])
def test_whole_groups_of_channels_are_exchanged(field: int) -> None:
    most = []
    for direct in (True, False):
        graph, prog = small_graph(TILES), Sequence()
        weights, turned = _weights(graph, (64, 64), field, 3, 1)
        if direct:
            prog.add(Copy(weights.dimShuffle([0, 2, 1, 3, 4]).reverse(3).reverse(4), turned))
        else:
            poplin.weightsTransposeChansFlipXY(graph, weights, turned, prog, "turn")
        most.append(_code_and_cycles(graph, prog))
    (straight_code, straight), (code, cycles) = most
    assert code <= straight_code  # single words land as one message, and are unpacked one by one
    assert 2 * cycles < straight
