"""Whole events of sound JSON, thousands at a time, by orjson; what it cannot read exactly is left to a slower reader.

A piece of the text ends at a bracket between two objects. Whether these are events shows when the piece is read: a
bracket within an event or a text leaves it incomplete, which is an error. After an error what stands before it is
read, and less is tried at once, so that the cost stays proportional to the text however often it is broken.

orjson makes floats of fractions and of integers beyond 64 bits. Pieces with such integers are not read here. A time
with a fraction is exact in nanoseconds as a float where that lies near a whole number of them, and is not so large that
the float's own steps come near a nanosecond; others get their digits from the text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Characters that are tried at once: after an error, and at most.
_SMALLEST, _LARGEST = 1 << 12, 1 << 17

#: Between the brackets of two objects there is no more space than this; and brackets that are looked at.
_LONGEST_GAP, _MOST_BRACKETS = 256, 64

#: Integers that orjson may make floats of.
_LONG_NUMBER = re.compile(r"\d{20}|-9\d{18}")

#: Digits of which the first is tried at every place at once.
_LONG = 19

#: Nanoseconds that two steps of a float are at most, in this century.
_STEP = 1024

#: Nanoseconds up to which steps of a float are below a quarter of one.
_MOST_EXACT = 1e15


@dataclass(frozen=True)
class _Time:
    """A key of times: how it stands in the text, the digits behind it, and those with three decimals, below 2096."""

    key: str
    quoted: str
    digits: re.Pattern[str]
    thousandths: re.Pattern[str]


_TIMES = [
    _Time(
        key,
        f'"{key}"',
        re.compile(rf'"{key}"\s*:\s*(-?\d[\d.eE+-]*)'),
        re.compile(rf'"{key}"\s*:\s*([0-3]?\d{{1,15}}\.\d{{3}})(?=[\s,}}])'),
    )
    for key in ("ts", "dur")
]


class Fraction(float):
    """A number with a fraction or an exponent, with its digits in the file."""

    digits: str


class Nanoseconds(int):
    """A time in whole nanoseconds, whatever its file counts."""

    __slots__ = ()


def fraction(digits: str) -> Fraction | str:
    """The number of some digits; the digits where it is too large for one."""
    number = Fraction(digits)
    number.digits = digits
    return digits if math.isinf(number) else number


class SoundPieces:
    """Reads pieces of a text; `size` characters are tried next."""

    def __init__(self, unit_ns: int) -> None:
        self._unit_ns = unit_ns  #: nanoseconds that a time counts
        self.size = _LARGEST

    def read(self, text: str, begin: int) -> tuple[list[dict[str, Any]], int]:
        """The objects from one at `begin` on, as many as a piece holds, and where they end; none where the first
        one is no sound JSON, is the last of the text, or holds numbers that need another reader."""
        end = _last_end(text, begin, begin + self.size)
        if end < 0:
            self.size = min(2 * self.size, _LARGEST)
            return [], begin
        for _ in range(3):
            if end < 0:
                break
            piece = text[begin:end]
            try:
                values = orjson.loads(f"[{piece}]")
                problem = _long_number(piece)
            except orjson.JSONDecodeError as error:
                problem = error.pos - 1
            if problem < 0:
                events = [value for value in values if type(value) is dict]
                if not self._make_exact(events, piece):
                    break
                self.size = min(2 * self.size, _LARGEST)
                return events, end
            self.size = _SMALLEST
            end = _last_end(text, begin, min(end, begin + problem + 1))
        self.size = _SMALLEST
        return [], begin

    def _make_exact(self, objects: list[dict[str, Any]], text: str) -> bool:
        """Give times that are not exact as floats their nanoseconds or digits. False where these cannot be told."""
        for time in _TIMES:
            events = [event for event in objects if time.key in event]
            floats = np.array([value for event in events if type(value := event[time.key]) is float])
            scaled = np.abs(floats) * self._unit_ns
            if not len(floats) or (scaled.max() < _MOST_EXACT and np.abs(scaled - np.rint(scaled)).max() < 0.25):
                continue
            if text.count(time.quoted) != len(events):
                return False
            if len(floats) < len(events) or not self._set_thousandths(events, floats, time, text):
                digits = time.digits.findall(text)
                if len(digits) != len(events) or not self._set_digits(events, digits, time.key):
                    return False
        return True

    def _set_thousandths(self, events: list[dict[str, Any]], times: Floats, time: _Time, text: str) -> bool:
        """Nanoseconds of times of which all have three decimals, as nearly all producers write them, at once. False,
        and nothing is done, where not all have them."""
        digits = time.thousandths.findall(text) if self._unit_ns == 1000 else []
        if len(digits) != len(events):
            return False
        exact = np.fromstring(" ".join(digits).replace(".", ""), np.int64, sep=" ")
        if np.abs(times * 1000 - exact).max() > _STEP:
            return False
        for event, number in zip(events, map(Nanoseconds, exact.tolist()), strict=True):
            event[time.key] = number
        return True

    def _set_digits(self, events: list[dict[str, Any]], digits: list[str], key: str) -> bool:
        for event, written in zip(events, digits, strict=True):
            if type(event[key]) not in (int, float) or float(written) != float(event[key]):
                return False
            if type(event[key]) is float:
                event[key] = fraction(written)
        return True


def _last_end(text: str, begin: int, before: int) -> int:
    """Behind the last bracket before a place that a comma and another object follow; -1 where none is near."""
    bracket = before
    for _ in range(_MOST_BRACKETS):
        bracket = text.rfind("{", begin + 1, bracket)
        if bracket < 0:
            return -1
        first = max(begin, bracket - _LONGEST_GAP)
        gap = text[first:bracket].rstrip()
        if gap.endswith(",") and (gap := gap[:-1].rstrip()).endswith("}"):
            return first + len(gap)
    return -1


def _long_number(text: str) -> int:
    """Where the first integer stands that may have more than 64 bits; -1 where there is none."""
    run = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    is_digit = (run - np.uint8(ord("0"))) < 10
    for step in (1, 2, 4, 8, _LONG - 16):
        is_digit = is_digit[step:] & is_digit[: len(is_digit) - step] if len(is_digit) > step else is_digit[:0]
    number = _LONG_NUMBER.search(text) if is_digit.any() else None
    return -1 if number is None else number.start()
