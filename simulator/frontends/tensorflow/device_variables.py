"""Where the newest value of each variable is: a map from variables to the device program that wrote them last.

Values stay on the device from call to call. The host gets them when it reads: methods of TensorFlow's variables that
read or assign, and functions that run on the host, are wrapped once for the process (`installed`). A program gets a
value before it runs if the host or another program changed it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import concrete_function
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops

from simulator.arrays import AnyArray

_READS = ("_read_variable_op", "sparse_read", "gather_nd")
_WRITES = (
    "assign",
    "assign_add",
    "assign_sub",
    "batch_scatter_update",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_max",
    "scatter_nd_min",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
)


class Holder(Protocol):
    """A program with values of variables on the device."""

    def fetch(self) -> Mapping[int, AnyArray]:
        """Values of the variables on the device, by the identity of the handle."""


class Variables(Protocol):
    """Where the variables of a program on the device are new."""

    def register(self, handle: Any, dtype: Any) -> None:
        """Follow a variable, whose value the host has."""

    def stale(self, holder: Holder, handles: Iterable[int]) -> list[int]:
        """Those of its variables that the program must get before it runs."""

    def host_value(self, handle: int) -> AnyArray:
        """The newest value of a variable."""

    def note_sent(self, holder: Holder, handles: Iterable[int]) -> None:
        """The program has the newest values of these."""

    def note_run(self, holder: Holder, written: Iterable[int]) -> None:
        """The program has new values of these; all other copies are old."""

    def leave(self, holder: Holder) -> None:
        """The program is about to lose the device."""


@dataclass
class _State:
    """Of one variable. `holder` wrote it last; None: the host did. `current` are the programs whose copy is as new."""

    handle: Any
    dtype: Any
    holder: Holder | None = None
    is_stale_on_host: bool = False
    current: set[int] = field(default_factory=set)  #: identities of holders


class DeviceVariables:
    """The variables of all programs of a process."""

    def __init__(self) -> None:
        self._states: dict[int, _State] = {}

    def register(self, handle: Any, dtype: Any) -> None:
        """Follow a variable, whose value the host has."""
        self._states.setdefault(id(handle), _State(handle, dtype))

    def stale(self, holder: Holder, handles: Iterable[int]) -> list[int]:
        """Those of its variables that the program must get before it runs."""
        return [one for one in handles if id(holder) not in self._states[one].current]

    def host_value(self, handle: int) -> AnyArray:
        """The newest value of a variable, fetched to the host if need be."""
        self.fetch([handle])
        state = self._states[handle]
        with context.eager_mode():
            return np.asarray(gen_resource_variable_ops.read_variable_op(state.handle, state.dtype).numpy())

    def note_sent(self, holder: Holder, handles: Iterable[int]) -> None:
        """The program has the newest values of these."""
        for one in handles:
            self._states[one].current.add(id(holder))

    def note_run(self, holder: Holder, written: Iterable[int]) -> None:
        """The program has new values of these; all other copies are old."""
        for one in written:
            state = self._states[one]
            state.holder, state.is_stale_on_host, state.current = holder, True, {id(holder)}

    def note_host_write(self, handles: Iterable[int]) -> None:
        """The host has assigned these; all copies on the device are old."""
        for one in handles:
            state = self._states.get(one)
            if state is not None:
                state.holder, state.is_stale_on_host, state.current = None, False, set()

    def fetch(self, handles: Iterable[int] | None = None) -> None:
        """Bring the newest values to the host: of these variables, or of all."""
        chosen = self._states if handles is None else handles
        holders = {}
        for one in chosen:
            state = self._states.get(one)
            if state is not None and state.is_stale_on_host and state.holder is not None:
                holders[id(state.holder)] = state.holder
        for holder in holders.values():
            self._fetch_from(holder)

    def leave(self, holder: Holder) -> None:
        """Bring what only this program has to the host; the program is about to lose the device."""
        self._fetch_from(holder)
        for state in self._states.values():
            state.current.discard(id(holder))
            if state.holder is holder:
                state.holder = None

    def _fetch_from(self, holder: Holder) -> None:
        stale = {key for key, state in self._states.items() if state.holder is holder and state.is_stale_on_host}
        if not stale:
            return
        with context.eager_mode():
            for key, value in holder.fetch().items():
                if key in stale:
                    state = self._states[key]
                    tensor = np.asarray(value).astype(state.dtype.as_numpy_dtype)
                    gen_resource_variable_ops.assign_variable_op(state.handle, _constant(tensor, state.dtype))
                    state.is_stale_on_host = False

    # What the host does

    def before_host(self, handles: Iterable[int]) -> None:
        if self._states:
            self.fetch(handles)

    def knows(self, handles: Iterable[int]) -> list[int]:
        return [one for one in handles if one in self._states]


def _constant(value: AnyArray, dtype: Any) -> Any:
    return tf.constant(value, dtype)


@functools.cache
def installed() -> DeviceVariables:
    """The variables of the process, with TensorFlow's methods wrapped."""
    variables = DeviceVariables()
    for cls in (resource_variable_ops.BaseResourceVariable, resource_variable_ops.ResourceVariable):
        for name in (*_READS, *_WRITES):
            if name in vars(cls):
                _wrap_method(variables, cls, name, name in _WRITES)
    _wrap_functions(variables)
    return variables


def _wrap_method(variables: DeviceVariables, cls: Any, name: str, writes: bool) -> None:
    original: Callable[..., Any] = getattr(cls, name)

    @functools.wraps(original)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not context.executing_eagerly():
            return original(self, *args, **kwargs)
        key = id(self.handle)
        variables.before_host([key])
        result = original(self, *args, **kwargs)
        if writes:
            variables.note_host_write([key])
        return result

    setattr(cls, name, wrapped)


def _wrap_functions(variables: DeviceVariables) -> None:
    """A function that runs on the host reads variables by their handles, and may assign them."""
    cls = concrete_function.ConcreteFunction
    original: Callable[..., Any] = cls._call_flat

    @functools.wraps(original)
    def wrapped(self: Any, tensor_inputs: Any, captured_inputs: Any) -> Any:
        keys = variables.knows(id(one) for one in captured_inputs) if context.executing_eagerly() else []
        if not keys:
            return original(self, tensor_inputs, captured_inputs)
        variables.fetch(keys)
        result = original(self, tensor_inputs, captured_inputs)
        variables.note_host_write(keys)
        return result

    cls._call_flat = wrapped
