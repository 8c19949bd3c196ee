"""poptorch.profiling: channels of the host trace. Without PVTI_OPTIONS they record nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from popvision import pvti

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


#: The class whose methods PopTorch instruments; `instrument` puts its name in front of that of the method.
_EXECUTOR = "poptorch._poplar_executor.PoplarExecutor"

_core = pvti.createTraceChannel("poptorch")


def core_call(name: str) -> AbstractContextManager[Any]:
    """A call of what is PopTorch's C++ part: the channel and the labels are those of that part."""
    scope: AbstractContextManager[Any] = pvti.Tracepoint(_core, name)
    return scope


class Channel:
    """One channel. Events of `tracepoint` are labelled `<channel>.<name>`."""

    def __init__(self, name: str) -> None:
        self._prefix = name
        self._channel = pvti.createTraceChannel(name)

    def tracepoint(self, name: str) -> AbstractContextManager[Any]:
        """Record what runs inside as one event."""
        scope: AbstractContextManager[Any] = pvti.Tracepoint(self._channel, f"{self._prefix}.{name}")
        return scope

    def method(self, name: str) -> AbstractContextManager[Any]:
        """Record a call of a method that PopTorch instruments, under the label that this gives it."""
        scope: AbstractContextManager[Any] = pvti.Tracepoint(self._channel, f"{_EXECUTOR}.{name}")
        return scope

    def instrument(self, obj: T, *methods: str) -> T:
        """Record each call of these methods of one object; returns the object. Raises AttributeError for a missing
        method, TypeError for an object of a built-in type."""
        return pvti.instrument(obj, methods, self._channel)


def traced(method: F) -> F:
    """A method whose calls are events of its object's `channel`, labelled `<channel>.<method>`."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        with self.channel.tracepoint(method.__name__):
            return method(self, *arguments, **named)

    return call  # type: ignore[return-value]


def instrumented(method: F) -> F:
    """A method whose calls are events of its object's `channel`, labelled as PopTorch's own class and method."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        with self.channel.method(method.__name__):
            return method(self, *arguments, **named)

    return call  # type: ignore[return-value]
