"""Escape texts of files for terminals: no character moves the cursor, clears the screen or reverses the line."""

from __future__ import annotations

import re

#: Control characters, line separators and characters that change the direction of writing.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with unsafe characters as escape sequences, such as "\x1b"."""
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def clipped(text: str, most: int) -> str:
    """`printable` text of at most `most` characters. An ellipsis replaces the middle: debug names differ at their
    ends."""
    shown = printable(text)
    if len(shown) <= most:
        return shown
    head = (most - 1) // 3
    return f"{shown[:head]}…{shown[len(shown) - (most - 1 - head) :]}"
