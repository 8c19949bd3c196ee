"""EngineCore: a loaded executable. Runs programs, serves the host side, records what ran."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from popvision import pvti
from popvision.formats.profile.model import RunRecord
from simulator.compiler.executable import Executable
from simulator.compiler.machine import Machine
from simulator.compiler.program_visits import Place
from simulator.poplar.errors import (
    ErrorCode,
    ErrorInfo,
    application_runtime_error,
    poplar_error,
    stream_connection_error,
)
from simulator.poplar.program import PrintTensorFmt, Program
from simulator.runtime.address_accurate.plan import AddressPlan
from simulator.runtime.device_clock import DeviceClock, RunTime
from simulator.runtime.host_buffers import memory_of
from simulator.runtime.host_functions import HostFunctions
from simulator.runtime.numeric_plan import Action, NumericPlan
from simulator.runtime.print_tensor import printed
from simulator.runtime.recorder import Recorder
from simulator.runtime.remote_memory import RemoteMemory
from simulator.runtime.run_ended import RunEndedError
from simulator.runtime.streams import StreamInfo, Streams

Array = npt.NDArray[Any]
_channel = pvti.channel("Poplar Runtime")


class EngineCore:
    """`recording` = keep records of runs; `runs_kept` of each program. `measured_host` = the time that host callbacks
    take becomes waiting of the device, instead of the target's constant."""

    def __init__(self, executable: Executable, *, recording: bool, runs_kept: int, measured_host: bool = False) -> None:
        self.executable = executable
        plan, replicas = executable.plan, executable.machine.num_replicas
        streams = {h: StreamInfo(*facts, plan.buffering[h]) for h, facts in plan.streams.items()}
        self.streams = Streams(streams, replicas)
        self.remote = RemoteMemory(plan.remote_buffers, replicas)
        self.host_functions = HostFunctions(plan.host_functions, replicas)
        self.print_stream: TextIO | None = None  #: None = standard error, looked up when something is printed
        self.recording = recording
        self.device_cycles = 0  #: of all runs since loading
        self.recorder = Recorder(executable.lowered, executable.machine, runs_kept)
        self._measured_host = measured_host
        self._plan = _plan_of(executable)
        self.choices: list[int] = []  #: what data decided in the last run, in order
        self._arenas: list[Any] = []  #: one per replica; none while not loaded
        self._actions: list[Action] = []
        lowered = executable.lowered
        self.clock = DeviceClock(lowered.table, lowered.cycles, lowered.function_roots, executable.machine)

    @property
    def loaded(self) -> bool:
        return bool(self._arenas)

    def load(self) -> None:
        """Bring all variables into their first state: zeros, constants and initial values."""
        with pvti.Tracepoint(_channel, "poplar::core::Engine::load"):
            self._arenas = list(self._plan.memories())
            self.remote.clear()
            self.streams.invalidate()
            self._actions = self._plan.bind(self._arenas, self)
            self.device_cycles = 0

    def unload(self) -> None:
        """Give the values of all variables back. Actions refer to this object, so it would not go away by itself."""
        self._arenas = []
        self._actions = []

    def run(self, index: int, name: str) -> RunRecord | None:
        """Run a program; returns the record when one was kept."""
        if not 0 <= index < len(self._actions):
            raise poplar_error(f"There is no program {index}; the engine has {len(self._actions)}, numbered from 0.")
        self.streams.host_seconds = [] if self._measured_host else None
        begin = time.time_ns() // 1000
        # Overflow and invalid operations are values on the device, not warnings.
        with pvti.Tracepoint(_channel, "poplar::core::Engine::run"), np.errstate(all="ignore"):
            self._act(index)
        end = time.time_ns() // 1000
        time_of_run = self._modelled(index)
        self.device_cycles += time_of_run.cycles
        if not self.recording or not self.recorder.wants(index):
            return None
        return self.recorder.record(self.clock, time_of_run, index, name, begin, end, self.choices)

    def _act(self, index: int) -> None:
        """Compute what a program computes. Raises application_runtime_error where it ends its own run."""
        self.choices = []
        try:
            self._actions[index]()
        except RunEndedError as end:
            where = f"program {self.executable.lowered.row_of(end.place)}"
            error = ErrorInfo(ErrorCode.TRAP, where)
            raise application_runtime_error(f"{end.reason.rstrip('.')} ({where}).", [error]) from None

    def read_tensor(self, handle: str, buffer: Any) -> None:
        """Copy a tensor marked by createHostRead into a buffer of exactly its size, replica after replica."""
        memory, place = self._host_copy("read", handle, buffer)
        for row, arena in zip(memory, self._arenas, strict=True):
            row[...] = arena.read(place).reshape(-1)

    def write_tensor(self, handle: str, buffer: Any) -> None:
        """Copy a buffer of exactly its size, replica after replica, into a tensor marked by createHostWrite."""
        memory, place = self._host_copy("write", handle, buffer)
        for row, arena in zip(memory, self._arenas, strict=True):
            arena.write(place, row)

    def list_streams(self) -> list[str]:
        """Every stream's handle with "+" for host to device and "-" for device to host, host copies included."""
        plan = self._plan
        user = [handle + ("+" if to_device else "-") for handle, (_, _, to_device, _) in plan.streams.items()]
        return user + [handle + ("+" if kind == "write" else "-") for kind, handle in plan.host_copies]

    # What programs ask for while they run

    def read_stream(self, handle: str, replica: int, into: Array) -> None:
        self.streams.read_stream(handle, replica, into)

    def write_stream(self, handle: str, replica: int, values: Array) -> None:
        self.streams.write_stream(handle, replica, values)

    def read_rows(self, handle: str, replica: int, rows: Iterable[int]) -> Array:
        return self.remote.read_rows(handle, replica, rows)

    def write_rows(self, handle: str, replica: int, rows: Iterable[int], values: Array) -> None:
        self.remote.write_rows(handle, replica, rows, values)

    def call_host_function(self, handle: str, replica: int, inputs: Sequence[Array]) -> list[Array]:
        return self.host_functions.call(handle, replica, inputs)

    def chose(self, choice: int) -> None:
        self.choices.append(choice)

    def watched(self, place: Place, program: Program, action: Action) -> Action:
        return action

    def print_tensor(self, title: str, replica: int, values: Array, form: PrintTensorFmt) -> None:
        begin = time.perf_counter()
        stream = self.print_stream or sys.stderr
        if len(self._arenas) > 1:
            title = f"{title} (replica {replica})" if title else f"replica {replica}"
        stream.write(printed(title, values, form) + "\n")
        if self.streams.host_seconds is not None:
            self.streams.host_seconds.append((replica, time.perf_counter() - begin))

    def _modelled(self, index: int) -> RunTime:
        branch = self.executable.lowered.branches[index]
        seconds = self.streams.host_seconds
        if seconds is None:
            return self.clock.run(branch, choices=self.choices)
        return self.clock.run(branch, _waits(seconds, self.executable.machine), self.choices)

    def _host_copy(self, kind: str, handle: str, buffer: Any) -> tuple[Array, Any]:
        """(the buffer as elements, a row for each replica; where the tensor is)."""
        plan = self._plan
        place = plan.host_copies.get((kind, handle))
        if place is None:
            known = ", ".join(h for k, h in plan.host_copies if k == kind) or "none"
            verb, method = ("read", "createHostRead") if kind == "read" else ("written", "createHostWrite")
            raise stream_connection_error(
                f"No tensor can be {verb} as '{handle}'; make it so with Graph.{method}. Known: {known}."
            )
        if not self._arenas:
            raise poplar_error(f"The engine is not loaded; call load(device) before '{handle}' is read or written.")
        what = f"Tensor '{handle}'"
        memory = memory_of(buffer, plan.host_types[kind, handle], what, writable=kind == "read")
        size, replicas = math.prod(place.shape), len(self._arenas)
        if len(memory) != size * replicas:
            each = "" if replicas == 1 else f" in each of {replicas} replicas, {size * replicas} in all"
            raise stream_connection_error(f"{what} has {size} elements{each}, but the buffer holds {len(memory)}.")
        return memory.reshape(replicas, size), place


def _plan_of(executable: Executable) -> Any:
    """What computes: NumericPlan, or AddressPlan where the executable was compiled for it."""
    facts = executable.address_facts
    plan: NumericPlan | AddressPlan = executable.plan if facts is None else AddressPlan(executable, facts)
    return plan


def _waits(seconds: list[tuple[int, float]], machine: Machine) -> Iterator[npt.NDArray[np.int64]]:
    """The cycles that each replica waits at each host copy. A copy's transfers are one after another, from replica 0
    on; one transfer for all replicas makes all of them wait."""
    first = [i for i, (replica, _) in enumerate(seconds) if replica == 0]
    for begin, end in zip(first, [*first[1:], len(seconds)], strict=True):
        cycles = [round(time_ * machine.clock_hz) for _, time_ in seconds[begin:end]]
        yield np.resize(np.array(cycles, np.int64), machine.num_replicas)
