"""poplin.ConvParams: the parameters of a convolution, and which elements meet.

Names and defaults are those of PopLibs' public header. Along one dimension of the field, output o meets element c = o *
stride + k * kernel dilation + base of the dilated input through element k of the kernel; input i lies at c = i * input
dilation, and elements outside the input are zero. `planned` gives the planner the same convolution with the base as a
padding (a negative padding truncates). The backward passes are convolutions too: `getGradientParams`, `weight_deltas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

from simulator.base.errors import poplar_error
from simulator.base.types import Type
from simulator.poplibs.library_calls import Parameter, match
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.type_names import short_name

Ints = Sequence[int]


@dataclass
class InputTransform:
    """Transform of the input or the kernel, in this order: truncate, dilate with zeros, pad, flip. One entry per
    dimension of the field; an empty list stands for none."""

    truncationLower: list[int] = field(default_factory=list)
    truncationUpper: list[int] = field(default_factory=list)
    dilation: list[int] = field(default_factory=list)
    paddingLower: list[int] = field(default_factory=list)
    paddingUpper: list[int] = field(default_factory=list)
    flip: list[bool] = field(default_factory=list)


@dataclass
class OutputTransform:
    """Transform of the output, in this order: truncate, take every `stride`-th element, pad with zeros."""

    truncationLower: list[int] = field(default_factory=list)
    truncationUpper: list[int] = field(default_factory=list)
    stride: list[int] = field(default_factory=list)
    paddingLower: list[int] = field(default_factory=list)
    paddingUpper: list[int] = field(default_factory=list)


OptionalInput = InputTransform | None
OptionalOutput = OutputTransform | None

_SIZES = (
    Parameter("batchSize"),
    Parameter("inputFieldShape"),
    Parameter("kernelShape"),
    Parameter("inputChannels"),
    Parameter("outputChannels"),
    Parameter("numConvGroups"),
    Parameter("inputTransform", InputTransform, None),
    Parameter("kernelTransform", InputTransform, None),
    Parameter("outputTransform", OutputTransform, None),
)
_FORMS = (
    (Parameter("dataType", Type), *_SIZES),
    (Parameter("inputType", Type), Parameter("outputType", Type), *_SIZES),
)


class ConvParams:
    """ConvParams(dataType, batchSize, inputFieldShape, kernelShape, inputChannels, outputChannels, numConvGroups
    [, inputTransform, kernelTransform, outputTransform]), or with inputType and outputType in place of `dataType`.
    Channels are those of one group.

    Raises `poplar_error` for sizes that no convolution can have, `poplibs_error` for other arguments."""

    InputTransform = InputTransform
    OutputTransform = OutputTransform

    @overload
    def __init__(
        self,
        dataType: Type,
        batchSize: int,
        inputFieldShape: Ints,
        kernelShape: Ints,
        inputChannels: int,
        outputChannels: int,
        numConvGroups: int,
        inputTransform: OptionalInput = None,
        kernelTransform: OptionalInput = None,
        outputTransform: OptionalOutput = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        inputType: Type,
        outputType: Type,
        batchSize: int,
        inputFieldShape: Ints,
        kernelShape: Ints,
        inputChannels: int,
        outputChannels: int,
        numConvGroups: int,
        inputTransform: OptionalInput = None,
        kernelTransform: OptionalInput = None,
        outputTransform: OptionalOutput = None,
    ) -> None: ...
    def __init__(self, *arguments: Any, **named: Any) -> None:
        values = match("ConvParams", _FORMS, arguments, named)
        self.inputType: Type = values["dataType"] if "dataType" in values else values["inputType"]
        self.outputType: Type = values.get("outputType", self.inputType)
        self.batchSize = int(values["batchSize"])
        self.inputFieldShape = [int(n) for n in values["inputFieldShape"]]
        self.kernelShape = [int(n) for n in values["kernelShape"]]
        self.inputChannels, self.outputChannels = int(values["inputChannels"]), int(values["outputChannels"])
        self.numConvGroups = int(values["numConvGroups"])
        dims = len(self.inputFieldShape)
        self.inputTransform: InputTransform = _filled(values["inputTransform"] or InputTransform(), dims)
        self.kernelTransform: InputTransform = _filled(values["kernelTransform"] or InputTransform(), dims)
        self.outputTransform: OutputTransform = _filled(values["outputTransform"] or OutputTransform(), dims)
        self.validate()

    def __repr__(self) -> str:
        return f"ConvParams({', '.join(f'{name}={value}' for name, value in vars(self).items())})"

    def validate(self) -> None:
        """Raise `poplar_error` for sizes that no convolution can have."""
        if len(self.inputFieldShape) != len(self.kernelShape) or not self.kernelShape:
            raise poplar_error(
                f"ConvParams: a field {self.inputFieldShape} needs a kernel of as many dimensions, not "
                f"{self.kernelShape}."
            )
        sizes = (self.batchSize, self.inputChannels, self.outputChannels, self.numConvGroups)
        if min(*sizes, *self.inputFieldShape, *self.kernelShape) < 1:
            raise poplar_error("ConvParams: batch, channels, groups, field and kernel must all be at least 1.")
        for dim in range(len(self.kernelShape)):
            t, o = self.inputTransform, self.outputTransform
            if min(t.dilation[dim], self.kernelTransform.dilation[dim], o.stride[dim]) < 1:
                raise poplar_error(f"ConvParams: dilations and stride of dimension {dim} must be at least 1.")
            if self.getTruncatedInputSize(dim) < 1 or self.getTruncatedKernelSize(dim) < 1:
                raise poplar_error(f"ConvParams: nothing is left of dimension {dim} after its truncation.")
            if self._outputs(dim) < 1:
                raise poplar_error(
                    f"ConvParams: the kernel of dimension {dim} ({self.getTransformedKernelSize(dim)}) does not fit "
                    f"into the input ({self.getTransformedInputSize(dim)}); pad the input."
                )

    # ---- sizes, as PopLibs names them ------------------------------------------------------------------------

    def getNumFieldDims(self) -> int:
        return len(self.inputFieldShape)

    def getNumConvGroups(self) -> int:
        return self.numConvGroups

    def getBatchSize(self) -> int:
        return self.batchSize

    def getNumInputChans(self) -> int:
        return self.inputChannels * self.numConvGroups

    def getNumOutputChans(self) -> int:
        return self.outputChannels * self.numConvGroups

    def getNumInputChansPerConvGroup(self) -> int:
        return self.inputChannels

    def getNumOutputChansPerConvGroup(self) -> int:
        return self.outputChannels

    def getInputSize(self, dim: int) -> int:
        return self.inputFieldShape[dim]

    def getTruncatedInputSize(self, dim: int) -> int:
        t = self.inputTransform
        return self.inputFieldShape[dim] - t.truncationLower[dim] - t.truncationUpper[dim]

    def getTruncatedKernelSize(self, dim: int) -> int:
        t = self.kernelTransform
        return self.kernelShape[dim] - t.truncationLower[dim] - t.truncationUpper[dim]

    def getTransformedInputSize(self, dim: int) -> int:
        return _transformed(self.inputTransform, self.getTruncatedInputSize(dim), dim)

    def getTransformedKernelSize(self, dim: int) -> int:
        return _transformed(self.kernelTransform, self.getTruncatedKernelSize(dim), dim)

    def getUntransformedOutputSize(self, dim: int) -> int:
        return self.getTransformedInputSize(dim) - self.getTransformedKernelSize(dim) + 1

    def getOutputSize(self, dim: int) -> int:
        o = self.outputTransform
        return self._outputs(dim) + o.paddingLower[dim] + o.paddingUpper[dim]

    def getOutputFieldShape(self) -> list[int]:
        return [self.getOutputSize(dim) for dim in range(self.getNumFieldDims())]

    def _outputs(self, dim: int) -> int:
        """Outputs before the output is padded."""
        o = self.outputTransform
        left = self.getUntransformedOutputSize(dim) - o.truncationLower[dim] - o.truncationUpper[dim]
        return -(-left // o.stride[dim])

    # ---- which elements meet -------------------------------------------------------------------------------

    def _base(self, dim: int) -> int:
        """The place in the dilated input of output 0 and kernel element 0. A flip also exchanges the two ends of the
        padding."""
        t, k = self.inputTransform, self.kernelTransform
        before = t.paddingUpper[dim] if t.flip[dim] else t.paddingLower[dim]
        kernel_before = k.paddingUpper[dim] if k.flip[dim] else k.paddingLower[dim]
        return self.outputTransform.truncationLower[dim] + kernel_before - before

    def planned(self) -> CanonicalConvParams:
        """The same convolution for the planner. Views truncate and flip, so the result has neither."""
        dims = range(self.getNumFieldDims())
        t, k, o = self.inputTransform, self.kernelTransform, self.outputTransform
        lower = [-self._base(d) for d in dims]
        size, kernel = [self.getTruncatedInputSize(d) for d in dims], [self.getTruncatedKernelSize(d) for d in dims]
        upper = [
            (self._outputs(d) - 1) * o.stride[d]
            + (kernel[d] - 1) * k.dilation[d]
            + 1
            - ((size[d] - 1) * t.dilation[d] + 1)
            - lower[d]
            for d in dims
        ]
        dtype: Any = short_name(self.inputType)
        out_dtype: Any = short_name(self.outputType)
        return CanonicalConvParams(
            dtype,
            out_dtype,
            self.numConvGroups,
            self.batchSize,
            tuple(size),
            tuple(kernel),
            self.inputChannels,
            self.outputChannels,
            tuple(o.stride),
            tuple(lower),
            tuple(upper),
            tuple(k.dilation),
            tuple(t.dilation),
        )


def _filled(transform: Any, dims: int) -> Any:
    """The transform with a value for each dimension. Raises `poplar_error` for another number of values."""
    defaults = {"dilation": 1, "stride": 1, "flip": False}
    values: dict[str, Any] = {}
    for name, given in vars(transform).items():
        if len(given) not in (0, dims):
            raise poplar_error(f"ConvParams: {name} has {len(given)} values for a field of {dims} dimensions.")
        values[name] = list(given) if len(given) else [defaults.get(name, 0)] * dims
        if name != "flip" and any(value < 0 for value in values[name]):
            raise poplar_error(f"ConvParams: {name} {values[name]} must not be negative.")
    return replace(transform, **values)


def _transformed(t: InputTransform, size: int, dim: int) -> int:
    return (size - 1) * t.dilation[dim] + 1 + t.paddingLower[dim] + t.paddingUpper[dim]


def getGradientParams(params: ConvParams) -> ConvParams:
    """The convolution that gives the gradient of the input from that of the output. Its kernel is the forward kernel
    with channels transposed and field flipped (`weightsTransposeChansFlipXY`).

    Truncated inputs get a gradient of zero (padding of the output); padded outputs are truncated; a flip of the input
    becomes a flip of the gradient and of the kernel."""
    dims = range(params.getNumFieldDims())
    forward = params.planned()
    t, k, o = params.inputTransform, params.kernelTransform, params.outputTransform
    reach = [(forward.kernel[d] - 1) * forward.kernel_dilation[d] for d in dims]
    lower = [reach[d] - forward.padding_lower[d] for d in dims]
    spread = [(forward.output_size(d) - 1) * forward.stride[d] + 1 for d in dims]
    last = [(forward.field[d] - 1) * forward.input_dilation[d] for d in dims]
    upper = [last[d] + reach[d] + 1 - spread[d] - lower[d] for d in dims]
    # A flip follows the padding and leaves it unchanged; the output is then truncated at its other end.
    ends = [(upper[d], lower[d]) if t.flip[d] else (lower[d], upper[d]) for d in dims]
    inner = InputTransform(
        list(o.paddingLower),
        list(o.paddingUpper),
        list(forward.stride),
        [max(n, 0) for n in lower],
        [max(n, 0) for n in upper],
        list(t.flip),
    )
    kernel = InputTransform(
        list(k.truncationUpper),
        list(k.truncationLower),
        list(forward.kernel_dilation),
        flip=[k.flip[d] != t.flip[d] for d in dims],
    )
    outer = OutputTransform(
        [max(-low, 0) for low, _ in ends],
        [max(-high, 0) for _, high in ends],
        list(forward.input_dilation),
        list(t.truncationLower),
        list(t.truncationUpper),
    )
    return ConvParams(
        params.inputType,
        params.outputType,
        params.batchSize,
        params.getOutputFieldShape(),
        list(params.kernelShape),
        params.outputChannels,
        params.inputChannels,
        params.numConvGroups,
        inner,
        kernel,
        outer,
    )


def weight_deltas(params: ConvParams) -> CanonicalConvParams:
    """The convolution that gives the gradient of the kernel, for the planner. Its input channels are the forward batch,
    its batch the input channels, its kernel the output's gradient (dilated by the stride), its output the kernel."""
    forward = params.planned()
    dims = range(len(forward.field))
    lower = forward.padding_lower
    kernel = forward.output_field
    upper = tuple(
        (forward.kernel[d] - 1) * forward.kernel_dilation[d]
        + (kernel[d] - 1) * forward.stride[d]
        + 1
        - ((forward.field[d] - 1) * forward.input_dilation[d] + 1)
        - lower[d]
        for d in dims
    )
    return CanonicalConvParams(
        forward.dtype,
        forward.out_dtype,
        forward.groups,
        forward.in_channels,
        forward.field,
        kernel,
        forward.batch,
        forward.out_channels,
        forward.kernel_dilation,
        lower,
        upper,
        forward.stride,
        forward.input_dilation,
    )
