"""Convolutions as one matrix product.

The matrix of all windows (im2col) has a row or a column per window. Its elements are copied once, so it is built in the
order that gives the longest runs in the memory of the activations: libraries hold these in groups of channels, or with
channels and batch exchanged where the convolution computes the gradient of weights. Where outputs outnumber the inputs,
as in the gradient of activations, each input is multiplied by the whole kernel and the products are added to the
outputs that they reach (col2im)."""

from __future__ import annotations

from functools import lru_cache
from itertools import product as combinations
from math import gcd, prod
from threading import local
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.arrays import AnyArray
from simulator.poplibs.poplin.convolutions.sliding_shares import Geometry, geometry
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.products.blocked import multiply

#: floats of the matrix of a share of the batch: more do not stay in a core's cache
MOST_ELEMENTS = 1 << 20
#: floats of the matrix of one image, from which on it is not made
_LARGEST_IMAGE = 1 << 24
#: A copy in shorter runs is slower than one that transposes the activations first.
_LEAST_RUN = 8
#: inputs by outputs, below which the products of inputs are spread
_FEWER = 0.9

#: axes of the activations: batch, groups, channels, then the field
_BATCH, _GROUPS, _CHANNELS, _FIELD = range(4)

_ALL: tuple[Any, ...] = (slice(None), slice(None))
_memory = local()  #: floats: of `_scratch`


Way = Literal["windows", "spread", "places"]


class Sliding(NamedTuple):
    """What the windows of one convolution have in common."""

    shapes: list[Geometry]
    output_field: tuple[int, ...]
    reached: list[tuple[int, int]]  #: [first, past the last) elements of each dimension in windows, padding included
    share: int  #: images of the batch whose windows or products are one matrix
    way: Way  #: "places": a product for each kernel or output position


@lru_cache(maxsize=1024)
def sliding(params: CanonicalConvParams) -> Sliding:
    shapes, outputs = geometry(params), params.output_field
    reached = [
        (one.base, one.base + (n - 1) * one.stride + (one.kernel - 1) * one.kernel_dilation + 1)
        for one, n in zip(shapes, outputs, strict=True)
    ]
    way: Way
    spread = prod(params.field) < _FEWER * prod(outputs) and all(one.stride == 1 for one in shapes)
    kernel = params.groups * prod(params.kernel)
    if spread:
        image, way = kernel * prod(params.field) * params.out_channels, "spread"
    else:
        image, way = kernel * prod(outputs) * params.in_channels, "windows"
    if image > _LARGEST_IMAGE or not (spread or all(one.input_dilation == 1 for one in shapes)):
        way = "places"
    return Sliding(shapes, outputs, reached, max(1, MOST_ELEMENTS // max(1, image)), way)


def convolve(acts: AnyArray, weights: AnyArray, params: CanonicalConvParams) -> AnyArray:
    """[batch, groups x channels, field] and [groups, out, in, kernel] -> [groups, batch, field, out channels], in
    float32."""
    apart = acts.reshape(params.batch, params.groups, params.in_channels, *params.field)
    one = sliding(params)
    if one.way == "places":
        return _convolve_places(apart, weights, params, one)
    if one.way == "spread":
        return _convolve_spread(apart, weights, params, one)
    return _convolve_windows(apart, weights, params, one)


def _convolve_windows(apart: AnyArray, weights: AnyArray, params: CanonicalConvParams, one: Sliding) -> AnyArray:
    """One product of all windows with the weights."""
    inner = _inner_axis(apart, one)
    kernel = tuple(range(3, weights.ndim))
    matrix = _weight_matrix(weights, (*kernel, 2) if inner == _CHANNELS else (2, *kernel))

    def share_of(images: AnyArray) -> AnyArray:
        product = multiply(_windows(images, params, one, inner), matrix)
        if inner == _BATCH:
            return np.moveaxis(product.reshape(params.groups, *one.output_field, len(images), -1), -2, 1)
        return product.reshape(params.groups, len(images), *one.output_field, -1)

    if one.share >= params.batch:
        return share_of(apart)
    out = np.empty((params.groups, params.batch, *one.output_field, params.out_channels), np.float32)
    for first in range(0, params.batch, one.share):
        out[:, first : first + one.share] = share_of(apart[first : first + one.share])
    return out


def _convolve_spread(apart: AnyArray, weights: AnyArray, params: CanonicalConvParams, one: Sliding) -> AnyArray:
    """One product of all inputs with the whole kernel, whose parts are added to the outputs that they reach."""
    dims = len(one.shapes)
    field = tuple(range(_FIELD, _FIELD + dims))
    matrix = weights.transpose(0, 2, *range(3, 3 + dims), 1).reshape(params.groups, params.in_channels, -1)
    out = np.zeros((params.groups, params.batch, *one.output_field, params.out_channels), np.float32)
    for first in range(0, params.batch, one.share):
        images = apart[first : first + one.share].transpose(_GROUPS, _BATCH, *field, _CHANNELS)
        product = multiply(images.reshape(params.groups, -1, params.in_channels), matrix)
        parts = product.reshape(*images.shape[:-1], *params.kernel, params.out_channels)
        into = out[:, first : first + one.share]
        for place in combinations(*(range(n) for n in params.kernel)):
            met = [outputs_of(*each) for each in zip(one.shapes, place, one.output_field, strict=True)]
            if all(count for _, _, count in met):
                there = _ALL + tuple(read for _, read, _ in met)
                into[_ALL + tuple(free for free, _, _ in met)] += parts[there + place]
    return out


def _convolve_places(apart: AnyArray, weights: AnyArray, params: CanonicalConvParams, one: Sliding) -> AnyArray:
    """One product for each kernel position, or for each output position where those are fewer."""
    dims = len(params.field)
    a = np.ascontiguousarray(np.moveaxis(apart, (1, 2), (0, 2 + dims)))  # [groups, batch, field, channels]
    w = np.ascontiguousarray(np.moveaxis(weights, (1, 2), (2 + dims, 1 + dims)))  # [groups, kernel, in, out]
    by_kernel = prod(params.kernel) <= prod(one.output_field)
    out = np.zeros((params.groups, params.batch, *one.output_field, params.out_channels), np.float32)
    for place in combinations(*(range(n) for n in (params.kernel if by_kernel else one.output_field))):
        met = [
            outputs_of(s, k, n) if by_kernel else _kernels_of(s, k)
            for s, k, n in zip(one.shapes, place, one.output_field, strict=True)
        ]
        if any(count == 0 for _, _, count in met):
            continue
        free, read = tuple(m[0] for m in met), tuple(m[1] for m in met)
        picked = a[_ALL + read]
        if by_kernel:
            flat = multiply(picked.reshape(params.groups, -1, params.in_channels), w[_ALL[:1] + place])
            out[_ALL + free] += flat.reshape(*picked.shape[:-1], params.out_channels)
        else:
            width = prod(picked.shape[2:])
            right = w[_ALL[:1] + free].reshape(params.groups, width, params.out_channels)
            out[_ALL + place] += multiply(picked.reshape(params.groups, params.batch, width), right)
    return out


def _inner_axis(apart: AnyArray, one: Sliding) -> int:
    """The axis whose elements are copied in runs: the one that is innermost in memory, or, if its runs are short, the
    one with the longest runs. _FIELD stands for runs of outputs, the next number for runs of the kernel."""
    last, outputs = one.shapes[-1], one.output_field[-1]
    kernel = last.kernel if last.kernel_dilation == 1 else 1
    across = outputs if last.stride == 1 else 1
    runs = {
        _CHANNELS: kernel * apart.shape[_CHANNELS],
        _BATCH: across * apart.shape[_BATCH],
        _FIELD: across,
        _FIELD + 1: kernel,
    }
    longest = max(runs, key=lambda axis: runs[axis])
    steps = [(abs(apart.strides[axis]), axis) for axis in range(apart.ndim) if apart.shape[axis] > 1]
    innermost = min(steps, default=(0, longest))[1]
    if innermost >= _FIELD:
        innermost = max((_FIELD, _FIELD + 1), key=lambda axis: runs[axis])
    return innermost if runs.get(innermost, 0) >= _LEAST_RUN else longest


def _weight_matrix(weights: AnyArray, window: tuple[int, ...]) -> AnyArray:
    """[groups, elements of a window, out channels], the axes of a window in the order given."""
    groups, outputs = weights.shape[:2]
    if weights.strides[1] == weights.itemsize:
        return weights.transpose(0, *window, 1).reshape(groups, -1, outputs)
    return weights.transpose(0, 1, *window).reshape(groups, outputs, -1).swapaxes(1, 2)


def _windows(images: AnyArray, params: CanonicalConvParams, one: Sliding, inner: int) -> AnyArray:
    """The matrix [groups, windows, elements of a window] of some images. It is valid until the next call."""
    dims = len(one.shapes)
    field = tuple(range(_FIELD, _FIELD + dims))
    order = {
        _CHANNELS: (_GROUPS, _BATCH, *field, _CHANNELS),
        _BATCH: (_GROUPS, _CHANNELS, *field, _BATCH),
        _FIELD: (_GROUPS, _CHANNELS, _BATCH, *field),
        _FIELD + 1: (_GROUPS, _BATCH, _CHANNELS, *field),
    }[inner]
    padded = _reached_part(images, one, order)
    strides = dict(zip(order, padded.strides, strict=True))
    sizes = {_GROUPS: params.groups, _BATCH: len(images), _CHANNELS: params.in_channels}
    output, kernel = range(10, 10 + dims), range(20, 20 + dims)  # more axes
    for axis, (dim, n) in enumerate(zip(one.shapes, one.output_field, strict=True)):
        sizes |= {output[axis]: n, kernel[axis]: dim.kernel}
        step = strides[_FIELD + axis]
        strides |= {output[axis]: step * dim.stride, kernel[axis]: step * dim.kernel_dilation}
    axes = {
        _CHANNELS: (_GROUPS, _BATCH, *output, *kernel, _CHANNELS),
        _BATCH: (_GROUPS, _CHANNELS, *kernel, *output, _BATCH),
        _FIELD: (_GROUPS, _CHANNELS, *kernel, _BATCH, *output),
        _FIELD + 1: (_GROUPS, _BATCH, *output, _CHANNELS, *kernel),
    }[inner]
    view = np.lib.stride_tricks.as_strided(
        padded, tuple(sizes[axis] for axis in axes), tuple(strides[axis] for axis in axes), writeable=False
    )
    copied = _scratch(view.shape)
    copied[...] = view
    rows, width = len(images) * prod(one.output_field), prod(params.kernel) * params.in_channels
    if inner in (_CHANNELS, _FIELD + 1):
        return copied.reshape(params.groups, rows, width)
    return copied.reshape(params.groups, width, rows).swapaxes(1, 2)


def _scratch(shape: tuple[int, ...]) -> AnyArray:
    """Memory of this thread for one matrix. New memory of this size costs as much as the copy into it."""
    size = prod(shape)
    if size > MOST_ELEMENTS:
        return np.empty(shape, np.float32)
    if len(getattr(_memory, "floats", ())) < size:
        _memory.floats = np.empty(size, np.float32)
    floats: AnyArray = _memory.floats[:size]
    return floats.reshape(shape)


def _reached_part(images: AnyArray, one: Sliding, order: tuple[int, ...]) -> AnyArray:
    """The elements that windows reach with their padding of zeros, the axes in this order, the last one in runs."""
    inside = [(max(0, a), min(b, dim.size)) for (a, b), dim in zip(one.reached, one.shapes, strict=True)]
    part: tuple[slice, ...] = (slice(None),) * _FIELD
    there = part + tuple(slice(a, max(a, b)) for a, b in inside)
    read = images[there].transpose(order)
    if inside == one.reached and read.strides[-1] == read.itemsize:
        return read
    shape = (*images.shape[:_FIELD], *(b - a for a, b in one.reached))
    padded = np.zeros(tuple(shape[axis] for axis in order), np.float32)
    if all(a < b for a, b in inside):
        into = part + tuple(slice(a - first, b - first) for (a, b), (first, _) in zip(inside, one.reached, strict=True))
        padded[tuple(into[axis] for axis in order)] = read
    return padded


def outputs_of(one: Geometry, kernel: int, outputs: int) -> tuple[slice, slice, int]:
    """(outputs, inputs, count) that meet through one kernel element."""
    return _meeting_range(one.stride, kernel * one.kernel_dilation + one.base, one, outputs)


def _kernels_of(one: Geometry, output: int) -> tuple[slice, slice, int]:
    """(kernel elements, inputs, count) that one output meets."""
    return _meeting_range(one.kernel_dilation, output * one.stride + one.base, one, one.kernel)


def _meeting_range(step: int, shift: int, one: Geometry, limit: int) -> tuple[slice, slice, int]:
    """The n with 0 <= n < limit and n * step + shift = i * input dilation for an input element i."""
    apart = one.input_dilation // gcd(step, one.input_dilation)
    first = max(0, -(shift // step))
    last = min(limit - 1, ((one.size - 1) * one.input_dilation - shift) // step)
    found = [n for n in range(first, first + apart) if (n * step + shift) % one.input_dilation == 0]
    if not found or found[0] > last:
        return slice(0), slice(0), 0
    count = (last - found[0]) // apart + 1
    at, stride = (found[0] * step + shift) // one.input_dilation, apart * step // one.input_dilation
    numbers = slice(found[0], found[0] + (count - 1) * apart + 1, apart)
    return numbers, slice(at, at + (count - 1) * stride + 1, stride), count
