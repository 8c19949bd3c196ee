"""The bar on standard error while a model compiles: `Graph compilation: 41%|####1     | 41/100 [00:03<00:04]`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

_WIDTH = 10
_TOTAL = 100


class CompilationBar:
    """A call with (done, total) draws the bar where its whole percent changed. 100 percent ends the line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._shown = -1

    def __call__(self, done: int, total: int) -> None:
        percent = _TOTAL if total <= 0 else min(_TOTAL, max(0, done * _TOTAL // total))
        if percent <= self._shown:
            return
        self._shown = percent
        sys.stderr.write("\r" + self._text(percent) + ("\n" if percent == _TOTAL else ""))
        sys.stderr.flush()

    def finish(self) -> None:
        """Draw 100 percent, unless that is drawn."""
        self(1, 1)

    def abandon(self) -> None:
        """End the line of a compilation that failed."""
        if 0 <= self._shown < _TOTAL:
            self._shown = _TOTAL
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _text(self, percent: int) -> str:
        full, part = divmod(percent * _WIDTH, _TOTAL)
        tenth = part * 10 // _TOTAL
        bar = ("#" * full + (str(tenth) if tenth else "")).ljust(_WIDTH)
        elapsed = self._clock() - self._begun
        left = _minutes(elapsed * (_TOTAL - percent) / percent) if percent else "?"
        return f"Graph compilation: {percent:3d}%|{bar}| {percent}/{_TOTAL} [{_minutes(elapsed)}<{left}]"


@contextlib.contextmanager
def compilation_progress(show: bool) -> Iterator[Callable[[int, int], None]]:
    """Gives `progress(done, total)`, which draws the bar where `show` says so; its line ends with the block."""
    bar = CompilationBar()
    try:
        yield bar if show else _nothing
    finally:
        bar.abandon()


def _nothing(done: int, total: int) -> None:
    return None


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
