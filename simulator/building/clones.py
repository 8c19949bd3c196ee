"""New variables with the layout and tile mapping of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.arrays import Int64Array
from simulator.base import regions
from simulator.base.errors import tensor_creation_error
from simulator.base.overloads import Overloads, Parameter, instance_of, other_than
from simulator.base.types import TensorCloneDuplicationMethod, TensorCloneMethod, Type
from simulator.building.mapping import intervals_of
from simulator.building.state import GraphState
from simulator.building.variables import add_row, metadata_for, set_metadata
from simulator.graph.debug_context import DebugContext, as_context
from simulator.graph.metadata import checked_metadata
from simulator.graph.tensor import Tensor, tensor_of
from simulator.graph.tile_mapping import merged

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
    """The layout of a new variable: the number of its elements, the element for each one of the tensor, its tiles."""

    count: int
    place: Int64Array | None  #: per flattened element of the tensor; None = in order
    ends: Int64Array  #: tile mapping: interval i ends here
    tiles: Int64Array


def clone(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> Tensor:
    """`Graph.clone`."""
    _, given = _CLONE.choose(arguments, names)
    t, type_, metadata, context = _checked(state, "clone", given)
    layout = _layout_of(state, t, _method(given["method"]))
    return _laid_out(state, layout, t.shape(), type_, metadata, context)


#: of all copies together: as many as 32 bits count, far beyond the memory of any system
_MOST_ELEMENTS = 2**32 - 1


def clone_n(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> Tensor:
    """`Graph.cloneN`."""
    _, given = _CLONE_N.choose(arguments, names)
    t, type_, metadata, context = _checked(state, "cloneN", given)
    n, how = given["N"], given["duplicationMethod"]
    if not isinstance(n, int | np.integer) or n < 1:
        raise tensor_creation_error(f"cloneN: {n!r} copies cannot be made; give at least 1.")
    if int(n) * t.numElements() > _MOST_ELEMENTS:
        raise tensor_creation_error(
            f"cloneN: {n} copies of {t.numElements()} elements are more than {_MOST_ELEMENTS} elements; give fewer."
        )
    if not isinstance(how, TensorCloneDuplicationMethod):
        raise tensor_creation_error(f"cloneN: {how!r} is not a TensorCloneDuplicationMethod.")
    layout = _layout_of(state, t, _method(given["method"]))
    if how is TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION:
        layout = _one_after_another(layout, int(n))
    else:
        layout = _run_by_run(layout, int(n), t.numElements())
    return _laid_out(state, layout, [int(n), *t.shape()], type_, metadata, context)


def _checked(state: GraphState, what: str, given: dict[str, Any]) -> tuple[Tensor, Type, Tensor | None, DebugContext]:
    """(tensor, type of the clone, the metadata tensor that was given, context)."""
    t = given["t"]
    state.require_tensor(t, what)
    type_ = given.get("type", t.elementType())
    metadata = checked_metadata(state.store, type_, given.get("metadata"), what)
    return t, type_, metadata, as_context(given["debugContext"])


def _layout_of(state: GraphState, t: Tensor, method: TensorCloneMethod) -> _Layout:
    new_order = method is TensorCloneMethod.CREATE_NEW_ORDER or (
        method is TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES and t.containsAliases()
    )
    gather = method is TensorCloneMethod.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES
    if new_order or (t.isContiguous() and not gather):
        _, ends, tiles = intervals_of(state, t)
        return _Layout(t.numElements(), None, ends, tiles)
    used, place = regions.ranked(regions.elements(*t.regions()))
    pieces = state.store.cut_at_variables(*regions.of_elements(used))
    elements = t.view.with_pieces((len(used),), pieces, t.view.variable)
    _, ends, tiles = intervals_of(state, tensor_of(t.element_type, elements))
    if gather:
        tile_of = np.repeat(tiles, np.diff(ends, prepend=0))
        order = np.argsort(tile_of, kind="stable")
        new_place = np.empty_like(order)
        new_place[order] = np.arange(len(order))
        place, tiles, ends = new_place[place], tile_of[order], np.arange(1, len(order) + 1, dtype=np.int64)
    if len(ends):
        ends, tiles = merged(ends, tiles)
    return _Layout(len(used), place, ends, tiles)


def _laid_out(
    state: GraphState,
    layout: _Layout,
    shape: list[int],
    type_: Type,
    metadata: Tensor | None,
    context: DebugContext,
) -> Tensor:
    """A new variable with a layout, under a shape."""
    metadata = metadata_for(state, type_, metadata, context, "clone", None)
    out = add_row(state, type_, shape if layout.place is None else [layout.count], context, "variable", None)
    set_metadata(state.store, out, metadata)
    if len(layout.ends):
        state.store.variables.mapping[out.view.variable] = merged(layout.ends, layout.tiles)
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
