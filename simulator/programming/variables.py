"""Variables and constants, with the metadata tensors of those of type QUARTER."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as whole
from typing import Any, overload

import numpy as np

from simulator.base.errors import graph_object_creation_error, tensor_creation_error, type_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.quarter import QuarterMetadata, encoded
from simulator.base.type_traits import TypeTraits
from simulator.base.types import (
    QUARTER_METADATA,
    UNSIGNED_INT,
    Type,
    VariableMappingMethod,
    VariableRef,
    device_array,
)
from simulator.graph.debug_context import Context, as_context, record
from simulator.graph.metadata import as_plain, checked_metadata, encoding_metadata
from simulator.graph.tensor import Tensor, tensor_of, whole_variable
from simulator.graph.view import View
from simulator.programming.mapping import MappingMethods

Shape = Sequence[int]

_TYPE = Parameter("type")
_METADATA = Parameter("metadata", instance_of(Tensor))
_SHAPE = Parameter("shape", other_than(Tensor))
_METHOD = Parameter("mappingMethod", instance_of(VariableMappingMethod))
_CONTEXT = Parameter("debugContext", other_than(VariableMappingMethod), "")
_ADD_VARIABLE = Overloads(
    "addVariable",
    tensor_creation_error,
    (
        (_TYPE, _SHAPE, _CONTEXT),
        (_TYPE, _SHAPE, _METHOD, _CONTEXT),
        (_TYPE, _METADATA, _SHAPE, _CONTEXT),
        (_TYPE, _METADATA, _SHAPE, _METHOD, _CONTEXT),
    ),
)

_CONST_CONTEXT = Parameter("debugContext", other_than(TypeTraits), "<const>")
_RAW = (
    Parameter("val"),
    Parameter("traits", instance_of(TypeTraits)),
    Parameter("broadcast", instance_of(bool)),
    Parameter("debugContext", None, "<const>"),
)
_ADD_CONSTANT = Overloads(
    "addConstant",
    tensor_creation_error,
    (
        (_TYPE, _SHAPE, Parameter("values"), _CONST_CONTEXT),
        (_TYPE, _SHAPE, Parameter("val"), _CONST_CONTEXT),
        (_TYPE, _SHAPE, *_RAW),
        (_TYPE, _METADATA, _SHAPE, Parameter("values"), _CONST_CONTEXT),
        (_TYPE, _METADATA, _SHAPE, Parameter("val"), _CONST_CONTEXT),
        (_TYPE, _METADATA, _SHAPE, *_RAW),
    ),
)


class VariableMethods(MappingMethods):
    @overload
    def addVariable(self, type: Type, shape: Shape, debugContext: Context = "") -> Tensor: ...
    @overload
    def addVariable(
        self, type: Type, shape: Shape, mappingMethod: VariableMappingMethod, debugContext: Context = ""
    ) -> Tensor: ...
    @overload
    def addVariable(self, type: Type, metadata: Tensor, shape: Shape, debugContext: Context = "") -> Tensor: ...
    @overload
    def addVariable(
        self,
        type: Type,
        metadata: Tensor,
        shape: Shape,
        mappingMethod: VariableMappingMethod,
        debugContext: Context = "",
    ) -> Tensor: ...
    def addVariable(self, *arguments: Any, **names: Any) -> Tensor:
        """Add a variable. It has no tile mapping until `setTileMapping`, unless the target has exactly one tile or
        `VariableMappingMethod.LINEAR` spreads it over all tiles.

        A QUARTER variable has the metadata tensor given, or, when that is missing or empty (`Tensor()`), a new variable
        on tile 0 (`getMetadata()`), which the program must initialise. Raises `tensor_creation_error` for bad shapes
        and for metadata of other types, `tensor_metadata_error` for tensors that are not metadata."""
        _, given = _ADD_VARIABLE.choose(arguments, names)
        type_ = given["type"]
        context = as_context(given["debugContext"])
        metadata = self._metadata_for(type_, given.get("metadata"), context, "addVariable", None)
        tensor = self._new_variable(type_, given["shape"], context, "variable", None)
        self._tie(tensor, metadata)
        if given.get("mappingMethod") is VariableMappingMethod.LINEAR:
            self._map_linearly(tensor)
        return tensor

    def addExternalVariable(self, type: Type, shape: Shape, symbol: str, debugContext: Context = "") -> Tensor:
        """Add a variable whose storage is outside the graph, at a symbol of the program that the compiled Module
        becomes part of.

        Raises `graph_object_creation_error` for a symbol that is no name or that another variable has."""
        if not isinstance(symbol, str) or not symbol.isidentifier():
            raise graph_object_creation_error(f"addExternalVariable: '{symbol}' is not the name of a symbol.")
        if symbol in self.store.variables.external.values():
            raise graph_object_creation_error(
                f"addExternalVariable: symbol '{symbol}' has a variable already; use that tensor."
            )
        tensor = self.addVariable(type, shape, debugContext)
        self.store.variables.external[tensor.view.variable] = symbol
        return tensor

    def _metadata_for(
        self, type_: Type, given: Tensor | None, context: Context, what: str, value: QuarterMetadata | None
    ) -> Tensor | None:
        """The metadata tensor of a new tensor: the given one, or a new one (a constant when it has a value)."""
        if not isinstance(type_, Type):
            raise tensor_creation_error(f"{type_!r} is not an element type; use FLOAT, HALF, INT, ...")
        metadata = checked_metadata(self.store, type_, given, what)
        if metadata is not None or not type_.requiresMetadata():
            return metadata
        name = "/".join(part for part in (as_context(context).getPathName(), "metadata") if part)
        byte = None if value is None else np.array([value.getBinary()], np.uint8)
        metadata = self._new_variable(QUARTER_METADATA, [], name, "variable" if value is None else "constant", byte)
        self._map_to_one(metadata, self._device_tile(0))
        return metadata

    def _tie(self, tensor: Tensor, metadata: Tensor | None) -> None:
        """Make a metadata tensor that of a new variable."""
        if metadata is not None:
            self.store.variables.metadata[tensor.view.variable] = int(metadata.regions()[0][0])

    def _new_variable(self, type_: Type, shape: Shape, debugContext: Context, category: str, values: Any) -> Tensor:
        if not isinstance(type_, Type):
            raise tensor_creation_error(f"{type_!r} is not an element type; use FLOAT, HALF, INT, ...")
        dims = _dims(shape)
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
        return tensor_of(type_, View.of_variable(store, index, dims))

    # ---- constants ---------------------------------------------------------------------------------------------

    @overload
    def addConstant(self, type: Type, shape: Shape, values: Any, debugContext: Context = "<const>") -> Tensor: ...
    @overload
    def addConstant(self, type: Type, shape: Shape, *, val: Any, debugContext: Context = "<const>") -> Tensor: ...
    @overload
    def addConstant(
        self,
        type: Type,
        shape: Shape,
        val: Any,
        traits: TypeTraits,
        broadcast: bool,
        debugContext: Context = "<const>",
    ) -> Tensor: ...
    @overload
    def addConstant(
        self, type: Type, metadata: Tensor, shape: Shape, values: Any, debugContext: Context = "<const>"
    ) -> Tensor: ...
    @overload
    def addConstant(
        self, type: Type, metadata: Tensor, shape: Shape, *, val: Any, debugContext: Context = "<const>"
    ) -> Tensor: ...
    @overload
    def addConstant(
        self,
        type: Type,
        metadata: Tensor,
        shape: Shape,
        val: Any,
        traits: TypeTraits,
        broadcast: bool,
        debugContext: Context = "<const>",
    ) -> Tensor: ...
    def addConstant(self, *arguments: Any, **names: Any) -> Tensor:
        """Add a constant: one value for all elements, or as many values as elements (flattened, any array-like); or
        raw bytes (any buffer), the type of their values and whether one value is for all elements (`broadcast`).

        QUARTER values are numbers, encoded by the metadata: a new constant (F143, scale 0) when none is given; it must
        be known while the graph is built. Raises `tensor_creation_error` when the number of values does not fit the
        shape and for metadata of other types, `tensor_metadata_error` for metadata that is not known yet."""
        _, given = _ADD_CONSTANT.choose(arguments, names)
        type_, context = given["type"], as_context(given["debugContext"])
        dims = _dims(given["shape"])
        metadata = self._metadata_for(type_, given.get("metadata"), context, "addConstant", QuarterMetadata())
        values = given["values"] if "values" in given else given["val"]
        try:
            if "traits" in given:
                values = _typed(given["traits"], values, 1 if given["broadcast"] else prod(dims))
            array = self._encoded(type_, values, prod(dims), metadata, "addConstant")
        except type_error as error:
            raise tensor_creation_error(f"addConstant, shape {list(dims)}: {error}") from None
        tensor = self._new_variable(type_, dims, context, "constant", array)
        self._tie(tensor, metadata)
        return tensor

    def _encoded(self, type_: Type, values: Any, count: int, metadata: Tensor | None, what: str) -> Any:
        """Values given by the program as elements of the device."""
        if metadata is None:
            return device_array(type_, as_plain(values), count)
        known = encoding_metadata(self.store, metadata, what)
        return device_array(type_, values, count, lambda numbers: encoded(numbers, known))

    def addConstantHalf(self, type: Type, shape: Shape, val: Any, debugContext: Context = "<const>") -> Tensor:
        """Add a constant from raw 16-bit words of IEEE half, converted to `type`: one for all elements, or one each.

        Raises `tensor_creation_error` for what are no such words, and where their number does not fit."""
        return self.addConstant(type, shape, half_words(val), as_context(debugContext))

    def addReplicationIndexConstant(self, debugContext: Context = "<const>") -> Tensor:
        """Add an UNSIGNED_INT scalar that holds the number of the replica, 0 to getReplicationFactor() - 1."""
        index = self._new_variable(UNSIGNED_INT, [], as_context(debugContext), "constant", np.zeros(1, np.uint32))
        self.store.variables.by_replica[index.view.start] = list(range(self.store.replicas))
        return index

    # ---- whole variables ---------------------------------------------------------------------------------------

    def isConstant(self, v: VariableRef) -> bool:
        """Whether `addConstant` made the variable. Raises `graph_object_creation_error` for one of another graph."""
        return self.store.variables.constant[self._known_variable(v, "isConstant")] is not None

    def getVariable(self, v: VariableRef) -> Tensor:
        """The whole variable as a vector. Raises `graph_object_creation_error` for one of another graph."""
        return whole_variable(self.store, self._known_variable(v, "getVariable"))

    def _known_variable(self, v: VariableRef, what: str) -> int:
        count = len(self.store.variables.base)
        if not isinstance(v, VariableRef) or not 0 <= v.id < count:
            raise graph_object_creation_error(
                f"{what}: {v!r} is not one of the graph's {count} variables; take one from Tensor.getVarRegions."
            )
        return v.id


def half_words(values: Any) -> Any:
    """Raw 16-bit words as numbers; `tensor_creation_error` for what are no such words."""
    words = np.asarray(values)
    if words.dtype.kind not in "iu" or (words.size and (words.min() < 0 or words.max() > 0xFFFF)):
        raise tensor_creation_error(
            f"{values!r:.60} are not raw 16-bit words (whole numbers, 0 to 65535) of type half."
        )
    return words.astype(np.uint16).view(np.float16)


def _dims(shape: Any) -> tuple[int, ...]:
    try:
        dims = tuple([whole(n) for n in shape])
    except TypeError:
        raise tensor_creation_error(f"{shape!r} is not a shape; give a list of sizes, [] for a scalar.") from None
    if any(n < 0 for n in dims):
        raise tensor_creation_error(f"Shape {list(dims)} has a negative size.")
    return dims


def _typed(traits: TypeTraits, raw: Any, count: int) -> Any:
    values = traits.values(raw)
    if len(values) < count:
        raise type_error(f"the buffer holds {len(values)} values of {traits.dtype}, but {count} are needed.")
    return values[:count]
