"""Numbers as text: exact when small, three or four digits when large, never a binary unit called decimal."""

from __future__ import annotations

_DASH = "–"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def integer_text(value: int | None) -> str:
    """1234567 -> "1,234,567"; None -> a dash."""
    return _DASH if value is None else f"{value:,}"


def cycles_text(value: int | None) -> str:
    """Device cycles with separators; None -> a dash."""
    return integer_text(value)


def bytes_text(value: int | float | None) -> str:
    """Binary units by their own names: 638976 -> "624.0 KiB", 512 -> "512 B"; None -> a dash."""
    if value is None:
        return _DASH
    size = float(value)
    for unit in _UNITS:
        if abs(size) < 1024 or unit == _UNITS[-1]:
            break
        size /= 1024
    return f"{value:,.0f} B" if unit == "B" else f"{size:,.1f} {unit}"


def percent_text(share: float | None) -> str:
    """A share 0..1 as "12.34 %"; None -> a dash."""
    return _DASH if share is None else f"{100 * share:.2f} %"


def seconds_text(seconds: float | None) -> str:
    """Time in the unit that leaves one to three digits before the point: 0.00034 -> "340 µs"."""
    if seconds is None:
        return _DASH
    for limit, unit, factor in ((1e-6, "ns", 1e9), (1e-3, "µs", 1e6), (1.0, "ms", 1e3)):
        if abs(seconds) < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:,.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
