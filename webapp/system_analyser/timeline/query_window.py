"""The window of host time in the query of a route of the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from webapp.base.query import number_of

if TYPE_CHECKING:
    from popvision.analysis.trace.columns import HostTrace

MOST_PIXELS = 16_384

#: Nanoseconds of a window: with the time of the first event they fit 64 bits.
MOST_TIME = 1 << 62


def window_of_query(source: HostTrace) -> tuple[int, int, int]:
    """Begin and end in ns since the epoch, and width in pixels. Raises ValueError."""
    begin, end = number_of(request.args, "from", 0, MOST_TIME), number_of(request.args, "to", 0, MOST_TIME)
    if end <= begin:
        raise ValueError(f"to={end} must be greater than from={begin}")
    return source.begin + begin, source.begin + end, number_of(request.args, "width", 1, MOST_PIXELS)
