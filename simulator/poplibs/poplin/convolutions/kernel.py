"""The kernel of a convolution: computes it whole in float32 and writes the stored layout."""

from __future__ import annotations

from itertools import product as combinations
from math import gcd, prod
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.poplibs.poplin.convolutions.sliding_shares import Geometry, geometry
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.planning.plan import Plan
from simulator.poplibs.poplin.products.blocked import multiply
from simulator.poplibs.poplin.products.kernel import store_product
from simulator.poplibs.popops.operators import wide
from simulator.runtime.values.kernels import register

Index = tuple[Any, ...]

_ALL: Index = (slice(None), slice(None))
#: below so many input channels, products by kernel position are slower than a copy of all windows
_FEW_CHANNELS = 8
#: of the copy
_MOST_ELEMENTS = 1 << 22


def attributes_of(plan: Plan, params: CanonicalConvParams) -> dict[str, Any]:
    """What the kernel needs of a convolution and its plan."""
    return {
        "params": params,
        "swapped": plan.swapped,
        "out_group": plan.method.out_group,
        "conv_group": plan.method.conv_group,
    }


@register("poplin.convolution")
def _convolution_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    params = attributes["params"]
    result = convolve(wide(inputs[0]), wide(inputs[1]), params)
    product = result.reshape(params.groups, params.positions, params.out_channels)
    product = product.swapaxes(1, 2) if attributes["swapped"] else product
    store_product(outputs[0], product, attributes["out_group"], attributes["conv_group"])


def convolve(acts: AnyArray, weights: AnyArray, params: CanonicalConvParams) -> AnyArray:
    """[batch, groups x channels, field] and [groups, out, in, kernel] -> [groups, batch, field, out channels], float32.

    One matrix product for each kernel position, or for each output position where those are fewer; with few input
    channels one product of all windows."""
    apart = acts.reshape(params.batch, params.groups, params.in_channels, *params.field)
    dims = len(params.field)
    a = np.ascontiguousarray(np.moveaxis(apart, (1, 2), (0, 2 + dims)))  # [groups, batch, field, channels]
    w = np.ascontiguousarray(np.moveaxis(weights, (1, 2), (2 + dims, 1 + dims)))  # [groups, kernel, in, out]
    shapes = geometry(params)
    by_kernel = prod(params.kernel) <= prod(params.output_field)
    elements = params.groups * params.positions * prod(params.kernel) * params.in_channels
    is_plain = all(one.input_dilation == 1 for one in shapes)
    if by_kernel and is_plain and params.in_channels < _FEW_CHANNELS and elements <= _MOST_ELEMENTS:
        return _convolve_windows(a, w, params, shapes)
    out = np.zeros((params.groups, params.batch, *params.output_field, params.out_channels), np.float32)
    fixed = params.kernel if by_kernel else params.output_field
    for place in combinations(*(range(n) for n in fixed)):
        met = [
            outputs_of(s, k, n) if by_kernel else _kernels_of(s, k)
            for s, k, n in zip(shapes, place, params.output_field, strict=True)
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


def _convolve_windows(a: AnyArray, w: AnyArray, params: CanonicalConvParams, shapes: list[Geometry]) -> AnyArray:
    """`convolve` by one product of the windows of all outputs, [groups, positions, kernel x in], with the weights."""
    dims = len(shapes)
    reached = [  # [first, past the last) of the elements of each dimension that windows reach, padding included
        (one.base, one.base + (n - 1) * one.stride + (one.kernel - 1) * one.kernel_dilation + 1)
        for one, n in zip(shapes, params.output_field, strict=True)
    ]
    padded = np.zeros((*a.shape[:2], *(end - first for first, end in reached), a.shape[-1]), np.float32)
    inside = [(max(0, first), min(end, one.size)) for (first, end), one in zip(reached, shapes, strict=True)]
    if all(first < end for first, end in inside):
        there = tuple(slice(b - first, e - first) for (b, e), (first, _) in zip(inside, reached, strict=True))
        padded[_ALL + there] = a[_ALL + tuple(slice(b, e) for b, e in inside)]
    steps = padded.strides[2 : 2 + dims]
    windows = np.lib.stride_tricks.as_strided(
        padded,
        (*a.shape[:2], *params.output_field, *params.kernel, params.in_channels),
        (
            *padded.strides[:2],
            *(step * one.stride for step, one in zip(steps, shapes, strict=True)),
            *(step * one.kernel_dilation for step, one in zip(steps, shapes, strict=True)),
            padded.strides[-1],
        ),
        writeable=False,
    )
    width = prod(params.kernel) * params.in_channels
    product = multiply(
        windows.reshape(params.groups, params.positions, width), w.reshape(params.groups, width, params.out_channels)
    )
    return product.reshape(params.groups, params.batch, *params.output_field, params.out_channels)


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
