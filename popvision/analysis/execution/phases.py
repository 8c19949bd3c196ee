"""Tile cycles by phase: the one sum behind shares, averages and the text summary.

A phase's tile cycles = the sum over tiles of the cycles of steps whose program type is in that phase; the tail of a
run on each tile counts as sync. Over complete runs the phases add up to tiles x run length, so
share = phase / (tiles x length) and the shares add up to 1. They add up to less where phases were not recorded. Where
single tiles are unknown (`tiles_unknown`) an IPU counts as one tile that does what the lengths of its steps say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from popvision.analysis.execution.once import set_apart
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tile_knowledge import phases_unknown, tiles_unknown
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES

PHASES = ("compute", "exchange", "global exchange", "host", "sync")
#: Index into PHASES for each program type, len(PHASES) = takes no time.
PHASE_INDEX = np.array([PHASES.index(PHASE_OF_TYPE[t]) if t in PHASE_OF_TYPE else len(PHASES) for t in PROGRAM_TYPES])


@dataclass(frozen=True)
class PhaseTotals:
    """Tile cycles by phase over some runs; `length` is the runs' device cycles, `tiles` those counted: IPUs in place of
    tiles unless `of_tiles`."""

    tile_cycles: dict[str, int]
    length: int
    tiles: int
    unknown: Mapping[str, str] = field(default_factory=dict)  #: phases that were not recorded: `phases_unknown`
    of_tiles: bool = True  #: False where single tiles are unknown

    def share(self, phase: str) -> float:
        """Part of all tile cycles spent in the phase, 0..1."""
        all_cycles = self.length * self.tiles
        return self.tile_cycles[phase] / all_cycles if all_cycles else 0.0

    def average(self, phase: str) -> float:
        """Cycles that a tile spends in the phase on average."""
        return self.tile_cycles[phase] / self.tiles if self.tiles else 0.0


def phase_totals(source: ReportSource, runs: list[int] | None = None, ipu: int | None = None) -> PhaseTotals:
    """Totals over the given recorded runs on one IPU (all by default). Without `runs`: over all but those that are set
    apart (once.py)."""
    reader = source.reader
    target, all_runs = reader.target(), reader.runs()
    chosen = np.flatnonzero(~set_apart(source).runs).tolist() if runs is None else runs
    ipus = range(target.num_ipus) if ipu is None else [ipu]
    types = reader.steps().type
    wanted = np.zeros(len(types), bool)
    for run in chosen:
        first = int(all_runs.first_step[run])
        wanted[first : first + int(all_runs.n_steps[run])] = True
    sums = np.zeros(len(PHASES) + 1, np.int64)
    of_tiles, unknown = not tiles_unknown(source), phases_unknown(source)
    for i in ipus:
        steps = reader.steps_on_ipu(i)
        cycles = steps.tile_cycles if of_tiles else steps.cycles
        np.add.at(sums, PHASE_INDEX[types[wanted]], cycles[wanted].astype(np.int64))
        if of_tiles:
            sums[PHASES.index("sync")] += sum(int(reader.run_tail(run, i).sum(dtype=np.int64)) for run in chosen)
    length = sum(int(all_runs.cycles[run]) for run in chosen)
    if not (of_tiles or unknown):
        sums[PHASES.index("sync")] += length * len(ipus) - int(sums.sum())
    tile_cycles = dict(zip(PHASES, sums[:-1].tolist(), strict=True))
    tiles = len(ipus) * (target.tiles_per_ipu if of_tiles else 1)
    return PhaseTotals(tile_cycles, length, tiles, unknown, of_tiles)
