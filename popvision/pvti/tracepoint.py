"""`Tracepoint`: events with a begin and an end, and instant events."""

from __future__ import annotations

from popvision.formats.pvti.schema import END, INSTANT
from popvision.pvti.channels import TraceChannel
from popvision.pvti.recorder import local, recover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


class Scope:
    """One label of one channel; without state, so that one object serves all threads and nests in itself."""

    __slots__ = ("begin_code", "end_code")

    def __init__(self, code: int) -> None:
        self.begin_code = code
        self.end_code = code | END

    def __enter__(self) -> Scope:
        try:
            local.send(self.begin_code)
        except (AttributeError, ValueError, StopIteration):
            recover(self.begin_code)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            local.send(self.end_code)
        except (AttributeError, ValueError, StopIteration):
            recover(self.end_code)


class _Off:
    """What a Tracepoint on a switched-off channel is."""

    __slots__ = ()

    def __enter__(self) -> _Off:
        return self

    def __exit__(self, *error: object) -> None:
        return None


_OFF = _Off()


class Tracepoint:
    """A scope that is one event: `with Tracepoint(channel, "load"): ...`.

    The end is recorded when an exception passes too, and when the channel was switched off in between. Scopes nest,
    and one object may be entered repeatedly. `metadata` is a JSON text or an object that JSON can hold.
    """

    def __new__(cls, channel: TraceChannel, label: str, metadata: object = None) -> Any:
        """A context manager; shared between all uses of a label, since it holds no state."""
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
        """Begin an event that `end` with the same channel and label ends, perhaps in another function."""
        if channel.scopes is not None:
            channel.scope(label, metadata).__enter__()

    @staticmethod
    def end(channel: TraceChannel, label: str) -> None:
        """End the innermost open event of this thread with that channel and label; ignored when there is none."""
        if channel.scopes is not None:
            channel.scope(label).__exit__(None, None, None)

    @staticmethod
    def event(channel: TraceChannel, label: str, metadata: object = None) -> None:
        """An instant event."""
        if channel.scopes is not None:
            code = channel.scope(label, metadata).begin_code | INSTANT
            try:
                local.send(code)
            except (AttributeError, ValueError, StopIteration):
                recover(code)
