"""A number with its noun, "1 tile" or "1,472 tiles": the one way in which pages and answers write it."""

from __future__ import annotations


def with_noun(number: float, noun: str, plural: str = "") -> str:
    """The number with thousands separated, and the noun or its plural, by default with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
