"""SIGTERM in a worker of multiprocessing, which `Pool` sends at the end of its `with`: write the rest, then end by it.

The handler stands only where the signal would end the process: not where the program or a C library handles it, which
Linux says of both. The process still ends by the signal, after the trace is finalised.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


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
