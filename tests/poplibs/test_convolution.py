"""poplin.convolution: results by vertices, by kernel and in SciPy; gradients; the plan; the steps it is built of."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import both_ways, linear
from scipy import signal

from simulator.poplar import FLOAT, HALF, Graph, Tensor
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poplin import ConvParams, InputTransform, OutputTransform, conv_api
from simulator.poplibs.poplin.conv_planner import plan_convolution


def params_of(
    type_: Any, batch: int, field: list[int], kernel: list[int], channels: tuple[int, int], groups: int = 1,
    stride: list[int] | None = None, padding: tuple[list[int], list[int]] | None = None,
    dilation: list[int] | None = None, input_dilation: list[int] | None = None,
) -> ConvParams:  # fmt: skip
    low, high = padding or ([], [])
    return ConvParams(
        type_, batch, field, kernel, *channels, groups,
        InputTransform(paddingLower=low, paddingUpper=high, dilation=input_dilation or []),
        InputTransform(dilation=dilation or []), OutputTransform(stride=stride or []),
    )  # fmt: skip


def by_scipy(x: Any, w: Any, params: ConvParams) -> Any:
    """[batch, channels, field] by [groups, out, in, kernel], in float64, with every transform written out."""
    t, k, o = params.inputTransform, params.kernelTransform, params.outputTransform
    dims = params.getNumFieldDims()

    def spread(values: Any, transform: InputTransform) -> Any:
        size = values.shape
        cut = tuple(
            slice(a, n - b) for a, b, n in zip(transform.truncationLower, transform.truncationUpper, size, strict=True)
        )
        values = values[cut]
        out = np.zeros([(n - 1) * d + 1 for n, d in zip(values.shape, transform.dilation, strict=True)])
        out[tuple(slice(None, None, d) for d in transform.dilation)] = values
        out = np.pad(out, list(zip(transform.paddingLower, transform.paddingUpper, strict=True)))
        return np.flip(out, [d for d in range(dims) if transform.flip[d]])

    inputs, outputs = params.inputChannels, params.outputChannels
    out = np.zeros((x.shape[0], w.shape[0] * outputs, *params.getOutputFieldShape()))
    for b, g, u in np.ndindex(x.shape[0], w.shape[0], outputs):
        total = sum(
            signal.correlate(spread(x[b, g * inputs + i], t), spread(w[g, u, i], k), "valid") for i in range(inputs)
        )
        cut = tuple(slice(a, n - c) for a, c, n in zip(o.truncationLower, o.truncationUpper, total.shape, strict=True))
        total = total[cut][tuple(slice(None, None, s) for s in o.stride)]
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
                poplin.createInput(graph, params, "x", options), poplin.createWeights(graph, params, "w", options)
            )  # fmt: skip
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


SIZES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 20), st.integers(1, 20))


@settings(max_examples=25, deadline=None)
@given(
    SIZES, st.tuples(*[st.integers(1, 9)] * 2), st.tuples(*[st.integers(1, 4)] * 2),
    st.tuples(*[st.integers(1, 3)] * 2), st.tuples(*[st.integers(0, 2)] * 2), st.integers(1, 2), st.integers(1, 2),
    st.sampled_from([1, 5, 32]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_any_convolution_on_any_number_of_tiles(
    sizes: tuple[int, int, int, int], field: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int],
    padding: tuple[int, int], dilation: int, input_dilation: int, tiles: int, half: bool, laid_out: bool,
) -> None:  # fmt: skip
    batch, groups, inputs, outputs = sizes
    low, high = list(padding), [padding[1], padding[0]]
    reach = [(k - 1) * dilation + 1 for k in kernel]
    have = [(n - 1) * input_dilation + 1 + a + b for n, a, b in zip(field, low, high, strict=True)]
    if any(h < r for h, r in zip(have, reach, strict=True)):
        kernel = (1, 1)
    params = params_of(
        HALF if half else FLOAT, batch, list(field), list(kernel), (inputs, outputs), groups, list(stride), (low, high),
        [dilation] * 2, [input_dilation] * 2,
    )  # fmt: skip
    checked(params, tiles, laid_out)


@pytest.mark.parametrize(
    ("method", "type_", "channels", "groups"),
    [
        ("AMP", FLOAT, (16, 24), 1), ("AMP", HALF, (5, 16), 2), ("HMAC", FLOAT, (3, 5), 2), ("HMAC", HALF, (6, 4), 1),
        ("VMAC", HALF, (1, 1), 9),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tiles", [1, 24])
def test_boxes_with_halos(
    method: str, type_: Any, channels: tuple[int, int], groups: int, tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vertices that slide over a kernel: strides, odd sizes, uneven padding, dilation, input channels split."""
    monkeypatch.setattr(conv_api, "plan_convolution", partial(plan_convolution, form="field"))
    options = {"planConstraints": {"method": method}}
    for stride, dilation, input_dilation in (
        ([1, 1], [1, 1], [1, 1]),
        ([2, 3], [1, 2], [1, 1]),
        ([1, 2], [1, 1], [2, 3]),
    ):
        params = params_of(
            type_, 2, [7, 10], [3, 2], channels, groups, stride, ([1, 2], [0, 1]), dilation, input_dilation
        )
        checked(params, tiles, True, options)
        checked(params, tiles, False, options)


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
