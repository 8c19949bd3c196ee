"""Byte axes with round ticks in the user's unit, and exact byte texts."""

from __future__ import annotations

from typing import Any

from webapp.base import preferences
from webapp.base.formats import BYTE_UNITS, bytes_text


def byte_ticks(top: float, most: int = 6, low: float = 0) -> tuple[list[int], list[str]]:
    """Tick values from at most `low` to at least `top`, about `most` steps, with their labels.

    A step is a power of two bytes with binary units, else 1, 2 or 5 times a power of ten. Labels are exact: the unit is
    the largest one, up to the highest tick, in which a step is a whole number, a half or a quarter. Examples: 0,
    128 KiB, 256 KiB; 0, 0.5 MiB, 1 MiB; 0, 0.2 MB, 0.4 MB; 0, 200,000 B.
    """
    preferred = preferences.current().units
    units, factor = BYTE_UNITS[preferred]
    step = _binary_step((top - low) / most) if preferred == "binary" else _decimal_step((top - low) / most)
    values = [step * index for index in range(int(low // step), int(-(-max(top, low + 1) // step)) + 1)]
    unit = 0
    while unit + 1 < len(units) and factor ** (unit + 1) <= min(max(values[-1], 1), 5 * step):
        unit += 1
    return values, ["0" if not value else f"{value / factor**unit:,.10g} {units[unit]}" for value in values]


def _binary_step(least: float) -> int:
    step = 1
    while step < least:
        step *= 2
    return step


def _decimal_step(least: float) -> int:
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def bytes_axis(top: float, title: str = "") -> dict[str, Any]:
    """A Plotly y axis from 0 to a little above `top` bytes."""
    values, texts = byte_ticks(top)
    return {
        "range": [0, max(top, 1) * 1.06],
        "tickvals": values,
        "ticktext": texts,
        "fixedrange": True,
        "title": {"text": title},
        "zeroline": False,
    }


def both_units(value: int) -> str:
    """Exact bytes and the rounded text: "59,894,241 B (57.1 MiB)"."""
    rounded = bytes_text(value)
    exact = f"{value:,} B"
    return exact if rounded == exact else f"{exact} ({rounded})"
