"""The action of each kind of lowered program on the bytes of the tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import Int64Array, UInt8Array
from simulator.codelets.printing import places_of
from simulator.compiler.ir.accesses import Elements
from simulator.compiler.ir.exchanges import Exchange, Exchanges
from simulator.compiler.ir.program_table import Packets
from simulator.compiler.lowering.arrange import ComputeArrangement
from simulator.compiler.lowering.arrange_copies import CopyArrangement, Runs
from simulator.compiler.lowering.exchange_plans import ComputePlan, CopyPlan
from simulator.graph import program as host
from simulator.runtime.address_accurate.choosing import Choosing
from simulator.runtime.address_accurate.claims import NOWHERE
from simulator.runtime.address_accurate.codelet_code import CodeletCode
from simulator.runtime.address_accurate.compute_parts import Replica, inputs_of, outputs_of, through_landing
from simulator.runtime.address_accurate.moves import Moved, Sending, check_sent, joined
from simulator.runtime.address_accurate.slots import bytes_from
from simulator.runtime.address_accurate.tile_memory import POISON, TileMemory
from simulator.runtime.address_accurate.transfers import HostTransfers, addressed
from simulator.runtime.address_accurate.vertices import run_vertices, vertices_of

if TYPE_CHECKING:
    from simulator.compiler.compiled_graph import Arrangements
    from simulator.compiler.ir.program_table import ProgramTable, Work
    from simulator.graph.store import GraphStore
    from simulator.runtime.values.host_side import HostSide


Action = Callable[[], None]


class Leaves:
    """Makes the actions of lowered programs. They access values through `memory` only."""

    def __init__(
        self,
        store: GraphStore,
        arrangements: Arrangements,
        table: ProgramTable,
        replicas: Sequence[Replica],
        memory: TileMemory,
        host_side: HostTransfers,
        choosing: Choosing,
        code: CodeletCode,
        side: HostSide,
        counted: frozenset[int],
        stamps: frozenset[int],
    ) -> None:
        self._code, self._side, self._counted, self._stamps = code, side, counted, stamps
        self.choosing = choosing
        self._store, self._programs = store, arrangements.programs
        self._table, self._replicas = table, replicas
        self._memory, self._host = memory, host_side
        self._plans = arrangements.plans
        self._ipu_of_tile = self._plans.machine.ipu_of_tile
        self._made: dict[int, Action | None] = {}
        self._on_tile: dict[int, Action] = {}  #: by compute set
        self._denied: dict[int, set[int]] = {}  #: by compute set: replicas in which a compute() returned false
        self._fill_packs: dict[int, list[Moved]] = {}  #: by compute set: what fills the pack buffers of each replica
        self._exchanges: dict[int, tuple[list[Sending], Packets, bool]] = {}  #: by id of the exchange
        for compute_set, plan in self._plans.computes.items():
            self._add_compute(compute_set, plan)
        for copy in self._plans.copies:
            self._add_copy(copy)
        for compute_set, filled in self._fill_packs.items():
            self._on_tile[compute_set] = self._copying(joined(filled))

    def action(self, row: int) -> Action | None:
        """The action of the program in this row, None for none."""
        if row not in self._made:
            self._made[row] = self._action(row, self._table.type[row], self._table.work[row])
        return self._made[row]

    def _action(self, row: int, type_: str, work: Work) -> Action | None:
        if type_ in ("DoExchange", "GlobalExchange") and work.exchange is not None:
            words = self.choosing.exchange(work.exchange)
            return words or self._exchange(row, work.exchange, work.replica_map)
        if type_ == "OnTileExecute":
            return self._on_tile.get(self._table.compute_set[row])
        if type_ == "StreamCopyMid":
            program = self._programs.get(self._table.debug_id[row])
            if not isinstance(program, host.Copy | host.PrintTensor | host.Call):
                return None
            return self._host.action(program, work.part)
        if type_ in ("If", "Switch", "SetLocalConsensusFromVar", "Abort", "AbortOnCondition"):
            return self.choosing.action(row, self._programs.get(self._table.debug_id[row]), work.words)
        if type_ == "GetGlobalConsensus":
            return self._agreed(self._programs.get(self._table.debug_id[row]))
        if type_ == "WriteUndef" and work.undefined is not None:
            return self._undefined(work.undefined)
        return None

    # Exchanges

    def _exchange(self, row: int, exchange: Exchange, replica_map: Sequence[int]) -> Action | None:
        if id(exchange) not in self._exchanges:
            return None  # the broadcast of the switch control word, which is not a variable
        sendings, packets, between = self._exchanges[id(exchange)]
        rows = sendings[0].rows
        tiles = len(self._ipu_of_tile)
        shifts = [replica.shift for replica in self._replicas]
        to = [shifts[r] for r in replica_map] if replica_map else shifts
        src = np.concatenate([rows.src + shift for shift in shifts])
        dst = np.concatenate([rows.dst + shift for shift in to])
        away = src != dst  # a run that a tile sends to itself is not a message
        size = np.tile(rows.bytes, len(to))[away]
        check_sent(self._replicas[0].claims, row, self._table.name[row], src[away], dst[away], size)
        if not between:
            return self._copying(joined([s.moved(shift) for s, shift in zip(sendings, shifts, strict=True)]))
        by_target = self._with_targets(sendings, [shift // tiles for shift in to])
        parts = [self._packets(s, packets, r)[1] for s, r in zip(by_target, self._replicas, strict=True)]
        return self._copying(joined(parts))

    def _with_targets(self, sendings: list[Sending], to: list[int]) -> list[Sending]:
        """Each replica's rows with the target addresses of the receiving replica."""
        return [Sending(s.rows, s.source, sendings[r].target) for s, r in zip(sendings, to, strict=True)]

    def _packets(self, sending: Sending, packets: Packets, replica: Replica) -> tuple[Moved, Moved]:
        (number,) = packets.buffers
        row, name = len(self._plans.numels) + number, self._plans.buffers[number].name
        return sending.through_packets(replica.claims, row, name, replica.emap, replica.shift)

    def _add_exchanges(self, exchanges: Exchanges, sendings: list[Sending], packets: Packets, all_: bool) -> None:
        """Split rows as the compiler did, within IPUs and between them (`all_`: all rows between)."""
        rows = sendings[0].rows
        crosses = all_ | (self._ipu_of_tile[rows.src] != self._ipu_of_tile[rows.dst])
        if exchanges.internal is not None:
            inside = [s.take(~crosses) for s in sendings]
            self._exchanges[id(exchanges.internal)] = inside, packets, False
        if exchanges.between_ipus is not None:
            outside = [s.take(crosses) for s in sendings]
            self._exchanges[id(exchanges.between_ipus)] = outside, packets, True
            filled = [self._packets(s, packets, r)[0] for s, r in zip(outside, self._replicas, strict=True)]
            self._on_tile[packets.copy] = self._copying(joined(filled))

    # Compute sets and copies

    def _add_compute(self, compute_set: int, plan: ComputePlan) -> None:
        inputs = [inputs_of(replica, plan) for replica in self._replicas]
        outputs = [outputs_of(replica, plan) for replica in self._replicas]
        store = self._store
        blocks = [block for block in store.settled_blocks if block.compute_set == compute_set]
        places = places_of(blocks, store.compute_set_names[compute_set])
        vertices = [
            vertex
            for number, ((read, _), (written, _, _)) in enumerate(zip(inputs, outputs, strict=True))
            for block, place in zip(blocks, places, strict=True)
            for vertex in vertices_of(block, read.elements, written.elements, store, self._code, (place, number))
        ]
        compiled = [len(block) for block in blocks if block.type.compiled is not None and len(block)]
        run = partial(self._run, compute_set, vertices, compiled)
        self._on_tile[compute_set] = self._side.reading_counters(run) if compute_set in self._stamps else run
        if plan.gather >= 0:
            self._on_tile[plan.gather] = self._copying(joined([side.near for side, _ in inputs]))
        if plan.scatter >= 0:
            back = [Moved(side.near.destination, side.near.source) for side, _, _ in outputs]
            self._on_tile[plan.scatter] = self._copying(joined([*back, *(unpacked for _, _, unpacked in outputs)]))
        sent = [self._from_packs(plan, s, r) for (_, s), r in zip(inputs, self._replicas, strict=True)]
        self._add_exchanges(plan.before, sent, plan.packets_before, False)
        self._add_exchanges(plan.after, [s for _, s, _ in outputs], plan.packets_after, False)

    def _run(self, compute_set: int, vertices: list[Any], compiled: list[int]) -> None:
        """`compiled`: numbers of vertices of the compiled blocks, which each replica runs in order."""
        parts = self._code.parts
        parts.clear()
        self._denied[compute_set] = run_vertices(vertices, self._memory, verify=self._side.verify)
        if compute_set in self._counted:
            by_block = np.split(np.array(parts, np.uint64), np.cumsum(compiled * len(self._replicas))[:-1])
            n = len(compiled)
            self._side.counted(compute_set, [by_block[i : i + n] for i in range(0, len(by_block), n)])

    def _agreed(self, program: host.Program | None) -> Action:
        """Write whether every compute() of a compute set returned true."""
        assert isinstance(program, host.Execute)
        assert program.consensus is not None
        places = addressed(program.consensus, self._replicas).addresses
        compute_set = program.compute_set

        def run() -> None:
            for replica, addresses in enumerate(places):
                agreed = replica not in self._denied.get(compute_set, ())
                self._memory.write(addresses, np.full(1, agreed, np.bool_))

        return run

    def _add_copy(self, plan: CopyPlan) -> None:
        arranged = plan.arranged
        if isinstance(arranged, Runs):
            self._add_exchanges(plan.exchange, [self._sent(arranged, r) for r in self._replicas], plan.packets, True)
        elif isinstance(arranged, CopyArrangement):
            sendings, unpacked = zip(*(self._landing(plan, arranged, r) for r in self._replicas), strict=True)
            self._add_exchanges(plan.exchange, list(sendings), plan.packets, False)
            if plan.local >= 0:
                self._on_tile[plan.local] = self._local(arranged, list(unpacked))

    def _landing(self, plan: CopyPlan, arranged: CopyArrangement, replica: Replica) -> tuple[Sending, Moved]:
        """(the exchange of a copy, the moves that unpack what lands)."""
        sent = self._sent(arranged.sent, replica)
        target, unpacked = through_landing(replica, plan.landing, arranged.landing, sent.rows, sent.target)
        return self._from_packs(plan, Sending(sent.rows, sent.source, target), replica), unpacked

    def _from_packs(self, plan: ComputePlan | CopyPlan, sending: Sending, replica: Replica) -> Sending:
        """An exchange with what its senders pack coming from their pack buffers; packing becomes an action."""
        arranged = plan.arranged
        if plan.packing < 0 or not isinstance(arranged, ComputeArrangement | CopyArrangement):
            return sending
        assert arranged.packing is not None
        packing, rows = arranged.packing, sending.rows.take(arranged.packing.rows)
        tile, size = rows.src + replica.shift, rows.bytes
        there = replica.buffer(plan.packed, "rearrangement", tile, packing.place, size)
        source = replica.slots.bytes_of(tile, rows.start, rows.length, rows.item_bytes)
        self._fill_packs.setdefault(plan.packing, []).append(Moved(source, bytes_from(there, size)))
        packed = np.full(len(sending.rows), NOWHERE)
        packed[packing.rows] = there
        return Sending(sending.rows, sending.source, sending.target, packed)

    def _sent(self, runs: Runs, replica: Replica) -> Sending:
        rows = runs.transfer
        return Sending(rows, replica.slots, replica.slots.addresses(rows.dst + replica.shift, runs.to))

    def _local(self, arranged: CopyArrangement, unpacked: list[Moved]) -> Action:
        near = [self._sent(arranged.near, r).moved(r.shift) for r in self._replicas]
        copy = self._copying(joined([*near, *unpacked]))
        filled = [self._filling(arranged.filled, replica) for replica in self._replicas]
        addresses, contents = (np.concatenate(part) for part in zip(*filled, strict=True))

        def run() -> None:
            copy()
            self._memory.write(addresses, contents)

        return run

    def _filling(self, runs: Runs, replica: Replica) -> tuple[Int64Array, UInt8Array]:
        """(addresses, bytes) of constants that tiles write themselves."""
        v, rows = self._store.variables, runs.transfer
        variables = self._store.variable_of(rows.start)
        one = {i: np.ravel(v.constant[i])[:1].view(np.uint8) for i in np.unique(variables).tolist()}
        contents = [np.tile(one[i], n) for i, n in zip(variables.tolist(), rows.length.tolist(), strict=True)]
        addresses = bytes_from(self._sent(runs, replica).target, rows.bytes)
        return addresses, np.concatenate([np.empty(0, np.uint8), *contents])

    def _copying(self, moved: Moved) -> Action:
        return lambda: self._memory.copy(moved.source, moved.destination)

    def _undefined(self, elements: Elements) -> Action:
        """Poison the elements of always-live variables. Live ranges of other variables have ended already, and their
        memory may hold other values."""
        emap, claims = self._plans.emap, self._replicas[0].claims
        always = np.array(sorted(place.start for place in claims.always), np.int64)
        cut = emap.cut(*elements)
        cut = cut.take(emap.tile[cut.row] >= 0)
        places = []
        for replica in self._replicas:
            tile = emap.tile[cut.row] + replica.shift
            chosen = np.isin(claims.begin[emap.variable[cut.row], tile], always)
            own = cut.take(chosen)
            places.append(replica.slots.bytes_of(tile[chosen], own.start, own.length, emap.item_bytes[own.row]))
        poisoned = np.concatenate(places)
        return lambda: self._memory.write(poisoned, np.full(len(poisoned), POISON, np.uint8))
