"""What programs refer to more than once: compute sets and copies, arranged and planned at their first use.

Exchange code and buffers belong to the item, however many programs run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.errors import invalid_tile_mapping
from simulator.compiler.exchange.plan import packet_copy, plan_between_replicas, plan_exchange
from simulator.compiler.ir.accesses import Accesses, Elements, Moves, moves_of
from simulator.compiler.ir.element_map import ElementMap, Pieces
from simulator.compiler.ir.exchanges import Exchanges
from simulator.compiler.ir.program_table import Buffer, Packets
from simulator.compiler.ir.transfers import LocalCopy, Transfer
from simulator.compiler.lowering import copy_groups
from simulator.compiler.lowering.arrange import ComputeArrangement, arrange_compute_set, check_mapped
from simulator.compiler.lowering.arrange_copies import CopyArrangement, Runs, arrange_copy, paired_runs
from simulator.compiler.machine import Machine

if TYPE_CHECKING:
    from simulator.compiler.ir.program_table import SentWords
    from simulator.graph.store import GraphStore
    from simulator.graph.vertices import VertexBlock


@dataclass
class ComputeItem:
    """A compute set with what runs before and after it. `gather` and `scatter` are compute sets, -1 = none."""

    label: str
    before: Exchanges
    after: Exchanges
    gather: int
    scatter: int
    before_buffers: tuple[int, ...]
    after_buffers: tuple[int, ...]
    fetched: tuple[int, ...]  #: of `before_buffers`, what the exchange fills
    scattering: tuple[int, ...]  #: of `after_buffers`, what the copy on the tiles empties
    fetches: Moves  #: of the exchange before
    delivers: Moves  #: of the exchange after
    gathered: Elements
    scattered: Elements
    accesses: Accesses
    packets_before: Packets
    packets_after: Packets
    placed: bool = False  #: some program runs it already, so its exchange code has been counted
    arranged: ComputeArrangement | None = None  #: kept where values follow addresses


@dataclass
class CopyItem:
    """A copy between tensors, or to another replica. `local` is the compute set of its local part, -1 = none."""

    label: str
    exchange: Exchanges
    local: int
    moves: Moves
    accesses: Accesses  #: of the local part
    packets: Packets
    placed: bool = False
    arranged: CopyArrangement | Runs | None = None  #: kept where values follow addresses


class Items:
    """Compute set i < number of the graph's own is the graph's; the rest are local copies, in order."""

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
        self._fills = np.array([_of_one_value(values) for values in store.variables.constant], np.bool_)
        self._blocks: dict[int, list[VertexBlock]] = {}
        for block in store.blocks:
            self._blocks.setdefault(block.compute_set, []).append(block)
        streams = (info for info in store.debug_infos if info["category"] == "stream")
        self._stream_debug_ids = {str(info["name"]): int(info["id"]) for info in streams}
        self.computes: dict[int, ComputeItem] = {}  #: by compute set
        self.words: dict[object, SentWords] = {}  #: by what `simulator.compiler.lowering.sent_words` knows them by
        self._copies: dict[tuple[int, ...], tuple[CopyItem, list[Any]]] = {}
        self._next_number = 0

    def compute(self, index: int) -> ComputeItem:
        """The item of a compute set of the graph."""
        if index not in self.computes:
            self.computes[index] = self._new_compute(index)
        return self.computes[index]

    def copy(self, copies: Sequence[Any]) -> CopyItem:
        """The item of one or more copies that run as one."""
        key = tuple(id(c) for c in copies)
        if key not in self._copies:
            self._copies[key] = (self._new_copy(copies), list(copies))  # ids are unique while the objects live
        return self._copies[key][0]

    @property
    def copies(self) -> list[CopyItem]:
        """The items of all copies."""
        return [item for item, _ in self._copies.values()]

    @property
    def copied(self) -> list[tuple[CopyItem, list[Any]]]:
        """The items of all copies, with the program's copies that each stands for."""
        return list(self._copies.values())

    @property
    def fills(self) -> BoolArray:
        """Which variables are constants of one value: tiles write them, nobody sends them."""
        return self._fills

    def number(self) -> int:
        """The next number of an exchange or copy."""
        self._next_number += 1
        return self._next_number - 1

    def mapped_pieces(self, regions: tuple[Int64Array, Int64Array]) -> Pieces:
        """The pieces of a tensor; raises invalid_tile_mapping when some have no tile."""
        pieces = self.emap.cut(*regions)
        check_mapped(pieces, self.emap, self.unmapped)
        return pieces

    def unmapped(self, variable: int, element: int) -> Exception:
        """The error of a used element without a tile."""
        name = self._variable_names[variable] or f"variable {variable}"
        return invalid_tile_mapping(
            f"Element {element} of '{name}' is used by a program but has no tile; call graph.setTileMapping first."
        )

    def _new_compute(self, index: int) -> ComputeItem:
        name, m = self.compute_set_names[index], self.machine
        debug_id = self.compute_set_debug_ids[index]
        arranged = arrange_compute_set(self._blocks.get(index, ()), self.emap, m.tiles, self.unmapped)
        before = plan_exchange(arranged.before, m.ipu_of_tile, m.bus_of_tile, m.exchange_rate, m.stage, m.links)
        after = plan_exchange(arranged.after, m.ipu_of_tile, m.bus_of_tile, m.exchange_rate, m.stage, m.links)
        label = f"cs{self.number()}_{name}" if before or after else name
        gather = self._local_copy(f"{name}/PreArrange-0", arranged.gather)
        scatter = self._local_copy(f"{name}/PostArrange-0", arranged.scatter)
        message = self._buffer(f"{label}/message", "message", arranged.message, debug_id)
        gathered = self._buffer(f"{name}/PreArrange-0", "rearrangement", arranged.gather.buffer, debug_id)
        output = self._buffer(f"{label}/output", "outputEdge", arranged.output, debug_id)
        scattering = self._buffer(f"{name}/PostArrange-0", "rearrangement", arranged.scatter.buffer, debug_id)
        some_gathered_from_afar = len(arranged.before) > arranged.message_rows
        return ComputeItem(
            label,
            before,
            after,
            gather,
            scatter,
            message + gathered,
            output + scattering,
            message + gathered if some_gathered_from_afar else message,
            scattering,
            self._moves(arranged.before, arranged.before.start, None),
            self._moves(arranged.after, None, arranged.after.start),
            arranged.gathered,
            arranged.scattered,
            arranged.accesses,
            self._packets(f"{label}/GlobalPre", before, arranged.before, debug_id),
            self._packets(f"{label}/GlobalPost", after, arranged.after, debug_id),
            arranged=arranged if self._keep else None,
        )

    def _new_copy(self, copies: Sequence[Any]) -> CopyItem:
        m = self.machine
        source = copy_groups.regions_of([c.source for c in copies])
        destination = copy_groups.regions_of([c.destination for c in copies])
        arranged = arrange_copy(source, destination, self.emap, m.ipu_of_tile, self.unmapped, self._fills)
        exchange = plan_exchange(arranged.transfer, m.ipu_of_tile, m.bus_of_tile, m.exchange_rate, m.stage, m.links)
        description = copy_groups.description(source, destination, self.emap, self._variable_names)
        label = f"copy{self.number()}_{description}"
        packets = self._packets(f"{label}/GlobalPre", exchange, arranged.transfer, -1)
        local = self._local_copy(f"{label}/OnTileCopy-0", arranged.local)
        moves = self._moves(arranged.transfer, arranged.transfer.start, arranged.sent.to)
        kept = arranged if self._keep else None
        return CopyItem(label, exchange, local, moves, arranged.accesses, packets, arranged=kept)

    def cross_replica_copy(self, copy: Any) -> CopyItem:
        """The item of a copy to another replica."""
        if (id(copy),) not in self._copies:
            m = self.machine
            source, destination = copy.source.regions(), copy.destination.regions()
            runs = paired_runs(source, destination, self.emap, self.unmapped)
            rows = runs.transfer
            exchange = Exchanges(None, plan_between_replicas(rows, m.ipu_of_tile, m.links))
            description = copy_groups.description(source, destination, self.emap, self._variable_names)
            label = f"crossReplicaCopy{self.number()}_{description}"
            packets = self._packets(f"{label}/GlobalPre", exchange, rows, -1, everything=True)
            moves = moves_of(np.ones(len(rows), np.bool_), rows.length, rows.start, runs.to)
            item = CopyItem(label, exchange, -1, moves, Accesses(), packets, arranged=runs if self._keep else None)
            self._copies[id(copy),] = (item, [copy])
        return self._copies[id(copy),][0]

    def _moves(self, rows: Transfer, reads: Int64Array | None, writes: Int64Array | None) -> Moves:
        of_tile = self.machine.ipu_of_tile
        return moves_of(of_tile[rows.src] != of_tile[rows.dst], rows.length, reads, writes)

    def _packets(
        self, name: str, exchanges: Exchanges, transfer: Transfer, debug_id: int, *, everything: bool = False
    ) -> Packets:
        between = exchanges.between_ipus
        if between is None:
            return Packets(-1, ())
        of_tile = self.machine.ipu_of_tile
        crosses = everything | (of_tile[transfer.src] != of_tile[transfer.dst])
        copy = self._local_copy(f"{name}/OnTileCopy-0", packet_copy(between, transfer, crosses))
        return Packets(copy, self._buffer(name, "globalMessage", between.tx, debug_id))

    def _local_copy(self, name: str, local: LocalCopy) -> int:
        return self.add_local_copy(name, local) if local else -1

    def add_local_copy(self, name: str, local: LocalCopy) -> int:
        """The compute set of a copy within tiles."""
        self.local_copies.append(local)
        self.compute_set_names.append(name)
        self.compute_set_debug_ids.append(-1)
        return len(self.compute_set_names) - 1

    def stream_debug_id(self, handle: str) -> int:
        """The debug record of the call that made a stream or a host copy, -1 where there is none."""
        return self._stream_debug_ids.get(handle, -1)

    def _buffer(self, name: str, category: str, size: Int64Array, debug_id: int) -> tuple[int, ...]:
        if not size.any():
            return ()
        self.buffers.append(Buffer(name, category, size, debug_id))
        return (len(self.buffers) - 1,)


def _of_one_value(constant: Any) -> bool:
    values = np.ravel(constant) if constant is not None else np.empty(0)
    return len(values) > 0 and bool((values == values[0]).all())
