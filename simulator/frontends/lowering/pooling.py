"""Pooling of one to three dimensions through popnn.pooling.

Windows that do not step evenly (dilated kernels, adaptive sizes that do not divide) are laid side by side first, so
that an ordinary pooling without overlap takes them; gradients come back by a product with a matrix of ones and zeros.
The gradient of a maximum goes to every element that equals it, as on the IPU; torch picks the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import Float32Array, Int64Array
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.products import matrix_product
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, concat
from simulator.poplibs import popops
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.popnn.pooling import PoolingType, PoolParams, pool, poolInputGradient

Backward = Callable[[Building, Any, frozenset[str]], dict[str, Tensor]]

_CALL = "popnn.pooling.pool, poolInputGradient"
_MAX_CALL = f"{_CALL}; poplin.matMul where windows are dilated"
_AVERAGE_CALL = f"{_CALL}; popops.mul where padding counts"
_ADAPTIVE_CALL = f"{_CALL}; poplin.matMul where sizes do not divide"


def _per_dimension(values: Any, dims: int, default: Sequence[int] = ()) -> list[int]:
    """One number for each dimension of the field; `default` for an empty list."""
    given = list(values) if isinstance(values, list | tuple) else [values]
    if not given:
        return list(default)
    return given * dims if len(given) == 1 else given


@dataclass(frozen=True)
class _Windows:
    """Evenly stepping windows of a field. `after` is the padding behind (negative: elements that no window reads)."""

    kernel: list[int]
    stride: list[int]
    before: list[int]
    after: list[int]

    def params(self, kind: PoolingType, acts: Tensor) -> PoolParams:
        batch, channels, *field = acts.shape()
        return PoolParams(
            kind, field, self.kernel, self.stride, self.before, self.after, channels, batch, acts.elementType()
        )


def _counts(field: Sequence[int], reach: Sequence[int], windows: tuple[Any, Any], ceil: bool) -> list[int]:
    """Windows along each dimension. With `ceil` a last one may reach over the end if it begins inside the padded
    field in front of the padding behind."""
    counts = []
    for size, length, step, before in zip(field, reach, *windows, strict=True):
        last = size + 2 * before - length
        steps = -(-last // step) if ceil else last // step
        if ceil and steps * step >= size + before:
            steps -= 1
        counts.append(steps + 1)
    return counts


def _windows(field: Sequence[int], kernel: list[int], stride: Any, padding: Any, ceil: bool) -> _Windows:
    dims = len(kernel)
    steps, before = _per_dimension(stride, dims, kernel), _per_dimension(padding, dims)
    counts = _counts(field, kernel, (steps, before), ceil)
    after = [
        (count - 1) * step + length - size - front
        for count, step, length, size, front in zip(counts, steps, kernel, field, before, strict=True)
    ]
    return _Windows(kernel, steps, before, after)


def _batched(input: Tensor, dims: int) -> Tensor:
    return input.reshape([1, *input.shape()]) if input.rank() < dims + 2 else input


def _pooled(at: Building, acts: Tensor, params: PoolParams) -> tuple[Tensor, Callable[[Building, Tensor], Tensor]]:
    """[batch, channels, output field], and the gradient of the activations from that of the result."""
    out = pool(at.graph, params, acts, at.program, at.name("pool"))

    def backward(at: Building, slope: Tensor) -> Tensor:
        return poolInputGradient(at.graph, params, acts, out, slope, False, at.program, at.name("poolGrad"))

    return out, backward


# Windows laid side by side

#: the elements of each window along one dimension, -1 for padding: [windows, elements of a window]
Places = Int64Array


def _stepped_places(size: int, kernel: int, windows: int, step: int, before: int, dilation: int) -> Places:
    places = np.arange(windows)[:, None] * step + np.arange(kernel) * dilation - before
    return np.where((places < 0) | (places >= size), -1, places)


def _adaptive_places(size: int, windows: int) -> Places:
    """Window i of n is elements floor(i * size / n) to ceil((i + 1) * size / n)."""
    first = np.arange(windows) * size // windows
    last = -(-(np.arange(windows) + 1) * size // windows)
    places = first[:, None] + np.arange(int((last - first).max()))
    return np.where(places < last[:, None], places, -1)


def _laid_out(at: Building, acts: Tensor, places: Places, axis: int, padding: float) -> Tensor:
    """The elements of all windows along one dimension of the activations, side by side."""
    shape = acts.shape()
    shape[axis] = 1
    outside = at.constant(acts.elementType(), shape, padding, "padding") if (places < 0).any() else None
    parts = [outside if place < 0 else acts.slice(int(place), int(place) + 1, axis) for place in places.flatten()]
    return concat([one for one in parts if one is not None], axis)


def _taken_back(at: Building, slope: Tensor, places: Places, size: int, axis: int) -> Tensor:
    """The gradient of the activations from that of `_laid_out`: elements of several windows are summed."""
    flat = places.flatten()
    chosen = (flat[:, None] == np.arange(size)).astype(np.float32)
    return _along(at, slope, chosen, axis, "sumOfWindows")


def _along(at: Building, tensor: Tensor, matrix: Float32Array, axis: int, name: str) -> Tensor:
    """The product of one dimension of a tensor with a constant [size, new size]."""
    last = tensor.rank() - 1
    factor = at.constant(tensor.elementType(), list(matrix.shape), matrix, name)
    return matrix_product(at, tensor.dimRoll(axis, last), factor, name).dimRoll(last, axis)


def _max_of_places(at: Building, input: Tensor, acts: Tensor, places: list[Places]) -> tuple[Tensor, Backward]:
    """The maximum of each window: windows side by side, then a pooling whose windows touch."""
    laid, sizes = acts, acts.shape()[2:]
    for dim, chosen in enumerate(places):
        laid = _laid_out(at, laid, chosen, 2 + dim, float("-inf"))
    kernel = [chosen.shape[1] for chosen in places]
    zeros = [0] * len(kernel)
    out, pool_backward = _pooled(at, laid, _Windows(kernel, kernel, zeros, zeros).params(PoolingType.MAX, laid))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        back = pool_backward(at, slopes[0].reshape(out.shape()))
        for dim, chosen in reversed(list(enumerate(places))):
            back = _taken_back(at, back, chosen, sizes[dim], 2 + dim)
        return {"input": back.reshape(input.shape())}

    return _like(out, input), backward


def _like(out: Tensor, input: Tensor) -> Tensor:
    """A result with or without a batch, as the input has one."""
    return out.reshape(out.shape()[1:]) if input.rank() < out.rank() else out


def _pool_of(at: Building, input: Tensor, acts: Tensor, params: PoolParams) -> tuple[Tensor, Backward]:
    out, pool_backward = _pooled(at, acts, params)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": pool_backward(at, slopes[0].reshape(out.shape())).reshape(input.shape())}

    return _like(out, input), backward


# Maximum


def _max_pool(
    at: Building, input: Tensor, dims: int, sizes: tuple[Any, Any, Any, Any], ceil: bool
) -> tuple[Tensor, Backward]:
    """`sizes` are kernel, stride, padding and dilation as torch gives them."""
    acts = _batched(input, dims)
    kernel, dilation = _per_dimension(sizes[0], dims), _per_dimension(sizes[3], dims)
    field = acts.shape()[2:]
    if max(dilation) == 1:
        windows = _windows(field, kernel, sizes[1], sizes[2], ceil)
        return _pool_of(at, input, acts, windows.params(PoolingType.MAX, acts))
    stride, before = _per_dimension(sizes[1], dims, kernel), _per_dimension(sizes[2], dims)
    reach = [(length - 1) * apart + 1 for length, apart in zip(kernel, dilation, strict=True)]
    counts = _counts(field, reach, (stride, before), ceil)
    each = zip(field, kernel, counts, stride, before, dilation, strict=True)
    return _max_of_places(at, input, acts, [_stepped_places(*one) for one in each])


def _register_max(name: str, dims: int, with_indices: bool) -> None:
    @lowers(f"aten.{name}.default", kind="MaxPool", call=_MAX_CALL, own_backward=True)
    def build(
        at: Building, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> Any:
        out, backward = _max_pool(at, input, dims, (kernel_size, stride, padding, dilation), ceil_mode)
        return ((out, None) if with_indices else out), backward


for _dims in (1, 2, 3):
    _register_max(f"max_pool{_dims}d", _dims, False)
    _register_max(f"max_pool{_dims}d_with_indices", _dims, True)


# Average


def _divisors(windows: _Windows, field: Sequence[int]) -> Float32Array:
    """Elements of each window that lie in the field or its padding, as torch counts with `count_include_pad`; what a
    last window reaches beyond does not count."""
    counts = np.ones((), np.float32)
    for size, length, step, before, after in zip(
        field, windows.kernel, windows.stride, windows.before, windows.after, strict=True
    ):
        starts = np.arange((size + before + after - length) // step + 1) * step
        inside = np.minimum(starts + length, size + 2 * before) - starts
        counts = np.multiply.outer(counts, inside.astype(np.float32))
    return np.asarray(counts, np.float32)


def _average_pool(
    at: Building, input: Tensor, windows: _Windows, acts: Tensor, counts_padding: bool, divisor: int | None
) -> tuple[Tensor, Backward]:
    padded = max(*windows.before, *windows.after) > 0
    if divisor is None and not (padded and counts_padding):
        return _pool_of(at, input, acts, windows.params(PoolingType.AVG, acts))
    params = windows.params(PoolingType.SUM, acts)
    counted = _divisors(windows, acts.shape()[2:]) if divisor is None else np.full(1, divisor, np.float32)
    total, pool_backward = _pooled(at, acts, params)
    shape = total.shape()

    def scaled(at: Building, tensor: Tensor) -> Tensor:
        if (counted == counted.flat[0]).all():
            return popops.mul(at.graph, tensor, float(1 / counted.flat[0]), at.program, at.name("scale"))
        factors = at.constant(tensor.elementType(), list(counted.shape), 1 / counted, "scale")
        return popops.mul(at.graph, tensor, broadcast_to(factors, tuple(shape)), at.program, at.name("scale"))

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": pool_backward(at, scaled(at, slopes[0].reshape(shape))).reshape(input.shape())}

    return _like(scaled(at, total), input), backward


def _register_average(dims: int) -> None:
    @lowers(f"aten.avg_pool{dims}d.default", kind="AveragePool", call=_AVERAGE_CALL, own_backward=True)
    def build(
        at: Building,
        input: Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
    ) -> Any:
        acts = _batched(input, dims)
        windows = _windows(acts.shape()[2:], _per_dimension(kernel_size, dims), stride, padding, ceil_mode)
        return _average_pool(at, input, windows, acts, count_include_pad, divisor_override)


# Adaptive sizes


def _even_windows(field: Sequence[int], sizes: Sequence[int]) -> _Windows | None:
    """The windows of an adaptive pooling where each size divides its dimension."""
    if any(size % count for size, count in zip(field, sizes, strict=True)):
        return None
    kernel = [size // count for size, count in zip(field, sizes, strict=True)]
    zeros = [0] * len(kernel)
    return _Windows(kernel, kernel, zeros, zeros)


def _averages_by_products(at: Building, input: Tensor, acts: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Backward]:
    """Averages of uneven windows: one product along each dimension."""
    matrices = []
    for size, count in zip(acts.shape()[2:], sizes, strict=True):
        places = _adaptive_places(size, count)
        chosen = (places[:, :, None] == np.arange(size)).sum(axis=1)
        matrices.append((chosen / chosen.sum(axis=1, keepdims=True)).T.astype(np.float32))
    out = acts
    for dim, matrix in enumerate(matrices):
        out = _along(at, out, matrix, 2 + dim, "averages")
    shape = out.shape()

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        back = slopes[0].reshape(shape)
        for dim, matrix in reversed(list(enumerate(matrices))):
            back = _along(at, back, np.ascontiguousarray(matrix.T), 2 + dim, "averagesGrad")
        return {"input": back.reshape(input.shape())}

    return _like(out, input), backward


def _register_adaptive(dims: int) -> None:
    @lowers(f"aten.adaptive_avg_pool{dims}d.default", kind="AveragePool", call=_ADAPTIVE_CALL, own_backward=True)
    def average(at: Building, input: Tensor, output_size: Any) -> Any:
        acts, sizes = _batched(input, dims), _per_dimension(output_size, dims)
        windows = _even_windows(acts.shape()[2:], sizes)
        if windows is None:
            return _averages_by_products(at, input, acts, sizes)
        return _pool_of(at, input, acts, windows.params(PoolingType.AVG, acts))

    @lowers(f"aten.adaptive_max_pool{dims}d.default", kind="MaxPool", call=_ADAPTIVE_CALL, own_backward=True)
    def maximum(at: Building, input: Tensor, output_size: Any) -> Any:
        acts, sizes = _batched(input, dims), _per_dimension(output_size, dims)
        field = acts.shape()[2:]
        windows = _even_windows(field, sizes)
        if windows is None:
            places = [_adaptive_places(size, count) for size, count in zip(field, sizes, strict=True)]
            out, backward = _max_of_places(at, input, acts, places)
        else:
            out, backward = _pool_of(at, input, acts, windows.params(PoolingType.MAX, acts))
        return (out, None), backward


for _dims in (1, 2, 3):
    _register_average(_dims)
    _register_adaptive(_dims)
