"""Estimate: cycles per tile of every compute set.

Worker vertices of a tile share six contexts: wall = 6 x the largest sum over contexts, because a context issues one
instruction every six tile cycles. Supervisor and multi vertices run one after another in tile cycles. Launch overhead
exists on hardware only; published model figures are the estimates themselves. Source: poplar-model 5.1, 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.formats.profile.model import PROVENANCE, ComputeSetVertices, CostTerm, VertexLanes
from simulator.compiler.arrange import LocalCopy
from simulator.compiler.machine import Machine
from simulator.compiler.workers import schedule
from simulator.machine import footprint

if TYPE_CHECKING:
    from simulator.codelets.vertex_type import BlockCosts
    from simulator.poplar.store import VertexBlock

I8 = npt.NDArray[np.int64]
U1 = npt.NDArray[np.uint8]

#: VertexLanes.worker of vertices that do not run on one worker.
NO_WORKER = 255
_LAUNCH = {"supervisor": footprint.LAUNCH_SUPERVISOR, "multi": footprint.LAUNCH_MULTI}


@dataclass
class ComputeEstimate:
    """One compute set: wall cycles per tile, and what they are made of."""

    cycles: I8
    flops: int = -1
    vertices: list[ComputeSetVertices] = field(default_factory=list)
    lanes: list[VertexLanes] = field(default_factory=list)
    terms: list[CostTerm] = field(default_factory=list)


@dataclass(frozen=True)
class _Costed:
    """A block with its costs; `type` is its row in the table of vertex types."""

    block: VertexBlock
    type: int
    tile: I8
    cycles: I8
    flops: I8 | None
    provenance: str
    source: str


def estimate_compute_set(
    index: int, blocks: Sequence[VertexBlock], types: dict[str, int], machine: Machine, serialised: bool
) -> ComputeEstimate:
    """Cost a compute set of the graph. `types` maps vertex type names to rows; `serialised` = one vertex at a time,
    as instrumentation of single vertices needs."""
    if not blocks:
        return ComputeEstimate(np.zeros(machine.tiles, np.int64))
    costed = [_cost(block, types[block.type.name], machine) for block in blocks]
    tile = np.concatenate([c.tile for c in costed])
    cycles = np.concatenate([c.cycles for c in costed])
    on_worker = np.concatenate([np.full(len(c.tile), c.block.type.kind == "worker") for c in costed])
    order = np.argsort(tile, kind="stable")
    worker = np.full(len(tile), NO_WORKER, np.uint8)
    wall = np.zeros(machine.tiles, np.int64)
    rows = order[on_worker[order]]
    if len(rows):
        offsets = np.searchsorted(tile[rows], np.arange(machine.tiles + 1))
        contexts = 1 if serialised else footprint.WORKERS
        worker[rows], longest = schedule(cycles[rows], offsets, contexts)
        wall += footprint.WORKERS * longest
        if machine.hardware:
            wall[np.diff(offsets) > 0] += footprint.LAUNCH_WORKERS
    for c in costed:
        if c.block.type.kind != "worker":
            launch = _LAUNCH[c.block.type.kind] if machine.hardware else 0
            wall += np.bincount(c.tile, weights=c.cycles + launch, minlength=machine.tiles).astype(np.int64)
    type_of = np.concatenate([np.full(len(c.tile), c.type, np.uint32) for c in costed])
    estimate = ComputeEstimate(wall, _total_flops(costed))
    estimate.lanes = _lanes(index, tile[order], type_of[order], cycles[order], worker[order], machine)
    estimate.vertices = _by_type(index, costed, machine)
    estimate.terms = _terms(index, costed, machine)
    return estimate


def estimate_local_copy(index: int, copy: LocalCopy) -> ComputeEstimate:
    """Cost the copies of one compute set of local copies: source in `simulator.machine.footprint`."""
    moving = -(-copy.moved // footprint.COPY_BYTES_PER_CYCLE)
    further = footprint.COPY_CYCLES_PER_RUN * np.maximum(copy.runs - 1, 0)
    cycles = np.where(copy.runs > 0, footprint.COPY_CYCLES + moving + further, 0)
    name = f"computeSet:{index}"
    busiest = int(cycles.argmax())
    terms = [
        CostTerm(name, "start of a local copy", footprint.COPY_CYCLES, "exact: small copy (published-numbers 7.3)"),
        CostTerm(name, f"bytes / 8 on tile {busiest}", float(moving[busiest]), "exact: 8 B per cycle"),
        CostTerm(name, f"further runs on tile {busiest}", float(further[busiest]), "fitted: 3 cycles per run"),
    ]
    return ComputeEstimate(cycles.astype(np.int64), 0, terms=terms)


def _cost(block: VertexBlock, type_: int, machine: Machine) -> _Costed:
    n = len(block)
    given = block.cycles
    flops = block.flops
    if given is not None and (given >= 0).all():
        return _Costed(block, type_, block.tiles.astype(np.int64), given, flops, "exact", "setPerfEstimate")
    elements = {name: edges.elements_per_vertex(n) for name, edges in block.edges.items()}
    costs: BlockCosts = block.type.costs(block, elements, machine.target)
    cycles = costs.cycles if given is None else np.where(given >= 0, given, costs.cycles)
    if flops is None or (flops < 0).all():
        flops = costs.flops
    return _Costed(block, type_, block.tiles.astype(np.int64), cycles, flops, costs.provenance, costs.source)


def _total_flops(costed: list[_Costed]) -> int:
    if any(c.flops is None or (c.flops < 0).any() for c in costed):
        return -1
    return sum(int(c.flops.sum()) for c in costed if c.flops is not None)


def _lanes(
    index: int, tile: I8, type_: npt.NDArray[np.uint32], cycles: I8, worker: U1, machine: Machine
) -> list[VertexLanes]:
    lanes = []
    borders = np.searchsorted(tile, np.arange(machine.tiles + 1))
    for ipu in range(machine.num_ipus):
        first, last = ipu * machine.tiles_per_ipu, (ipu + 1) * machine.tiles_per_ipu
        rows = slice(int(borders[first]), int(borders[last]))
        if rows.start < rows.stop:
            offsets = borders[first : last + 1] - borders[first]
            lanes.append(VertexLanes(index, ipu, offsets, type_[rows], cycles[rows], worker[rows]))
    return lanes


def _by_type(index: int, costed: list[_Costed], machine: Machine) -> list[ComputeSetVertices]:
    """One row per type and IPU; the weakest provenance of a type's blocks counts."""
    rows = []
    for type_ in dict.fromkeys(c.type for c in costed):
        mine = [c for c in costed if c.type == type_]
        provenance = max((c.provenance for c in mine), key=PROVENANCE.index)
        tile = np.concatenate([c.tile for c in mine])
        count = np.bincount(tile, minlength=machine.tiles)
        cycles = np.bincount(tile, weights=np.concatenate([c.cycles for c in mine]), minlength=machine.tiles)
        for ipu in range(machine.num_ipus):
            part = machine.tiles_of(ipu)
            if count[part].any():
                flops = _flops_on(mine, part) if _total_flops(mine) >= 0 else -1
                summed = cycles[part].astype(np.int64)
                rows.append(ComputeSetVertices(index, type_, ipu, count[part], summed, provenance, flops))
    return rows


def _flops_on(costed: list[_Costed], tiles: slice) -> int:
    return sum(
        int(c.flops[(c.tile >= tiles.start) & (c.tile < tiles.stop)].sum()) for c in costed if c.flops is not None
    )


def _terms(index: int, costed: list[_Costed], machine: Machine) -> list[CostTerm]:
    name = f"computeSet:{index}"
    terms: dict[str, CostTerm] = {}
    for c in costed:
        unit = "thread" if c.block.type.kind == "worker" else "tile"
        largest = float(c.cycles.max()) if len(c.cycles) else 0.0
        term = f"largest {unit} cycles of {c.block.type.name}"
        if term not in terms or terms[term].value < largest:
            terms[term] = CostTerm(name, term, largest, f"{c.provenance}: {c.source}")
    if machine.hardware:
        source = "fitted: hardware minus estimator (published-numbers 5)"
        kinds = {c.block.type.kind for c in costed}
        if "worker" in kinds:
            terms["launch"] = CostTerm(name, "launch of the workers", footprint.LAUNCH_WORKERS, source)
        for kind in sorted(kinds & _LAUNCH.keys()):
            terms[kind] = CostTerm(name, f"launch of each {kind} vertex", _LAUNCH[kind], source)
    return list(terms.values())
