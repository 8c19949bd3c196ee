"""Calls of library functions in the host trace, on PopLibs' channels `graphConstruction/<library>`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from popvision import pvti


def trace_calls(library: str, names: dict[str, Any]) -> None:
    """Record each call of the public functions among `names` as an event `library::function`, as PopLibs labels them.
    Without tracing they stay as they are. Calls within a library are part of the call from outside."""
    if not pvti.isRecording():
        return
    channel = pvti.createTraceChannel(f"graphConstruction/{library}")
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and not name.startswith("_") and value.__module__.startswith(__package__):
            names[name] = _traced(value, f"{library}::{name}", channel)


def _traced(function: Callable[..., Any], label: str, channel: pvti.TraceChannel) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with pvti.Tracepoint(channel, label):
            return function(*arguments, **named)

    return call
