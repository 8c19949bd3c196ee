"""popnn.pooling: results by vertices, by the kernel and written out; gradients; cycles by the published formula."""

from __future__ import annotations

from itertools import product as combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF, Graph, Tensor, graph_connection_error, invalid_option, poplar_error
from simulator.poplar.program import Sequence
from simulator.poplibs.popnn import pooling
from simulator.poplibs.popnn.pooling import PoolingType, PoolParams
from tests.poplibs.programs import both_ways, linear, small_graph


def windows(x: Any, params: PoolParams) -> Any:
    """(b, c, output index, slices of its window in the input) of each output."""
    for b, c in np.ndindex(*x.shape[:2]):
        for out in combinations(*(range(n) for n in params.getOutputFieldShape())):
            places = zip(
                out, params.stride, params.inputTruncationOrPaddingLower, params.kernelShape, x.shape[2:], strict=True
            )
            yield b, c, out, tuple(slice(max(o * s - p, 0), min(max(o * s - p + k, 0), n)) for o, s, p, k, n in places)


def written_out(x: Any, params: PoolParams) -> Any:
    out = np.zeros((*x.shape[:2], *params.getOutputFieldShape()))
    for b, c, o, window in windows(x, params):
        part = x[(b, c, *window)]
        if params.poolingType is PoolingType.MAX:
            out[(b, c, *o)] = part.max() if part.size else -np.inf
        else:
            out[(b, c, *o)] = part.sum() / (part.size if params.poolingType is PoolingType.AVG else 1)
    return out


def gradient_written_out(x: Any, slope: Any, params: PoolParams, divided: bool = False) -> Any:
    grad = np.zeros(x.shape)
    for b, c, o, window in windows(x, params):
        part, g = x[(b, c, *window)], slope[(b, c, *o)]
        if params.poolingType is PoolingType.MAX:
            equal = part == part.max()
            grad[(b, c, *window)] += g * equal / (equal.sum() if divided else 1)
        else:
            grad[(b, c, *window)] += g / (part.size if params.poolingType is PoolingType.AVG else 1)
    return grad


@given(
    st.sampled_from(list(PoolingType)),
    st.tuples(st.integers(1, 3), st.integers(1, 20)),
    st.tuples(*[st.integers(2, 7)] * 2),
    st.tuples(*[st.integers(1, 3)] * 2),
    st.tuples(*[st.integers(1, 3)] * 2),
    st.booleans(),
    st.sampled_from([1, 7, 64]),
    st.booleans(),
)
def test_any_pooling_and_its_gradient(
    kind: PoolingType,
    sizes: tuple[int, int],
    field: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padded: bool,
    tiles: int,
    half: bool,
) -> None:
    kernel = tuple(min(k, n) for k, n in zip(kernel, field, strict=True))  # type: ignore[assignment]
    padding = [(k - 1) // 2 if padded else 0 for k in kernel]
    type_ = HALF if half else FLOAT
    params = PoolParams(kind, field, kernel, stride, padding, padding, sizes[1], sizes[0], type_)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(*sizes, *field)).astype(type_.dtype)
    slope = rng.normal(size=(*sizes, *params.getOutputFieldShape())).astype(type_.dtype)

    def forward(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        source = linear(graph, type_, list(x.shape))
        return {"x": (source, x)}, pooling.pool(graph, params, source, program, "pool")

    def backward(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        source, grad = linear(graph, type_, list(x.shape)), linear(graph, type_, list(slope.shape))
        inputs = {"x": (source, x), "g": (grad, slope)}
        if kind is not PoolingType.MAX:
            return inputs, pooling.poolInputGradient(graph, params, 1, grad, program, "back")
        pooled = pooling.pool(graph, params, source, program, "pool")
        return inputs, pooling.poolInputGradient(graph, params, source, pooled, grad, False, program, "back")

    bound = 1e-5 if type_ is FLOAT else 1e-2
    for result in both_ways(forward, tiles):
        np.testing.assert_allclose(result, written_out(x.astype(np.float64), params), atol=bound)
    for result in both_ways(backward, tiles):
        exact = gradient_written_out(x.astype(np.float64), slope.astype(np.float64), params)
        np.testing.assert_allclose(result, exact, atol=bound)


@pytest.mark.parametrize("tiles", [1, 6])
def test_gradient_of_the_largest_divided_among_equals(tiles: int) -> None:
    params = PoolParams(PoolingType.MAX, [6, 5], [3, 2], [2, 1], [1, 0], [0, 1], 6, 2, FLOAT)
    rng = np.random.default_rng(4)
    x = rng.integers(0, 3, (2, 6, 6, 5)).astype(np.float32)
    slope = rng.normal(size=(2, 6, *params.getOutputFieldShape())).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        source, grad = linear(graph, FLOAT, list(x.shape)), linear(graph, FLOAT, list(slope.shape))
        pooled = pooling.pool(graph, params, source, program, "pool", {})
        out = pooling.poolInputGradient(graph, params, source, pooled, grad, True, program, "back", {})
        return {"x": (source, x), "g": (grad, slope)}, out

    for result in both_ways(build, tiles):
        exact = gradient_written_out(x.astype(np.float64), slope.astype(np.float64), params, True)
        np.testing.assert_allclose(result, exact, atol=1e-5)


def test_counts_names_and_groups_of_channels() -> None:
    """3 x 3 windows on 4 x 4, stride 1, padding 1: 16 windows of 9 less the padding, (3 * 4 - 2) ** 2."""
    params = PoolParams(PoolingType.AVG, [4, 4], [3, 3], [1, 1], [1, 1], [1, 1], 8, 2, FLOAT)
    graph, program = small_graph(8), Sequence()
    assert (pooling.getFwdFlops(params), pooling.getBwdFlops(params)) == (16 * (100 + 16), 16 * (100 + 16))
    assert pooling.getFwdPerfectCycleCount(graph, params) == 16 * 116 / (2 * 8)
    assert pooling.getBwdPerfectCycleCount(graph, params) == 2 * 16 * 116 / (2 * 8)
    assert (pooling.asString(PoolingType.AVG), params.getNumFieldDims()) == ("avg", 2)
    assert pooling.getOutputFieldShape(params) == [4, 4]
    slope = linear(graph, FLOAT, [2, 8, 4, 4])
    for wanted, side in ((4, 4), (8, 8), (5, 2)):  # five channels are not whole vectors, so the layout stays
        out = pooling.poolInputGradient(
            graph, params, fwdChansPerGroup=wanted, pooledGradient=slope, prog=program, debugContext="back"
        )
        together = [n for n in (8, 4, 2) if len(out.slice([0, 0, 0, 0], [1, n, 1, 1]).flatten().regions()[0]) == 1]
        assert together[0] == max(side, together[0] if wanted == 5 else side)
    with pytest.raises(invalid_option, match="Pooling has no option 'poolUseIntrospectiveMapping'"):
        pooling.pool(graph, params, slope, program, "p", {"poolUseIntrospectiveMapping": "true"})
    largest = PoolParams(PoolingType.MAX, [4, 4], [3, 3], [1, 1], [1, 1], [1, 1], 8, 2, FLOAT)
    with pytest.raises(poplar_error, match="the gradient of MAX needs the input and the pooled tensor"):
        pooling.poolInputGradient(graph, largest, 1, slope, program)


def test_cycles_by_hand() -> None:
    """One tile, 12 rows of 4 positions, 2 x 2 window, 8 floats: two rows per worker, four items each, four vectors.

    7 + 6 worker + 6 (published 7.6): inner rpt 4 + 3 n, work item 20, row 13."""
    from simulator.machine.cycles.worklist import deal
    from simulator.poplibs.popnn.pool_params import pool_cycles

    spent = pool_cycles("max", "float", deal([12], [4], rounds=4), 8, np.array([1]), np.array([48]))
    item = 20 + (2 + 4 * (2 + (4 + 3 * 4) + 1)) + 3
    row = 13 + 4 * item + 2
    clear = 4 + -(-48 * 4 // 6)
    worker = (4 + 2 + 2 + 7 + 2 + 2 + clear + 5 + 1 + 2) + (2 + 1 + 3 + 2 + 4 + 1 + 2 * row) + 1
    assert int(spent[0]) == 7 + 6 * worker + 6


def test_what_cannot_be_pooled_is_refused() -> None:
    with pytest.raises(poplar_error, match="does not fit"):
        PoolParams(PoolingType.MAX, [2, 2], [3, 3], [1, 1], [0, 0], [0, 0], 4, 1)
    params = PoolParams(PoolingType.MAX, [4, 4], [2, 2], [2, 2], [0, 0], [0, 0], 4, 1)

    def build(graph: Graph, program: Sequence) -> Any:
        pooling.pool(graph, params, linear(graph, FLOAT, [1, 3, 4, 4]), program)

    with pytest.raises(graph_connection_error, match="the parameters say"):
        both_ways(build)
