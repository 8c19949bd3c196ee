"""Lower copies between tiles and host to StreamCopyBegin, Mid, End and a Sync.

- A copy has the name of its debug context; without one, that of its stream (the handle), remote buffer or function.
- A stream larger than its splitLimit becomes several copies in a row, named `<name>/0`, `<name>/1`, ... (several
  FIFOs are documented; their names are a guess).
- Rows of a remote buffer are one copy. Row numbers in an offset tensor are first sent to all tiles that hold the tensor
  (DoExchange `copyN_offsetBroadcastN/ExchangePre`), which compute the addresses from them. The exchange is a guess.
- A host function call is one copy of all inputs and one of all outputs.
- Host copies and copies of remote buffers whose elements lie in several runs on a tile: the tile puts them in order in
  a buffer of its own (*hostMessage*, live during the transfer), or, with rearrangeOnHost, the host does, with a packet
  for each run. What streams need for it is not modelled yet: their programs do not choose.
- Copies of remote buffers, and of functions from there, do not ask the host (`simulator/machine/host_exchange.py`).
- Copies of different streams in one direction, one right after the other, ask the host once: the first Begin waits for
  the host and the last End for its acknowledgement, the others take what a control copy takes. An inference: a lowered
  StreamCopyMid of Poplar holds a list of stream copies (poplar-model 3.2.4). Here each stream keeps its own programs,
  so that reports show its bytes and times.
- The metadata of QUARTER tensors moves with the first copy of a stream (a guess: only that it moves is public).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import NO_LIMIT
from simulator.compiler.blocks import flushes
from simulator.compiler.blocks.selection import FLUSH
from simulator.compiler.exchange.host_copies import (
    HostCopy,
    arranged_on_host,
    arranged_on_tiles,
    bytes_copy,
    control_copy,
    host_copy,
    unasked,
)
from simulator.compiler.ir.accesses import Accesses, Elements, elements_of
from simulator.compiler.ir.program_table import Part, Work
from simulator.compiler.lowering.copy_groups import regions_of
from simulator.compiler.lowering.lower_steps import Steps
from simulator.compiler.lowering.sent_words import sent_words
from simulator.graph import program as host
from simulator.graph.objects import DataStream, RemoteBuffer
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


class HostLowering:
    """Appends host copies to the program table. `group`: the sync group of host copies."""

    def __init__(self, steps: Steps, streams: StreamColumns, group: str) -> None:
        self._steps, self._streams, self._group = steps, streams, group
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
        self,
        parent: int,
        tensor: Tensor,
        name: str,
        to_device: bool,
        debug_id: int,
        on_host: bool | None = None,
    ) -> None:
        """Add a copy of a whole tensor. `on_host` as for `_lower_tensors`."""
        self._lower_tensors(parent, [tensor], name, to_device, debug_id, on_host=on_host)

    def lower_copy(self, parent: int, copy: host.Copy, debug_id: int) -> None:
        """Add a copy between a tensor and a stream or a remote buffer."""
        ends = (copy.source, copy.destination)
        tensor = next(end for end in ends if isinstance(end, Tensor))
        to_device = tensor is copy.destination
        remote = next((end for end in ends if isinstance(end, RemoteBuffer)), None)
        if remote is not None:
            read = elements_of([copy.offset.regions()]) if copy.offset is not None else None
            if copy.offset is not None:
                self._send_offset(parent, copy.offset, tensor, debug_id)
            name = copy.debug.getPathName() or remote.name
            self._lower_tensors(
                parent,
                [tensor],
                name,
                to_device,
                debug_id,
                read,
                small=remote.optimise_memory,
                on_host=remote.rearrange_on_host,
                remote=True,
            )
            return
        stream = next(end for end in ends if isinstance(end, DataStream))
        pieces = list(self._split(stream))
        for number, (begin, end) in enumerate(pieces):
            name, part = copy.debug.getPathName() or stream.name, Part(number, len(pieces), begin, end)
            if len(pieces) > 1:
                name = f"{name}/{number}"
            chunk = tensor.flatten().slice(begin, end) if len(pieces) > 1 else tensor
            moved = [chunk, tensor.getMetadata()] if tensor.hasMetadata() and not number else [chunk]
            small = copy.optimise_memory
            self._lower_tensors(parent, moved, name, to_device, debug_id, part=part, small=small, stream=stream.name)

    def lower_call(self, parent: int, call: host.Call, debug_id: int) -> None:
        """Add the copies of a host function call."""
        assert call.host_function is not None
        for number, (tensors, what) in enumerate(((call.inputs, "inputs"), (call.outputs, "outputs"))):
            name = f"{call.debug.getPathName() or call.host_function.name}/{what}"
            self._lower_tensors(parent, tensors, name, bool(number), debug_id, part=Part(number, 2, 0, 0))

    def _split(self, stream: DataStream) -> Iterator[tuple[int, int]]:
        """Elements [begin, end) of each copy of a stream."""
        each = elements_at_a_time(stream, self._streams.options[stream.id])
        return ((begin, min(begin + each, stream.count)) for begin in range(0, stream.count, each))

    def _send_offset(self, parent: int, offset: Tensor, tensor: Tensor, debug_id: int) -> None:
        """Send row numbers to the tiles of a tensor."""
        plans = self._steps.plans
        pieces = plans.mapped_pieces(tensor.regions())
        sent = sent_words(plans, offset, np.unique(plans.emap.tile[pieces.row]), "offsetBroadcast")
        work = Work(buffers=sent.buffers, code=sent.first_use())
        self._steps.add_exchange(parent, sent.label, sent.exchange, work, sent.moves, sent.packets, debug_id)

    def _lower_tensors(
        self,
        parent: int,
        tensors: Sequence[Tensor],
        name: str,
        to_device: bool,
        debug_id: int,
        also_read: Elements | None = None,
        *,
        part: Part | None = None,
        small: bool = False,
        on_host: bool | None = None,
        stream: str = "",
        remote: bool = False,
    ) -> None:
        """`stream`: the handle of a stream. `on_host`: the host puts the data in order (True), or tiles
        do in a buffer (False); None where the program does not choose, and no buffer is modelled. `remote`: between
        tiles and a remote buffer, for which no code of the host runs."""
        machine, plans = self._steps.machine, self._steps.plans
        none = np.empty(0, np.int64), np.empty(0, np.int64)
        pieces = plans.mapped_pieces(regions_of(tensors) if tensors else none)
        moved = elements_of([(pieces.start, pieces.length)])
        read = [also_read] if also_read is not None else []
        reads = elements_of(read if to_device else [moved, *read])
        accesses = Accesses(reads, moved) if to_device else Accesses(reads)
        if tensors:
            copy = host_copy(pieces, plans.emap, to_device, machine, looped=small)
        else:
            copy = bytes_copy(np.zeros(machine.tiles, np.int64), to_device, machine)
        if remote:
            copy = unasked(copy, machine)
        buffers: tuple[int, ...] = ()
        if on_host:
            copy = arranged_on_host(copy, pieces, plans.emap, to_device, machine)
        elif on_host is not None:
            size = arranged_on_tiles(pieces, plans.emap, machine)
            buffers = plans.add_buffer(f"{name}/Rearrange", "hostMessage", size, debug_id)
        begin = self._add_host_copy(parent, name, copy, accesses, debug_id, part, buffers, stream)
        begin.host_called = not (
            stream or remote or (part is not None and part.number == 0)
        )  # a function runs at its end

    def _add_host_copy(
        self,
        parent: int,
        name: str,
        copy: HostCopy,
        accesses: Accesses | None,
        debug_id: int,
        part: Part | None = None,
        buffers: tuple[int, ...] = (),
        stream: str = "",
    ) -> Work:
        """Append the three parts; returns the work of the first."""
        moved = copy.rx if copy.rx is not None else copy.tx
        waiting = None  # control copies concern all tiles
        if accesses is not None and moved is not None and moved.any():
            waiting = self._steps.domains.waiting_tiles(moved > 0)
        begin = Work(host_wait=copy.host_wait, waiting=waiting, sync_group=self._group, part=part)
        mid = Work(copy.mid_cycles, rx=copy.rx, tx=copy.tx, host_code=copy.code, accesses=accesses, part=part)
        mid.buffers = buffers
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


def elements_at_a_time(stream: DataStream, options: Mapping[str, str]) -> int:
    """Elements of a stream that one copy moves: at most its splitLimit."""
    limit = int(options.get("splitLimit", "0"))
    return stream.count if limit in (0, NO_LIMIT) else min(stream.count, max(1, limit // stream.elementType().size))
