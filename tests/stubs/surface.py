"""The public bodies of simulator.poplar: every method, property and function, each overload for itself."""

from __future__ import annotations

import enum
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import simulator.poplar
from simulator.poplar import program
from tests.stubs.overloads import forms_of, spelled

#: Special methods that are part of the public face.
_OPERATORS = {"__init__", "__getitem__", "__eq__", "__len__", "__enter__", "__exit__", "__lt__", "__bool__"}


@dataclass(frozen=True)
class Body:
    """Overload number `overload` of attribute `name` of `owner`, a class or a module; `public` = the class under which
    programs know it."""

    public: str
    owner: Any
    name: str
    overload: int

    @property
    def function(self) -> Callable[..., Any]:
        """What runs."""
        return body_of(inspect.getattr_static(self.owner, self.name))

    @cached_property
    def key(self) -> str:
        """As the list spells it: Graph.setTileMapping(t: Tensor, tileNum: int, /)."""
        owner = f"{self.public}." if self.public else ""
        return f"{owner}{self.name}{spelled(self.function, self.overload)}"


def bodies() -> list[Body]:
    """Every public body, a class's own and inherited ones under the class that defines them, in a fixed order."""
    found: dict[tuple[int, str], Body] = {}
    for module in (simulator.poplar, program):
        for name in sorted(getattr(module, "__all__", vars(module))):
            value = getattr(module, name)
            if name.startswith("_") or not getattr(value, "__module__", "").startswith("simulator."):
                continue
            if inspect.isclass(value):
                if issubclass(value, (BaseException, enum.Enum)):
                    continue
                for owner, attribute in _methods(value):
                    found.setdefault((id(owner), attribute), Body(name, owner, attribute, -1))
            elif inspect.isfunction(value):
                home = sys.modules[value.__module__]
                found.setdefault((id(value), name), Body("", home, value.__name__, -1))
    rows = [replace(b, overload=i) for b in found.values() for i in range(len(forms_of(b.function)))]
    return sorted(rows, key=lambda body: body.key)


def _methods(cls: type) -> Iterator[tuple[type, str]]:
    for owner in cls.__mro__:
        if not owner.__module__.startswith("simulator."):
            continue
        for name, value in vars(owner).items():
            if name.startswith("_") and name not in _OPERATORS:
                continue
            function = body_of(value)
            # Bodies written by the dataclass decorator have no source line of ours.
            if inspect.isfunction(function) and function.__code__.co_filename.endswith(".py"):
                yield owner, name


def body_of(attribute: Any) -> Any:
    """The function behind a method, static method, class method or property."""
    if isinstance(attribute, property):
        return attribute.fget
    return getattr(attribute, "__func__", attribute)
