"""Host times and durations as text."""

from __future__ import annotations

import datetime


def nanoseconds_text(ns: int) -> str:
    """A host duration, exact to the nanosecond: "1.234567 ms"."""
    for unit, size, digits in (("s", 10**9, 9), ("ms", 10**6, 6), ("µs", 10**3, 3)):
        if ns >= size:
            return f"{ns / size:.{digits}f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{ns} ns"


def relative_text(ns: int) -> str:
    """Time since the first event as 00:00:41.314 398 (hours, minutes, seconds, microseconds in groups of three)."""
    seconds, rest = divmod(ns // 1000, 10**6)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest // 1000:03} {rest % 1000:03}"


def absolute_text(ns: int) -> str:
    """Date and time of day, UTC, with microseconds."""
    moment = datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC)
    rest = ns // 1000 % 10**6
    return f"{moment:%Y-%m-%d %H:%M:%S}.{rest // 1000:03} {rest % 1000:03} UTC"
