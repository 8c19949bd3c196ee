"""Weights, optimizer states and rates of one model: which of host and device has the newer ones, and their copies.

The host's weights are the module's tensors (host_weights), its states those of the optimizer (optimizers/states). One
program sends weights and states, another fetches both, so a copy moves them all: the bytes of both, whichever changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.frontends.optimizer import Optimizer, refused_replacements
from simulator.frontends.poptorch.errors import Error
from simulator.frontends.poptorch.model_states import NOT_COMPILED, NoProgram
from simulator.frontends.poptorch.optimizers.description import describe_optimizer
from simulator.frontends.poptorch.optimizers.states import OptimizerStates
from simulator.frontends.poptorch.options import Options
from simulator.frontends.poptorch.profiling import Channel, core_call
from simulator.frontends.poptorch.weights.host_weights import HostWeights
from simulator.frontends.session.device_program import DeviceProgram


class DeviceValues:
    """The values of one model. `weights` has tensors from the compilation on, `program` while a device has them."""

    def __init__(self, model: Any, options: Options, channel: Channel, optimizer: Any) -> None:
        self._model = model
        self._options = options
        self._channel = channel  #: of the host trace
        self.optimizer = optimizer
        self.described: Optimizer | None = None
        self.weights = HostWeights({}, self._fetch)
        self._program: DeviceProgram | NoProgram = NoProgram()
        self.optimizer_states = OptimizerStates(self._newest_states)
        self._states: Mapping[str, Any] = {}  #: of the optimizer, as the device had them last
        self._rates_are_sent = False

    def describe(self, optimizer: Any) -> None:
        """Take over an optimizer's values. Raises Error for one that a compiled model cannot have."""
        parameters = dict(self._model.named_parameters())
        described = describe_optimizer(optimizer, parameters, self._options.Training.automatic_loss_scaling)
        if self.described is not None:
            for sentence in refused_replacements(self.described, described):
                raise Error(sentence)
        self.optimizer, self.described = optimizer, described
        self.optimizer_states.follow(optimizer, described, parameters)
        self._rates_are_sent = False

    def are_trained(self) -> bool:
        """Whether the optimizer has a weight of the module; True of a module without weights."""
        groups = () if self.described is None else self.described.groups
        return any(group.parameters for group in groups) or next(self._model.parameters(), None) is None

    def compiled_with(self, tensors: Mapping[str, Any]) -> None:
        """The compiled model has these weights, by name."""
        self.weights = HostWeights(tensors, self._fetch)

    def attach(self, program: DeviceProgram) -> None:
        """The values go to this program's device before its next run."""
        self._program = program
        self.optimizer_states.rows = program.rows()
        self._rates_are_sent = False
        self.weights.note_unsent()

    @property
    def program(self) -> DeviceProgram:
        """What the device runs. Raises Error where no device has the values."""
        if isinstance(self._program, NoProgram):
            raise Error(NOT_COMPILED)
        return self._program

    def leave(self) -> None:
        """The device is given up."""
        self._program = NoProgram()

    def note_trained(self) -> None:
        """A run changed the device's values."""
        self.weights.note_trained()
        self.optimizer_states.note_run(self._options.device_iterations)

    def send_changed(self) -> None:
        """Send what the host changed since the last run."""
        self._take_loaded_states()
        values = self.weights.newest()
        if values is not None:
            with self._channel.method("copyWeightsToDevice"), core_call("copyWeightsToDevice"):
                self._send(values)
            self.weights.note_sent()
        if not self._rates_are_sent and self.described is not None:
            with core_call("updateOptimizers"):
                self.program.send_rates(self.described.variables())
            self._rates_are_sent = True

    def send_weights(self) -> None:
        """Send all weights."""
        values = {name: tensor.detach().numpy() for name, tensor in self.weights.tensors.items()}
        with core_call("copyWeightsToDevice"):
            self._send(values)
        self.weights.note_sent()

    def bring_to_host(self) -> None:
        """Fetch weights and states, before the device is given up."""
        self._fetch()
        self.weights.bring_to_host()

    def forget(self) -> None:
        """Give module and optimizer their newest values, and keep none of the device's."""
        self.weights.forget()
        self.optimizer_states.leave()
        self.weights = HostWeights({}, self._fetch)
        self.leave()

    def _send(self, values: Mapping[str, Any]) -> None:
        """Send weights, with the optimizer's states as the device has them: one program sends all."""
        if self.weights.device_is_newer:
            self._fetch()
        self.program.send_weights({**values, **self._states})

    def _fetch(self) -> Mapping[str, Any]:
        with core_call("copyWeightsToHost"):
            fetched = self.program.fetch_weights()
        self._states = {name: fetched[name].copy() for name in self.program.interface.states}
        return fetched

    def _newest_states(self) -> Mapping[str, Any] | None:
        """The optimizer's states as they are on the device; None before a device has any."""
        if self.weights.device_is_newer:
            self.weights.bring_to_host()
        if isinstance(self._program, DeviceProgram) and not self._states:
            return self._program.first_states()
        return self._states or None

    def _take_loaded_states(self) -> None:
        """States and values that the user loaded into the optimizer replace the device's, which keeps its weights."""
        if not self.optimizer_states.is_loaded():
            return
        self.describe(self.optimizer)
        known = self._newest_states() or {}
        self._states = self.optimizer_states.take_loaded(known)
        self.weights.note_unsent()
