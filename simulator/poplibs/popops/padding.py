"""popops.pad: views of a tensor with padding around it.

Nothing runs on the device; constant padding adds a constant to the graph."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, overload

import numpy as np

from simulator.building.graph import Graph
from simulator.graph.tensor import Tensor, concat, taken
from simulator.poplibs.memory_order import broadcast_to
from simulator.poplibs.poputil.exceptions import poplibs_error


class padding:
    """popops::padding."""

    class Type(Enum):
        """Padding with the tensor's own elements, as in numpy.pad."""

        EDGE = "edge"
        REFLECT = "reflect"

    class MappingMethod(Enum):
        """The mapping of constant padding: none, tile 0, or that of the nearest element of the tensor."""

        NONE = "none"
        ZERO = "zero"
        EDGE = "edge"


Amounts = Sequence[int]


@overload
def pad(
    graph: Graph,
    t: Tensor,
    paddingLower: Amounts,
    paddingUpper: Amounts,
    val: float | Tensor = 0.0,
    mappingMethod: padding.MappingMethod = padding.MappingMethod.ZERO,
    /,
) -> Tensor: ...
@overload
def pad(
    graph: Graph,
    t: Tensor,
    paddingLower: int,
    paddingUpper: int,
    dim: int,
    val: float | Tensor = 0.0,
    mappingMethod: padding.MappingMethod = padding.MappingMethod.ZERO,
    /,
) -> Tensor: ...
@overload
def pad(t: Tensor, paddingLower: Amounts, paddingUpper: Amounts, type: padding.Type, /) -> Tensor: ...
@overload
def pad(t: Tensor, paddingLower: int, paddingUpper: int, dim: int, type: padding.Type, /) -> Tensor: ...
def pad(*arguments: Any, **named: Any) -> Tensor:
    """pad(graph, t, paddingLower, paddingUpper, [dim,] val=0, mappingMethod=ZERO): elements of one value around a
    tensor, in the numbers that the lists give for each dimension, or in one dimension; negative numbers truncate.
    pad(t, paddingLower, paddingUpper, [dim,] type): padding with the tensor's own elements.

    Raises `poplibs_error` for numbers that do not fit the shape."""
    rest = list(arguments)
    graph = rest.pop(0) if isinstance(rest[0], Graph) else named.pop("graph", None)
    names = ("t", "paddingLower", "paddingUpper")
    t, lower, upper = (rest.pop(0) if rest else named.pop(n) for n in names)
    if isinstance(lower, int):
        dim = rest.pop(0) if rest else named.pop("dim")
        lower, upper = _in_one(t, dim, lower), _in_one(t, dim, upper)
    _check(t, lower, upper)
    if graph is None:
        return _of_itself(t, lower, upper, rest.pop(0) if rest else named.pop("type"))
    value = rest.pop(0) if rest else named.pop("val", 0.0)
    method = rest.pop(0) if rest else named.pop("mappingMethod", padding.MappingMethod.ZERO)
    return _constant(graph, t, lower, upper, value, method)


def _in_one(t: Tensor, dim: int, amount: int) -> list[int]:
    if not 0 <= dim < t.rank():
        raise poplibs_error(f"pad: a tensor of shape {t.shape()} has no dimension {dim}.")
    return [amount if axis == dim else 0 for axis in range(t.rank())]


def _check(t: Tensor, lower: Amounts, upper: Amounts) -> None:
    if len(lower) != t.rank() or len(upper) != t.rank():
        raise poplibs_error(
            f"pad: {list(lower)} and {list(upper)} for a tensor of shape {t.shape()}; give one number for each "
            "dimension."
        )
    for axis, (below, above) in enumerate(zip(lower, upper, strict=True)):
        if min(below, 0) + min(above, 0) + t.dim(axis) < 0:
            raise poplibs_error(
                f"pad: {below} and {above} cut more than the {t.dim(axis)} elements of dimension {axis}."
            )


def _cut(t: Tensor, lower: Amounts, upper: Amounts) -> Tensor:
    begins = [max(-n, 0) for n in lower]
    ends = [size - max(-n, 0) for size, n in zip(t.shape(), upper, strict=True)]
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        t = t.slice(begin, end, axis)
    return t


def _constant(
    graph: Graph, t: Tensor, lower: Amounts, upper: Amounts, value: Any, method: padding.MappingMethod
) -> Tensor:
    t = _cut(t, lower, upper)
    if isinstance(value, Tensor) and (value.numElements() != 1 or value.elementType() is not t.elementType()):
        raise poplibs_error(
            f"pad: the value holds {value.elementType()} of shape {value.shape()}; one element of {t.elementType()} "
            "is needed."
        )
    for axis, (below, above) in enumerate(zip(lower, upper, strict=True)):
        parts = [t]
        if below > 0:
            parts.insert(0, _filled(graph, t, axis, below, 0, value, method))
        if above > 0:
            parts.append(_filled(graph, t, axis, above, t.dim(axis) - 1, value, method))
        t = concat(parts, axis) if len(parts) > 1 else t
    return t


def _filled(
    graph: Graph, t: Tensor, axis: int, amount: int, edge: int, value: Any, method: padding.MappingMethod
) -> Tensor:
    shape = [amount if a == axis else n for a, n in enumerate(t.shape())]
    if isinstance(value, Tensor):
        return broadcast_to(value.reshape([]), tuple(shape))
    filled = graph.addConstant(t.elementType(), shape, value, "padding")
    if method is padding.MappingMethod.ZERO:
        graph.setTileMapping(filled, 0)
    elif method is padding.MappingMethod.EDGE and filled.numElements():
        if t.dim(axis) == 0:
            raise poplibs_error(f"pad: a tensor of shape {t.shape()} has no edge that the padding could be mapped to.")
        nearest = t.slice(edge, edge + 1, axis).broadcast(amount, axis)
        begins, ends, device = graph.getTileMappingIntervals(nearest)
        if (device < 0).any():
            raise poplibs_error("pad: the padding is to be mapped as a tensor that is not mapped; call setTileMapping.")
        graph.setTileMappingIntervals(filled, begins, ends, graph.state.graph_tiles(device))
    return filled


def _of_itself(t: Tensor, lower: Amounts, upper: Amounts, kind: padding.Type) -> Tensor:
    t = _cut(t, lower, upper)
    amounts = [(max(a, 0), max(b, 0)) for a, b in zip(lower, upper, strict=True)]
    for axis, both in enumerate(amounts):
        size = t.dim(axis)
        if (size == 0 and max(both)) or (kind is padding.Type.REFLECT and max(both) >= max(size, 1)):
            raise poplibs_error(f"pad: dimension {axis} of {size} elements cannot be padded by {both} of its own.")
    if not any(max(both) for both in amounts):
        return t
    places = np.arange(t.numElements()).reshape(t.shape())
    places = np.pad(places, amounts, mode="edge" if kind is padding.Type.EDGE else "reflect")
    return taken(t, places)
