"""A lowered program on a device: an engine and one fixed host buffer per stream.

Streams are connected once; a run copies what changed into the buffers. All values are NumPy arrays: frameworks convert
at their own border, so that this module knows none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.frontends.lowering.lowered import ONCE_PER_ATTACHMENT, Entry, Interface, OutputStream, Stream
from simulator.poplar import Device, Engine, Executable


class DeviceProgram:
    """One executable of a front end. Weights live on the device: the host sends and fetches them when it must."""

    def __init__(self, executable: Executable, interface: Interface, options: Mapping[str, Any]) -> None:
        self.interface = interface
        executable.once_per_attachment = ONCE_PER_ATTACHMENT
        self.engine = Engine(executable, options)
        self.replicas = interface.settings.replicas
        turns = interface.settings.iterations * interface.settings.accumulation * self.replicas
        self._inputs = {name: _buffer(stream, turns) for name, stream in interface.inputs.items()}
        self._outputs = [self._output(one) for one in interface.outputs]
        self._observed = {name: self._output(one) for name, one in interface.observed.items()}
        self._written = {name: self._output(one) for name, one in interface.written_inputs.items()}
        kept = {**interface.weights, **interface.states, "randomSeed": interface.seed}
        self._groups = {name: groups for name in kept if (groups := interface.settings.groups_of(name)) is not None}
        self._sent = {
            name: _buffer(pair.from_host, self.replicas)
            if name in self._groups
            else np.zeros(pair.from_host.shape, pair.from_host.dtype)
            for name, pair in kept.items()
        }
        for name, value in interface.first_values.items():
            self._sent[name][...] = value
        self._fetched = {name: _buffer(pair.to_host, self.replicas) for name, pair in kept.items()}
        self._rates = {name: np.zeros(stream.shape, stream.dtype) for name, stream in interface.rates.items()}

    def load(self, device: Device) -> None:
        """Load onto an attached device and connect every stream."""
        self.engine.load(device)
        interface = self.interface
        if not interface.settings.synthetic_data:
            for name, stream in interface.inputs.items():
                self._connect(stream.handle, self._inputs[name])
            for one, buffer in zip(interface.outputs, self._outputs, strict=True):
                self._connect(one.stream.handle, buffer)
            for name, one in interface.observed.items():
                self._connect(one.stream.handle, self._observed[name])
            for name, one in interface.written_inputs.items():
                self._connect(one.stream.handle, self._written[name])
        for name, pair in {**interface.weights, **interface.states, "randomSeed": interface.seed}.items():
            self._connect(pair.from_host.handle, self._sent[name])
            self._connect(pair.to_host.handle, self._fetched[name])
        for name, stream in interface.rates.items():
            self._connect(stream.handle, self._rates[name])

    def send_weights(self, values: Mapping[str, AnyArray]) -> None:
        """Send all weights and optimizer states; those without a value here go as they were sent before. Those that
        differ between groups of replicas have a row for each group."""
        for name, value in values.items():
            groups = self._groups.get(name)
            np.copyto(self._sent[name], value if groups is None else value[groups], casting="unsafe")
        self.engine.run(Entry.WEIGHTS_FROM_HOST, "weightsFromHost")

    def fetch_weights(self) -> Mapping[str, AnyArray]:
        """Values of all weights and optimizer states, of the first replica, or a row for each group of replicas; valid
        until the next call."""
        self.engine.run(Entry.WEIGHTS_TO_HOST, "weightsToHost")
        names = [*self.interface.weights, *self.interface.states]
        return {name: self._fetched[name][self._first(name), ...] for name in names}

    def first_states(self) -> Mapping[str, AnyArray]:
        """The optimizer's states that the host sent last, before any those that a program begins with."""
        return {
            name: self._sent[name][self._first(name)] if name in self._groups else self._sent[name].copy()
            for name in self.interface.states
        }

    def rows(self) -> dict[str, int]:
        """The number of groups of each weight and state that differs between groups of replicas."""
        return {name: max(groups) + 1 for name, groups in self._groups.items()}

    def send_rates(self, values: Mapping[str, float]) -> None:
        """Send the optimizer's variable values."""
        for name, value in values.items():
            self._rates[name][...] = value
        self.engine.run(Entry.OPTIMIZER_FROM_HOST, "optimizerFromHost")

    def send_seed(self, seed: int) -> None:
        """Set the seed of all random draws (64 bits)."""
        self._sent["randomSeed"][:] = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF]
        self.engine.run(Entry.SEED_FROM_HOST, "randomSeedFromHost")

    def fetch_seed(self) -> int:
        self.engine.run(Entry.SEED_TO_HOST, "randomSeedToHost")
        low, high = (int(word) for word in self._fetched["randomSeed"][0])
        return low | high << 32

    def input(self, name: str) -> AnyArray:
        """The buffer of an input, [iterations x accumulation x replicas, *shape], for the caller to fill."""
        return self._inputs[name]

    def run(self, label: str) -> list[AnyArray]:
        """Run all iterations; gives the buffers of the outputs, [transfers x replicas, *shape], valid until the next
        run."""
        self.engine.run(Entry.MAIN, label)
        return self._outputs

    @property
    def outputs(self) -> list[AnyArray]:
        """What the last run gave."""
        return self._outputs

    def observed(self, name: str) -> AnyArray:
        """What the last run sent of an observed tensor, [transfers x replicas, *shape]."""
        return self._observed[name]

    def written(self) -> Mapping[str, AnyArray]:
        """What the last run wrote to its inputs, [iterations x accumulation x replicas, *shape]."""
        return self._written

    def close(self) -> None:
        self.engine.close()

    def _first(self, name: str) -> Any:
        """The replica that has a weight or state, or the first one of each group."""
        groups = self._groups.get(name)
        return 0 if groups is None else [groups.index(group) for group in range(max(groups) + 1)]

    def _connect(self, handle: str, buffer: AnyArray) -> None:
        """Connect a stream; tensors without elements have none."""
        if buffer.size:
            self.engine.connectStream(handle, buffer)

    def _output(self, one: OutputStream) -> AnyArray:
        return _buffer(one.stream, one.transfers * self.replicas)


def _buffer(stream: Stream, transfers: int) -> AnyArray:
    return np.zeros((transfers, *stream.shape), stream.dtype)
