"""Every library function gives the same results when values live only at the report's addresses.

Inputs are scattered over the tiles in runs of three elements, so that operands come by exchange, are gathered, or both.
Three shapes, each on another number of tiles. Library vertices run one by one; element-wise kernels do the same
arithmetic and must agree bit for bit, sums (products, reductions, softmax) are added in another order by the fused
kernels, so they agree within the rounding of the type.
"""

import inspect

import numpy as np
import pytest

from simulator.base.errors import type_error
from simulator.poplar import BOOL, FLOAT, HALF, INT, UNSIGNED_INT
from simulator.poplar.program import Copy
from simulator.poplibs import popnn, popops, poputil
from simulator.poplibs.poplin import (
    ConvParams,
    cholesky,
    createMatMulGroupedInputLHS,
    createMatMulGroupedInputRHS,
    createMatMulInputLHS,
    createMatMulInputRHS,
    matMul,
    matMulGrouped,
    multiconv,
    triangularMask,
    triangularSolve,
)
from simulator.poplibs.popnn import LossType, NonLinearityType
from tests.runtime.both_engines import Workbench

shapes = pytest.mark.parametrize(("shape", "tiles"), [([5], 4), ([6, 11], 7), ([3, 4, 9], 16)])
floats = pytest.mark.parametrize("type_", [FLOAT, HALF])


def elementwise():
    """(name, number of tensors) of every element-wise operation."""
    found = []
    for name in dir(popops):
        function = getattr(popops, name)
        parameters = list(inspect.signature(function).parameters) if inspect.isfunction(function) else []
        if parameters[:3] == ["graph", "A", "prog"]:
            found.append((name, 1))
        elif parameters[:4] == ["graph", "A", "B", "prog"]:
            found.append((name, 2))
    return found


@shapes
@pytest.mark.parametrize("type_", [FLOAT, HALF, INT, UNSIGNED_INT, BOOL])
def test_every_elementwise_operation(shape, tiles, type_):
    bench, applied = Workbench(tiles), set()
    a, b = bench.give(type_, shape, "a"), bench.give(type_, shape, "b", run=4)
    for name, operands in elementwise():
        function, context = getattr(popops, name), f"x/{name}"
        target = a
        if name.endswith("InPlace"):
            target = bench.graph.addVariable(type_, shape, f"{name}/copy")
            poputil.mapTensorLinearly(bench.graph, target, 1)
            bench.program.add(Copy(a, target))
        try:
            out = function(bench.graph, *[target, b][:operands], bench.program, context)
        except type_error:
            continue
        bench.take(target if out is None else out, name)
        applied.add(name)
    assert {FLOAT: 60, HALF: 60, INT: 30, UNSIGNED_INT: 20, BOOL: 4}[type_] <= len(applied)
    bench.check()


@shapes
@floats
def test_broadcasts_scalars_scaled_casts_and_fills(shape, tiles, type_):
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    a, b = bench.give(type_, shape, "a"), bench.give(type_, shape, "b", run=4)
    row, scale = bench.give(type_, shape[-1:], "row"), bench.give(type_, [], "scale")
    bench.take(popops.mul(graph, a, row, prog, "row"), "times row")
    bench.take(popops.add(graph, a, 3, prog, "three"), "plus three")
    bench.take(popops.cast(graph, a, HALF if type_ is FLOAT else FLOAT, prog, "cast"), "cast")
    whole = graph.addVariable(INT, shape, "whole")
    poputil.mapTensorLinearly(graph, whole, 1)
    popops.castWithOutput(graph, b, whole, prog, "whole")
    bench.take(whole, "whole")
    popops.addInPlace(graph, b, row, prog, "rows")
    popops.scaledAddTo(graph, a, b, 0.25, prog, "grow")
    popops.scaledSubtractFrom(graph, b, a, scale, prog, "shrink")
    popops.fill(graph, a.flatten().slice(1, 4), prog, 7.5, "fill")
    popops.zero(graph, row, prog, "zero")
    for tensor, name in ((a, "a after"), (b, "b after"), (row, "row after")):
        bench.take(tensor, name)
    bench.check()


@shapes
@floats
def test_reductions(shape, tiles, type_):
    bench = Workbench(tiles)
    a = bench.give(type_, shape, "a")
    flags = bench.give(BOOL, shape, "flags")
    for op in popops.Operation:
        logical = "LOGICAL" in op.name
        for dims in sorted({(0,), (len(shape) - 1,), tuple(range(len(shape)))}):
            name = f"{op.name} {dims}"
            out = popops.reduce(bench.graph, flags if logical else a, dims, op, bench.program, name)
            bench.take(out, name)
    bench.check(exact=False)


@pytest.mark.parametrize(("rows", "classes", "tiles"), [(4, 3, 4), (7, 10, 7), (9, 33, 16)])
@floats
def test_classification(rows, classes, tiles, type_):
    """One-hot, every non-linearity with its gradient, and the loss."""
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    x, slope = bench.give(type_, [rows, classes], "x"), bench.give(type_, [rows, classes], "slope")
    labels = bench.give(UNSIGNED_INT, [rows], "labels", np.arange(rows) % classes)
    encoded = graph.addVariable(type_, [rows, classes], "encoded")
    poputil.mapTensorLinearly(graph, encoded, 1)
    popops.encodeOneHot(graph, labels, encoded, prog, "hot")
    bench.take(encoded, "encoded")
    for kind in NonLinearityType:
        out = popnn.nonLinearity(graph, kind, x, prog, kind.name)
        bench.take(out, kind.name)
        if kind is not NonLinearityType.SOFTMAX:  # its gradient is calcLoss's
            bench.take(popnn.nonLinearityInputGradient(graph, kind, out, slope, prog, kind.name), f"{kind.name} back")
    loss, deltas = graph.addVariable(type_, [rows], "loss"), graph.addVariable(type_, [rows, classes], "deltas")
    for tensor in (loss, deltas):
        poputil.mapTensorLinearly(graph, tensor, 1)
    probabilities = popnn.nonLinearity(graph, NonLinearityType.SOFTMAX, x, prog, "p")
    prog.add(popnn.calcLoss(graph, probabilities, labels, loss, deltas, LossType.CROSS_ENTROPY_LOSS, "loss"))
    bench.take(loss, "loss")
    bench.take(deltas, "deltas")
    popnn.nonLinearityInPlace(graph, NonLinearityType.RELU, x, prog, "place")
    bench.take(x, "x after")
    bench.check(exact=False)


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "tiles"), [(3, 5, 4, 4), (1, 37, 20, 7), (17, 24, 9, 16), (12, 70, 33, 16)]
)
@floats
def test_products(rows, inner, columns, tiles, type_):
    """Scattered operands and operands where the plan wants them, twice, so that a second run meets what is left."""
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    a, b = bench.give(type_, [rows, inner], "a"), bench.give(type_, [inner, columns], "b")
    bench.take(matMul(graph, a, b, prog, type_, "scattered"), "scattered")
    left = createMatMulInputLHS(graph, type_, [rows, inner], [inner, columns], "left")
    right = createMatMulInputRHS(graph, type_, [rows, inner], [inner, columns], "right")
    prog.add(Copy(a, left))
    prog.add(Copy(b, right))
    first = matMul(graph, left, right, prog, type_, "planned")
    bench.take(matMul(graph, first.transpose(), left, prog, type_, "transposed"), "transposed")
    bench.check(exact=False, runs=2)


@pytest.mark.parametrize(
    ("groups", "rows", "inner", "columns", "tiles"), [(2, 3, 4, 5, 4), (3, 1, 9, 6, 7), (4, 5, 16, 8, 16)]
)
@floats
def test_grouped_products(groups, rows, inner, columns, tiles, type_):
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    a, b = bench.give(type_, [groups, rows, inner], "a"), bench.give(type_, [groups, inner, columns], "b")
    bench.take(matMulGrouped(graph, a, b, prog, type_, "scattered"), "scattered")
    left = createMatMulGroupedInputLHS(graph, type_, a.shape(), b.shape(), "left")
    right = createMatMulGroupedInputRHS(graph, type_, a.shape(), b.shape(), "right")
    prog.add(Copy(a, left))
    prog.add(Copy(b, right))
    bench.take(matMulGrouped(graph, left, right, prog, type_, "planned"), "planned")
    bench.check(exact=False)


@pytest.mark.parametrize(("rows", "columns", "block", "tiles"), [(6, 1, 4, 4), (5, 3, 8, 6)])
@floats
def test_solvers(rows, columns, block, tiles, type_):
    bench = Workbench(tiles)
    graph, prog, options = bench.graph, bench.program, {"blockSize": str(block)}
    a, b = bench.give(type_, [2, rows, rows], "a"), bench.give(type_, [2, rows, columns], "b")
    mask = triangularMask(graph, a, True, True, prog)
    bench.take(triangularSolve(graph, mask, b, True, True, True, prog, "solve", options), "x")
    product = matMulGrouped(graph, mask, mask.dimShuffle([0, 2, 1]), prog, type_, "square")
    bench.take(cholesky(graph, product, False, prog, "factor", options), "factor")
    bench.check(exact=False)


@floats
def test_convolutions_beside_each_other(type_):
    bench = Workbench(12)
    graph, options = bench.graph, {"perConvReservedTiles": "2"}
    params = [ConvParams(type_, 1, [5, 5], [3, 3], 8, 8, 1), ConvParams(type_, 1, [4, 4], [1, 1], 4, 12, 1)]
    inputs = [bench.give(type_, [1, p.inputChannels, *p.inputFieldShape], f"x{p.inputChannels}") for p in params]
    shapes = [[1, p.outputChannels, p.inputChannels, *p.kernelShape] for p in params]
    weights = [bench.give(type_, shape, f"w{shape[2]}") for shape in shapes]
    args = [multiconv.ConvolutionArgs(x, w, p) for x, w, p in zip(inputs, weights, params, strict=True)]
    for number, out in enumerate(multiconv.convolution(graph, args, False, bench.program, "fwd", options)):
        bench.take(out, f"out{number}")
    bench.check(exact=False)
