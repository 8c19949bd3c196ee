"""Which declared overload of a Python function a call belongs to: the first one whose annotations fit, as a type
checker would choose."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from beartype.door import is_bearable

import simulator.poplar


@cache
def forms_of(function: Callable[..., Any]) -> tuple[tuple[inspect.Signature, dict[str, Any]], ...]:
    """Signature and types of each overload; the function itself where none is declared."""
    declared = typing.get_overloads(function) or [function]
    return tuple((inspect.signature(one), _types(one)) for one in declared)


def overload_of(function: Callable[..., Any], args: Sequence[Any], names: dict[str, Any]) -> int:
    """The index of the overload of a call, -1 where none fits."""
    for index, (signature, types) in enumerate(forms_of(function)):
        try:
            bound = signature.bind(*args, **names)
        except TypeError:
            continue
        if all(
            _fits(value, types.get(name, Any), signature.parameters[name]) for name, value in bound.arguments.items()
        ):
            return index
    return -1


def spelled(function: Callable[..., Any], index: int) -> str:
    """The overload's parameters as text, without self."""
    signature = forms_of(function)[index][0]
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)).replace("'", "")


def _types(function: Callable[..., Any]) -> dict[str, Any]:
    names = {**vars(typing), **vars(simulator.poplar), **getattr(function, "__globals__", {})}
    found = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        try:
            found[name] = eval(annotation, names) if isinstance(annotation, str) else annotation  # our own sources
        except (NameError, TypeError, AttributeError):
            found[name] = Any
    return found


def _fits(value: Any, kind: Any, parameter: inspect.Parameter) -> bool:
    if kind is Any or parameter.kind is parameter.VAR_KEYWORD:
        return True
    if parameter.kind is parameter.VAR_POSITIONAL:
        return all(_is(one, kind) for one in value)
    return _is(value, kind)


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, np.ndarray) and value.ndim <= 1:
        value = value.tolist()  # an array stands for any sequence
    elif isinstance(value, np.generic):
        value = value.item()
    try:
        return bool(is_bearable(value, kind))
    except Exception:  # beartype refuses some annotations of ours; such a parameter tells nothing apart
        return True
