"""Small machines for the execution trace, made step by step in plain Python and handed over as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from popvision.analysis.execution.timeline import Timeline, make_timeline
from popvision.formats.profile.model import PROGRAM_TYPES, Steps, StepsOnIpu

#: One step: (program type, program, [(begin, cycles) of each tile], run).
Step = tuple[str, int, list[tuple[int, int]], int]


@dataclass
class Machine:
    """One IPU. Tiles run one step after the other; a step lists the cycles of each tile, None = until all are there."""

    tiles: int
    steps: list[Step] = field(default_factory=list)
    clocks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clocks = [0] * self.tiles

    def step(self, kind: str, cycles: Sequence[int] | None, program: int = 0, run: int = 0) -> None:
        latest = max(self.clocks)
        spent = [latest - clock for clock in self.clocks] if cycles is None else list(cycles)
        self.steps.append((kind, program, list(zip(self.clocks, spent, strict=True)), run))
        self.clocks = [clock + each for clock, each in zip(self.clocks, spent, strict=True)]

    @property
    def total(self) -> int:
        return max(self.clocks)

    def timeline(self) -> Timeline:
        """The columns, each worked out here by a loop over tiles."""
        rows = [_figures(each, base) for each, base in zip(self.steps, self._bases(), strict=True)]
        columns = {name: np.array([row[name] for row in rows]) for name in StepsOnIpu.__dataclass_fields__ if rows}
        if not rows:
            columns = {name: np.zeros(0, np.int64) for name in StepsOnIpu.__dataclass_fields__}
        columns["start_array"] = 2 * np.arange(len(rows))
        columns["cycles_array"] = 2 * np.arange(len(rows)) + 1
        kinds = np.array([PROGRAM_TYPES.index(kind) for kind, *_ in self.steps], np.uint8)
        program = np.array([program for _, program, *_ in self.steps], np.int64)
        run = np.array([run for *_, run in self.steps], np.int64)
        steps = Steps(kinds, program, np.full(len(rows), -1), run)
        return make_timeline(0, self.tiles, steps, StepsOnIpu(**columns))

    def _bases(self) -> list[int]:
        return [min(begin for begin, _ in cells) for _, _, cells, _ in self.steps]

    def arrays(self, ids: Sequence[int], *, narrow: bool = False) -> list[Any]:
        """What ProfileReader.arrays gives: starts at even ids, cycles at odd ones."""
        bases = self._bases()
        found = []
        for identity in ids:
            cells = self.steps[identity // 2][2]
            values = [c for _, c in cells] if identity % 2 else [b - bases[identity // 2] for b, _ in cells]
            found.append(np.array(values, np.uint16 if narrow else np.int64))
        return found


def _figures(step: Step, base: int) -> dict[str, Any]:
    cells = step[2]
    busy = [(begin, begin + cycles) for begin, cycles in cells if cycles] or [(base, base)]
    every = [(begin, begin + cycles) for begin, cycles in cells]
    longest, total = max(c for _, c in cells), sum(c for _, c in cells)
    active = sum(c > 0 for _, c in cells)
    found: dict[str, Any] = {"base": base, "active_tiles": active, "tile_cycles": total, "max_cycles": longest}
    for name, pairs in (("active", busy), ("all", every)):
        for edge, at in (("from", 0), ("to", 1)):
            found[f"{name}_{edge}_min"] = min(pair[at] for pair in pairs)
            found[f"{name}_{edge}_max"] = max(pair[at] for pair in pairs)
    found["cycles"] = found["all_to_max"] - found["all_from_max"]
    found["tile_balance"] = total / (longest * len(cells)) if longest else 0.0
    found["active_tile_balance"] = total / (longest * active) if longest else 0.0
    found |= {"data_in": 10 * step[1] + 1, "data_out": step[1], "start_array": 0, "cycles_array": 0}
    return found
