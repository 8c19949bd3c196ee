"""The twin of tests/cpp/programs/layers.cpp."""

from __future__ import annotations

from typing import Any

from simulator import poplar
from simulator.poplar import FLOAT, UNSIGNED_INT
from simulator.poplar.program import Execute
from simulator.poplibs import popnn
from simulator.poplibs.popnn import NonLinearityType
from tests.cpp.twins.results import Results

FUNCTIONS = (
    "gelu",
    "relu",
    "sigmoid",
    "softmax",
    "softmaxStable",
    "swish",
    "tanh",
    "scaledSoftmaxStable",
    "logSoftmax",
)


def run(results: Results) -> None:
    _norms(results)
    _pooling(results)
    _functions(results)
    _losses(results)


def _norms(results: Results) -> None:
    acts = results.operand([3, 4, 2])
    gamma = results.filled(popnn.createNormGamma(results.graph, acts), results.operand([4], 1))
    beta = results.filled(popnn.createNormBeta(results.graph, acts), results.operand([4], 2))
    results.number("createNormParams", popnn.createNormParams(results.graph, acts)[0].numElements())
    parameters = acts, gamma, beta
    _norm(results, "bn", "batchNorm", popnn.bn.batchNormalise, parameters, (False, True))
    _norm(results, "gn", "groupNorm", popnn.gn.groupNormalise, parameters, (2, False))
    _norm(results, "in", "instanceNorm", popnn.in_.instanceNormalise, parameters, (False,))
    _norm(results, "ln", "layerNorm", popnn.ln.layerNormalise, parameters, (True,))
    inference = popnn.bn.batchNormalise(results.graph, acts, gamma, beta, results.prog)
    results.read("batchNormalise for inference", inference)
    for name in ("getNormFwdFlops", "getNormBwdFlops", "getNormWuFlops"):
        results.number(name, getattr(popnn, name)(4, 24))


def _norm(
    results: Results,
    space: str,
    name: str,
    normalise: Any,
    parameters: tuple[poplar.Tensor, poplar.Tensor, poplar.Tensor],
    statistics: tuple[Any, ...],
) -> None:
    """A layer whose statistics take what stands behind `prog`."""
    graph, prog = results.graph, results.prog
    acts, gamma, beta = parameters
    slopes = results.operand([3, 4, 2], 5)
    module = popnn.in_ if space == "in" else getattr(popnn, space)
    mean, deviation = getattr(module, f"{name}Statistics")(graph, acts, 0.01, prog, *statistics)
    results.read(f"{space} statistics", poplar.concat(mean, deviation))
    white = getattr(module, f"{name}Whiten")(graph, acts, mean, deviation, prog)
    results.read(f"{space} normalised", poplar.concat(*normalise(graph, acts, gamma, beta, mean, deviation, prog)))
    parameter_gradients = getattr(module, f"{name}ParamGradients")
    deltas = parameter_gradients(graph, white, slopes, prog)
    others = parameter_gradients(graph, acts, slopes, mean, deviation, prog)
    results.read(f"{space} parameters", poplar.concat([*deltas, *others]))
    gradients = getattr(module, f"{name}Gradients")
    back = gradients(graph, white, slopes, deviation, gamma, prog)
    gradient = gradients(graph, acts, slopes, mean, deviation, gamma, prog)
    results.read(f"{space} gradient", poplar.concat(back, gradient))
    for scale in (-0.5, results.scalar(0.25)):
        getattr(module, f"{name}ParamUpdate")(graph, *deltas, scale, gamma, beta, prog)
    results.read(f"{space} updated", poplar.concat(gamma, beta))


def _pooling(results: Results) -> None:
    graph, prog, pooling = results.graph, results.prog, popnn.pooling
    image = results.operand([1, 2, 4, 4])
    for type_ in popnn.PoolingType:
        params = pooling.PoolParams(type_, [4, 4], [3, 2], [1, 2], [1, 0], [0, 0], 2, 1, FLOAT)
        name = pooling.asString(type_)
        pooled = pooling.pool(graph, params, image, prog)
        results.read(f"pool {name}", pooled)
        slopes = results.operand(pooled.shape(), 3)
        back = pooling.poolInputGradient(graph, params, image, pooled, slopes, False, prog)
        results.read(f"poolInputGradient {name}", back)
        if type_ is not popnn.PoolingType.MAX:
            back = pooling.poolInputGradient(graph, params, 1, slopes, prog)
            results.read(f"poolInputGradient without input {name}", back)
        results.number(f"flops {name}", pooling.getFwdFlops(params) * 1000 + pooling.getBwdFlops(params))
        cycles = pooling.getFwdPerfectCycleCount(graph, params) + pooling.getBwdPerfectCycleCount(graph, params)
        results.number(f"cycles {name}", cycles)
        field = pooling.getOutputFieldShape(params)
        results.number(f"field {name}", field[1] * 100 + field[0] * 10 + len(field))


def _functions(results: Results) -> None:
    graph, prog = results.graph, results.prog
    t, slopes = results.operand([2, 4]), results.operand([2, 4], 2)
    for name in FUNCTIONS:
        results.read(name, getattr(popnn, name)(graph, t, prog))
        changed = results.variable(t)
        getattr(popnn, f"{name}InPlace")(graph, changed, prog)
        results.read(f"{name}InPlace", changed)
    results.read("nonLinearity", popnn.nonLinearity(graph, NonLinearityType.HARD_SIGMOID, t, prog))
    results.read("scaled", popnn.nonLinearity(graph, NonLinearityType.SOFTMAX_SCALED, t, prog))
    changed = results.variable(t)
    for kind in (NonLinearityType.GELU_ERF, NonLinearityType.RELU, NonLinearityType.TANH):
        popnn.nonLinearityInPlace(graph, kind, changed, prog)
    results.read("nonLinearityInPlace", changed)
    results.read("scaledSoftmaxStable again", popnn.scaledSoftmaxStable(graph, t, prog))
    changed = results.variable(popnn.swish(graph, t, prog))
    popnn.scaledSoftmaxStableInPlace(graph, changed, prog)
    results.read("nonLinearityInPlace, scaled", changed)
    results.number("scalings", 16384 + 1 + 16384 + 1 + 16384)
    back = popnn.nonLinearityInputGradient(graph, NonLinearityType.TANH, t, slopes, prog)
    results.read("nonLinearityInputGradient", back)
    gradient = graph.addComputeSet("gradient")
    back = popnn.nonLinearityInputGradient(graph, NonLinearityType.RELU, t, slopes, gradient)
    prog.add(Execute(gradient))
    results.read("nonLinearityInputGradient with a set", back)


def _losses(results: Results) -> None:
    graph, prog = results.graph, results.prog
    t, labels = results.operand([2, 4]), results.indices([2], [3, 1])
    results.read("argMax", popnn.argMax(graph, t, prog))
    results.read("argMin", popnn.argMin(graph, t, prog))
    results.read("maxAndArgMax", popnn.maxAndArgMax(graph, t, prog)[0])
    results.read("minAndArgMin", popnn.minAndArgMin(graph, t, prog)[1])
    values, places = popnn.topK(graph, t, 2, True, prog)
    results.read("topK", values)
    results.read("topK indices", places)
    linear = poplar.VariableMappingMethod.LINEAR
    loss, deltas = graph.addVariable(FLOAT, [2], linear), graph.clone(t)
    kind = popnn.LossType.CROSS_ENTROPY_LOSS
    prog.add(popnn.calcLoss(graph, popnn.softmax(graph, t, prog), labels, loss, deltas, kind))
    results.read("calcLoss", poplar.concat(loss, deltas.flatten()))
    probabilities = popnn.softmax(graph, t, prog)
    prog.add(popnn.calcLoss(graph, probabilities, labels, loss, deltas, results.scalar(3), results.scalar(1), kind))
    results.read("calcLoss with a scale", deltas)
    right = graph.addVariable(UNSIGNED_INT, [1], linear)
    model, scales = popnn.softmax(graph, t, prog), (results.scalar(2), results.scalar(1))
    prog.add(popnn.calcLoss(graph, model, labels, loss, deltas, *scales, right, kind))
    results.read("calcLoss scaled", poplar.concat(loss, deltas.flatten()))
    results.read("calcLoss right", right)
    correct = graph.addVariable(UNSIGNED_INT, [1], linear)
    prog.add(popnn.calcAccuracy(graph, t, labels, correct))
    results.read("calcAccuracy", correct)
