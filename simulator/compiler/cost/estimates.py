"""Costs of every compute set of a program, several at a time.

Compute sets do not depend on each other, and NumPy lets other threads run while it works on long columns. Functions of
the program (`registerPerfEstimator`, `estimate` of a Python codelet) are called from these threads too, with
opt.maxCompilationThreads = 1 from the thread that compiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision import pvti
from simulator.compiler.cost.estimate import ComputeEstimate, estimate_compute_set, estimate_local_copy
from simulator.compiler.cost.instrumentation import instrumented
from simulator.compiler.cost.shuffled_workers import with_free_workers
from simulator.compiler.threads import on_threads
from simulator.machine.local_copy import copy_rate

if TYPE_CHECKING:
    from simulator.base.options.compile import CompileSettings
    from simulator.compiler.lowering.items import Items
    from simulator.compiler.machine import Machine
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


def estimate_all(
    store: GraphStore, items: Items, machine: Machine, settings: CompileSettings, channel: pvti.TraceChannel
) -> list[ComputeEstimate]:
    """The graph's own compute sets, then local copies; in their order, however many threads work."""
    blocks: dict[int, list[VertexBlock]] = {}
    types: dict[str, int] = {}
    for block in store.blocks:
        blocks.setdefault(block.compute_set, []).append(block)
        types.setdefault(block.type.name, len(types))
    level = settings.compute_level
    own = len(store.compute_set_names)
    serialised = level == "vertex"

    def estimate(index: int) -> ComputeEstimate:
        with pvti.Tracepoint(channel, "poplar::core::estimateComputeSet"):
            return estimate_compute_set(index, blocks.get(index, []), types, machine, serialised)

    estimates = on_threads(estimate, range(own), settings.compilation_threads)
    rate = copy_rate(machine.target.getMemcpyBytesPerCycle(), settings.multi_access_copies)
    estimates += [estimate_local_copy(own + i, copy, rate) for i, copy in enumerate(items.local_copies)]
    if not settings.deterministic_workers:
        random = np.random.default_rng()
        for one in estimates:
            one.lanes = with_free_workers(one.lanes, random)
    return [instrumented(one, i, level, machine) for i, one in enumerate(estimates)]
