"""Normalisation: statistics, layers and gradients by vertices, by kernels and in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    Graph,
    Tensor,
    graph_connection_error,
    invalid_option,
    poplar_error,
    type_error,
)
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, popnn
from tests.poplibs.programs import both_ways, linear, small_graph
from tests.poplibs.slow_machine import SlowMachine

EPS = 1e-3
RNG = np.random.default_rng(21)
SHAPES = [(4, 6), (3, 6, 5), (2, 6, 3, 4)]
CLOSE = {FLOAT: {"rtol": 1e-4, "atol": 2e-5}, HALF: {"rtol": 2e-2, "atol": 1e-2}}


def grouped(x: Any, kind: str, strided: bool = False) -> Any:
    """[groups, elements]: the elements of each statistic."""
    n, c = x.shape[:2]
    if kind == "bn":
        return np.moveaxis(x, 1, 0).reshape(c, -1)
    groups = {"ln": 1, "in": c, "gn": 3}[kind]
    if strided:
        x = x.reshape(n, c // groups, groups, -1).transpose(0, 2, 1, 3)
    return x.reshape(n * groups, -1)


def ungrouped(rows: Any, like: Any, kind: str, strided: bool = False) -> Any:
    n, c = like.shape[:2]
    if kind == "bn":
        return np.moveaxis(rows.reshape(c, n, *like.shape[2:]), 0, 1)
    if strided:
        return rows.reshape(n, 3, c // 3, -1).transpose(0, 2, 1, 3).reshape(like.shape)
    return rows.reshape(like.shape)


def statistics(graph: Graph, kind: str, acts: Tensor, program: Sequence, *more: Any, **options: Any) -> Any:
    if kind == "gn":
        return popnn.gn.groupNormStatistics(graph, acts, EPS, program, 3, *more, **options)
    name = {"bn": "batchNorm", "ln": "layerNorm", "in": "instanceNorm"}[kind]
    module = {"bn": popnn.bn, "ln": popnn.ln, "in": popnn.in_}[kind]
    return getattr(module, f"{name}Statistics")(graph, acts, EPS, program, *more, **options)


def layer(kind: str, what: str) -> Any:
    """popnn.<kind>.<...Norm><what>"""
    module = {"bn": popnn.bn, "gn": popnn.gn, "ln": popnn.ln, "in": popnn.in_}[kind]
    name = {"bn": "batchNorm", "gn": "groupNorm", "ln": "layerNorm", "in": "instanceNorm"}[kind]
    return getattr(module, f"{name}{what}" if what != "alise" else f"{name}alise")


@pytest.mark.parametrize("type_", [FLOAT, HALF], ids=["float", "half"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("unbiased", "stable"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("kind", ["bn", "gn", "ln", "in"])
def test_statistics(kind: str, unbiased: bool, stable: bool, shape: tuple[int, ...], type_: Any) -> None:
    if kind == "in" and len(shape) == 2 and unbiased:
        return  # one element per statistic
    values = (RNG.normal(size=shape) + 0.5).astype(type_.dtype)
    rows = grouped(values.astype(np.float64), kind)
    scale = rows.shape[1] / (rows.shape[1] - 1) if unbiased else 1
    mean = rows.mean(1)
    # The unstable algorithm subtracts the square of the rounded mean from the mean square.
    kept = mean.astype(type_.dtype).astype(np.float64)
    variance = rows.var(1) if stable or type_ is FLOAT else (rows**2).mean(1) - kept**2
    with np.errstate(all="ignore"):
        exact = (mean, 1 / np.sqrt(scale * (variance + EPS)))
    for number, wanted in enumerate(exact):

        def build(graph: Graph, program: Sequence, n: int = number) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
            acts = linear(graph, type_, list(shape))
            return {"x": (acts, values)}, statistics(graph, kind, acts, program, unbiased, stable, FLOAT, "s")[n]

        for result in both_ways(build):
            np.testing.assert_allclose(result, wanted, **CLOSE[type_])


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["bn", "gn", "ln", "in"])
def test_layers_and_their_gradients(kind: str, shape: tuple[int, ...], strided: bool) -> None:
    """Forward, both forms of both gradients, and the parameter update."""
    if (strided and kind != "gn") or (kind == "in" and len(shape) == 2):
        return
    options = {"options": {"groupNormStridedChannelGrouping": "true"}} if strided else {}
    x, g = (RNG.normal(size=shape).astype(np.float32) for _ in range(2))
    gamma, beta = (RNG.uniform(0.5, 1.5, shape[1]).astype(np.float32) for _ in range(2))
    per_channel = (1, -1, *[1] * (len(shape) - 2))

    def forward(x: Any) -> tuple[Any, Any]:
        rows = grouped(x, kind, strided)
        rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + EPS)
        whitened = ungrouped(rows, x, kind, strided)
        return whitened * gamma.reshape(per_channel) + beta.reshape(per_channel), whitened

    out, whitened = forward(x.astype(np.float64))
    dims = tuple(d for d in range(len(shape)) if d != 1)
    gamma_slope, beta_slope = (g * whitened).sum(dims), g.sum(dims)
    exact = [out, whitened, gamma_slope, beta_slope, gamma - 0.25 * gamma_slope, beta - 0.25 * beta_slope]

    graph, program = small_graph(), Sequence()
    acts, grads = linear(graph, FLOAT, list(shape), "x"), linear(graph, FLOAT, list(shape), "g")
    factor, addend = popnn.createNormParams(graph, acts)
    mean, dev = statistics(graph, kind, acts, program, False, False, **options)
    result, white = layer(kind, "alise")(graph, acts, factor, addend, mean, dev, program, **options)
    parameters, inputs = layer(kind, "ParamGradients"), layer(kind, "Gradients")
    slopes = parameters(graph, acts, grads, mean, dev, program, **options)
    same = parameters(graph, white, grads, program, FLOAT, "p", **options)
    back = inputs(graph, acts, grads, mean, dev, factor, program, **options)
    again = inputs(graph, white, grads, dev, factor, program, FLOAT, "g", **options)
    layer(kind, "ParamUpdate")(graph, *slopes, -0.25, factor, addend, program, "u", **options)
    for kernels in (False, True):
        machine = SlowMachine(graph, kernels)
        for tensor, values in ((acts, x), (grads, g), (factor, gamma), (addend, beta)):
            machine.write(tensor, values)
        machine.run(program)
        for tensor, wanted in zip((result, white, *slopes, factor, addend), exact, strict=True):
            np.testing.assert_allclose(machine.read(tensor), wanted, rtol=1e-3, atol=1e-4)
        for one, other in zip(slopes, same, strict=True):
            np.testing.assert_allclose(machine.read(one), machine.read(other), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(machine.read(back), machine.read(again), rtol=1e-4, atol=1e-5)
    step = 1e-5
    for direction in np.random.default_rng(1).normal(size=(3, *shape)):
        moved = [(g * forward(x + sign * step * direction)[0]).sum() for sign in (1, -1)]
        slope = (moved[0] - moved[1]) / (2 * step)
        np.testing.assert_allclose((machine.read(back) * direction).sum(), slope, rtol=1e-3, atol=1e-3)


def test_batch_norm_for_inference_and_parameters_moved_by_a_tensor() -> None:
    x = RNG.normal(size=(3, 4, 5)).astype(np.float32)
    factor, addend = RNG.normal(size=(2, 4)).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        acts, a, b = (
            linear(graph, FLOAT, [3, 4, 5], "x"),
            linear(graph, FLOAT, [4], "a"),
            linear(graph, FLOAT, [4], "b"),
        )
        scale = linear(graph, FLOAT, [1], "s")
        inputs = {"x": (acts, x), "a": (a, factor), "b": (b, addend), "s": (scale, [2.0])}
        popnn.bn.batchNormParamUpdate(graph, a, b, scale, a, b, program, "u")
        return inputs, popnn.bn.batchNormalise(graph, acts, combinedMultiplicand=a, addend=b, prog=program)

    for result in both_ways(build):
        np.testing.assert_allclose(result, 3 * (x * factor[:, None] + addend[:, None]), rtol=1e-5, atol=1e-5)


def test_halves_in_gradients() -> None:
    shape = (4, 6, 5)
    x, g = (RNG.normal(size=shape).astype(np.float16) for _ in range(2))

    def build(graph: Graph, program: Sequence, what: int) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        acts, grads = linear(graph, HALF, list(shape), "x"), linear(graph, HALF, list(shape), "g")
        dev = linear(graph, HALF, [6], "d")
        inputs = {"x": (acts, x), "g": (grads, g), "d": (dev, np.full(6, 0.5))}
        slopes = poplin.normParamGradients(graph, acts, grads, program, HALF if what else FLOAT, "p")
        return inputs, (slopes[0], slopes[1], poplin.normStatisticsGradients(graph, acts, grads, dev, program))[what]

    w, d = x.astype(np.float64), g.astype(np.float64)
    per = (slice(None), slice(None), None)
    whole = 0.5 * (d - d.mean((0, 2))[None][per] - w * (w * d).mean((0, 2))[None][per])
    for what, wanted in enumerate(((w * d).sum((0, 2)), d.sum((0, 2)), whole)):
        for result in both_ways(lambda graph, program, n=what: build(graph, program, n)):  # type: ignore[misc]
            assert result.dtype == np.float16
            np.testing.assert_allclose(result, wanted, rtol=2e-2, atol=2e-2)


def test_parameters_lie_with_their_channels() -> None:
    graph = small_graph(4)
    acts = graph.addVariable(FLOAT, [2, 4, 3], "x")
    for channel in range(4):
        graph.setTileMapping(acts.slice(channel, channel + 1, 1), channel)
    gamma = poplin.createNormGamma(graph, acts, HALF, "g")
    assert (gamma.elementType(), gamma.shape()) == (HALF, [4])
    assert [[(i.begin, i.end) for i in held] for held in graph.getTileMapping(gamma)] == [
        [(c, c + 1)] for c in range(4)
    ]
    assert graph.getTileMapping(poplin.createNormBeta(graph, acts)) == graph.getTileMapping(gamma)
    assert {"g/gamma", "beta"} <= set(graph.store.variables.name)


def test_flops_and_cycles_by_hand() -> None:
    """24 channels on one tile: 4 + 5 for each of 12 pairs, 6 for the vertex, 4 operations each."""
    assert (popnn.getNormFwdFlops(6, 90), popnn.getNormFwdFlops(6, 90, False)) == (570, 180)
    assert (popnn.getNormBwdFlops(6, 90), popnn.getNormWuFlops(6, 90)) == (732, 294)
    graph, program = small_graph(1), Sequence()
    popnn.bn.batchNormStatistics(graph, linear(graph, HALF, [5, 24]), EPS, program, False, debugContext="s")
    (block,) = [b for b in graph.store.blocks if "InverseStdDeviation" in b.type.name]
    assert block.type.name == "poplin::InverseStdDeviation<half,float,half,false>"
    costs = block.type.costs(block, {"iStdDev": np.array([24])}, None)
    assert (int(costs.cycles[0]), costs.provenance) == (6 + 4 + 5 * 12, "exact")
    assert costs.flops is not None
    assert int(costs.flops[0]) == 96


def test_refusals() -> None:
    graph, program = small_graph(), Sequence()
    acts, five = linear(graph, FLOAT, [2, 6, 3]), linear(graph, FLOAT, [5])
    with pytest.raises(graph_connection_error, match="6 channels cannot be divided into 4 equal groups"):
        popnn.gn.groupNormStatistics(graph, acts, EPS, program, 4, False)
    with pytest.raises(graph_connection_error, match="5 statistics do not fit a batch of 2"):
        popnn.gn.groupNormWhiten(graph, acts, five, five, program)
    with pytest.raises(graph_connection_error, match="5 values do not fit the 6 channels"):
        popnn.bn.batchNormWhiten(graph, acts, five, five, program)
    with pytest.raises(invalid_option, match="Group norm has no option 'grouping'"):
        popnn.ln.layerNormStatistics(graph, acts, EPS, program, False, options={"grouping": "true"})
    with pytest.raises(graph_connection_error, match="are no activations"):
        popnn.bn.batchNormStatistics(graph, linear(graph, INT, [2, 2]), EPS, program, False)
    with pytest.raises(type_error, match="partialsType is int"):
        popnn.bn.batchNormStatistics(graph, acts, EPS, program, False, False, INT)
    with pytest.raises(poplar_error, match="one element per channel has no unbiased variance"):
        popnn.bn.batchNormStatistics(graph, acts.slice(0, 1, 0).slice(0, 1, 2), EPS, program, True)
    with pytest.raises(graph_connection_error, match="differ"):
        popnn.bn.batchNormParamGradients(graph, acts, five, program)
