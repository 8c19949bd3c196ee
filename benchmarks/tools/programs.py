"""What each of PopLibs' tools builds from its parameters: the programs that its benchmark runs, one after the other.

The tools are public (graphcore/poplibs, folder tools/). Data is ignored: no host streams, nothing uploaded. A tool of
which a function does not exist here raises `Missing` with the function's name.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.tools.octave import oct_conv
from benchmarks.tools.table import Parameters
from simulator.poplar import FLOAT, HALF, Graph, Tensor, Type
from simulator.poplar.program import Program, Sequence
from simulator.poplibs import poplin, popnn, popops, poputil
from simulator.poplibs.popops import embedding

Build = Callable[[Graph, Parameters], list[Program]]
_TYPES = {"half": HALF, "float": FLOAT}


class Missing(Exception):
    """A function of PopLibs that does not exist here."""


def _type(parameters: Parameters, name: str = "data-type") -> Type:
    return _TYPES[parameters.text(name, "half")]


def general_matrix_multiply(graph: Graph, parameters: Parameters) -> list[Program]:
    """D = beta D + alpha C, where C is the product of one group and D a clone of it."""
    dtype, program = _type(parameters), Sequence()
    m, k, n = (parameters.number(name) for name in ("m", "k", "n"))
    shapes = [1, m, k], [1, k, n]
    left = poplin.createMatMulGroupedInputLHS(graph, dtype, dtype, *shapes, "matA")
    right = poplin.createMatMulGroupedInputRHS(graph, dtype, dtype, *shapes, "matB")
    product = poplin.matMulGrouped(graph, left, right, program, dtype, "op(A) x op(B)")
    total = graph.clone(dtype, product, "matC")
    popops.scaledAddTo(graph, total, 1.0, product, 1.0, program)
    return [program]


def fully_connected_layer(graph: Graph, parameters: Parameters) -> list[Program]:
    """Forward; backward by the transposed weights; weights += -0.5 x the gradient, in place. No bias."""
    _without_bias(parameters)
    dtype, groups = _type(parameters), parameters.number("num-groups", 1)
    batch = parameters.number("batch-size", 1)
    fan_in, fan_out = parameters.number("input-size"), parameters.number("output-size")
    forward, backward = Sequence(), Sequence()
    passes = [{"fullyConnectedPass": f"TRAINING_{name}"} for name in ("FWD", "BWD", "WU")]
    shapes = [groups, batch, fan_in], [groups, fan_in, fan_out]
    acts = poplin.createMatMulGroupedInputLHS(graph, dtype, dtype, *shapes, "prevAct", passes[0])
    weights = poplin.createMatMulGroupedInputRHS(graph, dtype, dtype, *shapes, "weights", passes[0])
    poplin.matMulGrouped(graph, acts, weights, forward, dtype, "fwd", passes[0])
    turned = [groups, batch, fan_out], [groups, fan_out, fan_in]
    slopes = poplin.createMatMulGroupedInputLHS(graph, dtype, dtype, *turned, "zDeltas", passes[1])
    transposed = poplin.transposeGroupedMatrix(weights)
    poplin.matMulGrouped(graph, slopes, transposed, backward, dtype, "bwd", passes[1])
    left = poplin.transposeGroupedMatrix(acts)
    poplin.matMulGroupedAcc(graph, weights, -0.5, left, slopes, backward, "wu", passes[2])
    return [forward, backward]


def single_conv_layer(graph: Graph, parameters: Parameters) -> list[Program]:
    """Forward; backward, as a call of the forward convolution where the two are the same; weight update."""
    _without_bias(parameters)
    dtype, params = _type(parameters), _conv_params(parameters)
    backward_params = poplin.getGradientParams(params)
    passes = [{"pass": f"TRAINING_{name}"} for name in ("FWD", "BWD", "WU")]
    forward, backward = Sequence(), Sequence()
    acts = poplin.createInput(graph, params, "prevAct", passes[0])
    weights = poplin.createWeights(graph, params, "weights", passes[0])
    slopes = poplin.createInput(graph, backward_params, "zDeltas", passes[1])

    def convolve(tensors: list[Tensor | None], program: Sequence) -> Tensor:
        in_, kernel = tensors
        assert in_ is not None
        assert kernel is not None
        return poplin.convolution(graph, in_, kernel, params, False, program, "fwd", passes[0])

    graphfn = poputil.graphfn
    signature = [graphfn.input(acts, "in"), graphfn.input(weights, "weights")]
    convolution = graphfn.TensorFunction(graph, signature, convolve)
    convolution([acts, weights], forward)
    if params.planned() == backward_params.planned():
        turned = poplin.createWeights(graph, backward_params, "bwdWeights", passes[0])
        poplin.weightsTransposeChansFlipXY(graph, weights, turned, backward, "bwd")
        convolution([slopes, turned], backward)
    else:
        poplin.convolution(graph, slopes, weights, backward_params, True, backward, "bwd", passes[1])
    scale = graph.addConstant(dtype, [], -0.05)
    graph.setTileMapping(scale, 0)
    poplin.convolutionWeightUpdate(graph, slopes, weights, acts, params, scale, backward, "wu", passes[2])
    return [forward, backward]


def _conv_params(parameters: Parameters) -> poplin.ConvParams:
    field = parameters.numbers("field")
    dims = len(field)
    both = parameters.along("padding", dims, 0)
    below, above = parameters.along("padding-lower", dims, 0), parameters.along("padding-upper", dims, 0)
    padding = poplin.InputTransform(
        paddingLower=[a + b for a, b in zip(both, below, strict=True)],
        paddingUpper=[a + b for a, b in zip(both, above, strict=True)],
    )
    return poplin.ConvParams(
        _type(parameters),
        parameters.number("batch-size", 1),
        field,
        parameters.along("kernel-size", dims, 1),
        parameters.number("input-channels"),
        parameters.number("output-channels"),
        parameters.number("conv-groups", 1),
        padding,
        poplin.InputTransform(),
        poplin.OutputTransform(stride=parameters.along("stride", dims, 1)),
    )


def reduce_op(graph: Graph, parameters: Parameters) -> list[Program]:
    """One reduction of a tensor mapped linearly."""
    dtype, program = _type(parameters, "type"), Sequence()
    if parameters.text("scale", "1.0") != "1.0" or parameters.flag("update"):
        raise Missing("reduce_op with a scale or an update")
    tensor = graph.addVariable(dtype, parameters.numbers("shape"), "input")
    poputil.mapTensorLinearly(graph, tensor)
    operation = popops.Operation[parameters.text("operation", "ADD")]
    popops.reduce(graph, tensor, parameters.numbers("dims"), popops.ReduceParams(operation), program)
    return [program]


def embedding_layer(graph: Graph, parameters: Parameters) -> list[Program]:
    """Rows of a planned matrix gathered by indices, and as many added to it with a scale."""
    dtype, program = _type(parameters), Sequence()
    shape, lookups = parameters.numbers("shape"), parameters.numbers("num-indices")
    # PopLibs of March 2021 planned for the least memory alone.
    options = {"usedForSlice": "true", "usedForUpdate": "true", "planMinimisationTarget": "memory"}
    plan = embedding.plan(graph, dtype, *shape, lookups, options)
    matrix = popops.createSliceableTensor(graph, dtype, shape, [0], [1], plan, options, "embedding")
    scale = graph.addConstant(dtype, [], 1.0, "scale")
    graph.setTileMapping(scale, 0)
    indices = [
        popops.createIndicesTensor(graph, [0], count, plan, options, f"indices_{i}") for i, count in enumerate(lookups)
    ]
    for part in indices:
        popops.multiSlice(graph, matrix, part, [0], [1], program, plan, options, "extracted")
    for part, count in zip(indices, lookups, strict=True):
        slopes = popops.createSliceTensor(graph, dtype, shape, [0], [1], count, plan, options, "deltas")
        popops.multiUpdateAdd(graph, matrix, slopes, part, scale, [0], [1], program, plan, options, "updated")
    return [program]


def pooling_layer(graph: Graph, parameters: Parameters) -> list[Program]:
    """Largest elements of windows, and their gradient. Channels in groups, groups outside batch and field."""
    dtype, field = _type(parameters), parameters.numbers("field")
    channels, batch = parameters.number("channels"), parameters.number("batch-size", 1)
    dims = len(field)
    window, stride = parameters.along("kernel", dims, 1), parameters.along("stride", dims, 1)
    lower, upper = parameters.along("padding-lower", dims, 0), parameters.along("padding-upper", dims, 0)
    params = popnn.pooling.PoolParams(
        popnn.pooling.PoolingType.MAX, field, window, stride, lower, upper, channels, batch, dtype
    )
    default = 16 if channels % 16 == 0 else 1
    forward, backward = Sequence(), Sequence()
    groups = [parameters.number(f"{name}-chans-per-group", default) for name in ("fwd", "bwd")]
    acts = _grouped(graph, dtype, batch, channels, groups[0], field, "prevAct")
    slopes = _grouped(graph, dtype, batch, channels, groups[1], params.getOutputFieldShape(), "zDeltas")
    pooled = popnn.pooling.pool(graph, params, acts, forward)
    popnn.pooling.poolInputGradient(graph, params, acts, pooled, slopes, False, backward)
    return [forward, backward]


def _grouped(graph: Graph, dtype: Type, batch: int, channels: int, group: int, field: list[int], name: str) -> Tensor:
    """[batch, channels, field], in memory [channels / group, batch, field, group], mapped linearly."""
    tensor = graph.addVariable(dtype, [channels // group, batch, *field, group], name)
    poputil.mapTensorLinearly(graph, tensor)
    last = tensor.rank() - 1
    return tensor.dimShuffle([1, 0, last, *range(2, last)]).reshape([batch, channels, *field])


def lstm_layer(graph: Graph, parameters: Parameters) -> list[Program]:
    """Forward for inference, or with the phase "all" forward, backward and weight update."""
    layer, params = popnn.lstm, popnn.lstm.LstmParams(*_recurrent(parameters))
    order = parameters.words("cell-order")
    if order:
        units = {"forget": "FORGET_GATE", "input": "INPUT_GATE", "cell": "CANDIDATE", "output": "OUTPUT_GATE"}
        params.cellOrder = [layer.BasicLstmCellUnit[f"BASIC_LSTM_CELL_{units[name]}"] for name in order]
    trained, program = _is_trained(parameters), Sequence()
    options = {"inferenceOnly": "false" if trained else "true"}
    acts = layer.createInput(graph, params, "input", options)
    state = layer.createInitialState(graph, params, "fwdState", options)
    weights = layer.createWeights(graph, params, "weights", options)
    out, _, saved = layer.lstmFwd(graph, params, state, acts, weights, program, "fwd", options)
    if trained:
        assert saved is not None
        slopes = _linear(graph, params.dataType, out.shape(), "nextLayerGrads")
        last = state, saved, weights, acts, out, slopes
        layer.lstmBwdWithWU(graph, params, program, *last, None, "bwd", options)
    return [program]


def gru_layer(graph: Graph, parameters: Parameters) -> list[Program]:
    """Forward for inference, or with the phase "all" forward, backward and weight update."""
    layer, params = popnn.gru, popnn.gru.GruParams(*_recurrent(parameters))
    trained, program = _is_trained(parameters), Sequence()
    options = {"inferenceOnly": "false" if trained else "true"}
    acts = layer.createInput(graph, params, "input", options)
    state = layer.createInitialState(graph, params, "fwdState", options)
    weights = layer.createWeights(graph, params, "weights", options)
    out, saved = layer.gruFwd(graph, params, state, acts, weights, program, "fwd", options)
    if trained:
        assert saved is not None
        slopes = _linear(graph, params.dataType, out.shape(), "nextLayerGrads")
        layer.gruBwdWithWU(graph, params, program, state, saved, weights, acts, out, slopes, "bwd", options)
    return [program]


def _recurrent(parameters: Parameters) -> tuple[Type, int, int, list[int]]:
    sizes = [parameters.number("input-size"), parameters.number("output-size")]
    return _type(parameters), parameters.number("batch-size", 1), parameters.number("sequence-size"), sizes


def _is_trained(parameters: Parameters) -> bool:
    phase = parameters.text("phase", "fwd")
    if phase not in ("fwd", "all"):
        raise Missing(f"a layer in the phase {phase} alone")
    return phase == "all"


def _linear(graph: Graph, dtype: Type, shape: list[int], name: str) -> Tensor:
    tensor = graph.addVariable(dtype, shape, name)
    poputil.mapTensorLinearly(graph, tensor)
    return tensor


def _without_bias(parameters: Parameters) -> None:
    if parameters.text("bias", "1") != "0":
        raise Missing("a layer with a bias")


def _missing(function: str) -> Build:
    def build(_graph: Graph, _parameters: Parameters) -> list[Program]:
        raise Missing(function)

    return build


def matrix_solver(graph: Graph, parameters: Parameters) -> list[Program]:
    """x of A x = B (or x A = B) for a triangular A with a unit diagonal; or A as a triangular factor, in place."""
    dtype, program = _type(parameters), Sequence()
    batches, rank = parameters.number("batches", 1), parameters.number("a-rank")
    lower, left = parameters.truth("lower", True), parameters.truth("left-side", True)
    options = {"blockSize": str(parameters.number("block-size", rank))}
    shape = [batches, rank, rank]
    if parameters.flag("cholesky"):
        matrix = poplin.createCholeskyInput(graph, dtype, shape, lower, "A", options)
        poplin.choleskyInPlace(graph, matrix, lower, program, "cholesky", options)
        return [program]
    sides = parameters.number("b-rank")
    shapes = shape, [batches, rank, sides] if left else [batches, sides, rank]
    a = poplin.createTriangularSolveInputLHS(graph, dtype, dtype, *shapes, left, "A", options)
    b = poplin.createTriangularSolveInputRHS(graph, dtype, dtype, *shapes, left, "B", options)
    unit = parameters.truth("unit-diagonal", True)
    poplin.triangularSolve(graph, a, b, left, lower, unit, program, "solve", options)
    return [program]


#: What each tool builds.
TOOLS: dict[str, Build] = {
    "ctc_loss": _missing("popnn.ctc"),
    "embedding_layer": embedding_layer,
    "fully_connected_layer": fully_connected_layer,
    "general_matrix_multiply": general_matrix_multiply,
    "gru_layer": gru_layer,
    "lstm_layer": lstm_layer,
    "matrix_solver": matrix_solver,
    "oct_conv": oct_conv,
    "pooling_layer": pooling_layer,
    "reduce_op": reduce_op,
    "single_conv_layer": single_conv_layer,
}
#: Tools that size code as on the IPU (IPUModel.compileIPUCode).
COMPILED = {"embedding_layer", "general_matrix_multiply", "matrix_solver", "oct_conv", "single_conv_layer"}
