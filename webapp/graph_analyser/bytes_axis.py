"""A byte axis with round binary ticks, and bytes as exact text."""

from __future__ import annotations

from typing import Any

from webapp.formats import bytes_text

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def binary_ticks(top: float, most: int = 6) -> tuple[list[int], list[str]]:
    """Tick values from 0 to at least `top` in steps of a power of two, at most `most` steps, with their labels.

    The step is a whole number of bytes, KiB, MiB ..., so every label is exact: 0, 128 KiB, 256 KiB.
    """
    step = 1
    while step * most < top:
        step *= 2
    values = [step * index for index in range(int(-(-max(top, 1) // step)) + 1)]
    return values, [exact_binary(value, step) for value in values]


def exact_binary(value: int, step: int) -> str:
    """A multiple of `step` (a power of two) in the largest unit that divides the step."""
    if not value:
        return "0"
    unit = 0
    while step % 1024 == 0 and unit < len(_UNITS) - 1:
        step, value, unit = step // 1024, value // 1024, unit + 1
    return f"{value:,} {_UNITS[unit]}"


def bytes_axis(top: float, title: str = "") -> dict[str, Any]:
    """A Plotly y axis from 0 to a little above `top` bytes."""
    values, texts = binary_ticks(top)
    return {
        "range": [0, max(top, 1) * 1.06],
        "tickvals": values,
        "ticktext": texts,
        "fixedrange": True,
        "title": {"text": title},
        "zeroline": False,
    }


def both_units(value: int) -> str:
    """Exact bytes and the rounded binary unit: "59,894,241 B (57.1 MiB)"."""
    rounded = bytes_text(value)
    exact = f"{value:,} B"
    return exact if rounded == exact else f"{exact} ({rounded})"
