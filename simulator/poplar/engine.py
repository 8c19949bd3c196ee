"""Engine: loads compiled programs onto a device and runs them."""

from __future__ import annotations

import os
import sys
import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, TextIO, overload

from popvision import pvti
from simulator.poplar.debug_context import Context
from simulator.poplar.device import Device
from simulator.poplar.engine_options import resolve
from simulator.poplar.errors import (
    graph_memory_allocation_error,
    invalid_option,
    missing_graph_profile,
    poplar_error,
    profiling_disabled,
)
from simulator.poplar.executable import Executable, ProgressFunc, compile_for_engine
from simulator.poplar.graph import Graph
from simulator.poplar.option_flags import OptionFlags
from simulator.poplar.program import Program
from simulator.poplar.runtime_options import RuntimeOptions
from simulator.poplar.target import TargetType
from simulator.runtime.engine_core import EngineCore
from simulator.runtime.report_folder import ReportFolder

if TYPE_CHECKING:
    from popvision.pva import Report

_channel = pvti.channel("Poplar Runtime")


@dataclass(frozen=True)
class TimerTimePoint:
    """A moment on both clocks: host nanoseconds and device cycles since loading."""

    host_ns: int
    device_cycles: int
    clock_hz: float


class Engine:
    """`Engine(graph, program or programs, options, progress, debugContext)` or `Engine(executable, options)`.

    The name of the debug context names the engine's sub-folder of reports. Reports are finished by `close()`, at the
    end of a `with` block, or when the engine goes away."""

    @overload
    def __init__(
        self,
        graph: Graph,
        progs: Program | Iterable[Program],
        opt: Mapping[str, Any] | None = None,
        progressCallBack: ProgressFunc | None = None,
        debugContext: Context = "",
    ) -> None: ...
    @overload
    def __init__(self, exe: Executable, opt: Mapping[str, Any] | None = None) -> None: ...
    def __init__(  # type: ignore[misc]
        self,
        graph: Any = None,
        progs: Any = None,
        opt: Any = None,
        progressCallBack: Any = None,
        debugContext: Context = "",
        *,
        exe: Executable | None = None,
    ) -> None:
        source = graph if exe is None else exe
        if isinstance(source, Executable):
            self._executable = source
            compiled_as, given = source._options, opt if progs is None else progs
            self._options = resolve(given, os.environ, source.getTarget()) if given is not None else compiled_as
            _check_same(dict(compiled_as.given), dict(self._options.given))
        elif isinstance(source, Graph):
            self._executable = compile_for_engine(source, progs, opt, progressCallBack, debugContext)
            self._options = self._executable._options
        else:
            raise poplar_error(f"An engine needs a graph and programs, or an executable; got {source!r}.")
        self._compiled = self._executable._compiled
        self._kind: TargetType = self._executable.getTarget().getTargetType()
        self._core = EngineCore(
            self._compiled,
            recording=self._can_record(),
            runs_kept=self._options.runs_kept,
            measured_host=os.environ.get("POPVISION_HOST_CLOCK") == "measured",
        )
        self._prepared = False
        self._folder: ReportFolder | None = None
        if self._options.any_report or self._options.save_archive is not None:
            self._folder = ReportFolder(self._options, self._executable._name)
            self._folder.write_compilation(self._compiled)
        self._finish = weakref.finalize(self, _close_unasked, self._folder, self._core)

    # ---- life cycle --------------------------------------------------------------------------------------------

    def prepare(self, device: Device, runOptions: RuntimeOptions | None = None) -> None:
        """Configure a device for `deploy`. Raises poplar_error for a device of another kind or one not attached."""
        with pvti.Tracepoint(_channel, "poplar::core::Engine::prepare"):
            if not isinstance(device, Device):
                raise poplar_error(f"{device!r} is not a device; make one with IPUModel().createDevice().")
            target = device.getTarget()
            mine = self._executable.getTarget()
            if (target.getTargetType(), target.getNumTiles(), target.getTargetArchString()) != (
                mine.getTargetType(),
                mine.getNumTiles(),
                mine.getTargetArchString(),
            ):
                raise poplar_error(
                    f"The program was compiled for {_described(mine)}, but the device is {_described(target)}; "
                    "compile the graph for this device's target."
                )
            if target.getTargetType() is TargetType.IPU and not device.isAttached():
                raise poplar_error(f"Device {device.getId()} is not attached; call device.attach() first.")
            if self._compiled.out_of_memory and self._kind is TargetType.IPU:
                raise graph_memory_allocation_error(self._compiled.out_of_memory)
            self._prepared = True

    def deploy(self) -> None:
        """Load the program onto the prepared device."""
        if not self._prepared:
            raise poplar_error("The device is not prepared; call prepare(device) before deploy().")
        with pvti.Tracepoint(pvti.tracePoplar, "Prepare IPU Executable"):
            self._core.load()

    def load(self, device: Device) -> None:
        """`prepare` and `deploy`."""
        self.prepare(device)
        self.deploy()

    def loadAndRun(self, device: Device, prog: int = 0) -> None:
        """`load` and `run`."""
        self.load(device)
        self.run(prog)

    def run(self, prog: int = 0, debugName: str = "", options: RuntimeOptions | None = None) -> None:
        """Run program number `prog`. Raises poplar_error before loading and for an unknown number."""
        if not self._core.loaded:
            raise poplar_error("The engine is not loaded; call load(device) before run().")
        record = self._core.run(int(prog), debugName)
        if record is not None and self._folder is not None:
            self._folder.append_run(record)

    def close(self) -> None:
        """Finish the reports and give the memory of all tensors back; profiles can still be asked for. Idempotent."""
        if self._finish.detach() is not None:
            _close(self._folder, self._core)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- host data ---------------------------------------------------------------------------------------------

    def writeTensor(self, handle: str, buffer: Any) -> None:
        """Copy a buffer into the tensor marked by createHostWrite. Sizes and types must agree; the buffer holds the
        tensor of each replica, one after the other."""
        self._core.write_tensor(handle, buffer)

    def readTensor(self, handle: str, buffer: Any) -> None:
        """Copy the tensor marked by createHostRead into a buffer. Sizes and types must agree; the buffer gets the
        tensor of each replica, one after the other."""
        self._core.read_tensor(handle, buffer)

    def connectStream(self, handle: str, buffer: Any) -> None:
        """Connect a stream to a buffer that each transfer advances through, wrapping at its end; a buffer of one
        transfer is a fixed location. Replicas share it and take turns at each transfer, in order."""
        self._core.streams.connect(handle, buffer)

    @overload
    def connectStreamToCallback(self, handle: str, f: Any, /) -> None: ...
    @overload
    def connectStreamToCallback(self, handle: str, index: int, f: Any, /) -> None: ...
    def connectStreamToCallback(self, handle: str, first: Any, second: Any = None, /) -> None:
        """Connect a stream to a function called with the transfer's memory (an ndarray valid during the call): that of
        replica `index`, or those of all replicas. Raises stream_connection_error for a replica there is not."""
        if second is None:
            self._core.streams.connect_callback(handle, first)
        else:
            self._core.streams.connect_callback(handle, second, int(first))

    def listStreams(self) -> list[str]:
        """Handles, each with "+" (host writes) or "-" (host reads) behind it."""
        return self._core.list_streams()

    def setPrintTensorStream(self, stream: TextIO) -> None:
        """Where PrintTensor writes; standard error before."""
        self._core.print_stream = stream

    # ---- time --------------------------------------------------------------------------------------------------

    def getTimeStamp(self) -> TimerTimePoint:
        """This moment on the host's and the device's clock."""
        clock_hz = self._compiled.machine.clock_hz
        return TimerTimePoint(time.perf_counter_ns(), self._core.device_cycles, clock_hz)

    @staticmethod
    def reportTiming(start: TimerTimePoint, end: TimerTimePoint) -> str:
        """One line: host time and simulated device time between two moments."""
        host = (end.host_ns - start.host_ns) / 1e9
        cycles = end.device_cycles - start.device_cycles
        return f"Host: {host:.6f} s; device (simulated): {cycles:,} cycles, {cycles / end.clock_hz:.9f} s"

    # ---- profiles ----------------------------------------------------------------------------------------------

    def enableExecutionProfiling(self) -> None:
        """Record runs from now on, where the target can."""
        self._core.recording = self._can_record()

    def disableExecutionProfiling(self) -> None:
        """Do not record further runs."""
        self._core.recording = False

    def resetExecutionProfile(self) -> None:
        """Forget the runs recorded so far. What a report file holds already stays there."""
        self._core.recorder.reset()

    def getEngineOptions(self) -> OptionFlags:
        """The options the engine was made with, those of the environment included."""
        return OptionFlags(self._options.given)

    def getReport(self, reportExecution: bool = True) -> Report:
        """The profile as libpva shows it, as of now.

        Raises missing_graph_profile for CPU targets and when neither autoReport.outputGraphProfile nor
        debug.retainDebugInformation was given."""
        if self._kind is TargetType.CPU:
            raise missing_graph_profile("A CPU target has no graph profile; use an IPUModel.")
        if not (self._options.output_graph_profile or self._options.retain_debug_information):
            raise missing_graph_profile(
                "The engine kept no graph profile; set debug.retainDebugInformation or autoReport.outputGraphProfile."
            )
        from simulator.poplar.report_snapshot import snapshot_report

        return snapshot_report(self._compiled, self._options, self._executable._name, self._records(reportExecution))

    def printProfileSummary(self, outputStream: IO[str], opt: Mapping[str, Any] | None = None) -> None:
        """Write the summary of graph and execution. Options, all "false" at first: colours, showVarStorage,
        showOptimizations, showExecutionSteps, showPerIpuMemoryUsage."""
        self._require_profile()
        from simulator.poplar.report_snapshot import write_summary

        try:
            text = write_summary(self._compiled, self._options, self._executable._name, self._records(True), opt or {})
        except KeyError as error:
            raise invalid_option(str(error.args[0])) from None
        outputStream.write(text)

    def reportIntervals(self, outputStream: IO[str]) -> None:
        """Write a CSV of how many tiles compute, exchange and sync over time, in cycles."""
        self._require_profile()
        if not self._can_record():
            raise profiling_disabled("No execution was recorded: set debug.instrument on simulated hardware.")
        from simulator.poplar.report_snapshot import write_interval_rows

        write_interval_rows(self._compiled, self._options, self._executable._name, self._records(True), outputStream)

    def _records(self, wanted: bool) -> list[Any]:
        return list(self._core.recorder.records) if wanted else []

    def _require_profile(self) -> None:
        if self._kind is TargetType.CPU:
            raise profiling_disabled("A CPU target is not profiled; use an IPUModel.")

    def _can_record(self) -> bool:
        """Models record always, hardware when it is instrumented."""
        if self._kind is TargetType.IPU:
            return self._options.instrument_compute
        return self._kind is TargetType.IPU_MODEL


def _check_same(compiled: dict[str, str], now: dict[str, str]) -> None:
    for name in sorted(compiled.keys() | now.keys()):
        if compiled.get(name) != now.get(name):
            raise invalid_option(
                f"Option '{name}' is '{now.get(name, '')}' but the executable was compiled with "
                f"'{compiled.get(name, '')}'; give both the same options."
            )


def _described(target: Any) -> str:
    return f"{target.getNumTiles()} tiles of {target.getTargetArchString()} ({target.getTargetType().value})"


def _close(folder: ReportFolder | None, core: EngineCore) -> None:
    core.unload()
    if folder is not None:
        folder.close()


def _close_unasked(folder: ReportFolder | None, core: EngineCore) -> None:
    """At exit, or when nobody holds the engine any more: nobody could catch an error there."""
    try:
        _close(folder, core)
    except poplar_error as error:
        print(f"popvision: {error}", file=sys.stderr)
