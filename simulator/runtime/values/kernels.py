"""Kernels: functions over whole arrays that compute the result of a library operation's vertices.

`@register("popops.add")` names a function `(outputs, inputs, attributes) -> None` that writes into `outputs`. Programs
refer to kernels by name (`simulator.graph.program.LibraryGroup`), so that an executable can be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error

Kernel = Callable[[list[AnyArray], list[AnyArray], dict[str, Any]], None]

_kernels: dict[str, Kernel] = {}


def register(name: str) -> Callable[[Any], Any]:
    """Register a function as `name`. Raises ValueError for a second function of that name."""

    def enter(function: Any) -> Any:
        if _kernels.setdefault(name, function) is not function:
            raise ValueError(f"Another kernel is registered as '{name}'; give one of the two another name.")
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


__all__ = ["Kernel", "kernel", "register"]
