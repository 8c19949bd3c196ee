"""The flags of floating-point arithmetic on tiles, which programs and engine options set.

The flags hold for the thread that runs a program. Off by default, as after a reset of the device: halves that are too
large become the largest half, invalid operations give NaN, rounding is to nearest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.types import HALF_MAX

#: From here on a number rounds to nearest beyond the largest half.
_HALF_OVERFLOW = 65520.0

#: The bits of the flags, in the order of Poplar's structure: a layout of our own, as the register's is not public.
BITS = ("inv", "div0", "oflo", "esr", "nanoo")


@dataclass
class FloatState:
    """inv, div0, oflo: stop at invalid operations, divisions by zero, overflows. esr: round halves up or down at
    random, with the odds of their distances. nanoo: overflowing halves become NaN, an invalid operation."""

    inv: bool = False
    div0: bool = False
    oflo: bool = False
    esr: bool = False
    nanoo: bool = False
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), compare=False, repr=False)

    def word(self) -> int:
        """The flags as one number."""
        return sum(1 << bit for bit, name in enumerate(BITS) if getattr(self, name))

    def change(self, clear: int, set_: int) -> None:
        """Clear the flags of one word, then set those of another, for the code that this thread runs next."""
        word = (self.word() & ~clear) | set_
        for bit, name in enumerate(BITS):
            setattr(self, name, bool(word >> bit & 1))
        self.apply()

    def apply(self) -> None:
        """Let NumPy raise FloatingPointError for the errors that the flags stop at."""
        np.seterr(all="ignore")
        np.seterr(**self.stops())

    def stops(self) -> dict[str, Literal["raise"]]:
        """The errors that the flags stop at, as NumPy's settings."""
        flags = {"invalid": self.inv, "divide": self.div0, "over": self.oflo}
        return {error: "raise" for error, stops in flags.items() if stops}

    def to_half(self, values: AnyArray) -> AnyArray:
        """Numbers rounded to half."""
        finite = np.isfinite(values)
        over = finite & (np.abs(values) >= _HALF_OVERFLOW)
        if over.any():
            if self.oflo:
                raise FloatingPointError("overflow of a half")
            if self.nanoo and self.inv:
                raise FloatingPointError("invalid value: overflow of a half")
        kept = np.where(finite, np.clip(values, -HALF_MAX, HALF_MAX), values)
        if self.nanoo:
            kept = np.where(over, np.nan, kept)
        return self._stochastic(kept) if self.esr else kept.astype(np.float16)

    def _stochastic(self, values: AnyArray) -> AnyArray:
        """Each number as one of the two halves around it, the nearer one more often."""
        exact = values.astype(np.float64)
        near = exact.astype(np.float16)
        rest = exact - near.astype(np.float64)
        other = np.nextafter(near, np.where(rest > 0, np.float16(np.inf), np.float16(-np.inf)).astype(np.float16))
        with np.errstate(all="ignore"):
            odds = np.where(rest == 0, 0.0, rest / (other.astype(np.float64) - near.astype(np.float64)))
        moves = (self.random.random(exact.shape) < odds) & np.isfinite(other) & np.isfinite(exact)
        return np.where(moves, other, near)


_thread = threading.local()
_DEFAULT = FloatState()


def current() -> FloatState:
    """The state of the program that this thread runs; all flags off where none runs."""
    state: FloatState = getattr(_thread, "state", _DEFAULT)
    return state


@contextmanager
def running(state: FloatState) -> Iterator[None]:
    """Use a state on this thread."""
    before = getattr(_thread, "state", _DEFAULT)
    with np.errstate(all="ignore"):
        _thread.state = state
        state.apply()
        try:
            yield
        finally:
            _thread.state = before
