"""Copies between tiles and host, lowered: StreamCopyBegin, Mid, End and a Sync for each.

- a stream larger than its splitLimit is several copies, one after another, named `<handle>/0`, `<handle>/1`, ... (that
  it becomes several FIFOs is documented; their names are a guess);
- rows of a remote buffer are one copy; where an offset tensor chooses them, its numbers are first sent to all tiles
  that hold the tensor (DoExchange `copyN_offsetBroadcastN/ExchangePre`), which put them into the addresses that they
  ask for. That each of these tiles gets them by exchange is a guess;
- a call of a host function is one copy of all its inputs and one of all its outputs;
- the metadata of QUARTER tensors moves with the first copy of a stream (a guess: only that it moves is public).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.types import NO_LIMIT
from simulator.compiler.blocks import flushes
from simulator.compiler.blocks.selection import FLUSH
from simulator.compiler.exchange.host_copies import HostCopy, bytes_copy, control_copy, host_copy
from simulator.compiler.ir.accesses import Accesses, Elements, elements_of
from simulator.compiler.ir.program_table import Part, Work
from simulator.compiler.lowering.copy_groups import regions_of
from simulator.compiler.lowering.lower_steps import Steps
from simulator.compiler.lowering.sent_words import sent_words
from simulator.graph import program as host
from simulator.graph.objects import DataStream, RemoteBuffer
from simulator.graph.store import StreamColumns
from simulator.graph.tensor import Tensor


class HostLowering:
    """Appends host copies to the table of `steps`. `group`: the sync group of host copies."""

    def __init__(self, steps: Steps, streams: StreamColumns, group: str) -> None:
        self._steps, self._streams, self._group = steps, streams, group
        self.packets: Int64Array = np.zeros(steps.machine.tiles, np.int64)  #: host packets per tile

    def control(self, parent: int, tile: int, size: int) -> None:
        """One of the two copies that tell the device what to run."""
        self._parts(parent, "", control_copy(tile, size, self._steps.machine), None, -1)

    def flush(self, parent: int) -> None:
        """A copy of what lightweight profiling has recorded; `block_flushes` settles what it moves."""
        nothing = bytes_copy(np.zeros(self._steps.machine.tiles, np.int64), False, self._steps.machine)
        self._parts(parent, FLUSH, nothing, None, -1)

    def settle_flushes(self, size: Int64Array) -> None:
        """Say what all flushes move: `size` bytes per tile."""
        copy = bytes_copy(size, False, self._steps.machine)
        self.packets += flushes.settle_flushes(self._steps.table, copy)

    def tensor(self, parent: int, tensor: Tensor, name: str, to_device: bool, debug_id: int) -> None:
        """A copy of a tensor, whole."""
        self._tensors(parent, [tensor], name, to_device, debug_id)

    def copy(self, parent: int, copy: host.Copy, debug_id: int) -> None:
        """A copy between a tensor and a stream or a remote buffer."""
        ends = (copy.source, copy.destination)
        tensor = next(end for end in ends if isinstance(end, Tensor))
        to_device = tensor is copy.destination
        remote = next((end for end in ends if isinstance(end, RemoteBuffer)), None)
        if remote is not None:
            read = elements_of([copy.offset.regions()]) if copy.offset is not None else None
            if copy.offset is not None:
                self._offset(parent, copy.offset, tensor, debug_id)
            self._tensors(parent, [tensor], remote.name, to_device, debug_id, read, small=remote.optimise_memory)
            return
        stream = next(end for end in ends if isinstance(end, DataStream))
        pieces = list(self._split(stream))
        for number, (begin, end) in enumerate(pieces):
            name, part = stream.name, Part(number, len(pieces), begin, end)
            if len(pieces) > 1:
                name = f"{name}/{number}"
            chunk = tensor.flatten().slice(begin, end) if len(pieces) > 1 else tensor
            moved = [chunk, tensor.getMetadata()] if tensor.hasMetadata() and not number else [chunk]
            self._tensors(parent, moved, name, to_device, debug_id, part=part, small=copy.optimise_memory)

    def call(self, parent: int, call: host.Call, debug_id: int) -> None:
        """A call of a host function."""
        assert call.host_function is not None
        for number, (tensors, what) in enumerate(((call.inputs, "inputs"), (call.outputs, "outputs"))):
            name = f"{call.host_function.name}/{what}"
            self._tensors(parent, tensors, name, bool(number), debug_id, part=Part(number, 2, 0, 0))

    def _split(self, stream: DataStream) -> Iterator[tuple[int, int]]:
        """Elements [begin, end) of each copy that moves the stream's."""
        each = elements_at_a_time(stream, self._streams.options[stream.id])
        return ((begin, min(begin + each, stream.count)) for begin in range(0, stream.count, each))

    def _offset(self, parent: int, offset: Tensor, tensor: Tensor, debug_id: int) -> None:
        """Send the numbers of rows to the tiles of a tensor."""
        items = self._steps.items
        pieces = items.mapped_pieces(tensor.regions())
        sent = sent_words(items, offset, np.unique(items.emap.tile[pieces.row]), "offsetBroadcast")
        work = Work(buffers=sent.buffers, code=sent.first_use())
        self._steps.exchange(parent, sent.label, sent.exchange, work, sent.moves, sent.packets, debug_id)

    def _tensors(
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
    ) -> None:
        machine, items = self._steps.machine, self._steps.items
        none = np.empty(0, np.int64), np.empty(0, np.int64)
        pieces = items.mapped_pieces(regions_of(tensors) if tensors else none)
        moved = elements_of([(pieces.start, pieces.length)])
        read = [also_read] if also_read is not None else []
        reads = elements_of(read if to_device else [moved, *read])
        accesses = Accesses(reads, moved) if to_device else Accesses(reads)
        if tensors:
            copy = host_copy(pieces, items.emap, to_device, machine, looped=small)
        else:
            copy = bytes_copy(np.zeros(machine.tiles, np.int64), to_device, machine)
        self._parts(parent, name, copy, accesses, debug_id, part)

    def _parts(
        self,
        parent: int,
        name: str,
        copy: HostCopy,
        accesses: Accesses | None,
        debug_id: int,
        part: Part | None = None,
    ) -> None:
        moved = copy.rx if copy.rx is not None else copy.tx
        waiting = None  # control copies concern all tiles
        if accesses is not None and moved is not None and moved.any():
            waiting = self._steps.domains.concerned(moved > 0)
        begin = Work(host_wait=copy.host_wait, waiting=waiting, sync_group=self._group)
        mid = Work(copy.mid_cycles, rx=copy.rx, tx=copy.tx, host_code=copy.code, accesses=accesses, part=part)
        for phase, work in (("Begin", begin), ("Mid", mid), ("End", Work(copy.end_cycles))):
            self._steps.table.add(parent, f"StreamCopy{phase}", name, work=work, debug_id=debug_id)
        self.packets += copy.packets
        self._steps.barrier(parent, debug_id, "", waiting)


def elements_at_a_time(stream: DataStream, options: Mapping[str, str]) -> int:
    """How many elements of a stream with these options one copy moves: as many as its splitLimit lets through."""
    limit = int(options.get("splitLimit", "0"))
    return stream.count if limit in (0, NO_LIMIT) else min(stream.count, max(1, limit // stream.elementType().size))
