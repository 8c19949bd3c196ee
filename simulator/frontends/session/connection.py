"""Device connection: a state machine from a target that needs no device to IPUs that this process has attached.

Frameworks compile for a device before they have one, or without ever having one. The four types are those of
TensorFlow's `DeviceConnectionType` and PopTorch's `ConnectionType`; the default times are TensorFlow's.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from simulator.base.errors import poplar_error
from simulator.base.target import Target, TargetType
from simulator.engine.devices.device import Device, as_chip
from simulator.engine.devices.device_locks import DeviceLocks
from simulator.engine.devices.device_manager import DeviceManager, reason_for_no_ipus
from simulator.engine.devices.what_if import overridden


class ConnectionType(Enum):
    """When a front end attaches its device."""

    ALWAYS = 0  #: at configuration; fails at once when no device is free
    ON_DEMAND = 1  #: before the first run; waits for a device to become free
    NEVER = 2  #: it compiles only; a run is refused
    PRE_COMPILE = 3  #: it compiles only, into a cache; a run gives zeros


class DeviceUnavailableError(poplar_error):
    """No device of the requested size is free, or, as `there_is_none` says, the system has none of that size."""

    there_is_none = False
    system_is_empty = False  #: there is no IPU at all


class CompilationOnlyError(poplar_error):
    """A program was to run on a device that is configured for compilation only."""


@dataclass(frozen=True)
class DeviceRequest:
    """What a front end asks of the machine. `version` ("ipu1", "ipu2", "ipu21") names a target that needs no device;
    it is required where none is ever attached, and a device that is attached is of this version, too."""

    ipus: int = 1
    version: str = ""
    device_id: int | None = None  #: one device and no other
    poll_seconds: float = 1.0
    timeout_seconds: float = 3600.0
    model: Device | None = (
        None  #: an IPU Model, which is always free; `ipus`, `version` and `device_id` say nothing then
    )


class DeviceConnection:
    """One device of a front end. `target` is known from the start; `attached` is None until it has a device."""

    def __init__(
        self,
        connection_type: ConnectionType,
        request: DeviceRequest,
        on_attached: Callable[[Device], None] | None = None,
        on_waiting: Callable[[], None] | None = None,
    ) -> None:
        """Attaches now for ALWAYS. `on_attached` is called after each attachment, `on_waiting` once per wait, so that
        a front end writes its own log lines.

        Raises DeviceUnavailableError where ALWAYS gets no device, and poplar_error for a request that lacks a version
        or asks for a number of IPUs that no system of this size has."""
        needs_version = connection_type in (ConnectionType.NEVER, ConnectionType.PRE_COMPILE)
        if needs_version and not request.version and request.model is None:
            raise poplar_error(
                f"A connection of type {connection_type.name} has no device to compile for; name a version: "
                "'ipu1', 'ipu2' or 'ipu21'."
            )
        self.type = connection_type
        self.request = request
        self.attached: Device | None = None
        self._on_attached = on_attached
        self._on_waiting = on_waiting
        self.target = self._find_target()
        if connection_type is ConnectionType.ALWAYS:
            self._attach(wait=False)

    def device_for_run(self) -> Device | None:
        """The attached device, attached now if need be; None where runs give zeros (PRE_COMPILE).

        Raises CompilationOnlyError for NEVER, and DeviceUnavailableError when none became free in time."""
        if self.type is ConnectionType.NEVER:
            raise CompilationOnlyError(
                "Trying to run an executable on a device that was configured for compilation only."
            )
        if self.type is ConnectionType.PRE_COMPILE:
            return None
        return self.attach()

    def attach(self) -> Device:
        """Attach now, whatever the type says of runs; ON_DEMAND waits until a device is free.

        Raises DeviceUnavailableError when none is free, or none became free in time."""
        return self.attached or self._attach(wait=self.type is ConnectionType.ON_DEMAND)

    def detach(self) -> None:
        """Give the device back; the next run attaches again."""
        if self.attached is not None:
            self.attached.detach()
            self.attached = None

    def _find_target(self) -> Target:
        if self.request.model is not None:
            return self.request.model.getTarget()
        if self.request.version:
            return self._target_of_version()
        return self._candidates()[0].getTarget()

    def _target_of_version(self) -> Target:
        return overridden(Target.createIPUTarget(self.request.ipus, self.request.version), os.environ)

    def _candidates(self) -> list[Device]:
        """The devices that would do, free or not. Raises DeviceUnavailableError when there is none at all."""
        if self.request.model is not None:
            return [self.request.model]
        devices = self._hardware()
        return [as_chip(one, self._target_of_version()) for one in devices] if self.request.version else devices

    def _hardware(self) -> list[Device]:
        manager = DeviceManager.createDeviceManager()
        if manager.num_ipus == 0:
            error = DeviceUnavailableError(
                f"There is no device of {self.request.ipus} IPU(s) in this system of 0. {reason_for_no_ipus()}"
            )
            error.there_is_none = error.system_is_empty = True
            raise error
        if self.request.device_id is not None:
            return [manager.getDevice(self.request.device_id)]
        devices = manager.getDevices(TargetType.IPU, self.request.ipus)
        if not devices:
            error = DeviceUnavailableError(
                f"There is no device of {self.request.ipus} IPU(s) in this system of {manager.num_ipus}; ask for a "
                "power of two up to that number, or set POPVISION_IPUS."
            )
            error.there_is_none = True
            raise error
        return devices

    def _attach(self, wait: bool) -> Device:
        candidates = self._candidates()
        device = _attached_of(candidates)
        if device is None and DeviceLocks().has_any():
            gc.collect()  # gives back the devices of programs that only circles of references keep
            device = _attached_of(candidates)
        deadline = time.monotonic() + self.request.timeout_seconds
        if device is None and wait and self._on_waiting is not None:
            self._on_waiting()
        while device is None:
            if not wait or time.monotonic() >= deadline:
                raise DeviceUnavailableError(self._refusal(wait))
            time.sleep(min(self.request.poll_seconds, max(0.0, deadline - time.monotonic())))
            device = _attached_of(candidates)
        self.attached = device
        if self._on_attached is not None:
            self._on_attached(device)
        return device

    def _refusal(self, waited: bool) -> str:
        wanted = (
            f"device {self.request.device_id}"
            if self.request.device_id is not None
            else f"a device of {self.request.ipus} IPU(s)"
        )
        after = f" within {self.request.timeout_seconds:g} s" if waited else ""
        return f"No process gave back {wanted}{after}; end the program that has it, or ask for a device that is free."


def _attached_of(candidates: Sequence[Device]) -> Device | None:
    """The first device that is free, attached."""
    return next((device for device in candidates if device.attach()), None)
