"""Five kinds of fault, as changes of a line: from the forms that the syntax trees of Python and JavaScript share.

A form is an expression or statement within one line; `python_forms` and `javascript_forms` find them. Every change that
a form allows is listed, so that a draw chooses fairly and needs no second try.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

KINDS = ("off by one", "dropped term", "swapped operands", "unchecked error", "wrong unit")

What = Literal["binary", "joined", "choice", "arguments", "place", "condition", "check", "sum"]

_STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_UNITS = {1000.0: "1024", 1024.0: "1000", 8.0: "4", 1e6: "1e3", 1e9: "1e6", 1e-3: "1e-6", 1e-6: "1e-3", 1e-9: "1e-6"}
_UNITS |= {60.0: "100", 100.0: "1000", 2.0**20: "1000000"}
_UNIT_NAME = re.compile(
    r"(^|_)per_|bits|bytes$|hertz|frequency|clock_rate|nano|micro|milli|kilo|mega|giga|[km]ib", re.I
)


class Operand(NamedTuple):
    """One operand of a form: where it stands in the file, and what is known of it."""

    begin: int
    end: int
    atom: bool = True  #: needs no brackets
    number: float | None = None
    name: str = ""  #: the last name of a variable or attribute
    text: bool = False  #: a piece of text: two of them joined are a message


@dataclass(frozen=True)
class Form:
    """An expression or statement of one line.

    binary      left and right of `sign`
    joined      operands of and, or
    choice      condition, value if it holds, value if not
    arguments   the first two arguments of a call, both names
    place       an integer that counts places: an index, an end of a slice or a range
    condition   what must hold for an error to be raised
    check       a call whose only purpose is to refuse; `sign` is the statement that does nothing
    sum         `a += b`; `sign` is the statement that does nothing
    """

    what: What
    begin: int
    end: int
    parts: tuple[Operand, ...] = ()
    sign: str = ""


_Code = Callable[[Operand], str]


class Change(NamedTuple):
    """Characters `begin` to `end` of a file become `text`."""

    kind: str
    begin: int
    end: int
    text: str


def changes(source: str, form: Form) -> Iterator[Change]:
    """Every fault that can be planted in a form."""

    def code(part: Operand) -> str:
        text = source[part.begin : part.end]
        return text if part.atom else f"({text})"

    def whole(kind: str, text: str) -> Change:
        return Change(kind, form.begin, form.end, text)

    parts = form.parts
    match form.what:
        case "binary":
            yield from _binary(source, form, code)
        case "joined":
            for left_out in range(len(parts)):
                kept = [code(part) for index, part in enumerate(parts) if index != left_out]
                yield whole("dropped term", form.sign.join(kept))
        case "choice":
            yield from _swapped(source, form, parts[1], parts[2], code)
        case "arguments":
            yield from _swapped(source, form, parts[0], parts[1], code)
        case "place":
            assert parts[0].number is not None
            yield whole("off by one", f"{parts[0].number + 1:.0f}")
        case "condition":
            yield whole("unchecked error", form.sign)
        case "check":
            yield whole("unchecked error", form.sign)
        case "sum":
            yield whole("dropped term", form.sign)


def _binary(source: str, form: Form, code: _Code) -> Iterator[Change]:
    left, right = form.parts
    if left.text or right.text:
        return
    if form.sign in _STRICT:
        between = source[left.end : right.begin]
        place = left.end + between.index(form.sign)
        yield Change("off by one", place, place + len(form.sign), _STRICT[form.sign])
    if form.sign in ("+", "-"):
        for part in (left, right):
            if part.number is not None and part.number == int(part.number):
                yield Change("off by one", part.begin, part.end, f"{part.number + 1:.0f}")
    if form.sign in ("+", "-", "*"):
        yield Change("dropped term", form.begin, form.end, code(left))
    if form.sign in ("+", "*"):
        yield Change("dropped term", form.begin, form.end, code(right))
    if form.sign in ("-", "/", "//", *_STRICT):
        yield from _swapped(source, form, left, right, code)
    if form.sign in ("*", "/", "//"):
        for part, other in ((left, right), (right, left)):
            if part.number in _UNITS:
                yield Change("wrong unit", part.begin, part.end, _UNITS[part.number])
            if (part.number in _UNITS or _UNIT_NAME.search(part.name)) and not (part is left and form.sign != "*"):
                yield Change("wrong unit", form.begin, form.end, code(other))


def _swapped(source: str, form: Form, first: Operand, second: Operand, code: _Code) -> Iterator[Change]:
    """Two operands in each other's place."""
    if code(first) != code(second):
        before, between = source[form.begin : first.begin], source[first.end : second.begin]
        after = source[second.end : form.end]
        if form.what == "choice" or form.what == "arguments" or (first.atom and second.atom):
            yield Change(
                "swapped operands", form.begin, form.end, before + code(second) + between + code(first) + after
            )
