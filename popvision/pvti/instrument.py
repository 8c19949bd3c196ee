"""`instrument` and `instrument_fn` trace methods and functions without a change to their source."""

from __future__ import annotations

import functools

from popvision.pvti.arguments import check_channel, check_text
from popvision.pvti.channels import TraceChannel, createTraceChannel
from popvision.pvti.session import session
from popvision.pvti.tracepoint import Tracepoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])
    T = TypeVar("T")

_ORIGINAL = "_pvti_original"
_CHANNELS = "_pvti_channels"

#: Flag of types whose objects cannot change their class: those written in C (Py_TPFLAGS_IMMUTABLETYPE).
_IMMUTABLE_TYPE = 1 << 8


def instrument_fn(channel: TraceChannel) -> Callable[[F], F]:
    """Decorator that records each call as an event labelled `module.qualified_name`.

    Returns the function itself when tracing is off. A coroutine function is traced until it returns, a generator
    function until its generator exists.
    """

    check_channel(channel)

    def decorate(function: F) -> F:
        if not callable(function):
            raise TypeError(f"what is traced must be a function, not of type {type(function).__name__}.")
        if not session.recording:
            return function
        return _traced(function, f"{function.__module__}.{function.__qualname__}", channel)

    return decorate


def instrument(obj: T, methods: Iterable[str], channel: TraceChannel) -> T:
    """Trace the named methods of this one object, dunder methods included; returns the object.

    Events are labelled `module.Class.method`. The object gets a subclass of its class, so that calls through the
    type (`data[i]`, `len(data)`, `model()`) are traced and other instances are not. Instrumenting again replaces the
    channel of a method and never wraps it twice. Pickled, copied and forked objects stay instrumented.
    Raises AttributeError for a missing method, TypeError for an object of a built-in type.
    """
    check_channel(channel)
    cls: Any = type(obj)
    original: Any = getattr(cls, _ORIGINAL, cls)
    names = [methods] if isinstance(methods, str) else _names(methods)
    for name in names:
        if not hasattr(obj, name):
            raise AttributeError(f"{original.__qualname__} has no method {name!r} to instrument.")
    if original.__flags__ & _IMMUTABLE_TYPE:
        raise TypeError(
            f"an object of type {original.__qualname__} cannot be instrumented; subclass it in Python first."
        )
    if not session.recording:
        return obj
    own = getattr(obj, "__dict__", {})
    for name in names:
        if name in own:
            function = getattr(own[name], _ORIGINAL, own[name])
            own[name] = _traced(function, _label(original, name), channel)
    channels = {**getattr(cls, _CHANNELS, {}), **{name: channel for name in names if name not in own}}
    obj.__class__ = _subclass(original, tuple(sorted(channels.items(), key=lambda item: item[0])))
    return obj


def _names(methods: Iterable[str]) -> list[str]:
    """The names of some methods. Raises TypeError."""
    try:
        names = list(methods)
    except TypeError:
        raise TypeError(f"methods must be a list of names, not of type {type(methods).__name__}.") from None
    for name in names:
        check_text(name, "the name of a method")
    return names


@functools.cache
def _subclass(original: type, channels: tuple[tuple[str, TraceChannel], ...]) -> type:
    """One subclass for all instances with the same methods on the same channels."""
    from inspect import getattr_static

    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
        "__reduce_ex__": _reduce,
        _ORIGINAL: original,
        _CHANNELS: dict(channels),
    }
    for name, channel in channels:
        method = getattr_static(original, name)
        wrap = type(method) if isinstance(method, staticmethod | classmethod) else None
        function = method.__func__ if wrap else getattr(original, name)
        traced = _traced(function, _label(original, name), channel)
        body[name] = wrap(traced) if wrap else traced
    return type(original.__name__, (original,), body)


def _label(cls: type, method: str) -> str:
    return f"{cls.__module__}.{cls.__qualname__}.{method}"


def _traced(function: F, label: str, channel: TraceChannel) -> F:
    from inspect import iscoroutinefunction

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with Tracepoint(channel, label):
            return await function(*args, **kwargs)

    def inner(*args: Any, **kwargs: Any) -> Any:
        with Tracepoint(channel, label):
            return function(*args, **kwargs)

    traced: Any = functools.wraps(function)(awaited if iscoroutinefunction(function) else inner)
    setattr(traced, _ORIGINAL, function)
    return traced  # type: ignore[no-any-return]


def _reduce(self: Any, protocol: int) -> Any:
    """Pickle as an instance of the original class that is instrumented again when it is unpickled."""
    cls = type(self)
    original = getattr(cls, _ORIGINAL)
    reduced = super(cls, self).__reduce_ex__(protocol)
    if isinstance(reduced, str):
        return reduced
    function, arguments, *rest = reduced
    made_of = tuple(original if argument is cls else argument for argument in arguments)
    names = {name: channel.name for name, channel in getattr(cls, _CHANNELS).items()}
    return (_restore, (original if function is cls else function, made_of, names), *rest)


def _restore(function: Callable[..., Any], arguments: tuple[Any, ...], channels: Mapping[str, str]) -> Any:
    obj = function(*arguments)
    for method, channel in channels.items():
        instrument(obj, [method], createTraceChannel(channel))
    return obj
