"""Run Python codelets on the fields that the runtime gives them.

A runner takes any object whose attributes are the fields: ndarrays for vectors, 0-d arrays or numbers for scalars,
lists of these for vectors of edges. It runs the codelet on an instance of its class and writes outputs back: into the
very same array for vectors and 0-d arrays, as a new attribute value for plain numbers. `codelet_running` keeps codelets
from hiding floating-point errors that their program stops at.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import application_runtime_error, graph_object_load_error
from simulator.codelets.fields import attribute_of
from simulator.codelets.float_state import FloatState, current
from simulator.codelets.printing import running
from simulator.graph.vertices import FieldSpec
from simulator.machine.cycles.rounding import WORKERS

# Tiles have no counterpart of `np.errstate`: an invalid operation stops them wherever it is. While a codelet runs
# under flags that stop, its own `np.errstate` and `np.seterr` therefore have no say about these errors. NumPy's
# functions keep theirs (np.isclose subtracts infinities on purpose), and so do this package's kernels.
#
# All three forms, the decorator included, make their settings in one function of NumPy, which is replaced by one that
# asks first. NumPy has no public hook for it.

_thread = threading.local()

#: Packages whose code may ignore errors.
_EXEMPT = ("numpy", "simulator")

_MODULE, _FUNCTION = "numpy._core._ufunc_config", "_make_extobj"


@contextmanager
def codelet_running() -> Iterator[None]:
    """Around the code of a codelet. Costs a look at three flags where no error stops the program."""
    state = current()
    if not state.stops():
        yield
        return
    _install()
    _thread.state = state
    try:
        yield
    finally:
        _thread.state = None
        state.apply()  # a codelet may have changed the other errors with np.seterr


@functools.cache
def _install() -> None:
    """Once per process, when a codelet first runs under flags that stop."""
    module: Any = importlib.import_module(_MODULE)
    make = getattr(module, _FUNCTION)

    @functools.wraps(make)
    def make_settings(**settings: Any) -> Any:
        state: FloatState | None = getattr(_thread, "state", None)
        if state is not None and not _asked_by_exempt_code(sys._getframe(1)):
            settings |= state.stops()
        return make(**settings)

    setattr(module, _FUNCTION, make_settings)


def _asked_by_exempt_code(frame: FrameType | None) -> bool:
    """Whether the code that uses np.errstate or np.seterr, the first outside NumPy's module of them, is exempt."""
    while frame is not None and frame.f_globals.get("__name__") == _MODULE:
        frame = frame.f_back
    return frame is None or str(frame.f_globals.get("__name__")).split(".")[0] in _EXEMPT


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
