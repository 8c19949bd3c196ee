"""Lower: host programs become the tree of per-tile programs, in the order that published program trees show.

The root is a Sequence: two control copies from the host (program id and sync id), each Begin, Mid, End and a sync; an
exchange that broadcasts the switch control word; and a switch with one branch per program, followed by one per host
write and host read. Below it

- Execute gives [Sync, DoExchange `csN_<name>/ExchangePre`] where operands are remote, OnTileExecute
  `<name>/PreArrange-0` where operands must be gathered, OnTileExecute `<name>`, and the mirror image for outputs;
- Copy gives [Sync, DoExchange `copyN_<description>/ExchangePre`] for its remote part and OnTileExecute
  `<description>/OnTileCopy-0` for its local part; adjacent copies that are independent become one;
- what crosses IPUs is copied into packet buffers (OnTileExecute `<name>/GlobalPre/OnTileCopy-0`), then [external Sync,
  GlobalExchange `<name>/GlobalPre`, internal Sync]; CrossReplicaCopy has the same below a node of its own;
- copies from and to the host are those of `simulator.compiler.lowering.lower_host`, programs that choose those of
  `simulator.compiler.lowering.lower_choices`;
- a function's body is lowered once, below a root of its own; Call names it.

N counts exchanges and copies together, as published names do. Who waits at a Sync: `sync_domains`.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import poplar_error
from simulator.compiler.blocks.flushes import BlockFlushes
from simulator.compiler.blocks.recording import buffer_tiles
from simulator.compiler.blocks.selection import BlockSettings
from simulator.compiler.exchange.plan import broadcast
from simulator.compiler.ir.accesses import Accesses, Moves, elements_of
from simulator.compiler.ir.program_table import FUNCTION, Packets, Work
from simulator.compiler.ir.program_visits import Place, ProgramVisits
from simulator.compiler.lowering import copy_groups
from simulator.compiler.lowering.function_buffers import FunctionCopy, lower_function_copy
from simulator.compiler.lowering.items import Items
from simulator.compiler.lowering.lower_choices import ChoiceLowering, named_sequence
from simulator.compiler.lowering.lower_host import HostLowering
from simulator.compiler.lowering.lower_steps import Steps
from simulator.compiler.lowering.sync_domains import SyncDomains, sync_domains
from simulator.compiler.machine import Machine
from simulator.graph import program as host
from simulator.graph.debug_context import record

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


#: The tile of each IPU that the host tells which program to run, and the size of its word.
CONTROL_TILE = 0
CONTROL_BYTES = 4


class Lowering:
    """Lowers one graph's programs into `table`. `branches` are the rows of the root switch's branches: programs in
    order, then the graph's host copies; `function_roots` the rows of function bodies that are called."""

    def __init__(
        self,
        store: GraphStore,
        items: Items,
        machine: Machine,
        *,
        sync_after_compute: bool = False,
        host_group: str = "GS2",
        blocks: BlockSettings | None = None,
    ) -> None:
        nobody = SyncDomains(np.zeros(machine.tiles, np.bool_), machine.ipu_of_tile)
        self._steps = Steps(items, machine, nobody, sync_after_compute)
        self._host = HostLowering(self._steps, store.streams, host_group)
        self.table = self._steps.table
        self._blocks = blocks
        self._flushes = BlockFlushes(self.table, blocks, self._function_records, self._host.flush)
        self._choices = ChoiceLowering(self._steps, self._host, self._into, self._flushes.end_of_trip)
        self.branches: list[int] = []
        self.function_roots = self.table.function_roots
        self._store = store
        self._host_group = host_group  #: sync group of host copies
        self._functions: list[int] = []
        self.function_copies: list[FunctionCopy] = []  #: copies of function buffers
        self._debug_ids: dict[int, tuple[int, host.Program]] = {}  # programs are kept: ids are unique while they live
        self.spans: dict[Place, tuple[int, int]] = {}  #: rows [first, end) that each program became
        self.block_buffers: Int64Array = np.empty(0, np.int64)  #: tiles that record blocks
        self._visits = ProgramVisits([], [])

    @property
    def packets(self) -> Int64Array:
        """Host packets per tile."""
        return self._host.packets

    @property
    def global_packets(self) -> Int64Array:
        """Packets to other IPUs per tile."""
        return self._steps.global_packets

    def lower(self, programs: Rows[host.Program], selected: bool = True) -> None:
        """Lower all programs, host copies and the functions they call. `selected`: the host says which one runs."""
        self._visits = ProgramVisits(programs, self._store.functions)
        of_tile = self._steps.machine.ipu_of_tile
        self._steps.domains = sync_domains(self._store, programs, self._steps.items.emap, of_tile)
        root = self.table.add(None, "Sequence")
        for _ in range(2 if selected else 0):
            self._host.control(root, CONTROL_TILE, CONTROL_BYTES)
        if selected:
            self._broadcast_switch(root)
        switch = self.table.add(root, "OnEveryTileSwitch") if selected else root
        for number, program in enumerate(programs):
            self._visits.owner = ("program", number)
            branch = self.table.add(switch, "Sequence", named_sequence(program), debug_id=self._debug_id(program))
            self._into(branch, program)
            self.branches.append(branch)
        for kind, handle, tensor in self._store.host_copies:
            branch = self.table.add(switch, "Sequence", handle)
            to_device = kind == "write"
            self._host.tensor(branch, tensor, handle, to_device, self._steps.items.stream_debug_id(handle))
            self.branches.append(branch)
        done = 0
        while done < len(self._functions):  # a function may call further functions
            index = self._functions[done]
            body = self.table.add(None, "Sequence", f"function {index}", owner=FUNCTION)
            self.function_roots[index] = body
            self._visits.owner = ("function", index)
            self._into(body, self._store.functions[index])
            done += 1
        if self._blocks is not None:
            self.block_buffers = buffer_tiles(self.table, self._blocks, self._steps.machine)
            size = np.zeros(self._steps.machine.tiles, np.int64)
            size[self.block_buffers] = self._blocks.buffer_bytes
            self._host.settle_flushes(size)

    def programs_by_debug_id(self) -> dict[int, host.Program]:
        """The host program of each record of a lowered one."""
        return dict(self._debug_ids.values())

    def _into(self, parent: int, program: host.Program) -> None:
        """Lower a program into an existing Sequence: only its parts when it is a Sequence itself."""
        if isinstance(program, host.Sequence):
            place = self._visits.visit(program)
            self._sequence(parent, program)
            self.spans[place] = (parent, len(self.table))
        else:
            self._parts(parent, [program])

    def _sequence(self, parent: int, sequence: host.Sequence) -> None:
        self._parts(parent, sequence.programs)

    def _parts(self, parent: int, programs: Rows[host.Program]) -> None:
        for part in copy_groups.grouped(programs):
            places = [self._visits.visit(p) for p in (part if isinstance(part, list) else [part])]
            first = len(self.table)
            if isinstance(part, list):
                self._copy(parent, part)
            else:
                self._program(parent, part)
            self.spans.update(dict.fromkeys(places, (first, len(self.table))))

    def _program(self, parent: int, program: host.Program) -> None:
        match program:
            case host.LibraryGroup():
                self._sequence(parent, program)
            case host.Sequence():
                row = self.table.add(parent, "Sequence", named_sequence(program), debug_id=self._debug_id(program))
                self._sequence(row, program)
            case host.Execute():
                self._execute(parent, program)
            case host.Copy() if program.kind == "function":
                self._function_copy(parent, program)
            case host.Copy():
                self._host.copy(parent, program, self._debug_id(program))
            case host.CrossReplicaCopy():
                self._cross_replica_copy(parent, program)
            case host.Repeat():
                self._choices.repeat(parent, program, self._debug_id(program))
            case host.If() | host.Switch():
                self._choices.one_of(parent, program, self._debug_id(program))
            case host.RepeatWhile():
                self._choices.as_long_as(parent, program, self._debug_id(program))
            case host.Loop():
                self._choices.without_end(parent, program, self._debug_id(program))
            case host.Abort() | host.AbortOnCondition() | host.ErrorProgram():
                self._choices.ending(parent, program, self._debug_id(program))
            case host.Call() if program.host_function is not None:
                self._host.call(parent, program, self._debug_id(program))
            case host.Call():
                self._call(parent, program)
            case _:
                self._marking(parent, program)

    def _marking(self, parent: int, program: host.Program) -> None:
        """Programs that show, mark or wait."""
        debug_id, name = self._debug_id(program), program.debug.getPathName()
        match program:
            case host.Block():
                row = self.table.add(parent, "Block", name, debug_id=debug_id)
                self._into(row, program.body)
            case host.PrintTensor():
                self._host.tensor(parent, program.tensor, program.title or "print-tensor", False, debug_id)
            case host.WriteUndef():
                undefined = elements_of([program.tensor.regions()])
                self.table.add(parent, "WriteUndef", name, work=Work(undefined=undefined), debug_id=debug_id)
            case host.AssumeEqualAcrossReplicas():
                self.table.add(parent, "AssumeEqualAcrossReplicas", name, debug_id=debug_id)
            case host.Sync():
                group = {host.SyncType.INTERNAL: "", host.SyncType.EXTERNAL: "GS1"}.get(program.sync_type, "GS2")
                self._steps.sync(parent, debug_id, group, None)
            case _:
                raise poplar_error(f"Programs of type {type(program).__name__} cannot be compiled.")

    def _execute(self, parent: int, program: host.Execute) -> None:
        index = program.compute_set
        item = self._steps.items.compute(index)
        debug_id = self._steps.items.compute_set_debug_ids[index]
        before, after = item.before_buffers, item.after_buffers
        first = not item.placed
        sent = Work(buffers=item.fetched, code=first)
        self._steps.exchange(
            parent, f"{item.label}/ExchangePre", item.before, sent, item.fetches, item.packets_before, debug_id
        )
        if item.gather >= 0:
            gathering = Work(buffers=before, accesses=Accesses(reads=item.gathered))
            self._steps.on_tile(parent, item.gather, gathering, debug_id)
        if self._store.external_sets.get(index):
            self._steps.sync(parent, debug_id, "", self._tiles_of(index))
        self._steps.on_tile(parent, index, Work(buffers=before + after, accesses=item.accesses), debug_id)
        outgoing = Work(buffers=after, code=first)
        self._steps.exchange(
            parent, f"{item.label}/ExchangePost", item.after, outgoing, item.delivers, item.packets_after, debug_id
        )
        if item.scatter >= 0:
            scattering = Work(buffers=item.scattering, accesses=Accesses(writes=item.scattered))
            self._steps.on_tile(parent, item.scatter, scattering, debug_id)
        item.placed = True
        if program.consensus is not None:
            self._choices.consensus(parent, program.consensus, self._debug_id(program))

    def _tiles_of(self, compute_set: int) -> BoolArray:
        """The tiles with vertices of a compute set."""
        flags = np.zeros(self._steps.machine.tiles, np.bool_)
        for block in self._store.blocks:
            if block.compute_set == compute_set:
                flags[block.tiles] = True
        return flags

    def _copy(self, parent: int, copies: list[host.Copy]) -> None:
        item = self._steps.items.copy(copies)
        debug_id = self._debug_id(copies[0])
        work = Work(code=not item.placed or any(copy.dont_outline for copy in copies))
        self._steps.exchange(
            parent, f"{item.label}/ExchangePre", item.exchange, work, item.moves, item.packets, debug_id
        )
        if item.local >= 0:
            self._steps.on_tile(parent, item.local, Work(accesses=item.accesses), debug_id)
        item.placed = True

    def _cross_replica_copy(self, parent: int, program: host.CrossReplicaCopy) -> None:
        item = self._steps.items.cross_replica_copy(program)
        debug_id = self._debug_id(program)
        row = self.table.add(parent, "CrossReplicaCopy", item.label, debug_id=debug_id)
        work = Work(code=not item.placed, replica_map=program.replica_map)
        self._steps.exchange(row, f"{item.label}/ExchangePre", item.exchange, work, item.moves, item.packets, debug_id)
        item.placed = True

    def _debug_id(self, program: host.Program) -> int:
        """The record of a program, made when it is first lowered."""
        key = id(program)
        if key not in self._debug_ids:
            self._debug_ids[key] = (record(self._store, program.debug, "program"), program)
        return self._debug_ids[key][0]

    def _call(self, parent: int, program: host.Call) -> None:
        index = program.function
        if index not in self._functions:
            self._functions.append(index)
        self._flushes.called(parent, index)
        name = program.debug.getPathName() or f"function {index}"
        self.table.add(parent, "Call", name, function=index, debug_id=self._debug_id(program))

    def _function_records(self, index: int) -> bool:
        """Whether lightweight profiling records something in a function."""
        store, call = self._store, self._store.functions[index]
        return self._blocks is not None and self._blocks.records_inside(call, store.functions, store.compute_set_names)

    def _function_copy(self, parent: int, copy: host.Copy) -> None:
        debug_id = self._debug_id(copy)
        copied = lower_function_copy(
            copy, self.table, parent, self._steps.items, self._steps.machine, self._host_group, debug_id
        )
        self.function_copies.append(copied)
        if copied.local is None or self._steps.sync_after_compute:
            self._steps.barrier(parent, debug_id, "", None)

    def _broadcast_switch(self, root: int) -> None:
        """The broadcast, after a barrier of its own besides that of the control copy (published-numbers 6.1: 125 cycles
        between the sync of the copy and the broadcast)."""
        m = self._steps.machine
        self.table.add(root, "Sync", "Internal", sync_type="internal")
        exchanges = broadcast(CONTROL_TILE, CONTROL_BYTES, m.ipu_of_tile, m.bus_of_tile, m.exchange_rate, m.stage)
        number = self._steps.items.number()
        name, none = f"copy{number}_switchControlBroadcast{number}/ExchangePre", Packets(-1, ())
        self._steps.exchange(root, name, exchanges, Work(), Moves(), none)
