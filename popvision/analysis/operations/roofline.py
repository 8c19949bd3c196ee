"""Roofline of operations: floating point operations per cycle over those per byte exchanged (formulas: derived.py).

Both over all recorded runs, cycles as operations.py counts them. Rates are those of one IPU: over several IPUs FLOPs
and cycles are added up alike. `compute` bounds every rate; `exchange x intensity` bounds
the rate of an operation whose tiles receive their data while they do not compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.operations.derived import quotient
from popvision.analysis.operations.operations import FLOPS
from popvision.analysis.operations.table import OperationGroups
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Floating point operations of one tile in one cycle (a multiply and an add are two), half and float. Peak of the data
#: sheets / tiles / clock: 250 and 62.5 TFLOP/s on 1,472 tiles at 1.33 GHz (Mk2), the same a cycle for Bow (349 and 87
#: at 1.85 GHz); 124.5 and 31.1 on 1,216 tiles at 1.6 GHz (Mk1).
PEAK_PER_TILE = {"Ipu1": (64, 16), "Ipu2": (128, 32), "Ipu21": (128, 32)}


@dataclass(frozen=True)
class Roofline:
    """Rows are those of the groups that have FLOPs, cycles and received bytes; `intensity` in FLOPs per byte, `rate`,
    `half` and `float32` in FLOPs per cycle of one IPU, 0 where the peak of the architecture is not published.
    `exchange` = bytes per cycle that all tiles of an IPU receive."""

    row: Int64Array
    intensity: Float64Array
    rate: Float64Array
    exchange: float
    half: float
    float32: float
    without_bytes: int  #: groups with FLOPs that receive nothing, hence no place in the drawing


def roofline(source: ReportSource, groups: OperationGroups) -> Roofline:
    """Raises NotRecordedError without FLOPs or without a recorded run."""
    columns, target = groups.columns, target_of(source)
    if "cycles" not in columns:
        raise NotRecordedError(why_no_run(source))
    if "flops" not in columns:
        raise NotRecordedError(FLOPS)
    flops, cycles, received = (columns[name] for name in ("flops", "cycles", "received"))
    works = (flops > 0) & (cycles > 0)
    works[0] = False
    row = np.flatnonzero(works & (received > 0))
    half, single = (each * target.tiles_per_ipu for each in PEAK_PER_TILE.get(target.architecture, (0, 0)))
    return Roofline(
        row,
        quotient(flops[row], received[row]),
        quotient(flops[row], cycles[row]),
        target.exchange_bytes_per_cycle * target.tiles_per_ipu,
        float(half),
        float(single),
        int(np.count_nonzero(works & (received == 0))),
    )
