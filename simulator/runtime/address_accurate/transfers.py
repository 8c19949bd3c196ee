"""Host copies: between host memory and the addresses of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simulator.poplar import program as host
from simulator.poplar.types import numpy_type
from simulator.runtime.address_accurate.compute_parts import Replica
from simulator.runtime.address_accurate.tile_memory import TileMemory

if TYPE_CHECKING:
    from simulator.poplar.tensor import Tensor
    from simulator.runtime.numeric_plan import HostSide

I8 = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AddressedTensor:
    """A tensor as addresses: of each of its bytes, by replica, in flattened order."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    addresses: tuple[I8, ...]


def addressed(tensor: Tensor, replicas: Sequence[Replica]) -> AddressedTensor:
    """Where a tensor lies."""
    starts, lengths = tensor.regions()
    emap = replicas[0].emap
    cut = emap.cut(starts, lengths)
    tile, item = emap.tile[cut.row], emap.item_bytes[cut.row]
    places = tuple(r.slots.bytes_of(tile + r.shift, cut.start, cut.length, item) for r in replicas)
    return AddressedTensor(tuple(tensor.shape()), numpy_type(tensor.elementType()), places)


class ReplicaMemory:
    """One replica's tensors in the bytes of the tiles."""

    def __init__(self, memory: TileMemory, replica: int) -> None:
        self.memory, self.replica = memory, replica

    def read(self, place: AddressedTensor) -> Array:
        """The values, a private copy."""
        return self.memory.read(place.addresses[self.replica], place.dtype).reshape(place.shape)

    def write(self, place: AddressedTensor, values: Array) -> None:
        """Store values of the place's shape, or flattened."""
        self.memory.write(place.addresses[self.replica], np.asarray(values, place.dtype))


class HostTransfers:
    """Stream copies and prints. `streams`: as NumericPlan.streams."""

    def __init__(
        self, replicas: Sequence[Replica], memories: Sequence[ReplicaMemory], streams: Mapping[str, Any], side: HostSide
    ) -> None:
        self._replicas, self._memories, self._streams, self._side = replicas, memories, streams, side

    def action(self, program: host.Copy | host.PrintTensor) -> Callable[[], None] | None:
        """What a program does to the host, None for copies of function buffers, which hold no values."""
        if isinstance(program, host.PrintTensor):
            return self._printing(program)
        if program.kind == "host_to_device":
            return self._reading(program.source.handle, addressed(program.destination, self._replicas))
        if program.kind == "device_to_host":
            return self._writing(addressed(program.source, self._replicas), program.destination.handle)
        return None

    def _printing(self, program: host.PrintTensor) -> Callable[[], None]:
        place = addressed(program.tensor, self._replicas)

        def run() -> None:
            for memory in self._memories:
                self._side.print_tensor(program.title, memory.replica, memory.read(place), program.format)

        return run

    def _reading(self, handle: str, place: AddressedTensor) -> Callable[[], None]:
        count = int(np.prod(place.shape))
        broadcast = self._streams[handle][3]

        def run() -> None:
            values = np.empty(count, place.dtype)
            for memory in self._memories:
                if not broadcast or memory.replica == 0:
                    self._side.read_stream(handle, memory.replica, values)
                memory.write(place, values)

        return run

    def _writing(self, place: AddressedTensor, handle: str) -> Callable[[], None]:
        def run() -> None:
            for memory in self._memories:
                self._side.write_stream(handle, memory.replica, memory.read(place).reshape(-1))

        return run
