"""`Tracepoint`: events with a begin and an end, and instant events."""

from __future__ import annotations

from popvision.formats.pvti.schema import INSTANT
from popvision.pvti.channels import TraceChannel
from popvision.pvti.scopes import record

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


def _new_instance(cls: type[Tracepoint], *arguments: object, **keywords: object) -> Any:
    """`__new__` of subclasses, whose arguments are for their `__init__`."""
    return object.__new__(cls)


class Tracepoint:
    """A context manager that records one event: `with Tracepoint(channel, "load"): ...`.

    The end is recorded also when an exception passes and when the channel was switched off in between. Tracepoints
    nest, and one object may be entered repeatedly; while its channel is off it records nothing. `metadata` is JSON
    text or an object that JSON can hold. A subclass calls `super().__init__(channel, label)`.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__new__" not in vars(cls):
            cls.__new__ = _new_instance  # type: ignore[method-assign]

    def __init__(self, channel: TraceChannel, label: str, metadata: object = None) -> None:
        """Only of subclasses: `Tracepoint` itself gives the scope of the label."""
        self._scope = Tracepoint(channel, label, metadata)

    def __enter__(self) -> Self:
        # As `with` does: the end of what has begun is recorded also when the channel is switched off in between.
        self._exit = self._scope.__exit__
        self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._exit(kind, error, traceback)

    def __new__(cls, channel: TraceChannel, label: str, metadata: object = None) -> Any:
        """The scope of the label; all uses of a label share it, since it holds no state."""
        scopes = channel.scopes
        if scopes is None:
            return _OFF
        if metadata is None:
            try:
                return scopes[label]
            except KeyError:
                pass
        return channel.scope(label, metadata)

    @staticmethod
    def begin(channel: TraceChannel, label: str, metadata: object = None) -> None:
        """Begin an event; `end` with the same channel and label ends it, possibly in another function."""
        if channel.scopes is not None:
            channel.scope(label, metadata).__enter__()

    @staticmethod
    def end(channel: TraceChannel, label: str) -> None:
        """End this thread's innermost open event of that channel and label; without one nothing happens."""
        if channel.scopes is not None:
            channel.scope(label).__exit__(None, None, None)

    @staticmethod
    def event(channel: TraceChannel, label: str, metadata: object = None) -> None:
        """Record an instant event."""
        if channel.scopes is not None:
            record(channel.scope(label, metadata).begin_code | INSTANT)
