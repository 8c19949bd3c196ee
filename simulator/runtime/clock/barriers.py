"""Cycles of barriers over the whole device.

Tiles that take part in a barrier wait for each other within a group: the tiles of an IPU (an internal sync), the IPUs
of a replica (sync group GS1) or all IPUs of the device (GS2). A tile that takes no part has answered ahead (the `sans`
instruction): it does not wait, and no tile waits for it.
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.compiler.machine import Machine
from simulator.machine import sync


def internal_barrier(arrival: Int64Array, taking_part: BoolArray | None, machine: Machine) -> Int64Array:
    """Cycles each tile of the device spends in an internal sync. `arrival`: clocks of all tiles of the device;
    `taking_part`: one flag per tile of a replica, None = all."""
    rows = arrival.reshape(machine.device_ipus, -1)
    cycles = np.zeros_like(rows)
    for ipu, row in enumerate(rows):
        mine = _of_group(taking_part, ipu % machine.num_ipus, machine.num_ipus)
        if mine is None:
            cycles[ipu] = sync.internal_sync_cycles(row, machine.min_sync_delay, machine.relative_sync_delay)
        elif mine.any():
            relative = machine.relative_sync_delay[mine]
            cycles[ipu, mine] = sync.internal_sync_cycles(row[mine], machine.min_sync_delay, relative)
    return cycles.reshape(-1)


def external_barrier(
    arrival: Int64Array, taking_part: BoolArray | None, machine: Machine, group: str, cycles: int | Int64Array
) -> Int64Array:
    """Cycles each tile spends in a sync of group "GS1" or "GS2": all leave together, `cycles` after the last arrival.
    Arguments as for `internal_barrier`; `cycles` may differ by replica, and the slowest of a group counts."""
    duration = np.broadcast_to(np.asarray(cycles, np.int64), machine.num_replicas)
    rows = arrival.reshape(machine.num_replicas if group == "GS1" else 1, -1)
    spent = np.zeros_like(rows)
    for number, row in enumerate(rows):
        longest = int(duration[number] if group == "GS1" else duration.max())
        if taking_part is None:
            spent[number] = sync.external_sync_cycles(row, longest)
        else:
            mine = np.tile(taking_part, len(row) // len(taking_part))
            spent[number, mine] = sync.external_sync_cycles(row[mine], longest)
    return spent.reshape(-1)


def _of_group(taking_part: BoolArray | None, group: int, groups: int) -> BoolArray | None:
    return None if taking_part is None else taking_part.reshape(groups, -1)[group]
