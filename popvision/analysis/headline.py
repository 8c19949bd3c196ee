"""The figures one asks for first, as plain values that `json` can write."""

from __future__ import annotations

from typing import Any

import numpy as np

from popvision.analysis.phases import PHASES, phase_totals
from popvision.analysis.provenance import provenance_line
from popvision.analysis.source import ReportSource


def headline(source: ReportSource) -> dict[str, Any]:
    """Cycles, device time, shares by phase, and memory. Keys that a report cannot answer are None."""
    reader = source.reader
    target, memory, totals, runs = reader.target(), reader.tile_memory(), phase_totals(source), reader.runs()
    figures: dict[str, Any] = {
        "provenance": provenance_line(source),
        "runs_recorded": len(runs.name),
        "total_cycles": totals.length if runs.name else None,
        "device_microseconds": totals.length / target.clock_hz * 1e6 if runs.name else None,
        "share_of_tile_cycles": {p: totals.share(p) for p in PHASES} if totals.length else None,
        "bytes_per_tile_capacity": target.bytes_per_tile,
        "memory_including_gaps": None,
        "memory_excluding_gaps": None,
        "worst_tile": None,
        "worst_tile_bytes_including_gaps": None,
        "tiles_out_of_memory": None,
    }
    if memory is not None:
        worst = int(np.argmax(memory.including_gaps))
        figures |= {
            "memory_including_gaps": int(memory.including_gaps.sum(dtype=np.int64)),
            "memory_excluding_gaps": int(memory.excluding_gaps.sum(dtype=np.int64)),
            "worst_tile": worst,
            "worst_tile_bytes_including_gaps": int(memory.including_gaps[worst]),
            "tiles_out_of_memory": int(np.count_nonzero(memory.including_gaps > target.bytes_per_tile)),
        }
    return figures
