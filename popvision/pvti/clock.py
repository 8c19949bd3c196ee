"""The host's clock of a trace, and of the runs in a report: nanoseconds since the epoch by a monotonic clock, which is
set by the system's clock once per process. A run of the report so lies around its event of the trace, and times never
run backwards when the system's clock is set."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_TRIES = 16  # some microseconds in all; a guess: one try that nothing interrupts is enough


def measure_offset_ns() -> int:
    """Nanoseconds from `time.perf_counter_ns()` to the time since the epoch.

    The system's clock is read between two readings of the monotonic one. Of several tries the one in which these are
    nearest to each other counts: in any other, the system may have run another program in between."""
    nearest, offset = None, 0
    for _ in range(_TRIES):
        before, now, after = time.perf_counter_ns(), time.time_ns(), time.perf_counter_ns()
        if nearest is None or after - before < nearest:
            nearest, offset = after - before, now - (before + after) // 2
    return offset


SECOND_VARIABLE = "SOURCE_DATE_EPOCH"

_LAST_SECOND = 253_402_300_799  #: of the year 9999


def fixed_second(environment: Mapping[str, str]) -> int | None:
    """The second since 1970 that SOURCE_DATE_EPOCH names, as reproducible-builds.org specifies it; None where it is not
    set. Raises ValueError for anything else than a whole number up to the year 9999."""
    text = environment.get(SECOND_VARIABLE, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= _LAST_SECOND):
        raise ValueError(f"{SECOND_VARIABLE} cannot be '{text}'; it takes a whole number of seconds since 1970.")
    return int(text)


#: Of this process and its forked children.
OFFSET_NS = measure_offset_ns()


def epoch_ns() -> int:
    """Nanoseconds since the epoch."""
    return time.perf_counter_ns() + OFFSET_NS
