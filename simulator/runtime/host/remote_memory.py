"""Remote buffers of a loaded program: rows outside the IPU, per replica, stored sparsely.

A row takes host memory only once it is written, because a buffer may be far larger than the host's memory. Rows that
were never written read as zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.base.errors import application_runtime_error, stream_connection_error
from simulator.base.types import numpy_type
from simulator.graph.objects import RemoteBuffer
from simulator.runtime.host.host_buffers import fixed_memory, memory_of


class RemoteMemory:
    """The rows of all remote buffers of a graph, by handle. `strict`: programs may read only written rows."""

    def __init__(self, buffers: Mapping[str, RemoteBuffer], replicas: int, strict: bool = False) -> None:
        self._buffers = buffers
        self._replicas = replicas
        self._strict = strict
        self._rows: dict[tuple[str, int, int], AnyArray] = {}

    def clear(self) -> None:
        """Forget all rows: they read as zeros again."""
        self._rows = {}

    # Programs

    def read_rows(self, handle: str, replica: int, rows: Iterable[int]) -> AnyArray:
        """(rows, elements) of one replica's buffer. Raises application_runtime_error for a row out of range, and with
        `strict` for a row that was never written."""
        buffer = self._buffers[handle]
        wanted = self._checked(buffer, replica, rows)
        values = np.zeros((len(wanted), buffer.count), numpy_type(buffer.type))
        for into, row in zip(values, wanted, strict=True):
            stored = self._rows.get((handle, replica, row))
            if stored is not None:
                into[...] = stored
            elif self._strict:
                raise application_runtime_error(
                    f"Remote buffer '{handle}': row {row}{_replica_text(replica, self._replicas)} is read, but "
                    "nothing was ever written to it (found by debug.runtimeVerify); write it first."
                )
        return values

    def write_rows(self, handle: str, replica: int, rows: Iterable[int], values: AnyArray) -> None:
        """Store (rows, elements) into one replica's buffer; of a repeated row the last value counts. Raises
        application_runtime_error for a row out of range."""
        buffer = self._buffers[handle]
        wanted = self._checked(buffer, replica, rows)
        for row, line in zip(wanted, values.reshape(len(wanted), buffer.count), strict=True):
            self._rows[handle, replica, row] = line.copy()

    # The host

    def to_host(self, handle: str, into: Any, repeat: int, replica: int) -> None:
        """Copy one row into a buffer of exactly its size."""
        buffer = self._buffer(handle)
        memory = self._host_row(buffer, into, repeat, replica, writable=True)
        stored = self._rows.get((handle, replica, repeat))
        memory[...] = 0 if stored is None else stored

    def from_host(self, handle: str, values: Any, repeat: int, replica: int) -> None:
        """Copy a buffer of exactly its size into one row."""
        buffer = self._buffer(handle)
        memory = self._host_row(buffer, values, repeat, replica, writable=False)
        self._rows[handle, replica, repeat] = memory.copy()

    def _buffer(self, handle: str) -> RemoteBuffer:
        if handle not in self._buffers:
            names = ", ".join(self._buffers) or "none"
            raise stream_connection_error(
                f"There is no remote buffer '{handle}'; the remote buffers of this engine are: {names}."
            )
        return self._buffers[handle]

    def _host_row(self, buffer: RemoteBuffer, memory: Any, repeat: int, replica: int, *, writable: bool) -> AnyArray:
        what = f"Remote buffer '{buffer.name}'"
        if isinstance(repeat, bool) or not isinstance(repeat, int | np.integer) or not 0 <= repeat < buffer.repeats:
            raise stream_connection_error(f"{what} has no row {repeat!r}; its rows are 0 to {buffer.repeats - 1}.")
        if not 0 <= replica < self._replicas:
            raise stream_connection_error(f"{what} has no replica {replica}; it has 0 to {self._replicas - 1}.")
        memory = fixed_memory(memory, buffer.type, buffer.count, what)
        flat = memory_of(memory, buffer.type, what, writable=writable)
        if len(flat) != buffer.count:
            raise stream_connection_error(
                f"{what} moves {buffer.count} elements at a time, but the buffer holds {len(flat)}."
            )
        return flat

    def _checked(self, buffer: RemoteBuffer, replica: int, rows: Iterable[int]) -> Sequence[int]:
        wanted = [int(row) for row in rows]
        for row in wanted:
            if not 0 <= row < buffer.repeats:
                which = _replica_text(replica, self._replicas)
                raise application_runtime_error(
                    f"Remote buffer '{buffer.name}': a program asks for row {row}{which}, but its rows are "
                    f"0 to {buffer.repeats - 1}."
                )
        return wanted


def _replica_text(replica: int, replicas: int) -> str:
    return f" of replica {replica}" if replicas > 1 else ""
