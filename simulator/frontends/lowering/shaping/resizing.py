"""Resizing of images: one dimension after the other.

Nearest neighbours are views. Linear and cubic interpolation is a product with a fixed matrix, [old size, new size], of
weights that are mostly zero: it costs a dense product, but no step for each element. Gradients are the products with
the transposed matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, concat
from simulator.poplibs import poplin, popops

Weights = npt.NDArray[np.float32]


def _sizes(
    input: Tensor, output_size: Sequence[int] | None, factors: Sequence[float | None] | None
) -> tuple[list[int], list[float | None]]:
    """(new sizes of the dimensions behind the second, factors given by the user)."""
    old = input.shape()[2:]
    given: list[float | None] = list(factors) if factors else [None for _ in old]
    if output_size is not None:
        return list(output_size), given
    return [int(np.floor(size * factor)) for size, factor in zip(old, given, strict=True) if factor], given


def _ratio(old: int, new: int, factor: float | None) -> np.float32:
    """Old elements per new one."""
    return np.float32(1.0 / factor) if factor else np.float32(old) / np.float32(new)


def _nearest_places(old: int, new: int, factor: float | None, exact: bool) -> npt.NDArray[np.int64]:
    """The old element that each new one repeats."""
    steps = np.arange(new, dtype=np.float32) + np.float32(0.5 if exact else 0)
    places: npt.NDArray[np.int64] = np.floor(steps * _ratio(old, new, factor)).astype(np.int64)
    return np.asarray(np.minimum(places, old - 1))


def _repeated(tensor: Tensor, axis: int, places: npt.NDArray[np.int64]) -> Tensor:
    """The elements at ascending places of a dimension, as a view."""
    old, each = tensor.dim(axis), np.bincount(places, minlength=tensor.dim(axis))
    if (each == each[0]).all():
        return tensor.upsample(int(each[0]), axis)
    parts = [
        tensor.slice(place, place + 1, axis).broadcast(int(each[place]), axis) for place in range(old) if each[place]
    ]
    return concat(parts, axis)


def _weights(old: int, new: int, taps: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]) -> Weights:
    matrix = np.zeros((old, new), np.float32)
    for places, weights in taps:
        np.add.at(matrix, (places, np.arange(new)), weights)
    return matrix


def _source(old: int, new: int, align_corners: bool, factor: float | None) -> npt.NDArray[np.float32]:
    """The place between old elements of each new one."""
    steps = np.arange(new, dtype=np.float32)
    if align_corners:
        return steps * (np.float32(old - 1) / np.float32(new - 1) if new > 1 else np.float32(0))
    return _ratio(old, new, factor) * (steps + np.float32(0.5)) - np.float32(0.5)


def _linear_weights(old: int, new: int, align_corners: bool, factor: float | None) -> Weights:
    source = np.maximum(_source(old, new, align_corners, factor), 0)
    low = np.minimum(source.astype(np.int64), old - 1)
    part = source - low
    return _weights(old, new, [(low, 1 - part), (np.minimum(low + 1, old - 1), part)])


def _cubic_weights(old: int, new: int, align_corners: bool, factor: float | None) -> Weights:
    """Keys' cubic convolution with a = -0.75, as torch has it."""
    source = _source(old, new, align_corners, factor)
    low = np.floor(source).astype(np.int64)
    part, a = source - low, -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    weights = (far(part + 1), near(part), near(1 - part), far(2 - part))
    return _weights(old, new, [(np.clip(low + n - 1, 0, old - 1), one) for n, one in enumerate(weights)])


def _multiplied(at: Building, tensor: Tensor, axis: int, matrix: Weights) -> Tensor:
    """The product of a dimension with a fixed matrix, [old size, new size]."""
    last = tensor.rank() - 1
    rows = tensor.dimRoll(axis, last)
    old, new = matrix.shape
    weights = at.constant(tensor.elementType(), [old, new], matrix, "weights")
    flat = rows.reshape([rows.numElements() // old, old])
    out = poplin.matMul(at.graph, flat, weights, at.program, at.name("interpolate"), at.product_options())
    return out.reshape([*rows.shape()[:-1], new]).dimRoll(last, axis)


def _interpolated(at: Building, input: Tensor, matrices: Sequence[Weights]) -> Any:
    """Products with one matrix for each dimension behind the second, and the function of the gradient."""
    out = input
    for number, matrix in enumerate(matrices):
        out = _multiplied(at, out, 2 + number, matrix)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        back = slopes[0]
        for number, matrix in reversed(list(enumerate(matrices))):
            back = _multiplied(at, back, 2 + number, np.ascontiguousarray(matrix.T))
        return {"input": back}

    return out, backward


def _register(name: str, make: Callable[[int, int, bool, float | None], Weights]) -> None:
    def build(
        at: Building, input: Tensor, output_size: Any, align_corners: bool, scale_factors: Any = None, **scales: Any
    ) -> Any:
        new, factors = _sizes(input, output_size, scale_factors or _scales(scales))
        sizes = zip(input.shape()[2:], new, factors, strict=True)
        return _interpolated(at, input, [make(old, size, align_corners, factor) for old, size, factor in sizes])

    names = (f"aten.{name}.vec", f"aten.{name}.default")
    lowers(*names, kind="Resize", call="poplin.matMul", own_backward=True)(build)


def _scales(given: dict[str, Any]) -> list[float | None] | None:
    """The factors of depth, height and width, or of the only dimension."""
    named = [given[name] for name in ("scales_d", "scales_h", "scales_w", "scales") if name in given]
    return named if any(named) else None


def _register_nearest(name: str, exact: bool) -> None:
    def build(at: Building, input: Tensor, output_size: Any, scale_factors: Any = None, **scales: Any) -> Any:
        new, factors = _sizes(input, output_size, scale_factors or _scales(scales))
        sizes = zip(input.shape()[2:], new, factors, strict=True)
        places = [_nearest_places(old, size, factor, exact) for old, size, factor in sizes]
        out = input
        for number, one in enumerate(places):
            out = _repeated(out, 2 + number, one)
        return out, _nearest_backward(input.shape(), places)

    names = (f"aten.{name}.vec", f"aten.{name}.default")
    lowers(*names, kind="Resize", call="tensor views; popops.reduce, poplin.matMul", own_backward=True)(build)


def _nearest_backward(shape: Sequence[int], places: Sequence[npt.NDArray[np.int64]]) -> Any:
    """Each old element gets the sum over the new ones that repeat it."""

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        back = slopes[0]
        for number, taken in enumerate(places):
            axis = 2 + number
            old, each = shape[axis], np.bincount(taken, minlength=shape[axis])
            if (each == each[0]).all():
                split = back.reshape([*back.shape()[:axis], old, int(each[0]), *back.shape()[axis + 1 :]])
                how = popops.ReduceParams(popops.Operation.ADD)
                back = popops.reduce(at.graph, split, [axis + 1], how, at.program, at.name("reduce"))
            else:
                back = _multiplied(at, back, axis, np.eye(old, dtype=np.float32)[taken])
        return {"input": back}

    return backward


for _dimensions in (1, 2, 3):
    _register_nearest(f"upsample_nearest{_dimensions}d", False)
    _register_nearest(f"_upsample_nearest_exact{_dimensions}d", True)
for _name in ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"):
    _register(_name, _linear_weights)
_register("upsample_bicubic2d", _cubic_weights)
