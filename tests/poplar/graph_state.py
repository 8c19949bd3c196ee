"""All that a graph holds as plain values, so that two states of it can be compared."""

from __future__ import annotations

from array import array
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from simulator.graph.field_columns import EdgeColumn, FieldColumns
from simulator.graph.tensor import Tensor
from simulator.graph.vertex_builder import BlockBuilder
from simulator.graph.vertices import VertexType
from simulator.poplar import Graph


def state_of(graph: Graph) -> dict[str, Any]:
    """The columns of a graph. `base_array` is a cache, and a queue of mappings is painted when it is read."""
    store = graph.store
    for variable in list(store.variables.pending_mapping):
        store.mapping_of(variable)
    return {f.name: _plain(getattr(store, f.name)) for f in fields(store) if f.name != "base_array"}


#: Nearly all values are leaves: they are told first, by their type alone.
_LEAVES = frozenset((str, int, float, bool, bytes, type(None)))


def _plain(value: Any) -> Any:
    if type(value) in _LEAVES:
        return value
    if isinstance(value, np.ndarray | array):
        return value.tolist()
    if isinstance(value, dict):
        return [(_plain(key), _plain(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [each if type(each) in _LEAVES else _plain(each) for each in value]
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, VertexType):
        return value.name, len(value.fields)
    if isinstance(value, Tensor):
        return [part.tolist() for part in value.regions()]
    if isinstance(value, BlockBuilder):
        filled = [value.fields.edges, value.fields.values, vars(value.indexed), value.block.external, value.block.late]
        return _plain([value.tiles, value.estimates, value.constants, *filled])
    if isinstance(value, FieldColumns):
        return "compared in the block"
    if isinstance(value, EdgeColumn):
        return _plain([value.rows, value.starts, value.lengths, value.opens])
    if is_dataclass(value) and not isinstance(value, type):
        # Blocks are brought up to date when they are read; what fills them is compared above.
        lazy = ("tiles", "edges", "values", "first_id", "cycles", "flops", "store")
        return [_plain(getattr(value, f.name)) for f in fields(value) if f.name not in lazy]
    if hasattr(value, "_units"):
        return _plain([[unit.key for unit in value._units], value._paths, value._texts])
    return value if isinstance(value, str | int | float | bytes) else id(value)
