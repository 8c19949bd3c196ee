"""Choose among the overloads of a C++ name by the types of the arguments, given by position or by Poplar's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simulator.base.errors import poplar_error

REQUIRED = object()


class Parameter(NamedTuple):
    """One parameter. `accepts` tells this overload from the others; None = anything, so that the method can refuse a
    value with a better sentence."""

    name: str
    accepts: Callable[[Any], bool] | None = None
    default: Any = REQUIRED


@dataclass(frozen=True)
class Overloads:
    """All overloads of a name, and the error when none fits."""

    name: str
    error: type[poplar_error]
    forms: tuple[tuple[Parameter, ...], ...]

    def choose(self, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """(index of the first overload that takes the arguments, its parameters by name)."""
        for index, form in enumerate(self.forms):
            bound = _bound(form, given, named)
            if bound is not None:
                return index, bound
        kinds = [type(value).__name__ for value in given] + [f"{k}={type(v).__name__}" for k, v in named.items()]
        known = "; ".join(f"({', '.join(_spelled(p) for p in form)})" for form in self.forms)
        raise self.error(f"{self.name} has no overload for ({', '.join(kinds)}); it takes {known}.")


def _bound(form: tuple[Parameter, ...], given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
    if len(given) > len(form):
        return None
    out: dict[str, Any] = {}
    used = 0
    for place, (name, accepts, default) in enumerate(form):
        if place < len(given):
            if name in named:
                return None
            value = given[place]
        elif name in named:
            value = named[name]
            used += 1
        elif default is REQUIRED:
            return None
        else:
            out[name] = default
            continue
        if accepts is not None and not accepts(value):
            return None
        out[name] = value
    return out if used == len(named) else None


def _spelled(parameter: Parameter) -> str:
    return parameter.name if parameter.default is REQUIRED else f"{parameter.name}={parameter.default!r:.20}"


def instance_of(*types: type) -> Callable[[Any], bool]:
    """A test for instances of these types."""
    return lambda value: isinstance(value, types)


def other_than(*types: type) -> Callable[[Any], bool]:
    """A test for anything but instances of these types."""
    return lambda value: not isinstance(value, types)
