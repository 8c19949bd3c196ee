"""Groups of replicas that get the same inputs (Options.inputReplicaGrouping)."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.frontends.poptorch.enums import CommGroupType
from simulator.frontends.poptorch.errors import OptionError
from simulator.frontends.poptorch.options import Options


def input_groups(options: Options) -> list[int]:
    """The group of each replica: blocks of neighbours, or every n-th replica where groups are orthogonal.

    Raises OptionError where the size of a group does not divide the number of replicas."""
    replicas, size = int(options.replication_factor), int(options.input_group_size)
    if replicas % size:
        raise OptionError(f"inputReplicaGrouping's size {size} does not divide the replication factor {replicas}.")
    if options.input_group_type is CommGroupType.Orthogonal:
        return [replica % (replicas // size) for replica in range(replicas)]
    return [replica // size for replica in range(replicas)]


def spread_over_replicas(values: Any, buffer: Any, groups: list[int]) -> None:
    """Copy micro-batches, [steps x groups, ...] flat, to a buffer [steps x replicas, ...] flat."""
    steps = len(buffer) // len(groups)
    given = values.reshape(steps, max(groups) + 1, -1) if values.size else values.reshape(steps, max(groups) + 1, 0)
    np.copyto(buffer.reshape(steps, len(groups), given.shape[2]), given[:, groups], casting="unsafe")
