"""Slices of tensors, their inverses and padding. Writing a slice makes a view of the parts around it; gradients of
slices have constant zeros there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.rules import lowers
from simulator.frontends.lowering.shaping.views import VIEW
from simulator.graph.tensor import taken
from simulator.poplar import Tensor, concat

#: operands of one addition of windows
_TERMS = 8
_ZEROS = "tensor views, zeros as constants"


def _bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """Python's rules for the ends of a slice."""
    first, last, _ = slice(start, end).indices(size)
    return first, max(first, last)


@lowers("aten.slice.Tensor", kind="Slice", call=VIEW)
def slice_(
    at: Building, input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    axis = dim % input.rank()
    part = input.slice(*_bounds(input.dim(axis), start, end), axis)
    return part.subSample(step, axis) if step > 1 and part.dim(axis) else part


@lowers("aten.narrow.default", "aten.narrow_copy.default", kind="Slice", call=VIEW)
def narrow(at: Building, input: Tensor, dim: int, start: int, length: int) -> Tensor:
    axis = dim % input.rank()
    first = start % max(1, input.dim(axis)) if start < 0 else start
    return input.slice(first, first + length, axis)


@lowers("aten.select.int", kind="Slice", call=VIEW)
def select(at: Building, input: Tensor, dim: int, index: int) -> Tensor:
    axis = dim % input.rank()
    place = index % input.dim(axis)
    return input.slice(place, place + 1, axis).squeeze([axis])


@lowers("aten.split_with_sizes.default", "aten.split.sizes", kind="Split", call=VIEW)
def split_with_sizes(
    at: Building, input: Tensor, split_sizes: Sequence[int] = (), dim: int = 0, split_size: Sequence[int] = ()
) -> tuple[Tensor, ...]:
    axis, ends = dim % input.rank(), np.cumsum(list(split_sizes or split_size)).tolist()
    return tuple(input.slice(begin, end, axis) for begin, end in zip([0, *ends[:-1]], ends, strict=True))


@lowers("aten.split.Tensor", kind="Split", call=VIEW)
def split(at: Building, input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    axis = dim % input.rank()
    size = input.dim(axis)
    if not size:
        return (input,)
    return tuple(input.slice(begin, min(begin + split_size, size), axis) for begin in range(0, size, split_size))


@lowers("aten.chunk.default", kind="Split", call=VIEW)
def chunk(at: Building, input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    size = input.dim(dim % input.rank())
    if not size:
        return (input,) * chunks
    return split(at, input, -(-size // chunks), dim)


@lowers("aten.unbind.int", kind="Split", call=VIEW)
def unbind(at: Building, input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    axis = dim % input.rank()
    return tuple(select(at, input, axis, place) for place in range(input.dim(axis)))


@lowers("aten.diagonal.default", kind="Diagonal", call=VIEW)
def diagonal(at: Building, input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return taken(input, _diagonal_places(input.shape(), offset, dim1, dim2))


def _diagonal_places(
    shape: Sequence[int], offset: int, dim1: int, dim2: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The place of each element of the diagonal in the flattened tensor."""
    places = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    return np.ascontiguousarray(np.diagonal(places, offset, dim1, dim2))


@lowers("aten.diagonal_scatter.default", kind="DiagonalScatter", call=VIEW)
def diagonal_scatter(at: Building, input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    count = input.numElements()
    source = np.arange(count, dtype=np.int64).reshape(input.shape())
    places = _diagonal_places(input.shape(), offset, dim1, dim2)
    source.reshape(-1)[places.reshape(-1)] = count + np.arange(places.size)
    return taken(concat([input.flatten(), at.cast(src, input.elementType()).flatten()], 0), source)


@lowers("aten.diagonal_backward.default", kind="DiagonalGrad", call=_ZEROS)
def diagonal_backward(
    at: Building, grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
) -> Tensor:
    return diagonal_scatter(
        at, filled(at, grad_output.elementType(), input_sizes, 0, "zeros"), grad_output, offset, dim1, dim2
    )


@lowers("aten.slice_scatter.default", kind="SliceScatter", call=VIEW)
def slice_scatter(
    at: Building,
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    axis = dim % input.rank()
    first, last = _bounds(input.dim(axis), start, end)
    inner = at.cast(src, input.elementType())
    if step > 1 and inner.dim(axis):
        inner = _interleaved(input.slice(first, last, axis), inner, axis, step)
    return concat([input.slice(0, first, axis), inner, input.slice(last, input.dim(axis), axis)], axis)


def _interleaved(before: Tensor, written: Tensor, axis: int, step: int) -> Tensor:
    """`before` with every `step`-th element, from the first, replaced."""
    size, count = before.dim(axis), written.dim(axis)
    full = size // step
    shape = before.shape()
    blocks = before.slice(0, full * step, axis).reshape([*shape[:axis], full, step, *shape[axis + 1 :]])
    kept = blocks.slice(1, step, axis + 1)
    joined = concat([written.slice(0, full, axis).expand([axis + 1]), kept], axis + 1)
    parts = [joined.reshape([*shape[:axis], full * step, *shape[axis + 1 :]])]
    if count > full:
        parts += [written.slice(full, count, axis), before.slice(full * step + 1, size, axis)]
    return concat(parts, axis)


@lowers("aten.select_scatter.default", kind="SliceScatter", call=VIEW)
def select_scatter(at: Building, input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    axis = dim % input.rank()
    place = index % input.dim(axis)
    return slice_scatter(at, input, src.expand([axis]), axis, place, place + 1)


@lowers("aten.slice_backward.default", kind="SliceGrad", call=_ZEROS)
def slice_backward(
    at: Building, grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Tensor:
    zeros = filled(at, grad_output.elementType(), input_sizes, 0, "zeros")
    return slice_scatter(at, zeros, grad_output, dim, start, end, step)


@lowers("aten.select_backward.default", kind="SliceGrad", call=_ZEROS)
def select_backward(at: Building, grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int) -> Tensor:
    zeros = filled(at, grad_output.elementType(), input_sizes, 0, "zeros")
    return select_scatter(at, zeros, grad_output, dim, index)


@lowers("aten.constant_pad_nd.default", kind="Pad", call="tensor views, the value as a constant")
def constant_pad_nd(at: Building, input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    out = input
    for number in range(len(pad) // 2):
        axis = input.rank() - 1 - number
        below, above = pad[2 * number : 2 * number + 2]
        out = out.slice(max(0, -below), out.dim(axis) - max(0, -above), axis)
        parts = [out]
        for where, amount in ((0, below), (len(parts) + 1, above)):
            if amount > 0:
                shape = [amount if one == axis else size for one, size in enumerate(out.shape())]
                parts.insert(where, filled(at, out.elementType(), shape, value, "padding"))
        out = concat(parts, axis) if len(parts) > 1 else out
    return out


@lowers("aten.unfold_backward.default", kind="UnfoldGrad", call="tensor views, zeros as constants; popops.map")
def unfold_backward(
    at: Building, grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> Tensor:
    """The windows, the last dimension of `grad_in`, added where they came from."""
    if not input_sizes:
        return grad_in.reshape([])
    axis, last = dim % len(input_sizes), grad_in.rank() - 1
    zeros = filled(at, grad_in.elementType(), input_sizes, 0, "zeros")
    span = (grad_in.dim(axis) - 1) * step + 1
    terms = [
        slice_scatter(at, zeros, grad_in.slice(place, place + 1, last).squeeze([last]), axis, place, place + span, step)
        for place in range(size)
    ]
    while len(terms) > 1:
        several, terms = terms[:_TERMS], terms[_TERMS:]
        added = (
            mapped(at, lambda *parts: sum(parts[1:], parts[0]), *several, name="add")
            if len(several) > 1
            else several[0]
        )
        terms.append(added)
    return terms[0]
