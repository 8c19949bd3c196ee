"""Streams, host copies, remote buffers, host functions, and functions of programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from simulator.base.errors import graph_object_creation_error, invalid_option, stream_connection_error, type_error
from simulator.base.options.flags import spelled
from simulator.base.options.option import integer
from simulator.base.types import (
    MOST_BYTES,
    MOST_REMOTE_BYTES,
    FunctionBufferMappingType,
    ReplicatedStreamMode,
    Type,
)
from simulator.building.state import GraphState
from simulator.graph.debug_context import Context, as_context, record
from simulator.graph.objects import DataStream, Function, FunctionBuffer, HostFunction, RemoteBuffer
from simulator.graph.program import Program
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor

#: Options of FIFOs and their defaults. splitLimit in bytes; 0 or 4294967295 = no limit.
SPLIT_LIMIT = 50 * 1024 * 1024
_FIFO_OPTIONS = {"splitLimit": str(SPLIT_LIMIT), "bufferingDepth": "1"}


class _Argument(NamedTuple):
    type: Type
    numElements: int


class HostFunctionArgument(_Argument):
    """One input or output of a host function; a plain (type, number) serves as well. Raises `type_error` for what is no
    type and no whole number."""

    __slots__ = ()

    def __new__(cls, type: Type, numElements: int) -> HostFunctionArgument:
        if not isinstance(type, Type) or not isinstance(numElements, int | np.integer):
            raise type_error(
                f"HostFunctionArgument takes a type and a number of elements, not ({type!r:.40}, {numElements!r:.40})."
            )
        return tuple.__new__(cls, (type, int(numElements)))


# ---- streams ---------------------------------------------------------------------------------------------------------


def host_to_device_fifo(
    store: GraphStore,
    handle: str,
    type_: Type,
    count: int,
    mode: ReplicatedStreamMode,
    options: Mapping[str, Any] | None,
) -> DataStream:
    """`Graph.addHostToDeviceFIFO`."""
    checked = _options(handle, options, ("splitLimit", "bufferingDepth"))
    if not isinstance(mode, ReplicatedStreamMode):
        raise graph_object_creation_error(
            f"Stream '{handle}': {mode!r} is not a ReplicatedStreamMode; use REPLICATE or BROADCAST."
        )
    same = mode is ReplicatedStreamMode.BROADCAST
    return _add_stream(store, handle, type_, count, True, checked, "fifo", same)


def device_to_host_fifo(
    store: GraphStore, handle: str, type_: Type, count: int, options: Mapping[str, Any] | None
) -> DataStream:
    """`Graph.addDeviceToHostFIFO`."""
    return _add_stream(store, handle, type_, count, False, _options(handle, options, ("splitLimit",)), "fifo")


def host_copy(state: GraphState, kind: str, handle: str, t: Tensor, rearrange_on_host: bool) -> None:
    """`Graph.createHostWrite` ("write") and `Graph.createHostRead` ("read")."""
    store = state.store
    state.require_tensor(t, "createHostWrite" if kind == "write" else "createHostRead")
    if kind == "write" and not t.isParallelWriteable():
        raise graph_object_creation_error(
            f"createHostWrite '{handle}': the tensor holds a constant or an element twice and cannot be written."
        )
    options = {"rearrangeOnHost": "true" if rearrange_on_host else "false"}
    _add_stream(store, handle, t.elementType(), t.numElements(), kind == "write", options, kind)
    store.host_copies.append((kind, handle, t))
    for v in [*t.view.variables(), *(t.getMetadata().view.variables() if t.hasMetadata() else ())]:
        store.variables.host_visible[v] = True


def _add_stream(
    store: GraphStore,
    handle: str,
    type_: Type,
    count: int,
    to_device: bool,
    options: dict[str, str],
    kind: str,
    broadcast: bool = False,
) -> DataStream:
    s = store.streams
    _require_handle(handle, "stream")
    # A host read and a host write may share a handle, as a program names a tensor once for both directions.
    same = [(k, d) for h, k, d in zip(s.handle, s.kind, s.to_device, strict=True) if h == handle]
    if any("fifo" in (kind, k) or d == to_device for k, d in same):
        raise stream_connection_error(f"Stream '{handle}' exists already; give every stream its own handle.")
    if any(buffer.name == handle for buffer in store.remote_buffers):
        raise stream_connection_error(f"Remote buffer '{handle}' exists already; give the stream its own handle.")
    if not isinstance(count, int | np.integer) or count < 1:
        raise graph_object_creation_error(f"Stream '{handle}' cannot move {count!r} elements; give at least 1.")
    if not isinstance(type_, Type):
        raise graph_object_creation_error(f"Stream '{handle}': {type_!r} is not an element type.")
    if int(count) * type_.size > MOST_BYTES:
        raise graph_object_creation_error(
            f"Stream '{handle}' would move {int(count) * type_.size} bytes at a time, more than {MOST_BYTES} (256 "
            "GiB); use a smaller one."
        )
    s.handle.append(handle)
    s.type.append(type_)
    s.numel.append(int(count))
    s.to_device.append(to_device)
    s.options.append(options)
    s.kind.append(kind)
    s.broadcast.append(broadcast)
    record(store, as_context(handle), "stream", arguments={"numElements": int(count), "type": type_.name})
    mode = ReplicatedStreamMode.BROADCAST if broadcast else ReplicatedStreamMode.REPLICATE
    return DataStream(len(s.handle) - 1, handle, type_, int(count), to_device, store.replicas, mode, store)


def _options(handle: str, options: Mapping[str, Any] | None, known: tuple[str, ...]) -> dict[str, str]:
    out = {name: _FIFO_OPTIONS[name] for name in known}
    for name, value in (options or {}).items():
        if name not in known:
            raise invalid_option(f"Stream '{handle}': '{name}' is not an option; the options are {', '.join(known)}.")
        text = spelled(name, value)
        try:
            number = integer(text)
        except ValueError:
            raise invalid_option(f"Stream '{handle}': option {name} needs a whole number, got '{text}'.") from None
        if name == "bufferingDepth" and number < 1:
            raise invalid_option(f"Stream '{handle}': option bufferingDepth is at least 1, got '{text}'.")
        out[name] = str(number)
    return out


# ---- remote buffers and host functions -------------------------------------------------------------------------------


def add_remote_buffer(
    store: GraphStore, handle: str, type_: Type, count: int, repeats: int, rearrange_on_host: bool, for_memory: bool
) -> RemoteBuffer:
    """`Graph.addRemoteBuffer`; `for_memory`: optimiseMemory."""
    _require_handle(handle, "remote buffer")
    what = f"Remote buffer '{handle}'"
    if any(buffer.name == handle for buffer in store.remote_buffers):
        raise graph_object_creation_error(f"{what} exists already; give every remote buffer its own handle.")
    if handle in store.streams.handle:
        raise graph_object_creation_error(f"Stream '{handle}' exists already; give the remote buffer its own handle.")
    if not isinstance(type_, Type):
        raise graph_object_creation_error(f"{what}: {type_!r} is not an element type.")
    for name, value in (("numElements", count), ("repeats", repeats)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise graph_object_creation_error(f"{what}: {name}={value!r} must be a whole number of at least 1.")
    size = int(count) * int(repeats) * type_.size
    if size > MOST_REMOTE_BYTES:
        raise graph_object_creation_error(
            f"{what} would hold {size} bytes, more than {MOST_REMOTE_BYTES} (256 TiB); use a smaller one."
        )
    arguments = {"numElements": count, "repeats": repeats, "type": type_.name}
    record(store, as_context(handle), "remoteBuffer", arguments=arguments)
    number, flags = len(store.remote_buffers), (bool(rearrange_on_host), bool(for_memory))
    buffer = RemoteBuffer(number, handle, type_, int(count), int(repeats), *flags)
    store.remote_buffers.append(buffer)
    return buffer


def add_host_function(
    store: GraphStore,
    handle: str,
    inputs: Iterable[HostFunctionArgument | tuple[Type, int]],
    outputs: Iterable[HostFunctionArgument | tuple[Type, int]],
) -> HostFunction:
    """`Graph.addHostFunction`."""
    _require_handle(handle, "host function")
    if any(function.name == handle for function in store.host_functions):
        raise graph_object_creation_error(f"Host function '{handle}' exists already; give each its own handle.")
    arguments = [_arguments(handle, kind, given) for kind, given in (("inputs", inputs), ("outputs", outputs))]
    record(store, as_context(handle), "hostFunction")
    function = HostFunction(len(store.host_functions), handle, *arguments)
    store.host_functions.append(function)
    return function


def _arguments(handle: str, kind: str, given: Iterable[tuple[Type, int]]) -> tuple[tuple[Type, int], ...]:
    out = []
    for pair in given:
        fits = isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], Type)
        if not fits or isinstance(pair[1], bool) or not isinstance(pair[1], int | np.integer) or pair[1] < 1:
            raise graph_object_creation_error(
                f"Host function '{handle}': {kind} are pairs of a type and a number of elements, got {pair!r}."
            )
        out.append((pair[0], int(pair[1])))
    return tuple(out)


def _require_handle(handle: Any, what: str) -> None:
    if not isinstance(handle, str):
        raise graph_object_creation_error(f"The handle of a {what} is a string, not {handle!r}.")


# ---- functions -------------------------------------------------------------------------------------------------------


def add_function(store: GraphStore, program: Program, context: Context) -> Function:
    """`Graph.addFunction`."""
    if not isinstance(program, Program):
        raise graph_object_creation_error(f"addFunction needs a program, got {program!r}.")
    own = as_context(context)
    store.functions.append(program.as_part())
    record(store, own, "function")
    return Function(len(store.functions) - 1, store)


def add_function_buffer(store: GraphStore, f: Function, mapping: FunctionBufferMappingType) -> FunctionBuffer:
    """`Graph.addFunctionBuffer`."""
    if not isinstance(f, Function) or f.id >= len(store.functions):
        raise graph_object_creation_error(f"addFunctionBuffer needs a function from addFunction, got {f!r}.")
    if not isinstance(mapping, FunctionBufferMappingType):
        raise graph_object_creation_error(
            f"addFunctionBuffer: the mapping is FunctionBufferMappingType.LOCAL or REMOTE, got {mapping!r}."
        )
    store.function_buffers.append((f.id, mapping))
    return FunctionBuffer(len(store.function_buffers) - 1, f.id, mapping)
