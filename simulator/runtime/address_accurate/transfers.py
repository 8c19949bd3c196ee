"""Transfers between host memory and the addresses of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import numpy_type
from simulator.compiler.ir.program_table import Part
from simulator.compiler.lowering.host_messages import HostMessages, arranged_by_host, part_of
from simulator.graph import program as host
from simulator.runtime.address_accurate.compute_parts import Replica
from simulator.runtime.address_accurate.tile_memory import TileMemory

if TYPE_CHECKING:
    from simulator.graph.tensor import Tensor
    from simulator.runtime.values.host_side import HostSide


@dataclass(frozen=True)
class AddressedTensor:
    """The addresses of a tensor's bytes, by replica, in flattened order."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    addresses: tuple[Int64Array, ...]


def addressed(tensor: Tensor, replicas: Sequence[Replica]) -> AddressedTensor:
    """The addresses of a tensor."""
    return addressed_elements(*tensor.regions(), tuple(tensor.shape()), numpy_type(tensor.elementType()), replicas)


def addressed_elements(
    starts: Int64Array, lengths: Int64Array, shape: tuple[int, ...], dtype: np.dtype[Any], replicas: Sequence[Replica]
) -> AddressedTensor:
    """The addresses of runs of elements of the element space."""
    emap = replicas[0].emap
    cut = emap.cut(starts, lengths)
    tile, item = emap.tile[cut.row], emap.item_bytes[cut.row]
    places = tuple(r.slots.bytes_of(tile + r.shift, cut.start, cut.length, item) for r in replicas)
    return AddressedTensor(shape, dtype, places)


class ReplicaMemory:
    """One replica's view of the tile memory."""

    def __init__(self, memory: TileMemory, replica: int) -> None:
        self.memory, self.replica = memory, replica

    def read(self, place: AddressedTensor) -> AnyArray:
        """A copy of the values."""
        return self.memory.read(place.addresses[self.replica], place.dtype).reshape(place.shape)

    def write(self, place: AddressedTensor, values: AnyArray) -> None:
        """Store values of the place's shape, or flattened."""
        self.memory.write(place.addresses[self.replica], np.asarray(values, place.dtype))


class HostTransfers:
    """Stream copies and prints. `streams`: as NumericPlan.streams."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        memories: Sequence[ReplicaMemory],
        streams: Mapping[str, Any],
        messages: HostMessages,
        side: HostSide,
    ) -> None:
        self._replicas, self._memories, self._streams, self._side = replicas, memories, streams, side
        self._messages = messages
        #: values of unfinished transfers, by stream or call, then by replica
        self._pending: dict[object, dict[int, list[AnyArray]]] = {}

    def action(self, program: host.Copy | host.PrintTensor | host.Call, part: Part | None) -> Callable[[], None] | None:
        """The action of a program that transfers, or of one part of it; None for function buffers, which hold no
        values."""
        if isinstance(program, host.PrintTensor):
            return self._printing(program)
        if isinstance(program, host.Call):
            return self._calling(program, part)
        if program.kind == "host_to_device":
            return self._reading(program, program.source.name, program.destination, part)
        if program.kind == "device_to_host":
            return self._writing(program, program.source, program.destination.name, part)
        if program.kind in ("from_remote", "to_remote"):
            return self._rows(program)
        return None

    def _whole(self, tensor: Tensor) -> AddressedTensor:
        return addressed(tensor, self._replicas)

    def _in_order(self, tensor: Tensor, to_device: bool, arranged_by_host: bool = False) -> AddressedTensor:
        """Where packets put a tensor, or take it from: its message, or its own place."""
        runs = tensor.regions() if arranged_by_host else self._messages.moved(tensor, to_device)
        return addressed_elements(*runs, tuple(tensor.shape()), numpy_type(tensor.elementType()), self._replicas)

    def _rows(self, copy: host.Copy) -> Callable[[], None]:
        offset = None if copy.offset is None else self._whole(copy.offset)
        reading = copy.kind == "from_remote"
        buffer, tensor = copy.source if reading else copy.destination, next(iter(copy.writes() or copy.reads()))
        place = self._in_order(tensor, reading, arranged_by_host(copy))

        def run() -> None:
            for memory in self._memories:
                rows = [0] if offset is None else [int(row) for row in memory.read(offset).reshape(-1)]
                if reading:
                    memory.write(place, self._side.read_rows(buffer.name, memory.replica, rows))
                else:
                    self._side.write_rows(buffer.name, memory.replica, rows, memory.read(place))

        return run

    def _calling(self, call: host.Call, part: Part | None) -> Callable[[], None]:
        """The first part stores the inputs; the second calls the function and writes the outputs."""
        assert call.host_function is not None
        name, given = call.host_function.name, self._pending.setdefault(id(call), {})
        if part is None or part.number == 0:
            inputs = [self._in_order(tensor, False) for tensor in call.inputs]

            def take() -> None:
                for memory in self._memories:
                    given[memory.replica] = [memory.read(place).reshape(-1) for place in inputs]

            return take
        outputs = [self._in_order(tensor, True) for tensor in call.outputs]

        def bring() -> None:
            for memory in self._memories:
                made = self._side.call_host_function(name, memory.replica, given[memory.replica])
                for place, values in zip(outputs, made, strict=True):
                    memory.write(place, values)

        return bring

    def _printing(self, program: host.PrintTensor) -> Callable[[], None]:
        place = self._in_order(program.tensor, False)

        def run() -> None:
            for memory in self._memories:
                self._side.print_tensor(program.title, memory.replica, memory.read(place), program.format)

        return run

    def _reading(self, copy: host.Copy, handle: str, tensor: Tensor, part: Part | None) -> Callable[[], None]:
        """The first part reads all values from the host; each part writes its own, the first also the metadata."""
        metadata, elements, dtype = self._metadata(tensor, part), tensor.numElements(), numpy_type(tensor.elementType())
        broadcast, pending = self._streams[handle][3], self._pending.setdefault(handle, {})
        part = part or Part(0, 1, 0, elements)
        mine = self._in_order(part_of(tensor, part.begin, part.end), True, arranged_by_host(copy))

        def run() -> None:
            for memory in self._memories:
                source = 0 if broadcast else memory.replica
                if part.number == 0 and memory.replica == source:
                    pending[source] = [np.empty(elements, dtype)]
                    self._side.read_stream(handle, source, pending[source][0])
                memory.write(mine, pending[source][0][part.begin : part.end])
                if metadata is not None:
                    memory.write(metadata, np.array(self._side.get_metadata(handle, memory.replica), np.uint8))

        return run

    def _metadata(self, tensor: Tensor, part: Part | None) -> AddressedTensor | None:
        """The metadata of a tensor, which moves with the first part."""
        return self._whole(tensor.getMetadata()) if tensor.hasMetadata() and (part is None or not part.number) else None

    def _writing(self, copy: host.Copy, tensor: Tensor, handle: str, part: Part | None) -> Callable[[], None]:
        """Each part reads its values, the first also the metadata; the last sends all to the host."""
        metadata, pending = self._metadata(tensor, part), self._pending.setdefault(handle, {})
        part = part or Part(0, 1, 0, tensor.numElements())
        mine = self._in_order(part_of(tensor, part.begin, part.end), False, arranged_by_host(copy))

        def run() -> None:
            for memory in self._memories:
                before = pending.get(memory.replica, []) if part.number else []
                pending[memory.replica] = [*before, memory.read(mine).reshape(-1)]
                if metadata is not None:
                    self._side.put_metadata(handle, memory.replica, int(memory.read(metadata)))
                if part.number == part.of - 1:
                    self._side.write_stream(handle, memory.replica, np.concatenate(pending[memory.replica]))

        return run
