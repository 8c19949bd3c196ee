"""The costs of a block's vertices: what its type says, what the program gives, or what its code counts.

- A CPU has no cycles: nothing is estimated or counted there, workers take turns as for equal vertices.
- Compiled codelets on hardware: what their code counts. The estimates of a program are for the IPU Model.
- Else the program's estimate stands: `setPerfEstimate` of a vertex, then the estimator registered for its type. Its
  class is *given*. On the IPU Model a compiled codelet is counted beside it, and an estimate that is far off is named,
  once for a type, on standard error and in the cost terms.
- Else the cost function of the type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from popvision.formats.profile.model import PROVENANCE
from simulator.arrays import Int64Array
from simulator.base import text_output
from simulator.codelets.counted_functions import NotCountableError
from simulator.compiler.machine import Machine
from simulator.graph.vertices import BlockCosts, VertexBlock

#: An estimate is named that is more than so many times as large or as small as what the code counts.
FAR_OFF = 5

Elements = Mapping[str, Int64Array]


def block_costs(block: VertexBlock, elements: Elements, machine: Machine) -> BlockCosts:
    """Costs by vertex of the block."""
    if machine.type == "Cpu":
        return BlockCosts(np.ones(len(block), np.int64), "guess", "a turn of a worker")
    if machine.hardware:
        return _counted(block, elements, machine) or _estimated(block, elements, machine)
    costs = _estimated(block, elements, machine)
    counted = _counted(block, elements, machine) if costs.provenance == "given" else None
    return costs if counted is None else _beside(block, costs, counted)


def _counted(block: VertexBlock, elements: Elements, machine: Machine) -> BlockCosts | None:
    """What the code of compiled vertices counts, None where it cannot be counted."""
    if block.type.counts is None or not len(block):
        return None
    try:
        return block.type.counts(block, elements, machine.target)
    except NotCountableError:
        return None


def _estimated(block: VertexBlock, elements: Elements, machine: Machine) -> BlockCosts:
    """What the program gives of each vertex, else what its type says."""
    cycles, flops = block.cycles, block.flops
    if cycles is not None and (cycles >= 0).all():
        return BlockCosts(cycles, "given", "setPerfEstimate", flops)
    costs = block.type.costs(block, elements, machine.target)
    if cycles is not None and (cycles >= 0).any():
        weakest = max("given", costs.provenance, key=PROVENANCE.index)
        costs = replace(costs, cycles=np.where(cycles >= 0, cycles, costs.cycles), provenance=weakest)
    return costs if flops is None or (flops < 0).all() else replace(costs, flops=flops)


def _beside(block: VertexBlock, costs: BlockCosts, counted: BlockCosts) -> BlockCosts:
    """The costs, with a word on what the code counts where that is far off."""
    estimates, counts = np.maximum(costs.cycles, 1), np.maximum(counted.cycles, 1)
    off = np.maximum(estimates / counts, counts / estimates)
    worst = int(off.argmax())
    if off[worst] <= FAR_OFF:
        return costs
    name = block.type.name
    estimate, figure = int(costs.cycles[worst]), int(counted.cycles[worst])
    text_output.once(
        f"estimate of {name}",
        f"the estimate of {estimate:,} cycles for a vertex of {name} ({costs.source}) is {off[worst]:,.0f} times off "
        f"what its code counts, {figure:,} cycles; hardware is simulated with what it counts.",
    )
    return replace(costs, source=f"{costs.source}; {off[worst]:,.0f} times off what its code counts, {figure:,} cycles")
