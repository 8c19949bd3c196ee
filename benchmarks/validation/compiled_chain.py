"""Figures of the matmul chain directly from the compiler and the clock, without a report, for many variants of it.

The simulator is imported only when figures are requested, so that a constant can be changed before.
"""

from __future__ import annotations

from collections.abc import Sequence


def figures(hardware: bool, shapes: Sequence[tuple[int, int]] | None = None) -> tuple[int, int]:
    """(cycles of a run, bytes of all tiles excluding gaps) on Mk2; `shapes` of m1, m2, m3, by default the published
    ones."""
    from benchmarks.validation.matmul_chain import SHAPES, build
    from simulator.base.options.compile import CompileSettings
    from simulator.base.target import Target
    from simulator.compiler.compile import compile_graph
    from simulator.machine.targets import MK2
    from simulator.poplar import Graph, TargetType
    from simulator.runtime.clock.device_clock import DeviceClock

    target = Target(TargetType.IPU if hardware else TargetType.IPU_MODEL, MK2)
    graph = Graph(target)
    wanted = CompileSettings(compute_level="tile", external_exchange=True, control_flow=True)
    executable = compile_graph(graph.store, target, [build(graph, tuple(shapes or SHAPES))], wanted)
    lowered = executable.lowered
    clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine)
    run = clock.run(lowered.branches[0])
    steps = [clock.patterns[pattern[0]] for pattern in run.segment.pattern]
    ends = [
        int((base[0] + step.start.astype("i8") + step.cycles).max())
        for base, step in zip(run.segment.base, steps, strict=True)
    ]
    memory = executable.compilation.tile_memory
    assert memory is not None
    return max(ends), int(memory.excluding_gaps.sum())
