"""Streams, host reads and writes, functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.base.errors import graph_object_creation_error, invalid_option, stream_connection_error
from simulator.base.notices import no_effect
from simulator.base.options.flags import spelled
from simulator.base.options.option import integer
from simulator.base.types import FunctionBufferMappingType, ReplicatedStreamMode, Type
from simulator.graph.debug_context import Context, as_context, record
from simulator.graph.objects import DataStream, Function, FunctionBuffer
from simulator.graph.program import Program
from simulator.graph.tensor import Tensor
from simulator.programming.remote import RemoteMethods, named

#: Options of FIFOs and their defaults. splitLimit in bytes; 0 or 4294967295 = no limit.
SPLIT_LIMIT = 50 * 1024 * 1024
_FIFO_OPTIONS = {"splitLimit": str(SPLIT_LIMIT), "bufferingDepth": "1"}


class StreamMethods(RemoteMethods):
    def addHostToDeviceFIFO(
        self,
        handle: str,
        elementType: Type,
        numElements: int,
        replicatedMode: ReplicatedStreamMode = ReplicatedStreamMode.REPLICATE,
        options: Mapping[str, Any] | None = None,
    ) -> DataStream:
        """A stream whose Copy programs read `numElements` elements from the host: in each replica its own (REPLICATE),
        or the same in all of them (BROADCAST).

        Options: splitLimit (bytes), bufferingDepth (entries prefetched ahead)."""
        checked = _options(handle, options, ("splitLimit", "bufferingDepth"))
        if not isinstance(replicatedMode, ReplicatedStreamMode):
            raise graph_object_creation_error(
                f"Stream '{handle}': {replicatedMode!r} is not a ReplicatedStreamMode; use REPLICATE or BROADCAST."
            )
        same = replicatedMode is ReplicatedStreamMode.BROADCAST
        return self._add_stream(handle, elementType, numElements, True, checked, "fifo", same)

    def addDeviceToHostFIFO(
        self, handle: str, elementType: Type, numElements: int, options: Mapping[str, Any] | None = None
    ) -> DataStream:
        """A stream whose Copy programs write `numElements` elements to the host. Option: splitLimit (bytes)."""
        return self._add_stream(
            handle, elementType, numElements, False, _options(handle, options, ("splitLimit",)), "fifo"
        )

    def _add_stream(
        self,
        handle: str,
        type_: Type,
        count: int,
        to_device: bool,
        options: dict[str, str],
        kind: str,
        broadcast: bool = False,
    ) -> DataStream:
        s = self.store.streams
        named(handle, "stream")
        # A host read and a host write may share a handle, as a program names a tensor once for both directions.
        same = [k for h, k, d in zip(s.handle, s.kind, s.to_device, strict=True) if h == handle and d == to_device]
        if same or (kind == "fifo" and handle in s.handle):
            raise stream_connection_error(f"Stream '{handle}' exists already; give every stream its own handle.")
        if not isinstance(count, int | np.integer) or count < 1:
            raise graph_object_creation_error(f"Stream '{handle}' cannot move {count!r} elements; give at least 1.")
        if not isinstance(type_, Type):
            raise graph_object_creation_error(f"Stream '{handle}': {type_!r} is not an element type.")
        s.handle.append(handle)
        s.type.append(type_)
        s.numel.append(int(count))
        s.to_device.append(to_device)
        s.options.append(options)
        s.kind.append(kind)
        s.broadcast.append(broadcast)
        record(self.store, as_context(handle), "stream", arguments={"numElements": int(count), "type": type_.name})
        mode = ReplicatedStreamMode.BROADCAST if broadcast else ReplicatedStreamMode.REPLICATE
        store = self.store
        return DataStream(len(s.handle) - 1, handle, type_, int(count), to_device, store.replicas, mode, store)

    def createHostWrite(self, handle: str, t: Tensor, rearrangeOnHost: bool = False) -> None:
        """Let `Engine.writeTensor(handle, ...)` write the tensor."""
        self._host_copy("write", handle, t, rearrangeOnHost)

    def createHostRead(self, handle: str, t: Tensor, rearrangeOnHost: bool = False) -> None:
        """Let `Engine.readTensor(handle, ...)` read the tensor."""
        self._host_copy("read", handle, t, rearrangeOnHost)

    def _host_copy(self, kind: str, handle: str, t: Tensor, rearrange_on_host: bool) -> None:
        self._own(t, "createHostWrite" if kind == "write" else "createHostRead")
        if kind == "write" and not t.isParallelWriteable():
            raise graph_object_creation_error(
                f"createHostWrite '{handle}': the tensor holds a constant or an element twice and cannot be written."
            )
        options = {"rearrangeOnHost": "true" if rearrange_on_host else "false"}
        if rearrange_on_host:
            no_effect("rearrangeOnHost=true")
        self._add_stream(handle, t.elementType(), t.numElements(), kind == "write", options, kind)
        self.store.host_copies.append((kind, handle, t))
        for v in [*t.view.variables(), *(t.getMetadata().view.variables() if t.hasMetadata() else ())]:
            self.store.variables.host_visible[v] = True

    def addFunction(self, program: Program, debugContext: Context = "") -> Function:
        """Make a program, as it is now, callable: its code exists once, however often it is called."""
        if not isinstance(program, Program):
            raise graph_object_creation_error(f"addFunction needs a program, got {program!r}.")
        self.store.functions.append(program.as_part())
        record(self.store, as_context(debugContext), "function")
        return Function(len(self.store.functions) - 1, self.store)

    def addFunctionBuffer(self, f: Function, mappingType: FunctionBufferMappingType) -> FunctionBuffer:
        """A buffer that holds the code and constant graph state of a function, in tile memory (LOCAL) or outside
        (REMOTE). With one, the function's code is live only from `Copy(buffer, f)` to the last `Call(f)` after it."""
        if not isinstance(f, Function) or f.id >= len(self.store.functions):
            raise graph_object_creation_error(f"addFunctionBuffer needs a function from addFunction, got {f!r}.")
        if not isinstance(mappingType, FunctionBufferMappingType):
            raise graph_object_creation_error(
                f"addFunctionBuffer: the mapping is FunctionBufferMappingType.LOCAL or REMOTE, got {mappingType!r}."
            )
        self.store.function_buffers.append((f.id, mappingType))
        return FunctionBuffer(len(self.store.function_buffers) - 1, f.id, mappingType)


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
