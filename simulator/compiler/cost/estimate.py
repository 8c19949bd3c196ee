"""Estimate the cycles of every compute set on every tile.

Worker vertices of a tile share six contexts, each of which issues one instruction every six tile cycles; so wall cycles
= 6 x the largest sum over contexts. Supervisor and multi vertices run one after another in tile cycles. Launch overhead
exists on hardware only; published model figures are the estimates themselves. Source: poplar-model 5.1, 5.2. Tiles with
external exchange vertices have terms of their own, for what they do before these run (`machine.external_exchange`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from popvision import pvti
from popvision.formats.profile.model import PROVENANCE, ComputeSetVertices, CostTerm, VertexLanes
from simulator.arrays import Int64Array, UInt8Array
from simulator.base.options.compile import CompileSettings
from simulator.base.target import Target
from simulator.compiler.cost.block_costs import block_costs
from simulator.compiler.cost.cost_derivation import CostedBlock, derivation
from simulator.compiler.cost.counted_sets import CountedSet, counted_set
from simulator.compiler.cost.tile_columns import Columns, by_tile, of_rows, sums_by_tile, wall_cycles
from simulator.compiler.cost.workers import shuffled_workers
from simulator.compiler.ir.transfers import LocalCopy
from simulator.compiler.lowering.exchange_plans import ExchangePlans
from simulator.compiler.machine import Machine, machine_of
from simulator.compiler.threads import on_threads
from simulator.graph import program as programs
from simulator.graph.program import Program
from simulator.graph.store import GraphStore
from simulator.graph.vertices import VertexBlock
from simulator.machine import external_exchange as edge
from simulator.machine import footprint, launch, local_copy

# Terms of external exchange stand in a dictionary by tile: few tiles have such a vertex, and no more than one in a
# compute set.


def external_terms(index: int, blocks: Sequence[VertexBlock], machine: Machine) -> dict[int, list[CostTerm]]:
    """The terms of each tile with an external exchange vertex in a compute set; those with "+ " are its cycles."""
    terms: dict[int, list[CostTerm]] = {}
    name, places = f"computeSet:{index}", machine.stage.places
    for block in blocks:
        for row, external in block.external.items():
            tile, count, east = int(block.tiles[row]), external.incoming_down_count, external.uses_east_edge
            arriving = edge.arriving_cycles(count, east, int(places.island[tile]), int(places.side[tile]))
            side = "east" if east else "west"
            terms[tile] = [
                CostTerm(name, "incomingDownCount", count, "exact: addExternalExchangeVertex"),
                CostTerm(name, "+ setting two registers", edge.setting_cycles(count), edge.SETTING_SOURCE),
                CostTerm(name, f"+ words that come from the {side} edge", arriving, edge.ARRIVING_SOURCE),
            ]
    return terms


@dataclass
class ComputeEstimate:
    """Wall cycles per tile of one compute set, and their parts."""

    cycles: Int64Array
    flops: int = -1
    vertices: list[ComputeSetVertices] = field(default_factory=list)
    lanes: list[VertexLanes] = field(default_factory=list)
    copies: list[local_copy.CopiesOfType] = field(default_factory=list)  #: of a local copy
    counted: CountedSet | None = None  #: on hardware, where vertices count what they take
    #: the cost terms of a tile; those that begin with "+ " add up to its wall cycles
    explain: Callable[[int], list[CostTerm]] = field(default=lambda tile: [], repr=False)

    @property
    def terms(self) -> list[CostTerm]:
        """The cost terms of the busiest tile."""
        return self.explain(int(self.cycles.argmax())) if len(self.cycles) else []


def estimate_compute_set(
    index: int, blocks: Sequence[VertexBlock], types: dict[str, int], machine: Machine, serialised: bool
) -> ComputeEstimate:
    """Estimate a compute set of the graph. `types` maps vertex type names to rows; `serialised` = one vertex at a time,
    for instrumentation of single vertices."""
    if not blocks:
        return ComputeEstimate(np.zeros(machine.tiles, np.int64))
    costed = [_cost(block, types[block.type.name], machine) for block in blocks]
    columns = by_tile([(c.tile, c.cycles) for c in costed], machine.tiles)
    contexts = 1 if serialised else footprint.WORKERS
    kinds = [c.kind for c in costed]
    vertices, worker = wall_cycles(kinds, columns, contexts)
    wall = vertices.copy()
    if machine.hardware and "worker" in kinds:
        on_worker = np.array([kind == "worker" for kind in kinds])
        wall[columns.count[on_worker].sum(axis=0) > 0] += launch.WORKERS
    for c, count in zip(costed, columns.count, strict=True):
        if c.kind != "worker" and c.launch is not None:
            wall += sums_by_tile(c.launch, count)
    before = external_terms(index, blocks, machine)
    for tile, terms in before.items():
        wall[tile] += int(sum(term.value for term in terms if term.term.startswith("+ ")))
    estimate = ComputeEstimate(wall, _total_flops(costed))
    if machine.hardware:
        estimate.counted = counted_set(costed, contexts, wall - vertices)
    estimate.lanes = _lanes(index, costed, columns, worker, machine)
    estimate.vertices = _by_type(index, costed, columns, machine)
    estimate.explain = lambda tile: [
        *derivation(f"computeSet:{index}", costed, _rows_of_tile(columns, worker, tile), machine.hardware),
        *before.get(tile, []),
    ]
    return estimate


def estimate_local_copy(index: int, copy: LocalCopy, rate: int = local_copy.BYTES_PER_CYCLE) -> ComputeEstimate:
    """Estimate one compute set of local copies at `rate` bytes per thread cycle. Source:
    `simulator.machine.local_copy`."""
    filled = np.zeros_like(copy.moved) if copy.filled is None else copy.filled
    cycles = local_copy.local_copy_cycles(copy.moved, copy.runs, filled, rate)
    filling = footprint.WORKERS * local_copy.fill_threads(filled)
    name = f"computeSet:{index}"

    def explain(tile: int) -> list[CostTerm]:
        if not cycles[tile]:
            return []
        facts = (
            ("tile", tile),
            ("bytes moved", copy.moved[tile]),
            ("runs", copy.runs[tile]),
            ("bytes of constants", filled[tile]),
            ("bytes a cycle of a thread", rate),
        )
        terms = [CostTerm(name, term, float(value), "exact: arrangement of the copy") for term, value in facts]
        if filling[tile] == cycles[tile]:
            return [*terms, CostTerm(name, "+ 6 x writing constants", float(filling[tile]), local_copy.FILL_SOURCE)]
        return [*terms, CostTerm(name, "+ 6 x copying", float(cycles[tile]), local_copy.COPY_SOURCE)]

    return ComputeEstimate(
        cycles, 0, explain=explain, copies=local_copy.copies_by_type(copy.moved, copy.runs, filled, rate)
    )


def _cost(block: VertexBlock, type_: int, machine: Machine) -> CostedBlock:
    n = len(block)
    kind = block.type.kind
    launched = machine.hardware and kind != "worker"
    costs = block_costs(block, Elements(block), machine)
    cycles, flops = costs.cycles, costs.flops
    started = costs.launch if launched else None
    if launched and started is None:
        started = np.full(n, launch.CYCLES[kind], np.int64)
    tile, order = block.tiles, None
    if not (tile[1:] >= tile[:-1]).all():
        # NumPy sorts 16-bit integers by counting, in linear time.
        order = np.argsort(tile.astype(np.uint16) if machine.tiles <= 1 << 16 else tile, kind="stable")
        tile, cycles = tile[order], cycles[order]
        flops = None if flops is None else flops[order]
        started = None if started is None else started[order]
    own = launched and costs.launch is not None
    return CostedBlock(block, type_, kind, tile, cycles, started, flops, costs.provenance, costs.source, own, order)


def _total_flops(costed: list[CostedBlock]) -> int:
    """Operations of all blocks, -1 where one of them is unknown."""
    totals = [c.total_flops for c in costed]
    return -1 if min(totals) < 0 else sum(totals)


def _lanes(
    index: int, costed: list[CostedBlock], columns: Columns, worker: UInt8Array, machine: Machine
) -> list[VertexLanes]:
    type_of = of_rows(np.array([c.type for c in costed], np.uint32), columns)
    lanes = []
    for ipu in range(machine.num_ipus):
        tiles = machine.tiles_of(ipu)
        offsets = columns.offsets[tiles.start : tiles.stop + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        if rows.start < rows.stop:
            offsets = offsets - rows.start
            lanes.append(VertexLanes(index, ipu, offsets, type_of[rows], columns.cycles[rows], worker[rows]))
    return lanes


def _by_type(index: int, costed: list[CostedBlock], columns: Columns, machine: Machine) -> list[ComputeSetVertices]:
    """One row per type and IPU, with the weakest provenance of the type's blocks."""
    rows = []
    for type_ in dict.fromkeys(c.type for c in costed):
        places = [i for i, c in enumerate(costed) if c.type == type_]
        mine = [costed[i] for i in places]
        provenance = max((c.provenance for c in mine), key=PROVENANCE.index)
        count, cycles = columns.count[places[0]], columns.sums[places[0]]
        for i in places[1:]:
            count, cycles = count + columns.count[i], cycles + columns.sums[i]
        known = _total_flops(mine) >= 0
        for ipu in range(machine.num_ipus):
            part = machine.tiles_of(ipu)
            if count[part].any():
                flops = _flops_on(mine, part, machine) if known else -1
                rows.append(ComputeSetVertices(index, type_, ipu, count[part], cycles[part], provenance, flops))
    return rows


def _flops_on(costed: list[CostedBlock], tiles: slice, machine: Machine) -> int:
    if machine.num_ipus == 1:
        return _total_flops(costed)
    return sum(
        int(c.flops[(c.tile >= tiles.start) & (c.tile < tiles.stop)].sum()) for c in costed if c.flops is not None
    )


def _rows_of_tile(columns: Columns, worker: UInt8Array, tile: int) -> tuple[int, list[tuple[int, int, int]]]:
    """(tile, [(block, row in the block's columns, worker)]) in the order in which the tile runs them."""
    found = []
    row = int(columns.offsets[tile])
    for block, count in enumerate(columns.count):
        first = int(count[:tile].sum())
        for vertex in range(first, first + int(count[tile])):
            found.append((block, vertex, int(worker[row])))
            row += 1
    return tile, found


def estimate_all(
    store: GraphStore, plans: ExchangePlans, machine: Machine, settings: CompileSettings, channel: pvti.TraceChannel
) -> list[ComputeEstimate]:
    """The estimates of the graph's compute sets, then of local copies, in order.

    Compute sets are independent, and NumPy releases the GIL on long columns, so they run on several threads. These also
    call the program's functions (`registerPerfEstimator`, `estimate` of a Python codelet); with
    opt.maxCompilationThreads = 1 the compiling thread calls them."""
    own = len(store.compute_set_names)
    serialised = machine.hardware and settings.compute_level == "vertex"
    own_set = _estimator(store, machine, serialised)

    def estimate(index: int) -> ComputeEstimate:
        with pvti.Tracepoint(channel, "poplar::core::estimateComputeSet"):
            return own_set(index)

    estimates = on_threads(estimate, range(own), settings.compilation_threads)
    rate = local_copy.copy_rate(machine.target.getMemcpyBytesPerCycle(), settings.multi_access_copies)
    estimates += [estimate_local_copy(own + i, copy, rate) for i, copy in enumerate(plans.local_copies)]
    if not settings.deterministic_workers:
        random = np.random.default_rng()
        for one in estimates:
            one.lanes = shuffled_workers(one.lanes, random)
    return estimates


def vertex_cycles(store: GraphStore, target: Target, program: Program) -> int:
    """The cycles of a run of a program in vertices, on the busiest tile of each compute set: what a graph tells before
    it is compiled. Exchanges and copies come on top; of branches all are counted, of other loops one turn."""
    estimate = _estimator(store, machine_of(target, store.replicas), serialised=False)
    cycles = [int(estimate(index).cycles.max()) for index in range(len(store.compute_set_names))]

    def of(part: Program) -> int:
        match part:
            case programs.Execute():
                return cycles[part.compute_set]
            case programs.Repeat():
                return part.count * of(part.body)
            case programs.Call() if part.host_function is None:
                return of(store.functions[part.function])
        return sum(of(nested) for nested in part.nested())

    return of(program)


def _estimator(store: GraphStore, machine: Machine, serialised: bool) -> Callable[[int], ComputeEstimate]:
    """A function that estimates a compute set of the graph, by its index."""
    blocks: dict[int, list[VertexBlock]] = {}
    types: dict[str, int] = {}
    for block in store.blocks:
        blocks.setdefault(block.compute_set, []).append(block)
        types.setdefault(block.type.name, len(types))
    return lambda index: estimate_compute_set(index, blocks.get(index, []), types, machine, serialised)


class Elements(Mapping[str, Int64Array]):
    """Elements per vertex of each edge field of a block, counted at the first access of a field."""

    def __init__(self, block: VertexBlock) -> None:
        self._block = block
        self._counted: dict[str, Int64Array] = {}

    def __getitem__(self, field: str) -> Int64Array:
        if field not in self._counted:
            self._counted[field] = self._block.edges[field].elements_per_vertex(len(self._block))
        return self._counted[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._block.edges)

    def __len__(self) -> int:
        return len(self._block.edges)
