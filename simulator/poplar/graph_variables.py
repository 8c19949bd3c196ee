"""Variables, constants, clones and initial values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from operator import index as whole
from typing import Any, overload

import numpy as np

from simulator.poplar import regions
from simulator.poplar.debug_context import Context, as_context, record
from simulator.poplar.errors import graph_replication_error, tensor_creation_error, type_error
from simulator.poplar.graph_mapping import MappingMethods
from simulator.poplar.graph_objects import FieldRef
from simulator.poplar.tensor import Tensor, concat
from simulator.poplar.types import (
    UNSIGNED_INT,
    TensorCloneMethod,
    Type,
    VariableMappingMethod,
    VariableRef,
    device_array,
)

Shape = Sequence[int]


class VariableMethods(MappingMethods):
    @overload
    def addVariable(self, type: Type, shape: Shape, /, debugContext: Context = "") -> Tensor: ...
    @overload
    def addVariable(
        self, type: Type, shape: Shape, mappingMethod: VariableMappingMethod, /, debugContext: Context = ""
    ) -> Tensor: ...
    @overload
    def addVariable(self, type: Type, metadata: Tensor, shape: Shape, /, debugContext: Context = "") -> Tensor: ...
    @overload
    def addVariable(
        self,
        type: Type,
        metadata: Tensor,
        shape: Shape,
        mappingMethod: VariableMappingMethod,
        /,
        debugContext: Context = "",
    ) -> Tensor: ...
    def addVariable(self, type: Type, shape: Any, *rest: Any, **names: Any) -> Tensor:
        """Add a variable. It has no tile mapping until `setTileMapping`, unless the target has exactly one tile or
        `VariableMappingMethod.LINEAR` spreads it over all tiles.

        Raises `tensor_creation_error` for bad shapes, metadata of types that have none, and QUARTER."""
        arguments = list(rest)
        if isinstance(shape, Tensor):
            _no_metadata(shape, type)
            shape = arguments.pop(0)
        method = VariableMappingMethod.NONE
        if arguments and isinstance(arguments[0], VariableMappingMethod):
            method = arguments.pop(0)
        method = names.pop("mappingMethod", method)
        debugContext = arguments.pop(0) if arguments else names.pop("debugContext", "")
        if arguments or names:
            raise tensor_creation_error(f"addVariable: arguments {[*arguments, *names]} are not understood.")
        tensor = self._new_variable(type, shape, debugContext, "variable", None)
        if method is VariableMappingMethod.LINEAR:
            self._map_linearly(tensor)
        return tensor

    def _new_variable(self, type_: Type, shape: Shape, debugContext: Context, category: str, values: Any) -> Tensor:
        if not isinstance(type_, Type):
            raise tensor_creation_error(f"{type_!r} is not an element type; use FLOAT, HALF, INT, ...")
        if type_.requiresMetadata():
            raise tensor_creation_error(f"Variables of type {type_} are not supported; use HALF or FLOAT.")
        try:
            dims = tuple([whole(n) for n in shape])
        except TypeError:
            raise tensor_creation_error(f"{shape!r} is not a shape; give a list of sizes, [] for a scalar.") from None
        if any(n < 0 for n in dims):
            raise tensor_creation_error(f"Shape {list(dims)} has a negative size.")
        store, v = self.store, self.store.variables
        context = as_context(debugContext)
        numel = prod(dims)
        index = len(v.base)
        v.base.append(store.num_elements)
        v.numel.append(numel)
        v.type.append(type_)
        v.debug_id.append(record(store, context, category, arguments={"shape": dims, "type": type_.name}))
        v.name.append(context.getPathName())
        v.constant.append(values)
        v.initial.append([])
        v.host_visible.append(False)
        v.mapping.append(None)
        store.num_elements += numel
        if values is None:
            store.plain_variables.add(index)
        if self._num_tiles == 1:
            v.mapping[index] = (np.array([numel], np.int64), np.array([self._device_tile(0)], np.int64))
        return Tensor._of_variable(store, index, type_, dims)

    @overload
    def addConstant(self, type: Type, shape: Shape, values: Any, /, debugContext: Context = "<const>") -> Tensor: ...
    @overload
    def addConstant(
        self, type: Type, metadata: Tensor, shape: Shape, values: Any, /, debugContext: Context = "<const>"
    ) -> Tensor: ...
    def addConstant(self, type: Type, shape: Any, *rest: Any, debugContext: Context = "<const>") -> Tensor:
        """Add a constant: one value for all elements, or as many values as elements (flattened, any array-like).

        Raises `tensor_creation_error` when the number of values does not fit the shape."""
        arguments = list(rest)
        if isinstance(shape, Tensor):
            _no_metadata(shape, type)
            shape = arguments.pop(0)
        if not 1 <= len(arguments) <= 2:
            raise tensor_creation_error("addConstant needs (type, shape, values) and perhaps a debug context.")
        context = as_context(arguments[1] if len(arguments) == 2 else debugContext)
        try:
            values = device_array(type, arguments[0], prod(shape))
        except type_error as error:
            raise tensor_creation_error(f"addConstant, shape {list(shape)}: {error}") from None
        return self._new_variable(type, shape, context, "constant", values)

    def addConstantHalf(self, type: Type, shape: Shape, val: Any, debugContext: Context = "<const>") -> Tensor:
        """Add a constant of type HALF from raw 16-bit words."""
        words = np.asarray(val, np.uint16).view(np.float16)
        return self.addConstant(type, shape, words, as_context(debugContext))

    def addReplicationIndexConstant(self, debugContext: Context = "<const>") -> Tensor:
        """Add an UNSIGNED_INT scalar that holds the number of the replica, 0 to getReplicationFactor() - 1."""
        index = self._new_variable(UNSIGNED_INT, [], as_context(debugContext), "constant", np.zeros(1, np.uint32))
        self.store.variables.by_replica[index._variable] = list(range(self.store.replicas))
        return index

    def isConstant(self, v: VariableRef) -> bool:
        return self.store.variables.constant[v.id] is not None

    def getVariable(self, v: VariableRef) -> Tensor:
        """The whole variable as a vector."""
        columns = self.store.variables
        return Tensor._of_variable(self.store, v.id, columns.type[v.id], (columns.numel[v.id],))

    # ---- clones ------------------------------------------------------------------------------------------------

    @overload
    def clone(
        self, type: Type, t: Tensor, /, debugContext: Context = "", method: TensorCloneMethod = ...
    ) -> Tensor: ...
    @overload
    def clone(self, t: Tensor, /, debugContext: Context = "", method: TensorCloneMethod = ...) -> Tensor: ...
    def clone(
        self, first: Any, *rest: Any, debugContext: Context = "", method: TensorCloneMethod | None = None
    ) -> Tensor:
        """A new variable with the shape and tile mapping of a tensor.

        By default the new variable keeps the order in which the tensor's elements lie in memory, unless the tensor
        holds an element twice; then, and with CREATE_NEW_ORDER, it is laid out in the order of the flattened tensor.
        With PRESERVE_ORDER_AND_ALIASES elements that were the same stay the same."""
        arguments = [first, *rest]
        type_ = arguments.pop(0) if isinstance(arguments[0], Type) else None
        t: Tensor = arguments.pop(0)
        context = as_context(arguments.pop(0) if arguments else debugContext)
        how = (arguments.pop(0) if arguments else method) or TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES
        self._own(t, "clone")
        type_ = type_ or t.elementType()
        aliases = t.containsAliases()
        if how is TensorCloneMethod.CREATE_NEW_ORDER or (
            aliases and how is TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES
        ):
            out = self._new_variable(type_, t.shape(), context, "variable", None)
            self._copy_mapping(t, out)
            return out
        return self._clone_in_memory_order(type_, t, context)

    def _clone_in_memory_order(self, type_: Type, t: Tensor, context: Context) -> Tensor:
        strided = t._strides is not None and t.isContiguous()
        if strided:
            out = self._new_variable(type_, t.shape(), context, "variable", None)
            self._copy_mapping(t, out)
            return out
        elements = regions.elements(*t.regions())
        used, place = np.unique(elements, return_inverse=True)
        flat = self._new_variable(type_, [len(used)], context, "variable", None)
        source = t._spelled((len(used),), self.store.cut_at_variables(*regions.of_elements(used)), None, t._variable)
        self._copy_mapping(source, flat)
        spelled = regions.of_elements(place.reshape(-1).astype(np.int64) + flat._start)
        return flat._spelled(t._shape, spelled, None, flat._variable)

    def cloneN(
        self, first: Any, *rest: Any, debugContext: Context = "", method: TensorCloneMethod | None = None
    ) -> Tensor:
        """`clone` N times as a tensor of shape [N, ...]: arguments (type, t, N, ...) or (t, N, ...)."""
        arguments = [first, *rest]
        type_ = arguments.pop(0) if isinstance(arguments[0], Type) else None
        t: Tensor = arguments.pop(0)
        type_ = type_ or t.elementType()
        n = int(arguments.pop(0))
        if n < 1:
            raise tensor_creation_error(f"cloneN: {n} copies cannot be made; give at least 1.")
        context = arguments.pop(0) if arguments else debugContext
        method = (arguments.pop(0) if arguments else method) or TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES
        return concat([self.clone(type_, t, context, method).expand([0]) for _ in range(n)], 0)

    # ---- initial values ----------------------------------------------------------------------------------------

    @overload
    def setInitialValue(self, t: Tensor, val: Any, /) -> None: ...
    @overload
    def setInitialValue(self, field: FieldRef, val: Any, /) -> None: ...
    def setInitialValue(self, target: Any, val: Any, /) -> None:
        """The value that a tensor (one value or one per element) or a simple vertex field has after loading.

        A dict {replica: value} gives an UNSIGNED_INT scalar another value in each replica; `graph_replication_error`
        unless it names every replica."""
        if isinstance(target, FieldRef):
            target.vertex.builder.set_value(target.vertex.row, target.name, val)
            return
        self._own(target, "setInitialValue")
        if not target.isParallelWriteable():
            raise tensor_creation_error("setInitialValue: the tensor holds a constant or an element twice.")
        if isinstance(val, Mapping):
            self._set_by_replica(target, val)
            return
        values = device_array(target.elementType(), val, target.numElements())
        starts, lengths = target.regions()
        at = 0
        variables = self.store.variables
        owner = self.store.variable_of(starts)
        for v, start, n in zip(owner.tolist(), starts.tolist(), lengths.tolist(), strict=True):
            variables.initial[v].append((start - variables.base[v], values[at : at + n]))
            variables.host_visible[v] = True
            at += n

    def _set_by_replica(self, t: Tensor, values: Mapping[int, int]) -> None:
        if t.elementType() is not UNSIGNED_INT or t.numElements() != 1 or self.store.variables.numel[t._variable] != 1:
            raise tensor_creation_error(
                f"setInitialValue: values by replica are for a whole UNSIGNED_INT scalar, not {t.elementType()} of "
                f"shape {t.shape()}."
            )
        replicas = range(self.store.replicas)
        if sorted(values) != list(replicas):
            raise graph_replication_error(
                f"setInitialValue: values are given for replicas {sorted(values)}; give one for each of "
                f"0 to {len(replicas) - 1}."
            )
        self.store.variables.by_replica[t._variable] = [int(values[i]) for i in replicas]
        self.store.variables.host_visible[t._variable] = True

    def setInitialValueHalf(self, target: Any, val: Any) -> None:
        """`setInitialValue` from raw 16-bit words of type HALF."""
        self.setInitialValue(target, np.asarray(val, np.uint16).view(np.float16))


def _no_metadata(metadata: Tensor, type_: Type) -> None:
    if metadata.valid():
        raise tensor_creation_error(f"Type {type_} takes no metadata; give Tensor() in its place.")
