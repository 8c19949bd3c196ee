"""A byte axis with round binary ticks, and bytes as exact text."""

from __future__ import annotations

from typing import Any

from webapp.formats import bytes_text

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def binary_ticks(top: float, most: int = 6, low: float = 0) -> tuple[list[int], list[str]]:
    """Tick values from at most `low` to at least `top` in steps of a power of two, with their labels.

    About `most` steps. Labels are exact: the unit is the largest not above the highest tick in which a step is a whole
    number or a half or a quarter, so 0, 128 KiB, 256 KiB or 0, 0.5 MiB, 1 MiB.
    """
    step = 1
    while step * most < top - low:
        step *= 2
    values = [step * index for index in range(int(low // step), int(-(-max(top, low + 1) // step)) + 1)]
    unit = 0
    while unit + 1 < len(_UNITS) and 1024 ** (unit + 1) <= min(max(values[-1], 1), 4 * step):
        unit += 1
    return values, ["0" if not value else f"{value / 1024**unit:,g} {_UNITS[unit]}" for value in values]


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
