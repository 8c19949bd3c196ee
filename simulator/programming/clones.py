"""New variables with the layout and tile mapping of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import tensor_creation_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.types import TensorCloneDuplicationMethod, TensorCloneMethod, Type
from simulator.graph.debug_context import Context, DebugContext, as_context
from simulator.graph.tensor import Tensor, tensor_of
from simulator.graph.tile_mapping import merged
from simulator.programming.variables import VariableMethods

_TYPE = Parameter("type", instance_of(Type))
_METADATA = Parameter("metadata", instance_of(Tensor))
_T = Parameter("t", instance_of(Tensor))
_N = Parameter("N", other_than(Tensor))
_CONTEXT = Parameter("debugContext", other_than(Tensor), "")
_METHOD = Parameter("method", None, TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES)
_DUPLICATION = Parameter("duplicationMethod", None, TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION)
_CLONE = Overloads(
    "clone",
    tensor_creation_error,
    tuple((*head, _CONTEXT, _METHOD) for head in ((_T,), (_TYPE, _T), (_METADATA, _T), (_TYPE, _METADATA, _T))),
)
_CLONE_N = Overloads(
    "cloneN",
    tensor_creation_error,
    tuple(
        (*head, _N, _CONTEXT, _METHOD, _DUPLICATION)
        for head in ((_T,), (_TYPE, _T), (_METADATA, _T), (_TYPE, _METADATA, _T))
    ),
)


@dataclass(frozen=True)
class _Layout:
    """A new variable: how many elements, which of them each element of the tensor is, and where they lie."""

    count: int
    place: Int64Array | None  #: per flattened element of the tensor; None = in order
    ends: Int64Array  #: tile mapping: interval i ends here
    tiles: Int64Array


class CloneMethods(VariableMethods):
    @overload
    def clone(self, type: Type, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...) -> Tensor: ...
    @overload
    def clone(
        self, type: Type, metadata: Tensor, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...
    ) -> Tensor: ...
    @overload
    def clone(self, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...) -> Tensor: ...
    @overload
    def clone(
        self, metadata: Tensor, t: Tensor, debugContext: Context = "", method: TensorCloneMethod = ...
    ) -> Tensor: ...
    def clone(self, *arguments: Any, **names: Any) -> Tensor:
        """A new variable with the shape and tile mapping of a tensor.

        PRESERVE_ORDER_UNLESS_ALIASES (the default) keeps the order in which the elements lie in memory, unless the
        tensor holds an element twice; then, and with CREATE_NEW_ORDER, memory has the order of the flattened tensor.
        PRESERVE_ORDER_AND_ALIASES keeps the order, and elements that were the same stay the same.
        GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES does so too, with all elements of a tile next to each other.

        A QUARTER clone has the metadata given, or a new metadata tensor that the program must initialise; never that of
        `t`. Raises `tensor_creation_error` for metadata of other types."""
        _, given = _CLONE.choose(arguments, names)
        t, type_, metadata, context = self._clone_arguments("clone", given)
        layout = self._layout_of(t, _method(given["method"]))
        return self._laid_out(layout, t.shape(), type_, metadata, context)

    @overload
    def cloneN(
        self,
        type: Type,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    @overload
    def cloneN(
        self,
        type: Type,
        metadata: Tensor,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    @overload
    def cloneN(
        self,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    @overload
    def cloneN(
        self,
        metadata: Tensor,
        t: Tensor,
        N: int,
        debugContext: Context = "",
        method: TensorCloneMethod = ...,
        duplicationMethod: TensorCloneDuplicationMethod = ...,
    ) -> Tensor: ...
    def cloneN(self, *arguments: Any, **names: Any) -> Tensor:
        """`clone` N times as one variable and a tensor of shape [N, ...].

        DUPLICATE_BY_OUTER_DIMENSION lays the copies one after another; DUPLICATE_BY_TILE_CONTIGUOUS_REGION puts, for
        each run of memory on a tile, its N copies next to each other. Raises `tensor_creation_error` for N below 1."""
        _, given = _CLONE_N.choose(arguments, names)
        t, type_, metadata, context = self._clone_arguments("cloneN", given)
        n, how = given["N"], given["duplicationMethod"]
        if not isinstance(n, int | np.integer) or n < 1:
            raise tensor_creation_error(f"cloneN: {n!r} copies cannot be made; give at least 1.")
        if not isinstance(how, TensorCloneDuplicationMethod):
            raise tensor_creation_error(f"cloneN: {how!r} is not a TensorCloneDuplicationMethod.")
        layout = self._layout_of(t, _method(given["method"]))
        if how is TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION:
            layout = _one_after_another(layout, int(n))
        else:
            layout = _run_by_run(layout, int(n), t.numElements())
        return self._laid_out(layout, [int(n), *t.shape()], type_, metadata, context)

    def _clone_arguments(self, what: str, given: dict[str, Any]) -> tuple[Tensor, Type, Tensor | None, DebugContext]:
        t = given["t"]
        self._own(t, what)
        type_ = given.get("type", t.elementType())
        context = as_context(given["debugContext"])
        return t, type_, self._metadata_for(type_, given.get("metadata"), context, what, None), context

    def _layout_of(self, t: Tensor, method: TensorCloneMethod) -> _Layout:
        new_order = method is TensorCloneMethod.CREATE_NEW_ORDER or (
            method is TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES and t.containsAliases()
        )
        gather = method is TensorCloneMethod.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES
        if new_order or (t.isContiguous() and not gather):
            _, ends, tiles = self.getTileMappingIntervals(t)
            return _Layout(t.numElements(), None, ends, tiles)
        used, place = np.unique(regions.elements(*t.regions()), return_inverse=True)
        place = place.reshape(-1).astype(np.int64)
        spelled = self.store.cut_at_variables(*regions.of_elements(used))
        elements = t.view.with_pieces((len(used),), spelled, t.view.variable)
        _, ends, tiles = self.getTileMappingIntervals(tensor_of(t.element_type, elements))
        if gather:
            tile_of = np.repeat(tiles, np.diff(ends, prepend=0))
            order = np.argsort(tile_of, kind="stable")
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            place, tiles, ends = back[place], tile_of[order], np.arange(1, len(order) + 1, dtype=np.int64)
        if len(ends):
            ends, tiles = merged(ends, tiles)
        return _Layout(len(used), place, ends, tiles)

    def _laid_out(
        self, layout: _Layout, shape: list[int], type_: Type, metadata: Tensor | None, context: DebugContext
    ) -> Tensor:
        """A new variable with a layout, under a shape."""
        out = self._new_variable(type_, shape if layout.place is None else [layout.count], context, "variable", None)
        self._tie(out, metadata)
        if len(layout.ends):
            self.store.variables.mapping[out.view.variable] = merged(layout.ends, layout.tiles)
        return out if layout.place is None else _viewed(out, layout.place, tuple(shape))


def _method(method: Any) -> TensorCloneMethod:
    if not isinstance(method, TensorCloneMethod):
        raise tensor_creation_error(f"clone: {method!r} is not a TensorCloneMethod.")
    return method


def _viewed(variable: Tensor, place: Int64Array, shape: tuple[int, ...]) -> Tensor:
    """The elements of a variable in the order that `place` says, under a shape."""
    whole = variable.view
    view = whole.with_pieces(shape, regions.of_elements(place + whole.start), whole.variable)
    return tensor_of(variable.element_type, view)


def _one_after_another(layout: _Layout, n: int) -> _Layout:
    copies = np.arange(n, dtype=np.int64)[:, None]
    place = None if layout.place is None else (copies * layout.count + layout.place).reshape(-1)
    ends = (copies * layout.count + layout.ends).reshape(-1)
    return _Layout(n * layout.count, place, ends, np.tile(layout.tiles, n))


def _run_by_run(layout: _Layout, n: int, elements: int) -> _Layout:
    """Run [b, e) of the clone becomes [n * b, n * e), its copies one after another."""
    ends, tiles = merged(layout.ends, layout.tiles) if len(layout.ends) else (layout.ends, layout.tiles)
    one = np.arange(elements, dtype=np.int64) if layout.place is None else layout.place
    run = np.searchsorted(ends, one, side="right")
    begin = np.concatenate([[0], ends[:-1]])[run] if len(ends) else one
    length = ends[run] - begin if len(ends) else one
    copies = np.arange(n, dtype=np.int64)[:, None]
    place = (n * begin + copies * length + (one - begin)).reshape(-1)
    return _Layout(n * layout.count, place, ends * n, tiles)
