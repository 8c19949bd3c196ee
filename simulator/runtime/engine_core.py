"""EngineCore: a loaded program. It runs programs, serves the host side and records runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from popvision import pvti
from popvision.formats.profile.model import RunRecord, TileBlocks
from popvision.pvti.clock import epoch_ns
from popvision.pvti.session import session
from simulator.base.errors import (
    ErrorCode,
    ErrorInfo,
    ErrorLocation,
    application_runtime_error,
    poplar_error,
    raised_for,
    runtime_error,
    stream_connection_error,
)
from simulator.base.options.run import RunSettings, RuntimeSettings
from simulator.base.quarter import QuarterMetadata
from simulator.codelets.float_state import FloatState, running
from simulator.codelets.printing import running as running_vertex
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.compiler.machine import Machine
from simulator.runtime.address_accurate.plan import AddressPlan
from simulator.runtime.checks.planted_errors import PlantedErrors
from simulator.runtime.checks.sync_deadline import SyncDeadline
from simulator.runtime.checks.watchers import watchers_of
from simulator.runtime.clock.data_dependent_time import STAMP, as_choice
from simulator.runtime.clock.device_clock import NOT_BUFFERED, Buffering, DeviceClock
from simulator.runtime.clock.host_response import HostResponse
from simulator.runtime.clock.measured_times import MeasuredTimes
from simulator.runtime.clock.segments import RunTime
from simulator.runtime.clock.step_counts import Parts, StepCounts
from simulator.runtime.host.callback_threads import CallbackThreads
from simulator.runtime.host.host_end import HostEnd
from simulator.runtime.host.run_series import run_series
from simulator.runtime.recording.recorder import Recorder
from simulator.runtime.values.arena import Place
from simulator.runtime.values.host_side import Action, RunEndedError, RunStoppedError
from simulator.runtime.values.numeric_plan import NumericPlan
from simulator.runtime.values.vertex_threads import VertexThreads

_channel = pvti.channel("Poplar Runtime")

Timed = tuple[int, MeasuredTimes | None, Sequence[int], Buffering, int]
"""The arguments of DeviceClock.run"""


class EngineCore(HostEnd):
    """A compiled graph and its runs. `plan` computes its values, unless the graph was compiled for the address-accurate
    mode. `recording` = keep records of further runs."""

    def __init__(self, compiled: CompiledGraph, plan: NumericPlan, settings: RunSettings | None = None) -> None:
        settings = settings or RunSettings()
        super().__init__(compiled, plan, settings)
        self.compiled = compiled
        self._layout = plan.layout
        self.recording = settings.recording
        self.device_cycles = 0  #: of all runs and host copies of tensors since loading
        self.last_blocks: list[TileBlocks] = []  #: of the last run, if only its blocks were recorded
        self.recorder = Recorder(compiled.lowered, compiled.machine, settings.runs_kept, settings.branch_flush)
        self._settings = settings
        self._plan = _value_plan(compiled, plan)
        self._actions: list[Action] = []
        self.planted = PlantedErrors(compiled, plan.places)
        self.deadline = SyncDeadline()
        self._float = FloatState()
        self._threads = VertexThreads(self._float, settings.several_threads)
        self.threads, self.together = self._threads.count, self._threads.together
        lowered = compiled.lowered
        roots, machine = lowered.function_roots, compiled.machine
        self._counts = StepCounts({row: lowered.counted[row] for row in plan.counted})
        self.clock = DeviceClock(
            lowered.table,
            lowered.cycles,
            roots,
            machine,
            blocks=lowered.blocks,
            counts=self._counts,
            stamps=plan.stamps,
        )
        self._response = HostResponse(lowered.table)
        self._callback_threads: tuple[str, int | None, bool] | None = None
        self._buffering = NOT_BUFFERED  #: when the run began
        self._run_of = -1, RuntimeSettings()  #: branch and settings of the run
        self._executed = False  #: the graph knows that it was run

    @property
    def loaded(self) -> bool:
        return bool(self.memories)

    def load(self) -> None:
        """Set all variables to their initial state: zeros, constants and initial values."""
        with pvti.Tracepoint(_channel, "poplar::core::Engine::load"):
            try:
                self.memories = list(self._plan.memories(self._settings.autoload))
            except (MemoryError, OverflowError) as error:
                raise poplar_error(
                    f"The host has too little memory for the values of all variables ({error}); use smaller ones."
                ) from None
            self.remote.clear()
            self.streams.invalidate()
            self._float.__dict__.update(
                vars(FloatState(inv=self._settings.float_exceptions, nanoo=self._settings.nan_on_overflow))
            )
            watchers = watchers_of(self.compiled, self._layout, self._settings, self.planted, lambda: self.memories)
            self.watchers = [self.deadline, *watchers]
            self.bind()
            self.device_cycles = 0
            self._stop = False

    def bind(self) -> None:
        """Bind programs to memory; called again when the watched programs change."""
        if self.loaded:
            self._actions = self._plan.bind(self.memories, self)

    def counted(self, compute_set: int, replicas: Sequence[Parts]) -> None:
        """Note what the vertices of one execution counted; see `HostSide.counted`."""
        self.chose(as_choice(self._counts.number(compute_set, replicas)))

    def reading_counters(self, action: Action) -> Action:
        """Wrap the action of a compute set whose vertices read cycle counters. These run on from load to load: through
        all runs and host copies of tensors before this run, and through it so far."""
        machine = self.compiled.machine

        def run() -> None:
            clocks = self.device_cycles + self.clock.counters(*self._timed(*self._run_of))
            self.chose(STAMP)
            running_vertex.clocks = clocks.reshape(machine.num_replicas, machine.tiles)
            try:
                action()
            finally:
                running_vertex.clocks = None

        return run

    def unload(self) -> None:
        """Free the values of all variables. Actions refer to this object, so the garbage collector would not."""
        self.memories = []
        self._actions = []
        self.watchers = []
        self.streams.close()
        self._threads.close()
        if pvti.isRecording():
            run_series().end()

    def run(self, index: int, name: str, settings: RuntimeSettings | None = None) -> RunRecord | None:
        """Run a program; returns the record where the run is recorded. A run that was stopped leaves
        none. Raises runtime_error where the program ends itself or meets an error."""
        if not 0 <= index < len(self._actions):
            raise poplar_error(f"There is no program {index}; the engine has {len(self._actions)}, numbered from 0.")
        settings = settings or RuntimeSettings()
        self.last_blocks = []
        self._use_threads(settings)
        self._begin_of_host_times()
        if self.compiled.machine.hardware:
            self._buffering = Buffering(*self.streams.buffering())
        self._run_of = self.compiled.lowered.branches[index], settings
        foreseen = self._foreseen(index, settings)
        begin, begin_ns = epoch_ns() // 1000, time.perf_counter_ns()
        with (
            pvti.Tracepoint(_channel, "poplar::core::Engine::run"),
            running(self._float),
            self.codelet_prints.listening(),
        ):
            if not self._act(index, settings):
                return None
        if not self._executed:
            self.compiled.source.store.mark_executed()
            self._executed = True
        end = -(-epoch_ns() // 1000)  # up to the next whole microsecond: the event of the run lies within
        time_of_run = foreseen or self._modelled(self.compiled.lowered.branches[index], settings)
        self.device_cycles += time_of_run.cycles
        if pvti.isRecording():
            run_series().add_run(begin_ns, [time_of_run.cycles - int(tail.min()) for tail in time_of_run.tail])
            session.write_thread_if_late()
        self._check_response(time_of_run, settings)
        blocks_of_all = self._settings.blocks_of_all and self.compiled.lowered.blocks is not None
        behind = blocks_of_all and bool(self.recorder.block_records)  # steps are there of the first runs only
        if self.recording and self.recorder.wants(index) and not behind:
            return self.recorder.record(self.clock, time_of_run, index, name, begin, end, self.choices)
        if blocks_of_all:
            self.last_blocks = self.recorder.record_blocks(time_of_run)
        return None

    def _act(self, index: int, settings: RuntimeSettings) -> bool:
        """Run a program's action; False when it was stopped."""
        try:
            self.planted.at_start(self.compiled.lowered.branches[index])
            self._actions[index]()
        except RunStoppedError:
            return False
        except RunEndedError as end:
            row = self.compiled.lowered.row_of(end.place)
            error = ErrorInfo(ErrorCode.TRAP, ErrorLocation(-1, row, "", id(self.compiled)))
            raise application_runtime_error(f"{end.reason.rstrip('.')} (program {row}).", [error]) from None
        except runtime_error:
            # The host looks for exceptions now and then only; until it does, the device stands still.
            wait = settings.exception_poll_us * 1e-6
            self.device_cycles += round(wait * self.compiled.machine.clock_hz)
            raise
        return True

    def _modelled(self, branch: int, settings: RuntimeSettings) -> RunTime:
        return self.clock.run(*self._timed(branch, settings))

    def _timed(self, branch: int, settings: RuntimeSettings) -> Timed:
        """What the time of a run follows from, as far as it came."""
        machine = self.compiled.machine
        seconds = self.streams.host_seconds
        measured = None if seconds is None else MeasuredTimes(seconds, machine)
        late = _poll_cycles(settings, machine) if machine.hardware else 0
        return branch, measured, self.choices, self._buffering, late

    def _foreseen(self, index: int, settings: RuntimeSettings) -> RunTime | None:
        """The modelled run, if it is known before the run. Sets the deadline where the run would miss it."""
        branch = self.compiled.lowered.branches[index]
        if self.deadline.is_set:
            self.deadline.clear()
            self.bind()
        if self.streams.host_seconds is not None or self.clock.chooses(branch):
            return None
        run = self._modelled(branch, settings)
        limit = settings.sync_timeout * self.compiled.machine.clock_hz
        late = self._response.first_late(run, limit) if limit else None
        if late is not None:

            def expire() -> None:
                self.device_cycles += round(late.since + limit)
                self._check_response(run, settings)

            self.deadline.set(late, self.compiled.lowered.place_of(late.row), expire)
            self.bind()
        return run

    def _check_response(self, run: RunTime, settings: RuntimeSettings) -> None:
        """Raise unknown_runtime_error where the device does not synchronise with the host in time."""
        limit = settings.sync_timeout
        silence = self._response.longest_silence(run) / self.compiled.machine.clock_hz if limit else 0.0
        if silence > limit:
            raise raised_for(ErrorCode.HOST_SYNC_TIMEOUT)(
                f"The device did not synchronise with the host for {silence:.6g} s (simulated), longer than "
                f"target.hostSyncTimeout={limit:g}; set it higher, or to 0 for no limit.",
                [ErrorInfo(ErrorCode.HOST_SYNC_TIMEOUT, None)],
            )

    def _use_threads(self, settings: RuntimeSettings) -> None:
        """Run callbacks on the threads that the runtime options give."""
        wanted = settings.callback_mode, settings.callback_workers, settings.numa_aware
        if wanted != self._callback_threads:
            self._callback_threads = wanted
            self.streams.use_threads(CallbackThreads(*wanted))

    def read(
        self, handle: str, buffer: Any, metadata: QuarterMetadata | None = None, settings: RuntimeSettings | None = None
    ) -> None:
        """Copy a tensor marked by createHostRead into a buffer of at least its size, replica after replica; of a
        QUARTER tensor also its metadata, that of replica 0. The device's clock goes on by the copy."""
        place = self._place("read", handle)
        self._begin_of_host_times()
        self.read_tensor(handle, place, buffer)
        self.read_metadata(handle, metadata, self._plan.metadata.get(("read", handle)))
        self._pass_time_of_copy("read", handle, settings)

    def write(
        self, handle: str, buffer: Any, metadata: QuarterMetadata | None = None, settings: RuntimeSettings | None = None
    ) -> None:
        """Copy a buffer of exactly its size, replica after replica, into a tensor marked by createHostWrite; to a
        QUARTER tensor also its metadata, the same in all replicas. The device's clock goes on by the copy."""
        place = self._place("write", handle)
        self._begin_of_host_times()
        self.write_metadata(handle, metadata, self._plan.metadata.get(("write", handle)))
        self.write_tensor(handle, place, buffer)
        self._pass_time_of_copy("write", handle, settings)

    def _begin_of_host_times(self) -> None:
        """Collect anew what the host takes, if the clock counts it, and the choices of data."""
        self.streams.host_seconds = {} if self._settings.measured_host else None
        self.choices = []
        if self._counts.begin():
            self.clock.forget()

    def _pass_time_of_copy(self, kind: str, handle: str, settings: RuntimeSettings | None) -> None:
        """Add the cycles of the program that copies a tensor from or to the host."""
        self.device_cycles += self._modelled(self._copy_branch(kind, handle), settings or RuntimeSettings()).cycles

    def _copy_branch(self, kind: str, handle: str) -> int:
        """The row of the program that copies a tensor from or to the host."""
        number = list(self._plan.host_copies).index((kind, handle))
        return self.compiled.lowered.branches[self.compiled.num_programs + number]

    def variable_place(self, variable: int) -> Any:
        """The place of a whole variable, flat."""
        if isinstance(self._plan, AddressPlan):
            return self._plan.variable(variable)
        columns = self.compiled.source.store.variables
        type_, size = columns.type[variable], columns.numel[variable]
        return Place(type_.dtype, (size,), self._plan.layout.byte_offset(variable), (type_.size,), None)

    def list_streams(self) -> list[str]:
        """Every stream's handle with "+" for host to device and "-" for device to host, host copies included."""
        plan = self._plan
        user = [handle + ("+" if to_device else "-") for handle, (_, _, to_device, _) in plan.streams.items()]
        return user + [handle + ("+" if kind == "write" else "-") for kind, handle in plan.host_copies]

    def _place(self, kind: str, handle: str) -> Any:
        """The place of a tensor that the host reads or writes."""
        copies = list(self._plan.host_copies)
        if (kind, handle) not in copies:
            known = ", ".join(h for k, h in copies if k == kind) or "none"
            verb, method = ("read", "createHostRead") if kind == "read" else ("written", "createHostWrite")
            raise stream_connection_error(
                f"No tensor can be {verb} as '{handle}'; make it so with Graph.{method}. Known: {known}."
            )
        if self.planted.any:
            self.planted.at_host_copy(self._copy_branch(kind, handle))
        return self._plan.host_copies[kind, handle]


def _value_plan(compiled: CompiledGraph, plan: NumericPlan) -> Any:
    """The NumericPlan, or an AddressPlan where the graph was compiled for it."""
    arrangements = compiled.arrangements
    chosen: NumericPlan | AddressPlan = plan if arrangements is None else AddressPlan(compiled, arrangements, plan)
    return chosen


def _poll_cycles(settings: RuntimeSettings, machine: Machine) -> int:
    """Cycles that the device waits for the host to notice a request: on average half the polling period, or 0 with
    interrupts (hybrid)."""
    if settings.sync_method == "hybrid":
        return 0
    return round(settings.sync_poll_us / 2 * 1e-6 * machine.clock_hz)
