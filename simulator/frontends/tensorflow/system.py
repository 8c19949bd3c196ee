"""The IPU system of a TensorFlow process: one device connection, the executable cache, the function on the device."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import tensorflow as tf

from simulator.arrays import AnyArray
from simulator.frontends.lowering.interface_text import from_json, to_json
from simulator.frontends.lowering.lowered import Interface
from simulator.frontends.session.connection import (
    ConnectionType,
    DeviceConnection,
    DeviceRequest,
    DeviceUnavailableError,
)
from simulator.frontends.session.executable_cache import ExecutableCache, Outcome, executable_key
from simulator.frontends.tensorflow import log_lines
from simulator.frontends.tensorflow.capture.function import CapturedFunction
from simulator.frontends.tensorflow.capture.lowered_function import lower_function
from simulator.frontends.tensorflow.device_function import DeviceFunction
from simulator.frontends.tensorflow.device_variables import installed
from simulator.frontends.tensorflow.flags import read_flags
from simulator.poplar import Device, Executable, compileGraph

_NO_CACHE_PATH = (
    "IPU devices have been configured for pre-compilation, however 'executable_cache_path' in 'TF_POPLAR_FLAGS' has "
    "not been set. Set TF_POPLAR_FLAGS='--executable_cache_path=/path/to/storage'."
)
_COMPILED = "Compiled cluster using XLA!  This line is logged at most once for the lifetime of the process."


@dataclass(frozen=True)
class SystemRequest:
    """What a configuration asks for."""

    type: ConnectionType = ConnectionType.ALWAYS
    ipus: int = 1
    device_id: int | None = None
    version: str = ""
    remote_buffers: bool = False  #: the answer for a device that is not attached
    engine_options: Mapping[str, str] | None = None


class System:
    """A configured system. Functions share its one device: one is loaded at a time."""

    def __init__(self, request: SystemRequest) -> None:
        """Attaches for ALWAYS. Raises tf.errors.FailedPreconditionError for pre-compilation without a cache, and
        tf.errors.InternalError where ALWAYS gets no device."""
        flags = read_flags()
        kind = request.type
        if kind is ConnectionType.ALWAYS and flags.use_on_demand:
            kind = ConnectionType.ON_DEMAND
        if kind is ConnectionType.PRE_COMPILE and not flags.executable_cache_path:
            raise tf.errors.FailedPreconditionError(None, None, _NO_CACHE_PATH)
        self.request = request
        self._loaded: DeviceFunction | None = None
        path = flags.executable_cache_path
        self._cache = ExecutableCache(Path(path), ".poplar_exec", _warn) if path else None
        device = DeviceRequest(
            request.ipus,
            request.version,
            request.device_id,
            flags.on_demand_device_poll_time / 1000,
            flags.on_demand_device_timeout / 1000,
        )
        try:
            self.connection = DeviceConnection(kind, device, _log_attached, _log_waiting)
        except DeviceUnavailableError as error:
            raise tf.errors.InternalError(
                None,
                None,
                "Could not find an available device for TensorFlow virtual device /device:IPU:0. This device was "
                f"expected to have {request.ipus} IPU(s). {error}",
            ) from error

    def compile(self, captured: CapturedFunction) -> tuple[Executable, Interface]:
        """The executable of a function, from the cache or compiled now."""
        options = dict(self.request.engine_options or {})
        interfaces: list[Interface] = []

        def compile_now() -> Executable:
            lowered = lower_function(captured, self.connection.target)
            interfaces.append(lowered.interface)
            return compileGraph(lowered.graph, list(lowered.programs), options, None, report_name())

        if self._cache is None:
            executable = compile_now()
            interface = interfaces[0]
        else:
            remote = self.connection.attached is not None or self.request.remote_buffers
            parts = ["tensorflow", tf.__version__, repr(captured.program), repr(sorted(options.items())), repr(remote)]
            key = executable_key(self.connection.target, parts)
            fetched = self._cache.fetch(key, compile_now, lambda: to_json(interfaces[0]))
            executable, interface = fetched.executable, from_json(fetched.notes)
            if self.connection.type is ConnectionType.PRE_COMPILE and fetched.outcome is Outcome.STORED:
                sentence = f"A pre-compiled Poplar program has been saved to {fetched.path}"
                log_lines.log(log_lines.PRE_COMPILED, sentence)
        log_lines.log_once(log_lines.COMPILED, _COMPILED)
        return executable, interface

    def run(self, function: DeviceFunction, arguments: Sequence[AnyArray]) -> list[AnyArray] | None:
        """Results of a function; None where runs give zeros. Raises CompilationOnlyError and
        DeviceUnavailableError."""
        device = self.connection.device_for_run()
        if device is None:
            return None
        if self._loaded is not function:
            if self._loaded is not None:
                self._loaded.leave()
            function.load(device)
            self._loaded = function
        return function.run(arguments)

    def close(self) -> None:
        """Give the device back."""
        if self._loaded is not None:
            self._loaded.leave()
            self._loaded = None
        self.connection.detach()


class CompiledFunction:
    """A captured function that is compiled at its first run, for the system of then."""

    def __init__(self, captured: CapturedFunction, shapes: Sequence[tuple[int, ...]]) -> None:
        self._captured, self._shapes = captured, shapes
        self._system: System | None = None
        self._function: DeviceFunction | None = None

    def run(self, arguments: Sequence[AnyArray]) -> list[AnyArray]:
        """Results as arrays. Raises what compilation, attachment and the run raise."""
        system = current()
        if self._function is None or self._system is not system:
            executable, interface = system.compile(self._captured)
            options = dict(system.request.engine_options or {})
            self._function = DeviceFunction(self._captured, executable, interface, options, installed())
            self._system = system
            atexit.register(self._function.close)
        results = system.run(self._function, arguments)
        if results is None:
            return [np.zeros(shape, dtype) for shape, dtype in zip(self._shapes, self._captured.dtypes, strict=True)]
        return results


_current: list[System] = []


def configure(request: SystemRequest) -> None:
    """Configure the system; a system that was configured before gives its device back."""
    while _current:
        _current.pop().close()
    _current.append(System(request))


def current() -> System:
    """The configured system; one of a single IPU where the program configured none, as TensorFlow has it."""
    if not _current:
        configure(SystemRequest())
    return _current[0]


def report_name() -> str:
    """Folder of a report: tf_report__<date>__<time>.<ms>__<pid>."""
    now = datetime.now()
    return f"tf_report__{now:%Y-%m-%d__%H-%M-%S}.{now.microsecond // 1000:03d}__{os.getpid()}"


def _log_attached(device: Device) -> None:
    count = device.getTarget().getNumIPUs()
    plural = "" if count == 1 else "s"
    log_lines.log(
        log_lines.ATTACHED,
        f"TensorFlow device /device:IPU:0 attached to {count} IPU{plural} with Poplar device ID: {device.getId()}",
    )


def _log_waiting() -> None:
    log_lines.log(
        log_lines.ATTACHED,
        "Currently there is no available device for TensorFlow virtual device /device:IPU:0. Waiting for one to become "
        "available.",
    )


def _warn(sentence: str) -> None:
    log_lines.log(log_lines.PRE_COMPILED, sentence, "W")
