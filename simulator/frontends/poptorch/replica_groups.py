"""Groups of replicas that get the same inputs (Options.inputReplicaGrouping)."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.frontends.poptorch.enums import CommGroupType
from simulator.frontends.poptorch.errors import Error, OptionError
from simulator.frontends.poptorch.options import Options

#: 64-bit integers, which become 32-bit ones on the device
_WIDE = (np.dtype(np.int64), np.dtype(np.uint64))


def input_groups(options: Options) -> list[int]:
    """The group of each replica: blocks of neighbours, or every n-th replica where groups are orthogonal.

    Raises OptionError where the size of a group does not divide the number of replicas."""
    replicas, size = int(options.replication_factor), int(options.input_group_size)
    if replicas % size:
        raise OptionError(f"inputReplicaGrouping's size {size} does not divide the replication factor {replicas}.")
    if options.input_group_type is CommGroupType.Orthogonal:
        return [replica % (replicas // size) for replica in range(replicas)]
    return [replica // size for replica in range(replicas)]


def spread_over_replicas(name: str, values: Any, buffer: Any, groups: list[int]) -> None:
    """Copy micro-batches, [steps x groups, ...] flat, to a buffer [steps x replicas, ...] flat.

    Raises Error where a 64-bit number of the input does not fit the 32 bits that the device has."""
    if values.dtype in _WIDE and values.size:
        limits = np.iinfo(buffer.dtype) if buffer.dtype.kind in "iu" else np.iinfo(np.int32)
        for number in (values.min(), values.max()):
            if not limits.min <= number <= limits.max:
                raise Error(f"The input {name} holds {number}, which does not fit the device's 32-bit integers.")
    steps = len(buffer) // len(groups)
    given = values.reshape(steps, max(groups) + 1, -1) if values.size else values.reshape(steps, max(groups) + 1, 0)
    np.copyto(buffer.reshape(steps, len(groups), given.shape[2]), given[:, groups], casting="unsafe")
