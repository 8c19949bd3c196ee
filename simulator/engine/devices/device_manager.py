"""DeviceManager: the simulated hardware of this computer.

POPVISION_IPUS says how many IPUs there are (16 when it is not set). Devices are numbered as on real systems: first the
single IPUs, then pairs of neighbours, then groups of four, and so on up to all of them. POPVISION_IPU_IDS lists the
IPUs that a job was given of a larger system; device ids are those of the part, as in a partition of a real system.
With POPVISION_REQUIRE_ALLOCATION=1 there are none without that list, as on a login node of a Slurm cluster.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from simulator.base.errors import index_error, invalid_machine_model, invalid_option
from simulator.base.target import Target, TargetType
from simulator.base.wrong_arguments import checks_arguments, methods_refuse_wrong_arguments
from simulator.engine.devices.device import Device
from simulator.engine.devices.device_locks import DeviceLocks
from simulator.engine.devices.what_if import overridden
from simulator.machine.targets import MK2

VARIABLE, ALLOTTED, REQUIRED = "POPVISION_IPUS", "POPVISION_IPU_IDS", "POPVISION_REQUIRE_ALLOCATION"
DEFAULT_IPUS = 16


@methods_refuse_wrong_arguments()
class DeviceManager:
    """Finds devices. Simulated hardware is a Mk2 system unless POPVISION_TARGET names another chip."""

    def __init__(self) -> None:
        self._ipus = _ipus_of_system(os.environ)
        self._locks = DeviceLocks()

    @property
    def num_ipus(self) -> int:
        """How many IPUs the system, or the part of it that a job was given, has."""
        return len(self._ipus)

    @property
    def ipus(self) -> tuple[int, ...]:
        """Their numbers in the system, ascending."""
        return self._ipus

    @staticmethod
    def createDeviceManager() -> DeviceManager:
        return DeviceManager()

    def _groups(self) -> list[tuple[int, ...]]:
        groups: list[tuple[int, ...]] = []
        size = 1
        while size <= self.num_ipus:
            groups += [self._ipus[first : first + size] for first in range(0, self.num_ipus - size + 1, size)]
            size *= 2
        return groups

    def getNumDevices(self) -> int:
        return len(self._groups())

    @checks_arguments
    def getDevices(
        self, type: TargetType | None = None, requiredNumIPUs: int | None = None, opts: Mapping[str, Any] | None = None
    ) -> list[Device]:
        """All devices, or those of a type with `requiredNumIPUs` IPUs. Only TargetType.IPU lists hardware; a model or
        CPU is listed once. An empty list means that there is none."""
        _no_options(opts)
        if type is TargetType.CPU:
            return [Device.createCPUDevice()]
        if type is TargetType.IPU_MODEL:
            return [Device(_hardware(requiredNumIPUs or 1, TargetType.IPU_MODEL))]
        return [
            self._device(id_, group)
            for id_, group in enumerate(self._groups())
            if requiredNumIPUs is None or len(group) == requiredNumIPUs
        ]

    def getDevice(self, deviceId: int, opts: Mapping[str, Any] | None = None) -> Device:
        """The device with this id, else `index_error`."""
        _no_options(opts)
        groups = self._groups()
        if not groups:
            raise index_error(f"There is no device {deviceId}; this system has no IPUs. {reason_for_no_ipus()}")
        if not 0 <= deviceId < len(groups):
            raise index_error(
                f"There is no device {deviceId}; a system of {self.num_ipus} IPUs gives ids 0 to {len(groups) - 1}."
            )
        return self._device(deviceId, groups[deviceId])

    def _device(self, id_: int, group: tuple[int, ...]) -> Device:
        return Device(_hardware(len(group), TargetType.IPU), id_, group, self._locks)


def reason_for_no_ipus() -> str:
    """Why a system has no IPUs, and what to do."""
    if _requires_allocation(os.environ):
        return f"{REQUIRED} is set, and IPUs are given to jobs: run the program with srun --ipus=1."
    return f"{VARIABLE} is 0, as in a job without --ipus; raise it, or run the program with srun --ipus=1."


def _hardware(ipus: int, type_: TargetType) -> Target:
    return overridden(Target(type_, MK2, num_ipus=ipus, compile_ipu_code=type_ is TargetType.IPU), os.environ)


def _ipus_of_system(environment: Mapping[str, str]) -> tuple[int, ...]:
    """The IPUs of the whole system that devices are made of, in ascending order. Raises `invalid_machine_model`."""
    text, listed = environment.get(VARIABLE), environment.get(ALLOTTED)
    if text is not None and not (text.isascii() and text.isdigit()):
        raise invalid_machine_model(f"{VARIABLE}='{text}' is not a number of IPUs; write a whole number.")
    required = _requires_allocation(environment)
    if not listed:
        return () if required else tuple(range(DEFAULT_IPUS if text is None else int(text)))
    words = [word.strip() for word in listed.split(",")]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise invalid_machine_model(f"{ALLOTTED}='{listed}' is not a list of IPUs; write numbers, as in 4,5,6,7.")
    ipus = tuple(sorted({int(word) for word in words}))
    if len(ipus) != len(words):
        raise invalid_machine_model(f"{ALLOTTED}='{listed}' names an IPU twice; name each once.")
    if text is not None and int(text) != len(ipus):
        raise invalid_machine_model(
            f"{VARIABLE}={text} and {ALLOTTED}='{listed}' disagree; unset one, or give as many IPUs as the list has."
        )
    return ipus


def _requires_allocation(environment: Mapping[str, str]) -> bool:
    """Whether IPUs are only those that a job was given. Raises `invalid_machine_model`."""
    text = environment.get(REQUIRED, "")
    if text not in ("", "0", "1"):
        raise invalid_machine_model(f"{REQUIRED}='{text}' is not 0 or 1; write one of them.")
    return text == "1"


def _no_options(opts: Mapping[str, Any] | None) -> None:
    if opts:
        name, value = next(iter(opts.items()))
        raise invalid_option(f"'{name}' (value '{value}') is not a device option; devices take none.")
