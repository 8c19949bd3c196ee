"""`Tracepoint`: events with a begin and an end, and instant events."""

from __future__ import annotations

from popvision.formats.pvti.schema import INSTANT
from popvision.pvti.arguments import check_text, not_a_channel
from popvision.pvti.channels import LABEL, TraceChannel
from popvision.pvti.recorder import local
from popvision.pvti.scopes import recover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self


class _Off:
    """The context manager of a channel that is off: records nothing."""

    __slots__ = ()

    def __enter__(self) -> _Off:
        return self

    def __exit__(self, *error: object) -> None:
        return None


_OFF = _Off()


def _scope_of(channel: TraceChannel, label: str, metadata: object = None) -> Any:
    """A context manager that records one event: `with Tracepoint(channel, "load"): ...`.

    The end is recorded also when an exception passes and when the channel was switched off in between. Tracepoints
    nest, and one object may be entered repeatedly; while its channel is off it records nothing. All uses of a label
    share one object, since it holds no state. `metadata` is JSON text or an object that JSON can hold. A subclass calls
    `super().__init__(channel, label)`.
    """
    try:
        scopes = channel.scopes
    except AttributeError:
        raise not_a_channel(channel) from None
    if scopes is None:
        if label.__class__ is not str:
            check_text(label, LABEL)
        return _OFF
    if metadata is None:
        try:
            return scopes[label]
        except (KeyError, TypeError):
            pass
    return channel.scope(label, metadata)


class _Tracepoint:
    """What subclasses of `Tracepoint` inherit."""

    def __init__(self, channel: TraceChannel, label: str, metadata: object = None) -> None:
        self._scope = _scope_of(channel, label, metadata)

    def __enter__(self) -> Self:
        # As `with` does: the end of what has begun is recorded also when the channel is switched off in between.
        self._exit = self._scope.__exit__
        self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._exit(kind, error, traceback)

    # Each method below sends its code by itself: a call of a common function would cost a tenth of an event.

    @staticmethod
    def begin(channel: TraceChannel, label: str, metadata: object = None) -> None:
        """Begin an event; `end` with the same channel and label ends it, possibly in another function."""
        try:
            scopes = channel.scopes
        except AttributeError:
            raise not_a_channel(channel) from None
        if scopes is not None:
            try:
                code = scopes[label].begin_code if metadata is None else channel.scope(label, metadata).begin_code
            except (KeyError, TypeError):
                code = channel.scope(label).begin_code
            try:
                local.send(code)
            except (AttributeError, ValueError, StopIteration):
                recover(code)
        elif label.__class__ is not str:
            check_text(label, LABEL)

    @staticmethod
    def end(channel: TraceChannel, label: str) -> None:
        """End this thread's innermost open event of that channel and label; without one nothing happens."""
        try:
            scopes = channel.scopes
        except AttributeError:
            raise not_a_channel(channel) from None
        if scopes is not None:
            try:
                code = scopes[label].end_code
            except (KeyError, TypeError):
                code = channel.scope(label).end_code
            try:
                local.send(code)
            except (AttributeError, ValueError, StopIteration):
                recover(code)
        elif label.__class__ is not str:
            check_text(label, LABEL)

    @staticmethod
    def event(channel: TraceChannel, label: str, metadata: object = None) -> None:
        """Record an instant event."""
        try:
            scopes = channel.scopes
        except AttributeError:
            raise not_a_channel(channel) from None
        if scopes is not None:
            try:
                code = scopes[label].begin_code if metadata is None else channel.scope(label, metadata).begin_code
            except (KeyError, TypeError):
                code = channel.scope(label).begin_code
            code |= INSTANT
            try:
                local.send(code)
            except (AttributeError, ValueError, StopIteration):
                recover(code)
        elif label.__class__ is not str:
            check_text(label, LABEL)


if TYPE_CHECKING:
    Tracepoint = _Tracepoint
else:
    # A function, which Python calls in half the time of a class that chooses its instances; it can be subclassed.
    Tracepoint = _scope_of
    Tracepoint.__name__ = Tracepoint.__qualname__ = "Tracepoint"
    Tracepoint.begin, Tracepoint.end, Tracepoint.event = _Tracepoint.begin, _Tracepoint.end, _Tracepoint.event
    Tracepoint.__mro_entries__ = lambda bases: (_Tracepoint,)
