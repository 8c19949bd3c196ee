"""PreparedDevice: the device that a program is prepared for."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import graph_memory_allocation_error, poplar_error
from simulator.base.target import Target, TargetType
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.engine.devices.device import Device


class PreparedDevice:
    """The device of an engine whose graph was compiled for `target`. `graph_profile` is the path of the saved graph
    profile, "" for none."""

    def __init__(self, compiled: CompiledGraph, target: Target, graph_profile: str) -> None:
        self._compiled, self._target, self._graph_profile = compiled, target, graph_profile
        self.device: Device | None = None

    def prepare(self, device: Any) -> None:
        """Take a device. Raises poplar_error for one of another kind or one not attached, graph_memory_allocation_error
        where the program does not fit."""
        if not isinstance(device, Device):
            raise poplar_error(f"{device!r} is not a device; make one with IPUModel().createDevice().")
        target = device.getTarget()
        if _machine_of(target) != _machine_of(self._target):
            raise poplar_error(
                f"The program was compiled for {_described(self._target)}, but the device is {_described(target)}; "
                "compile the graph for this device's target."
            )
        check_attached(device)
        if self._compiled.out_of_memory and self._target.type is TargetType.IPU:
            raise out_of_memory_error(self._compiled.out_of_memory, self._graph_profile)
        self.device = device


def out_of_memory_error(message: str, graph_profile: str) -> graph_memory_allocation_error:
    """The error of a program that does not fit. `graph_profile` is the path of the saved graph profile, "" for none."""
    if graph_profile:
        return graph_memory_allocation_error(f"{message} Profile saved to: {graph_profile}", graph_profile)
    return graph_memory_allocation_error(f"{message} Set autoReport.outputGraphProfile to see where.")


def check_attached(device: Device) -> None:
    """Raise poplar_error for simulated hardware that is not attached."""
    if not device.condition.is_usable:
        raise poplar_error(f"Device {device.getId()} is not attached; call device.attach() first.")


def _machine_of(target: Target) -> tuple[TargetType, int, int, str]:
    """What a program is compiled for: a device with another one cannot run it."""
    return target.type, target.getNumIPUs(), target.getTilesPerIPU(), target.getTargetArchString()


def _described(target: Target) -> str:
    return f"{target.getNumTiles()} tiles of {target.getTargetArchString()} ({target.type.value})"
