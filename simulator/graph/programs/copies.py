"""Programs that move data: between tensors, streams, remote buffers, function buffers and replicas."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any, overload

from simulator.base.errors import graph_connection_error, graph_replication_error
from simulator.base.wrong_arguments import check_flags
from simulator.graph.debug_context import Context, as_context
from simulator.graph.objects import DataStream, Function, FunctionBuffer, RemoteBuffer
from simulator.graph.programs.base import Program
from simulator.graph.programs.checks import check_function_copy, check_remote_copy, check_stream_copy, check_tensor_copy
from simulator.graph.tensor import Tensor


class Copy(Program):
    """Copy a tensor to a tensor, a host-to-device stream to a tensor, a tensor to a device-to-host stream, rows of a
    remote buffer to or from a tensor, or the code of a function between the function and a function buffer or from one
    of its buffers to another.

    `offset` (UNSIGNED_INT or INT, a scalar or one number per row) selects the rows of a remote buffer; without one it
    is row 0. `dontOutline`: this copy shares no code with equal copies. `optimiseMemory`: the
    host exchange takes less code and more cycles.

    Raises `graph_connection_error` where counts or types differ, the destination is not writeable, overlaps the
    source, or a stream points the other way."""

    @overload
    def __init__(self, src: Tensor, dst: Tensor, dontOutline: bool = False, debugContext: Context = "") -> None: ...
    @overload
    def __init__(
        self, stream: DataStream, dst: Tensor, optimiseMemory: bool = False, debugContext: Context = ""
    ) -> None: ...
    @overload
    def __init__(
        self, src: Tensor, stream: DataStream, optimiseMemory: bool = False, debugContext: Context = ""
    ) -> None: ...
    @overload
    def __init__(self, buffer: RemoteBuffer, dst: Tensor, debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, buffer: RemoteBuffer, dst: Tensor, offset: Tensor, debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, src: Tensor, buffer: RemoteBuffer, debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, src: Tensor, buffer: RemoteBuffer, offset: Tensor, debugContext: Context = "") -> None: ...
    @overload
    def __init__(
        self, src: FunctionBuffer | Function, dst: FunctionBuffer | Function, debugContext: Context = ""
    ) -> None: ...
    @overload
    def __init__(self, src: Any, dst: Any, debugContext: Context, /) -> None: ...
    def __init__(
        self,
        *arguments: Any,
        dontOutline: bool = False,
        optimiseMemory: bool = False,
        offset: Tensor | None = None,
        debugContext: Context = "",
        **names: Any,
    ) -> None:
        source, destination, rest = _ends(arguments, names)
        flag = rest.pop(0) if rest and isinstance(rest[0], bool) else None
        offset = rest.pop(0) if rest and isinstance(rest[0], Tensor) else offset
        debugContext = rest.pop(0) if rest else debugContext
        if rest:
            raise graph_connection_error(f"Copy: {rest[0]!r} is one argument too many.")
        self.source, self.destination = source, destination
        self.debug = as_context(debugContext)
        self.offset: Tensor | None = None
        self.dont_outline = self.optimise_memory = False
        ends = (source, destination)
        if all(isinstance(end, Tensor) for end in ends):
            self.kind = "tensor"
            self.dont_outline = bool(flag) or dontOutline
            check_tensor_copy(source, destination)
        elif any(isinstance(end, RemoteBuffer) for end in ends):
            self.kind = "from_remote" if isinstance(source, RemoteBuffer) else "to_remote"
            check_remote_copy(source, destination, offset)
            self.offset = offset
        elif isinstance(source, DataStream) and isinstance(destination, Tensor):
            self.kind = "host_to_device"
            self.optimise_memory = bool(flag) or optimiseMemory
            check_stream_copy(source, destination, True)
        elif isinstance(source, Tensor) and isinstance(destination, DataStream):
            self.kind = "device_to_host"
            self.optimise_memory = bool(flag) or optimiseMemory
            check_stream_copy(destination, source, False)
        elif FunctionBuffer in (type(source), type(destination)):
            self.kind = "function"
            check_function_copy(source, destination)
        else:
            raise graph_connection_error(
                f"Copy goes between two tensors or a tensor and a stream or remote buffer, not from {source!r} to "
                f"{destination!r}."
            )
        self._check_arguments(flag, offset, {"dontOutline": dontOutline, "optimiseMemory": optimiseMemory})

    def _check_arguments(self, flag: bool | None, offset: Tensor | None, named: dict[str, bool]) -> None:
        """Raise `graph_connection_error` for an argument that this kind of copy does not take."""
        check_flags("Copy", **named)
        remote, function = self.kind in ("from_remote", "to_remote"), self.kind == "function"
        wrong = ["offset"] if offset is not None and not remote else []
        wrong += ["a flag"] if flag is not None and (remote or function) else []
        wrong += ["dontOutline"] if named["dontOutline"] and self.kind != "tensor" else []
        wrong += ["optimiseMemory"] if named["optimiseMemory"] and (self.kind == "tensor" or remote or function) else []
        if wrong:
            raise graph_connection_error(
                f"Copy: {wrong[0]} does not apply to a copy from {self.source!r:.60} to {self.destination!r:.60}; "
                "dontOutline is for copies between tensors, optimiseMemory for streams, offset for remote buffers."
            )

    def reads(self) -> SequenceOf[Tensor]:
        read = [] if not isinstance(self.source, Tensor) else [self.source]
        return read if self.offset is None else [*read, self.offset]

    def writes(self) -> SequenceOf[Tensor]:
        return () if not isinstance(self.destination, Tensor) else (self.destination,)


def _ends(arguments: tuple[Any, ...], names: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
    """Source, destination and the arguments behind them. A stream or buffer given by name is the missing end."""
    rest = list(arguments)
    ends = {
        "src": rest.pop(0) if rest else names.pop("src", None),
        "dst": rest.pop(0) if rest else names.pop("dst", None),
    }
    for name in ("stream", "buffer"):
        free = next((end for end, value in ends.items() if value is None), None)
        if name in names and free is not None:
            ends[free] = names.pop(name)
    if names or any(end is None for end in ends.values()):
        wrong = f"has no argument {next(iter(names))!r}" if names else "has a source and a destination"
        raise graph_connection_error(
            f"Copy {wrong}: it takes src or a stream or buffer, and dst or a stream or buffer."
        )
    return ends["src"], ends["dst"], rest


class CrossReplicaCopy(Program):
    """Copy a tensor of each replica to a tensor of another one: replica r sends to replica `replicaMap[r]`.

    Raises `graph_connection_error` as Copy does, and for different shapes; `graph_replication_error` unless every
    replica of the graph is named once as source and once as destination, and never as its own."""

    def __init__(self, src: Tensor, dst: Tensor, replicaMap: Mapping[int, int], debugContext: Context = "") -> None:
        source, destination = src, dst
        if not isinstance(source, Tensor) or not isinstance(destination, Tensor):
            raise graph_connection_error(f"CrossReplicaCopy needs two tensors, got {source!r} and {destination!r}.")
        check_tensor_copy(source, destination, "CrossReplicaCopy")
        if source.shape() != destination.shape():
            raise graph_connection_error(
                f"CrossReplicaCopy: the source has shape {source.shape()}, the destination {destination.shape()}; "
                "they must be equal."
            )
        replicas = list(range(source.view.store.replicas))
        ends = sorted(replicaMap), sorted(replicaMap.values())
        if ends != (replicas, replicas) or any(s == d for s, d in replicaMap.items()):
            raise graph_replication_error(
                f"CrossReplicaCopy: the map {dict(replicaMap)} must name each replica, 0 to {len(replicas) - 1}, once "
                "as source and once as destination of another one."
            )
        self.source, self.destination = source, destination
        self.replica_map = tuple(int(replicaMap[r]) for r in replicas)
        self.debug = as_context(debugContext)

    def reads(self) -> SequenceOf[Tensor]:
        return (self.source,)

    def writes(self) -> SequenceOf[Tensor]:
        return (self.destination,)
