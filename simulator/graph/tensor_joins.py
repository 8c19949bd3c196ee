"""Tensors one after another."""

from __future__ import annotations

from math import prod
from typing import TypeVar

import numpy as np

from simulator.base import regions
from simulator.base.errors import tensor_creation_error, tensor_metadata_error
from simulator.graph.tensor_description import DescribedTensor
from simulator.graph.view import checked_dimension

T = TypeVar("T", bound=DescribedTensor)


def concatenated(tensors: list[T], dimension: int) -> T:
    """`concat`."""
    if not tensors:
        raise tensor_creation_error("concat: there is nothing to concatenate; give at least one tensor.")
    for t in tensors:
        if not isinstance(t, DescribedTensor):
            raise tensor_creation_error(f"concat: {t!r} is not a tensor.")
    head = tensors[0]
    axis = checked_dimension(len(head._require()), dimension, "concat")
    for t in tensors:
        t._require()
        if t._type is not head._type or t._store is not head._store:
            raise tensor_creation_error(
                f"concat: {t!r} does not go with {head!r}: same type and same graph are needed."
            )
        if t._shape[:axis] + t._shape[axis + 1 :] != head._shape[:axis] + head._shape[axis + 1 :]:
            raise tensor_creation_error(
                f"concat: shapes {list(t._shape)} and {list(head._shape)} differ outside dimension {axis}."
            )
    if len(tensors) == 1:
        return head
    if head.hasMetadata() and any(t.getMetadata() != head.getMetadata() for t in tensors):
        raise tensor_metadata_error(
            f"concat: the {len(tensors)} quarter tensors have different metadata tensors; give them the same one."
        )
    variable = head._variable if all(t._variable == head._variable for t in tensors) else -1
    shape = (*head._shape[:axis], sum(t._shape[axis] for t in tensors), *head._shape[axis + 1 :])
    if prod(shape[:axis]) != 1:
        elements = np.concatenate([t._element_numbers() for t in tensors], axis=axis)
        return head._spelled(shape, None, elements, variable)
    starts, lengths = zip(*[t.regions() for t in tensors], strict=True)
    pieces = head._store.cut_at_variables(*regions.merged(np.concatenate(starts), np.concatenate(lengths)))
    return head._spelled(shape, pieces, None, variable)
