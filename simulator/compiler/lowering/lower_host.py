"""Lower copies between tiles and host to StreamCopyBegin, Mid, End and a Sync.

- A copy has the name of its debug context; without one, that of its stream (the handle), remote buffer or function.
- A stream larger than its splitLimit becomes several copies in a row, named `<name>/0`, `<name>/1`, ... (several
  FIFOs are documented; their names are a guess).
- Rows of a remote buffer are one copy. Row numbers in an offset tensor are first sent to all tiles that hold the tensor
  (DoExchange `copyN_offsetBroadcastN/ExchangePre`), which compute the addresses from them. The exchange is a guess.
- A host function call is one copy of all inputs and one of all outputs.
- Elements that are not in the order of the host pass through buffers and an exchange within the chip
  (`host_messages`): after a copy to the device, before one from it. Copies of streams that follow each other share one.
  With rearrangeOnHost or optimiseMemory the host puts them in order, with a packet for each run.
- Copies of remote buffers, and of functions from there, do not ask the host (`simulator/machine/host_exchange.py`).
- Copies of different streams in one direction, one right after the other, ask the host once: the first Begin waits for
  the host and the last End for its acknowledgement, the others take what a control copy takes. An inference: a lowered
  StreamCopyMid of Poplar holds a list of stream copies (poplar-model 3.2.4). Here each stream keeps its own programs,
  so that reports show its bytes and times.
- The metadata of QUARTER tensors moves with the first copy of a stream (a guess: only that it moves is public).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.compiler.blocks import flushes
from simulator.compiler.blocks.selection import FLUSH
from simulator.compiler.exchange.host_copies import HostCopy, bytes_copy, control_copy, host_copy, unasked
from simulator.compiler.ir.accesses import Accesses, Elements, elements_of
from simulator.compiler.ir.program_table import Part, Work
from simulator.compiler.lowering.host_messages import HostMessages, arranged_by_host, part_of, parts_of
from simulator.compiler.lowering.lower_steps import Steps
from simulator.compiler.lowering.sent_words import sent_words
from simulator.graph import program as host
from simulator.graph.objects import RemoteBuffer
from simulator.graph.store import StreamColumns
from simulator.graph.tensor import Tensor


@dataclass(frozen=True)
class _Request:
    """Copies of streams for which the host is asked once: the row of the last End and its cycles, the direction, and
    the streams so far."""

    end: int
    cycles: Int64Array
    to_device: bool
    streams: frozenset[str]


@dataclass(frozen=True)
class _Transfer:
    """Tensors that the host moves at once. `stream`: the handle of a stream. `also_read`: elements read beside them.
    `small`: loops handle packets; `on_host`: the host puts the data in order. `remote`: between tiles and a remote
    buffer, for which no code of the host runs."""

    tensors: Sequence[Tensor]
    name: str
    to_device: bool
    debug_id: int
    also_read: Elements | None = None
    part: Part | None = None
    small: bool = False
    on_host: bool = False
    stream: str = ""
    remote: bool = False


class HostLowering:
    """Appends host copies to the program table. `group`: the sync group of host copies."""

    def __init__(self, steps: Steps, streams: StreamColumns, messages: HostMessages, group: str) -> None:
        self._steps, self._streams, self._messages, self._group = steps, streams, messages, group
        self.packets: Int64Array = np.zeros(steps.machine.tiles, np.int64)  #: host packets per tile
        self._requests: dict[int, _Request] = {}  #: the last one below each parent

    def lower_control_copy(self, parent: int, tile: int, size: int) -> None:
        """Add one of the two copies that select the program to run."""
        self._add_host_copy(parent, "", control_copy(tile, size, self._steps.machine), None, -1)

    def lower_flush(self, parent: int) -> None:
        """Add a copy that empties the buffers of lightweight profiling; `fill_flushes` sets its size."""
        nothing = bytes_copy(np.zeros(self._steps.machine.tiles, np.int64), False, self._steps.machine)
        self._add_host_copy(parent, FLUSH, nothing, None, -1)

    def fill_flushes(self, size: Int64Array) -> None:
        """Set what all flushes move: `size` bytes per tile."""
        copy = bytes_copy(size, False, self._steps.machine)
        self.packets += flushes.fill_flushes(self._steps.table, copy)

    def lower_tensor(
        self, parent: int, tensor: Tensor, name: str, to_device: bool, debug_id: int, on_host: bool = False
    ) -> None:
        """Add a copy of a whole tensor. `on_host`: the host puts the data in order."""
        transfer = _Transfer([tensor], name, to_device, debug_id, on_host=on_host)
        self._lower_transfers(parent, [transfer])

    def lower_remote_copy(self, parent: int, copy: host.Copy, debug_id: int) -> None:
        """Add a copy between a tensor and a remote buffer."""
        tensor = next(iter(copy.writes() or copy.reads()))
        buffer = next(end for end in (copy.source, copy.destination) if isinstance(end, RemoteBuffer))
        read = elements_of([copy.offset.regions()]) if copy.offset is not None else None
        if copy.offset is not None:
            self._send_offset(parent, copy.offset, tensor, debug_id)
        name = copy.debug.getPathName() or buffer.name
        to_device, small = tensor is copy.destination, buffer.optimise_memory
        on_host = arranged_by_host(copy)
        transfer = _Transfer([tensor], name, to_device, debug_id, read, small=small, on_host=on_host, remote=True)
        self._lower_transfers(parent, [transfer])

    def lower_streams(
        self, parent: int, copies: Sequence[host.Copy], debug_ids: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Add copies between tensors and streams, one after another in one direction; returns the rows [first, end) of
        each. Those of the exchange that they share belong to the copy beside them."""
        transfers: list[_Transfer] = []
        begins = []
        for copy, debug_id in zip(copies, debug_ids, strict=True):
            begins.append(len(transfers))
            to_device = copy.kind == "host_to_device"
            stream, tensor = (copy.source, copy.destination) if to_device else (copy.destination, copy.source)
            parts = parts_of(stream, self._streams)
            for number, (begin, end) in enumerate(parts):
                name = copy.debug.getPathName() or stream.name
                name = f"{name}/{number}" if len(parts) > 1 else name
                moved = [part_of(tensor, begin, end)]
                if tensor.hasMetadata() and not number:
                    moved.append(tensor.getMetadata())
                part, small = Part(number, len(parts), begin, end), copy.optimise_memory
                transfers.append(
                    _Transfer(
                        moved, name, to_device, debug_id, part=part, small=small, on_host=small, stream=stream.name
                    )
                )
        first = len(self._steps.table)
        rows = self._lower_transfers(parent, transfers)
        borders = [first, *(rows[begin] for begin in begins[1:]), len(self._steps.table)]
        return list(itertools.pairwise(borders))

    def lower_call(self, parent: int, call: host.Call, debug_id: int) -> None:
        """Add the copies of a host function call."""
        assert call.host_function is not None
        for number, (tensors, what) in enumerate(((call.inputs, "inputs"), (call.outputs, "outputs"))):
            name = f"{call.debug.getPathName() or call.host_function.name}/{what}"
            part = Part(number, 2, 0, 0)
            self._lower_transfers(parent, [_Transfer(tensors, name, bool(number), debug_id, part=part)])

    def _send_offset(self, parent: int, offset: Tensor, tensor: Tensor, debug_id: int) -> None:
        """Send row numbers to the tiles of a tensor."""
        plans = self._steps.plans
        pieces = plans.mapped_pieces(tensor.regions())
        sent = sent_words(plans, offset, np.unique(plans.emap.tile[pieces.row]), "offsetBroadcast")
        work = Work(buffers=sent.buffers, code=sent.first_use())
        self._steps.add_exchange(parent, sent.label, sent.exchange, work, sent.moves, sent.packets, debug_id)

    def _lower_transfers(self, parent: int, transfers: Sequence[_Transfer]) -> list[int]:
        """Add transfers in one direction, and the exchange between their messages and their tensors; returns the first
        row of each transfer."""
        for transfer in transfers:
            for tensor in transfer.tensors:
                self._steps.plans.mapped_pieces(tensor.regions())
        first = transfers[0]
        found = [
            self._messages.copy(tensor, first.to_device)
            for transfer in transfers
            if not transfer.on_host
            for tensor in transfer.tensors
        ]
        copies = [copy for copy in found if copy is not None]
        if copies and not first.to_device:
            self._steps.add_copies(parent, copies, first.debug_id)
        rows = []
        for transfer in transfers:
            rows.append(len(self._steps.table))
            self._lower_transfer(parent, transfer)
        if copies and first.to_device:
            self._steps.add_copies(parent, copies, first.debug_id)
        return rows

    def _lower_transfer(self, parent: int, transfer: _Transfer) -> None:
        machine, plans, to_device = self._steps.machine, self._steps.plans, transfer.to_device
        runs = [(np.empty(0, np.int64), np.empty(0, np.int64))]  # of a host function without inputs or outputs
        runs += [
            tensor.regions() if transfer.on_host else self._messages.moved(tensor, to_device)
            for tensor in transfer.tensors
        ]
        starts, lengths = (np.concatenate(column) for column in zip(*runs, strict=True))
        pieces = plans.emap.cut(starts, lengths)
        moved = elements_of([(pieces.start, pieces.length)])
        read = [transfer.also_read] if transfer.also_read is not None else []
        reads = elements_of(read if to_device else [moved, *read])
        accesses = Accesses(reads, moved) if to_device else Accesses(reads)
        copy = host_copy(pieces, plans.emap, to_device, machine, small=transfer.small, on_host=transfer.on_host)
        if transfer.remote:
            copy = unasked(copy, machine)
        part, stream = transfer.part, transfer.stream
        begin = self._add_host_copy(parent, transfer.name, copy, accesses, transfer.debug_id, part, stream)
        begin.host_called = not (
            stream or transfer.remote or (part is not None and part.number == 0)
        )  # a function runs at its end

    def _add_host_copy(
        self,
        parent: int,
        name: str,
        copy: HostCopy,
        accesses: Accesses | None,
        debug_id: int,
        part: Part | None = None,
        stream: str = "",
    ) -> Work:
        """Append the three parts; returns the work of the first."""
        moved = copy.rx if copy.rx is not None else copy.tx
        waiting = None  # control copies concern all tiles
        if accesses is not None and moved is not None and moved.any():
            waiting = self._steps.domains.waiting_tiles(moved > 0)
        begin = Work(host_wait=copy.host_wait, waiting=waiting, sync_group=self._group, part=part)
        mid = Work(copy.mid_cycles, rx=copy.rx, tx=copy.tx, host_code=copy.code, accesses=accesses, part=part)
        joined = self._joined(parent, stream, copy.rx is not None) if stream else None
        if joined is not None:
            link, last = self._steps.machine.host_link, self._steps.table.work[joined.end]
            begin.host_wait = link.begin_control
            last.cycles = np.where(joined.cycles > 0, link.end_control, 0)
        row = -1
        end = Work(copy.end_cycles, part=part)
        begin.stream = end.stream = stream
        begin.stream_bytes = end.stream_bytes = int(moved.sum()) if stream and moved is not None else 0
        for phase, work in (("Begin", begin), ("Mid", mid), ("End", end)):
            row = self._steps.table.add(parent, f"StreamCopy{phase}", name, work=work, debug_id=debug_id)
        self.packets += copy.packets
        self._steps.add_barrier(parent, debug_id, "", waiting)
        if stream:
            streams = frozenset({stream}) if joined is None else joined.streams | {stream}
            self._requests[parent] = _Request(row, copy.end_cycles, copy.rx is not None, streams)
        return begin

    def _joined(self, parent: int, stream: str, to_device: bool) -> _Request | None:
        """The request that a copy belongs to: that of the copy right before it, in its direction, of other streams."""
        request, table = self._requests.get(parent), self._steps.table
        if request is None or request.to_device != to_device or stream in request.streams:
            return None
        rows = table.children[parent]
        before = rows[-2] if table.type[rows[-1]] == "Sync" and len(rows) > 1 else rows[-1]
        return request if before == request.end else None
