"""Cycles and memory of one published program here, as the published checker computes them.

Cycles are those of all programs of a run, until the last tile ends. Memory is the always-live bytes of all tiles, and
the largest temporary bytes of each tile. The largest tile counts gaps. Values are not computed: the modelled clock
runs the compiled program.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from benchmarks.tools.programs import COMPILED, TOOLS, Missing
from benchmarks.tools.table import Parameters, Published
from simulator.base.options.compile import CompileSettings
from simulator.compiler.compile import compile_graph
from simulator.poplar import Graph, IPUModel
from simulator.poplibs import poplin, popnn, popops
from simulator.runtime.clock.device_clock import DeviceClock


@dataclass(frozen=True)
class Measured:
    """Our figures of a row, and the processor seconds that building, compiling and running it took; or in `missing`
    the function that does not exist, and no figures."""

    cycles: int = 0
    memory: int = 0
    largest_tile: int = 0
    seconds: float = 0.0
    missing: str = ""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def measure(row: Published) -> Measured:
    """Build, compile and run one row. Raises ValueError for a parameter that its tool does not read."""
    began = time.process_time()
    parameters = Parameters(row.parameters)
    model = IPUModel(row.chip)
    model.compileIPUCode = row.tool in COMPILED
    model.tilesPerIPU = parameters.number("tiles-per-ipu", model.tilesPerIPU)
    target = model.createDevice().getTarget()
    graph = Graph(target)
    for library in (popops, poplin, popnn):
        library.addCodelets(graph)
    try:
        programs = TOOLS[row.tool](graph, parameters)
    except Missing as error:
        return Measured(missing=str(error))
    if parameters.unread:
        raise ValueError(f"{row.name}: {row.tool} does not read --{parameters.unread[0]}.")
    executable = compile_graph(graph.store, target, programs, CompileSettings(compute_level="tile"))
    lowered, tiles = executable.lowered, executable.compilation.tile_memory
    assert tiles is not None
    clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine)
    cycles = sum(clock.run(lowered.branches[number]).cycles for number in range(len(programs)))
    return Measured(
        cycles,
        int(tiles.always_live.sum() + tiles.not_always_live.sum()),
        int(tiles.including_gaps.max()),
        round(time.process_time() - began, 2),
    )
