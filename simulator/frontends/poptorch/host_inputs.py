"""Inputs of a run: from the user's tensors to each replica, and back where the program writes to them.

Replicas of a group get the same inputs (Options.inputReplicaGrouping).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from simulator.frontends.poptorch.errors import Error, OptionError
from simulator.frontends.poptorch.options import Options
from simulator.frontends.poptorch.weights.replica_groups import comm_group
from simulator.frontends.session.device_program import DeviceProgram

#: 64-bit integers, which become 32-bit ones on the device
_WIDE = (np.dtype(np.int64), np.dtype(np.uint64))


def input_groups(options: Options) -> list[int]:
    """The group of each replica: blocks of neighbours, or every n-th replica where groups are orthogonal.

    Raises OptionError where the size of a group does not divide the number of replicas."""
    replicas, size = int(options.replication_factor), int(options.input_group_size)
    if replicas % size:
        raise OptionError(f"inputReplicaGrouping's size {size} does not divide the replication factor {replicas}.")
    return comm_group(options.input_group_type, size).groups(replicas)


def send_inputs(program: DeviceProgram, tensors: Sequence[Any], groups: list[int]) -> None:
    """Fill the program's input buffers with the tensors of a call.

    Raises Error where a 64-bit number does not fit the device's 32 bits, and where a tensor that the program writes to
    shares its memory with another one: each has a copy of its own on the device."""
    names = list(program.interface.inputs)
    for name in program.interface.written_inputs:
        _check_alone(name, names, tensors)
    for name, tensor in zip(names, tensors, strict=True):
        values = tensor.detach().cpu().contiguous().numpy()
        _spread_over_replicas(name, values, program.input(name), groups)


def take_written_inputs(program: DeviceProgram, tensors: Sequence[Any], groups: list[int]) -> None:
    """Copy what the last run wrote to its inputs into the tensors of the call; synthetic data leave them alone."""
    if program.interface.settings.synthetic_data:
        return
    by_name = dict(zip(program.interface.inputs, tensors, strict=True))
    for name, buffer in program.written().items():
        tensor = by_name[name]
        with torch.no_grad():
            tensor.copy_(torch.from_numpy(_of_groups(buffer, groups)).reshape(tensor.shape))


def _check_alone(name: str, names: Sequence[str], tensors: Sequence[Any]) -> None:
    first, last = _memory(tensors[names.index(name)])
    for other, tensor in zip(names, tensors, strict=True):
        begin, end = _memory(tensor)
        if other != name and begin < last and first < end:
            raise Error(
                f"The module writes into its input {name}, which shares its memory with the input {other}; give one of "
                "them as a .clone()."
            )


def _memory(tensor: Any) -> tuple[int, int]:
    """The first byte of a tensor, and the one after its last."""
    if not tensor.numel():
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def _of_groups(buffer: Any, groups: list[int]) -> Any:
    """What the first replica of each group has in a buffer [steps x replicas, ...]: [steps x groups, ...]."""
    first = [groups.index(group) for group in range(max(groups) + 1)]
    return buffer.reshape(len(buffer) // len(groups), len(groups), *buffer.shape[1:])[:, first]


def _spread_over_replicas(name: str, values: Any, buffer: Any, groups: list[int]) -> None:
    """Copy micro-batches, [steps x groups, ...] flat, to a buffer [steps x replicas, ...] flat."""
    if values.dtype in _WIDE and values.size:
        limits = np.iinfo(buffer.dtype) if buffer.dtype.kind in "iu" else np.iinfo(np.int32)
        for number in (values.min(), values.max()):
            if not limits.min <= number <= limits.max:
                raise Error(f"The input {name} holds {number}, which does not fit the device's 32-bit integers.")
    if len(groups) == 1:
        np.copyto(buffer.reshape(-1), values.reshape(-1), casting="unsafe")
        return
    steps = len(buffer) // len(groups)
    given = values.reshape(steps, max(groups) + 1, -1) if values.size else values.reshape(steps, max(groups) + 1, 0)
    np.copyto(buffer.reshape(steps, len(groups), given.shape[2]), given[:, groups], casting="unsafe")
