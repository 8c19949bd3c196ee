"""Padding of dimensions, as views. Gradients of padding are added to those of the elements that it repeats, one
dimension after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.elementwise.creation import filled
from simulator.frontends.lowering.elementwise.expressions import mapped
from simulator.frontends.lowering.reducing.reductions import reduced
from simulator.frontends.lowering.rules import lowers
from simulator.frontends.lowering.shaping.slices import constant_pad_nd
from simulator.poplar import Tensor, concat
from simulator.poplibs import popops

Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Mode:
    """Padding with a tensor's own elements. `parts`: (tensor, dimension, elements before, elements after) -> what
    stands before and after it. `origins`: (building, gradients of both parts, dimension, size) -> what is added to the
    gradient of the tensor, and where it begins."""

    parts: Callable[[Tensor, int, int, int], Pair]
    origins: Callable[[Building, Pair, int, int], list[tuple[Tensor, int]]]


def _reflected(x: Tensor, axis: int, before: int, after: int) -> Pair:
    size = x.dim(axis)
    return x.slice(1, 1 + before, axis).reverse(axis), x.slice(size - 1 - after, size - 1, axis).reverse(axis)


def _origins_of_reflected(at: Building, parts: Pair, axis: int, size: int) -> list[tuple[Tensor, int]]:
    return [(parts[0].reverse(axis), 1), (parts[1].reverse(axis), size - 1 - parts[1].dim(axis))]


def _replicated(x: Tensor, axis: int, before: int, after: int) -> Pair:
    size = x.dim(axis)
    return x.slice(0, 1, axis).broadcast(before, axis), x.slice(size - 1, size, axis).broadcast(after, axis)


def _origins_of_replicated(at: Building, parts: Pair, axis: int, size: int) -> list[tuple[Tensor, int]]:
    sums = [reduced(at, one, [axis], True, popops.Operation.ADD) for one in parts if one.dim(axis)]
    places = [place for one, place in zip(parts, (0, size - 1), strict=True) if one.dim(axis)]
    return list(zip(sums, places, strict=True))


def _wrapped(x: Tensor, axis: int, before: int, after: int) -> Pair:
    size = x.dim(axis)
    return x.slice(size - before, size, axis), x.slice(0, after, axis)


def _origins_of_wrapped(at: Building, parts: Pair, axis: int, size: int) -> list[tuple[Tensor, int]]:
    return [(parts[0], size - parts[0].dim(axis)), (parts[1], 0)]


_REFLECT = Mode(_reflected, _origins_of_reflected)
_REPLICATE = Mode(_replicated, _origins_of_replicated)
_MODES = {"reflect": _REFLECT, "replicate": _REPLICATE, "circular": Mode(_wrapped, _origins_of_wrapped)}


def _padded(x: Tensor, axis: int, amounts: tuple[int, int], mode: Mode) -> Tensor:
    """One dimension padded; negative amounts cut."""
    before, after = amounts
    first, last = mode.parts(x, axis, max(before, 0), max(after, 0))
    middle = x.slice(max(-before, 0), x.dim(axis) - max(-after, 0), axis)
    return concat([first, middle, last], axis)


def _gradient(at: Building, slope: Tensor, axis: int, size: int, amounts: tuple[int, int], mode: Mode) -> Tensor:
    """The gradient of one padded dimension of `size` elements: that of the elements themselves, and of the padding at
    the places which it repeats."""
    before, after = amounts
    first, last = max(before, 0), max(after, 0)
    long = slope.dim(axis)

    def placed(part: Tensor, place: int) -> Tensor:
        """`part` with zeros around it."""
        return concat([zeros(place), part, zeros(size - place - part.dim(axis))], axis)

    def zeros(count: int) -> Tensor:
        shape = [count if one == axis else n for one, n in enumerate(slope.shape())]
        return filled(at, slope.elementType(), shape, 0, "zeros")

    parts = slope.slice(0, first, axis), slope.slice(long - last, long, axis)
    added = [(slope.slice(first, long - last, axis), max(-before, 0)), *mode.origins(at, parts, axis, size)]
    terms = [placed(part, place) for part, place in added if part.dim(axis)]
    return terms[0] if len(terms) == 1 else mapped(at, lambda one, *more: sum(more, one), *terms, name="add")


def _pad(at: Building, input: Tensor, padding: Sequence[int], mode: Mode) -> Any:
    """`input` padded by the amounts (before, after) of the last dimension, of the one before it, ..."""
    amounts = [(padding[n], padding[n + 1]) for n in range(0, len(padding), 2)]
    out, sizes = input, input.shape()
    for number, each in enumerate(amounts):
        out = _padded(out, input.rank() - 1 - number, each, mode)

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        slope = slopes[0]
        for number, each in reversed(list(enumerate(amounts))):
            axis = input.rank() - 1 - number
            slope = _gradient(at, slope, axis, sizes[axis], each, mode)
        return {"input": slope}

    return out, backward


_CALL = "tensor views; popops.map, popops.reduce"


@lowers("aten.pad.default", kind="Pad", call=_CALL, own_backward=True)
def pad(at: Building, input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    if mode == "circular" and min(pad, default=0) < 0:
        return _cut_and_wrapped(at, input, pad)
    if mode != "constant":
        return _pad(at, input, pad, _MODES[mode])

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": constant_pad_nd(at, slopes[0], [-one for one in pad])}

    return constant_pad_nd(at, input, pad, value or 0), backward


def _cut_and_wrapped(at: Building, input: Tensor, padding: Sequence[int]) -> Any:
    """Circular padding of what negative amounts leave of the tensor; other modes repeat elements that were cut off."""
    cut = [min(amount, 0) for amount in padding]
    wrapped = [max(amount, 0) for amount in padding]
    out, inner = _pad(at, constant_pad_nd(at, input, cut), wrapped, _MODES["circular"])

    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor]:
        return {"input": constant_pad_nd(at, inner(at, slopes, wanted)["input"], [-one for one in cut])}

    return out, backward


def _register(name: str, mode: Mode) -> None:
    @lowers(f"aten.{name}.default", kind="Pad", call=_CALL, own_backward=True)
    def build(at: Building, input: Tensor, padding: Sequence[int]) -> Any:
        return _pad(at, input, padding, mode)


for _dimensions in (1, 2, 3):
    _register(f"reflection_pad{_dimensions}d", _REFLECT)
    _register(f"replication_pad{_dimensions}d", _REPLICATE)
