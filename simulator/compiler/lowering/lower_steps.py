"""Append to the program table what all kinds of programs are lowered to: syncs, exchanges, compute sets, local
copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.ir.accesses import Moves
from simulator.compiler.ir.exchanges import Exchange, Exchanges
from simulator.compiler.ir.program_table import Packets, ProgramTable, Work
from simulator.compiler.ir.transfers import LocalCopy
from simulator.compiler.lowering.exchange_plans import ExchangePlans
from simulator.compiler.lowering.sync_domains import SyncDomains, covers
from simulator.compiler.machine import Machine
from simulator.machine.links import packets as packet_counts


class Steps:
    """Appends rows to the program table. `domains` says which tiles wait for each other; `sync_after_compute` puts a
    sync after each compute set, for its counters; `branch_record` is the copy that records a branch, None where control
    flow is not instrumented."""

    def __init__(
        self,
        plans: ExchangePlans,
        machine: Machine,
        domains: SyncDomains,
        sync_after_compute: bool,
        branch_record: LocalCopy | None = None,
    ) -> None:
        self.table = ProgramTable()
        self.plans, self.machine, self.domains = plans, machine, domains
        self.sync_after_compute = sync_after_compute
        self.branch_record = branch_record
        self.branch_record_set = -1  #: the compute set of branch records, -1 before the first one
        self.global_packets: Int64Array = np.zeros(machine.tiles, np.int64)  #: packets to other IPUs per tile

    def add_barrier(self, parent: int, debug_id: int, group: str, waiting: BoolArray | None) -> None:
        """Add a sync, unless what runs before is one of this group that covers the tiles. `group`: "" = internal,
        "GS1" or "GS2"; `waiting`: flags of the tiles that take part, None = all."""
        before = self.table.row_before_end(parent)
        stands = before >= 0 and self.table.type[before] == "Sync" and self.table.work[before].sync_group == group
        if not stands or not covers(self.table.work[before].waiting, waiting):
            self.add_sync(parent, debug_id, group, waiting)

    def add_sync(self, parent: int, debug_id: int, group: str, waiting: BoolArray | None) -> None:
        """Add a sync in any case. Arguments as for `add_barrier`."""
        name = "External" if group else "Internal"
        work = Work(waiting=waiting, sync_group=group)
        self.table.add(parent, "Sync", name, sync_type=name.lower(), debug_id=debug_id, work=work)

    def add_exchange(
        self,
        parent: int,
        name: str,
        exchanges: Exchanges,
        work: Work,
        moves: Moves,
        packets: Packets,
        debug_id: int = -1,
    ) -> None:
        """Add a barrier and an exchange, the one between IPUs first; nothing where nothing moves."""
        if exchanges.between_ipus is not None:
            self._add_global_exchange(
                parent, name.replace("/Exchange", "/Global"), exchanges.between_ipus, work, moves, packets, debug_id
            )
        if exchanges.internal is not None:
            figures = exchanges.internal
            self.add_barrier(parent, debug_id, "", self.domains.waiting_tiles((figures.rx > 0) | (figures.tx > 0)))
            own = Work(figures.cycles, figures, work.code, accesses=moves.inside, buffers=work.buffers)
            self.table.add(parent, "DoExchange", name, work=own, debug_id=debug_id)

    def _add_global_exchange(
        self, parent: int, name: str, figures: Exchange, work: Work, moves: Moves, packets: Packets, debug_id: int
    ) -> None:
        """Packets are filled, all IPUs waiting wait for each other, bytes move, each IPU waits for its tiles."""
        waiting = self.domains.waiting_tiles((figures.rx > 0) | (figures.tx > 0))
        buffers = work.buffers + packets.buffers
        from_variables = len(moves.packed.reads[0]) > 0  # else from output buffers, which are live before
        filled = packets.buffers if from_variables else buffers
        self.add_on_tile(parent, packets.copy, Work(accesses=moves.packed, buffers=filled), debug_id)
        self.add_barrier(parent, debug_id, "GS2" if work.replica_map else "GS1", waiting)
        self.table.add(
            parent,
            "GlobalExchange",
            name,
            debug_id=debug_id,
            work=Work(
                figures.cycles,
                figures,
                work.code,
                accesses=moves.arriving,
                buffers=buffers,
                replica_map=work.replica_map,
            ),
        )
        self.add_barrier(parent, debug_id, "", waiting)
        if work.code:
            self.global_packets += packet_counts(figures.tx)

    def add_copies(self, parent: int, copies: Sequence[Any], debug_id: int) -> None:
        """Add copies between tensors that run as one: packing, exchange, what stays within tiles."""
        plan = self.plans.copy(copies)
        code = not plan.code_counted or any(copy.dont_outline for copy in copies)
        if plan.packing >= 0:
            self.add_on_tile(parent, plan.packing, Work(accesses=plan.packs, buffers=plan.packed), debug_id)
        work = Work(code=code, buffers=plan.landing + plan.packed)
        self.add_exchange(parent, f"{plan.label}/ExchangePre", plan.exchange, work, plan.moves, plan.packets, debug_id)
        if plan.local >= 0:
            work = Work(accesses=plan.accesses, buffers=plan.landing)
            self.add_on_tile(parent, plan.local, work, debug_id)
        plan.code_counted = True

    def add_branch_record(self, parent: int, debug_id: int) -> None:
        """Add the recording of a branch or loop, where control flow is instrumented."""
        if self.branch_record is None:
            return
        if self.branch_record_set < 0:
            self.branch_record_set = self.plans.add_local_copy("BranchRecord", self.branch_record)
        self.table.add(
            parent, "OnTileExecute", "BranchRecord", compute_set=self.branch_record_set, debug_id=debug_id, work=Work()
        )

    def add_on_tile(self, parent: int, compute_set: int, work: Work, debug_id: int) -> None:
        """Add a launch of a compute set: the graph's, or that of a copy within tiles."""
        name = self.plans.compute_set_names[compute_set]
        self.table.add(parent, "OnTileExecute", name, work=work, compute_set=compute_set, debug_id=debug_id)
        if self.sync_after_compute:
            self.add_barrier(parent, debug_id, "", None)
