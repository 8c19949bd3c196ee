"""popops and poprand in address-accurate mode, at three shapes each: results agree with the ordinary engine's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.poplar import BOOL, FLOAT, HALF, INT, UNSIGNED_INT, Type, concat
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops, poprand, poputil
from simulator.poplibs.popops import Operation, ReduceParams, SingleReduceOp, SlicePlan, SortOrder, TopKParams
from simulator.poplibs.popops.expr import Cast, Clamp, Exp, Select, _1, _2
from tests.runtime.both_engines import Workbench

shapes = pytest.mark.parametrize(("shape", "tiles"), [([3, 4], 4), ([7, 10], 7), ([9, 33], 16)], ids=str)


@shapes
def test_expressions(shape: list[int], tiles: int) -> None:
    type_ = HALF if tiles == 7 else FLOAT
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    a, b = bench.give(type_, shape, "a"), bench.give(type_, shape, "b", run=4)
    c, one = bench.give(BOOL, shape, "c"), bench.give(type_, [1], "one")
    bench.take(popops.map(graph, (_1 + _2) * Exp(_1) - 0.5, [a, b], prog, "fused"), "fused")
    bench.take(popops.map(graph, Select(_1, _2, _1 > _2) * 2, [a, b[0]], prog, "chain"), "chain")
    bench.take(popops.map(graph, Cast(Clamp(_1, _2, _1) * 3, INT), [a, b], prog, "cast"), "cast")
    bench.take(popops.select(graph, a, b, c, prog, "select"), "select")
    bench.take(popops.select(graph, one, one, c, prog, "values"), "values")
    bench.take(popops.clamp(graph, a, one, one, prog, "clamp"), "clamp")
    popops.selectInPlace(graph, b, a, c, prog, "place")
    popops.mapInPlace(graph, _1 * _2 + 1, [a, b], prog, "grow")
    popops.scaledAddTo(graph, b, 0.5, a, one if type_ is FLOAT else 0.25, prog, "both")
    for tensor, name in ((a, "a after"), (b, "b after")):
        bench.take(tensor, name)
    bench.check()


@shapes
def test_reductions(shape: list[int], tiles: int) -> None:
    type_ = HALF if tiles == 7 else FLOAT
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    a, scale, out = (
        bench.give(type_, shape, "a", run=5),
        bench.give(FLOAT, [], "scale"),
        bench.give(FLOAT, shape[1:], "out"),
    )
    popops.reduceWithOutput(graph, a, out, [0], ReduceParams(Operation.ADD, True, scale), prog, "update")
    bench.take(out, "out after")
    bench.take(popops.reduce(graph, a, [1], Operation.LOG_ADD, prog, "log"), "log")
    outs: list[Any] = []
    both = [SingleReduceOp(a, [0], Operation.MAX), SingleReduceOp(a, [1], Operation.SQUARE_ADD)]
    popops.reduceMany(graph, both, outs, prog, "many")
    for i, tensor in enumerate(outs):
        bench.take(tensor, f"many {i}")
    bench.check(exact=False)


@shapes
def test_casts_fills_and_counts(shape: list[int], tiles: int) -> None:
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    a, i = bench.give(FLOAT, shape, "a"), bench.give(INT, [shape[0]], "i")
    on, off = bench.give(HALF, [1], "on"), bench.give(HALF, [1], "off")
    encoded = graph.addVariable(HALF, shape, "encoded")
    poputil.mapTensorLinearly(graph, encoded, 1)
    popops.encodeOneHot(graph, i, encoded, prog, on, off, "hot")
    bench.take(encoded, "encoded")
    popops.fill(graph, a.transpose()[1:3], prog, 7.5, "fill")
    popops.iota(graph, i, 3, prog, "count")
    bench.take(popops.cast(graph, popops.pad(graph, a, [1, 0], [0, 2], 4.0), HALF, prog, "cast"), "padded")
    bench.take(popops.checkAccuracyWhenCast(graph, a[0][0], HALF, 1e-3, prog, "check"), "check")
    for tensor, name in ((a, "a after"), (i, "i after")):
        bench.take(tensor, name)
    bench.check()


@shapes
def test_slices(shape: list[int], tiles: int) -> None:
    type_ = HALF if tiles == 7 else FLOAT
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    rows, columns = shape
    t, o = bench.give(type_, shape, "t"), bench.give(UNSIGNED_INT, [2], "o", [rows - 1, 1])
    offsets = bench.give(UNSIGNED_INT, [4, 1], "offsets", [[0], [rows - 1], [1], [rows]])
    part, one = bench.give(type_, [1, 2], "part"), bench.give(FLOAT, [], "one")
    s = bench.give(type_, [4, 1, columns], "s")
    bench.take(popops.dynamicSlice(graph, t, o[0:1], [0], [2], prog, "rows"), "rows")
    bench.take(popops.dynamicSlice(graph, t, o, [0, 1], [1, 2], prog, "both"), "both")
    popops.dynamicUpdate(graph, t, part, o, [0, 1], [1, 2], prog, "update")
    bench.take(popops.multiSlice(graph, t, offsets, [0], [1], prog, debugContext="look"), "looked")
    popops.multiUpdate(graph, t, s, offsets, [0], [1], prog, debugContext="put")
    popops.multiUpdateAdd(graph, t, s, offsets, one, [0], [1], prog, debugContext="add")
    bench.take(t, "t after")
    plan = SlicePlan(2, 2, 1, rows, columns)
    planned = popops.createSliceableTensor(graph, type_, shape, [0], [1], plan, {}, "planned")
    popops.fill(graph, planned, prog, 2.5)
    popops.multiUpdateMax(graph, planned, s, offsets, [0], [1], prog, plan, {}, "max")
    bench.take(popops.multiSlice(graph, planned, offsets, [0], [1], prog, plan, {}, "plan"), "by plan")
    bench.check()


@shapes
def test_gathers_scatters_and_loops(shape: list[int], tiles: int) -> None:
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    t, u = bench.give(FLOAT, shape, "t"), bench.give(FLOAT, [3], "u")
    points = bench.give(UNSIGNED_INT, [3, 2], "points", [[0, 1], [2, 3], [1, 0]])
    bench.take(popops.gather(graph, t, points, 1, [], [1, 1], [0, 1], [0, 1], prog, "points"), "gathered")
    bench.take(popops.gather(graph, t, points, 1, prog, popops.GatherParams(), "axis"), "along")
    popops.scatter(graph, t, points, u, 1, [], [0, 1], [0, 1], prog, "put")
    popops.scatter(graph, t, points, u, 1, [], [0, 1], [0, 1], lambda g, a, b, p: popops.mul(g, a, b, p), prog, "times")

    def body(i: Any) -> Sequence:
        step = Sequence()
        row = popops.dynamicSlice(graph, t, i, [0], [1], step, "row")
        popops.addInPlace(graph, u[0:1], row[0][0:1], step, "sum")
        return step

    prog.add(popops.countedLoop(graph, 0, 3, 2, body, "loop"))
    for tensor, name in ((t, "t after"), (u, "u after")):
        bench.take(tensor, name)
    bench.check()


@shapes
def test_sorting(shape: list[int], tiles: int) -> None:
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    values = np.random.default_rng(1).permutation(int(np.prod(shape)))
    keys, others = bench.give(FLOAT, shape, "keys", values, run=4), bench.give(INT, shape, "others")
    for largest in (True, False):
        params = TopKParams(3, largest, SortOrder.DESCENDING)
        part = keys[0:3, 0:11] if shape[1] > 11 else keys
        for i, found in enumerate(popops.topKWithPermutation(graph, prog, part, params, "top")):
            bench.take(found, f"top {i} {largest}")
    # Where few elements are scattered over many tiles, sorting takes many rounds: part of them is enough.
    bench.take(popops.sort(graph, keys[1:3, 0:4], 1, prog, "sort"), "sorted")
    bench.take(popops.sortKeyValue(graph, keys[:, 0:2], others[:, 0:2], 0, prog, "by key"), "by key")
    labels = bench.give(UNSIGNED_INT, shape[:1], "labels")
    bench.take(popops.selectScalarFromRows(graph, keys, labels, prog, "rows"), "of rows")
    popops.updateScalarInRows(graph, keys, labels, prog, "less")
    bench.take(popops.hasNaNOrInf(graph, keys, prog, "nan"), "none")
    bench.take(keys, "keys after")
    bench.check()


@shapes
def test_random_numbers(shape: list[int], tiles: int) -> None:
    type_ = HALF if tiles == 7 else FLOAT
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    x, seed = bench.give(type_, shape, "x"), bench.give(UNSIGNED_INT, [2], "seed", [3, 4])
    for given in (seed, None):
        name = "seeded" if given is not None else "own"
        bench.take(poprand.uniform(graph, given, 1, x, type_, -1, 2, prog, "uniform"), f"uniform {name}")
        bench.take(
            poprand.truncatedNormal(graph, given, 1, x.transpose(), type_, 0, 1, 1.5, prog, "t"), f"normal {name}"
        )
        bench.take(poprand.bernoulli(graph, given, 1, x, INT, 0.5, prog, "flip"), f"flips {name}")
        bench.take(poprand.dropout(graph, given, 1, x, x, 0.5, 2.0, prog, "drop"), f"dropped {name}")
    saved = poprand.getHwSeeds(graph, prog, "get")
    poprand.setSeed(graph, seed, 2, prog, "set")
    bench.take(poprand.logUniform(graph, None, 0, x, FLOAT, 1, 9, prog, debugContext="log"), "log")
    poprand.setHwSeeds(graph, saved, prog, "back")
    bench.take(poprand.shapedDropout(graph, None, 0, x, x[0], 0.5, 2.0, prog, "shaped"), "shaped")
    bench.check()


@pytest.mark.parametrize("type_", [FLOAT, HALF])
def test_buffers_runs_of_rows_and_images(type_: Type) -> None:
    bench = Workbench(7)
    graph, prog = bench.graph, bench.program
    buffer = popops.CircBuf(graph, type_, 3, [5])
    for name in "abcd":
        buffer.add(bench.give(type_, [5], name), prog)
    bench.take(concat(buffer.prev(0, prog), buffer.prev(2, prog)), "buffer")
    places = [
        bench.give(UNSIGNED_INT, [2], name, numbers) for name, numbers in (("n", [2, 1]), ("i", [1, 0]), ("o", [0, 4]))
    ]
    rows = bench.give(type_, [6, 3], "rows")
    popops.sequenceSlice(graph, bench.give(type_, [4, 3], "source"), rows, *places, False, prog)
    bench.take(rows, "sequences")
    image = popops.createNormaliseImageInput(graph, type_, [4, 3, 3])
    prog.add(Copy(bench.give(type_, [4, 3, 3], "image"), image))
    shift, factor = bench.give(type_, [3], "shift"), bench.give(type_, [3], "factor")
    bench.take(popops.normaliseImage(graph, prog, image, 0.5, shift, factor), "normalised")
    columns = bench.give(type_, [16, 8], "columns").transpose()
    bench.take(popops.rearrange.regroupIfBeneficial(graph, columns, 8, prog), "regrouped")
    bench.check()
