"""Callbacks of streams that can be suspended and go on later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from simulator.runtime.host.stream_callback import StreamCallback


class CallbackDroppedError(Exception):
    """A suspended callback ends here: its stream is connected anew, or the program is stopped, loaded or closed."""


class ResumableStreamCallback(StreamCallback):
    """A callback that may suspend itself, where it depends on what another callback or thread does.

    Its functions run on threads of their own. While `prefetch` is suspended the program goes on until it needs the
    data; while `fetch` is, the transfer waits. `Engine.stop` and a new load end what is suspended."""

    def __new__(cls, *arguments: object, **named: object) -> ResumableStreamCallback:
        made = super().__new__(cls)
        made._changed = threading.Condition()
        made._awaiting = made._dropped = False
        return made

    _changed: threading.Condition
    _awaiting: bool
    _dropped: bool

    def notify(self) -> None:
        """Let a suspended callback go on from its last `wait`; nothing where none is suspended."""
        with self._changed:
            self._awaiting = False
            self._changed.notify_all()

    def isAwaiting(self) -> bool:
        """Whether the callback is suspended until `notify`."""
        with self._changed:
            return self._awaiting

    def wait(self) -> None:
        """Suspend the running callback; only the callback itself calls this."""
        with self._changed:
            self._awaiting = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._awaiting)
            if self._dropped:
                raise CallbackDroppedError


def start_callback(callback: ResumableStreamCallback, function: Callable[[], None]) -> Future[None]:
    """Run a function of a callback on a thread of its own, and wait until it is over or suspended."""
    running: Future[None] = Future()

    def run() -> None:
        try:
            function()
        except BaseException as error:
            running.set_exception(error)
        else:
            running.set_result(None)
        with callback._changed:
            callback._changed.notify_all()

    callback._dropped = False
    threading.Thread(target=run, name="stream-callback-resumable", daemon=True).start()
    with callback._changed:
        callback._changed.wait_for(lambda: running.done() or callback._awaiting)
    return running


def drop_callback(callback: ResumableStreamCallback) -> None:
    """End the suspended function of a callback."""
    with callback._changed:
        callback._dropped, callback._awaiting = callback._awaiting, False
        callback._changed.notify_all()
