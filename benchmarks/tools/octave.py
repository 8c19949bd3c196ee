"""Octave convolutions, the tool oct_conv: channels of a high and of a low frequency, whose field is half as large.

    from  to    before the convolution   field   after it
    low   low   -                        low     -
    low   high  -                        low     repeated along each dimension of the field
    high  low   mean of windows of 2     low     -
    high  high  -                        high    -

Forward, the outputs of one frequency are added; backward and weight update run for each convolution. A fraction alpha
of the channels is of low frequency."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.tools.table import Parameters
from simulator.poplar import HALF, Graph, Tensor, Type
from simulator.poplar.program import Program, Sequence
from simulator.poplibs import poplin, popnn, popops
from simulator.poplibs.poplin import multiconv

_RATE = 2


@dataclass
class _Path:
    """One convolution from one frequency ("low", "high") to one."""

    source: str
    target: str
    params: poplin.ConvParams


def oct_conv(graph: Graph, parameters: Parameters) -> list[Program]:
    """Forward with pooling and sums; backward, and the update of all weights."""
    parameters.text("pool-optimize-for-speed", "false")  # pooling has one way here
    whole = _whole(parameters, HALF)
    alpha = parameters.text("alpha", "1.0")
    alpha_in, alpha_out = (float(parameters.text(f"alpha-{end}", alpha)) for end in ("in", "out"))
    channels_in, channels_out = _split(whole.inputChannels, alpha_in), _split(whole.outputChannels, alpha_out)
    fields = {"low": [n // _RATE for n in whole.inputFieldShape], "high": list(whole.inputFieldShape)}
    passes = [{"pass": f"TRAINING_{name}"} for name in ("FWD", "BWD", "WU")]
    names = [name for name, count in channels_in.items() if count]
    created = [
        multiconv.CreateTensorArgs(
            _part(whole, fields[name], channels_in[name], whole.outputChannels), dict(passes[0]), f"{name}_prevAct"
        )
        for name in names
    ]
    inputs = {name: multiconv.createInput(graph, created, number) for number, name in enumerate(names)}
    paths = [
        _Path(
            source,
            target,
            _part(
                whole, fields["low" if "low" in (source, target) else "high"], channels_in[source], channels_out[target]
            ),
        )
        for source in inputs
        for target, count in channels_out.items()
        if count
    ]
    forward, backward = Sequence(), Sequence()
    weights, slopes = _operands(graph, paths, passes)
    acts = [_pooled(graph, path, inputs[path.source], forward) for path in paths]
    fwd = [multiconv.ConvolutionArgs(a, w, p.params, passes[0]) for a, w, p in zip(acts, weights, paths, strict=True)]
    _add_by_frequency(graph, paths, multiconv.convolution(graph, fwd, False, forward, "fwd"), forward)
    gradients = [poplin.getGradientParams(path.params) for path in paths]
    bwd = [multiconv.ConvolutionArgs(s, w, g, passes[1]) for s, w, g in zip(slopes, weights, gradients, strict=True)]
    multiconv.convolution(graph, bwd, True, backward, "bwd")
    scale = graph.addConstant(HALF, [], -0.05)
    graph.setTileMapping(scale, 0)
    update = [
        multiconv.ConvWeightUpdateArgs(s, w, a, scale, p.params, passes[2])
        for s, w, a, p in zip(slopes, weights, acts, paths, strict=True)
    ]
    multiconv.convolutionWeightUpdate(graph, update, backward, "wu")
    return [forward, backward]


def _whole(parameters: Parameters, dtype: Type) -> poplin.ConvParams:
    """The convolution of all channels."""
    field = parameters.numbers("field")
    padding = parameters.along("padding", len(field), 0)
    return poplin.ConvParams(
        dtype,
        parameters.number("batch-size", 1),
        field,
        parameters.along("kernel-size", len(field), 1),
        parameters.number("input-channels"),
        parameters.number("output-channels"),
        1,
        poplin.InputTransform(paddingLower=padding, paddingUpper=padding),
        poplin.InputTransform(),
        poplin.OutputTransform(stride=parameters.along("stride", len(field), 1)),
    )


def _split(channels: int, alpha: float) -> dict[str, int]:
    low = int(alpha * channels)
    return {"low": low, "high": channels - low}


def _part(whole: poplin.ConvParams, field: list[int], inputs: int, outputs: int) -> poplin.ConvParams:
    """The convolution with another field and other channels."""
    transforms = whole.inputTransform, whole.kernelTransform, whole.outputTransform
    return poplin.ConvParams(
        whole.inputType, whole.batchSize, field, whole.kernelShape, inputs, outputs, 1, *transforms
    )


def _operands(graph: Graph, paths: list[_Path], passes: list[dict[str, str]]) -> tuple[list[Tensor], list[Tensor]]:
    """(weights, gradients of outputs) of each convolution."""
    forward = [multiconv.CreateTensorArgs(p.params, dict(passes[0]), f"{p.source}_{p.target}_weights") for p in paths]
    backward = [
        multiconv.CreateTensorArgs(
            poplin.getGradientParams(p.params), dict(passes[1]), f"{p.source}_{p.target}_zDeltas"
        )
        for p in paths
    ]
    numbers = range(len(paths))
    weights = [multiconv.createWeights(graph, forward, number) for number in numbers]
    return weights, [multiconv.createInput(graph, backward, number) for number in numbers]


def _pooled(graph: Graph, path: _Path, acts: Tensor, prog: Sequence) -> Tensor:
    """The activations that a convolution reads."""
    if (path.source, path.target) != ("high", "low"):
        return acts
    batch, channels, *field = acts.shape()
    window = [_RATE] * len(field)
    none = [0] * len(field)
    params = popnn.pooling.PoolParams(
        popnn.pooling.PoolingType.AVG, field, window, window, none, none, channels, batch, acts.elementType()
    )
    return popnn.pooling.pool(graph, params, acts, prog, "pool")


def _add_by_frequency(graph: Graph, paths: list[_Path], outputs: list[Tensor], prog: Sequence) -> None:
    """The sums of the outputs of each frequency."""
    sums: dict[str, Tensor] = {}
    for path, out in zip(paths, outputs, strict=True):
        own = _repeated(out) if (path.source, path.target) == ("low", "high") else out
        before = sums.get(path.target)
        sums[path.target] = own if before is None else popops.add(graph, before, own, prog, f"{path.target}Out")


def _repeated(tensor: Tensor) -> Tensor:
    """[batch, channels, field] with each element twice along each dimension of the field."""
    for axis in range(2, tensor.rank()):
        tensor = tensor.expand([axis + 1]).broadcast(_RATE, axis + 1).flatten(axis, axis + 2)
    return tensor
