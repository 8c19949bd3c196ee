"""Measured times of the host: one queue per stream, of (replica, seconds) of each transfer in the order of the device.

The seconds are those of the code that provides or takes a transfer, whenever it ran: a prefetched transfer has those of
its `prefetch` and `complete`. Work that belongs to no stream (prints, host functions, tensors read and written) has one
queue of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

HostSeconds = dict[str, list[tuple[int, float]]]

#: The queue of work that belongs to no stream.
NO_STREAM = ""

#: The clock: seconds since some moment.
now: Callable[[], float] = time.perf_counter


def note(times: HostSeconds | None, stream: str, replica: int, seconds: float) -> None:
    """Add what one transfer took, where times are collected."""
    if times is not None:
        times.setdefault(stream, []).append((replica, seconds))
