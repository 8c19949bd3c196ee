"""Figures: the columns of every table that analysis answers with.

A figure carries its id and its unit, so that nobody reads a heading to know either. Headings, help and names in exports
stand under the id in `figure_titles`.

    Table("vertices_on_tiles", [
        Figure("name", "text", ["MatMul", "Add"]),
        Figure("state_bytes", "bytes", [640, 32], place="tile 5"),
    ])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from popvision.arrays import AnyArray, BoolArray, Int64Array
from popvision.formats.profile import model

if TYPE_CHECKING:
    import pandas as pd

#: "id" numbers something (a tile, a program, a liveness index), "count" counts, "flag" is true or false; "mean_..."
#: may be a fraction; "cycle" is a moment on the axis of the steps, "host_us" a moment on the host's clock; "share" is a
#: part of a whole, 0 to 1, "percent" the same times 100; "ratio" is one figure divided by another; "bytes_change" is a
#: difference with its sign.
Unit: TypeAlias = Literal[
    "text",
    "id",
    "flag",
    "count",
    "mean_count",
    "bytes",
    "bytes_change",
    "cycles",
    "cycle",
    "mean_cycles",
    "thread_cycles",
    "flops",
    "share",
    "percent",
    "ratio",
    "bytes_per_cycle",
    "microseconds",
    "host_us",
]

#: The least certain source of the values of modelled cycles; "" for figures that no model makes, or where the report is
#: silent.
Provenance: TypeAlias = model.Provenance | Literal[""]
#: What each class means, from the most certain to the least.
PROVENANCE_MEANS = model.PROVENANCE_MEANS

#: A table of two reports has a figure twice; one with several places has the change of later places to the first.
Side: TypeAlias = Literal["", "source", "target", "change"]

Values: TypeAlias = "Sequence[Any] | AnyArray | pd.api.extensions.ExtensionArray | pd.Series[Any]"


@dataclass(frozen=True)
class Figure:
    """One column of a table: a value per row, missing ones as NA or NaN.

    `place` is what the values are about where a table has several columns of one figure: "tile 5", "IPU 1", a liveness
    index."""

    id: str
    unit: Unit
    values: Values
    place: str = ""
    side: Side = ""
    provenance: Provenance = ""


@dataclass(frozen=True)
class Table:
    """Figures of equal length, in the order of an export. `id` names the table in `figure_titles.TITLES`.

    Raises ValueError for figures that differ in length."""

    id: str
    figures: Sequence[Figure]

    def __post_init__(self) -> None:
        lengths = {len(figure.values) for figure in self.figures}
        if len(lengths) > 1:
            raise ValueError(f"table {self.id} has figures of {' and '.join(map(str, sorted(lengths)))} rows")

    def __len__(self) -> int:
        return len(self.figures[0].values) if self.figures else 0

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures)

    def __contains__(self, id: object) -> bool:
        return any(figure.id == id for figure in self.figures)

    def column(self, id: str, place: str | None = None, side: Side = "") -> Figure:
        """The first figure of this id and side, at `place` if it is given. Raises KeyError where there is none."""
        for figure in self.figures:
            if (figure.id, figure.side) == (id, side) and place in (None, figure.place):
                return figure
        raise KeyError(f"table {self.id} has no figure {id!r}" + ("" if place is None else f" at {place!r}"))

    def __getitem__(self, id: str) -> Any:
        """Values of a figure that the table has once."""
        return self.column(id).values

    def select(self, ids: Sequence[str]) -> Table:
        """The figures of these ids, in this order. Raises KeyError for an id that the table lacks."""
        return Table(self.id, [self.column(id) for id in ids])

    def at_places(self, names: dict[str, str]) -> Table:
        """The same figures with their places renamed."""
        return Table(self.id, [replace(each, place=names.get(each.place, each.place)) for each in self.figures])

    def placed_ids(self) -> list[str]:
        """Ids of the figures that have places, in order."""
        return list(dict.fromkeys(figure.id for figure in self.figures if figure.place))

    def take(self, rows: slice | BoolArray | Int64Array) -> Table:
        """Some of the rows: a slice, those where a mask is true, or those of these numbers, in their order."""
        return Table(self.id, [replace(each, values=_rows(each.values, rows)) for each in self.figures])


def plain_values(values: Values) -> list[Any]:
    """The values as Python's own; what is missing (NA, NaN), and infinity, is None."""
    known: Any = values
    if hasattr(known, "isna"):  # an array of pandas
        pairs = zip(known.tolist(), known.isna(), strict=True)
        objects = [None if is_missing else value for value, is_missing in pairs]
    else:
        objects = known.tolist() if hasattr(known, "tolist") else list(known)
    return [None if isinstance(value, float) and not math.isfinite(value) else _plain(value) for value in objects]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def least_certain(classes: Iterable[str]) -> Provenance:
    """The last class of model.PROVENANCE that occurs; "" for none of them."""
    classes = set(classes)
    return next((known for known in reversed(model.PROVENANCE) if known in classes), "")


def table_of(id: str, units: Mapping[str, Unit], values: Mapping[str, Values] | pd.DataFrame) -> Table:
    """The table whose figures and their order are those of `units`. Raises KeyError for a figure without values."""
    return Table(id, [Figure(figure, unit, values[figure]) for figure, unit in units.items()])


def headings(id: str, units: Mapping[str, Unit]) -> Table:
    """The table without rows: a page lays out its columns before it reads any row."""
    return Table(id, [Figure(figure, unit, ()) for figure, unit in units.items()])


def with_changes(table: Table) -> Table:
    """The table with the change of each later place to the first place of the same figure."""
    first: dict[str, Figure] = {}
    changes = []
    for figure in table:
        if not figure.place:
            continue
        if figure.id in first:
            change = _minus(figure.values, first[figure.id].values)
            changes.append(replace(figure, values=change, side="change"))
        else:
            first[figure.id] = figure
    return Table(table.id, [*table.figures, *changes])


def _rows(values: Any, rows: slice | BoolArray | Int64Array) -> Any:
    return values[rows] if isinstance(rows, slice) or hasattr(values, "dtype") else np.asarray(values)[rows]


def _minus(values: Any, before: Any) -> Any:
    return values - before if hasattr(values, "dtype") else np.asarray(values) - np.asarray(before)
