"""Estimate: cycles per tile of every compute set.

Worker vertices of a tile share six contexts: wall = 6 x the largest sum over contexts, because a context issues one
instruction every six tile cycles. Supervisor and multi vertices run one after another in tile cycles. Launch overhead
exists on hardware only; published model figures are the estimates themselves. Source: poplar-model 5.1, 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.formats.profile.model import PROVENANCE, ComputeSetVertices, CostTerm, VertexLanes
from simulator.compiler.arrange import LocalCopy
from simulator.compiler.cost_derivation import CostedBlock, derivation
from simulator.compiler.machine import Machine
from simulator.compiler.workers import schedule
from simulator.machine import footprint, launch, local_copy

if TYPE_CHECKING:
    from simulator.codelets.vertex_type import BlockCosts
    from simulator.poplar.store import VertexBlock

I8 = npt.NDArray[np.int64]
U1 = npt.NDArray[np.uint8]
U4 = npt.NDArray[np.uint32]

#: VertexLanes.worker of vertices that do not run on one worker.
NO_WORKER = 255


@dataclass
class ComputeEstimate:
    """One compute set: wall cycles per tile, and what they are made of."""

    cycles: I8
    flops: int = -1
    vertices: list[ComputeSetVertices] = field(default_factory=list)
    lanes: list[VertexLanes] = field(default_factory=list)
    #: the cost terms of one tile, whose additions make up its wall cycles
    explain: Callable[[int], list[CostTerm]] = field(default=lambda tile: [], repr=False)
    #: terms of the busiest tile
    terms: list[CostTerm] = field(default_factory=list)


@dataclass(frozen=True)
class _Columns:
    """Vertices of all blocks, sorted by tile: rows `offsets[t]:offsets[t + 1]` are those of tile t."""

    offsets: I8
    block: npt.NDArray[np.uint16] | None  #: which block each row belongs to; None = there is one
    cycles: I8
    order: I8 | None  #: row -> position among the vertices of all blocks, one block after another; None = the same


def estimate_compute_set(
    index: int, blocks: Sequence[VertexBlock], types: dict[str, int], machine: Machine, serialised: bool
) -> ComputeEstimate:
    """Cost a compute set of the graph. `types` maps vertex type names to rows; `serialised` = one vertex at a time,
    as instrumentation of single vertices needs."""
    if not blocks:
        return ComputeEstimate(np.zeros(machine.tiles, np.int64))
    costed = [_cost(block, types[block.type.name], machine) for block in blocks]
    columns = _sorted(costed, machine)
    wall = np.zeros(machine.tiles, np.int64)
    on_worker = _on_worker(costed, columns)
    worker = np.full(len(columns.cycles), NO_WORKER, np.uint8)
    if on_worker is None or on_worker.any():
        every = on_worker is None
        offsets = columns.offsets if every else np.concatenate([[0], np.cumsum(on_worker)])[columns.offsets]
        cycles = columns.cycles if every else columns.cycles[on_worker]
        chosen, longest = schedule(cycles, offsets.astype(np.int64), 1 if serialised else footprint.WORKERS)
        worker[slice(None) if every else on_worker] = chosen
        wall += footprint.WORKERS * longest
        if machine.hardware:
            wall[np.diff(offsets) > 0] += launch.WORKERS
    for c in costed:
        if c.kind != "worker":
            wall += _sum_by_tile(c.tile, c.cycles + c.launch, machine.tiles)
    estimate = ComputeEstimate(wall, _total_flops(costed))
    estimate.lanes = _lanes(index, costed, columns, worker, machine)
    estimate.vertices = _by_type(index, costed, columns, machine)
    estimate.explain = lambda tile: derivation(
        f"computeSet:{index}", costed, _rows_of_tile(costed, columns, worker, tile), machine.hardware
    )
    estimate.terms = estimate.explain(int(wall.argmax()))
    return estimate


def estimate_local_copy(index: int, copy: LocalCopy) -> ComputeEstimate:
    """Cost the copies of one compute set of local copies: source in `simulator.machine.local_copy`."""
    filled = np.zeros_like(copy.moved) if copy.filled is None else copy.filled
    cycles = local_copy.local_copy_cycles(copy.moved, copy.runs, filled)
    filling = footprint.WORKERS * local_copy.fill_threads(filled)
    name = f"computeSet:{index}"

    def explain(tile: int) -> list[CostTerm]:
        if not cycles[tile]:
            return []
        facts = (
            ("tile", tile),
            ("bytes moved", copy.moved[tile]),
            ("runs", copy.runs[tile]),
            ("constants", filled[tile]),
        )
        terms = [CostTerm(name, term, float(value), "exact: arrangement of the copy") for term, value in facts]
        if filling[tile] == cycles[tile]:
            return [*terms, CostTerm(name, "+ 6 x writing constants", float(filling[tile]), local_copy.FILL_SOURCE)]
        return [*terms, CostTerm(name, "+ 6 x copying", float(cycles[tile]), local_copy.COPY_SOURCE)]

    busiest = int(cycles.argmax()) if len(cycles) else 0
    return ComputeEstimate(cycles, 0, explain=explain, terms=explain(busiest) if len(cycles) else [])


def _cost(block: VertexBlock, type_: int, machine: Machine) -> CostedBlock:
    n = len(block)
    given, flops, kind = block.cycles, block.flops, block.type.kind
    default = launch.CYCLES[kind] if machine.hardware and kind != "worker" else 0
    tile = block.tiles
    if given is not None and (given >= 0).all():
        started = np.full(n, default, np.int64)
        return CostedBlock(block, type_, kind, tile, given, started, flops, "exact", "setPerfEstimate", {})
    elements = {name: edges.elements_per_vertex(n) for name, edges in block.edges.items()}
    costs: BlockCosts = block.type.costs(block, elements, machine.target)
    cycles = costs.cycles if given is None else np.where(given >= 0, given, costs.cycles)
    if flops is None or (flops < 0).all():
        flops = costs.flops
    own = costs.launch if machine.hardware and kind != "worker" else None
    started = np.full(n, default, np.int64) if own is None else own
    return CostedBlock(
        block, type_, kind, tile, cycles, started, flops, costs.provenance, costs.source, elements, own is not None
    )


def _sorted(costed: list[CostedBlock], machine: Machine) -> _Columns:
    one = len(costed) == 1
    tile = costed[0].tile if one else np.concatenate([c.tile for c in costed])
    cycles = costed[0].cycles if one else np.concatenate([c.cycles for c in costed])
    sizes = [len(c.tile) for c in costed]
    block = None if one else np.repeat(np.arange(len(costed), dtype=np.uint16), sizes)
    ascending = bool((tile[1:] >= tile[:-1]).all())
    order = None
    if not ascending:
        # Tile numbers of 16 bits are sorted by counting.
        order = np.argsort(tile.astype(np.uint16) if machine.tiles <= 1 << 16 else tile, kind="stable")
        cycles = cycles[order]
        block = None if block is None else block[order]
    counts = np.bincount(tile, minlength=machine.tiles)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _Columns(offsets, block, cycles, order)


def _on_worker(costed: list[CostedBlock], columns: _Columns) -> npt.NDArray[np.bool_] | None:
    """Which rows run on workers; None = all."""
    kinds = np.array([c.kind == "worker" for c in costed])
    if kinds.all():
        return None
    return np.full(len(columns.cycles), kinds[0]) if columns.block is None else kinds[columns.block]


def _sum_by_tile(tile: U4, values: I8, tiles: int) -> I8:
    return np.bincount(tile, weights=values, minlength=tiles).astype(np.int64)


def _total_flops(costed: list[CostedBlock]) -> int:
    if any(c.flops is None or (c.flops < 0).any() for c in costed):
        return -1
    return sum(int(c.flops.sum()) for c in costed if c.flops is not None)


def _lanes(index: int, costed: list[CostedBlock], columns: _Columns, worker: U1, machine: Machine) -> list[VertexLanes]:
    types = np.array([c.type for c in costed], np.uint32)
    lanes = []
    for ipu in range(machine.num_ipus):
        tiles = machine.tiles_of(ipu)
        offsets = columns.offsets[tiles.start : tiles.stop + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        if rows.start < rows.stop:
            n = rows.stop - rows.start
            type_of = np.full(n, types[0]) if columns.block is None else types[columns.block[rows]]
            lanes.append(VertexLanes(index, ipu, offsets - rows.start, type_of, columns.cycles[rows], worker[rows]))
    return lanes


def _by_type(index: int, costed: list[CostedBlock], columns: _Columns, machine: Machine) -> list[ComputeSetVertices]:
    """One row per type and IPU; the weakest provenance of a type's blocks counts."""
    rows = []
    for type_ in dict.fromkeys(c.type for c in costed):
        mine = [c for c in costed if c.type == type_]
        provenance = max((c.provenance for c in mine), key=PROVENANCE.index)
        count, cycles = _count_and_cycles(mine, costed, columns, machine.tiles)
        known = _total_flops(mine) >= 0
        for ipu in range(machine.num_ipus):
            part = machine.tiles_of(ipu)
            if count[part].any():
                flops = _flops_on(mine, part, machine) if known else -1
                rows.append(ComputeSetVertices(index, type_, ipu, count[part], cycles[part], provenance, flops))
    return rows


def _count_and_cycles(
    mine: list[CostedBlock], costed: list[CostedBlock], columns: _Columns, tiles: int
) -> tuple[I8, I8]:
    """Vertices and their summed cycles per tile."""
    if len(mine) == len(costed):
        count = np.diff(columns.offsets)
        busy = np.flatnonzero(count)
        cycles = np.zeros(tiles, np.int64)
        cycles[busy] = np.add.reduceat(columns.cycles, columns.offsets[busy]) if len(busy) else 0
        return count, cycles
    count = np.zeros(tiles, np.int64)
    cycles = np.zeros(tiles, np.int64)
    for c in mine:
        count += np.bincount(c.tile, minlength=tiles)
        cycles += _sum_by_tile(c.tile, c.cycles, tiles)
    return count, cycles


def _flops_on(costed: list[CostedBlock], tiles: slice, machine: Machine) -> int:
    if machine.num_ipus == 1:
        return _total_flops(costed)
    return sum(
        int(c.flops[(c.tile >= tiles.start) & (c.tile < tiles.stop)].sum()) for c in costed if c.flops is not None
    )


def _rows_of_tile(
    costed: list[CostedBlock], columns: _Columns, worker: U1, tile: int
) -> tuple[int, list[tuple[int, int, int]]]:
    """(tile, [(block, vertex of the block, worker)]) in the order in which the tile runs them."""
    rows = np.arange(int(columns.offsets[tile]), int(columns.offsets[tile + 1]))
    place = rows if columns.order is None else columns.order[rows]
    starts = np.concatenate([[0], np.cumsum([len(c.tile) for c in costed])])
    block = np.searchsorted(starts, place, side="right") - 1
    vertex = place - starts[block]
    return tile, list(zip(block.tolist(), vertex.tolist(), worker[rows].tolist(), strict=True))
