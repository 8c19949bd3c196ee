"""Kernels: functions over whole arrays that compute the result of a library operation's vertices.

`@register("popops.add")` names a function `(outputs, inputs, attributes) -> None` that writes into `outputs`. Programs
refer to kernels by name (`simulator.graph.program.LibraryGroup`), so that an executable can be saved.

A kernel that touches a few rows of a large matrix names that operand in `inputs_by_row` or `outputs_by_row`. Where its
values are scattered it gets `arena.Rows`, which reads and writes single rows, instead of a copy of the whole matrix: a
loop over n steps that slices or updates one of n rows then takes time in n, not in n squared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error

Kernel = Callable[[list[Any], list[Any], dict[str, Any]], None]


class ByRow(NamedTuple):
    """The operands of a kernel that may be `arena.Rows`. An output by row keeps the values of rows that the kernel does
    not write, so an input by row of the same tensor need not be copied to it."""

    inputs: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()


Stores = Literal["", "matrices", "images"]


class Traits(NamedTuple):
    """What a plan may do for a kernel. `elementwise`: it computes the same for operands of any other shape that all of
    them have. `stores`: its first output is [conv groups, channel groups, positions, channels of a group], read as
    "matrices" [conv groups, positions, channels] or as "images" [positions, channels of all conv groups]."""

    by_row: ByRow = ByRow()
    elementwise: bool = False
    stores: Stores = ""


_kernels: dict[str, Kernel] = {}
_traits: dict[str, Traits] = {}


def register(
    name: str,
    inputs_by_row: Iterable[int] = (),
    outputs_by_row: Iterable[int] = (),
    *,
    elementwise: bool = False,
    stores: Stores = "",
) -> Callable[[Any], Any]:
    """Register a function as `name`; the numbers are those of matrices that it reads or writes by row.

    Raises ValueError for a second function of that name."""

    def enter(function: Any) -> Any:
        if _kernels.setdefault(name, function) is not function:
            raise ValueError(f"Another kernel is registered as '{name}'; give one of the two another name.")
        by_row = ByRow(frozenset(inputs_by_row), frozenset(outputs_by_row))
        _traits[name] = Traits(by_row, elementwise, stores)
        return function

    return enter


def kernel(name: str) -> Kernel:
    """The function registered as `name`. Raises poplar_error where there is none."""
    try:
        return _kernels[name]
    except KeyError:
        raise poplar_error(
            f"No kernel is registered as '{name}'; import the library that makes such programs (simulator.poplibs)."
        ) from None


def as_array(attributes: dict[str, Any], name: str) -> AnyArray:
    """An attribute that files hold as a list, as an array, which takes its place from the first run on."""
    value = attributes[name]
    if not isinstance(value, np.ndarray):
        value = attributes[name] = np.asarray(value)
    array: AnyArray = value
    return array


def traits_of(name: str) -> Traits:
    """What a plan may do for the kernel of this name."""
    return _traits.get(name, Traits())


__all__ = ["ByRow", "Kernel", "Traits", "as_array", "kernel", "register", "traits_of"]
