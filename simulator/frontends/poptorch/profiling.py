"""poptorch.profiling: channels of the host trace. Without PVTI_OPTIONS they record nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from popvision import pvti

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


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

    def instrument(self, obj: T, *methods: str) -> T:
        """Record each call of these methods of one object; returns the object. Raises AttributeError for a missing
        method, TypeError for an object of a built-in type."""
        return pvti.instrument(obj, methods, self._channel)


def traced(method: F) -> F:
    """A method whose calls are events of its object's `channel`, under its own name."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        with self.channel.tracepoint(method.__name__):
            return method(self, *arguments, **named)

    return call  # type: ignore[return-value]
