"""Weights of their own for groups of replicas: `model.fc.weight.replicaGrouping(...)`, before the first call.

The weight on the host has one dimension more, a row for each group; forward sees a row. Gradients are reduced over the
replicas of a group. The groupings live with the parameters, as long as these do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from simulator.frontends.poptorch.enums import CommGroupType, VariableRetrievalMode
from simulator.frontends.poptorch.errors import Error
from simulator.poplibs import gcl
from simulator.poplibs.gcl import CommGroup
from simulator.poplibs.poputil import poplibs_error

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


def comm_group(kind: CommGroupType, size: int) -> CommGroup:
    """Groups of PopTorch as those of a collective."""
    if kind is CommGroupType.NoGrouping:
        return CommGroup(gcl.CommGroupType.CONSECUTIVE, 1)
    return CommGroup(gcl.CommGroupType[kind.name.upper()], size)


def weight_groups(module: Any, replicas: int) -> dict[str, CommGroup]:
    """The weights of a module that differ between groups, with these. Raises Error for groups that do not divide the
    replicas, and for a weight without a row for each."""
    groups: dict[str, CommGroup] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        kind, size, mode = _groupings.get(parameter, (CommGroupType.All, 0, VariableRetrievalMode.OnePerGroup))
        group = comm_group(kind, size)
        try:
            size = group.size(replicas)
        except poplibs_error as error:
            raise Error(f"{name}.replicaGrouping: {error}") from error
        if size == replicas:
            continue
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
        groups[name] = group
    return groups


@contextmanager
def one_row_of_each(module: Any, names: Iterable[str]) -> Iterator[None]:
    """The weights are the first of their rows while this is open."""
    weights = dict(module.named_parameters(remove_duplicate=False))
    rows = {name: weights[name].data for name in names}
    with torch._C.DisableTorchFunctionSubclass():
        try:
            for name, values in rows.items():
                weights[name].data = values[0]
            yield
        finally:
            for name, values in rows.items():
                weights[name].data = values
