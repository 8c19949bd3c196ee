"""The values that tensors and vertex fields have after loading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from simulator.base.errors import graph_object_creation_error, graph_replication_error, tensor_creation_error
from simulator.base.overloads import Overloads, Parameter, instance_of
from simulator.base.types import UNSIGNED_INT, device_array
from simulator.graph.objects import FieldRef
from simulator.graph.tensor import Tensor
from simulator.programming.clones import CloneMethods
from simulator.programming.variables import half_words

_FIELD = Parameter("field", instance_of(FieldRef))
_TENSOR = Parameter("t", instance_of(Tensor))
_FORMS = tuple((target, Parameter(value)) for target in (_FIELD, _TENSOR) for value in ("val", "vals"))
_SET = Overloads("setInitialValue", graph_object_creation_error, _FORMS)
_SET_HALF = Overloads("setInitialValueHalf", graph_object_creation_error, _FORMS)


class InitialValueMethods(CloneMethods):
    @overload
    def setInitialValue(self, t: Tensor, val: Any) -> None: ...
    @overload
    def setInitialValue(self, t: Tensor, vals: Mapping[int, int]) -> None: ...
    @overload
    def setInitialValue(self, field: FieldRef, val: Any) -> None: ...
    def setInitialValue(self, *arguments: Any, **names: Any) -> None:
        """The value that a tensor (one value or one per element) or a vertex field (a number, or a list for a vector
        field) has after loading.

        A dict {replica: value} gives an UNSIGNED_INT scalar another value in each replica; `graph_replication_error`
        unless it names every replica. Raises `tensor_creation_error` for constants and aliases, `type_error` where the
        number of values does not fit, `tensor_metadata_error` for QUARTER tensors whose metadata is not known yet."""
        if len(arguments) == 2 and isinstance(arguments[0], FieldRef):
            target, val = arguments
        else:
            _, given = _SET.choose(arguments, names)
            target, val = given.values()
        if isinstance(target, FieldRef):
            self._own_vertex(target.vertex, "setInitialValue")
            target.vertex.builder.indexed.set_initial(target.vertex.row, target.name, target.index, val)
            return
        self._own(target, "setInitialValue")
        if not target.isParallelWriteable():
            raise tensor_creation_error("setInitialValue: the tensor holds a constant or an element twice.")
        if isinstance(val, Mapping):
            self._set_by_replica(target, val)
            return
        metadata = target.getMetadata() if target.hasMetadata() else None
        values = self._encoded(target.elementType(), val, target.numElements(), metadata, "setInitialValue")
        starts, lengths = target.regions()
        at = 0
        variables = self.store.variables
        owner = self.store.variable_of(starts)
        for v, start, n in zip(owner.tolist(), starts.tolist(), lengths.tolist(), strict=True):
            variables.initial[v].append((start - variables.base[v], values[at : at + n]))
            variables.host_visible[v] = True
            for element in [e for e in variables.by_replica if start <= e < start + n]:
                del variables.by_replica[element]
            at += n

    def _set_by_replica(self, t: Tensor, values: Mapping[int, int]) -> None:
        if t.elementType() is not UNSIGNED_INT or t.numElements() != 1:
            raise tensor_creation_error(
                f"setInitialValue: values by replica are for an UNSIGNED_INT scalar, not {t.elementType()} of shape "
                f"{t.shape()}."
            )
        replicas = range(self.store.replicas)
        if sorted(values) != list(replicas):
            raise graph_replication_error(
                f"setInitialValue: values are given for replicas {sorted(values)}; give one for each of "
                f"0 to {len(replicas) - 1}."
            )
        element, words = int(t.regions()[0][0]), [values[i] for i in replicas]
        self.store.variables.by_replica[element] = device_array(UNSIGNED_INT, words, len(words)).tolist()
        self.store.variables.host_visible[int(self.store.variable_of(np.array([element]))[0])] = True

    @overload
    def setInitialValueHalf(self, t: Tensor, val: Any) -> None: ...
    @overload
    def setInitialValueHalf(self, field: FieldRef, val: Any) -> None: ...
    def setInitialValueHalf(self, *arguments: Any, **names: Any) -> None:
        """`setInitialValue` from raw 16-bit words of type HALF."""
        _, given = _SET_HALF.choose(arguments, names)
        target, val = given.values()
        self.setInitialValue(target, half_words(val))
