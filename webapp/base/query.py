"""Whole numbers in untrusted addresses: in the selection of a page and in the queries of routes.

A number has up to 19 ASCII digits and lies between two bounds; signs, points, exponents, underscores and digits of
other scripts are rejected. The first three functions read a text and return None or skip invalid numbers. The others
read a query (`request.args`, or that of a long table) and raise ValueError with one sentence, which
webapp/base/data_routes.py sends.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Largest whole number that a browser represents exactly.
MOST = 1 << 53

_MOST_DIGITS = 19
_SHOWN = 40  # characters of a wrong value in the sentence about it


def whole_number(text: str, least: int = 0, most: int = MOST) -> int | None:
    """The number in a text, None when it is not one from `least` to `most`."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        return None
    number = int(text)
    return number if least <= number <= most else None


def whole_range(text: str, most: int = MOST) -> tuple[int, int] | None:
    """ "12-40" -> (12, 40) with the first not above the last; anything else -> None."""
    begin, _, end = text.partition("-")
    first, last = whole_number(begin, 0, most), whole_number(end, 0, most)
    return None if first is None or last is None or first > last else (first, last)


def whole_numbers(text: str, count: int = 16) -> tuple[int, ...]:
    """ "3,x,7,3" -> (3, 7): up to `count` numbers, each once, in the order of the text."""
    numbers = (whole_number(each) for each in text.split(","))
    return tuple(dict.fromkeys(each for each in numbers if each is not None))[:count]


def number_of(query: Mapping[str, str], name: str, least: int = 0, most: int = MOST, default: int | None = None) -> int:
    """The number under a name of the query, else the default. Raises ValueError."""
    text = query.get(name, "")
    if not text and default is not None:
        return default
    number = whole_number(text, least, most)
    if number is None:
        raise ValueError(f"{name}={text[:_SHOWN]!r} is not a whole number from {least} to {most}")
    return number


def optional_number_of(query: Mapping[str, str], name: str, most: int = MOST) -> int | None:
    """The number under a name of the query, None without one. Raises ValueError."""
    return number_of(query, name, 0, most) if query.get(name, "") else None


def numbers_of(query: Mapping[str, str], name: str, below: int) -> list[int]:
    """The list of numbers under a name, such as 0,3,5; empty without one. Raises ValueError."""
    text = query.get(name, "")
    numbers = [whole_number(each, 0, below - 1) for each in text.split(",")] if text else []
    known = [each for each in numbers if each is not None]
    if len(known) < len(numbers):
        raise ValueError(f"{name}={text[:_SHOWN]!r} is not a list of whole numbers from 0 to {below - 1}")
    return known


def range_of(query: Mapping[str, str], name: str) -> range:
    """The range under a name, such as 0-31 with both ends included. Raises ValueError."""
    text = query.get(name, "")
    bounds = whole_range(text)
    if bounds is None:
        raise ValueError(f"{name}={text[:_SHOWN]!r} is not a range of whole numbers such as 0-31")
    return range(bounds[0], bounds[1] + 1)
