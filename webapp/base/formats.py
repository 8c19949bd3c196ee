"""Numbers as text in the user's units (webapp/base/preferences.py): exact when small, three or four digits when large,
never a binary unit under a decimal name. assets/shared/formats.js has the same rules for the browser."""

from __future__ import annotations

import re

from webapp.base import preferences

_DASH = "–"

_EXACT_BYTES = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d+) B\b(?! (?:a|per) )")
_MINUS = re.compile(r"(?<=\s)-(?=\d)")

#: (units, factor between them) of each preference.
BYTE_UNITS = {
    "binary": (("B", "KiB", "MiB", "GiB", "TiB"), 1024),
    "si": (("B", "kB", "MB", "GB", "TB"), 1000),
    "bytes": (("B",), 1024),
}


def integer_text(value: int | None) -> str:
    """1234567 -> "1,234,567"; None -> a dash. For counts; use cycles_text and bytes_text for cycles and bytes."""
    return _DASH if value is None else f"{value:,}"


def cycles_text(value: int | None, clock_hz: float | None = None) -> str:
    """Device cycles with separators, or as time when the user prefers time and `clock_hz`, the clock of the device, is
    known; None -> a dash."""
    if value is not None and clock_hz and preferences.current().time == "time":
        return seconds_text(value / clock_hz)
    return integer_text(value)


def cycles_phrase(value: int | None, clock_hz: float | None = None) -> str:
    """`cycles_text` with its unit: "1,234 cycles" or "928 ns"."""
    text = cycles_text(value, clock_hz)
    return text if value is None or (clock_hz and preferences.current().time == "time") else f"{text} cycles"


def bytes_text(value: int | float | None) -> str:
    """638976 -> "624.0 KiB", "639.0 kB" or "638,976 B" as the user prefers; 512 -> "512 B"; None -> a dash."""
    if value is None:
        return _DASH
    units, factor = BYTE_UNITS[preferences.current().units]
    size = float(value)
    for unit in units:
        # 1023.96 KiB would round to 1,024.0 KiB, which is 1.0 MiB
        if abs(size) < (factor if unit == "B" else factor - 0.05) or unit == units[-1]:
            break
        size /= factor
    return f"{value:,.0f} B" if unit == "B" else f"{size:,.1f} {unit}"


def in_units(sentence: str) -> str:
    """A sentence of an analysis as pages show it: exact bytes as `bytes_text`, "takes 2,795,744 B" -> "takes 2.7 MiB",
    but rates ("4 B a cycle") stay; the hyphen before a number is a minus sign, as in tables."""
    shown = _EXACT_BYTES.sub(lambda found: bytes_text(int(found[1].replace(",", ""))), sentence)
    return _MINUS.sub("−", shown)


def percent_text(share: float | None) -> str:
    """A share 0..1 as "12.34 %"; None -> a dash."""
    return _DASH if share is None else f"{100 * share:.2f} %"


def seconds_text(seconds: float | None) -> str:
    """Time in the unit with one to three digits before the point: 0.00034 -> "340 µs"."""
    if seconds is None:
        return _DASH
    for limit, unit, factor in ((1e-6, "ns", 1e9), (1e-3, "µs", 1e6), (1.0, "ms", 1e3)):
        if abs(seconds) < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:,.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"


def head_tail(name: str, most: int) -> str:
    """A name in at most so many letters: its head and its tail, which tell names of one scope apart."""
    head = (most - 1) // 2
    return name if len(name) <= most else f"{name[:head]}…{name[len(name) - most + 1 + head :]}"
