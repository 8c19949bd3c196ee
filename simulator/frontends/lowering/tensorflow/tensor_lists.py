"""Lists of tensors of one shape, as one tensor [length, *element] that elements are written to in place."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import INT, UNSIGNED_INT, Tensor
from simulator.poplibs import popops


@lowers("tf.ListReserve", kind="TensorListReserve", call="popops.createSliceableTensor, zero")
def reserve(at: Building, shape: Sequence[int], dtype: str) -> Tensor:
    """A list of zeros."""
    made = _sliceable(at, shape, dtype)
    if made.numElements():
        popops.zero(at.graph, made, at.program, at.name("zero"))
    return made


def _sliceable(at: Building, shape: Sequence[int], dtype: str) -> Tensor:
    if 0 in shape:
        return at.variable(dtype, shape, "list")
    name = at.name("list")
    if len(shape) == 1:
        return popops.createSliceableTensor(at.graph, element_type(dtype), [*shape, 1], [0], [1], 0, name).reshape(
            list(shape)
        )
    return popops.createSliceableTensor(at.graph, element_type(dtype), list(shape), [0], [1], 0, name)


@lowers("tf.ListFromTensor", kind="TensorListFromTensor", call="program::Copy")
def from_tensor(at: Building, input: Tensor) -> Tensor:
    return at.copy(input, "list") if input.numElements() else input


def _offset(at: Building, index: Tensor | int) -> Tensor:
    if not isinstance(index, Tensor):
        return at.constant(UNSIGNED_INT, [1], [index], "index")
    whole = index if index.elementType() in (INT, UNSIGNED_INT) else at.cast(index, INT)
    return whole.reshape([1]).reinterpret(UNSIGNED_INT)


@lowers("tf.ListGet", kind="TensorListGetItem", call="popops.dynamicSlice")
def get_item(at: Building, input: Tensor, index: Tensor | int) -> Tensor:
    if not isinstance(index, Tensor):
        return at.copy(input[index]) if input.numElements() else input[index]
    rows = input.reshape([input.dim(0), max(1, input.numElements() // max(1, input.dim(0)))])
    offset = _offset(at, index)
    part = popops.dynamicSlice(at.graph, rows, offset, [0], [1], at.program, at.name("getItem"))
    return part.reshape(input.shape()[1:])


@lowers("tf.ListSet", kind="TensorListSetItem", call="popops.dynamicUpdate")
def set_item(at: Building, input: Tensor, index: Tensor | int, item: Tensor, in_place: bool = False) -> Tensor:
    """The list with one element written: the same tensor, or a copy where the list is read again as it was."""
    out = input if in_place else at.copy(input, "list")
    rows = out.reshape([out.dim(0), max(1, out.numElements() // max(1, out.dim(0)))])
    given = item.reshape([1, rows.dim(1)])
    offset = _offset(at, index)
    popops.dynamicUpdate(at.graph, rows, given, offset, [0], [1], at.program, at.name("setItem"))
    return out
