"""Run Python codelets on the fields that the runtime gives them.

A runner takes any object whose attributes are the fields: ndarrays for vectors, 0-d arrays or numbers for scalars,
lists of these for vectors of edges. It runs the codelet on an instance of its class and writes outputs back: into the
very same array for vectors and 0-d arrays, as a new attribute value for plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import application_runtime_error, graph_object_load_error
from simulator.codelets.fields import attribute_of
from simulator.codelets.float_guard import codelet_running
from simulator.codelets.float_state import current
from simulator.codelets.printing import running
from simulator.graph.vertices import FieldSpec
from simulator.machine.cycles.rounding import WORKERS


def vertex_runner(cls: type[Any], fields: tuple[FieldSpec, ...], multi: bool) -> Callable[[Any], Any]:
    """`compute` of one vertex; for a multi-vertex, all its workers one after another."""

    def run(given: Any) -> Any:
        instance = _instance(cls, fields, given, batch=False)
        with codelet_running():
            if not multi:
                result = instance.compute()
            else:
                result = True
                for running.worker in range(WORKERS):
                    result &= agrees(instance.compute(running.worker))
        _write_back(cls, fields, given, instance)
        return result

    return run


def agrees(result: Any) -> bool:
    """Whether the result of compute() counts as true; None does, and of several values all must be true."""
    return result is None or bool(np.all(result))


def batch_runner(cls: type[Any], fields: tuple[FieldSpec, ...]) -> Callable[[Any], Any]:
    """`compute_batch`: every field has the vertices as its first dimension."""
    if any(f.kind in ("scalars", "vectors") and f.direction != "in" for f in fields):
        raise graph_object_load_error(f"{cls.__name__}: compute_batch cannot write vectors of edges; leave it out.")

    def run(given: Any) -> Any:
        instance = _instance(cls, fields, given, batch=True)
        with codelet_running():
            result = instance.compute_batch()
        _write_back(cls, fields, given, instance)
        return result

    return run


def _instance(cls: type[Any], fields: tuple[FieldSpec, ...], given: Any, batch: bool) -> Any:
    instance = object.__new__(cls)
    for f in fields:
        value = getattr(given, f.name)
        if f.kind in ("scalars", "vectors"):
            inside: Any = [_inside(part) for part in value]
            if f.kind == "scalars" and f.direction == "in":
                inside = np.array(inside)
        elif f.kind == "scalar" and not batch:
            inside = _inside(np.asarray(value))[()]
        else:
            inside = _inside(value)
        setattr(instance, attribute_of(f.name), inside)
    return instance


def _inside(value: Any) -> Any:
    """HALF arithmetic is done in float32."""
    if getattr(value, "dtype", None) == np.float16:
        return value.astype(np.float32)
    return value


def _write_back(cls: type[Any], fields: tuple[FieldSpec, ...], given: Any, instance: Any) -> None:
    for f in fields:
        if f.direction not in ("out", "inout"):
            continue
        target, result = getattr(given, f.name), getattr(instance, attribute_of(f.name))
        try:
            if isinstance(target, list):
                for one_target, one_result in zip(target, result, strict=True):
                    store(one_target, one_result)
            elif isinstance(target, np.ndarray):
                store(target, result)
            else:
                setattr(given, f.name, rounded(np.asarray(result), np.asarray(target).dtype)[()])
        except ValueError as error:
            raise application_runtime_error(
                f"Codelet {cls.__name__} gave field '{f.name}' a wrong shape: {error}."
            ) from None


def store(target: AnyArray, result: Any) -> None:
    """Write a result into its place, rounded to the type of the place."""
    if result is not target:
        values = np.asarray(result)
        target[...] = values if values.dtype == target.dtype else rounded(values, target.dtype)


def rounded(result: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    """`result` as `dtype`; the state of the running program (`float_state`) decides how halves overflow and round."""
    if dtype == np.float16 and result.dtype != np.float16:
        return current().to_half(result)
    with np.errstate(over="ignore", invalid="ignore"):
        return result.astype(dtype, copy=False)
