"""poplin.convolution: results of vertices, of the kernel and of SciPy; gradients; the plan; its steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.building.estimates import elements_of
from simulator.poplar import FLOAT, HALF, Graph, Tensor, graph_connection_error, poplar_error, type_error
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poplin import ConvParams, InputTransform, OutputTransform
from simulator.poplibs.poplin.convolutions import plan_lookup
from simulator.poplibs.poplin.planning.canonical_params import Dtype
from simulator.poplibs.poplin.planning.convolution_planner import plan_convolution
from simulator.poplibs.poplin.planning.methods import Method
from simulator.poplibs.poplin.planning.sliding_work import Box, sliding_cycles
from tests.poplibs.programs import both_ways, linear, small_graph


def params_of(
    type_: Any,
    batch: int,
    field: list[int],
    kernel: list[int],
    channels: tuple[int, int],
    groups: int = 1,
    stride: list[int] | None = None,
    padding: tuple[list[int], list[int]] | None = None,
    dilation: list[int] | None = None,
    input_dilation: list[int] | None = None,
) -> ConvParams:
    low, high = padding or ([], [])
    return ConvParams(
        type_,
        batch,
        field,
        kernel,
        *channels,
        groups,
        InputTransform(paddingLower=low, paddingUpper=high, dilation=input_dilation or []),
        InputTransform(dilation=dilation or []),
        OutputTransform(stride=stride or []),
    )


def by_scipy(x: Any, w: Any, params: ConvParams) -> Any:
    """[batch, channels, field] by [groups, out, in, kernel], in float64, with each transform written out."""
    from scipy import signal  # as slow to import as all of these tests to collect

    t, k, o = params.inputTransform, params.kernelTransform, params.outputTransform
    dims = params.getNumFieldDims()

    def spread(values: Any, transform: InputTransform) -> Any:
        """The last dimensions transformed."""
        outer = values.shape[:-dims]
        cut = zip(transform.truncationLower, transform.truncationUpper, values.shape[-dims:], strict=True)
        values = values[(..., *(slice(a, n - b) for a, b, n in cut))]
        sizes = zip(values.shape[-dims:], transform.dilation, strict=True)
        out = np.zeros((*outer, *((n - 1) * d + 1 for n, d in sizes)))
        out[(..., *(slice(None, None, d) for d in transform.dilation))] = values
        padding = zip(transform.paddingLower, transform.paddingUpper, strict=True)
        out = np.pad(out, [*[(0, 0)] * len(outer), *padding])
        return np.flip(out, [len(outer) + d for d in range(dims) if transform.flip[d]])

    inputs, outputs = params.inputChannels, params.outputChannels
    out = np.zeros((x.shape[0], w.shape[0] * outputs, *params.getOutputFieldShape()))
    acts, weights = spread(x, t), spread(w, k)
    for b, g, u in np.ndindex(x.shape[0], w.shape[0], outputs):
        # The channels are one more dimension, with a single place.
        total = signal.correlate(acts[b, g * inputs : (g + 1) * inputs], weights[g, u], "valid", "direct")[0]
        cut = zip(o.truncationLower, o.truncationUpper, total.shape, strict=True)
        total = total[tuple(slice(a, n - c) for a, c, n in cut)][tuple(slice(None, None, s) for s in o.stride)]
        out[b, g * outputs + u] = np.pad(total, list(zip(o.paddingLower, o.paddingUpper, strict=True)))
    return out


def operands(params: ConvParams, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(params.batchSize, params.getNumInputChans(), *params.inputFieldShape))
    shape = (params.numConvGroups, params.outputChannels, params.inputChannels, *params.kernelShape)
    return x.astype(params.inputType.dtype), rng.normal(size=shape).astype(params.inputType.dtype)


def checked(params: ConvParams, tiles: int, laid_out: bool = True, options: Any = None) -> None:
    x, w = operands(params)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        if laid_out:
            acts, weights = (
                poplin.createInput(graph, params, "x", options),
                poplin.createWeights(graph, params, "w", options),
            )
        else:
            acts, weights = (linear(graph, params.inputType, list(v.shape)) for v in (x, w))
        assert (acts.shape(), weights.shape()) == (list(x.shape), list(w.shape))
        out = poplin.convolution(graph, acts, weights, params, False, program, "c", options)
        return {"x": (acts, x), "w": (weights, w)}, out

    exact = by_scipy(x.astype(np.float64), w.astype(np.float64), params)
    for result in both_ways(build, tiles):
        assert result.shape == exact.shape
        assert result.dtype == params.outputType.dtype
        bound = 1e-5 if params.outputType is FLOAT else 2e-3
        assert np.abs(result - exact).max() <= bound * max(1.0, float(np.abs(exact).max()))


SIZES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 18), st.integers(1, 18))


@given(
    SIZES,
    st.tuples(*[st.integers(1, 9)] * 2),
    st.tuples(*[st.integers(1, 4)] * 2),
    st.tuples(*[st.integers(1, 3)] * 2),
    st.tuples(*[st.integers(0, 2)] * 2),
    st.integers(1, 2),
    st.integers(1, 2),
    st.sampled_from([1, 5, 32]),
    st.booleans(),
    st.booleans(),
)
def test_any_convolution_on_any_number_of_tiles(
    sizes: tuple[int, int, int, int],
    field: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: int,
    input_dilation: int,
    tiles: int,
    half: bool,
    laid_out: bool,
) -> None:
    batch, groups, inputs, outputs = sizes
    low, high = list(padding), [padding[1], padding[0]]
    reach = [(k - 1) * dilation + 1 for k in kernel]
    have = [(n - 1) * input_dilation + 1 + a + b for n, a, b in zip(field, low, high, strict=True)]
    if any(h < r for h, r in zip(have, reach, strict=True)):
        kernel = (1, 1)
    params = params_of(
        HALF if half else FLOAT,
        batch,
        list(field),
        list(kernel),
        (inputs, outputs),
        groups,
        list(stride),
        (low, high),
        [dilation] * 2,
        [input_dilation] * 2,
    )
    checked(params, tiles, laid_out)


@pytest.mark.parametrize(
    ("method", "type_", "channels", "groups"),
    [
        ("AMP", FLOAT, (12, 20), 1),
        ("AMP", HALF, (5, 16), 2),
        ("HMAC", FLOAT, (3, 5), 2),
        ("HMAC", HALF, (6, 4), 1),
        ("VMAC", HALF, (1, 1), 9),
    ],
)
@pytest.mark.parametrize("tiles", [1, 24])
def test_boxes_with_halos(
    method: str, type_: Any, channels: tuple[int, int], groups: int, tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vertices that slide over a kernel: strides, odd sizes, uneven padding, dilation, split input channels."""
    monkeypatch.setattr(plan_lookup, "plan_convolution", partial(plan_convolution, form="sliding"))
    options = {"planConstraints": {"method": method}}
    for stride, dilation, input_dilation in (
        ([1, 1], [1, 1], [1, 1]),
        ([2, 3], [1, 2], [1, 1]),
        ([1, 2], [1, 1], [2, 3]),
    ):
        params = params_of(
            type_, 2, [7, 10], [3, 2], channels, groups, stride, ([1, 2], [0, 1]), dilation, input_dilation
        )
        checked(params, tiles, stride == [1, 1], options)


def test_one_dimension_and_three() -> None:
    checked(params_of(FLOAT, 2, [11], [4], (3, 5), 1, [2], ([1], [3])), 8)
    checked(params_of(FLOAT, 1, [4, 5, 3], [2, 3, 2], (2, 3)), 8)


def test_every_transform() -> None:
    params = ConvParams(
        FLOAT, HALF, 1, [9, 8], [5, 3], 2, 3, 1,
        InputTransform([1, 0], [0, 2], [2, 1], [0, 2], [1, 1], [True, False]),
        InputTransform([1, 0], [1, 0], [1, 2], [1, 0], [0, 0], [False, True]),
        OutputTransform([1, 0], [0, 1], [2, 1], [1, 0], [0, 2]),
    )  # fmt: skip
    checked(params, 6)
    checked(params, 6, laid_out=False)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("stride", "padding"), [([1, 1], [1, 1]), ([2, 1], [0, 2]), ([2, 3], [1, 0])])
def test_gradients_are_those_of_finite_differences(groups: int, stride: list[int], padding: list[int]) -> None:
    params = params_of(FLOAT, 2, [6, 5], [3, 2], (3, 4), groups, stride, (padding, padding), [1, 2])
    gradients_agree(params)


@pytest.mark.parametrize("flips", [(True, False, False, True), (True, True, True, False)])
def test_gradients_through_flips_cuts_and_padded_outputs(flips: tuple[bool, ...]) -> None:
    params = ConvParams(
        FLOAT, 1, [9, 8], [5, 3], 2, 3, 2,
        InputTransform([1, 0], [0, 2], [2, 1], [0, 2], [1, 1], list(flips[:2])),
        InputTransform([1, 0], [1, 0], [1, 2], [1, 0], [0, 0], list(flips[2:])),
        OutputTransform([1, 0], [0, 1], [2, 1], [1, 0], [0, 2]),
    )  # fmt: skip
    gradients_agree(params)


def gradients_agree(params: ConvParams) -> None:
    """sum(slope * convolution) is bilinear, so one difference equals its gradient except for rounding."""
    x, w = (v.astype(np.float64) for v in operands(params))
    outputs = (params.batchSize, params.getNumOutputChans(), *params.getOutputFieldShape())
    slope = np.random.default_rng(5).normal(size=outputs)

    def differences(grad: Any, first: bool) -> None:
        """Along random directions, which involve all elements."""
        for direction in np.random.default_rng(6).normal(size=(4, *grad.shape)):
            moved = by_scipy(direction, w, params) if first else by_scipy(x, direction, params)
            np.testing.assert_allclose((grad * direction).sum(), (slope * moved).sum(), atol=1e-3)

    def of_input(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        grad, weights = linear(graph, FLOAT, list(slope.shape)), poplin.createWeights(graph, params, "w")
        back = poplin.getGradientParams(params)
        out = poplin.convolution(graph, grad, weights, back, True, program, "bwd")
        return {"g": (grad, slope), "w": (weights, w)}, out

    def of_weights(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        grad, acts = linear(graph, FLOAT, list(slope.shape)), poplin.createInput(graph, params, "x")
        out = poplin.calculateWeightDeltas(graph, grad, acts, params, program, "wu")
        return {"g": (grad, slope), "x": (acts, x)}, out

    for result in both_ways(of_input, 8):
        differences(result, True)
    for result in both_ways(of_weights, 8):
        differences(result, False)


def test_updates_move_weights_and_biases() -> None:
    params = params_of(FLOAT, 2, [4, 4], [3, 3], (2, 3), padding=([1, 1], [1, 1]))
    rng = np.random.default_rng(2)
    x, w = operands(params)
    slope = rng.normal(size=(2, 3, 4, 4)).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        weights, biases = poplin.createWeights(graph, params, "w"), linear(graph, FLOAT, [3])
        acts, grad = linear(graph, FLOAT, list(x.shape)), linear(graph, FLOAT, list(slope.shape))
        poplin.convolutionWeightUpdate(graph, grad, weights, acts, params, -0.5, program)
        poplin.convolutionBiasUpdate(graph, grad, biases, -0.5, program)
        out = poplin.convolution(graph, acts, weights, params, False, program)
        poplin.addBias(graph, out, biases, program)
        return {"x": (acts, x), "w": (weights, w), "g": (grad, slope), "b": (biases, [1.0, 2.0, 3.0])}, out

    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    moved = w - 0.5 * np.einsum("boyx,biyxkl->oikl", slope, views)[None]
    biases = np.array([1.0, 2.0, 3.0]) - 0.5 * slope.sum((0, 2, 3))
    exact = np.einsum("oikl,biyxkl->boyx", moved[0], views) + biases[None, :, None, None]
    for result in both_ways(build, 6):
        np.testing.assert_allclose(result, exact, atol=1e-3)


def test_cycles_of_a_convolution_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tile, 3 x 3 kernel, six rows of five positions, 16 floats in (two groups), 16 out (one group of units).

        T = 109 + 54 + 6 * 9 + (17 out + 6 (out - 1) + 1) + 1 + 16 + in (14 + out (14 + I)) (published 7.5)

    For each kernel position I is the sum of: weight load 16 units * 8 floats * 4 B / 8 = 64, supervisor 18, six workers
    with one row of five: 17 + 3 + 45 + 8 * 2 - 9."""
    monkeypatch.setattr(plan_lookup, "plan_convolution", partial(plan_convolution, form="sliding"))
    params = params_of(FLOAT, 1, [8, 7], [3, 3], (16, 16))
    options = {"planConstraints": {"method": "AMP"}}
    graph, program = small_graph(1), Sequence()
    acts, weights = poplin.createInput(graph, params, "x", options), poplin.createWeights(graph, params, "w", options)
    poplin.convolution(graph, acts, weights, params, False, program, "c", options)
    (block,) = [b for b in graph.store.blocks if "ConvPartialnx1" in b.type.name]
    worker = 17 + 3 + 45 + 8 * (5 - 3) - 9
    one = 64 + 18 + max(6 * worker, 6 * worker + 9)
    inner = 3 * (14 + 3 * (12 + one))
    spent = 109 + 54 + 54 + 17 + 1 + 1 + 16 + 2 * (14 + 14 + inner)
    assert "float,float,true,false,16" in block.type.name
    assert int(block.type.costs(block, elements_of(block), None).cycles[0]) == spent
    assert block.flops is not None
    assert int(block.flops[0]) == 2 * params.planned().macs


def test_steps_carry_poplibs_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_lookup, "plan_convolution", partial(plan_convolution, form="sliding"))
    params = params_of(FLOAT, 1, [6, 6], [3, 3], (64, 16), padding=([1, 1], [1, 1]))
    options = {"planConstraints": {"method": "AMP", "0": {"partition": {"inChanSplit": {"parallel": 2}}}}}
    graph, program = small_graph(8), Sequence()
    acts, weights = (linear(graph, FLOAT, s) for s in ([1, 64, 6, 6], [1, 16, 64, 3, 3]))
    poplin.convolution(graph, acts, weights, params, False, program, "c", options)
    assert graph.store.compute_set_names == [f"c/Conv_3x3/{s}" for s in ("Transpose_#0", "Convolve", "Reduce0")]
    assert {f"c/Conv_3x3/{n}" for n in ("preRegroup", "actsRearranged", "weightsRearranged", "worklists")} <= set(
        graph.store.variables.name
    )


@given(st.integers(1, 16), st.integers(1, 40), st.integers(1, 4), st.sampled_from([1, 3]), st.booleans())
def test_cycles_grow_with_work(rows: int, width: int, groups: int, kernel: int, half: bool) -> None:
    """Cycles of one vertex, over channels, positions and kernel positions."""
    method = Method("AMP", "float", 1, 16 if half else 8, 16, 16)

    def cycles(rows: int, width: int, groups: int, kernel: int) -> int:
        one = (np.array([1]), np.array([groups]), np.array([groups]))
        box = Box(np.array([rows]), np.array([width]))
        dtype: Dtype = "half" if half else "float"
        return int(sliding_cycles(method, dtype, (kernel, kernel), box, one, box.rows * box.width, False)[0])

    base = cycles(rows, width, groups, kernel)
    assert cycles(rows, width, groups + 1, kernel) > base
    assert cycles(rows, width, groups, kernel + 1) > base
    assert cycles(rows * 6, width, groups, kernel) > base
    assert cycles(rows, width + 6, groups, kernel) >= base


def test_what_is_no_convolution_is_refused() -> None:
    with pytest.raises(poplar_error, match="does not fit into the input"):
        params_of(FLOAT, 1, [2, 2], [3, 3], (1, 1))
    with pytest.raises(poplar_error, match="as many dimensions"):
        params_of(FLOAT, 1, [2, 2], [1], (1, 1))
    with pytest.raises(poplar_error, match="values for a field of 2"):
        params_of(FLOAT, 1, [2, 2], [1, 1], (1, 1), stride=[2])
    params = params_of(FLOAT, 1, [4, 4], [3, 3], (2, 2))
    graph = small_graph(2)
    x, w = linear(graph, FLOAT, [1, 2, 4, 4]), linear(graph, FLOAT, [1, 2, 2, 3, 3])
    with pytest.raises(graph_connection_error, match="the weights has shape"):
        poplin.convolution(graph, x, w.slice(0, 1, 1), params, False, Sequence())
    with pytest.raises(type_error, match="the input holds half"):
        poplin.convolution(graph, linear(graph, HALF, [1, 2, 4, 4]), w, params, False, Sequence())
