"""The progress bar of a compilation on standard error, as tqdm writes PopTorch's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WIDTH = 10
#: seconds between two writes
_INTERVAL = 0.1


@contextmanager
def compilation_progress(show: bool) -> Iterator[Callable[[int, int], None]]:
    """Gives `progress(done, of)`, which rewrites the line; the last state is written when the block ends."""
    started, last = time.monotonic(), [0.0, -1.0]

    def write(done: int, of: int) -> None:
        seconds = time.monotonic() - started
        rest = seconds * (of - done) / done if done else 0.0
        filled = _WIDTH * done // of
        bar = "#" * filled + " " * (_WIDTH - filled)
        text = f"\rGraph compilation: {100 * done // of:3d}%|{bar}| {done}/{of} [{_clock(seconds)}<{_clock(rest)}]"
        sys.stderr.write(text)
        sys.stderr.flush()

    def progress(done: int, of: int) -> None:
        now = time.monotonic()
        last[1] = max(last[1], done)
        if show and (done == of or now - last[0] >= _INTERVAL):
            last[0] = now
            write(int(last[1]), of)

    try:
        yield progress
    finally:
        if show and last[1] >= 0:
            sys.stderr.write("\n")
            sys.stderr.flush()


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60:02d}:{whole % 60:02d}"
