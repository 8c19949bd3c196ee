"""The twin of tests/cpp/programs/convolutions.cpp."""

from __future__ import annotations

import io

from simulator import poplar
from simulator.poplar import FLOAT
from simulator.poplibs import poplin
from tests.cpp.twins.results import Results


def results(found: Results) -> None:
    _parameters(found)
    _convolutions(found)
    _products(found)
    _norms(found)


def _padded() -> poplin.ConvParams:
    padding = poplin.InputTransform(paddingLower=[1, 1], paddingUpper=[1, 0])
    strides = poplin.OutputTransform(stride=[1, 2])
    return poplin.ConvParams(FLOAT, FLOAT, 2, [4, 4], [3, 3], 2, 3, 1, padding, poplin.InputTransform(), strides)


def _parameters(found: Results) -> None:
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
        found.number(name, getattr(params, name)(dim))
    found.number("getOutputFieldShape", params.getOutputFieldShape()[0])
    for name in (
        "getNumOutputChansPerConvGroup",
        "getNumOutputChans",
        "getNumInputChansPerConvGroup",
        "getNumInputChans",
        "getNumConvGroups",
        "getNumFieldDims",
        "getBatchSize",
    ):
        found.number(name, getattr(params, name)())
    gradient = poplin.getGradientParams(params)
    places = gradient.inputChannels * 100 + gradient.inputTransform.dilation[1] * 10 + gradient.kernelShape[0]
    found.number("getGradientParams", places)
    for name in ("getFwdFlops", "getBwdFlops", "getWuFlops"):
        found.number(name, getattr(poplin, name)(params))
    for name in ("getFwdPerfectCycleCount", "getBwdPerfectCycleCount", "getWuPerfectCycleCount"):
        found.number(name, getattr(poplin, name)(found.graph, params))


def _convolutions(found: Results) -> None:
    graph, prog, params = found.graph, found.prog, _padded()
    options = {"partialsType": "float", "pass": "TRAINING_FWD"}
    cache = poplin.PlanningCache()
    image = found.filled(poplin.createInput(graph, params, "in", options, cache), found.given([2, 2, 4, 4]))
    weights = poplin.createWeights(graph, params, "weights", options, cache)
    found.filled(weights, found.given([1, 3, 2, 3, 3], 1))
    out = poplin.convolution(graph, image, weights, params, False, prog, "convolution", options, cache)
    found.read("convolution", out)
    biases = found.filled(poplin.createBiases(graph, out), found.given([3], 2))
    poplin.addBias(graph, out, biases, prog)
    found.read("addBias", out)
    slopes = found.given(out.shape(), 3)
    backward, update = {"pass": "TRAINING_BWD"}, {"pass": "TRAINING_WU"}
    gradient = poplin.getGradientParams(params)
    back = poplin.convolution(graph, slopes, weights, gradient, True, prog, "backward", backward)
    found.read("gradient of the input", back)
    turned = graph.addVariable(FLOAT, [1, 2, 3, 3, 3], poplar.VariableMappingMethod.LINEAR)
    poplin.weightsTransposeChansFlipXY(graph, weights, turned, prog)
    found.read("weightsTransposeChansFlipXY", turned)
    found.read("calculateWeightDeltas", poplin.calculateWeightDeltas(graph, slopes, image, params, prog, "", update))
    for scale in (-0.5, found.scalar(0.25)):
        poplin.convolutionWeightUpdate(graph, slopes, weights, image, params, scale, prog, "", update)
        poplin.convolutionBiasUpdate(graph, slopes, biases, scale, {}, prog)
    found.read("convolutionWeightUpdate", weights)
    found.read("convolutionBiasUpdate", biases)
    plans = io.StringIO()
    poplin.reportPlanInfo(plans, graph, params, options)
    poplin.reportWeightUpdatePlanInfo(plans, graph, params, update)
    found.number("characters of plans", len(plans.getvalue()))
    costs = poplin.reportPlanEstimatedCosts(graph, params, options)
    found.number("cycles of the plan", costs.cycles)
    found.number("bytes of the plan", costs.memory)


def _products(found: Results) -> None:
    graph, prog = found.graph, found.prog
    shapes = [4, 6], [6, 3]
    a, b = found.given([4, 6]), found.given([6, 3], 1)
    right = found.filled(poplin.createMatMulInputRHS(graph, FLOAT, FLOAT, *shapes), b)
    options = {"fullyConnectedPass": "TRAINING_BWD"}
    arranged = options | {"inputRHSIsPreArranged": "true"}
    ready = poplin.preArrangeMatMulInputRHS(graph, [4, 6], right, prog, FLOAT, "ready", options)
    found.read("preArrangeMatMulInputRHS", poplin.matMul(graph, a, ready, prog, FLOAT, "product", arranged))
    found.read("matMul of it", poplin.matMul(graph, a, right, prog))
    found.read("matMul", poplin.matMul(graph, a, right, prog))
    out = poplin.createMatMulOutput(graph, FLOAT, FLOAT, *shapes)
    poplin.matMulWithOutput(graph, a, right, out, prog)
    poplin.matMulAcc(graph, out, 0.5, a, right, prog)
    poplin.matMulAcc(graph, out, found.scalar(2), a, right, prog)
    found.read("matMulAcc", out)
    groups = [2, 2, 3], [2, 3, 2]
    left = found.filled(poplin.createMatMulGroupedInputLHS(graph, FLOAT, FLOAT, *groups), found.given([2, 2, 3]))
    many = found.filled(poplin.createMatMulGroupedInputRHS(graph, FLOAT, FLOAT, *groups), found.given([2, 3, 2], 4))
    found.read("matMulGrouped", poplin.matMulGrouped(graph, left, many, prog, FLOAT))
    outputs = poplin.createMatMulGroupedOutput(graph, FLOAT, FLOAT, *groups)
    poplin.matMulGroupedWithOutput(graph, left, many, outputs, prog)
    for scale in (0.5, found.scalar(0.25)):
        poplin.matMulGroupedAcc(graph, outputs, scale, left, many, prog)
    found.read("matMulGroupedAcc", outputs)
    group = poplin.preArrangeMatMulGroupedInputRHS(graph, [2, 2, 3], many, prog, FLOAT, "group", options)
    product = poplin.matMulGrouped(graph, left, group, prog, FLOAT, "", arranged)
    found.read("preArrangeMatMulGroupedInputRHS", product)
    found.read("transposeGroupedMatrix", poplin.transposeGroupedMatrix(many))
    found.number("createMatMulInputLHS", 24)
    plans = io.StringIO()
    poplin.matMulReportPlan(plans, graph, FLOAT, FLOAT, *shapes)
    poplin.matMulGroupedReportPlan(plans, graph, FLOAT, FLOAT, *groups)
    found.number("characters of products' plans", len(plans.getvalue()))
    connected, options = poplin.ConvParams(FLOAT, 1, [4], [1], 6, 3, 1), {"pass": "FC_TRAINING_FWD"}
    weights = found.given([1, 6, 4])
    transposed = poplin.fullyConnectedWeightTranspose(graph, weights, connected, prog, "transposed", options)
    found.read("fullyConnectedWeightTranspose", transposed)


def _norms(found: Results) -> None:
    graph, prog = found.graph, found.prog
    acts, slopes = found.given([3, 2, 4]), found.given([3, 2, 4], 5)
    gamma = found.filled(poplin.createNormGamma(graph, acts, FLOAT), found.given([2], 1))
    beta = found.filled(poplin.createNormBeta(graph, acts, FLOAT), found.given([2], 2))
    found.number("createNorm", 4)
    found.number("createNormParams", poplin.createNormParams(graph, acts)[1].numElements())
    mean, deviation = poplin.normStatistics(graph, acts, 0.01, prog, False, True, FLOAT, "statistics")
    found.read("normStatistics", poplar.concat(mean, deviation))
    white = poplin.normWhiten(graph, acts, mean, deviation, prog)
    found.read("normWhiten", white)
    found.read("normalise", poplin.normalise(graph, white, gamma, beta, prog))
    found.read("normParamGradients", poplar.concat(*poplin.normParamGradients(graph, white, slopes, prog)))
    found.read("normGradients", poplin.normGradients(graph, slopes, gamma, prog))
    back = poplin.normStatisticsGradients(graph, white, slopes, deviation, prog)
    found.read("normStatisticsGradients", back)
