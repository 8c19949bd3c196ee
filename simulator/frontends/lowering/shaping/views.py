"""Views: operators that move no data, as tensor expressions, and those that join tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import common_type
from simulator.frontends.lowering.elementwise.creation import fill_with
from simulator.frontends.lowering.reducing.reductions import summed_to
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, concat
from simulator.poplibs.memory_order import broadcast_to

VIEW = "tensor views only"


@lowers("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", kind="Reshape", call=VIEW)
def view(at: Building, input: Tensor, size: Sequence[int] = (), shape: Sequence[int] = ()) -> Tensor:
    wanted = list(size or shape)
    if -1 in wanted:
        rest = 1
        for one in wanted:
            rest *= one if one != -1 else 1
        wanted[wanted.index(-1)] = input.numElements() // max(1, rest)
    return input.reshape(wanted)


@lowers("aten.view_as.default", "aten.reshape_as.default", kind="Reshape", call=VIEW)
def view_as(at: Building, input: Tensor, other: Tensor) -> Tensor:
    return input.reshape(other.shape())


@lowers("aten.flatten.using_ints", kind="Flatten", call=VIEW)
def flatten(at: Building, input: Tensor, start_dim: int, end_dim: int) -> Tensor:
    if input.rank() == 0:
        return input.reshape([1])
    first, last = start_dim % input.rank(), end_dim % input.rank()
    return input.flatten(first, last + 1)


@lowers("aten.unflatten.int", kind="Reshape", call=VIEW)
def unflatten(at: Building, input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    axis = dim % input.rank()
    shape = input.shape()
    known = 1
    for size in sizes:
        known *= size if size != -1 else 1
    parts = [shape[axis] // max(1, known) if size == -1 else size for size in sizes]
    return input.reshape([*shape[:axis], *parts, *shape[axis + 1 :]])


@lowers("aten.t.default", kind="Transpose", call=VIEW)
def t(at: Building, input: Tensor) -> Tensor:
    return input.transpose() if input.rank() == 2 else input


@lowers("aten.transpose.int", "aten.swapaxes.default", kind="Transpose", call=VIEW)
def transpose(at: Building, input: Tensor, dim0: int = 0, dim1: int = 0, axis0: int = 0, axis1: int = 0) -> Tensor:
    order = list(range(input.rank()))
    if order:
        first, second = (dim0 or axis0) % input.rank(), (dim1 or axis1) % input.rank()
        order[first], order[second] = second, first
    return input.dimShuffle(order)


@lowers("aten.permute.default", kind="Transpose", call=VIEW)
def permute(at: Building, input: Tensor, dims: Sequence[int]) -> Tensor:
    return input.dimShuffle([dim % input.rank() for dim in dims])


@lowers("aten.movedim.int", "aten.movedim.intlist", kind="Transpose", call=VIEW)
def movedim(at: Building, input: Tensor, source: Any, destination: Any) -> Tensor:
    sources = [source] if isinstance(source, int) else source
    destinations = [destination] if isinstance(destination, int) else destination
    rank = input.rank()
    return input.dimShufflePartial([one % rank for one in sources], [one % rank for one in destinations])


@lowers("aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims", kind="Squeeze", call=VIEW)
def squeeze(at: Building, input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    rank = input.rank()
    dims = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    return input.squeeze([axis % rank for axis in dims if input.dim(axis % rank) == 1]) if rank else input


@lowers("aten.unsqueeze.default", kind="Unsqueeze", call=VIEW)
def unsqueeze(at: Building, input: Tensor, dim: int) -> Tensor:
    return input.expand([dim % (input.rank() + 1)])


@lowers("aten.expand.default", "aten.broadcast_to.default", kind="Expand", call=VIEW)
def expand(at: Building, input: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    missing = len(size) - input.rank()
    kept = [input.dim(axis - missing) if wanted == -1 else wanted for axis, wanted in enumerate(size)]
    return broadcast_to(input, tuple(kept))


@lowers("aten.repeat.default", kind="Tile", call=VIEW)
def repeat(at: Building, input: Tensor, repeats: Sequence[int]) -> Tensor:
    out = input.expand([0] * (len(repeats) - input.rank()))
    for axis, count in enumerate(repeats):
        out = out.broadcast(count, axis)
    return out


@lowers("aten.flip.default", kind="Reverse", call=VIEW)
def flip(at: Building, input: Tensor, dims: Sequence[int]) -> Tensor:
    for dim in dims:
        input = input.reverse(dim % input.rank())
    return input


@lowers("aten.roll.default", kind="Roll", call=VIEW)
def roll(at: Building, input: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    out = input if dims else input.flatten()
    for shift, dim in zip(shifts, dims or [0], strict=True):
        axis = dim % out.rank()
        size = out.dim(axis)
        cut = -shift % size if size else 0
        out = concat([out.slice(cut, size, axis), out.slice(0, cut, axis)], axis)
    return out.reshape(input.shape())


@lowers("aten.cat.default", "aten.concat.default", kind="Concat", call="tensor views, popops.cast")
def cat(at: Building, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    type_ = common_type(tensors)
    parts = [at.cast(one, type_) for one in tensors if one.shape() != [0]]
    if not parts:
        return at.cast(tensors[0], type_)
    return concat(parts, dim % parts[0].rank())


@lowers("aten.stack.default", kind="Concat", call="tensor views, popops.cast")
def stack(at: Building, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    type_, axis = common_type(tensors), dim % (tensors[0].rank() + 1)
    return concat([at.cast(one, type_).expand([axis]) for one in tensors], axis)


@lowers("aten.unfold.default", kind="Unfold", call=VIEW)
def unfold(at: Building, input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    if input.rank() == 0:
        return input.reshape([1]).slice(0, size, 0)
    axis = dimension % input.rank()
    windows = [
        input.slice(start, start + size, axis).expand([axis]) for start in range(0, input.dim(axis) - size + 1, step)
    ]
    return concat(windows, axis).dimRoll(axis + 1, input.rank())


@lowers("aten.pixel_shuffle.default", kind="DepthToSpace", call=VIEW)
def pixel_shuffle(at: Building, input: Tensor, upscale_factor: int) -> Tensor:
    *rest, channels, height, width = input.shape()
    factor, n = upscale_factor, len(rest)
    blocks = input.reshape([*rest, channels // factor**2, factor, factor, height, width])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return blocks.dimShuffle(order).reshape([*rest, channels // factor**2, height * factor, width * factor])


@lowers("aten.pixel_unshuffle.default", kind="SpaceToDepth", call=VIEW)
def pixel_unshuffle(at: Building, input: Tensor, downscale_factor: int) -> Tensor:
    *rest, channels, height, width = input.shape()
    factor, n = downscale_factor, len(rest)
    blocks = input.reshape([*rest, channels, height // factor, factor, width // factor, factor])
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return blocks.dimShuffle(order).reshape([*rest, channels * factor**2, height // factor, width // factor])


@lowers("aten.copy.default", kind="Copy", call="popops.cast; popops.reduce", own_backward=True)
def copy(at: Building, input: Tensor, src: Tensor) -> Any:
    def backward(at: Building, slopes: Any, wanted: frozenset[str]) -> dict[str, Tensor | None]:
        gradients: dict[str, Tensor | None] = {"input": None}  # zero: the copy overwrites every element
        if "src" in wanted:
            gradients["src"] = at.cast(summed_to(at, slopes[0], src.shape()), src.elementType())
        return gradients

    return fill_with(at, input, src), backward
