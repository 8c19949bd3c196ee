"""Engine: loads compiled programs onto a device and runs them."""

from __future__ import annotations

import operator
import os
import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NoReturn, SupportsIndex, TextIO, overload

from popvision import pvti
from simulator.base.errors import ErrorCode, ErrorLocation, poplar_error, stream_connection_error
from simulator.base.log import Level, log
from simulator.base.options.flags import OptionFlags
from simulator.base.quarter import QuarterMetadata
from simulator.base.target import TargetType
from simulator.base.text_output import checked_stream
from simulator.base.wrong_arguments import checks_arguments, methods_refuse_wrong_arguments
from simulator.building.graph import Graph
from simulator.engine.buffer_arguments import buffer_argument, callback_arguments
from simulator.engine.compilation import ProgressFunc, compile_for_engine
from simulator.engine.devices.device import Device
from simulator.engine.devices.occupation import LoadedProgram
from simulator.engine.executable import Executable
from simulator.engine.options import RuntimeLayers, RuntimeOptions, resolve_for_executable
from simulator.engine.prepared_device import PreparedDevice, check_attached
from simulator.engine.progress import say
from simulator.graph.debug_context import Context
from simulator.graph.program import Program
from simulator.runtime.checks.error_locations import error_locations
from simulator.runtime.engine_core import EngineCore
from simulator.runtime.recording.report_folder import ReportFolder

if TYPE_CHECKING:
    from popvision.pva import Report
    from simulator.engine.profiles import EngineProfile

_channel = pvti.channel("Poplar Runtime")


@dataclass(frozen=True)
class TimerTimePoint:
    """A moment on both clocks: host nanoseconds and device cycles since loading. `TimerTimePoint()` is the beginning of
    both; get another one from `Engine.getTimeStamp()`."""

    host_ns: int = 0
    device_cycles: int = 0  #: 0 where there is no model of its time: on a CPU
    clock_hz: float = 0.0  #: of the device; 0 where there is no model of its time


@methods_refuse_wrong_arguments()
class Engine:
    """`Engine(graph, program or programs, options, progress, debugContext)` or `Engine(executable, options)`.

    `progressCallBack(done, maximum)` is called from one thread of its own while the graph is compiled. The name of the
    debug context names the engine's sub-folder of reports. Reports are finished by `close()`, at the end of a `with`
    block, or when the engine goes away.

    Without options they are empty: those of the environment alone. Raises `invalid_option` for unknown or malformed
    options, and for engine options other than those that an executable was compiled with (runtime options and those of
    reports may differ); `link_error` where linking fails, and its kind `graph_memory_allocation_error` where tiles have
    too little memory."""

    @overload
    def __init__(
        self,
        graph: Graph,
        progs: Iterable[Program],
        opt: Mapping[str, Any] | None = None,
        progressCallBack: ProgressFunc | None = None,
        debugContext: Context = "",
    ) -> None: ...
    @overload
    def __init__(
        self,
        graph: Graph,
        prog: Program,
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
        prog: Any = None,
        exe: Executable | None = None,
    ) -> None:
        source = graph if exe is None else exe
        programs = progs if prog is None else prog
        if isinstance(source, Executable):
            self.executable = source
            flags = _only_options(programs, opt, progressCallBack, debugContext)
            self._options = resolve_for_executable(flags, os.environ, source.options, source.compiled.machine.target)
        elif isinstance(source, Graph):
            self.executable = compile_for_engine(source, programs, opt, progressCallBack, debugContext)
            self._options = self.executable.options
        else:
            raise poplar_error(f"An engine needs a graph and programs, or an executable; got {source!r}.")
        compiled, target = self.executable.compiled, self.executable.target
        self.core = EngineCore(compiled, self.executable.plan, self._options.run_settings(target, os.environ))
        self._runtime = RuntimeLayers(self._options.values, target)
        self._runs = 0
        self._program = LoadedProgram("the engine")
        self._folder = self.executable.take_folder(self._options)
        profile = "" if self._folder is None else self._folder.graph_profile_path
        self._prepared = PreparedDevice(compiled, target, profile)
        self._finish = weakref.finalize(self, _close, self._folder, self.core)

    def prepare(self, device: Device, runOptions: RuntimeOptions | None = None) -> None:
        """Configure a device for `deploy`; the runtime options hold for all runs until the next `prepare`. Raises
        poplar_error for a device of another kind or one not attached and while the engine runs,
        graph_memory_allocation_error where the program does not fit."""
        with self._program.busy("prepare", "being prepared"):
            self._prepare("prepare", device, runOptions)

    def _prepare(self, call: str, device: Device, runOptions: RuntimeOptions | None) -> None:
        with pvti.Tracepoint(_channel, "poplar::core::Engine::prepare"):
            self._prepared.prepare(device)
            device.condition.check_idle(call, self._program)
            self._runtime.prepare(runOptions)

    def deploy(self) -> None:
        """Load the program onto the prepared device, in place of what was there; a CPU holds any number of programs.
        Raises poplar_error where none is prepared, and while the engine or the device runs."""
        with self._program.busy("deploy", "being loaded"):
            self._deploy("deploy")

    def _deploy(self, call: str) -> None:
        device = self._prepared.device
        if device is None:
            raise poplar_error("The device is not prepared; call prepare(device) before deploy().")
        check_attached(device)
        with pvti.Tracepoint(pvti.tracePoplar, "Prepare IPU Executable"):
            device.condition.load(call, self._program, self.core.load)
        log(Level.INFO, "ENGINE", f"loaded onto device {device.getId()}")

    def load(self, device: Device | None = None) -> None:
        """`prepare` and `deploy`; without a device onto the one of the last time. All variables get their first values
        again. Raises poplar_error where there was no last time, and while the engine or the device runs."""
        with self._program.busy("load", "being loaded"):
            target = device or self._prepared.device
            if target is None:
                raise poplar_error("The engine was never loaded; call load(device) with a device the first time.")
            self._prepare("load", target, None)
            self._deploy("load")

    def loadAndRun(self, device: Device, prog: int = 0) -> None:
        """`load` and `run`."""
        self.load(device)
        self.run(prog)

    @overload
    def run(self, prog: int = 0, debugName: str = "") -> None: ...
    @overload
    def run(self, prog: int, debugName: str, options: RuntimeOptions) -> None: ...
    def run(self, prog: int = 0, debugName: str = "", options: RuntimeOptions | None = None) -> None:
        """Run program number `prog`; `debugName` names the run in reports, `options` hold for this run only. Returns
        when the program has ended, or soon after `stop`.

        Raises poplar_error before loading, for an unknown number, while the engine runs, on a device that was stopped,
        reset or detached since loading, and where another program was loaded onto it; runtime_error where the program
        ends itself or meets an error."""
        program = self._program
        program.begin("run", "running program", prog)
        try:
            program.check_loaded("run")
            self._run(prog, debugName, options)
        except Exception as error:
            log(Level.ERR, "ENGINE", f"{type(error).__name__}: {error}")
            raise
        finally:
            program.end()

    def _run(self, prog: int, debugName: str, options: RuntimeOptions | None) -> None:
        settings = self._runtime.settings(options)
        try:
            index = operator.index(prog)
        except TypeError:
            raise poplar_error(f"There is no program {prog!r}; programs have numbers, from 0 on.") from None
        if not isinstance(debugName, str):
            raise poplar_error(f"The name of a run is a string, not {debugName!r}; give debugName a string.")
        self._runs += 1
        # "began" stays true when the run has ended and the program goes on by itself.
        began = f"began program {index}{f' ({debugName})' if debugName else ''}, run {self._runs:,} of this engine"
        say(began)
        log(Level.INFO, "ENGINE", began)
        folder = self._folder
        if folder is not None and folder.begins_in_child():
            self.core.recorder.reset()
        record = self.core.run(index, debugName, settings)
        if record is not None and folder is not None:
            folder.append_run(record)
        elif self.core.last_blocks and folder is not None:
            folder.append_blocks(self.core.last_blocks)

    def stop(self) -> None:
        """Stop a running program from another thread or a callback: `run` returns where the program would synchronise
        with the host next; one that never does runs to its end. The device is left undefined: no program runs on it
        before `Device.reset` and `load`. Raises poplar_error before the engine is loaded."""
        program = self._program
        if program.lost or program.place is None:
            raise poplar_error("The engine is not loaded, so there is nothing to stop; call load(device) first.")
        program.place.undefined = True
        self.core.ask_to_stop()

    def close(self) -> None:
        """Finish the reports and give the memory of all tensors back; profiles can still be read. Idempotent; a
        closed engine can be loaded again, without further reports. Raises poplar_error while the engine runs."""
        with self._program.busy("close", "being closed"):
            self._program.unload()
            if self._finish.detach() is not None:
                _close(self._folder, self.core)
            self.core.unload()

    def serializeExecutable(self, out: IO[bytes]) -> None:
        """Write the engine's executable to a binary file object, for `Executable.deserialize`."""
        self.executable.serialize(out)

    def getEngineOptions(self) -> OptionFlags:
        """The options the engine was made with, those of the environment included."""
        return OptionFlags(self._options.given)

    def getTimeStamp(self) -> TimerTimePoint:
        """This moment on the host's and the device's clock."""
        now = time.perf_counter_ns()
        if self.executable.target.type is TargetType.CPU:
            return TimerTimePoint(now)
        return TimerTimePoint(now, self.core.device_cycles, self.executable.compiled.machine.clock_hz)

    @staticmethod
    def reportTiming(start: TimerTimePoint, end: TimerTimePoint) -> str:
        """One line: host time and simulated device time between two moments."""
        host = f"Host: {(end.host_ns - start.host_ns) / 1e9:.6f} s"
        if not end.clock_hz:
            return host
        cycles = end.device_cycles - start.device_cycles
        return f"{host}; device (simulated): {cycles:,} cycles, {cycles / end.clock_hz:.9f} s"

    # ---- tensors -----------------------------------------------------------------------------------------------

    @overload
    def readTensor(self, handle: str, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def readTensor(self, handle: str, metadata: QuarterMetadata, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def readTensor(self, handle: str, buffer: Any) -> None: ...
    def readTensor(self, handle: str, *arguments: Any, **named: Any) -> None:
        """Copy the tensor marked by createHostRead into a buffer: an ndarray or other memory, or its begin and end.
        The buffer has room for the tensor of each replica, one after the other; what is behind them stays. Of a QUARTER
        tensor it gets the encoded bytes, and `metadata`, which comes first, gets the tensor's metadata.

        The device runs the Copy program of createHostRead: its clock goes on (`getTimeStamp`), profiles do not show it.

        Raises stream_connection_error for an unknown handle, another size or another type, and poplar_error where and
        while `run` cannot run."""
        metadata, buffer = buffer_argument(f"Tensor '{handle}'", arguments, named)
        call = "readTensor"
        with self._program.busy(call, "reading a tensor"):
            self._program.check_loaded(call)
            self.core.read(handle, buffer, metadata, self._runtime.settings(None))
            log(Level.TRACE, "ENGINE", f"read tensor '{handle}'")

    @overload
    def writeTensor(self, handle: str, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def writeTensor(self, handle: str, metadata: QuarterMetadata, buf: Any, bufEnd: Any = None, /) -> None: ...
    @overload
    def writeTensor(self, handle: str, buffer: Any) -> None: ...
    def writeTensor(self, handle: str, *arguments: Any, **named: Any) -> None:
        """Copy a buffer, or what is between its begin and end, into the tensor marked by createHostWrite; it holds the
        tensor of each replica, one after the other. For a QUARTER tensor it holds the encoded bytes, and `metadata`
        comes first. The device's clock goes on as with readTensor. Raises as readTensor does."""
        metadata, buffer = buffer_argument(f"Tensor '{handle}'", arguments, named)
        call = "writeTensor"
        with self._program.busy(call, "writing a tensor"):
            self._program.check_loaded(call)
            self.core.write(handle, buffer, metadata, self._runtime.settings(None))
            log(Level.TRACE, "ENGINE", f"wrote tensor '{handle}'")

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
        metadata, buffer = buffer_argument(f"Stream '{handle}'", arguments, named, pointers=True)
        self.core.connect_stream(handle, metadata, *buffer)
        log(Level.TRACE, "ENGINE", f"connected stream '{handle}' to memory")

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
        callback, index = callback_arguments(handle, arguments, named)
        self.core.connect_callback(handle, callback, index)
        log(Level.TRACE, "ENGINE", f"connected stream '{handle}' to a callback")

    def connectHostFunction(self, handle: str, index: int, f: Any) -> None:
        """Give a host function its code in replica `index`: a function or HostCallback taking (inputs, outputs), two
        lists of flat ndarrays, one per argument and valid during the call; it fills the outputs.

        Raises stream_connection_error for an unknown handle or replica, and for what cannot be called."""
        self.core.host_functions.connect(handle, index, f)

    def listStreams(self) -> list[str]:
        """Handles, each with "+" (host writes) or "-" (host reads) behind it."""
        return self.core.list_streams()

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
        self._check_remote_memory(handle)
        self.core.remote.to_host(handle, w if buffer is None else buffer, repeatIndex, replicationIndex)

    @overload
    def copyToRemoteBuffer(self, w: Any, handle: str, repeatIndex: int, replicationIndex: int = 0) -> None: ...
    @overload
    def copyToRemoteBuffer(self, buffer: Any, handle: str, repeatIndex: int, replicationIndex: int = 0) -> None: ...
    def copyToRemoteBuffer(  # type: ignore[misc]
        self, w: Any = None, handle: str = "", repeatIndex: int = 0, replicationIndex: int = 0, *, buffer: Any = None
    ) -> None:
        """Copy a buffer of exactly its size into row `repeatIndex` of a replica's remote buffer. Raises as
        copyFromRemoteBuffer does."""
        self._check_remote_memory(handle)
        self.core.remote.from_host(handle, w if buffer is None else buffer, repeatIndex, replicationIndex)

    def _check_remote_memory(self, handle: str) -> None:
        if not self.core.loaded:
            raise stream_connection_error(
                f"Remote buffer '{handle}' holds nothing before the engine is loaded; call load(device)."
            )

    # ---- what is printed ---------------------------------------------------------------------------------------

    def setPrintStream(self, stream: TextIO) -> None:
        """Where printf of C and C++ codelets and print of Python codelets go, labelled by tile and worker; standard
        error before."""
        self.core.codelet_prints.stream = checked_stream(stream, "setPrintStream")

    def setPrintTensorStream(self, stream: TextIO) -> None:
        """Where PrintTensor writes; standard error before."""
        self.core.print_stream = checked_stream(stream, "setPrintTensorStream")

    # ---- profiles ----------------------------------------------------------------------------------------------

    def enableExecutionProfiling(self) -> None:
        """Record runs from now on, where the target can."""
        self.core.recording = self._options.records_runs(self.executable.target)

    def disableExecutionProfiling(self) -> None:
        """Do not record further runs."""
        self.core.recording = False

    def resetExecutionProfile(self) -> None:
        """Discard the runs recorded so far, those in profile.pop too."""
        self.core.recorder.reset()
        if self._folder is not None:
            self._folder.discard_runs()

    def getReport(self, reportExecution: bool = True) -> Report:
        """The profile as libpva shows it, as of now.

        Raises missing_graph_profile for CPU targets and when neither autoReport.outputGraphProfile nor
        debug.retainDebugInformation nor a filter of lightweight profiling was given."""
        return self._profile.report(reportExecution)

    def getGraphProfile(self) -> Report:
        """`getReport(False)`, as version 1 spelled it; `getExecutionProfile` is `getReport()`."""
        return self.getReport(False)

    def getExecutionProfile(self) -> Report:
        return self.getReport()

    def printProfileSummary(self, outputStream: IO[str], opt: Mapping[str, Any] | None = None) -> None:
        """Write the summary of graph and execution. Options, all "false" at first: colours, showVarStorage,
        showOptimizations, showExecutionSteps, showPerIpuMemoryUsage. Raises invalid_option for others, and
        profiling_disabled for CPU targets."""
        self._profile.print_summary(outputStream, opt or {})

    def reportIntervals(self, outputStream: IO[str]) -> None:
        """Write a CSV of how many tiles compute, exchange and sync over time, in cycles. Raises profiling_disabled
        where the target records nothing."""
        self._profile.print_intervals(outputStream)

    @cached_property
    def _profile(self) -> EngineProfile:
        from simulator.engine.profiles import EngineProfile  # loading the reader of reports takes 0.1 s

        return EngineProfile(self.executable, self._options, self.core.recorder)

    # ---- simulated errors --------------------------------------------------------------------------------------

    def insertSimulatedError(self, error: ErrorCode, location: ErrorLocation) -> None:
        """Let the program fail with `error` when it comes to `location`: then `run` stops and raises runtime_error,
        whose `errors` name code and location and are marked `isSimulated`. Several errors may be planted; a run
        reports those of the first program that fails.

        Raises poplar_error before the engine is loaded, for ErrorCode.NONE, for a location of another engine's
        program, and for one where an error is simulated already."""
        if not self.core.loaded:
            raise poplar_error("The engine is not loaded; call load(device) before insertSimulatedError.")
        self.core.planted.insert(error, location)
        self.core.bind()

    def eraseSimulatedError(self, location: ErrorLocation) -> None:
        """Undo one insertSimulatedError. Raises poplar_error where no error is simulated."""
        self.core.planted.erase(location)
        self.core.bind()

    def clearSimulatedErrors(self) -> None:
        """Undo all insertSimulatedError calls; load() then brings the program to its beginning."""
        self.core.planted.clear()
        self.core.bind()

    @overload
    def getSimulatedErrorLocations(self, programId: int, tile: int = ~0) -> list[ErrorLocation]: ...
    @overload
    def getSimulatedErrorLocations(self, vertexName: str, tile: int = ~0) -> list[ErrorLocation]: ...
    @checks_arguments  # type: ignore[misc]
    def getSimulatedErrorLocations(
        self, program: int | str | None = None, tile: int = ~0, *, programId: int | None = None, vertexName: str = ""
    ) -> list[ErrorLocation]:
        """Where a program, or the code of a vertex type, can fail: one location for each tile it is on, or that of
        `tile`, which is empty where the tile does not have it.

        `programId` is the number in the programs table of profile.pop, `_id` in pva and Id on the Program Tree page.
        For a program that runs vertices that is the place which launches them; `vertexName` gives their own code.
        Raises poplar_error for an id or a tile there is not, unknown_vertex_type for a name."""
        wanted = program if program is not None else programId if programId is not None else vertexName
        return error_locations(self.executable.compiled, wanted, tile)

    # ---- closing and copying -----------------------------------------------------------------------------------------

    def __enter__(self) -> Engine:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raises poplar_error: copy and pickle come here."""
        raise poplar_error("An engine cannot be copied; make another one with Engine(engine.executable, options).")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _only_options(progs: Any, opt: Any, progress: Any, context: Context) -> Any:
    """The options in the arguments after an executable, which takes no other. Raises poplar_error for more."""
    if (progs is not None and opt is not None) or progress is not None or context != "":
        raise poplar_error(
            "An engine of an executable takes the executable and options; its programs, progress and name were given "
            "to compileGraph."
        )
    return opt if progs is None else progs


def _close(folder: ReportFolder | None, core: EngineCore) -> None:
    core.unload()
    if folder is not None:
        folder.close()
