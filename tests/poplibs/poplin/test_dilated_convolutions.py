"""Convolutions of dilated inputs (gradients of strides) and by kernels larger than their outputs (gradients of
depthwise weights): what tiles share out, and what it costs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from simulator.building.estimates import elements_of
from simulator.poplar import FLOAT, HALF, Graph, Tensor
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poplin import ConvParams, InputTransform, OutputTransform
from simulator.poplibs.poplin.convolutions import plan_lookup
from simulator.poplibs.poplin.convolutions.params import weight_deltas
from simulator.poplibs.poplin.planning.convolution_planner import ConvPlan, plan_convolution
from tests.poplibs.programs import both_ways, small_graph


def test_a_kernel_position_meets_one_output_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tile, 2 x 2 kernel, an input of 3 x 3 with zeros between: 4 x 4 outputs, four blocks of 2 x 2. For each
    kernel position four of six workers have one item of one output. Terms as in test_cycles_of_a_convolution_by_hand.
    """
    monkeypatch.setattr(plan_lookup, "plan_convolution", partial(plan_convolution, form="sliding"))
    params = ConvParams(FLOAT, 1, [3, 3], [2, 2], 8, 16, 1, InputTransform(dilation=[2, 2]))
    options = {"planConstraints": {"method": "AMP"}}
    graph, program = small_graph(1), Sequence()
    acts, weights = poplin.createInput(graph, params, "x", options), poplin.createWeights(graph, params, "w", options)
    poplin.convolution(graph, acts, weights, params, False, program, "c", options)
    (block,) = [b for b in graph.store.blocks if "ConvPartialnx1" in b.type.name]
    one = 64 + 18 + 6 * (17 + 3 + 33 - 9)
    spent = 109 + 54 + 54 + 17 + 1 + 1 + 16 + 14 + 14 + 2 * (14 + 2 * (12 + one))
    assert int(block.type.costs(block, elements_of(block), None).cycles[0]) == spent
    assert block.flops is not None
    assert int(block.flops[0]) == 2 * 4 * 4 * 8 * 16  # every output meets one input


def test_padding_costs_no_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_lookup, "plan_convolution", partial(plan_convolution, form="sliding"))
    spent = []
    for padding in (1, 3):
        transform = InputTransform(paddingLower=[padding] * 2, paddingUpper=[padding] * 2)
        params = ConvParams(FLOAT, 1, [12 - 2 * padding] * 2, [3, 3], 8, 16, 1, transform)
        graph, options = small_graph(1), {"planConstraints": {"method": "AMP"}}
        x, w = poplin.createInput(graph, params, "x", options), poplin.createWeights(graph, params, "w", options)
        poplin.convolution(graph, x, w, params, False, Sequence(), "c", options)
        (block,) = [b for b in graph.store.blocks if "ConvPartialnx1" in b.type.name]
        spent.append(int(block.type.costs(block, elements_of(block), None).cycles[0]))
    assert spent[1] < 0.8 * spent[0]


def test_gradient_of_a_strided_pointwise_convolution_dilates_its_output() -> None:
    """PopLibs' dilatePostConv: the product has as many positions as the gradient of the output."""
    forward = ConvParams(HALF, 2, [6, 7], [1, 1], 16, 8, 1, outputTransform=OutputTransform(stride=[2, 2]))
    params = poplin.getGradientParams(forward)
    rng = np.random.default_rng(2)
    slope, w = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((2, 8, 3, 4), (1, 8, 16, 1, 1)))

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        acts, weights = poplin.createInput(graph, params, "dy"), poplin.createWeights(graph, forward, "w")
        out = poplin.convolution(graph, acts, weights, params, True, program, "bwd")
        positions = [b for b in graph.store.blocks if "ConvPartial1x1Out" in b.type.name]
        assert sum(int(elements_of(b)["out"].sum()) for b in positions) == 2 * 3 * 4 * 16
        return {"dy": (acts, slope), "w": (weights, w)}, out

    wanted = np.zeros((2, 16, 6, 7))
    wanted[:, :, ::2, ::2] = np.einsum("nuyx,ui->niyx", slope, w[0, :, :, 0, 0])
    for result in both_ways(build, 6):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(("tiles", "stride"), [(1, 1), (9, 1), (40, 2)])
def test_tiles_share_the_kernel_of_a_depthwise_weight_update(
    tiles: int, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = []

    def in_parts(*arguments: Any) -> ConvPlan:
        forms.append(plan_convolution(*arguments, form="in parts"))
        return forms[-1]

    padding = InputTransform(paddingLower=[1, 0], paddingUpper=[1, 2])
    params = ConvParams(
        HALF, 2, [12, 6], [3, 2], 1, 1, 8, padding, outputTransform=OutputTransform(stride=[stride] * 2)
    )
    height, width = params.getOutputFieldShape()
    rng = np.random.default_rng(tiles)
    x, slope = (rng.integers(-2, 3, (2, 8, *n)).astype(np.float16) for n in ((12, 6), (height, width)))

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        acts = poplin.createInput(graph, params, "x")
        deltas = poplin.createInput(graph, poplin.getGradientParams(params), "dy")
        with monkeypatch.context() as patch:
            patch.setattr(plan_lookup, "plan_convolution", in_parts)
            out = poplin.calculateWeightDeltas(graph, deltas, acts, params, program, "wu")
        return {"x": (acts, x), "dy": (deltas, slope)}, out

    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[:, :, ::stride, ::stride]
    wanted = np.einsum("ngyx,ngyxkl->gkl", slope, windows[:, :, :height, :width])
    for result in both_ways(build, tiles):
        np.testing.assert_allclose(np.reshape(result, wanted.shape), wanted, atol=0.5)
    (chosen,) = forms
    assert chosen.plan.params.in_channels == 2 * height // chosen.plan.params.kernel[0]


def test_large_depthwise_weight_updates_are_planned_in_parts() -> None:
    forward = ConvParams(HALF, 4, [56, 56], [3, 3], 1, 1, 128, InputTransform(paddingLower=[1, 1], paddingUpper=[1, 1]))
    graph = small_graph(1472)
    chosen = plan_lookup.look_up_convolution_plan(graph.getTarget(), weight_deltas(forward), None)
    assert chosen.form == "in parts"
    assert "vertex slides over parts of the kernel" in chosen.describe()
    assert chosen.plan.tiles > 1000
