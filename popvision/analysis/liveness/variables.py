"""Live variables: the always-live ones, and those live at chosen liveness indices.

Over all tiles, a variable's size is the one of the variable before lowering, for one replica. On one tile or one IPU it
is the sum of its allocations there; an allocation without such a variable stands under its own name. So the sizes at an
index add up to the curve at that index, over all tiles, on an IPU and on a tile alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.liveness.curve import live_classes
from popvision.analysis.memory.lowered import class_rows, lifetime_text, lowered_tile
from popvision.analysis.memory.lowered_sums import add_equal, allocation_sums
from popvision.analysis.report.columns import eq_classes, lowered_names, stored_variables, variables
from popvision.analysis.report.figure import Figure, Table, Unit, Values, table_of
from popvision.analysis.report.tiles import Where, target_of
from popvision.arrays import BoolArray, Int64Array
from popvision.formats.profile.model import LoweredTile, Variables

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Group:
    """Rows of equal variable, name and class within a scope. `variable` is -1 where there is none; then `name` is a row
    of the lowered names. `eq_class` is -1 for always-live rows."""

    variable: Int64Array
    name: Int64Array
    eq_class: Int64Array
    bytes: Int64Array

    def take(self, rows: npt.NDArray[np.intp] | BoolArray | slice) -> Group:
        return Group(self.variable[rows], self.name[rows], self.eq_class[rows], self.bytes[rows])


ALWAYS_LIVE_FIGURES: dict[str, Unit] = {"name": "text", "variable": "id", "size_bytes": "bytes"}

#: Figures of `live_table` at one liveness index.
LIVE_FIGURES: dict[str, Unit] = {"name": "text", "variable": "id", "live": "text", "size_bytes": "bytes"}


def always_live_table(source: ReportSource, where: Where = Where()) -> Table:  # noqa: B008
    """Always-live variables of `where`, largest first: name, variable (its id, -1 where none), size_bytes.

    Raises NotRecordedError when the report holds no variables.
    """
    rows = scope(source, where)
    rows = _merge_rows(rows.take(rows.eq_class < 0))
    order = np.lexsort((rows.name, rows.variable, -rows.bytes))
    rows = rows.take(order)
    values: dict[str, Values] = {
        "name": names_of(source, rows),
        "variable": rows.variable,
        "size_bytes": rows.bytes,
    }
    return table_of("always_live_variables", ALWAYS_LIVE_FIGURES, values)


def live_table(source: ReportSource, indices: Sequence[int], where: Where = Where()) -> Table:  # noqa: B008
    """Not-always-live variables of `where` that are live at any of `indices`: name, variable (its id), live (liveness
    indices), size_bytes at each index "i" (0 where it is not live there) and, from the second index on, change_bytes at
    "i - first". Largest first by the first index, then by the others. Raises as `always_live_table`.
    """
    rows = scope(source, where)
    classes = [live_classes(source, index) for index in indices]
    wanted = np.unique(np.concatenate(classes)) if classes else np.empty(0, dtype=np.int64)
    rows = rows_of_classes(rows, wanted)
    live = [np.where(np.isin(rows.eq_class, classes_at_index), rows.bytes, 0) for classes_at_index in classes]
    order = np.lexsort((rows.name, rows.variable, *(-column for column in reversed(live))))
    rows, live = rows.take(order), [column[order] for column in live]
    ranges = eq_classes(source)
    texts = {c: lifetime_text(ranges, c) for c in np.unique(rows.eq_class).tolist()}
    table = [
        Figure("name", "text", names_of(source, rows)),
        Figure("variable", "id", rows.variable),
        Figure("live", "text", [texts[c] for c in rows.eq_class.tolist()]),
    ]
    for index, column in zip(indices, live, strict=True):
        table.append(Figure("size_bytes", "bytes", column, str(index)))
    for index, column in zip(indices[1:], live[1:], strict=True):
        table.append(Figure("change_bytes", "bytes_change", column - live[0], f"{index} - {indices[0]}"))
    return Table("live_variables", table)


def lifetime(source: ReportSource, variable: int) -> list[tuple[int, int]] | None:
    """Half-open ranges of liveness indices at which a variable is live, none for one that no program touches; None for
    an always-live one.

    Raises ValueError for a variable that does not exist, NotRecordedError when the report holds no variables.
    """
    known = variables(source)
    if not 0 <= variable < len(known.eq_class):
        raise ValueError(
            f"variable {variable} does not exist: this report has variables 0 to {len(known.eq_class) - 1}"
        )
    if known.always_live[variable]:
        return None
    eq_class = int(known.eq_class[variable])
    if eq_class < 0:
        return []
    classes = eq_classes(source)
    rows, _ = class_rows(classes, np.asarray([eq_class]))
    return list(zip(classes.starts[rows].tolist(), classes.ends[rows].tolist(), strict=True))


def scope(source: ReportSource, where: Where) -> Group:
    """Bytes by variable over all tiles of one replica, on one IPU or on one tile, rows of a class beside each other.

    Raises NotRecordedError when the report does not hold them."""
    if where.kind == "all":
        return source.kept.once("variables_of_replica", lambda: _variables_before_lowering(source))
    if where.kind == "ipu":
        return source.kept.recent(("variables_of_ipu", where.number), lambda: _on_ipu(source, where.number))
    return group_of(lowered_tile(source, where.number))


def _variables_before_lowering(source: ReportSource) -> Group:
    """All variables of one replica that are ever live, ordered by class so that the rows of a class are neighbours."""
    known: Variables = variables(source)
    eq_class = np.where(np.asarray(known.always_live), -1, np.asarray(known.eq_class, dtype=np.int64))
    size = np.asarray(known.bytes, dtype=np.int64) // target_of(source).num_replicas
    ids = np.arange(len(eq_class), dtype=np.int64)
    order = np.argsort(eq_class, kind="stable")
    order = order[np.asarray(known.always_live)[order] | (eq_class[order] >= 0)]
    return Group(ids, np.full(len(ids), -1, dtype=np.int64), eq_class, size).take(order)


def group_of(low: LoweredTile) -> Group:
    """Bytes by variable of one tile's allocations, rows of a class beside each other."""
    variable = np.asarray(low.variable, dtype=np.int64)
    name = np.where(variable >= 0, -1, np.asarray(low.name, dtype=np.int64))
    return _merge_rows(
        Group(variable, name, np.asarray(low.eq_class, dtype=np.int64), np.asarray(low.bytes, dtype=np.int64))
    )


def _on_ipu(source: ReportSource, ipu: int) -> Group:
    per_ipu = target_of(source).tiles_per_ipu
    sums = allocation_sums(source, range(ipu * per_ipu, (ipu + 1) * per_ipu))
    return Group(sums.variable, sums.name, sums.eq_class, sums.bytes)


def _merge_rows(rows: Group) -> Group:
    """Rows of equal class, variable and name added up, ordered by class."""
    sums = add_equal(rows.eq_class, rows.variable, rows.name, rows.bytes)
    return Group(sums.variable, sums.name, sums.eq_class, sums.bytes)


def rows_of_classes(rows: Group, wanted: Int64Array) -> Group:
    """The rows whose class is in `wanted`; rows are ordered by class, so each class is one slice."""
    first = np.searchsorted(rows.eq_class, wanted, side="left")
    count = np.searchsorted(rows.eq_class, wanted, side="right") - first
    of = np.repeat(np.arange(len(wanted)), count)
    before = np.cumsum(count) - count
    return rows.take(first[of] + np.arange(len(of)) - before[of])


def names_of(source: ReportSource, rows: Group) -> list[str]:
    """Name of each row: its variable's, or where there is none that of the allocation."""
    known = stored_variables(source)
    names = known.name if known is not None else []
    lowered = lowered_names(source) if (rows.variable < 0).any() else []
    pairs = zip(rows.variable.tolist(), rows.name.tolist(), strict=True)
    return [names[v] if v >= 0 else (lowered[n] if 0 <= n < len(lowered) else "(unnamed)") for v, n in pairs]
