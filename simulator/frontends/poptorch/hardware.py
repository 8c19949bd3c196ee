"""What PopTorch answers about the machine: the simulated system has IPUs."""

from __future__ import annotations

from simulator.poplar import DeviceManager, TargetType

_VERSIONS = {"ipu1": 1, "ipu2": 2, "ipu21": 21}


def ipuHardwareIsAvailable(num_ipus: int = 1) -> bool:
    """Whether the system has a device of `num_ipus` IPUs, free or not."""
    return bool(DeviceManager.createDeviceManager().getDevices(TargetType.IPU, num_ipus))


def ipuHardwareVersion() -> int:
    """1, 2 or 21: which IPU the system has. Raises AssertionError where it has none."""
    devices = DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1)
    if not devices:
        raise AssertionError("No IPU hardware available on this system")
    return _VERSIONS[devices[0].getTarget().getTargetArchString()]
