"""Forms of library functions that other tests run in one mode or type: both modes, float and half, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from popvision.arrays import AnyArray
from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, Tensor, Type
from simulator.poplar.program import Sequence
from simulator.poplibs import poplin, popnn, popops, poprand, poputil
from simulator.poplibs.popops import SortOrder, TopKParams
from tests.runtime.both_engines import Workbench

floats = pytest.mark.parametrize("type_", [FLOAT, HALF], ids=str)


class Checked(Workbench):
    """Results beside what NumPy makes of them."""

    def __init__(self, tiles: int) -> None:
        super().__init__(tiles)
        self.wanted: dict[str, Any] = {}

    def value(self, name: str, tensor: Tensor) -> AnyArray:
        found = self.inputs[name].reshape(tensor.shape())
        return found.astype(np.float64) if found.dtype.kind == "f" else found

    def expect(self, tensor: Tensor, name: str, wanted: Any) -> None:
        self.take(tensor, name)
        self.wanted[name] = np.asarray(wanted)

    def check_all(self, type_: Type, roundings: int = 2) -> None:
        found = self.check(exact=False, roundings=roundings)
        close = roundings * (2e-3 if type_ is HALF else 2e-6)
        for name, wanted in self.wanted.items():
            flat = found[name].astype(np.float64) if found[name].dtype.kind == "f" else found[name]
            np.testing.assert_allclose(flat, wanted.reshape(-1), rtol=close, atol=close, err_msg=name)


def softmax(x: AnyArray) -> AnyArray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


ACTIVATIONS: dict[str, Callable[[AnyArray], AnyArray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "softmax": softmax,
    "softmaxStable": softmax,
}


@floats
def test_named_activations(type_: Type) -> None:
    bench = Checked(5)
    graph, prog = bench.graph, bench.program
    for name, function in ACTIVATIONS.items():
        x, y = bench.give(type_, [4, 9], f"{name} x"), bench.give(type_, [4, 9], f"{name} y")
        bench.expect(getattr(popnn, name)(graph, x, prog, name), name, function(bench.value(f"{name} x", x)))
        getattr(popnn, f"{name}InPlace")(graph, y, prog, name)
        bench.expect(y, f"{name} in place", function(bench.value(f"{name} y", y)))
    z = bench.give(type_, [4, 9], "z")
    popnn.logSoftmaxInPlace(graph, z, prog, "log")
    bench.expect(z, "log", np.log(softmax(bench.value("z", z))))
    bench.check_all(type_, roundings=4)


@floats
def test_extremes_accuracy_and_largest(type_: Type) -> None:
    bench = Checked(5)
    graph, prog = bench.graph, bench.program
    x = bench.give(type_, [6, 8], "x", np.random.default_rng(3).permutation(48).reshape(6, 8) / 4)
    labels = bench.give(UNSIGNED_INT, [6], "labels", [0, 1, 2, 3, 4, 5])
    count = bench.give(UNSIGNED_INT, [1], "count", [10])
    values = bench.value("x", x)
    bench.expect(popnn.argMax(graph, x, prog), "largest", values.argmax(1))
    bench.expect(popnn.argMin(graph, x, prog), "smallest", values.argmin(1))
    prog.add(popnn.calcAccuracy(graph, x, labels, count, "accuracy"))
    bench.expect(count, "right", 10 + (values.argmax(1) == np.arange(6)).sum())
    top, places = popnn.topK(graph, x, 3, True, prog, "top")
    bench.expect(top, "top", -np.sort(-values, axis=1)[:, :3])
    bench.expect(places, "places", np.argsort(-values, axis=1)[:, :3])
    bench.check_all(type_)


@floats
def test_norms_by_channel(type_: Type) -> None:
    bench = Checked(5)
    graph, prog = bench.graph, bench.program
    x, slope = bench.give(type_, [3, 4, 5], "x"), bench.give(type_, [3, 4, 5], "slope")
    gamma, beta = poplin.createNormParams(graph, x, "params")
    popops.fill(graph, gamma, prog, 1.5)
    popops.fill(graph, beta, prog, -0.25)
    mean, deviation = poplin.normStatistics(graph, x, 1e-3, prog, False, True, FLOAT, "statistics")
    white = poplin.normWhiten(graph, x, mean, deviation, prog, "white")
    values, slopes = bench.value("x", x), bench.value("slope", slope)
    average = values.mean(axis=(0, 2))
    inverse = 1 / np.sqrt(values.var(axis=(0, 2)) + 1e-3)
    whitened = (values - average[:, None]) * inverse[:, None]
    bench.expect(mean, "mean", average)
    bench.expect(white, "whitened", whitened)
    bench.expect(poplin.normalise(graph, white, gamma, beta, prog), "normal", 1.5 * whitened - 0.25)
    bench.expect(poplin.normGradients(graph, slope, gamma, prog), "gradients", 1.5 * slopes)
    by_gamma, by_beta = poplin.normParamGradients(graph, white, slope, prog, FLOAT)
    bench.expect(by_gamma, "gamma", (whitened * slopes).sum(axis=(0, 2)))
    bench.expect(by_beta, "beta", slopes.sum(axis=(0, 2)))
    back = poplin.normStatisticsGradients(graph, white, slope, deviation, prog, FLOAT)
    n = 15
    about = slopes - slopes.sum((0, 2))[:, None] / n - whitened * (whitened * slopes).sum((0, 2))[:, None] / n
    bench.expect(back, "back", about * inverse[:, None])
    again = popnn.bn.batchNormWhiten(graph, x, mean, deviation, prog, "batch")
    bench.expect(again, "batch", whitened)
    by_gamma, by_beta = popnn.bn.batchNormParamGradients(graph, again, slope, prog, FLOAT)
    bench.expect(by_gamma, "batch gamma", (whitened * slopes).sum(axis=(0, 2)))
    bench.expect(by_beta, "batch beta", slopes.sum(axis=(0, 2)))
    whole = popnn.bn.batchNormGradients(graph, again, slope, deviation, gamma, prog, FLOAT)
    bench.expect(whole, "batch back", 1.5 * about * inverse[:, None])
    bench.check_all(type_, roundings=10)


@floats
def test_group_layer_and_instance_norms(type_: Type) -> None:
    bench = Checked(5)
    graph, prog = bench.graph, bench.program
    shape = [2, 4, 6]
    x, slope = bench.give(type_, shape, "x"), bench.give(type_, shape, "slope")
    values, slopes = bench.value("x", x), bench.value("slope", slope)
    for name, module, groups, more in (
        ("group", popnn.gn, 2, [2]),
        ("layer", popnn.ln, 1, []),
        ("instance", popnn.in_, 4, []),
    ):
        gamma, beta = bench.give(type_, [4], f"{name} gamma"), bench.give(type_, [4], f"{name} beta")
        statistics = getattr(module, f"{name}NormStatistics")(graph, x, 1e-2, prog, *more, False, True)
        out, white = getattr(module, f"{name}Normalise")(graph, x, gamma, beta, *statistics, prog, name)
        cut = values.reshape(2, groups, -1)
        whitened = cut - cut.mean(axis=2, keepdims=True)
        whitened = (whitened / np.sqrt(cut.var(axis=2, keepdims=True) + 1e-2)).reshape(shape)
        g, b = bench.value(f"{name} gamma", gamma)[:, None], bench.value(f"{name} beta", beta)[:, None]
        bench.expect(white, f"{name} whitened", whitened)
        bench.expect(out, f"{name} out", whitened * g + b)
        by_gamma, by_beta = getattr(module, f"{name}NormParamGradients")(graph, white, slope, prog, FLOAT)
        bench.expect(by_gamma, f"{name} by gamma", (whitened * slopes).sum(axis=(0, 2)))
        bench.expect(by_beta, f"{name} by beta", slopes.sum(axis=(0, 2)))
        back = getattr(module, f"{name}NormGradients")(graph, white, slope, statistics[1], gamma, prog, FLOAT)
        bench.take(back, f"{name} back")
        getattr(module, f"{name}NormParamUpdate")(graph, by_gamma, by_beta, -0.5, gamma, beta, prog)
        bench.expect(gamma, f"{name} gamma after", g[:, 0] - 0.5 * (whitened * slopes).sum(axis=(0, 2)))
    bench.check_all(type_, roundings=12)


@floats
def test_sorting_in_place_and_largest_of_rows(type_: Type) -> None:
    bench = Checked(5)
    graph, prog = bench.graph, bench.program
    rng = np.random.default_rng(6)
    given = [rng.permutation(24).reshape(3, 8) for _ in range(3)]
    a, k, v = (bench.give(type_, [3, 8], name, x) for name, x in zip("akv", given, strict=True))
    popops.sortInPlace(graph, a, 1, prog, "sort")
    bench.expect(a, "sorted", np.sort(given[0], axis=1))
    popops.sortKeyValueInPlace(graph, k, v, 0, prog, "pairs")
    order = np.argsort(given[1], axis=0)
    bench.expect(k, "keys", np.sort(given[1], axis=0))
    bench.expect(v, "values", np.take_along_axis(given[2], order, 0))
    params = TopKParams(2, True, SortOrder.ASCENDING)
    row = popops.createTopKInput(graph, type_, [2, 9], params, "row")
    keys = bench.give(type_, [2, 9], "given", rng.permutation(18).reshape(2, 9))
    others = bench.give(INT, [2, 9], "others", np.arange(18).reshape(2, 9))
    prog.add(popops.cast(graph, keys, row))
    bench.expect(popops.topK(graph, prog, row, params), "top", np.sort(bench.value("given", keys), axis=1)[:, -2:])
    found, with_it = popops.topKKeyValue(graph, prog, keys, others, params)
    places = np.argsort(bench.value("given", keys), axis=1)[:, -2:]
    bench.expect(found, "top keys", np.take_along_axis(bench.value("given", keys), places, 1))
    bench.expect(with_it, "top values", np.take_along_axis(bench.value("others", others), places, 1))
    equal = bench.give(type_, [2, 7], "equal", [[1, 2, 2, 1, 2, 0, 1], [3, 3, 3, 3, 3, 3, 3]])
    stable = TopKParams(4, True, SortOrder.DESCENDING, stableSort=True)
    bench.expect(popops.topKWithPermutation(graph, prog, equal, stable)[1], "stable", [[1, 2, 4, 0], [0, 1, 2, 3]])
    bench.check_all(type_)


@floats
def test_slices_into_tensors_and_loops(type_: Type) -> None:
    bench = Checked(5)
    graph, prog = bench.graph, bench.program
    t = bench.give(type_, [5, 6], "t")
    offset = bench.give(UNSIGNED_INT, [1], "offset", [3])
    values = bench.value("t", t)
    out = popops.createSliceTensor(graph, t, [0], [1], 1, "out")
    popops.dynamicSliceWithOutput(graph, out[0], t, offset, [0], [1], prog, "row")
    bench.expect(out, "row", values[3])
    made = popops.createOutputForElementWiseOp(graph, [t], FLOAT, "made")
    popops.castWithOutput(graph, t, made, prog, "cast")
    bench.expect(made, "cast", values)
    source = popops.createGatherInput(graph, type_, [5, 6], [1, 6], [0], "source")
    popops.castWithOutput(graph, t, source, prog)
    indices = popops.createIndicesTensor(graph, [0], 3, debugContext="indices")
    popops.iota(graph, indices.flatten(), 2, prog)
    gathered = popops.gather(graph, source, indices, 1, [1], [1, 6], [0], [0], prog, "gather")
    bench.expect(gathered, "gathered", values[2:5])
    padded = popops.pad(t, [1, 0], [0, 2], popops.padding.Type.EDGE)
    bench.expect(poputil.duplicate(graph, padded, prog), "padded", np.pad(values, [(1, 0), (0, 2)], mode="edge"))
    total = bench.give(type_, [6], "total")

    count, limit = bench.give(UNSIGNED_INT, [1], "count"), bench.give(UNSIGNED_INT, [], "limit", 5)
    body = Sequence()
    row = popops.dynamicSlice(graph, t, count, [0], [1], body, "row of loop")
    popops.addInPlace(graph, total, row[0], body, "sum")
    prog.add(popops.countedForLoop(graph, count, 1, limit, 2, body, "loop"))
    bench.expect(total, "total after", bench.value("total", total) + values[1] + values[3])
    below = popops.addForLoopCounterVertex(graph, count, limit.reshape([1]), 4, 2, prog, "step")
    bench.expect(count, "count after", 9)
    bench.expect(below, "goes on", True)
    bench.expect(popops.hasNaN(graph, t, prog), "nan", False)
    bench.expect(popops.allTrue(graph, popops.lt(graph, t, 1.0, prog), prog, "all"), "all", True)
    bench.expect(popops.allTrue(graph, popops.lt(graph, t, 0.5, prog), prog, "all"), "some", False)
    outs: list[Any] = []
    popops.reduceMany(graph, [popops.SingleReduceOp(t, [0], popops.Operation.MAX)], outs, prog)
    bench.expect(outs[0], "largest", values.max(0))
    low, high = bench.give(type_, [1], "low", [0.4]), bench.give(type_, [1], "high", [0.6])
    popops.clampInPlace(graph, t, low, high, prog, "clamp")
    bench.expect(t, "clamped", np.clip(values, bench.value("low", low), bench.value("high", high)))
    bench.check_all(type_)


@floats
def test_grouped_products_in_their_forms(type_: Type) -> None:
    bench = Checked(6)
    graph, prog = bench.graph, bench.program
    a, b, c = (bench.give(type_, shape, name) for name, shape in (("a", [2, 3, 4]), ("b", [2, 4, 5]), ("c", [2, 3, 5])))
    left, right = bench.value("a", a), bench.value("b", b)
    poplin.matMulGroupedAcc(graph, c, 0.5, a, b, prog, "acc")
    bench.expect(c, "acc", bench.value("c", c) + 0.5 * left @ right)
    ready = poplin.preArrangeMatMulGroupedInputRHS(graph, a.shape(), b, prog, type_)
    out = poplin.createMatMulGroupedOutput(graph, type_, type_, a.shape(), b.shape(), "out")
    poplin.matMulGroupedWithOutput(graph, a, ready, out, prog, "p", {"inputRHSIsPreArranged": "true"})
    bench.expect(out, "product", left @ right)
    turned = poplin.transposeGroupedMatrix(poplin.transposeGroupedMatrix(b))
    bench.expect(poplin.matMulGrouped(graph, a, turned, prog, type_), "turned", left @ right)
    bench.check_all(type_, roundings=3)


@floats
def test_convolutions_turned_and_fully_connected(type_: Type) -> None:
    bench = Checked(6)
    graph, prog = bench.graph, bench.program
    params = poplin.ConvParams(type_, 1, [5, 4], [3, 3], 2, 3, 1)
    acts, slopes = bench.give(type_, [1, 2, 5, 4], "acts"), bench.give(type_, [1, 3, 3, 2], "slopes")
    x, dy = bench.value("acts", acts), bench.value("slopes", slopes)
    deltas = poplin.calculateWeightDeltas(graph, slopes, acts, params, prog, "deltas")
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 2), axis=(1, 2))
    bench.expect(deltas, "deltas", np.einsum("iabxy,oxy->oiab", windows, dy[0])[None])
    weights = bench.give(type_, [1, 3, 2, 3, 3], "weights")
    turned = graph.addVariable(type_, [1, 2, 3, 3, 3], "turned")
    poputil.mapTensorLinearly(graph, turned, 1)
    poplin.weightsTransposeChansFlipXY(graph, weights, turned, prog, "turn")
    bench.expect(turned, "turned", bench.value("weights", weights).transpose(0, 2, 1, 3, 4)[..., ::-1, ::-1])
    layer = poplin.ConvParams(type_, 1, [6], [1], 4, 9, 2)
    matrix = bench.give(type_, [1, 8, 6], "matrix")
    back = poplin.fullyConnectedWeightTranspose(graph, matrix, layer, prog, "fully")
    wanted = bench.value("matrix", matrix).reshape(2, 4, 6).transpose(0, 2, 1)
    bench.expect(back, "fully", wanted.reshape(1, 12, 4))
    bench.check_all(type_, roundings=3)


@floats
def test_normal_numbers_are_the_same_in_both_modes(type_: Type) -> None:
    bench = Checked(4)
    graph, prog = bench.graph, bench.program
    like, seed = bench.give(type_, [40, 50], "like"), bench.give(UNSIGNED_INT, [2], "seed", [7, 9])
    bench.take(poprand.normal(graph, seed, 3, like, type_, 2.0, 0.5, prog, "normal"), "normal")
    bench.check(exact=False)
    found = bench.run(False)["normal"].astype(np.float64)
    assert abs(found.mean() - 2) < 0.05
    assert abs(found.std() - 0.5) < 0.05
