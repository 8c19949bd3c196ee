"""The part of `Engine` that moves data: tensors, streams, host functions, remote buffers, and what is printed."""

from __future__ import annotations

from typing import Any, TextIO, overload

from simulator.base.errors import stream_connection_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.text_output import checked_stream
from simulator.engine.state import EngineState
from simulator.runtime.host.host_buffers import memory_between
from simulator.runtime.host.quarter_ends import is_metadata


class HostDataMethods(EngineState):
    # ---- tensors -----------------------------------------------------------------------------------------------

    @overload
    def readTensor(self, handle: str, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def readTensor(self, handle: str, metadata: QuarterMetadata, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def readTensor(self, handle: str, buffer: Any) -> None: ...
    def readTensor(self, handle: str, *arguments: Any, **named: Any) -> None:
        """Copy the tensor marked by createHostRead into a buffer: an ndarray or other memory, or its begin and end.
        The buffer gets the tensor of each replica, one after the other. Of a QUARTER tensor it gets the encoded bytes,
        and `metadata`, which comes first, gets the tensor's metadata.

        Raises stream_connection_error for an unknown handle, another size or another type, and poplar_error before the
        engine is loaded."""
        metadata, buffer = _buffer_of(f"Tensor '{handle}'", arguments, named)
        self._core.read(handle, buffer, metadata)

    @overload
    def writeTensor(self, handle: str, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def writeTensor(self, handle: str, metadata: QuarterMetadata, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def writeTensor(self, handle: str, buffer: Any) -> None: ...
    def writeTensor(self, handle: str, *arguments: Any, **named: Any) -> None:
        """Copy a buffer, or what is between its begin and end, into the tensor marked by createHostWrite; it holds the
        tensor of each replica, one after the other. For a QUARTER tensor it holds the encoded bytes, and `metadata`
        comes first. Raises as readTensor does."""
        metadata, buffer = _buffer_of(f"Tensor '{handle}'", arguments, named)
        self._core.write(handle, buffer, metadata)

    # ---- streams -----------------------------------------------------------------------------------------------

    @overload
    def connectStream(self, handle: str, begin: Any, end: Any, /) -> None: ...
    @overload
    def connectStream(self, handle: str, metadata: list[QuarterMetadata], begin: Any, end: Any = None, /) -> None: ...
    @overload
    def connectStream(self, handle: str, buffer: Any) -> None: ...
    @overload
    def connectStream(self, handle: str, p: Any) -> None: ...
    def connectStream(self, handle: str, *arguments: Any, **named: Any) -> None:
        """Connect a stream to memory that each transfer advances through, wrapping at its end: a buffer, or its begin
        and end (two ctypes pointers, or an array and a view of its end). Memory of one transfer, or a ctypes pointer
        alone, is a fixed location. Replicas share the memory and take turns at each transfer, in order. A stream of
        QUARTER takes a list of QuarterMetadata first, one for each replica, read or written with each transfer.

        Raises stream_connection_error for an unknown handle, memory of another type, and less than one transfer."""
        metadata, buffer = _buffer_of(f"Stream '{handle}'", arguments, named, pointers=True)
        self._core.connect_stream(handle, metadata, *buffer)

    @overload
    def connectStreamToCallback(self, handle: str, f: Any) -> None: ...
    @overload
    def connectStreamToCallback(self, handle: str, index: int, f: Any) -> None: ...
    def connectStreamToCallback(self, handle: str, *arguments: Any, **named: Any) -> None:
        """Connect a stream to a callback (`stream_callback`): that of replica `index`, or those of all
        replicas. It is called with the transfer's memory, an ndarray valid during the call; that of a stream of QUARTER
        with the metadata in front.

        Raises stream_connection_error for an unknown handle or replica, and for what cannot be called;
        tensor_metadata_error for a callback with metadata where the type has none, and the other way round."""
        given = list(arguments)
        f = named.pop("f") if "f" in named else given.pop() if given else None
        index = named.pop("index") if "index" in named else given.pop() if given else None
        if given or named or f is None:
            raise TypeError(f"connectStreamToCallback('{handle}') takes (handle, f) or (handle, index, f).")
        self._core.connect_callback(handle, f, index)

    def connectHostFunction(self, handle: str, index: int, f: Any) -> None:
        """Give a host function its code in replica `index`: a function or HostCallback taking (inputs, outputs), two
        lists of flat ndarrays, one per argument and valid during the call; it fills the outputs.

        Raises stream_connection_error for an unknown handle or replica, and for what cannot be called."""
        self._core.host_functions.connect(handle, index, f)

    def listStreams(self) -> list[str]:
        """Handles, each with "+" (host writes) or "-" (host reads) behind it."""
        return self._core.list_streams()

    # ---- remote buffers ----------------------------------------------------------------------------------------

    @overload
    def copyFromRemoteBuffer(self, handle: str, w: Any, repeatIndex: int, replicationIndex: int = 0) -> None: ...
    @overload
    def copyFromRemoteBuffer(self, handle: str, buffer: Any, repeatIndex: int, replicationIndex: int = 0) -> None: ...
    def copyFromRemoteBuffer(  # type: ignore[misc]
        self, handle: str, w: Any = None, repeatIndex: int = 0, replicationIndex: int = 0, *, buffer: Any = None
    ) -> None:
        """Copy row `repeatIndex` of a replica's remote buffer into a buffer of exactly its size; zeros where nothing
        was written to it since the engine was loaded.

        Raises stream_connection_error for an unknown handle, row or replica, another size or another type."""
        self._require_loaded(f"Remote buffer '{handle}'")
        self._core.remote.to_host(handle, w if buffer is None else buffer, repeatIndex, replicationIndex)

    @overload
    def copyToRemoteBuffer(self, w: Any, handle: str, repeatIndex: int, replicationIndex: int = 0) -> None: ...
    @overload
    def copyToRemoteBuffer(self, buffer: Any, handle: str, repeatIndex: int, replicationIndex: int = 0) -> None: ...
    def copyToRemoteBuffer(  # type: ignore[misc]
        self, w: Any = None, handle: str = "", repeatIndex: int = 0, replicationIndex: int = 0, *, buffer: Any = None
    ) -> None:
        """Copy a buffer of exactly its size into row `repeatIndex` of a replica's remote buffer. Raises as
        copyFromRemoteBuffer does."""
        self._require_loaded(f"Remote buffer '{handle}'")
        self._core.remote.from_host(handle, w if buffer is None else buffer, repeatIndex, replicationIndex)

    def _require_loaded(self, what: str) -> None:
        if not self._core.loaded:
            raise stream_connection_error(f"{what} holds nothing before the engine is loaded; call load(device).")

    # ---- what is printed ---------------------------------------------------------------------------------------

    def setPrintStream(self, stream: TextIO) -> None:
        """Where printf of C and C++ codelets and print of Python codelets go, labelled by tile and worker; standard
        error before."""
        self._core.codelet_prints.stream = checked_stream(stream, "setPrintStream")

    def setPrintTensorStream(self, stream: TextIO) -> None:
        """Where PrintTensor writes; standard error before."""
        self._core.print_stream = checked_stream(stream, "setPrintTensorStream")


_NAMES = ("buf", "buffer", "begin", "p", "bufEnd", "end")


def _buffer_of(what: str, arguments: tuple[Any, ...], named: dict[str, Any], pointers: bool = False) -> tuple[Any, Any]:
    """(metadata or None, the buffer) of one of Poplar's forms; `pointers`: as it was given, begin or begin and end."""
    given = list(arguments)
    metadata = named.pop("metadata", None)
    if metadata is None and given and is_metadata(given[0]):
        metadata = given.pop(0)
    given += [named.pop(name) for name in _NAMES if name in named]
    given = [part for part in given if part is not None]
    if named or not 1 <= len(given) <= 2:
        raise TypeError(f"{what}: give a buffer, or its begin and end; got {len(given)} arguments {sorted(named)}.")
    if pointers:
        return metadata, tuple(given)
    return metadata, given[0] if len(given) == 1 else memory_between(given[0], given[1], what)
