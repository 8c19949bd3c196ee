"""Weights of their own for groups of replicas: `model.fc.weight.replicaGrouping(...)`, before the first call.

The weight on the host has one dimension more, a row for each group; forward sees a row. Gradients are reduced over the
replicas of a group. The groupings live with the parameters, as long as these do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from simulator.frontends.poptorch.enums import CommGroupType, VariableRetrievalMode
from simulator.frontends.poptorch.errors import Error

#: parameter -> (kind of its groups, replicas of a group, which replicas give its value)
_groupings: Any = WeakIdKeyDictionary()
#: parameters that a compiled model has
compiled: Any = WeakIdKeyDictionary()


class Groupable:
    """What a parameter of a wrapped module can do besides."""

    def replicaGrouping(
        self,
        comm_group_type: CommGroupType,
        shards: int,
        variable_retrieval_mode: VariableRetrievalMode = VariableRetrievalMode.OnePerGroup,
    ) -> None:
        """Give each group of replicas a value of its own. `shards` is the number of replicas of a group, which
        CommGroupType.All and NoGrouping leave out of account. Raises Error for other values, and once the model is
        compiled."""
        if comm_group_type not in list(CommGroupType) or variable_retrieval_mode not in list(VariableRetrievalMode):
            raise Error("replicaGrouping takes a CommGroupType, a number of replicas and a VariableRetrievalMode.")
        if isinstance(shards, bool) or not isinstance(shards, int) or shards < 0:
            raise Error(f"replicaGrouping takes a number of replicas of a group, not {shards!r}.")
        grouping = CommGroupType(comm_group_type), shards, VariableRetrievalMode(variable_retrieval_mode)
        if self in compiled and _groupings.get(self) != grouping:
            raise Error("The model is compiled already; call replicaGrouping before its first call.")
        _groupings[self] = grouping


def weight_groups(module: Any, replicas: int) -> dict[str, tuple[str, int]]:
    """The weights of a module that differ between groups, as lowering names them. Raises Error for groups that do not
    divide the replicas, and for a weight without a row for each."""
    groups: dict[str, tuple[str, int]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        kind, size, mode = _groupings.get(parameter, (CommGroupType.All, 0, VariableRetrievalMode.OnePerGroup))
        size = 1 if kind is CommGroupType.NoGrouping else size
        if kind is CommGroupType.All or size == replicas:
            continue
        if size < 1 or replicas % size:
            raise Error(f"The groups of {size} replicas of {name} do not divide the replication factor {replicas}.")
        if mode is VariableRetrievalMode.AllReplicas and size > 1:
            raise Error(
                f"{name} has {replicas // size} rows, one for each group, and cannot take the values of all {replicas} "
                "replicas; use VariableRetrievalMode.OnePerGroup."
            )
        if not parameter.dim() or parameter.shape[0] != replicas // size:
            raise Error(
                f"The weight {name} has the shape {list(parameter.shape)}; with groups of {size} of {replicas} "
                f"replicas its first dimension is {replicas // size}, a row for each group."
            )
        groups[name] = "orthogonal" if kind is CommGroupType.Orthogonal else "consecutive", size
    return groups


@contextmanager
def one_row_of_each(module: Any, names: Any) -> Iterator[None]:
    """The weights are the first of their rows while this is open."""
    weights = dict(module.named_parameters(remove_duplicate=False))
    whole = {name: weights[name].data for name in names}
    with torch._C.DisableTorchFunctionSubclass():
        try:
            for name, values in whole.items():
                weights[name].data = values[0]
            yield
        finally:
            for name, values in whole.items():
                weights[name].data = values
