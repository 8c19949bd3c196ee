"""Operations as rows of a table: each by itself, or grouped by the beginning of their names.

Names are levels between slashes ("block1/attention/matMul"); slashes within braces belong to a variable's name. A group
of level k holds the operations whose names agree in the first k parts; level EACH is one row per operation, BY_NAME one
per full name. A figure of a group is the sum of its operations; its liveness indices are the first and the last.

percent = figure / the report's total x 100; cumulative = the same of this row and all above it, in descending order of
the figure that the table is sorted by. "Not attributed" is a row of its own, so that the rows add up to 100 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.flame import split_name
from popvision.analysis.operations.operations import Operations, operations
from popvision.analysis.operations.owners import NO_OPERATION, owners
from popvision.analysis.report.figure import Table, Unit, Values, table_of
from popvision.arrays import BoolArray, Float64Array, Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


EACH, BY_NAME = 0, -1

NOT_ATTRIBUTED = "(not attributed)"

_PERCENT: Unit = "percent"

#: Figures of a row that add up over operations, in the order of the columns.
FIELDS: dict[str, Unit] = {
    "cycles": "cycles",
    "cycles_apart": "cycles",
    "code": "bytes",
    "exchange_code": "bytes",
    "control_code": "bytes",
    "vertex_code": "bytes",
    "flops": "flops",
    "flops_once": "flops",
    "received": "bytes",
    "sent": "bytes",
    "always_live": "bytes",
    "not_always_live": "bytes",
    "live_at_peak": "bytes",
    "programs": "count",
    "compute_sets": "count",
    "variables": "count",
    "steps": "count",
}

#: Figures of the table, in the order of its columns.
OPERATION_FIGURES: dict[str, Unit] = {
    "name": "text",
    "context": "id",
    "operations": "count",
    **{id: unit for field, kind in FIELDS.items() for id, unit in ((field, kind), (f"{field}_percent", _PERCENT))},
    "cumulative": _PERCENT,
    "first_index": "id",
    "last_index": "id",
}


@dataclass(frozen=True)
class OperationGroups:
    """Row 0 is not attributed, also where nothing is. `group[o]` = row of operation o (of Operations), -1 where the
    choice leaves it out. `name` is the beginning that the row's operations share, `context` the debug context of a row
    that is one operation, else -1. A column is left out where the report lacks it; FLOPs are -1 where not known."""

    sums: Operations
    level: int
    under: str
    group: Int64Array
    name: list[str]
    context: Int64Array
    operations: Int64Array
    deeper: BoolArray  #: its operations have more parts in their names than the row shows
    columns: dict[str, Int64Array]
    totals: dict[str, int]  #: of the report: 100 %
    first_index: Int64Array
    last_index: Int64Array


def labels(source: ReportSource, layer: str = "") -> list[str]:
    """A name to show for each operation: its own, else what the context says it is, else its id; row 0 is "not
    attributed". Raises as `operations`."""
    ownership = owners(source, layer)
    return source.kept.recent(
        ("operation_labels", ownership.layer), lambda: _labels(source, ownership.context, ownership.name)
    )


def deepest_level(source: ReportSource, layer: str = "") -> int:
    """Parts of the longest name of a layer."""
    return max((len(path) for path in _paths(source, layer)[1:]), default=1)


def _paths(source: ReportSource, layer: str) -> list[list[str]]:
    """The parts of the label of each operation."""
    key = ("operation_paths", owners(source, layer).layer)
    return source.kept.recent(key, lambda: [split_name(each) for each in labels(source, layer)])


def operation_groups(
    source: ReportSource, layer: str = "", ipu: int | None = None, level: int = EACH, under: str = ""
) -> OperationGroups:
    """Groups of a level, of all operations or of those whose names begin with the parts of `under`.

    Raises as `operations`."""
    sums = operations(source, layer, ipu)
    key = ("operation_groups", source.generation, ipu, level, under[:500], sums.owners.layer)
    return source.kept.recent(key, lambda: _groups(source, sums, level, under[:500]))


def operation_table(
    source: ReportSource,
    layer: str = "",
    ipu: int | None = None,
    level: int = EACH,
    under: str = "",
    by: str = "cycles",
) -> Table:
    """A row per group, largest `by` first and "not attributed" last: name, context, operations, FIELDS (NA where the
    report does not say), "<field>_percent" of each, "cumulative" (percent of `by`), first_index, last_index (NA where
    it has none). Raises as `operations`, ValueError for a field that is not one of FIELDS."""
    if by not in FIELDS:
        raise ValueError(f"by must be one of {', '.join(FIELDS)}, not {by[:50]!r}")
    groups = operation_groups(source, layer, ipu, level, under)
    n = len(groups.name)
    none = np.full(n, -1, np.int64)
    sorted_by = groups.columns.get(by, none)
    order = np.lexsort((np.arange(n), -sorted_by, np.arange(n) == NO_OPERATION))
    if not any(column[NO_OPERATION] for column in groups.columns.values()) or under:
        order = order[:-1]
    table: dict[str, Values] = {
        "name": [groups.name[row] for row in order.tolist()],
        "context": _integers(groups.context[order]),
        "operations": groups.operations[order],
    }
    for field in FIELDS:
        column = groups.columns.get(field)
        values = none if column is None else column
        absent = none[order] if column is None else _absent(field, values[order])
        table[field] = _integers(values[order], absent)
        table[f"{field}_percent"] = percent(values[order], groups.totals.get(field, 0))
    table["cumulative"] = percent(np.cumsum(np.maximum(sorted_by[order], 0)), groups.totals.get(by, 0))
    table |= {id: _integers(getattr(groups, id)[order]) for id in ("first_index", "last_index")}
    return table_of("operations", OPERATION_FIGURES, table)


def percent(values: Int64Array, total: int) -> Float64Array:
    """Values / total x 100, unknown values (-1) and an empty total as NaN."""
    if total <= 0:
        return np.full(len(values), np.nan)
    return np.where(values == -1, np.nan, values / total * 100)


def _absent(field: str, values: Int64Array) -> Int64Array:
    """-1 where a figure is not known: only FLOPs can lack single ones."""
    return np.where(values < 0, -1, 0) if field.startswith("flops") else np.zeros(len(values), np.int64)


def _integers(values: Int64Array, absent: Int64Array | None = None) -> pd.api.extensions.ExtensionArray:
    import pandas as pd

    missing = values if absent is None else absent
    return pd.arrays.IntegerArray(np.asarray(values, np.int64), np.asarray(missing) < 0)


def _labels(source: ReportSource, context: Int64Array, name: list[str]) -> list[str]:
    shown = [NOT_ATTRIBUTED]
    for id, own in zip(context[1:].tolist(), name[1:], strict=True):
        arguments = source.debug.record(id).get("arguments")
        kind = arguments.get("api") or arguments.get("category") if isinstance(arguments, dict) else ""
        shown.append(own or (f"({kind})" if isinstance(kind, str) and kind else f"(context {id})"))
    return shown


def _groups(source: ReportSource, sums: Operations, level: int, under: str) -> OperationGroups:
    paths = _paths(source, sums.owners.layer)
    above = split_name(under) if under else []
    n = len(paths)
    group = np.full(n, -1, np.int64)
    group[NO_OPERATION] = NO_OPERATION
    known: dict[object, int] = {None: NO_OPERATION}
    name, context, deeper = [NOT_ATTRIBUTED], [-1], [False]
    for row in range(1, n):
        path = paths[row]
        if path[: len(above)] != above:
            continue
        shown = path[: max(level, len(above))] if level > 0 else path
        key: object = row if level == EACH else tuple(shown)
        at = known.setdefault(key, len(known))
        if at == len(name):
            name.append("/".join(shown))
            context.append(int(sums.owners.context[row]))
            deeper.append(False)
        else:
            context[at] = -1
        deeper[at] |= len(path) > len(shown)
        group[row] = at
    return _sum_groups(sums, level, under, group, (name, np.array(context, np.int64), np.array(deeper, bool)))


def _sum_groups(
    operations: Operations,
    level: int,
    under: str,
    group: Int64Array,
    rows: tuple[list[str], Int64Array, BoolArray],
) -> OperationGroups:
    n = len(rows[0])
    inside = np.flatnonzero(group >= 0)
    columns, totals = {}, {}
    for field, values in operations.columns().items():
        sums = np.zeros(n, np.int64)
        np.add.at(sums, group[inside], np.maximum(values[inside], 0) if field.startswith("flops") else values[inside])
        if field.startswith("flops"):
            known = np.bincount(group[inside], weights=values[inside] >= 0, minlength=n) > 0
            sums = np.where(known, sums, -1)
        columns[field] = sums
        totals[field] = int(np.maximum(values, 0).sum() if field.startswith("flops") else values.sum())
    first, last = np.full(n, np.iinfo(np.int64).max), np.full(n, -1, np.int64)
    has = inside[operations.last_index[inside] >= 0]
    np.minimum.at(first, group[has], operations.first_index[has])
    np.maximum.at(last, group[has], operations.last_index[has])
    counted = np.bincount(group[inside], minlength=n).astype(np.int64)
    counted[NO_OPERATION] = 0
    return OperationGroups(
        operations,
        level,
        under,
        group,
        *rows[:2],
        counted,
        rows[2],
        columns,
        totals,
        np.where(last < 0, -1, first),
        last,
    )
