"""Convolutions, pooling, normalisation, losses and what is left of poplin give the same results when values live only
at the report's addresses: three shapes each, on other numbers of tiles, inputs scattered.
test_address_accurate_libraries has the operations that these are made of."""

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, UNSIGNED_INT
from simulator.poplar.program import Copy
from simulator.poplibs import poplin, popnn, poputil
from simulator.poplibs.poplin import ConvParams, InputTransform, OutputTransform
from simulator.poplibs.popnn import LossType, pooling
from tests.runtime.both_engines import Workbench

floats = pytest.mark.parametrize("type_", [FLOAT, HALF])


@pytest.mark.parametrize(
    ("tiles", "sizes"),
    [(4, (1, [6], [3], 3, 4, 1)), (7, (2, [5, 6], [3, 2], 4, 3, 2)), (16, (1, [6, 7], [3, 3], 16, 8, 1))],
)
@floats
def test_convolutions_and_their_gradients(tiles, sizes, type_):
    """Operands as they come and where the plan wants them."""
    dims = len(sizes[1])
    padding = InputTransform(paddingLower=[1] * dims, paddingUpper=[1] * dims)
    params = ConvParams(type_, *sizes, padding, None, OutputTransform(stride=[2] + [1] * (dims - 1)))
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    shapes = (
        [params.batchSize, params.getNumInputChans(), *params.inputFieldShape],
        [params.numConvGroups, params.outputChannels, params.inputChannels, *params.kernelShape],
        [params.batchSize, params.getNumOutputChans(), *params.getOutputFieldShape()],
    )
    x, w, slope = (bench.give(type_, shape, name) for shape, name in zip(shapes, "xws", strict=True))
    bench.take(poplin.convolution(graph, x, w, params, False, prog, "scattered"), "scattered")
    acts, weights = poplin.createInput(graph, params, "acts"), poplin.createWeights(graph, params, "weights")
    prog.add(Copy(x, acts))
    prog.add(Copy(w, weights))
    out = poplin.convolution(graph, acts, weights, params, False, prog, "planned")
    biases = poplin.createBiases(graph, out)
    prog.add(Copy(x.flatten().slice(0, biases.numElements()), biases))
    poplin.addBias(graph, out, biases, prog, "bias")
    bench.take(out, "planned")
    bench.take(poplin.convolution(graph, slope, weights, poplin.getGradientParams(params), True, prog, "back"), "back")
    poplin.convolutionWeightUpdate(graph, slope, weights, acts, params, -0.5, prog, "wu")
    poplin.convolutionBiasUpdate(graph, slope, biases, -0.5, prog, "bu")
    bench.take(weights, "weights after")
    bench.take(biases, "biases after")
    bench.check(exact=False)


@pytest.mark.parametrize(("tiles", "field", "channels"), [(4, [6], 4), (7, [5, 6], 3), (16, [6, 7], 16)])
@pytest.mark.parametrize("kind", [pooling.PoolingType.MAX, pooling.PoolingType.AVG])
@floats
def test_pooling(tiles, field, channels, kind, type_):
    dims = len(field)
    params = pooling.PoolParams(kind, field, [3] * dims, [2] * dims, [1] * dims, [0] * dims, channels, 2, type_)
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    x = bench.give(type_, [2, channels, *field], "x")
    out = pooling.pool(graph, params, x, prog, "pool")
    slope = bench.give(type_, out.shape(), "slope")
    bench.take(out, "out")
    if kind is pooling.PoolingType.MAX:
        bench.take(pooling.poolInputGradient(graph, params, x, out, slope, True, prog, "back"), "back")
    else:
        bench.take(pooling.poolInputGradient(graph, params, 1, slope, prog, "back"), "back")
    bench.check(exact=False)


@pytest.mark.parametrize(("tiles", "shape"), [(4, [3, 4]), (7, [2, 6, 5]), (16, [4, 8, 3, 3])])
@floats
def test_normalisation(tiles, shape, type_):
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    x, slope = bench.give(type_, shape, "x"), bench.give(type_, shape, "slope")
    gamma, beta = (bench.give(type_, shape[1:2], name) for name in ("gamma", "beta"))
    for name, statistics, layer in (
        ("bn", popnn.bn.batchNormStatistics(graph, x, 1e-2, prog, False, True), popnn.bn.batchNormalise),
        ("gn", popnn.gn.groupNormStatistics(graph, x, 1e-2, prog, 2, False, True), popnn.gn.groupNormalise),
    ):
        bench.take(statistics[0], f"{name} mean")
        out, whitened = layer(graph, x, gamma, beta, *statistics, prog, name)
        bench.take(out, f"{name} out")
        slopes = popnn.gn.groupNormParamGradients(graph, whitened, slope, prog, FLOAT, name)
        bench.take(slopes[0], f"{name} gamma")
        bench.take(slopes[1], f"{name} beta")
    popnn.bn.batchNormParamUpdate(graph, gamma, beta, -0.5, gamma, beta, prog, "update")
    bench.take(gamma, "gamma after")
    bench.check(exact=False, roundings=5)  # mean, deviation, whitening, products, their sum


@pytest.mark.parametrize(("rows", "classes", "tiles"), [(4, 3, 4), (7, 40, 7), (3, 450, 16)])
@floats
def test_losses_extremes_and_softmaxes(rows, classes, tiles, type_):
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    x = bench.give(type_, [rows, classes], "x")
    labels = bench.give(UNSIGNED_INT, [rows], "labels", np.arange(rows) % classes)
    loss, deltas = graph.addVariable(type_, [rows], "loss"), graph.addVariable(type_, [rows, classes], "deltas")
    for tensor in (loss, deltas):
        poputil.mapTensorLinearly(graph, tensor, 1)
    count = bench.give(UNSIGNED_INT, [1], "count")
    prog.add(popnn.calcLoss(graph, x, labels, loss, deltas, count, LossType.SUM_SQUARED_LOSS, "loss"))
    for tensor, name in ((loss, "loss"), (deltas, "deltas"), (count, "count after")):
        bench.take(tensor, name)
    for function in (popnn.maxAndArgMax, popnn.minAndArgMin):
        values, places = function(graph, x, prog, function.__name__)
        bench.take(values, f"{function.__name__} values")
        bench.take(places, f"{function.__name__} places")
    bench.take(popnn.logSoftmax(graph, x, prog, "log"), "log")
    popnn.scaledSoftmaxStableInPlace(graph, x, prog, "scaled")
    bench.take(x, "x after")
    bench.check(exact=False)


@pytest.mark.parametrize(("rows", "inner", "columns", "tiles"), [(3, 5, 4, 4), (6, 37, 20, 7), (17, 24, 9, 16)])
@floats
def test_products_into_tensors(rows, inner, columns, tiles, type_):
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    a, b = bench.give(type_, [rows, inner], "a"), bench.give(type_, [inner, columns], "b")
    c = bench.give(type_, [rows, columns], "c")
    ready = poplin.preArrangeMatMulInputRHS(graph, a.shape(), b, prog, "ready")
    out = poplin.createMatMulOutput(graph, type_, a.shape(), b.shape(), "out")
    poplin.matMulWithOutput(graph, a, ready, out, prog, "p", {"inputRHSIsPreArranged": "true"})
    poplin.matMulAcc(graph, c, 0.5, a, b, prog, "acc")
    bench.take(out, "out")
    bench.take(c, "c after")
    bench.check(exact=False)


@pytest.mark.parametrize(("tiles", "sizes"), [(4, (2, 3, [5, 4])), (7, (3, 2, [4, 6])), (16, (4, 2, [8, 8]))])
@floats
def test_lstm(tiles, sizes, type_):
    lstm_on(tiles, sizes, type_, False)


def test_lstm_whose_last_output_nobody_reads():
    lstm_on(4, (2, 3, [5, 4]), FLOAT, True)


def lstm_on(tiles, sizes, type_, full):
    params = popnn.lstm.LstmParams(type_, *sizes, outputFullSequence=full)
    batch, steps, (_, out) = sizes
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    weights = popnn.lstm.createWeights(graph, params)
    given = bench.give(type_, [steps, batch, sizes[2][0]], "x")
    state = popnn.lstm.LstmState(*(bench.give(type_, [batch, out], name) for name in ("h", "c")))
    for name, tensor in zip(weights._fields, weights, strict=True):
        prog.add(Copy(bench.give(type_, tensor.shape(), name), tensor))
    slope, last = bench.give(type_, [steps, batch, out][not full :], "slope"), bench.give(type_, [batch, out], "last")
    y, cell, kept = popnn.lstm.lstmFwd(graph, params, state, given, weights, prog, "fwd")
    first, back, found = popnn.lstm.lstmBwdWithWU(graph, params, prog, state, kept, weights, given, y, slope, last)
    for i, tensor in enumerate((y, cell, back, *first, *found)):
        bench.take(tensor, f"result {i}")
    bench.check(exact=False, roundings=4)


@pytest.mark.parametrize(("tiles", "sizes"), [(4, (2, 3, [5, 4])), (7, (3, 2, [4, 6])), (16, (1, 1, [8, 1]))])
@pytest.mark.parametrize("full", [True, False])
@floats
def test_gru(tiles, sizes, full, type_):
    params = popnn.gru.GruParams(type_, *sizes, outputFullSequence=full, resetAfter=full)
    batch, steps, (fan_in, out) = sizes
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    weights = popnn.gru.createWeights(graph, params)
    for name, tensor in zip(weights._fields, weights, strict=True):
        prog.add(Copy(bench.give(type_, tensor.shape(), name), tensor))
    given, state = bench.give(type_, [steps, batch, fan_in], "x"), bench.give(type_, [batch, out], "h")
    slope = bench.give(type_, [steps, batch, out][not full :], "slope")
    y, saved = popnn.gru.gruFwd(graph, params, state, given, weights, prog, "fwd")
    first, back, found = popnn.gru.gruBwdWithWU(graph, params, prog, state, saved, weights, given, y, slope)
    for i, tensor in enumerate((y, first, back, *found)):
        bench.take(tensor, f"result {i}")
    bench.check(exact=False, roundings=4)


@pytest.mark.parametrize(("tiles", "sizes"), [(4, (3, 2, 5, 4)), (7, (2, 3, 4, 6)), (16, (1, 1, 8, 1))])
@floats
def test_plain_recurrent_layers(tiles, sizes, type_):
    rnn, kind = popnn.rnn, popnn.NonLinearityType.TANH
    steps, batch, fan_in, out = sizes
    bench = Workbench(tiles)
    graph, prog = bench.graph, bench.program
    x, h, biases = (bench.give(type_, shape, f"{shape}") for shape in ([steps, batch, fan_in], [batch, out], [out]))
    forward = rnn.createWeightsInput(graph, *sizes, type_)
    feedback = rnn.createWeightsFeedback(graph, batch, out, type_)
    for name, tensor in (("forward", forward), ("feedback", feedback)):
        prog.add(Copy(bench.give(type_, tensor.shape(), name), tensor))
    y = rnn.rnnFwdSequence(graph, prog, h, None, biases, forward, feedback, x, kind)
    slope = bench.give(type_, y.shape(), "slope")
    back = rnn.rnnBwdSequence(graph, True, False, prog, h, y, biases, forward, feedback, slope, x, kind)
    for name, tensor in {"y": y, **back._asdict()}.items():
        bench.take(tensor, name)
    bench.check(exact=False, roundings=4)
