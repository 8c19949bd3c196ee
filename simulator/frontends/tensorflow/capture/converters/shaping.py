"""Operators that move or join elements: views where PopLibs has views, slices and gathers by index."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from simulator.frontends.captured import Value
from simulator.frontends.tensorflow.capture.conversion import Call, converts
from simulator.frontends.tensorflow.capture.entries import CaptureError, Entry, Known, ListHandle, ListShape


def reshaped(call: Call, value: Value, shape: Sequence[int]) -> Value:
    """A value in another shape."""
    if tuple(shape) == value.shape:
        return value
    return call.compute("aten.view.default", shape, value.dtype, self=value, size=list(shape))


@converts("Reshape", "Squeeze", "ExpandDims", "EnsureShape")
def reshape(call: Call) -> Entry:
    return call.result(reshaped(call, call.value(0), call.result_shape()))


@converts("Shape", "ShapeN", eager=True)
def shape_of(call: Call) -> Sequence[Entry]:
    dtype = call.op.outputs[0].dtype.as_numpy_dtype
    return [Known(np.array(call.shape(index), dtype)) for index in range(len(call.inputs))]


@converts("Size", eager=True)
def size(call: Call) -> Entry:
    return Known(np.array(prod(call.shape(0)), call.op.outputs[0].dtype.as_numpy_dtype))


@converts("Rank", eager=True)
def rank(call: Call) -> Entry:
    return Known(np.array(len(call.shape(0)), np.int32))


@converts("ZerosLike", "OnesLike", eager=True)
def filled_like(call: Call) -> Entry:
    entry = call.inputs[0]
    if isinstance(entry, ListHandle):
        return ListHandle(ListShape(entry.shape.dtype, entry.shape.length, entry.shape.element), None, entry.count)
    number = 0 if call.op.type == "ZerosLike" else 1
    return Known(np.full(call.shape(0), number, call.op.outputs[0].dtype.as_numpy_dtype))


@converts("Fill")
def fill(call: Call) -> Entry:
    value, shape = call.value(1), call.result_shape()
    return call.result(call.compute("aten.expand.default", shape, value.dtype, self=value, size=list(shape)))


@converts("BroadcastTo")
def broadcast_to(call: Call) -> Entry:
    value, shape = call.value(0), call.result_shape()
    if value.shape == shape:
        return call.result(value)
    return call.result(call.compute("aten.expand.default", shape, value.dtype, self=value, size=list(shape)))


@converts("Transpose")
def transpose(call: Call) -> Sequence[Entry]:
    return call.emit("aten.permute.default", self=call.value(0), dims=call.integers(1))


@converts("ConcatV2")
def concat(call: Call) -> Sequence[Entry]:
    count = len(call.inputs) - 1
    (axis,) = call.integers(count)
    return call.emit("aten.cat.default", tensors=[call.value(index) for index in range(count)], dim=axis)


@converts("Pack")
def pack(call: Call) -> Sequence[Entry]:
    tensors = [call.value(index) for index in range(len(call.inputs))]
    return call.emit("aten.stack.default", tensors=tensors, dim=call.attribute("axis"))


@converts("Unpack")
def unpack(call: Call) -> Sequence[Entry]:
    return call.emit("aten.unbind.int", self=call.value(0), dim=call.attribute("axis"))


@converts("Split")
def split(call: Call) -> Sequence[Entry]:
    (axis,), value, count = call.integers(0), call.value(1), len(call.op.outputs)
    sizes = [value.shape[axis] // count] * count
    return call.emit("aten.split_with_sizes.default", self=value, split_sizes=sizes, dim=axis)


@converts("SplitV")
def split_v(call: Call) -> Sequence[Entry]:
    (axis,), value = call.integers(2), call.value(0)
    sizes = [call.result_shape(index)[axis] for index in range(len(call.op.outputs))]
    return call.emit("aten.split_with_sizes.default", self=value, split_sizes=sizes, dim=axis)


@converts("Tile")
def tile(call: Call) -> Sequence[Entry]:
    return call.emit("aten.repeat.default", self=call.value(0), repeats=call.integers(1))


@converts("ReverseV2")
def reverse(call: Call) -> Sequence[Entry]:
    return call.emit("aten.flip.default", self=call.value(0), dims=call.integers(1))


@converts("Pad", "PadV2")
def pad(call: Call) -> Sequence[Entry]:
    amounts = call.known(1).reshape(-1, 2)
    value = call.operand(2) if call.op.type == "PadV2" else 0
    if isinstance(value, Value):
        raise CaptureError(f"The padding of {call.described} depends on data; make it a constant.")
    return call.emit("aten.constant_pad_nd.default", self=call.value(0), pad=_from_last(amounts), value=value)


def _from_last(amounts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[int]:
    """Pairs of paddings as PyTorch has them: those of the last dimension first."""
    return [int(one) for pair in amounts[::-1] for one in pair]


# Slices


@converts("Slice")
def slice_(call: Call) -> Entry:
    value, begins, sizes = call.value(0), call.inputs[1], call.result_shape()
    if not isinstance(begins, Known):
        axes = [axis for axis, size in enumerate(sizes) if size != value.shape[axis]]
        return call.result(dynamic_slice(call, value, call.value(1), axes, sizes))
    return call.result(
        _cut(call, value, call.integers(1), [a + b for a, b in zip(call.integers(1), sizes, strict=True)])
    )


def dynamic_slice(call: Call, value: Value, begin: Value, axes: Sequence[int], shape: Sequence[int]) -> Value:
    """A slice of `shape`, which begins where `begin` says along `axes` and takes the other dimensions whole."""
    if not axes:
        return value
    sizes = [shape[axis] for axis in axes]
    return call.compute("tf.DynamicSlice", shape, value.dtype, self=value, begin=begin, axes=list(axes), sizes=sizes)


def _cut(call: Call, value: Value, begins: Sequence[int], ends: Sequence[int], steps: Sequence[int] = ()) -> Value:
    """The elements from `begins` to `ends` in each dimension, in positive steps."""
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        step = steps[axis] if steps else 1
        if (begin, end, step) == (0, value.shape[axis], 1):
            continue
        shape = list(value.shape)
        shape[axis] = len(range(begin, end, step))
        value = call.compute(
            "aten.slice.Tensor", shape, value.dtype, self=value, dim=axis, start=begin, end=end, step=step
        )
    return value


class StridedAxes:
    """The elements that a strided slice takes along each dimension of its operand, as Python's slices: computed by
    NumPy's own rules from the masks of the operator."""

    def __init__(self, call: Call, shape: Sequence[int], first: int) -> None:
        begin, end, steps = (call.known(first + index).reshape(-1) for index in range(3))
        masks = {
            name: int(call.attribute(f"{name}_mask"))
            for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
        }
        index: list[slice | int | None] = []
        for place in range(len(steps)):
            bit = 1 << place
            if masks["ellipsis"] & bit:
                named = sum(not masks["new_axis"] & 1 << later for later in range(place + 1, len(steps)))
                taken = sum(one is not None for one in index)
                index += [slice(None)] * (len(shape) - named - taken)
            elif masks["new_axis"] & bit:
                index.append(None)
            elif masks["shrink_axis"] & bit:
                index.append(int(begin[place]))
            else:
                start = None if masks["begin"] & bit else int(begin[place])
                stop = None if masks["end"] & bit else int(end[place])
                index.append(slice(start, stop, int(steps[place])))
        index += [slice(None)] * (len(shape) - sum(one is not None for one in index))
        self.ranges = [_range(one, shape[axis]) for axis, one in enumerate(one for one in index if one is not None)]

    @property
    def is_reversed(self) -> list[int]:
        return [axis for axis, one in enumerate(self.ranges) if one.step < 0 and len(one)]

    def ascending(self) -> list[range]:
        """The same elements in ascending order."""
        return [one[::-1] if one.step < 0 else one for one in self.ranges]


def _range(one: slice | int, size: int) -> range:
    if isinstance(one, int):
        start = one % size
        return range(start, start + 1)
    return range(size)[one]


@converts("StridedSlice")
def strided_slice(call: Call) -> Entry:
    value = call.value(0)
    if not all(isinstance(one, Known) for one in call.inputs[1:]):
        return _dynamic_strided_slice(call, value)
    axes = StridedAxes(call, value.shape, 1)
    chosen = axes.ascending()
    out = _cut(call, value, [one.start for one in chosen], [one.stop for one in chosen], [one.step for one in chosen])
    if axes.is_reversed:
        out = call.compute("aten.flip.default", out.shape, out.dtype, self=out, dims=axes.is_reversed)
    return call.result(reshaped(call, out, call.result_shape()))


def _dynamic_strided_slice(call: Call, value: Value) -> Entry:
    """One row by an index that depends on data: x[i], the only form with a fixed shape."""
    masks = [int(call.attribute(f"{name}_mask")) for name in ("begin", "end", "ellipsis", "new_axis")]
    if len(call.op.inputs[1].shape) != 1 or call.attribute("shrink_axis_mask") != 1 or any(masks):
        raise CaptureError(
            f"The bounds of {call.described} depend on data; take one row by its index (x[i]) or use tf.slice with a "
            "constant size."
        )
    if call.tracer.on_device(call.inputs[1], call).shape != (1,):
        raise CaptureError(f"The bounds of {call.described} depend on data in several dimensions; use tf.slice.")
    out = dynamic_slice(call, value, call.value(1), [0], (1, *value.shape[1:]))
    return call.result(reshaped(call, out, call.result_shape()))


@converts("StridedSliceGrad")
def strided_slice_grad(call: Call) -> Entry:
    """Zeros but for the elements that the slice took."""
    shape = call.integers(0)
    axes = StridedAxes(call, shape, 1)
    chosen, slope = axes.ascending(), call.value(4)
    out = reshaped(call, slope, [len(one) for one in chosen])
    if axes.is_reversed:
        out = call.compute("aten.flip.default", out.shape, out.dtype, self=out, dims=axes.is_reversed)
    for axis in reversed(range(len(shape))):
        one = chosen[axis]
        if len(one) == shape[axis]:
            continue
        sizes = [*out.shape[:axis], shape[axis], *out.shape[axis + 1 :]]
        out = call.compute(
            "aten.slice_backward.default",
            sizes,
            out.dtype,
            grad_output=out,
            input_sizes=sizes,
            dim=axis,
            start=one.start,
            end=one.stop,
            step=one.step,
        )
    return call.result(out)


# By index


@converts("GatherV2", "Gather", "ResourceGather")
def gather(call: Call) -> Entry:
    if call.op.type == "ResourceGather":
        rows, dims = call.variable().current, 0
    else:
        rows, dims = call.value(0), int(call.attribute("batch_dims")) if call.op.type == "GatherV2" else 0
    axis = call.integers(2)[0] % len(rows.shape) if call.op.type == "GatherV2" else 0
    if dims:
        raise CaptureError(f"{call.described} has batch_dims={dims}, which the IPU does not have; use tf.one_hot.")
    index = call.inputs[1]
    if isinstance(index, Known) and index.array.ndim == 0:
        place = int(index.array)
        return call.result(
            call.compute("aten.select.int", call.result_shape(), rows.dtype, self=rows, dim=axis, index=place)
        )
    places = call.value(1)
    if axis == 0 and len(rows.shape) == 2:
        return call.result(
            call.compute(
                "aten.embedding.default",
                call.result_shape(),
                rows.dtype,
                weight=rows,
                indices=places,
                padding_idx=-1,
                scale_grad_by_freq=False,
                sparse=False,
            )
        )
    flat = reshaped(call, places, [prod(places.shape)])
    shape = [*rows.shape[:axis], flat.shape[0], *rows.shape[axis + 1 :]]
    out = call.compute("aten.index_select.default", shape, rows.dtype, self=rows, dim=axis, index=flat)
    return call.result(reshaped(call, out, call.result_shape()))


@converts("GatherNd")
def gather_nd(call: Call) -> Sequence[Entry]:
    return call.emit("tf.GatherNd", self=call.value(0), index=call.value(1))


@converts("ScatterNd")
def scatter_nd(call: Call) -> Sequence[Entry]:
    return call.emit("tf.ScatterNd", index=call.value(0), updates=call.value(1), shape=call.integers(2))


@converts("TensorScatterUpdate", "TensorScatterAdd")
def tensor_scatter(call: Call) -> Sequence[Entry]:
    add = call.op.type == "TensorScatterAdd"
    return call.emit("tf.TensorScatter", self=call.value(0), index=call.value(1), updates=call.value(2), add=add)


@converts("UnsortedSegmentSum")
def unsorted_segment_sum(call: Call) -> Sequence[Entry]:
    return call.emit("tf.UnsortedSegmentSum", self=call.value(0), index=call.value(1), segments=call.integers(2)[0])


@converts("OneHot")
def one_hot(call: Call) -> Sequence[Entry]:
    (depth,), dtype = call.integers(1), call.device_dtype(call.result_dtype())
    on, off, axis = call.known(2).item(), call.known(3).item(), int(call.attribute("axis"))
    return call.emit("tf.OneHot", self=call.value(0), depth=depth, on=on, off=off, axis=axis, dtype=dtype)


@converts("TopKV2")
def top_k(call: Call) -> Sequence[Entry]:
    return call.emit("aten.topk.default", self=call.value(0), k=call.integers(1)[0])


@converts("InTopKV2")
def in_top_k(call: Call) -> Sequence[Entry]:
    return call.emit("tf.InTopK", self=call.value(0), targets=call.value(1), k=call.integers(2)[0])


@converts("MatrixDiagPartV3", "MatrixDiagPart")
def diagonal(call: Call) -> Sequence[Entry]:
    if call.op.type == "MatrixDiagPartV3" and call.integers(1) != [0]:
        raise CaptureError(f"{call.described} takes a diagonal other than the main one, which the IPU does not have.")
    return call.emit("aten.diagonal.default", self=call.value(0), offset=0, dim1=-2, dim2=-1)


@converts("MatrixBandPart")
def band(call: Call) -> Sequence[Entry]:
    (lower,), (upper,) = call.integers(1), call.integers(2)
    value = call.value(0)
    rows, columns = value.shape[-2:]
    i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
    inside = ((lower < 0) | (i - j <= lower)) & ((upper < 0) | (j - i <= upper))
    flags = call.tracer.constant(np.broadcast_to(inside, value.shape), call)
    return call.emit("tf.Select", condition=flags, self=value, other=0)
