"""Programs related to a given one, by a rule that the user chooses.

`""`: the same compute set, else the same type and name. `"vertex"`: a vertex type in common. Any other word is a
software layer of the debug information: the same operation there, that is the same nearest context of that layer at or
above the program's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.columns import programs_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: The rule of vertex types; it hides a layer of this name.
BY_VERTEX = "vertex"

_MOST_PARENTS = 100
_MOST_LAYERS = 20


def layers(source: ReportSource) -> list[str]:
    """Software layers that contexts of this report name, most frequent first, at most 20."""
    return source.kept.once("debug_layers", lambda: _layers(source))


def related_programs(source: ReportSource, program: int, rule: str = "") -> Int64Array:
    """Programs related to `program` by a rule, itself included; empty for a program that is not there. Without what
    the rule needs (a vertex type, a context of the layer) it is related to itself alone."""
    programs = programs_of(source)
    n = len(programs.type)
    if not 0 <= program < n:
        return np.empty(0, np.int64)
    if rule == BY_VERTEX:
        return _by_vertex(source, program)
    if rule and rule in layers(source):
        operation = source.kept.recent(("related operations", rule[:200]), lambda: _operations(source, rule))
        own_operation = int(operation[program])
        same = operation == own_operation if own_operation >= 0 else np.arange(n) == program
        return np.flatnonzero(same).astype(np.int64)
    compute_set = int(programs.compute_set[program])
    if compute_set >= 0:
        return np.flatnonzero(np.asarray(programs.compute_set) == compute_set).astype(np.int64)
    name, type_ = programs.name[program], programs.type[program]
    if not name:
        return np.array([program], np.int64)
    pairs = zip(programs.name, programs.type, strict=True)
    return np.array([row for row, pair in enumerate(pairs) if pair == (name, type_)], np.int64)


def _layers(source: ReportSource) -> list[str]:
    counts: dict[str, int] = {}
    for _, record in source.debug.records():
        layer = str(record.get("layer", ""))
        if layer and layer != BY_VERTEX:
            counts[layer] = counts.get(layer, 0) + 1
    return sorted(counts, key=lambda layer: (-counts[layer], layer))[:_MOST_LAYERS]


def _operations(source: ReportSource, layer: str) -> Int64Array:
    """By program the id of its nearest context of the layer, -1 where there is none."""
    contexts = source.debug
    operation_of: dict[int, int] = {}

    def nearest(id: int) -> int:
        chain: list[int] = []
        result = -1
        while id >= 0 and id in contexts and len(chain) < _MOST_PARENTS:
            if id in operation_of:
                result = operation_of[id]
                break
            chain.append(id)
            record = contexts.record(id)
            if record.get("layer") == layer:
                result = id
                break
            above = record.get("parents")
            id = above[0] if isinstance(above, list) and above and isinstance(above[0], int) else -1
        operation_of.update(dict.fromkeys(chain, result))
        return result

    return np.array([nearest(id) for id in np.asarray(programs_of(source).debug_id).tolist()], np.int64)


def _by_vertex(source: ReportSource, program: int) -> Int64Array:
    types_of: dict[int, set[int]] = source.kept.once("vertex_types_of_sets", lambda: _types_of_sets(source))
    sets = np.asarray(programs_of(source).compute_set, np.int64)
    own_types = types_of.get(int(sets[program]), set())
    if not own_types:
        return np.array([program], np.int64)
    alike = [compute_set for compute_set, types in types_of.items() if types & own_types]
    return np.flatnonzero(np.isin(sets, alike)).astype(np.int64)


def _types_of_sets(source: ReportSource) -> dict[int, set[int]]:
    types: dict[int, set[int]] = {}
    for compute_set, vertex_type in source.reader.compute_set_types():
        types.setdefault(compute_set, set()).add(vertex_type)
    return types
