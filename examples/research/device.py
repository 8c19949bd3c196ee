"""What the programs of this folder share: the device, numbers that C++ makes alike, and the cycles of a run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.poplar import Device, DeviceManager, Engine, TargetType

#: Options of every engine: hardware counts, so that the report has the cycles of each run.
COUNTED = {"debug.instrument": "true", "debug.retainDebugInformation": "true"}


def attached() -> Device:
    """A simulated IPU. Raises SystemExit where all are in use."""
    for device in DeviceManager.createDeviceManager().getDevices(TargetType.IPU, 1):
        if device.attach():
            return device
    raise SystemExit("All simulated IPUs are in use; end a program that has one, or set POPVISION_IPUS higher.")


def numbers(count: int, seed: int = 1) -> npt.NDArray[np.uint32]:
    """`count` numbers below 2^16 of a linear congruential generator."""
    state, drawn = seed, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        drawn.append(state >> 16)
    return np.array(drawn, np.uint32)


def cycles_of_last_run(engine: Engine) -> int:
    """Simulated device cycles of the run that ended last."""
    return int(engine.getReport().execution.runs[-1].cyclesByIpu[0])
