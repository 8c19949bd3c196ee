"""Overloads: which of a library function's forms a call means.

C++ picks an overload by the types of all arguments. A Python function with overloads takes `*arguments, **named` and
asks `match` for the first of its forms that the arguments fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple


class _Required:
    """Stands for the default of a parameter that has none."""


REQUIRED = _Required()

#: a number, but no truth value
NUMBER = Real
#: what a parameter without a type accepts
ANYTHING = object


class Parameter(NamedTuple):
    """A parameter of a form: its name, the class (or classes) it takes, and its default."""

    name: str
    kind: Any = ANYTHING
    default: Any = REQUIRED

    def takes(self, value: Any) -> bool:
        if value is self.default:
            return True
        return isinstance(value, self.kind) and not (self.kind is NUMBER and isinstance(value, bool))


Form = Sequence[Parameter]


def match(api: str, forms: Sequence[Form], arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every parameter of the first form that fits; a form's own parameters only.

    Raises TypeError, naming the forms, when none fits."""
    for form in forms:
        values = _fitted(form, arguments, named)
        if values is not None:
            return values
    given = ", ".join([type(a).__name__ for a in arguments] + [f"{n}={type(v).__name__}" for n, v in named.items()])
    shown = " or ".join(f"({', '.join(p.name for p in form)})" for form in forms)
    raise TypeError(f"{api}: the arguments ({given}) fit none of its forms; give {shown}.")


def _fitted(form: Form, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any] | None:
    if len(arguments) > len(form):
        return None
    values = dict(zip((p.name for p in form), arguments, strict=False))
    if values.keys() & named.keys() or not named.keys() <= {p.name for p in form}:
        return None
    values |= named
    for parameter in form:
        value = values.setdefault(parameter.name, parameter.default)
        if value is REQUIRED or not parameter.takes(value):
            return None
    return values
