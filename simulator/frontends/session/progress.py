"""What standard error shows of long work: a bar while a model compiles, `Graph compilation: 41%|####1     | 41/100
[00:03<00:04]`, or lines that come less and less often."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
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


class ProgressLines:
    """While it is open a line says what is being done: after a second, and with pauses twice as long after each.

    After `limit` seconds of processor time a line answers what is known by then (`know`), once; the work goes on."""

    _FIRST, _LONGEST, _SHORTEST = 1.0, 30.0, 0.5

    def __init__(self, title: str, limit: float = math.inf, clock: Callable[[], float] = time.process_time) -> None:
        self._title, self._doing, self._over = title, "", threading.Event()
        self._known, self._clock = "", clock
        self._limit, self._answer_at = limit, clock() + limit
        self._speaker = threading.Thread(target=self.speak, args=(self._over.wait,), daemon=True)

    def __enter__(self) -> ProgressLines:
        self._speaker.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._speaker.join()

    def say(self, doing: str) -> None:
        """What is being done from now on."""
        self._doing = doing

    def know(self, sentence: str) -> None:
        """What is known from now on, for the answer at the limit."""
        self._known = sentence

    def phase(self, done: int, total: int) -> None:
        """The progress of a compilation."""
        self.say(f"compiling, {done} of {total} phases done")

    def speak(self, ends_within: Callable[[float], bool]) -> None:
        """Write lines until the work ends; `ends_within` waits so many seconds for that."""
        begun, pause, waited = time.monotonic(), self._FIRST, 0.0
        while True:
            wait = min(pause - waited, max(self._answer_at - self._clock(), self._SHORTEST))
            if ends_within(wait):
                return
            waited += wait
            if waited >= pause:
                pause, waited = min(2 * pause, self._LONGEST), 0.0
                self._write(f"{self._doing} ({time.monotonic() - begun:.0f} s)")
            if self._clock() >= self._answer_at:
                self._answer_at = math.inf
                known = self._known or "Nothing is known yet."
                self._write(f"{self._limit:.0f} s of processor time are over, {self._doing}. {known}")

    def _write(self, line: str) -> None:
        print(f"{self._title}: {line}", file=sys.stderr, flush=True)


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
