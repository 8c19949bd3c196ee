"""Limits of the host's memory for streams and remote buffers.

Sources: "The maximum buffer size for each stream is 128 MBytes" (Poplar's page on DataStream; published errors speak of
binary megabytes), the same seen of one transfer of a remote buffer, and 16 GiB for all remote buffers of a system
without target.extendedMemory. Rows of remote buffers count with their padding (`machine.host_exchange`).
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.base.errors import stream_memory_allocation_error
from simulator.compiler.ir.program_visits import all_programs
from simulator.compiler.lowering.host_messages import elements_of_transfer
from simulator.graph.objects import DataStream, RemoteBuffer
from simulator.graph.program import Copy, Program
from simulator.graph.store import GraphStore
from simulator.machine.host_exchange import REMOTE_ROW_ALIGNMENT

#: Bytes of one transfer.
TRANSFER_BYTES = 128 << 20

#: Bytes of all remote buffers of a system.
REMOTE_BYTES = 16 << 30


def check_host_memory(store: GraphStore, programs: Iterable[Program], *, extended: bool) -> None:
    """Raise stream_memory_allocation_error for streams and remote buffers beyond the limits; `extended`:
    target.extendedMemory."""
    size = store.replicas * sum(buffer.repeats * _row_bytes(buffer) for buffer in store.remote_buffers)
    if size > REMOTE_BYTES and not extended:
        raise stream_memory_allocation_error(
            f"The remote buffers need {size} bytes, more than {REMOTE_BYTES} (16 GiB); set target.extendedMemory to "
            "true, or use smaller ones."
        )
    for program in all_programs([*programs, *store.functions]):
        if isinstance(program, Copy):
            for end in (program.source, program.destination):
                if isinstance(end, DataStream) and end.store is store:
                    _check_stream(store, end)
                elif isinstance(end, RemoteBuffer):
                    _check_rows(end, program)


def _check_stream(store: GraphStore, stream: DataStream) -> None:
    size = elements_of_transfer(stream, store.streams) * stream.elementType().size
    if size > TRANSFER_BYTES:
        raise stream_memory_allocation_error(
            f"Stream '{stream.name}' needs a buffer of {size} bytes, more than {TRANSFER_BYTES} (128 MiB); set its "
            "option splitLimit to what fits, or leave it out."
        )


def _row_bytes(buffer: RemoteBuffer) -> int:
    """Bytes of a row with its padding."""
    return -(-buffer.count * buffer.type.size // REMOTE_ROW_ALIGNMENT) * REMOTE_ROW_ALIGNMENT


def _check_rows(buffer: RemoteBuffer, copy: Copy) -> None:
    rows = 1 if copy.offset is None else copy.offset.numElements()
    size = rows * _row_bytes(buffer)
    if size > TRANSFER_BYTES:
        raise stream_memory_allocation_error(
            f"A copy of remote buffer '{buffer.name}' moves {size} bytes at a time ({rows} rows), more than "
            f"{TRANSFER_BYTES} (128 MiB); make several copies of fewer or shorter rows."
        )
