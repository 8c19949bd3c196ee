"""Control programs: plain trees that the compiler lowers.

A program is not part of a graph until it is compiled or added as a function; it keeps the `DebugContext` of its
creation in `debug`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from enum import Enum
from typing import Any, overload

from simulator.poplar.copy_checks import check_function_copy, check_stream_copy, check_tensor_copy, check_writeable
from simulator.poplar.debug_context import Context, DebugContext, as_context
from simulator.poplar.errors import control_program_error, graph_connection_error, graph_replication_error
from simulator.poplar.graph_objects import ComputeSet, DataStream, Function, FunctionBuffer
from simulator.poplar.notices import no_effect
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import SyncType

__all__ = [
    "Call", "Copy", "CrossReplicaCopy", "Execute", "FloatFormat", "LibraryGroup", "PrintTensor", "PrintTensorFmt",
    "Program", "Repeat", "Sequence", "Sync", "SyncType", "WriteUndef",
]  # fmt: skip


class Program:
    """The base of all programs."""

    debug: DebugContext

    def isEmpty(self) -> bool:
        return False


class Sequence(Program):
    """Programs one after another. `Sequence(a, b)` and `Sequence([a, b])` are the same."""

    @overload
    def __init__(self, *programs: Program, debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, programs: Iterable[Program], debugContext: Context = "", /) -> None: ...
    def __init__(self, *programs: Any, debugContext: Context = "") -> None:
        if programs and not isinstance(programs[0], Program):
            if not isinstance(programs[0], str | DebugContext | Iterable):
                _checked(programs[0])
            items = list(programs[0]) if not isinstance(programs[0], str | DebugContext) else []
            contexts = programs[1:] if not isinstance(programs[0], str | DebugContext) else programs
            debugContext = contexts[0] if contexts else debugContext
        else:
            items = list(programs)
            if items and not isinstance(items[-1], Program):
                debugContext = items.pop()
        self.programs: list[Program] = [_checked(item) for item in items]
        self.debug = as_context(debugContext)

    def add(self, program: Program) -> None:
        """Append a program."""
        self.programs.append(_checked(program))

    def isEmpty(self) -> bool:
        return not self.programs


def _checked(program: Any) -> Program:
    if not isinstance(program, Program):
        raise control_program_error(
            f"{program!r} is not a program; wrap compute sets in Execute and functions in Call."
        )
    return program


class LibraryGroup(Sequence):
    """The programs of one library operation, with the kernel that computes its result over whole arrays.

    Lowering treats it as its programs; the numeric plan calls the kernel registered as `kernel` with `inputs` and
    `outputs` instead of running their vertices."""

    def __init__(
        self,
        programs: Iterable[Program],
        kernel: str,
        inputs: SequenceOf[Tensor],
        outputs: SequenceOf[Tensor],
        attributes: dict[str, Any] | None = None,
        debugContext: Context = "",
    ) -> None:
        super().__init__(list(programs), debugContext)
        self.kernel = kernel
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.attributes = attributes or {}


class Execute(Program):
    """Run all vertices of a compute set."""

    def __init__(self, cs: ComputeSet, debugContext: Context = "") -> None:
        if not isinstance(cs, ComputeSet):
            raise control_program_error(f"Execute needs a compute set from Graph.addComputeSet, got {cs!r}.")
        self.compute_set = cs.id
        self.debug = as_context(debugContext)


class Copy(Program):
    """Copy a tensor to a tensor, a host-to-device stream to a tensor, a tensor to a device-to-host stream, or the code
    of a function between the function and a function buffer or from one of its buffers to another.

    Raises `graph_connection_error` where counts or types differ, the destination is not writeable, overlaps the
    source, or a stream points the other way."""

    @overload
    def __init__(
        self, source: Tensor, destination: Tensor, dontOutline: bool = False, /, debugContext: Context = ""
    ) -> None: ...
    @overload
    def __init__(
        self, stream: DataStream, destination: Tensor, optimiseMemory: bool = False, /, debugContext: Context = ""
    ) -> None: ...
    @overload
    def __init__(
        self, source: Tensor, stream: DataStream, optimiseMemory: bool = False, /, debugContext: Context = ""
    ) -> None: ...
    @overload
    def __init__(
        self,
        source: FunctionBuffer | Function,
        destination: FunctionBuffer | Function,
        flag: Context = "",
        /,
        debugContext: Context = "",
    ) -> None: ...
    def __init__(self, source: Any, destination: Any, flag: Any = False, /, debugContext: Context = "") -> None:
        if not isinstance(flag, bool):
            flag, debugContext = False, flag
        if flag:
            no_effect(f"Copy's {'dontOutline' if isinstance(source, destination.__class__) else 'optimiseMemory'}=True")
        self.source = source
        self.destination = destination
        self.debug = as_context(debugContext)
        if isinstance(source, Tensor) and isinstance(destination, Tensor):
            self.kind = "tensor"
            self.dont_outline = flag
            check_tensor_copy(source, destination)
        elif isinstance(source, DataStream) and isinstance(destination, Tensor):
            self.kind = "host_to_device"
            self.optimise_memory = flag
            check_stream_copy(source, destination, True)
        elif isinstance(source, Tensor) and isinstance(destination, DataStream):
            self.kind = "device_to_host"
            self.optimise_memory = flag
            check_stream_copy(destination, source, False)
        elif FunctionBuffer in (type(source), type(destination)):
            self.kind = "function"
            check_function_copy(source, destination)
        else:
            raise graph_connection_error(
                f"Copy goes between two tensors or a tensor and a stream, not from {source!r} to {destination!r}."
            )


class CrossReplicaCopy(Program):
    """Copy a tensor of each replica to a tensor of another one: replica r sends to replica `replicaMap[r]`.

    Raises `graph_connection_error` as Copy does, and for different shapes; `graph_replication_error` unless every
    replica of the graph is named once as source and once as destination, and never as its own."""

    def __init__(
        self, source: Tensor, destination: Tensor, replicaMap: Mapping[int, int], debugContext: Context = ""
    ) -> None:
        if not isinstance(source, Tensor) or not isinstance(destination, Tensor):
            raise graph_connection_error(f"CrossReplicaCopy needs two tensors, got {source!r} and {destination!r}.")
        check_tensor_copy(source, destination, "CrossReplicaCopy")
        if source.shape() != destination.shape():
            raise graph_connection_error(
                f"CrossReplicaCopy: the source has shape {source.shape()}, the destination {destination.shape()}; "
                "they must be equal."
            )
        replicas = list(range(source._store.replicas))
        ends = sorted(replicaMap), sorted(replicaMap.values())
        if ends != (replicas, replicas) or any(s == d for s, d in replicaMap.items()):
            raise graph_replication_error(
                f"CrossReplicaCopy: the map {dict(replicaMap)} must name each replica, 0 to {len(replicas) - 1}, once "
                "as source and once as destination of another one."
            )
        self.source, self.destination = source, destination
        self.replica_map = tuple(int(replicaMap[r]) for r in replicas)
        self.debug = as_context(debugContext)


class Repeat(Program):
    """Run a body a fixed number of times."""

    def __init__(self, count: int, prog: Program, debugContext: Context = "") -> None:
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**32:
            raise control_program_error(f"Repeat: the count {count!r} is not an unsigned 32-bit integer.")
        self.count = count
        self.body = _checked(prog)
        self.debug = as_context(debugContext)


class Call(Program):
    """Call a function made by `Graph.addFunction`."""

    def __init__(self, f: Function, debugContext: Context = "") -> None:
        if not isinstance(f, Function):
            raise control_program_error(f"Call needs a function from Graph.addFunction, got {f!r}.")
        self.function = f.id
        self.debug = as_context(debugContext)


class FloatFormat(Enum):
    Auto = "auto"
    Fixed = "fixed"
    Scientific = "scientific"
    None_ = "none"


@dataclass(frozen=True)
class PrintTensorFmt:
    """How PrintTensor writes numbers and brackets.

    Tensors of more than `summariseThreshold` elements show `edgeItems` at each end of a dimension; lines hold up to
    `maxLineWidth` characters; floats have `digits` digits after the point."""

    summariseThreshold: int = 1000
    edgeItems: int = 3
    maxLineWidth: int = 75
    digits: int = 7
    floatFormat: FloatFormat = FloatFormat.Auto
    sep: str = " "
    open: str = "["
    close: str = "]"


class PrintTensor(Program):
    """Print a tensor on the host when the device reaches this program."""

    @overload
    def __init__(self, title: str, t: Tensor, fmt: PrintTensorFmt = ..., /, debugContext: Context = "") -> None: ...
    @overload
    def __init__(self, t: Tensor, fmt: PrintTensorFmt = ..., /, debugContext: Context = "") -> None: ...
    def __init__(self, *arguments: Any, debugContext: Context = "") -> None:
        rest = list(arguments)
        self.title = rest.pop(0) if rest and isinstance(rest[0], str) else ""
        if not rest or not isinstance(rest[0], Tensor):
            raise control_program_error(
                "PrintTensor needs a tensor: PrintTensor(title, tensor) or PrintTensor(tensor)."
            )
        self.tensor: Tensor = rest.pop(0)
        self.format = rest.pop(0) if rest and isinstance(rest[0], PrintTensorFmt) else PrintTensorFmt()
        self.debug = as_context(rest.pop(0) if rest else debugContext)
        self.tensor._require()


class WriteUndef(Program):
    """Declare the contents of a tensor dead: its value before the next write is not needed."""

    def __init__(self, t: Tensor, debugContext: Context = "") -> None:
        check_writeable(t)
        self.tensor = t
        self.debug = as_context(debugContext)


class Sync(Program):
    """A barrier of the tiles of an IPU (INTERNAL), of the IPUs of a replica (EXTERNAL) or of everything (GLOBAL)."""

    def __init__(self, type_: SyncType, debugContext: Context = "") -> None:
        if not isinstance(type_, SyncType):
            raise control_program_error(f"Sync needs a SyncType, got {type_!r}.")
        self.sync_type = type_
        self.debug = as_context(debugContext)
