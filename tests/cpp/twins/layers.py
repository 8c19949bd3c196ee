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


def results(found: Results) -> None:
    _norms(found)
    _pooling(found)
    _functions(found)
    _losses(found)


def _norms(found: Results) -> None:
    acts = found.given([3, 4, 2])
    gamma = found.filled(popnn.createNormGamma(found.graph, acts), found.given([4], 1))
    beta = found.filled(popnn.createNormBeta(found.graph, acts), found.given([4], 2))
    found.number("createNormParams", popnn.createNormParams(found.graph, acts)[0].numElements())
    parameters = acts, gamma, beta
    _norm(found, "bn", "batchNorm", popnn.bn.batchNormalise, parameters, (False, True))
    _norm(found, "gn", "groupNorm", popnn.gn.groupNormalise, parameters, (2, False))
    _norm(found, "in", "instanceNorm", popnn.in_.instanceNormalise, parameters, (False,))
    _norm(found, "ln", "layerNorm", popnn.ln.layerNormalise, parameters, (True,))
    inference = popnn.bn.batchNormalise(found.graph, acts, gamma, beta, found.prog)
    found.read("batchNormalise for inference", inference)
    for name in ("getNormFwdFlops", "getNormBwdFlops", "getNormWuFlops"):
        found.number(name, getattr(popnn, name)(4, 24))


def _norm(
    found: Results,
    space: str,
    name: str,
    normalise: Any,
    parameters: tuple[poplar.Tensor, poplar.Tensor, poplar.Tensor],
    statistics: tuple[Any, ...],
) -> None:
    """A layer whose statistics take what stands behind `prog`."""
    graph, prog = found.graph, found.prog
    acts, gamma, beta = parameters
    slopes = found.given([3, 4, 2], 5)
    module = popnn.in_ if space == "in" else getattr(popnn, space)
    mean, deviation = getattr(module, f"{name}Statistics")(graph, acts, 0.01, prog, *statistics)
    found.read(f"{space} statistics", poplar.concat(mean, deviation))
    white = getattr(module, f"{name}Whiten")(graph, acts, mean, deviation, prog)
    found.read(f"{space} normalised", poplar.concat(*normalise(graph, acts, gamma, beta, mean, deviation, prog)))
    parameter_gradients = getattr(module, f"{name}ParamGradients")
    deltas = parameter_gradients(graph, white, slopes, prog)
    others = parameter_gradients(graph, acts, slopes, mean, deviation, prog)
    found.read(f"{space} parameters", poplar.concat([*deltas, *others]))
    gradients = getattr(module, f"{name}Gradients")
    back = gradients(graph, white, slopes, deviation, gamma, prog)
    whole = gradients(graph, acts, slopes, mean, deviation, gamma, prog)
    found.read(f"{space} gradient", poplar.concat(back, whole))
    for scale in (-0.5, found.scalar(0.25)):
        getattr(module, f"{name}ParamUpdate")(graph, *deltas, scale, gamma, beta, prog)
    found.read(f"{space} updated", poplar.concat(gamma, beta))


def _pooling(found: Results) -> None:
    graph, prog, pooling = found.graph, found.prog, popnn.pooling
    image = found.given([1, 2, 4, 4])
    for type_ in popnn.PoolingType:
        params = pooling.PoolParams(type_, [4, 4], [3, 2], [1, 2], [1, 0], [0, 0], 2, 1, FLOAT)
        name = pooling.asString(type_)
        pooled = pooling.pool(graph, params, image, prog)
        found.read(f"pool {name}", pooled)
        slopes = found.given(pooled.shape(), 3)
        back = pooling.poolInputGradient(graph, params, image, pooled, slopes, False, prog)
        found.read(f"poolInputGradient {name}", back)
        if type_ is not popnn.PoolingType.MAX:
            back = pooling.poolInputGradient(graph, params, 1, slopes, prog)
            found.read(f"poolInputGradient without input {name}", back)
        found.number(f"flops {name}", pooling.getFwdFlops(params) * 1000 + pooling.getBwdFlops(params))
        cycles = pooling.getFwdPerfectCycleCount(graph, params) + pooling.getBwdPerfectCycleCount(graph, params)
        found.number(f"cycles {name}", cycles)
        field = pooling.getOutputFieldShape(params)
        found.number(f"field {name}", field[1] * 100 + field[0] * 10 + len(field))


def _functions(found: Results) -> None:
    graph, prog = found.graph, found.prog
    t, slopes = found.given([2, 4]), found.given([2, 4], 2)
    for name in FUNCTIONS:
        found.read(name, getattr(popnn, name)(graph, t, prog))
        changed = found.variable(t)
        getattr(popnn, f"{name}InPlace")(graph, changed, prog)
        found.read(f"{name}InPlace", changed)
    found.read("nonLinearity", popnn.nonLinearity(graph, NonLinearityType.HARD_SIGMOID, t, prog))
    found.read("scaled", popnn.nonLinearity(graph, NonLinearityType.SOFTMAX_SCALED, t, prog))
    changed = found.variable(t)
    for kind in (NonLinearityType.GELU_ERF, NonLinearityType.RELU, NonLinearityType.TANH):
        popnn.nonLinearityInPlace(graph, kind, changed, prog)
    found.read("nonLinearityInPlace", changed)
    found.read("scaledSoftmaxStable again", popnn.scaledSoftmaxStable(graph, t, prog))
    changed = found.variable(popnn.swish(graph, t, prog))
    popnn.scaledSoftmaxStableInPlace(graph, changed, prog)
    found.read("nonLinearityInPlace, scaled", changed)
    found.number("scalings", 16384 + 1 + 16384 + 1 + 16384)
    back = popnn.nonLinearityInputGradient(graph, NonLinearityType.TANH, t, slopes, prog)
    found.read("nonLinearityInputGradient", back)
    gradient = graph.addComputeSet("gradient")
    back = popnn.nonLinearityInputGradient(graph, NonLinearityType.RELU, t, slopes, gradient)
    prog.add(Execute(gradient))
    found.read("nonLinearityInputGradient with a set", back)


def _losses(found: Results) -> None:
    graph, prog = found.graph, found.prog
    t, labels = found.given([2, 4]), found.indices([2], [3, 1])
    found.read("argMax", popnn.argMax(graph, t, prog))
    found.read("argMin", popnn.argMin(graph, t, prog))
    found.read("maxAndArgMax", popnn.maxAndArgMax(graph, t, prog)[0])
    found.read("minAndArgMin", popnn.minAndArgMin(graph, t, prog)[1])
    values, places = popnn.topK(graph, t, 2, True, prog)
    found.read("topK", values)
    found.read("topK indices", places)
    linear = poplar.VariableMappingMethod.LINEAR
    loss, deltas = graph.addVariable(FLOAT, [2], linear), graph.clone(t)
    kind = popnn.LossType.CROSS_ENTROPY_LOSS
    prog.add(popnn.calcLoss(graph, popnn.softmax(graph, t, prog), labels, loss, deltas, kind))
    found.read("calcLoss", poplar.concat(loss, deltas.flatten()))
    probabilities = popnn.softmax(graph, t, prog)
    prog.add(popnn.calcLoss(graph, probabilities, labels, loss, deltas, found.scalar(3), found.scalar(1), kind))
    found.read("calcLoss with a scale", deltas)
    right = graph.addVariable(UNSIGNED_INT, [1], linear)
    model, scales = popnn.softmax(graph, t, prog), (found.scalar(2), found.scalar(1))
    prog.add(popnn.calcLoss(graph, model, labels, loss, deltas, *scales, right, kind))
    found.read("calcLoss scaled", poplar.concat(loss, deltas.flatten()))
    found.read("calcLoss right", right)
    correct = graph.addVariable(UNSIGNED_INT, [1], linear)
    prog.add(popnn.calcAccuracy(graph, t, labels, correct))
    found.read("calcAccuracy", correct)
