"""Initial values of tensors and vertex fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.base.errors import graph_object_creation_error, graph_replication_error, tensor_creation_error
from simulator.base.overloads import Overloads, Parameter, instance_of
from simulator.base.types import UNSIGNED_INT, device_array
from simulator.building.state import GraphState
from simulator.building.variables import device_values, half_words
from simulator.graph.objects import FieldRef
from simulator.graph.store import GraphStore
from simulator.graph.tensor import Tensor

_FIELD = Parameter("field", instance_of(FieldRef))
_TENSOR = Parameter("t", instance_of(Tensor))
_FORMS = tuple((target, Parameter(value)) for target in (_FIELD, _TENSOR) for value in ("val", "vals"))
_SET = Overloads("setInitialValue", graph_object_creation_error, _FORMS)
_SET_HALF = Overloads("setInitialValueHalf", graph_object_creation_error, _FORMS)


def set_initial_value(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> None:
    """`Graph.setInitialValue`."""
    if len(arguments) == 2 and isinstance(arguments[0], FieldRef):
        target, value = arguments
    else:
        target, value = _SET.choose(arguments, names)[1].values()
    _set_value(state, target, value)


def set_initial_value_half(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> None:
    """`Graph.setInitialValueHalf`."""
    target, words = _SET_HALF.choose(arguments, names)[1].values()
    _set_value(state, target, half_words(words))


def _set_value(state: GraphState, target: FieldRef | Tensor, value: Any) -> None:
    if isinstance(target, FieldRef):
        state.require_vertex(target.vertex, "setInitialValue")
        target.vertex.builder.indexed.set_initial(target.vertex.row, target.name, target.index, value)
        return
    state.require_tensor(target, "setInitialValue")
    if not target.isParallelWriteable():
        raise tensor_creation_error("setInitialValue: the tensor holds a constant or an element twice.")
    if isinstance(value, Mapping):
        _set_by_replica(state.store, target, value)
        return
    metadata = target.getMetadata() if target.hasMetadata() else None
    type_, count = target.elementType(), target.numElements()
    values = device_values(state.store, type_, value, count, metadata, "setInitialValue")
    state.store.variables.held_bytes += values.nbytes
    starts, lengths = target.regions()
    at = 0
    variables = state.store.variables
    owner = state.store.variable_of(starts)
    for v, start, n in zip(owner.tolist(), starts.tolist(), lengths.tolist(), strict=True):
        variables.initial[v].append((start - variables.base[v], values[at : at + n]))
        variables.host_visible[v] = True
        for element in [e for e in variables.by_replica if start <= e < start + n]:
            del variables.by_replica[element]
        at += n


def _set_by_replica(store: GraphStore, t: Tensor, values: Mapping[int, int]) -> None:
    if t.elementType() is not UNSIGNED_INT or t.numElements() != 1:
        raise tensor_creation_error(
            f"setInitialValue: values by replica are for an UNSIGNED_INT scalar, not {t.elementType()} of shape "
            f"{t.shape()}."
        )
    replicas = range(store.replicas)
    if sorted(values) != list(replicas):
        raise graph_replication_error(
            f"setInitialValue: values are given for replicas {sorted(values)}; give one for each of "
            f"0 to {len(replicas) - 1}."
        )
    element, words = int(t.regions()[0][0]), [values[i] for i in replicas]
    store.variables.by_replica[element] = device_array(UNSIGNED_INT, words, len(words)).tolist()
    store.variables.host_visible[int(store.variable_of(np.array([element]))[0])] = True
