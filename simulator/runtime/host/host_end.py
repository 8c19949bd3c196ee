"""The host's end of a loaded program: services for running programs, reads and writes of tensors, and host functions,
which programs call and the user connects with code."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from popvision import pvti
from simulator.arrays import AnyArray
from simulator.base.errors import poplar_error, stream_connection_error
from simulator.base.options.run import RunSettings
from simulator.base.quarter import QuarterMetadata
from simulator.base.types import numpy_type
from simulator.codelets.printing import CodeletPrints, Workers
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.compiler.ir.program_visits import Place
from simulator.graph.objects import HostFunction
from simulator.graph.program import PrintTensorFmt, Program
from simulator.runtime.checks.watch import Action, Watcher, wrap_lowered, wrap_program
from simulator.runtime.host import host_times
from simulator.runtime.host.host_buffers import fixed_memory, memory_of
from simulator.runtime.host.quarter_ends import QuarterEnds, checked
from simulator.runtime.host.remote_memory import RemoteMemory
from simulator.runtime.host.stream_callback import HostCallbackHandle
from simulator.runtime.host.streams import StreamInfo, Streams
from simulator.runtime.values.host_side import RunStoppedError
from simulator.runtime.values.numeric_plan import NumericPlan
from simulator.runtime.values.print_tensor import tensor_text

_channel = pvti.channel("Poplar Runtime")


class HostFunctions:
    """The code of the host functions of a graph, by handle and replica."""

    def __init__(self, functions: Mapping[str, HostFunction], replicas: int) -> None:
        self._functions = functions
        self._replicas = replicas
        self._code: dict[tuple[str, int], HostCallbackHandle] = {}

    def connect(self, handle: str, replica: int, code: Any) -> None:
        """Connect code to one replica's function. Raises stream_connection_error for an unknown handle or replica, and
        for an object that cannot be called."""
        if handle not in self._functions:
            names = ", ".join(self._functions) or "none"
            raise stream_connection_error(
                f"There is no host function '{handle}'; the host functions of this engine are: {names}."
            )
        whole = isinstance(replica, int | np.integer) and not isinstance(replica, bool)
        if not whole or not 0 <= replica < self._replicas:
            raise stream_connection_error(
                f"Host function '{handle}' has no replica {replica!r}; it has replicas 0 to {self._replicas - 1}."
            )
        self._code[handle, int(replica)] = HostCallbackHandle(code, f"Host function '{handle}'")

    def call(self, handle: str, replica: int, inputs: Sequence[AnyArray]) -> list[AnyArray]:
        """Call the function with the values that the device sent; returns those that go back, zeros where the code
        wrote nothing. The code may use the arrays during the call only."""
        function = self._functions[handle]
        code = self._code.get((handle, replica))
        if code is None:
            which = f" in replica {replica}" if self._replicas > 1 else ""
            raise stream_connection_error(
                f"Host function '{handle}' is called by the program but not connected{which}; call "
                "Engine.connectHostFunction before run."
            )
        given = [np.array(values).reshape(-1) for values in inputs]
        for values in given:
            values.flags.writeable = False
        made = [np.zeros(count, numpy_type(type_)) for type_, count in function.outputs]
        with pvti.Tracepoint(_channel, f"HostFunction {handle}"):
            code(given, made)
        return made


class HostEnd:
    """Streams, host functions, remote buffers and printing of one engine. `memories`: the values of each replica; empty
    while not loaded."""

    def __init__(self, compiled: CompiledGraph, plan: NumericPlan, settings: RunSettings) -> None:
        self._replicas = compiled.machine.num_replicas
        streams = {h: StreamInfo(*facts, plan.buffering[h]) for h, facts in plan.streams.items()}
        self.streams = Streams(streams, self._replicas, settings.prefetch, settings.buffer_overlap != "any")
        self.metadata = QuarterEnds(self._replicas)
        self.remote = RemoteMemory(plan.remote_buffers, self._replicas, settings.verify)
        self.host_functions = HostFunctions(plan.host_functions, self._replicas)
        self.print_stream: TextIO | None = None  #: None = standard error, looked up when something is printed
        self.printf_stream: TextIO | None = None  #: of codelets; None = standard error
        self.threads = 1
        workers = Workers(compiled.compilation.vertex_lanes, compiled.machine.tiles_per_ipu)
        self.codelet_prints = CodeletPrints(self._replicas, workers)
        self.print_codelet = self.codelet_prints.write
        self.vertex_begins = workers.begins
        self.choices: list[int] = []  #: choices of data in the last run, in order
        self.watchers: list[Watcher] = []
        self.together: Callable[[Sequence[Action]], None] = _one_by_one
        self.memories: list[Any] = []
        self._stop = False
        self._host_types = plan.host_types
        self.verify = settings.verify

    # Services for programs

    def read_stream(self, handle: str, replica: int, into: AnyArray) -> None:
        self._sync()
        self.streams.read_stream(handle, replica, into)

    def write_stream(self, handle: str, replica: int, values: AnyArray) -> None:
        self._sync()
        self.streams.write_stream(handle, replica, values)

    def read_rows(self, handle: str, replica: int, rows: Iterable[int]) -> AnyArray:
        self._sync()
        return self.remote.read_rows(handle, replica, rows)

    def write_rows(self, handle: str, replica: int, rows: Iterable[int], values: AnyArray) -> None:
        self._sync()
        self.remote.write_rows(handle, replica, rows, values)

    def call_host_function(self, handle: str, replica: int, inputs: Sequence[AnyArray]) -> list[AnyArray]:
        self._sync()
        begin = host_times.now()
        outputs = self.host_functions.call(handle, replica, inputs)
        self._took(replica, begin)
        return outputs

    def get_metadata(self, handle: str, replica: int) -> int:
        return self.metadata.get(handle, replica)

    def put_metadata(self, handle: str, replica: int, byte: int) -> None:
        self.metadata.put(handle, replica, byte)

    def chose(self, choice: int) -> None:
        self.choices.append(choice)

    def wrap_program(self, place: Place, program: Program, action: Action) -> Action:
        return wrap_program(self.watchers, place, program, action)

    def wrap_lowered(self, row: int, action: Action) -> Action:
        return wrap_lowered(self.watchers, row, action)

    def print_tensor(self, title: str, replica: int, values: AnyArray, form: PrintTensorFmt) -> None:
        self._sync()
        begin = host_times.now()
        stream = self.print_stream or sys.stderr
        if self._replicas > 1:
            title = f"{title} (replica {replica})" if title else f"replica {replica}"
        stream.write(tensor_text(title, values, form) + "\n")
        self._took(replica, begin)

    def _took(self, replica: int, begin: float) -> None:
        """Note what the host's part of a transfer took, if the device's clock counts it."""
        host_times.note(self.streams.host_seconds, host_times.NO_STREAM, replica, host_times.now() - begin)

    def connect_stream(self, handle: str, metadata: Any, begin: Any, end: Any = None) -> None:
        """Connect memory to a stream, and to one of QUARTER its metadata."""
        self.streams.connect(handle, begin, end)
        self.metadata.connect(handle, self.streams.info(handle).type, metadata)

    def connect_callback(self, handle: str, callback: Any, replica: int | None) -> None:
        """Connect a callback to a stream. Its metadata holds for all further transfers."""
        info = self.streams.info(handle)
        mine = self.metadata.metadata_of_callbacks(handle, info.type, callback, info.broadcast)
        self.streams.connect_callback(handle, callback, replica, mine)

    def ask_to_stop(self) -> None:
        """End a running program at its next synchronisation with the host."""
        self._stop = True
        self.streams.drop()

    def _sync(self) -> None:
        if self._stop:
            raise RunStoppedError

    # Tensors that the host reads and writes

    def read_tensor(self, handle: str, place: Any, buffer: Any) -> None:
        """Copy a tensor into a buffer of at least its size, replica after replica."""
        for replica, row in enumerate(self._rows("read", handle, place, buffer)):
            begin = host_times.now()
            row[...] = self.memories[replica].read(place).reshape(-1)
            self._took(replica, begin)

    def write_tensor(self, handle: str, place: Any, buffer: Any) -> None:
        """Copy a buffer of exactly its size, replica after replica, into a tensor."""
        for replica, row in enumerate(self._rows("write", handle, place, buffer)):
            begin = host_times.now()
            self.memories[replica].write(place, row)
            self._took(replica, begin)

    def read_metadata(self, handle: str, metadata: QuarterMetadata | None, place: Any) -> None:
        """Read the metadata of a QUARTER tensor into an object of the host."""
        known = checked(f"Tensor '{handle}'", self._host_types["read", handle], metadata)
        if known is not None:
            known.set(QuarterMetadata(int(self.memories[0].read(place))))

    def write_metadata(self, handle: str, metadata: QuarterMetadata | None, place: Any) -> None:
        """Write an object of the host into the metadata of a QUARTER tensor."""
        known = checked(f"Tensor '{handle}'", self._host_types["write", handle], metadata)
        for memory in self.memories if known is not None else []:
            memory.write(place, np.array(known.getBinary(), np.uint8))

    def _rows(self, kind: str, handle: str, place: Any, buffer: Any) -> AnyArray:
        """The buffer as elements, a row for each replica."""
        if not self.memories:
            raise poplar_error(f"The engine is not loaded; call load(device) before '{handle}' is read or written.")
        what, type_ = f"Tensor '{handle}'", self._host_types[kind, handle]
        size, replicas = math.prod(place.shape), len(self.memories)
        buffer = fixed_memory(buffer, type_, size * replicas, what)
        flat = memory_of(buffer, type_, what, writable=kind == "read")
        if kind == "read":  # there must be room for all; more is left as it is
            flat = flat[: size * replicas]
        if len(flat) != size * replicas:
            each = "" if replicas == 1 else f" in each of {replicas} replicas, {size * replicas} in all"
            raise stream_connection_error(f"{what} has {size} elements{each}, but the buffer holds {len(flat)}.")
        return np.asarray(flat.reshape(replicas, size))


def _one_by_one(actions: Sequence[Action]) -> None:
    for action in actions:
        action()
