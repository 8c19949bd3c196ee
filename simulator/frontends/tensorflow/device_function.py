"""A captured function on a device: its engine, and the variables that it shares with the host and other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
import tensorflow as tf

from popvision import pvti
from simulator.arrays import AnyArray
from simulator.frontends.lowering.lowered import Interface, Outputs
from simulator.frontends.session.device_program import DeviceProgram
from simulator.frontends.tensorflow.capture.function import CapturedFunction
from simulator.frontends.tensorflow.device_variables import Variables
from simulator.frontends.tensorflow.host_ends import connect_host_ends
from simulator.poplar import Device, Executable

_channel = pvti.createTraceChannel("tensorflow_plugin")

#: the function on each device
_on_device: WeakKeyDictionary[Device, ref[DeviceFunction]] = WeakKeyDictionary()


class DeviceFunction:
    """One executable of a function. One function is on a device at a time: a load first brings the variables of the one
    before to the host, and a run of that one loads it again."""

    def __init__(
        self,
        captured: CapturedFunction,
        executable: Executable,
        interface: Interface,
        options: Mapping[str, Any],
        variables: Variables,
    ) -> None:
        self.captured = captured
        with pvti.Tracepoint(_channel, "PoplarEngineConstruction"):
            self._program = DeviceProgram(executable, interface, options)
        self._iterations = interface.settings.iterations
        self._all_outputs = interface.settings.outputs is Outputs.ALL
        self._variables = variables
        self._keys = {name: id(handle) for name, handle in captured.variables.items()}
        self._written = [self._keys[name] for name, _ in captured.program.updates]
        self.device: Device | None = None  #: that it was loaded onto last
        self._seed = 0
        self.cycles = 0  #: of the last run
        for name, handle in captured.variables.items():
            variables.register(handle, tf.as_dtype(captured.variable_dtypes[name]))

    def load(self, device: Device, seed: int = 0) -> None:
        """Load onto an attached device, in place of the function there. Variables are sent before the next run. `seed`:
        of random operators that have none of their own."""
        before = _function_on(device)
        if before is not None:
            before.leave()
        with pvti.Tracepoint(_channel, "engine_.load(device_)"):
            self._program.load(device)
        if not self._program.interface.settings.synthetic_data:
            connect_host_ends(
                self._program.engine, self.captured.program.operators, self.captured.host_ends, self._program.replicas
            )
        _on_device[device] = ref(self)
        self.device = device
        self.send_seed(seed)

    @property
    def is_loaded(self) -> bool:
        return self.device is not None and _function_on(self.device) is self

    def send_seed(self, seed: int) -> None:
        """Set the seed of random operators that have none of their own."""
        self._seed = seed
        self._program.send_seed(seed)

    def leave(self) -> None:
        """Bring to the host what only the device has; another function takes the device."""
        if self.device is not None and self.is_loaded:
            self._variables.leave(self)
            del _on_device[self.device]

    def close(self) -> None:
        """Leave the device, and write the report."""
        self.leave()
        self._program.close()

    def run(self, arguments: Sequence[AnyArray]) -> list[AnyArray]:
        """Call the function. `arguments` has one array per argument of the function, [iterations, *shape] where the
        program repeats; all replicas get the same. Results are the first replica's: of the last call, or of each if the
        program sends all."""
        if self.device is not None and not self.is_loaded:
            self.load(self.device, self._seed)
        self._send_variables()
        replicas = self._program.replicas
        for name, argument in zip(self.captured.inputs, arguments, strict=True):
            if name is not None:
                buffer = self._program.input(name)
                calls = np.asarray(argument) if self._iterations > 1 else np.asarray(argument)[None]
                np.copyto(buffer, np.repeat(calls, replicas, axis=0), casting="unsafe")
        before = self._program.engine.getTimeStamp().device_cycles
        with pvti.Tracepoint(_channel, "engine_.run(0)"):
            outputs = self._program.run("run")
        self.cycles = self._program.engine.getTimeStamp().device_cycles - before
        self._variables.note_run(self, self._written)
        if self._all_outputs and self._iterations > 1:
            return self.captured.pack([one[::replicas].copy() for one in outputs])
        return self.captured.pack([one[-replicas] for one in outputs])

    def fetch(self) -> Mapping[int, AnyArray]:
        """Values of the variables on the device, by the identity of the handle."""
        fetched = self._program.fetch_weights()
        return {key: fetched[name] for name, key in self._keys.items()}

    def _send_variables(self) -> None:
        """Send what the host or another function changed. All are sent at once, so those that are current here are
        fetched first."""
        stale = set(self._variables.stale(self, self._keys.values()))
        if not stale:
            return
        values = {}
        if len(stale) < len(self._keys):
            current = self._program.fetch_weights()
            values = {name: current[name].copy() for name, key in self._keys.items() if key not in stale}
        for name, key in self._keys.items():
            if key in stale:
                values[name] = self._variables.host_value(key)
        self._program.send_weights(values)
        self._variables.note_sent(self, stale)


def _function_on(device: Device) -> DeviceFunction | None:
    """The function that a device has."""
    reference = _on_device.get(device)
    return None if reference is None else reference()
