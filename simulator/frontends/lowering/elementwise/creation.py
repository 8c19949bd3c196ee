"""Tensors of fixed values, casts and copies. Fixed values are constants of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.element_types import common_type, element_type, is_floating
from simulator.frontends.lowering.rules import lowers
from simulator.poplar import Tensor, Type
from simulator.poplibs.memory_order import broadcast_to

_CONSTANT = "a constant of the graph"


def _type(dtype: str | None, like: Tensor | None, *numbers: float) -> Type:
    """The type asked for, else that of a tensor, else that of numbers."""
    if dtype is not None:
        return element_type(dtype)
    return like.elementType() if like is not None else common_type(numbers)


def filled(at: Building, type_: Type, shape: Sequence[int], value: float, name: str) -> Tensor:
    """Elements of one value, part of a constant that operators of an IPU share. One element read by all would save its
    memory, but costs each reading tile a copy of four words for each element."""
    count = prod(shape)
    key = at.spot.ipu, type_, value
    shared = at.fills.get(key)
    if shared is None or shared.numElements() < count:
        shared = at.fills[key] = at.constant(type_, [count], value, name)
    return shared.slice(0, count, 0).reshape(list(shape))


@lowers("aten.full.default", kind="Constant", call=_CONSTANT)
def full(at: Building, size: Sequence[int], fill_value: float, dtype: str | None = None) -> Tensor:
    return at.constant(_type(dtype, None, fill_value), size, fill_value, "full")


@lowers("aten.full_like.default", kind="Constant", call=_CONSTANT)
def full_like(at: Building, input: Tensor, fill_value: float, dtype: str | None = None) -> Tensor:
    return at.constant(_type(dtype, input), input.shape(), fill_value, "full")


@lowers("aten.new_full.default", kind="Constant", call=_CONSTANT)
def new_full(at: Building, input: Tensor, size: Sequence[int], fill_value: float, dtype: str | None = None) -> Tensor:
    return at.constant(_type(dtype, input), size, fill_value, "full")


@lowers("aten.scalar_tensor.default", kind="Constant", call=_CONSTANT)
def scalar_tensor(at: Building, s: float, dtype: str | None = None) -> Tensor:
    return at.constant(_type(dtype, None, s), [], s, "scalar")


def _register_one_value(name: str, value: float) -> None:
    names = [f"aten.{name}.default"] + ["aten._efficientzerotensor.default"] * (name == "zeros")

    @lowers(*names, kind="Constant", call=_CONSTANT)
    def build(at: Building, size: Sequence[int], dtype: str | None = None) -> Tensor:
        return at.constant(dtype or "float32", size, value, name)

    @lowers(f"aten.{name}_like.default", kind="Constant", call=_CONSTANT)
    def build_like(at: Building, input: Tensor, dtype: str | None = None) -> Tensor:
        return at.constant(_type(dtype, input), input.shape(), value, name)

    @lowers(f"aten.new_{name}.default", kind="Constant", call=_CONSTANT)
    def build_new(at: Building, input: Tensor, size: Sequence[int], dtype: str | None = None) -> Tensor:
        return at.constant(_type(dtype, input), size, value, name)


_register_one_value("zeros", 0)
_register_one_value("ones", 1)


@lowers("aten.empty.memory_format", kind="Constant", call=_CONSTANT)
def empty(at: Building, size: Sequence[int], dtype: str | None = None) -> Tensor:
    return at.constant(dtype or "float32", size, 0, "empty")


@lowers("aten.empty_like.default", kind="Constant", call=_CONSTANT)
def empty_like(at: Building, input: Tensor, dtype: str | None = None) -> Tensor:
    return at.constant(_type(dtype, input), input.shape(), 0, "empty")


@lowers("aten.new_empty.default", kind="Constant", call=_CONSTANT)
def new_empty(at: Building, input: Tensor, size: Sequence[int], dtype: str | None = None) -> Tensor:
    return at.constant(_type(dtype, input), size, 0, "empty")


@lowers("aten.arange.default", "aten.arange.start", "aten.arange.start_step", kind="Range", call=_CONSTANT)
def arange(at: Building, end: float, start: float = 0, step: float = 1, dtype: str | None = None) -> Tensor:
    type_ = _type(dtype, None, start, end, step)
    if not is_floating(type_):
        start, end, step = int(start), int(end), int(step)
    count = max(0, int(np.ceil((end - start) / step)))
    values = start + np.arange(count) * step
    return at.constant(type_, [count], values.astype(type_.dtype), "range")


@lowers("aten.linspace.default", kind="Range", call=_CONSTANT)
def linspace(at: Building, start: float, end: float, steps: int, dtype: str | None = None) -> Tensor:
    type_ = element_type(dtype or "float32")
    return at.constant(type_, [steps], np.linspace(start, end, steps).astype(type_.dtype), "linspace")


@lowers("aten.eye.default", "aten.eye.m", kind="EyeLike", call=_CONSTANT)
def eye(at: Building, n: int, m: int | None = None, dtype: str | None = None) -> Tensor:
    type_ = element_type(dtype or "float32")
    return at.constant(type_, [n, n if m is None else m], np.eye(n, m, dtype=type_.dtype), "eye")


@lowers("aten.fill.Scalar", kind="Constant", call=_CONSTANT)
def fill(at: Building, input: Tensor, value: float) -> Tensor:
    return at.constant(input.elementType(), input.shape(), value, "fill")


@lowers("aten.fill.Tensor", kind="Expand", call="popops.cast")
def fill_with(at: Building, input: Tensor, value: Tensor) -> Tensor:
    return broadcast_to(at.cast(value, input.elementType()), tuple(input.shape()))


@lowers("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", kind="Cast", call="popops.cast")
def to(at: Building, input: Tensor, dtype: str | None = None, **_: Any) -> Tensor:
    return input if dtype is None else at.cast(input, dtype)


@lowers("aten.to.other", "aten.type_as.default", kind="Cast", call="popops.cast")
def type_as(at: Building, input: Tensor, other: Tensor, **_: Any) -> Tensor:
    return at.cast(input, other.elementType())


@lowers(
    "aten.detach.default",
    "aten.alias.default",
    "aten.clone.default",
    "aten.contiguous.default",
    "aten.lift_fresh_copy.default",
    "aten.lift_fresh.default",
    kind="Identity",
    call="tensor views only",
)
def same(at: Building, input: Tensor, **_: Any) -> Tensor:
    return input
