"""Plans of what compute sets and copies move, made at their first use and shared by all programs that run them.

Exchange code and buffers belong to the plan, however many programs run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import invalid_tile_mapping
from simulator.compiler.exchange.plan import packet_copy, plan_between_replicas, plan_exchange
from simulator.compiler.ir.accesses import Accesses, Elements, Moves, elements_of, moves_of
from simulator.compiler.ir.element_map import ElementMap, Pieces
from simulator.compiler.ir.exchanges import Exchanges
from simulator.compiler.ir.program_table import Buffer, Packets
from simulator.compiler.ir.transfers import Arrivals, LocalCopy, Transfer
from simulator.compiler.lowering import copy_groups
from simulator.compiler.lowering.arrange import ComputeArrangement, arrange_compute_set
from simulator.compiler.lowering.arrange_copies import CopyArrangement, Runs, arrange_copy, pack_copy, paired_runs
from simulator.compiler.lowering.host_messages import MessageCopy
from simulator.compiler.lowering.landing import CYCLES_PER_CODE_BYTE
from simulator.compiler.lowering.operand_pieces import check_mapped
from simulator.compiler.lowering.packing import Packing
from simulator.compiler.machine import Machine
from simulator.machine.local_copy import local_copy_cycles

if TYPE_CHECKING:
    from simulator.compiler.ir.program_table import SentWords
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


@dataclass
class ComputePlan:
    """Exchanges and local copies before and after a compute set. `gather` and `scatter` are compute sets of local
    copies, -1 = none."""

    label: str
    before: Exchanges
    after: Exchanges
    gather: int
    scatter: int
    before_buffers: tuple[int, ...]
    after_buffers: tuple[int, ...]
    fetched: tuple[int, ...]  #: those of `before_buffers` that the exchange fills
    scattering: tuple[int, ...]  #: those of `after_buffers` that the local copy empties
    landing: tuple[int, ...]  #: what the exchange after fills and the local copy unpacks
    fetches: Moves  #: by the exchange before
    delivers: Moves  #: by the exchange after
    gathered: Elements
    scattered: Elements
    accesses: Accesses
    packets_before: Packets
    packets_after: Packets
    packing: int = -1  #: the compute set in which senders pack
    packed: tuple[int, ...] = ()  #: what packing fills and the exchange before sends
    packs: Accesses = field(default_factory=Accesses)  #: of packing
    code_counted: bool = False  #: a lowered program counts its exchange code already
    arranged: ComputeArrangement | None = None  #: for debug.verify and the address-accurate mode


@dataclass
class CopyPlan:
    """Exchange and local copies of a copy between tensors, or to another replica. `packing` is the compute set in which
    senders pack, `local` that of its part within tiles; -1 = none."""

    label: str
    exchange: Exchanges
    local: int
    moves: Moves
    accesses: Accesses  #: of the local part
    packets: Packets
    landing: tuple[int, ...] = ()  #: what the exchange fills and the local copy unpacks
    packing: int = -1
    packed: tuple[int, ...] = ()  #: what packing fills and the exchange sends
    packs: Accesses = field(default_factory=Accesses)  #: of packing
    code_counted: bool = False
    arranged: CopyArrangement | Runs | None = None  #: for debug.verify and the address-accurate mode


class ExchangePlans:
    """The plans of one graph. Compute sets of local copies are numbered after the graph's own, in order."""

    def __init__(
        self, store: GraphStore, emap: ElementMap, machine: Machine, *, keep_arrangements: bool = False
    ) -> None:
        self.emap = emap
        self._keep = keep_arrangements
        self.numels = np.array(store.variables.numel, np.int64)
        self.compute_set_names = list(store.compute_set_names)
        self.compute_set_debug_ids = list(store.compute_set_debug_ids)
        self.local_copies: list[LocalCopy] = []
        self.buffers: list[Buffer] = []
        self.machine = machine
        self._variable_names = store.variables.name
        self._fills = np.array([_has_one_value(values) for values in store.variables.constant], np.bool_)
        self._blocks: dict[int, list[VertexBlock]] = {}
        for block in store.blocks:
            self._blocks.setdefault(block.compute_set, []).append(block)
        streams = (info for info in store.debug_infos if info["category"] == "stream")
        self._stream_debug_ids = {str(info["name"]): int(info["id"]) for info in streams}
        self.computes: dict[int, ComputePlan] = {}  #: by compute set
        self.words: dict[object, SentWords] = {}  #: by the keys of `simulator.compiler.lowering.sent_words`
        self._copies: dict[tuple[int, ...], tuple[CopyPlan, list[Any]]] = {}
        self._next_number = 0

    def compute(self, index: int) -> ComputePlan:
        """The plan of a compute set of the graph. Raises invalid_tile_mapping for a used element without a tile."""
        if index not in self.computes:
            self.computes[index] = self._new_compute(index)
        return self.computes[index]

    def copy(self, copies: Sequence[Any]) -> CopyPlan:
        """The plan of one or more copies that run as one. Raises as `compute`."""
        key = tuple(id(c) for c in copies)
        if key not in self._copies:
            self._copies[key] = (self._new_copy(copies), list(copies))  # ids are unique while the objects live
        return self._copies[key][0]

    @property
    def copies(self) -> list[CopyPlan]:
        """The plans of all copies."""
        return [plan for plan, _ in self._copies.values()]

    @property
    def copied(self) -> list[tuple[CopyPlan, list[Any]]]:
        """The plans of all copies, with the program's copies that each stands for."""
        return list(self._copies.values())

    @property
    def fills(self) -> BoolArray:
        """Flags of variables that are constants of one value: tiles write these themselves, nobody sends them."""
        return self._fills

    def number(self) -> int:
        """The next number of an exchange or copy."""
        self._next_number += 1
        return self._next_number - 1

    def mapped_pieces(self, regions: tuple[Int64Array, Int64Array]) -> Pieces:
        """The pieces of a tensor. Raises invalid_tile_mapping for an element without a tile."""
        pieces = self.emap.cut(*regions)
        check_mapped(pieces, self.emap, self.unmapped)
        return pieces

    def unmapped(self, variable: int, element: int) -> Exception:
        """The error for a used element without a tile."""
        name = self._variable_names[variable] or f"variable {variable}"
        return invalid_tile_mapping(
            f"Element {element} of '{name}' is used by a program but has no tile; call graph.setTileMapping first."
        )

    def _new_compute(self, index: int) -> ComputePlan:
        name, m = self.compute_set_names[index], self.machine
        debug_id = self.compute_set_debug_ids[index]
        every = arrange_compute_set(self._blocks.get(index, ()), self.emap, m.ipu_of_tile, self.unmapped)
        exchanges = [self._exchange(_sent_rows(each, self.emap), each.arriving) for each in every]
        arranged, before = _cheapest(every, exchanges)
        after = self._exchange(arranged.after, arranged.delivered)
        label = f"cs{self.number()}_{name}" if before or after else name
        gather = self._add_if_needed(f"{name}/PreArrange-0", arranged.gather)
        scatter = self._add_if_needed(f"{name}/PostArrange-0", arranged.scatter)
        message = self.add_buffer(f"{label}/message", "message", arranged.message, debug_id)
        gathered = self.add_buffer(f"{name}/PreArrange-0", "rearrangement", arranged.gather.buffer, debug_id)
        output = self.add_buffer(f"{label}/output", "outputEdge", arranged.output, debug_id)
        scattering = self.add_buffer(f"{name}/PostArrange-0", "rearrangement", arranged.scatter.buffer, debug_id)
        landing = self.add_buffer(f"{label}/landing", "message", arranged.landing.buffer, debug_id)
        some_gathered_remotely = len(arranged.before) > arranged.message_rows
        packing = arranged.packing
        plan = ComputePlan(
            label,
            before,
            after,
            gather,
            scatter,
            message + gathered,
            output + scattering,
            message + gathered if some_gathered_remotely else message,
            scattering,
            landing,
            self.moves(arranged.before, arranged.before.start, None, packed=None if packing is None else packing.rows),
            self.moves(arranged.after, None, arranged.after.start, arranged.landing.rows),
            arranged.gathered,
            arranged.scattered,
            arranged.accesses,
            self.add_packets(f"{label}/GlobalPre", before, arranged.before, debug_id),
            self.add_packets(f"{label}/GlobalPost", after, arranged.after, debug_id),
            arranged=arranged if self._keep else None,
        )
        if packing is not None:
            self._add_packing(plan, packing, arranged.before, debug_id)
        return plan

    def _add_packing(self, plan: ComputePlan | CopyPlan, packing: Packing, rows: Transfer, debug_id: int) -> None:
        name, taken = f"{plan.label}/OnTileCopyPre-0", rows.take(packing.rows)
        plan.packing = self.add_local_copy(name, packing.copy)
        plan.packed = self.add_buffer(name, "rearrangement", packing.copy.buffer, debug_id)
        plan.packs = Accesses(reads=elements_of([(taken.start, taken.length)]))

    def _new_copy(self, copies: Sequence[Any]) -> CopyPlan:
        m = self.machine
        source = copy_groups.regions_of([c.source for c in copies])
        destination = copy_groups.regions_of([c.destination for c in copies])
        of_host = isinstance(copies[0], MessageCopy)
        plain = arrange_copy(source, destination, self.emap, m.ipu_of_tile, self.unmapped, self._fills, of_host=of_host)
        arranged, exchange = self._cheaper(plain)
        description = copy_groups.copy_name(source, destination, self.emap, self._variable_names)
        label = f"copy{self.number()}_{description}"
        packets = self.add_packets(f"{label}/GlobalPre", exchange, arranged.transfer, -1)
        local = self._add_if_needed(f"{label}/OnTileCopy-0", arranged.local)
        landing = self.add_buffer(f"{label}/landing", "message", arranged.landing.buffer, -1)
        packing = arranged.packing
        packed = None if packing is None else packing.rows
        moves = self.moves(arranged.transfer, arranged.transfer.start, arranged.sent.to, arranged.landing.rows, packed)
        arrangement = arranged if self._keep else None
        plan = CopyPlan(label, exchange, local, moves, arranged.accesses, packets, landing, arranged=arrangement)
        if packing is not None:
            self._add_packing(plan, packing, arranged.transfer, -1)
        return plan

    def _cheaper(self, plain: CopyArrangement) -> tuple[CopyArrangement, Exchanges]:
        """A copy as it is, or with what its senders may pack: what costs less."""
        exchange = self._exchange(plain.transfer, plain.arrivals, plain.sent.from_row)
        packed = pack_copy(plain, self.machine.ipu_of_tile)
        if packed is None:
            return plain, exchange
        return _cheapest([plain, packed], [exchange, self._exchange(packed.wire(self.emap), packed.arrivals)])

    def _exchange(self, rows: Transfer, arrivals: Arrivals, place: Int64Array | None = None) -> Exchanges:
        """`place`: the rows of the ElementMap that the elements begin in, where they are known."""
        m = self.machine
        return plan_exchange(
            self._apart(rows, place), m.ipu_of_tile, m.bus_of_tile, m.exchange_rate, m.stage, m.links, arrivals
        )

    def _apart(self, rows: Transfer, place: Int64Array | None) -> Transfer:
        """The rows with a gap between the elements of each variable and the next, whose memory does not follow it."""
        if not len(rows):
            return rows
        if place is None:
            inside = np.minimum(rows.start, int(self.emap.end[-1]) - 1)  # pack buffers lie behind all variables
            place = self.emap.find(inside)
        return replace(rows, start=rows.start + self.emap.variable[place])

    def cross_replica_copy(self, copy: Any) -> CopyPlan:
        """The plan of a copy to another replica. Raises as `compute`."""
        if (id(copy),) not in self._copies:
            m = self.machine
            source, destination = copy.source.regions(), copy.destination.regions()
            runs = paired_runs(source, destination, self.emap, self.unmapped)
            rows = runs.transfer
            exchange = Exchanges(None, plan_between_replicas(rows, m.ipu_of_tile, m.links))
            description = copy_groups.copy_name(source, destination, self.emap, self._variable_names)
            label = f"crossReplicaCopy{self.number()}_{description}"
            packets = self.add_packets(f"{label}/GlobalPre", exchange, rows, -1, everything=True)
            moves = moves_of(np.ones(len(rows), np.bool_), rows.length, rows.start, runs.to)
            plan = CopyPlan(label, exchange, -1, moves, Accesses(), packets, arranged=runs if self._keep else None)
            self._copies[id(copy),] = (plan, [copy])
        return self._copies[id(copy),][0]

    def moves(
        self,
        rows: Transfer,
        reads: Int64Array | None,
        writes: Int64Array | None,
        landing: BoolArray | None = None,
        packed: BoolArray | None = None,
    ) -> Moves:
        """The elements that a transfer reads and writes, as `moves_of` splits them. It writes no row that lands and
        reads none that is packed."""
        of_tile = self.machine.ipu_of_tile
        return moves_of(of_tile[rows.src] != of_tile[rows.dst], rows.length, reads, writes, landing, packed)

    def add_packets(
        self, name: str, exchanges: Exchanges, transfer: Transfer, debug_id: int, *, everything: bool = False
    ) -> Packets:
        """Add the packet buffers of an exchange between IPUs and the copy that fills them. `everything`: all rows cross
        IPUs."""
        between = exchanges.between_ipus
        if between is None:
            return Packets(-1, ())
        of_tile = self.machine.ipu_of_tile
        crosses = everything | (of_tile[transfer.src] != of_tile[transfer.dst])
        copy = self._add_if_needed(f"{name}/OnTileCopy-0", packet_copy(between, transfer, crosses))
        return Packets(copy, self.add_buffer(name, "globalMessage", between.tx, debug_id))

    def _add_if_needed(self, name: str, local: LocalCopy) -> int:
        """The compute set of a copy within tiles; -1 for a copy of nothing."""
        return self.add_local_copy(name, local) if local else -1

    def add_local_copy(self, name: str, local: LocalCopy) -> int:
        """Add a copy within tiles; returns its compute set."""
        self.local_copies.append(local)
        self.compute_set_names.append(name)
        self.compute_set_debug_ids.append(-1)
        return len(self.compute_set_names) - 1

    def stream_debug_id(self, handle: str) -> int:
        """The debug record of the call that made a stream or a host copy, -1 where there is none."""
        return self._stream_debug_ids.get(handle, -1)

    def add_buffer(self, name: str, category: str, size: Int64Array, debug_id: int) -> tuple[int, ...]:
        """Add a buffer of `size` bytes per tile; returns its row, or none where it is empty."""
        if not size.any():
            return ()
        self.buffers.append(Buffer(name, category, size, debug_id))
        return (len(self.buffers) - 1,)


def _sent_rows(arranged: ComputeArrangement, emap: ElementMap) -> Transfer:
    """The rows before a compute set as they are sent."""
    packing = arranged.packing
    return arranged.before if packing is None else packing.wire(arranged.before, int(emap.end[-1]))


Arrangement = TypeVar("Arrangement", ComputeArrangement, CopyArrangement)


def _cheapest(arranged: Sequence[Arrangement], exchanges: Sequence[Exchanges]) -> tuple[Arrangement, Exchanges]:
    """Of the arrangements of a compute set or copy, and their exchanges, the first of least cost."""
    pairs = list(zip(arranged, exchanges, strict=True))
    return pairs[0] if len(pairs) == 1 else min(pairs, key=lambda pair: _cost(*pair))


def _cost(arranged: ComputeArrangement | CopyArrangement, exchange: Exchanges) -> float:
    """Cycles of an exchange within IPUs and its copies within tiles, and its code at the weight of `landing`; of the
    busiest tile of each."""
    total = 0.0
    for part in arranged.copies:
        filled = np.zeros_like(part.moved) if part.filled is None else part.filled
        total += float(local_copy_cycles(part.moved, part.runs, filled).max(initial=0))
    if exchange.internal is not None:
        total += float(exchange.internal.cycles.max()) + CYCLES_PER_CODE_BYTE * float(exchange.internal.code.max())
    return total


def _has_one_value(constant: Any) -> bool:
    values = np.ravel(constant) if constant is not None else np.empty(0)
    return len(values) > 0 and bool((values == values[0]).all())
