"""States of a wrapped model: not compiled, compiled, on a device. Each has what is there in it and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulator.frontends.poptorch.compiled_model import CompiledModel
from simulator.frontends.poptorch.devices import Connection
from simulator.frontends.session.device_program import DeviceProgram

#: what Error says where a state is needed that the model is not in
NOT_COMPILED = "Model has not been compiled or has been destroyed."


class NotCompiled:
    """Before the first compilation, and after `destroy`."""


@dataclass(frozen=True)
class Compiled:
    """An executable for arguments of one signature, and the way to a device."""

    model: CompiledModel
    signature: tuple[Any, ...]
    connection: Connection

    @property
    def is_attached(self) -> bool:
        return self.connection.attached is not None


@dataclass(frozen=True)
class OnDevice(Compiled):
    """The executable is loaded, and the device has the weights."""

    program: DeviceProgram

    def without_device(self) -> Compiled:
        return Compiled(self.model, self.signature, self.connection)


def on_device(state: Compiled, program: DeviceProgram) -> OnDevice:
    """A compiled model whose program a device has."""
    return OnDevice(state.model, state.signature, state.connection, program)


class NoProgram:
    """In place of a program where no device has one."""
