"""Engine: loads compiled programs onto a device and runs them. Its parts have modules of their own."""

from __future__ import annotations

import operator
import os
import sys
import time
import weakref
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import IO, Any, overload

from popvision import pvti
from simulator.base.errors import graph_memory_allocation_error, invalid_option, poplar_error
from simulator.base.options.flags import OptionFlags
from simulator.base.options.table import RUNTIME_TABLE
from simulator.base.target import Target, TargetType
from simulator.engine.compilation import ProgressFunc, compile_for_engine
from simulator.engine.devices.device import Device
from simulator.engine.executable import Executable
from simulator.engine.host_data import HostDataMethods
from simulator.engine.options import EngineOptions, resolve
from simulator.engine.profiles import ProfileMethods
from simulator.engine.runtime_options import RuntimeOptions, runtime_settings, runtime_values
from simulator.engine.simulated_errors import SimulatedErrorMethods
from simulator.engine.timer_time_point import TimerTimePoint, timing_report
from simulator.graph.debug_context import Context
from simulator.graph.program import Program
from simulator.programming.graph import Graph
from simulator.runtime.engine_core import EngineCore
from simulator.runtime.recording.report_folder import ReportFolder

__all__ = ["Engine", "TimerTimePoint"]

_channel = pvti.channel("Poplar Runtime")


class Engine(HostDataMethods, ProfileMethods, SimulatedErrorMethods):
    """`Engine(graph, program or programs, options, progress, debugContext)` or `Engine(executable, options)`.

    `progressCallBack(done, maximum)` is called from one thread of its own while the graph is compiled. The name of the
    debug context names the engine's sub-folder of reports. Reports are finished by `close()`, at the end of a `with`
    block, or when the engine goes away.

    Raises `invalid_option` for unknown or malformed options, and for options other than those that an executable was
    compiled with; `link_error` where linking fails, and its kind `graph_memory_allocation_error` where tiles have too
    little memory."""

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
            self._start(source, _options_of(source, opt if programs is None else programs))
        elif isinstance(source, Graph):
            compiled = compile_for_engine(source, programs, opt, progressCallBack, debugContext)
            self._start(compiled, compiled._options)
        else:
            raise poplar_error(f"An engine needs a graph and programs, or an executable; got {source!r}.")
        self._compiled = self._executable._compiled
        self._set_runtime(None)
        self._device: Device | None = None
        self._loaded_after = -1  #: resets of the device when the engine was loaded
        self._folder: ReportFolder | None = None
        report = self._options.report
        if report.writes_report or report.writes_archive:
            self._folder = ReportFolder(report, self._executable._name, self._options.facts())
            self._folder.write_compilation(self._compiled)
        self._finish = weakref.finalize(self, _close_unasked, self._folder, self._core)

    def prepare(self, device: Device, runOptions: RuntimeOptions | None = None) -> None:
        """Configure a device for `deploy`; the runtime options hold for all runs until the next `prepare`. Raises
        poplar_error for a device of another kind or one not attached, graph_memory_allocation_error where the program
        does not fit."""
        with pvti.Tracepoint(_channel, "poplar::core::Engine::prepare"):
            self._check_device(device)
            self._set_runtime(runOptions)
            self._device = device

    def deploy(self) -> None:
        """Load the program onto the prepared device. Raises poplar_error where none is prepared."""
        if self._device is None:
            raise poplar_error("The device is not prepared; call prepare(device) before deploy().")
        with pvti.Tracepoint(pvti.tracePoplar, "Prepare IPU Executable"):
            self._core.load()
        self._loaded_after = self._device.condition.resets

    def load(self, device: Device | None = None) -> None:
        """`prepare` and `deploy`; without a device onto the one of the last time. All variables get their first values
        again. Raises poplar_error where there was no last time."""
        target = device or self._device
        if target is None:
            raise poplar_error("The engine was never loaded; call load(device) with a device the first time.")
        self.prepare(target)
        self.deploy()

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

        Raises poplar_error before loading, for an unknown number, and on a device that was stopped, reset or detached
        since loading; runtime_error where the program ends itself or meets an error."""
        self._check_ready()
        settings = self._runtime_settings
        if options is not None:
            settings = runtime_settings(runtime_values(self._runtime, options), self._executable.getTarget())
        try:
            index = operator.index(prog)
        except TypeError:
            raise poplar_error(f"There is no program {prog!r}; programs have numbers, from 0 on.") from None
        record = self._core.run(index, debugName, settings)
        if record is not None and self._folder is not None:
            self._folder.append_run(record)
        elif self._core.last_blocks and self._folder is not None:
            self._folder.append_blocks(self._core.last_blocks)

    def stop(self) -> None:
        """Stop a running program from another thread or a callback: `run` returns where the program would synchronise
        with the host next; one that never does runs to its end. The device is left undefined: no program runs on it
        before `Device.reset` and `load`. Raises poplar_error before the engine is loaded."""
        if self._device is None or not self._core.loaded:
            raise poplar_error("The engine is not loaded, so there is nothing to stop; call load(device) first.")
        self._device.condition.undefined = True
        self._core.ask_to_stop()

    def close(self) -> None:
        """Finish the reports and give the memory of all tensors back; profiles can still be asked for. Idempotent; a
        closed engine can be loaded again, without further reports."""
        if self._finish.detach() is not None:
            _close(self._folder, self._core)
        self._core.unload()

    def serializeExecutable(self, out: IO[bytes]) -> None:
        """Write the engine's executable to a binary file object, for `Executable.deserialize`."""
        self._executable.serialize(out)

    def getEngineOptions(self) -> OptionFlags:
        """The options the engine was made with, those of the environment included."""
        return OptionFlags(self._options.given)

    def getTimeStamp(self) -> TimerTimePoint:
        """This moment on the host's and the device's clock."""
        clock_hz = 0.0 if self._kind is TargetType.CPU else self._compiled.machine.clock_hz
        return TimerTimePoint(time.perf_counter_ns(), self._core.device_cycles, clock_hz)

    @staticmethod
    def reportTiming(start: TimerTimePoint, end: TimerTimePoint) -> str:
        """One line: host time and simulated device time between two moments."""
        return timing_report(start, end)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _set_runtime(self, options: RuntimeOptions | None) -> None:
        """Runtime options of the runs to come; `run` may give others for one run."""
        self._runtime = runtime_values(self._options.values, options)
        self._runtime_settings = runtime_settings(self._runtime, self._executable.getTarget())

    def _check_device(self, device: Any) -> None:
        if not isinstance(device, Device):
            raise poplar_error(f"{device!r} is not a device; make one with IPUModel().createDevice().")
        target, mine = device.getTarget(), self._executable.getTarget()
        if _kind_of(target) != _kind_of(mine):
            raise poplar_error(
                f"The program was compiled for {_described(mine)}, but the device is {_described(target)}; "
                "compile the graph for this device's target."
            )
        _check_attached(device)
        if self._compiled.out_of_memory and self._kind is TargetType.IPU:
            raise graph_memory_allocation_error(self._compiled.out_of_memory)

    def _check_ready(self) -> None:
        if self._device is None or not self._core.loaded:
            raise poplar_error("The engine is not loaded; call load(device) before run().")
        _check_attached(self._device)
        condition = self._device.condition
        if condition.undefined:
            raise poplar_error(
                f"Device {self._device.getId()} was stopped by Engine.stop() and is undefined; call device.reset() and "
                "load(device) before run()."
            )
        if condition.resets != self._loaded_after:
            raise poplar_error(
                f"Device {self._device.getId()} was reset after the engine was loaded; call load(device) before run()."
            )


def _options_of(executable: Executable, given: Mapping[str, Any] | None) -> EngineOptions:
    """The options of an engine made from an executable: as it was compiled, but for those that only matter at run
    time. Raises `invalid_option` naming the first one that differs."""
    compiled = executable._options
    if given is None:
        return compiled
    now = resolve(given, os.environ, executable.getTarget())
    for name in sorted(compiled.values):
        if name not in RUNTIME_TABLE and compiled.values[name] != now.values[name]:
            raise invalid_option(
                f"Option '{name}' is '{now.values[name]}' but the executable was compiled with "
                f"'{compiled.values[name]}'; give both the same options."
            )
    return now


def _check_attached(device: Device) -> None:
    if device.getTarget().getTargetType() is TargetType.IPU and not device.isAttached():
        raise poplar_error(f"Device {device.getId()} is not attached; call device.attach() first.")


def _kind_of(target: Target) -> tuple[TargetType, int, int, str]:
    return target.getTargetType(), target.getNumIPUs(), target.getTilesPerIPU(), target.getTargetArchString()


def _described(target: Target) -> str:
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
