"""Lower host programs to the tree of per-tile programs, in the order of published program trees.

The root is a Sequence: two control copies from the host (program id and sync id), each Begin, Mid, End and a sync; an
exchange that broadcasts the switch control word; and a switch with one branch per program, then one per host write and
host read. Below a branch

- Execute becomes [Sync, DoExchange `csN_<name>/ExchangePre`] for remote operands, OnTileExecute `<name>/PreArrange-0`
  for gathered operands, OnTileExecute `<name>`, and the mirror image for outputs;
- Copy becomes [Sync, DoExchange `copyN_<description>/ExchangePre`] for its remote part and OnTileExecute
  `<description>/OnTileCopy-0` for its local part; adjacent independent copies become one. Senders that pack do so
  before, in OnTileExecute `<description>/OnTileCopyPre-0` (the name is ours: published trees have no such copy);
- data that crosses IPUs is copied into packet buffers (OnTileExecute `<name>/GlobalPre/OnTileCopy-0`), then follow
  [external Sync, GlobalExchange `<name>/GlobalPre`, internal Sync]; CrossReplicaCopy has the same below its own row;
- copies from and to the host: `simulator.compiler.lowering.lower_host`; programs that choose:
  `simulator.compiler.lowering.lower_choices`;
- a function's body is lowered once, below its own root; Call names it.

N counts exchanges and copies together, as published names do. The tiles that take part in a Sync: `sync_domains`.
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
from simulator.compiler.ir.transfers import LocalCopy
from simulator.compiler.lowering import copy_groups
from simulator.compiler.lowering.exchange_plans import ExchangePlans
from simulator.compiler.lowering.function_buffers import FunctionCopy, lower_function_copy
from simulator.compiler.lowering.host_messages import HostMessages, host_copies_arranged_by_host
from simulator.compiler.lowering.lower_choices import ChoiceLowering, named_sequence
from simulator.compiler.lowering.lower_host import HostLowering
from simulator.compiler.lowering.lower_steps import Steps
from simulator.compiler.lowering.sync_domains import SyncDomains, sync_domains
from simulator.compiler.machine import Machine
from simulator.graph import program as host
from simulator.graph.debug_context import record

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


#: The tile of each IPU that receives the number of the program to run, and the size of that word.
CONTROL_TILE = 0
CONTROL_BYTES = 4


class Lowering:
    """Lowers one graph's programs into `table`. `branches` holds the rows of the root switch's branches: programs in
    order, then host copies; `function_roots` the rows of the bodies of called functions."""

    def __init__(
        self,
        store: GraphStore,
        plans: ExchangePlans,
        machine: Machine,
        messages: HostMessages,
        *,
        sync_after_compute: bool = False,
        host_group: str = "GS2",
        blocks: BlockSettings | None = None,
        branch_record: LocalCopy | None = None,
    ) -> None:
        nobody = SyncDomains(np.zeros(machine.tiles, np.bool_), machine.ipu_of_tile)
        self._steps = Steps(plans, machine, nobody, sync_after_compute, branch_record)
        self._host = HostLowering(self._steps, store.streams, messages, host_group)
        self.table = self._steps.table
        self._blocks = blocks
        self._flushes = BlockFlushes(self.table, blocks, self._function_records, self._host.lower_flush)
        self._choices = ChoiceLowering(self._steps, self._host, self._lower_into, self._flushes.end_loop_body)
        self.branches: list[int] = []
        self.function_roots = self.table.function_roots
        self._store = store
        self._host_group = host_group  #: sync group of host copies
        self._functions: list[int] = []
        self.function_copies: list[FunctionCopy] = []  #: copies of function buffers
        self._debug_ids: dict[int, tuple[int, host.Program]] = {}  # holds programs, so that their ids stay unique
        self.spans: dict[Place, tuple[int, int]] = {}  #: rows [first, end) of each program
        self.block_buffers: Int64Array = np.empty(0, np.int64)  #: tiles that record blocks
        self._visits = ProgramVisits([], [])

    @property
    def branch_record_set(self) -> int:
        """The compute set that records branches and loops, -1 = none."""
        return self._steps.branch_record_set

    @property
    def packets(self) -> Int64Array:
        """Host packets per tile."""
        return self._host.packets

    @property
    def global_packets(self) -> Int64Array:
        """Packets to other IPUs per tile."""
        return self._steps.global_packets

    def _lower_host_copies(self, switch: int) -> None:
        """Add a branch for each tensor that the host writes or reads."""
        arranged_on_host = host_copies_arranged_by_host(self._store.streams)
        for kind, handle, tensor in self._store.host_copies:
            branch = self.table.add(switch, "Sequence", handle)
            to_device, on_host = kind == "write", (kind, handle) in arranged_on_host
            self._host.lower_tensor(
                branch, tensor, handle, to_device, self._steps.plans.stream_debug_id(handle), on_host
            )
            self.branches.append(branch)

    def lower(self, programs: Rows[host.Program], selected: bool = True) -> None:
        """Lower all programs, host copies and called functions. `selected`: the host selects the program that runs."""
        self._visits = ProgramVisits(programs, self._store.functions)
        of_tile = self._steps.machine.ipu_of_tile
        self._steps.domains = sync_domains(self._store, programs, self._steps.plans.emap, of_tile)
        root = self.table.add(None, "Sequence")
        for _ in range(2 if selected else 0):
            self._host.lower_control_copy(root, CONTROL_TILE, CONTROL_BYTES)
        if selected:
            self._broadcast_switch_word(root)
        switch = self.table.add(root, "OnEveryTileSwitch") if selected else root
        for number, program in enumerate(programs):
            self._visits.owner = ("program", number)
            branch = self.table.add(switch, "Sequence", named_sequence(program), debug_id=self._debug_id(program))
            self._lower_into(branch, program)
            self.branches.append(branch)
        self._lower_host_copies(switch)
        done = 0
        while done < len(self._functions):  # a function may call further functions
            index = self._functions[done]
            name = named_sequence(self._store.functions[index]) or f"function {index}"
            body = self.table.add(None, "Sequence", name, owner=FUNCTION)
            self.function_roots[index] = body
            self._visits.owner = ("function", index)
            self._lower_into(body, self._store.functions[index])
            done += 1
        if self._blocks is not None:
            self.block_buffers = buffer_tiles(self.table, self._blocks, self._steps.machine)
            size = np.zeros(self._steps.machine.tiles, np.int64)
            size[self.block_buffers] = self._blocks.buffer_bytes
            self._host.fill_flushes(size)

    def programs_by_debug_id(self) -> dict[int, host.Program]:
        """Host programs by debug record."""
        return dict(self._debug_ids.values())

    def _lower_into(self, parent: int, program: host.Program) -> None:
        """Lower a program into an existing Sequence row; of a Sequence only its parts."""
        if isinstance(program, host.Sequence):
            place = self._visits.visit(program)
            self._lower_parts_of(parent, program)
            self.spans[place] = (parent, len(self.table))
        else:
            self._lower_all(parent, [program])

    def _lower_parts_of(self, parent: int, sequence: host.Sequence) -> None:
        self._lower_all(parent, sequence.programs)

    def _lower_all(self, parent: int, programs: Rows[host.Program]) -> None:
        for part in copy_groups.group_copies(programs):
            places = [self._visits.visit(p) for p in (part if isinstance(part, list) else [part])]
            first = len(self.table)
            if isinstance(part, list) and part[0].kind in copy_groups.STREAMED:
                rows = self._host.lower_streams(parent, part, [self._debug_id(copy) for copy in part])
                self.spans.update(zip(places, rows, strict=True))
                continue
            if isinstance(part, list):
                self._steps.add_copies(parent, part, self._debug_id(part[0]))
            else:
                self._lower_program(parent, part)
            self.spans.update(dict.fromkeys(places, (first, len(self.table))))

    def _lower_program(self, parent: int, program: host.Program) -> None:
        match program:
            case host.LibraryGroup():
                self._lower_parts_of(parent, program)
            case host.Sequence():
                row = self.table.add(parent, "Sequence", named_sequence(program), debug_id=self._debug_id(program))
                self._lower_parts_of(row, program)
            case host.Execute():
                self._lower_execute(parent, program)
            case host.Copy() if program.kind == "function":
                self._lower_function_copy(parent, program)
            case host.Copy():
                self._host.lower_remote_copy(parent, program, self._debug_id(program))
            case host.CrossReplicaCopy():
                self._lower_cross_replica_copy(parent, program)
            case host.Repeat():
                self._choices.lower_repeat(parent, program, self._debug_id(program))
            case host.If() | host.Switch():
                self._choices.lower_choice(parent, program, self._debug_id(program))
            case host.RepeatWhile():
                self._choices.lower_while(parent, program, self._debug_id(program))
            case host.Loop():
                self._choices.lower_endless_loop(parent, program, self._debug_id(program))
            case host.Abort() | host.AbortOnCondition() | host.ErrorProgram():
                self._choices.lower_abort(parent, program, self._debug_id(program))
            case host.Call() if program.host_function is not None:
                self._host.lower_call(parent, program, self._debug_id(program))
            case host.Call():
                self._lower_call(parent, program)
            case _:
                self._lower_marker(parent, program)

    def _lower_marker(self, parent: int, program: host.Program) -> None:
        """Lower programs that show, mark or wait."""
        debug_id, name = self._debug_id(program), program.debug.getPathName()
        match program:
            case host.Block():
                row = self.table.add(parent, "Block", name, debug_id=debug_id)
                self._lower_into(row, program.body)
            case host.PrintTensor():
                self._host.lower_tensor(parent, program.tensor, program.title or "print-tensor", False, debug_id)
            case host.WriteUndef():
                undefined = elements_of([program.tensor.regions()])
                self.table.add(parent, "WriteUndef", name, work=Work(undefined=undefined), debug_id=debug_id)
            case host.AssumeEqualAcrossReplicas():
                self.table.add(parent, "AssumeEqualAcrossReplicas", name, debug_id=debug_id)
            case host.Sync():
                group = {host.SyncType.INTERNAL: "", host.SyncType.EXTERNAL: "GS1"}.get(program.sync_type, "GS2")
                self._steps.add_sync(parent, debug_id, group, None)
            case _:
                raise poplar_error(f"Programs of type {type(program).__name__} cannot be compiled.")

    def _lower_execute(self, parent: int, program: host.Execute) -> None:
        index = program.compute_set
        plan = self._steps.plans.compute(index)
        debug_id = self._steps.plans.compute_set_debug_ids[index]
        before, after = plan.before_buffers, plan.after_buffers
        first = not plan.code_counted
        if plan.packing >= 0:
            self._steps.add_on_tile(parent, plan.packing, Work(accesses=plan.packs, buffers=plan.packed), debug_id)
        sent = Work(buffers=plan.fetched + plan.packed, code=first)
        self._steps.add_exchange(
            parent, f"{plan.label}/ExchangePre", plan.before, sent, plan.fetches, plan.packets_before, debug_id
        )
        if plan.gather >= 0:
            gathering = Work(buffers=before, accesses=Accesses(reads=plan.gathered))
            self._steps.add_on_tile(parent, plan.gather, gathering, debug_id)
        if self._store.external_sets.get(index):
            self._steps.add_sync(parent, debug_id, "", self._tiles_of(index))
        self._steps.add_on_tile(parent, index, Work(buffers=before + after, accesses=plan.accesses), debug_id)
        outgoing = Work(buffers=after + plan.landing, code=first)
        self._steps.add_exchange(
            parent, f"{plan.label}/ExchangePost", plan.after, outgoing, plan.delivers, plan.packets_after, debug_id
        )
        if plan.scatter >= 0:
            scattering = Work(buffers=plan.scattering + plan.landing, accesses=Accesses(writes=plan.scattered))
            self._steps.add_on_tile(parent, plan.scatter, scattering, debug_id)
        plan.code_counted = True
        if program.consensus is not None:
            self._choices.lower_consensus(parent, program.consensus, self._debug_id(program))

    def _tiles_of(self, compute_set: int) -> BoolArray:
        """The tiles with vertices of a compute set."""
        flags = np.zeros(self._steps.machine.tiles, np.bool_)
        for block in self._store.blocks:
            if block.compute_set == compute_set:
                flags[block.tiles] = True
        return flags

    def _lower_cross_replica_copy(self, parent: int, program: host.CrossReplicaCopy) -> None:
        plan = self._steps.plans.cross_replica_copy(program)
        debug_id = self._debug_id(program)
        row = self.table.add(parent, "CrossReplicaCopy", program.debug.getPathName() or plan.label, debug_id=debug_id)
        work = Work(code=not plan.code_counted, replica_map=program.replica_map)
        self._steps.add_exchange(
            row, f"{plan.label}/ExchangePre", plan.exchange, work, plan.moves, plan.packets, debug_id
        )
        plan.code_counted = True

    def _debug_id(self, program: host.Program) -> int:
        """The debug record of a program, made when it is first lowered."""
        key = id(program)
        if key not in self._debug_ids:
            self._debug_ids[key] = (record(self._store, program.debug, "program"), program)
        return self._debug_ids[key][0]

    def _lower_call(self, parent: int, program: host.Call) -> None:
        index = program.function
        if index not in self._functions:
            self._functions.append(index)
        self._flushes.note_call(parent, index)
        name = program.debug.getPathName() or f"function {index}"
        self.table.add(parent, "Call", name, function=index, debug_id=self._debug_id(program))

    def _function_records(self, index: int) -> bool:
        """True where lightweight profiling records something in a function."""
        store, call = self._store, self._store.functions[index]
        return self._blocks is not None and self._blocks.records_inside(call, store.functions, store.compute_set_names)

    def _lower_function_copy(self, parent: int, copy: host.Copy) -> None:
        debug_id = self._debug_id(copy)
        copied = lower_function_copy(
            copy, self.table, parent, self._steps.plans, self._steps.machine, self._host_group, debug_id
        )
        self.function_copies.append(copied)
        if copied.local is None or self._steps.sync_after_compute:
            self._steps.add_barrier(parent, debug_id, "", None)

    def _broadcast_switch_word(self, root: int) -> None:
        """Add the broadcast of the program number after a sync of its own; the control copy ends with another
        (published-numbers 6.1: 125 cycles between the sync of the copy and the broadcast)."""
        m = self._steps.machine
        self.table.add(root, "Sync", "Internal", sync_type="internal")
        exchanges = broadcast(CONTROL_TILE, CONTROL_BYTES, m.ipu_of_tile, m.bus_of_tile, m.exchange_rate, m.stage)
        number = self._steps.plans.number()
        name, none = f"copy{number}_switchControlBroadcast{number}/ExchangePre", Packets(-1, ())
        self._steps.add_exchange(root, name, exchanges, Work(), Moves(), none)
