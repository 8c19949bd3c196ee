"""What of the engine options matters while programs run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunSettings:
    recording: bool = True  #: keep records of runs
    runs_kept: int = 2  #: of each program
    blocks_of_all: bool = False  #: runs that are not kept leave the blocks that lightweight profiling recorded
    measured_host: bool = False  #: the time that host callbacks take becomes waiting of the device, not a constant
    float_exceptions: bool = False  #: stop at invalid floating-point operations
    nan_on_overflow: bool = False  #: overflowing halves become NaN
    trace: bool = False  #: print every edge before and after each compute set and exchange
    trace_file: Path | None = None  #: where to; None = standard error
    verify: bool = False  #: check what programs do to memory
    prefetch: bool = True  #: callbacks may be asked for transfers ahead of time
    several_threads: bool = False  #: vertices of one compute set may run on several threads of the host
    autoload: bool = False  #: replicas after the first take their initial values from it
