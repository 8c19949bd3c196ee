"""The public bodies of simulator.poplar: each signature of the seeds (`public_names`), and every other method, property
and function, each overload for itself."""

from __future__ import annotations

import enum
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import simulator.poplar
from simulator.poplar import program
from tests.stubs import public_names
from tests.stubs.overloads import forms_of, overload_of, spelled

#: Special methods that are part of the public face.
_OPERATORS = {"__init__", "__getitem__", "__eq__", "__len__", "__enter__", "__exit__", "__lt__", "__bool__"}


@dataclass(frozen=True)
class Body:
    """Some of the calls of attribute `name` of `owner`, a class or a module. `key` = as the lists name it."""

    key: str
    owner: Any
    name: str
    #: whether a call with these arguments (with `self`) is meant
    matches: Callable[[tuple[Any, ...], Mapping[str, Any]], bool] = field(compare=False)

    @property
    def attribute(self) -> Any:
        """As it stands in the class or module."""
        return inspect.getattr_static(self.owner, self.name)


def bodies() -> list[Body]:
    """The seeds' rows in their order, then the rest by name."""
    rows = list(_of_seeds())
    there = {(id(body.owner), body.name) for body in rows}
    others = [body for body in _of_code() if (id(body.owner), body.name) not in there]
    return rows + sorted(others, key=lambda body: body.key)


def _of_seeds() -> Iterator[Body]:
    for row in public_names.rows():
        if row.excluded:
            continue
        owner, name = public_names.owner_of(row)
        if inspect.isclass(owner):
            owner = next(base for base in owner.__mro__ if name in vars(base))
        else:
            made = getattr(owner, name)
            owner, name = sys.modules[made.__module__], made.__name__
        attribute = inspect.getattr_static(owner, name)
        bound = inspect.isclass(owner) and inspect.isfunction(attribute)

        def matches(args: tuple[Any, ...], names: Mapping[str, Any], row: Any = row, bound: bool = bound) -> bool:
            return public_names.calls(row, args[1:] if bound else args, names)

        yield Body(f"{row.key} {row.python}", owner, name, matches)


def _of_code() -> Iterator[Body]:
    seen = set()
    for public, owner, name in _attributes():
        if (id(owner), name) in seen:
            continue
        seen.add((id(owner), name))
        function = body_of(inspect.getattr_static(owner, name))
        for index in range(len(forms_of(function))):

            def matches(
                args: tuple[Any, ...], names: Mapping[str, Any], function: Any = function, index: int = index
            ) -> bool:
                return len(forms_of(function)) == 1 or overload_of(function, args, dict(names)) == index

            yield Body(f"{public}{name}{spelled(function, index)}", owner, name, matches)


def _attributes() -> Iterator[tuple[str, Any, str]]:
    """(how the owner is spelled, owner, name) of everything public."""
    for module in (simulator.poplar, program):
        for name in sorted(getattr(module, "__all__", vars(module))):
            value = getattr(module, name)
            if name.startswith("_") or not getattr(value, "__module__", "").startswith("simulator."):
                continue
            if inspect.isclass(value) and not issubclass(value, (BaseException, enum.Enum)):
                for owner, attribute in _methods(value):
                    yield f"{name}.", owner, attribute
            elif inspect.isfunction(value):
                yield "", sys.modules[value.__module__], value.__name__


def _methods(cls: type) -> Iterator[tuple[type, str]]:
    for owner in cls.__mro__:
        if not owner.__module__.startswith("simulator."):
            continue
        for name, value in vars(owner).items():
            if name.startswith("_") and name not in _OPERATORS:
                continue
            if inspect.getattr_static(cls, name) is not value:
                continue  # overridden: it is named after a class that has it, where there is one
            function = body_of(value)
            # Bodies written by the dataclass decorator have no source line of ours.
            if inspect.isfunction(function) and function.__code__.co_filename.endswith(".py"):
                yield owner, name


def body_of(attribute: Any) -> Any:
    """The function behind a method, static method, class method or property."""
    if isinstance(attribute, property):
        return attribute.fget
    return getattr(attribute, "__func__", attribute)
