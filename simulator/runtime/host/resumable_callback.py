"""Stream callbacks that can be suspended and resumed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from simulator.runtime.host.stream_callback import StreamCallback


class CallbackDroppedError(Exception):
    """Ends a suspended callback, when its stream is reconnected or the program is stopped, loaded or closed."""


class ResumableStreamCallback(StreamCallback):
    """A callback that may suspend itself until another callback or thread resumes it.

    Its functions run on their own threads. While `prefetch` is suspended, the program goes on until it needs the data;
    while `fetch` is suspended, the transfer waits. `Engine.stop` and a new load end suspended functions."""

    def __new__(cls, *arguments: object, **named: object) -> ResumableStreamCallback:
        made = super().__new__(cls)
        made._changed = threading.Condition()
        made._awaiting = made._dropped = False
        return made

    _changed: threading.Condition
    _awaiting: bool
    _dropped: bool

    def notify(self) -> None:
        """Resume the callback from its last `wait`; no effect if it is not suspended."""
        with self._changed:
            self._awaiting = False
            self._changed.notify_all()

    def isAwaiting(self) -> bool:
        """True while the callback is suspended."""
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


def start_resumable(callback: ResumableStreamCallback, function: Callable[[], None]) -> Future[None]:
    """Run a function of the callback on a thread of its own. Returns when it ends or is suspended."""
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


def drop_resumable(callback: ResumableStreamCallback) -> None:
    """End a suspended function of the callback."""
    with callback._changed:
        callback._dropped, callback._awaiting = callback._awaiting, False
        callback._changed.notify_all()
