"""The IPU system of a TensorFlow process: one device connection, the executable cache, the function on the device."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from popvision import pvti
from simulator.arrays import AnyArray
from simulator.frontends.lowering.cursor import Precision
from simulator.frontends.lowering.interface_text import from_json, to_json
from simulator.frontends.lowering.lowered import Interface, Lowered, Outputs
from simulator.frontends.lowering.shards import ipus_of
from simulator.frontends.lowering.tensorflow.host_transfers import transfers
from simulator.frontends.program_identity import identity
from simulator.frontends.session.connection import (
    CompilationOnlyError,
    ConnectionType,
    DeviceConnection,
    DeviceRequest,
    DeviceUnavailableError,
)
from simulator.frontends.session.executable_cache import CachedExecutable, ExecutableCache, Outcome, executable_key
from simulator.frontends.session.progress import compilation_progress
from simulator.frontends.tensorflow import errors, log_lines
from simulator.frontends.tensorflow.capture.function import CapturedFunction
from simulator.frontends.tensorflow.capture.lowered_function import lower_function
from simulator.frontends.tensorflow.device_function import DeviceFunction
from simulator.frontends.tensorflow.device_variables import Variables, installed
from simulator.frontends.tensorflow.files import ReportFiles, serialize
from simulator.frontends.tensorflow.flags import Flags, read_flags, usage
from simulator.frontends.tensorflow.replication import replicas_of, why_not_replicated
from simulator.frontends.tensorflow.user_operations import unhashable_operation
from simulator.poplar import Device, Executable, IPUModel, compileGraph

_channel = pvti.createTraceChannel("tensorflow_plugin")

_NO_CACHE_PATH = (
    "IPU devices have been configured for pre-compilation, however 'executable_cache_path' in 'TF_POPLAR_FLAGS' has "
    "not been set. Please set the path to a directory where the compiled binaries should be stored using the "
    "'TF_POPLAR_FLAGS' environment variable, for example "
    "'TF_POPLAR_FLAGS=--executable_cache_path=/path/to/storage'."
)
_COMPILED = "Compiled cluster using XLA!  This line is logged at most once for the lifetime of the process."
_NO_REPORT = (
    "The program was loaded from {path} and not compiled, so no report is written for it; delete this file to get one."
)
_SET_HASHABLE = (
    "please set the 'is_hashable' attribute to 'true' in the operations metadata function. Please see the "
    "documentation for further details."
)
_NOT_PRE_COMPILED = (
    "IPU devices have been configured for pre-compilation, however the program contains custom user operation "
    "{operation} which cannot be safely pre-compiled. If it is safe to pre-compile these Custom User operations, "
    f"{_SET_HASHABLE}"
)
_NOT_ON_THE_HOST = (
    "IPU devices have been configured for pre-compilation, however the program contains `outside_compilation_scope` "
    "operations which cannot be safely pre-compiled."
)
_ZEROS = (
    "IPU devices have been configured for pre-compilation, so the results of programs are zeros; a program that only "
    "other results lead to is not pre-compiled."
)
_NOT_CACHED = (
    "Executable caching has been enabled, however the program being compiled contains custom user operations which "
    "cannot be safely serialized. If it is safe to pre-compile these custom user operations, "
    f"{_SET_HASHABLE}"
)
_NOT_REPLICATED = "A program takes {used} of the {ipus} IPUs and is not replicated: {reason} (docs/tensorflow.md)."
_NOT_CONFIGURED = "No IPU device was configured for /device:IPU:0, creating a device with a single IPU."


@dataclass(frozen=True)
class ModelRequest:
    """The IPU Model that takes the place of hardware where the flags say so. `tiles` 0: those of the version."""

    version: str = "ipu2"
    tiles: int = 0
    compile_code: bool = True

    def device(self, ipus: int) -> Device:
        """Raises invalid_machine_model for a version or tiles that no model has."""
        model = IPUModel(self.version)
        model.numIPUs = ipus
        model.compileIPUCode = self.compile_code
        if self.tiles:
            model.tilesPerIPU = self.tiles
        return model.createDevice()


@dataclass(frozen=True)
class SystemRequest:
    """What a configuration asks for."""

    type: ConnectionType = ConnectionType.ALWAYS
    ipus: int | None = None  #: None: the configuration names no device
    device_id: int | None = None
    version: str = ""
    remote_buffers: bool = False  #: the answer for a device that is not attached
    engine_options: Mapping[str, str] = field(default_factory=dict)
    precision: Precision = field(default_factory=Precision)
    without_effect: Mapping[str, str] = field(default_factory=dict)  #: options that only the report shows
    given: Mapping[str, str] = field(default_factory=dict)  #: all options that are not the default ones
    serialization_folder: str = ""  #: of executables; empty: none
    model: ModelRequest = field(default_factory=ModelRequest)


class System:
    """A configured system. Functions share its one device: one is loaded at a time."""

    def __init__(self, request: SystemRequest) -> None:
        """Attaches for ALWAYS. Raises tf.errors.InternalError where ALWAYS gets no device, and
        tf.errors.FailedPreconditionError for a number of IPUs that no device has."""
        self.flags = flags = read_flags()
        if flags.help:
            log_lines.log_once(log_lines.COMPILER, usage())
        kind = request.type
        if kind is ConnectionType.ALWAYS and flags.use_on_demand:
            kind = ConnectionType.ON_DEMAND
        self.request = request
        self._loaded: DeviceFunction | None = None
        path = flags.executable_cache_path
        self._cache = ExecutableCache(Path(path), ".poplar_exec", _warn) if path else None
        self.engine_options = dict(request.engine_options)
        if flags.max_compilation_threads > 0:
            self.engine_options.setdefault("opt.maxCompilationThreads", str(flags.max_compilation_threads))
        if request.ipus is None and request.device_id is None:
            log_lines.log_once(log_lines.EXECUTOR, _NOT_CONFIGURED)
        self.connection = _connect(kind, request, flags)

    def compile(
        self, captured: CapturedFunction, iterations: int = 1, outputs: Outputs = Outputs.FINAL
    ) -> tuple[Executable, Interface]:
        """The executable of a function, from the cache or compiled now; one run calls the function `iterations` times.

        Raises tf.errors.FailedPreconditionError for pre-compilation without a cache, of parts that run on the host and
        of custom operations that are not hashable, tf.errors.InternalError for errors of Poplar, and what lowering
        raises."""
        if self._cache is None and self.connection.type is ConnectionType.PRE_COMPILE:
            raise tf.errors.FailedPreconditionError(None, None, _NO_CACHE_PATH)
        if self.connection.type is ConnectionType.PRE_COMPILE and _has_host_calls(captured):
            raise tf.errors.FailedPreconditionError(None, None, _NOT_ON_THE_HOST)
        cache, replicas = self._cache_for(captured), self._replicas(captured)
        interfaces: list[Interface] = []

        def compile_now() -> Executable:
            with pvti.Tracepoint(_channel, "PoplarGraphConstruction"):
                lowered = lower_function(
                    captured,
                    self.connection.target,
                    iterations,
                    outputs,
                    self.request.precision,
                    self.flags.use_synthetic_data,
                    replicas,
                )
            interfaces.append(lowered.interface)
            with errors.as_tensorflow("Compile engine"):
                return self._compile_lowered(lowered, captured.without_effect)

        has_key = cache is not None or bool(self.request.serialization_folder)
        key = self._key(captured, iterations, outputs) if has_key else ""
        if cache is None:
            executable = compile_now()
            interface = interfaces[0]
        else:
            fetched = cache.fetch(key, compile_now, lambda: to_json(interfaces[0]), self.connection.target)
            executable, interface = fetched.executable, from_json(fetched.notes)
            executable.writes_reports = fetched.outcome is not Outcome.LOADED
            self._log_origin(fetched)
        if self.request.serialization_folder:
            serialize(Path(self.request.serialization_folder), key, executable, interface)
        log_lines.log_once(log_lines.COMPILED, _COMPILED)
        return executable, interface

    def _replicas(self, captured: CapturedFunction) -> int:
        """The replicas of a program, which its queues are told."""
        program, ipus = captured.program, self.connection.target.getNumIPUs()
        replicas, used = replicas_of(program, ipus), ipus_of(program)
        if replicas == 1 and used < ipus:
            reason = why_not_replicated(program)
            log_lines.log_once(log_lines.EXECUTOR, _NOT_REPLICATED.format(used=used, ipus=ipus, reason=reason), "W")
        for one in transfers(program.operators):
            if one.name != "tf.HostCall":
                captured.host_ends[one.arguments["handle"]].note_replicas(replicas)
        return replicas

    def _cache_for(self, captured: CapturedFunction) -> ExecutableCache | None:
        """The cache, unless the program has operations that may not be cached."""
        unsafe = unhashable_operation(captured.program)
        if self._cache is None or unsafe is None:
            return self._cache
        if self.connection.type is ConnectionType.PRE_COMPILE:
            raise tf.errors.FailedPreconditionError(None, None, _NOT_PRE_COMPILED.format(operation=unsafe))
        log_lines.log(log_lines.COMPILER, _NOT_CACHED)
        return None

    def _log_origin(self, fetched: CachedExecutable) -> None:
        """Say that a program is saved for later, or that it has no report because it was saved before."""
        if fetched.outcome is Outcome.STORED and self.connection.type is ConnectionType.PRE_COMPILE:
            log_lines.log(log_lines.COMPILER, f"A pre-compiled Poplar program has been saved to {fetched.path}")
        if fetched.outcome is Outcome.LOADED and ReportFiles(self.engine_options).are_wanted:
            log_lines.log(log_lines.COMPILER, _NO_REPORT.format(path=fetched.path))

    def _key(self, captured: CapturedFunction, iterations: int, outputs: Outputs) -> str:
        """What the executable of a function depends on, as the name of its file."""
        remote = self.request.remote_buffers
        if self.connection.attached is not None:
            remote = self.connection.attached.supportsRemoteBuffers()
        recorded = {**self.request.without_effect, **captured.without_effect}
        options = sorted(self.engine_options.items()), sorted(recorded.items())
        settings = repr((iterations, outputs.value, self.request.precision, options, remote))
        parts = ["tensorflow", tf.__version__, self.flags.key(), identity(captured.program), settings]
        return executable_key(self.connection.target, parts)

    def _compile_lowered(self, lowered: Lowered, of_program: Mapping[str, str]) -> Executable:
        without_effect = {**self.request.without_effect, **self.flags.without_effect(), **of_program}
        if without_effect:
            lowered.graph.addDebugInfo("optionsWithoutEffect", "tensorflow", **without_effect)
        files = ReportFiles(self.engine_options)
        with _progress(self.flags.show_progress_bar) as progress:
            executable = compileGraph(lowered.graph, list(lowered.programs), self.engine_options, progress, files.name)
        files.write_framework_file(self._facts(lowered.interface, without_effect))
        return executable

    def _facts(self, interface: Interface, without_effect: Mapping[str, str]) -> dict[str, Any]:
        """What framework.json tells."""
        return {
            "framework": {"name": "TensorFlow", "version": tf.__version__},
            "IPUConfig": dict(self.request.given),
            "TF_POPLAR_FLAGS": self.flags.given(),
            "withoutEffect": dict(without_effect),
            "connectionType": self.connection.type.name,
            "inputs": {name: f"{one.dtype}{list(one.shape)}" for name, one in interface.inputs.items()},
            "outputs": [f"{one.stream.dtype}{list(one.stream.shape)}" for one in interface.outputs],
            "variables": {
                name: f"{one.to_host.dtype}{list(one.to_host.shape)}" for name, one in interface.weights.items()
            },
        }

    def function(
        self,
        captured: CapturedFunction,
        iterations: int = 1,
        outputs: Outputs = Outputs.FINAL,
        variables: Variables | None = None,
    ) -> DeviceFunction:
        """A function that is compiled for this system, ready to run. `variables`: None for those of the process."""
        executable, interface = self.compile(captured, iterations, outputs)
        with errors.as_tensorflow("Compile engine"):
            made = DeviceFunction(captured, executable, interface, self.engine_options, variables or installed())
        atexit.register(made.close)
        return made

    def run(self, function: DeviceFunction, arguments: Sequence[AnyArray]) -> list[AnyArray] | None:
        """Results of a function; None where runs give zeros. Raises tf.errors.InvalidArgumentError for
        NEVER, and tf.errors.InternalError where no device became free and for errors of Poplar."""
        device = self._device_for_run()
        if device is None:
            log_lines.log_once(log_lines.COMPILER, _ZEROS)
            return None
        if function.device is not device or not function.is_loaded:
            with errors.as_tensorflow("Load engine"):
                function.load(device, _seed[0])
            self._loaded = function
        with errors.as_tensorflow("Execute engine"):
            results = function.run(arguments)
        if self.flags.log_cycle_count >= 0:
            log_lines.log(log_lines.EXECUTOR, f"Total number of IPU cycles: {function.cycles}")
        return results

    def attach_for_run(self) -> None:
        """Attach now, if runs need it. Raises what `run` raises before it begins."""
        self._device_for_run()

    def _device_for_run(self) -> Device | None:
        try:
            return self.connection.device_for_run()
        except CompilationOnlyError as error:
            raise errors.compilation_only(error) from error
        except DeviceUnavailableError as error:
            raise errors.waited_too_long(self.request.device_id, error) from error

    def reset_seed(self) -> None:
        """Send the seed of the process to the function on the device."""
        if self._loaded is not None:
            self._loaded.send_seed(_seed[0])

    def close(self) -> None:
        """Give the device back."""
        if self._loaded is not None:
            self._loaded.leave()
            self._loaded = None
        self.connection.detach()


class CompiledFunction:
    """A captured function that is compiled at its first run, for the system of then; one run calls it `iterations`
    times."""

    def __init__(
        self,
        captured: CapturedFunction,
        shapes: Sequence[tuple[int, ...]],
        iterations: int = 1,
        outputs: Outputs = Outputs.FINAL,
        variables: Variables | None = None,
    ) -> None:
        """`shapes`: of the results of one call. `variables`: None for those of the process."""
        self._captured, self._shapes = captured, shapes
        self._iterations, self._outputs, self._variables = iterations, outputs, variables
        self._system: System | None = None
        self._function: DeviceFunction | None = None

    def prepare(self) -> None:
        """Compile and attach. Raises what compilation and attachment raise."""
        self._compiled()
        current().attach_for_run()

    def _compiled(self) -> DeviceFunction:
        system = current()
        if self._function is None or self._system is not system:
            self._function = system.function(self._captured, self._iterations, self._outputs, self._variables)
            self._system = system
        return self._function

    def run(self, arguments: Sequence[AnyArray]) -> list[AnyArray]:
        """Results as arrays. Raises what compilation, attachment and the run raise."""
        function = self._compiled()
        results = current().run(function, arguments)
        if results is None:
            return [np.zeros(shape, dtype) for shape, dtype in zip(self._shapes, self._captured.dtypes, strict=True)]
        return results


def _has_host_calls(captured: CapturedFunction) -> bool:
    return any(one.name == "tf.HostCall" for one in transfers(captured.program.operators))


_current: list[System] = []
_seed = [0]


def configure(request: SystemRequest) -> None:
    """Configure the system; a system that was configured before gives its device back."""
    reset()
    _current.append(System(request))


def reset() -> None:
    """Give the device back."""
    while _current:
        _current.pop().close()


def current() -> System:
    """The configured system; one of a single IPU where the program configured none."""
    if not _current:
        configure(SystemRequest())
    return _current[0]


def reset_ipu_seed(seed: int) -> None:
    """Set the seed of random operators that have none of their own, in programs that run from now on."""
    _seed[0] = seed
    if _current:
        _current[0].reset_seed()


def _connect(kind: ConnectionType, request: SystemRequest, flags: Flags) -> DeviceConnection:
    ipus = request.ipus or 1
    model = request.model.device(ipus) if flags.use_ipu_model else None
    device = DeviceRequest(
        ipus,
        request.version,
        request.device_id,
        flags.on_demand_device_poll_time / 1000,
        flags.on_demand_device_timeout / 1000,
        model,
    )
    try:
        return DeviceConnection(kind, device, None if model is not None else _log_attached, _log_waiting)
    except DeviceUnavailableError as error:
        if error.there_is_none:
            raise errors.no_such_device(ipus, error) from error
        raise errors.no_free_device(ipus, request.device_id, error) from error


@contextmanager
def _progress(show: str) -> Iterator[Callable[[int, int], None] | None]:
    """What compileGraph calls to draw a bar; None where none is shown: `show` is "true", "false" or "auto"."""
    if show == "true" or (show == "auto" and sys.stdout.isatty()):
        with compilation_progress(True) as progress:
            yield progress
    else:
        yield None


def _log_attached(device: Device) -> None:
    count = device.getTarget().getNumIPUs()
    plural = "" if count == 1 else "s"
    log_lines.log(
        log_lines.EXECUTOR,
        f"TensorFlow device /device:IPU:0 attached to {count} IPU{plural} with Poplar device ID: {device.getId()}",
    )


def _log_waiting() -> None:
    log_lines.log(
        log_lines.EXECUTOR,
        "Currently there is no available device for TensorFlow virtual device /device:IPU:0. Waiting for one to become "
        "available.",
    )


def _warn(sentence: str) -> None:
    log_lines.log(log_lines.COMPILER, sentence, "W")
