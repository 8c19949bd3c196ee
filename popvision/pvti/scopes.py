"""Scopes, which send the begin and end of an event to the recorder of the current thread."""

from __future__ import annotations

from time import perf_counter_ns

from popvision.formats.pvti.schema import END
from popvision.pvti.recorder import local, recorder
from popvision.pvti.session import session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from popvision.pvti.channels import TraceChannel


class Scope:
    """A context manager that records one label of one channel; stateless, so that it nests and serves all threads."""

    __slots__ = ("begin_code", "channel", "end_code", "label", "metadata")

    def __init__(self, channel: TraceChannel, label: str, metadata: object, code: int) -> None:
        self.channel, self.label, self.metadata = channel, label, metadata
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as channel and label: codes are those of this process's file."""
        return type(self.channel).scope, (self.channel, self.label, self.metadata)


class SilentScope(Scope):
    """A scope while its channel is off. A `with` that has begun before still records its end, since Python looks up
    `__exit__` when it enters."""

    __slots__ = ()

    def __enter__(self) -> Scope:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None


def recover(code: int) -> None:
    """Record an event after `local.send` failed.

    It fails when the thread has no recorder yet, when an exception from a signal handler ended the recorder, and when a
    signal handler or finaliser that traces interrupts the recorder at work.
    """
    send = getattr(local, "send", None)
    generator = getattr(send, "__self__", None)
    if generator is not None and generator.gi_running:
        local.buffer.overflow.append((perf_counter_ns(), code))
        return
    start_recorder()
    local.send(code)


def start_recorder() -> None:
    """Make the calling thread ready to record."""
    session.prepare()
    if hasattr(local, "buffer"):
        session.flush(local.buffer)
    else:
        local.buffer = session.new_buffer()
    generator = recorder(local.buffer, session.flush)
    next(generator)
    local.send = generator.send
