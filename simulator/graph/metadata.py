"""Metadata tensors of QUARTER tensors: checks, and values that are known before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.base.errors import tensor_creation_error, tensor_metadata_error
from simulator.base.quarter import QuarterMetadata
from simulator.base.types import QUARTER_METADATA, Type
from simulator.graph.tensor import Tensor

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore


def checked_metadata(store: GraphStore, type_: Type, metadata: Tensor | None, what: str) -> Tensor | None:
    """The metadata tensor that was given to a call; None for an empty one or none.

    Raises `tensor_creation_error` for metadata of a type that has none, `tensor_metadata_error` for a tensor that is
    not one element of QUARTER_METADATA of the same graph."""
    if metadata is None or not metadata.valid():
        return None
    if not type_.requiresMetadata():
        raise tensor_creation_error(
            f"{what}: type {type_} takes no metadata, but {metadata!r} was given; give Tensor() in its place."
        )
    fits = metadata.elementType() is QUARTER_METADATA and metadata.numElements() == 1
    if not fits or metadata.view.store is not store:
        raise tensor_metadata_error(
            f"{what}: {metadata!r} is not a metadata tensor; give one QUARTER_METADATA element of this graph, for "
            "example from createVariableMetadataTensor."
        )
    return metadata


def known_metadata(store: GraphStore, metadata: Tensor) -> QuarterMetadata | None:
    """The value of a metadata tensor after loading, if it is a constant or has an initial value; else None."""
    element = int(metadata.regions()[0][0])
    variable = int(store.variable_of(np.array([element], np.int64))[0])
    at = element - store.variables.base[variable]
    constant = store.variables.constant[variable]
    if constant is not None:
        return QuarterMetadata(int(constant[at]))
    for first, values in reversed(store.variables.initial[variable]):
        if first <= at < first + len(values):
            return QuarterMetadata(int(values[at - first]))
    return None


def encoding_metadata(store: GraphStore, metadata: Tensor, what: str) -> QuarterMetadata:
    """`known_metadata`, or `tensor_metadata_error` where it is not known while the graph is built."""
    known = known_metadata(store, metadata)
    if known is None:
        raise tensor_metadata_error(
            f"{what}: values of type quarter cannot be encoded, as their metadata gets its value only when the program "
            "runs; use a constant or setInitialValue for the metadata tensor."
        )
    return known


def as_plain(values: Any) -> Any:
    """Values with QuarterMetadata replaced by its byte."""
    if isinstance(values, QuarterMetadata):
        return values.getBinary()
    if isinstance(values, (list, tuple)) and any(isinstance(v, QuarterMetadata) for v in values):
        return [as_plain(v) for v in values]
    return values
