"""Device: simulated hardware, an IPU Model or a CPU, which engines are loaded onto."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from popvision import pvti
from simulator.base.errors import poplar_error
from simulator.base.log import Level, log
from simulator.base.target import Target, TargetType
from simulator.base.wrong_arguments import methods_refuse_wrong_arguments
from simulator.engine.devices.device_locks import DeviceLocks
from simulator.engine.devices.occupation import DeviceCondition

if TYPE_CHECKING:
    from types import TracebackType

_channel = pvti.channel("Poplar Runtime")


@methods_refuse_wrong_arguments()
class Device:
    """A group of IPUs (simulated hardware), an IPU Model or a CPU.

    Simulated hardware must be attached; while it is, no other process can attach any of its IPUs. It is given back when
    the last object that knows the device is gone, as Poplar's destructor does."""

    def __init__(
        self, target: Target, id_: int = 0, ipus: tuple[int, ...] = (), locks: DeviceLocks | None = None
    ) -> None:
        self._target = target
        self._id = id_
        self._ipus = ipus
        self._locks = locks
        self.condition = DeviceCondition(id_, target.type)

    @staticmethod
    def createCPUDevice(numberOfTiles: int = 1) -> Device:
        """A device of `numberOfTiles` tiles that runs programs without a model of time or memory."""
        return Device(Target(TargetType.CPU, tiles_per_ipu=numberOfTiles))

    def getTarget(self) -> Target:
        return self._target

    def getId(self) -> int:
        return self._id

    def getDriverIDs(self) -> list[int]:
        """The IPUs of the system that the device consists of."""
        return list(self._ipus)

    def getNumIPUs(self) -> int:
        return self._target.getNumIPUs()

    def getAttributes(self) -> dict[str, str]:
        return {
            "simulated": "true",
            "architecture": self._target.getTargetArchString(),
            "type": self._target.type.value,
        }

    def supportsRemoteBuffers(self) -> bool:
        """Always: their rows lie in memory of the host."""
        return True

    def hasRemoteBuffers(self) -> bool:
        return True

    def attach(self) -> bool:
        """Take the device for this process; False when another one has any of its IPUs. Models are always free."""
        condition = self.condition
        with pvti.Tracepoint(_channel, "poplar::core::IPUDevice::attach"):
            if self._locks is None:
                condition.attached = True
            elif not condition.attached and self._locks.take(self._ipus):
                condition.attached = True
                # By whom knows the device last. The system drops the locks of a process that ends.
                condition.give_back = weakref.finalize(condition, self._locks.give_back, self._ipus)
                condition.give_back.atexit = False
            log(Level.DEBUG, "DEVICE", f"device {self._id} {'is attached' if condition.attached else 'is in use'}")
            return condition.attached

    def isAttached(self) -> bool:
        return self.condition.attached

    def detach(self) -> None:
        """Give the device back. What was loaded onto simulated hardware is lost. Raises poplar_error while a program
        runs."""
        self.condition.detach()
        log(Level.DEBUG, "DEVICE", f"device {self._id} is detached")

    def reset(self) -> None:
        """Bring a device into its first state: programs must be loaded again, and one that was left undefined by
        Engine.stop is usable. Raises poplar_error for hardware that is not attached, and while a program runs."""
        if not self.condition.attached and self._locks is not None:
            raise poplar_error(f"Device {self._id} is not attached; call attach() before reset().")
        self.condition.reset()
        log(Level.DEBUG, "DEVICE", f"device {self._id} is reset")

    def createVirtualDevice(self, tilesPerIPU: int) -> Device:
        """The same device seen as one with fewer tiles on each IPU."""
        device = Device(
            self._target.createVirtualTarget(self._target.getNumIPUs(), tilesPerIPU), self._id, self._ipus, self._locks
        )
        device.condition = self.condition
        return device

    def __enter__(self) -> Device:
        if not self.attach():
            raise poplar_error(f"Device {self._id} is in use by another process; choose another or wait.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        return f"Device(id={self._id}, {self._target.type.value}, {self._target.getNumIPUs()} IPUs)"


def as_chip(device: Device, target: Target) -> Device:
    """The same IPUs as those of another chip: simulated hardware is of the version that a program asks for. Raises
    poplar_error for another number of IPUs."""
    if target.getNumIPUs() != device.getNumIPUs():
        raise poplar_error(
            f"Device {device.getId()} has {device.getNumIPUs()} IPUs, not the {target.getNumIPUs()} of the target; "
            "name a device of that size."
        )
    return Device(target, device._id, device._ipus, device._locks)
