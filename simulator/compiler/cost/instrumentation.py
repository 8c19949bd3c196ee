"""What counting cycles costs on hardware, in cycles; the model's figures are estimates and cost nothing.

A counter is read before and after what it measures; two successive reads take 45 cycles (published-numbers, head:
"net" figures). Level "tile": once per tile and compute set. Level "vertex": once per vertex. Levels "ipu" and
"device": as "tile", with a sync after each compute set, up to which one tile measures.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from popvision.formats.profile.model import CostTerm
from simulator.compiler.cost.estimate import ComputeEstimate
from simulator.compiler.machine import Machine

READ_TWICE = 45
_SOURCE = "exact: two successive counter reads (published-numbers)"


def needs_sync(level: str, machine: Machine) -> bool:
    """Whether a sync follows each compute set."""
    return machine.hardware and level in ("ipu", "device")


def instrumented(estimate: ComputeEstimate, index: int, level: str, machine: Machine) -> ComputeEstimate:
    """The estimate of compute set `index` with what its counters cost."""
    if not level or not machine.hardware:
        return estimate
    reads = (estimate.cycles > 0).astype(np.int64)
    if level == "vertex" and estimate.vertices:
        reads = np.zeros(machine.tiles, np.int64)
        for row in estimate.vertices:
            reads[machine.tiles_of(row.ipu)] += row.count
    name = f"computeSet:{index}"

    def explain(tile: int) -> list[CostTerm]:
        if not reads[tile]:
            return estimate.explain(tile)
        reading = CostTerm(name, "+ reading the cycle counters", READ_TWICE * int(reads[tile]), _SOURCE)
        return [*estimate.explain(tile), reading]

    return replace(estimate, cycles=estimate.cycles + READ_TWICE * reads, explain=explain)
