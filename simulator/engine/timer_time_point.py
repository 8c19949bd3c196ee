"""Moments of a run, for Engine.getTimeStamp and Engine.reportTiming."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TimerTimePoint:
    """A moment on both clocks: host nanoseconds and device cycles since loading. `TimerTimePoint()` is the beginning of
    both; get another one from `Engine.getTimeStamp()`."""

    host_ns: int = 0
    device_cycles: int = 0
    clock_hz: float = 0.0  #: of the device; 0 where there is no model of its time


def timing_report(start: TimerTimePoint, end: TimerTimePoint) -> str:
    """One line: host time and simulated device time from `start` to `end`."""
    host = f"Host: {(end.host_ns - start.host_ns) / 1e9:.6f} s"
    if not end.clock_hz:
        return host
    cycles = end.device_cycles - start.device_cycles
    return f"{host}; device (simulated): {cycles:,} cycles, {cycles / end.clock_hz:.9f} s"
