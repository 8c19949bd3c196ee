"""The twin of tests/cpp/programs/convolutions.cpp."""

from __future__ import annotations

import io

from simulator import poplar
from simulator.poplar import FLOAT
from simulator.poplibs import poplin
from tests.cpp.twins.results import Results


def run(results: Results) -> None:
    _parameters(results)
    _convolutions(results)
    _products(results)
    _solvers(results)
    _norms(results)


def _padded() -> poplin.ConvParams:
    padding = poplin.InputTransform(paddingLower=[1, 1], paddingUpper=[1, 0])
    strides = poplin.OutputTransform(stride=[1, 2])
    return poplin.ConvParams(FLOAT, FLOAT, 2, [4, 4], [3, 3], 2, 3, 1, padding, poplin.InputTransform(), strides)


def _parameters(results: Results) -> None:
    params = _padded()
    for name, dim in {
        "getUntransformedOutputSize": 1,
        "getOutputSize": 1,
        "getInputSize": 0,
        "getTruncatedInputSize": 0,
        "getTruncatedKernelSize": 0,
        "getTransformedInputSize": 0,
        "getTransformedKernelSize": 0,
    }.items():
        results.number(name, getattr(params, name)(dim))
    results.number("getOutputFieldShape", params.getOutputFieldShape()[0])
    for name in (
        "getNumOutputChansPerConvGroup",
        "getNumOutputChans",
        "getNumInputChansPerConvGroup",
        "getNumInputChans",
        "getNumConvGroups",
        "getNumFieldDims",
        "getBatchSize",
    ):
        results.number(name, getattr(params, name)())
    gradient = poplin.getGradientParams(params)
    places = gradient.inputChannels * 100 + gradient.inputTransform.dilation[1] * 10 + gradient.kernelShape[0]
    results.number("getGradientParams", places)
    for name in ("getFwdFlops", "getBwdFlops", "getWuFlops"):
        results.number(name, getattr(poplin, name)(params))
    for name in ("getFwdPerfectCycleCount", "getBwdPerfectCycleCount", "getWuPerfectCycleCount"):
        results.number(name, getattr(poplin, name)(results.graph, params))


def _convolutions(results: Results) -> None:
    graph, prog, params = results.graph, results.prog, _padded()
    options = {"partialsType": "float", "pass": "TRAINING_FWD"}
    cache = poplin.PlanningCache()
    image = results.filled(poplin.createInput(graph, params, "in", options, cache), results.operand([2, 2, 4, 4]))
    weights = poplin.createWeights(graph, params, "weights", options, cache)
    results.filled(weights, results.operand([1, 3, 2, 3, 3], 1))
    out = poplin.convolution(graph, image, weights, params, False, prog, "convolution", options, cache)
    results.read("convolution", out)
    biases = results.filled(poplin.createBiases(graph, out), results.operand([3], 2))
    poplin.addBias(graph, out, biases, prog)
    results.read("addBias", out)
    slopes = results.operand(out.shape(), 3)
    backward, update = {"pass": "TRAINING_BWD"}, {"pass": "TRAINING_WU"}
    gradient = poplin.getGradientParams(params)
    back = poplin.convolution(graph, slopes, weights, gradient, True, prog, "backward", backward)
    results.read("gradient of the input", back)
    turned = graph.addVariable(FLOAT, [1, 2, 3, 3, 3], poplar.VariableMappingMethod.LINEAR)
    poplin.weightsTransposeChansFlipXY(graph, weights, turned, prog)
    results.read("weightsTransposeChansFlipXY", turned)
    results.read("calculateWeightDeltas", poplin.calculateWeightDeltas(graph, slopes, image, params, prog, "", update))
    for scale in (-0.5, results.scalar(0.25)):
        poplin.convolutionWeightUpdate(graph, slopes, weights, image, params, scale, prog, "", update)
        poplin.convolutionBiasUpdate(graph, slopes, biases, scale, {}, prog)
    results.read("convolutionWeightUpdate", weights)
    results.read("convolutionBiasUpdate", biases)
    plans = io.StringIO()
    poplin.reportPlanInfo(plans, graph, params, options)
    poplin.reportWeightUpdatePlanInfo(plans, graph, params, update)
    results.number("characters of plans", len(plans.getvalue()))
    costs = poplin.reportPlanEstimatedCosts(graph, params, options)
    results.number("cycles of the plan", costs.cycles)
    results.number("bytes of the plan", costs.memory)


def _products(results: Results) -> None:
    graph, prog = results.graph, results.prog
    shapes = [4, 6], [6, 3]
    a, b = results.operand([4, 6]), results.operand([6, 3], 1)
    right = results.filled(poplin.createMatMulInputRHS(graph, FLOAT, FLOAT, *shapes), b)
    options = {"fullyConnectedPass": "TRAINING_BWD"}
    arranged = options | {"inputRHSIsPreArranged": "true"}
    ready = poplin.preArrangeMatMulInputRHS(graph, [4, 6], right, prog, FLOAT, "ready", options)
    results.read("preArrangeMatMulInputRHS", poplin.matMul(graph, a, ready, prog, FLOAT, "product", arranged))
    results.read("matMul of it", poplin.matMul(graph, a, right, prog))
    results.read("matMul", poplin.matMul(graph, a, right, prog))
    out = poplin.createMatMulOutput(graph, FLOAT, FLOAT, *shapes)
    poplin.matMulWithOutput(graph, a, right, out, prog)
    poplin.matMulAcc(graph, out, 0.5, a, right, prog)
    poplin.matMulAcc(graph, out, results.scalar(2), a, right, prog)
    results.read("matMulAcc", out)
    groups = [2, 2, 3], [2, 3, 2]
    left = results.filled(poplin.createMatMulGroupedInputLHS(graph, FLOAT, FLOAT, *groups), results.operand([2, 2, 3]))
    many = results.filled(
        poplin.createMatMulGroupedInputRHS(graph, FLOAT, FLOAT, *groups), results.operand([2, 3, 2], 4)
    )
    results.read("matMulGrouped", poplin.matMulGrouped(graph, left, many, prog, FLOAT))
    outputs = poplin.createMatMulGroupedOutput(graph, FLOAT, FLOAT, *groups)
    poplin.matMulGroupedWithOutput(graph, left, many, outputs, prog)
    for scale in (0.5, results.scalar(0.25)):
        poplin.matMulGroupedAcc(graph, outputs, scale, left, many, prog)
    results.read("matMulGroupedAcc", outputs)
    group = poplin.preArrangeMatMulGroupedInputRHS(graph, [2, 2, 3], many, prog, FLOAT, "group", options)
    product = poplin.matMulGrouped(graph, left, group, prog, FLOAT, "", arranged)
    results.read("preArrangeMatMulGroupedInputRHS", product)
    results.read("transposeGroupedMatrix", poplin.transposeGroupedMatrix(many))
    results.number("createMatMulInputLHS", 24)
    plans = io.StringIO()
    poplin.matMulReportPlan(plans, graph, FLOAT, FLOAT, *shapes)
    poplin.matMulGroupedReportPlan(plans, graph, FLOAT, FLOAT, *groups)
    results.number("characters of products' plans", len(plans.getvalue()))
    connected, options = poplin.ConvParams(FLOAT, 1, [4], [1], 6, 3, 1), {"pass": "FC_TRAINING_FWD"}
    weights = results.operand([1, 6, 4])
    transposed = poplin.fullyConnectedWeightTranspose(graph, weights, connected, prog, "transposed", options)
    results.read("fullyConnectedWeightTranspose", transposed)


def _solvers(results: Results) -> None:
    graph, prog, options = results.graph, results.prog, {"blockSize": "4"}
    shapes = [6, 6], [6, 2]
    products = poplin.getTriangularSolveMatMulPrePlanParameters(FLOAT, FLOAT, *shapes, True, True, options)
    results.number("products of a solve", len(products))
    decomposed = poplin.getCholeskyMatMulPrePlanParameters(FLOAT, [6, 6], True, options)
    results.number("products of a decomposition", len(decomposed))
    numbers = [(8.0 if i == j else 1.0) / (1 + max(i, j)) for i in range(6) for j in range(6)]
    values = graph.addConstant(FLOAT, [6, 6], numbers)
    graph.setTileMapping(values, 0)
    a = poplin.createTriangularSolveInputLHS(graph, FLOAT, FLOAT, *shapes, True, "a", options)
    b = poplin.createTriangularSolveInputRHS(graph, FLOAT, FLOAT, *shapes, True, "b", options)
    results.filled(a, values)
    results.filled(b, results.operand([6, 2]))
    results.read("triangularMask", poplin.triangularMask(graph, a, True, False, prog))
    results.read("triangularSolve", poplin.triangularSolve(graph, a, b, True, True, False, prog, "solve", options))
    c = results.filled(poplin.createCholeskyInput(graph, FLOAT, [6, 6], True, "c", options), values)
    results.read("cholesky", poplin.cholesky(graph, c, True, prog, "cholesky", options))
    poplin.choleskyInPlace(graph, c, True, prog, "in place", options)
    results.read("choleskyInPlace", c)


def _norms(results: Results) -> None:
    graph, prog = results.graph, results.prog
    acts, slopes = results.operand([3, 2, 4]), results.operand([3, 2, 4], 5)
    gamma = results.filled(poplin.createNormGamma(graph, acts, FLOAT), results.operand([2], 1))
    beta = results.filled(poplin.createNormBeta(graph, acts, FLOAT), results.operand([2], 2))
    results.number("createNorm", 4)
    results.number("createNormParams", poplin.createNormParams(graph, acts)[1].numElements())
    mean, deviation = poplin.normStatistics(graph, acts, 0.01, prog, False, True, FLOAT, "statistics")
    results.read("normStatistics", poplar.concat(mean, deviation))
    white = poplin.normWhiten(graph, acts, mean, deviation, prog)
    results.read("normWhiten", white)
    results.read("normalise", poplin.normalise(graph, white, gamma, beta, prog))
    results.read("normParamGradients", poplar.concat(*poplin.normParamGradients(graph, white, slopes, prog)))
    results.read("normGradients", poplin.normGradients(graph, slopes, gamma, prog))
    back = poplin.normStatisticsGradients(graph, white, slopes, deviation, prog)
    results.read("normStatisticsGradients", back)
