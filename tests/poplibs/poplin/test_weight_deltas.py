"""The gradient of a convolution's weights: its activations are regrouped in runs of channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.poplar import FLOAT, Graph, Tensor
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import poplin
from simulator.poplibs.library_calls import LAYER
from simulator.poplibs.poplin import ConvParams, InputTransform
from simulator.poplibs.poplin.convolutions.build import expanded_acts
from simulator.poplibs.poplin.convolutions.params import weight_deltas
from simulator.poplibs.poplin.partials.rearrange import Rearrangement, transposed_in_blocks
from tests.poplibs.programs import both_ways, linear, small_graph

TILES, CHANNELS, FIELD = 16, 16, 6
PADDING = InputTransform(paddingLower=[1, 1], paddingUpper=[1, 1])
PARAMS = ConvParams(FLOAT, 2, [FIELD] * 2, [3, 3], CHANNELS, CHANNELS, 1, PADDING)


def test_activations_with_adjacent_channels_are_regrouped_in_runs() -> None:
    graph = small_graph(TILES)
    acts = linear(graph, FLOAT, [2, FIELD, FIELD, CHANNELS]).dimShuffle([3, 0, 1, 2])
    operand = expanded_acts(graph, acts, weight_deltas(PARAMS))
    steps = Rearrangement(graph, graph.addDebugInfo("deltas", LAYER))
    transposed_in_blocks(steps, operand, 8)
    (regroup,) = steps.regroups
    assert isinstance(regroup, Copy)
    assert len(regroup.source.regions()[0]) <= operand.numElements() / CHANNELS


def test_deltas_of_adjacent_channels_are_numpys() -> None:
    rng = np.random.default_rng(0)
    shape = (2, CHANNELS, FIELD, FIELD)
    slope, acts = (rng.integers(-2, 3, shape).astype(np.float32) for _ in range(2))

    def build(graph: Graph, prog: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        tensors = {name: poplin.createInput(graph, PARAMS, name) for name in ("slope", "acts")}
        deltas = poplin.calculateWeightDeltas(graph, tensors["slope"], tensors["acts"], PARAMS, prog, "deltas")
        return {"slope": (tensors["slope"], slope), "acts": (tensors["acts"], acts)}, deltas

    windows = np.lib.stride_tricks.sliding_window_view(np.pad(acts, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    wanted = np.einsum("noyx,niyxkl->oikl", slope, windows)
    for result in both_ways(build, TILES):
        np.testing.assert_array_equal(np.ravel(result), wanted.ravel())
