"""The simulated cycles of one program, step by step, without running it on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simulator.base.options.compile import CompileSettings
from simulator.base.target import Target
from simulator.compiler.compile import compile_graph
from simulator.machine.targets import MK2
from simulator.poplar import Graph, TargetType
from simulator.poplar.program import Sequence
from simulator.runtime.clock.device_clock import DeviceClock


class Planned(NamedTuple):
    """What a planner chose and expects."""

    cycles: int  #: of the steps that the program runs
    choice: str  #: split and vertex, in one line


#: Adds the steps to a program; returns the plan where there is one.
Build = Callable[[Graph, Sequence], "Planned | None"]


class Measured(NamedTuple):
    cycles: int  #: of all steps of the program, from when the last tile begins its first step to the last tile's end
    by_kind: dict[str, int]  #: of these, by how much steps of each kind move the end of the last tile
    steps: int
    computing: int  #: tiles that take part in the longest step of computing
    planned: Planned | None


_KINDS = {"OnTileExecute": "compute", "DoExchange": "exchange", "OnTileCopy": "compute", "Sync": "sync"}


def measure(build: Build) -> Measured:
    """Compile the program for an IPU Model of 1,472 tiles of Mk2 and let its clock run. Steps before the program's own
    (which program to run is asked of the host) do not count."""
    target = Target(TargetType.IPU_MODEL, MK2)
    graph, program = Graph(target), Sequence()
    planned = build(graph, program)
    executable = compile_graph(graph.store, target, [program], CompileSettings(compute_level="tile"))
    lowered = executable.lowered
    clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine)
    segment = clock.run(lowered.branches[0]).segment
    by_kind: dict[str, int] = {}
    end: int | None = None
    steps = longest = computing = 0
    for row, base, pattern in zip(segment.program.tolist(), segment.base, segment.pattern, strict=True):
        if row < lowered.branches[0]:
            continue
        step = clock.patterns[pattern[0]]
        begins = base[0] + step.start.astype(np.int64)
        before = int(begins[step.cycles > 0].max(initial=0)) if end is None else end
        end = max(before, int((begins + step.cycles).max()))
        kind = _KINDS[lowered.table.type[row]]
        by_kind[kind] = by_kind.get(kind, 0) + end - before
        steps += 1
        if kind == "compute" and end - before > longest:
            longest, computing = end - before, int((step.cycles > 0).sum())
    return Measured(sum(by_kind.values()), by_kind, steps, computing, planned)
