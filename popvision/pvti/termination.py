"""SIGTERM in a worker of multiprocessing, which `Pool` sends at the end of its `with`: write the rest, then end by it.

The handler stands only where the signal would end the process: not where the program or a C library handles it, which
Linux says of both. The process still ends by the signal, after the trace is finalised.

Python calls a handler between two steps of the main thread. A signal that comes when the main thread is about to block
in the system, or on another thread, would wait for as long as that takes, where the system's own action ends the
process at once. So a thread is told of the signal (`signal.set_wakeup_fd`), and wakes the main thread.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_PATIENCE_S = 0.1  # until the main thread is interrupted again


def at_termination(end: Callable[[], bool]) -> None:
    """Call `end` at SIGTERM, on the main thread, and end by the signal where it returns True; else `end_by_signal`
    must be called later. Does nothing outside a worker, on other threads than the main one, and where the signal is
    handled already."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None:
        return
    import signal
    import threading

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL or _is_caught(signal.SIGTERM):
        return

    def handle(signum: int, frame: FrameType | None) -> None:
        is_over = True
        try:
            is_over = end()
        finally:
            if is_over:
                signal.signal(signum, signal.SIG_DFL)
                end_by_signal()

    signal.signal(signal.SIGTERM, handle)
    _wake_the_main_thread(handle)


def _wake_the_main_thread(handle: Callable[[int, FrameType | None], None]) -> None:
    """From the first SIGTERM on, interrupt the main thread until it has called `handle`, which ends the process. Does
    nothing where the program is told of signals itself. Children that the worker forks have the handler alone."""
    import os
    import signal
    import threading
    import time

    told, tell = os.pipe()
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)
        os.close(told)
        os.close(tell)
        return

    def watch() -> None:
        while os.read(told, 1)[0] != signal.SIGTERM:
            pass
        while signal.getsignal(signal.SIGTERM) is handle:
            time.sleep(_PATIENCE_S)
            signal.pthread_kill(main, signal.SIGTERM)

    def in_child() -> None:
        nonlocal tell
        before = signal.set_wakeup_fd(-1)
        if before != tell:
            signal.set_wakeup_fd(before)
        tell = -1  # what the program sets from now on is its own

    main = threading.main_thread().ident or 0
    os.register_at_fork(after_in_child=in_child)
    threading.Thread(target=watch, name="pvti termination", daemon=True).start()


def end_by_signal() -> None:
    """Send this process SIGTERM."""
    import os
    import signal

    os.kill(os.getpid(), signal.SIGTERM)


def _is_caught(signum: int) -> bool:
    """True where code in C handles the signal, which Python does not know; False where the system cannot tell."""
    try:
        with open("/proc/self/status") as status:  # noqa: PTH123  (pathlib costs more to import than this package)
            caught = next(line for line in status if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (signum - 1) & 1)
