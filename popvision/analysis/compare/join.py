"""The outer join of a table of two reports: a row per thing that either table has, with the figures of both.

The rows of the source come first, in their order, then those of the target alone. Ids and texts stand once, or for
either side ("program", "target_program"); what is measured comes as a figure of each side, and counts in full where the
other side lacks the row (`one_sided`). "in_report" says "both", "source" or "target". The cost is a sort of the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.compare.identity import Vocabulary
from popvision.analysis.compare.keyed import kth_with_kth
from popvision.analysis.compare.matching import HOW, Matching
from popvision.analysis.report.figure import Figure, Side, Table, plain_values
from popvision.analysis.report.one_sided import both_in_full, numbers_of
from popvision.arrays import Float64Array, Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.figure import Values

SIDES: tuple[Side, Side] = ("source", "target")

#: Keys that name a place, not a part of a sum: what is at a place that a machine does not have is missing, never 0.
_PLACES = ("tile", "liveness_index")


def join(
    source: Table,
    target: Table,
    key: str | Sequence[str],
    matching: Matching | None = None,
    compared: Collection[str] | None = None,
    recorded: tuple[bool, bool] = (True, True),
) -> Table:
    """Rows of either table, joined by the figures `key`: by equal values; with `matching`, by the rows that it matches,
    whose numbers the one figure `key` holds (-1, no number: by equal first texts). Of equal keys the k-th meets the
    k-th.

    `compared` are the figures of both sides, by default all but ids, texts and flags. `recorded`: whether either report
    recorded them; one whose table lacks a figure did not. With `matching` each id comes for both sides too, that of the
    key also where the other table lacks the row of a thing that its report has."""
    keys = (key,) if isinstance(key, str) else tuple(key)
    rows = _Rows.of(
        _numbered(source, target, keys) if matching is None else _matched(source, target, keys[0], matching)
    )
    figures: list[Figure] = []
    for mine, other in _figures(source, target):
        figure = mine or other
        assert figure is not None
        is_measured = figure.unit not in ("id", "text", "flag") if compared is None else figure.id in compared
        if is_measured:
            of_sides = recorded[0] and mine is not None, recorded[1] and other is not None
            figures += _measured(mine, other, rows, None if keys[0] in _PLACES else of_sides)
        elif figure.unit == "id" and matching is not None:
            figures += _ids(figure, mine, other, rows, matching if figure.id == keys[0] else None)
        else:
            figures.append(_once(figure, mine, other, rows))
    return Table(source.id, [*figures, Figure("in_report", "text", rows.reports())])


def with_rule(table: Table, key: str, matching: Matching) -> Table:
    """A joined table with "matched", the rule that matched its rows by `key`, "" for those of one report alone."""
    rules = np.full(len(matching.target_rows()) + 1, "", object)
    rules[matching.source] = np.array(HOW, object)[matching.how]
    ids = np.nan_to_num(numbers_of(table[key]), nan=-1).astype(np.int64)
    figure = Figure("matched", "text", rules[ids].tolist())
    return Table(table.id, [*table.figures[:-1], figure, table.figures[-1]])


def most_different_first(table: Table, id: str) -> Table:
    """The rows by the absolute difference of a figure, a side that is not known as 0; unknown rows last."""
    before, after = (numbers_of(table.column(id, side=side).values) for side in SIDES)
    difference = np.abs(np.nan_to_num(after) - np.nan_to_num(before))
    difference[np.isnan(before) & np.isnan(after)] = -1
    return table.take(np.argsort(-difference, kind="stable"))


@dataclass(frozen=True)
class _Rows:
    """For each row of the join that of either table, -1 where it has none."""

    source: Int64Array
    target: Int64Array

    @classmethod
    def of(cls, keys: tuple[Int64Array, Int64Array]) -> _Rows:
        mine, others = kth_with_kth(keys)
        partner = np.full(len(keys[0]), -1, np.int64)
        partner[mine] = others
        alone = np.setdiff1d(np.arange(len(keys[1])), others)
        return cls(np.append(np.arange(len(partner)), np.full(len(alone), -1)), np.append(partner, alone))

    def reports(self) -> list[str]:
        """in_report of each row."""
        reports: list[str] = np.where(self.source < 0, "target", np.where(self.target < 0, "source", "both")).tolist()
        return reports


def _numbered(source: Table, target: Table, keys: tuple[str, ...]) -> tuple[Int64Array, Int64Array]:
    words = Vocabulary()
    values = [list(zip(*(plain_values(table[name]) for name in keys), strict=True)) for table in (source, target)]
    return words.numbers(values[0]), words.numbers(values[1])


def _matched(source: Table, target: Table, key: str, matching: Matching) -> tuple[Int64Array, Int64Array]:
    words, partners = Vocabulary(), np.append(matching.source_rows(), -1)
    mine, others = (np.asarray(table[key], np.int64) for table in (source, target))
    count = len(matching.target_rows())
    numbers = mine.copy(), np.where(partners[others] >= 0, partners[others], count + others)
    for table, ids, number in zip((source, target), (mine, others), numbers, strict=True):
        texts = next(figure.values for figure in table if figure.unit == "text")
        nameless = np.flatnonzero(ids < 0)
        number[nameless] = count + len(partners) + words.numbers([texts[row] for row in nameless.tolist()])
    return numbers


def _figures(source: Table, target: Table) -> list[tuple[Figure | None, Figure | None]]:
    """The figures of both tables, by id and place."""
    of_source, of_target = ({(figure.id, figure.place): figure for figure in table} for table in (source, target))
    return [(of_source.get(place), of_target.get(place)) for place in dict.fromkeys([*of_source, *of_target])]


def _measured(
    mine: Figure | None, other: Figure | None, rows: _Rows, recorded: tuple[bool, bool] | None
) -> list[Figure]:
    """Both sides; in full unless `recorded` is None."""
    values = _numbers(mine, rows.source), _numbers(other, rows.target)
    figures = [known for known in (mine or other, other or mine) if known is not None]
    if recorded is not None:
        values = both_in_full(*values, (rows.source < 0, rows.target < 0), figures[0].unit, recorded)
    return [
        replace(figure, values=numbers, side=side) for figure, numbers, side in zip(figures, values, SIDES, strict=True)
    ]


def _ids(
    figure: Figure, mine: Figure | None, other: Figure | None, rows: _Rows, matching: Matching | None
) -> list[Figure]:
    ids = [_numbers(mine, rows.source), _numbers(other, rows.target)]
    if matching is not None:
        partners = matching.source_rows(), matching.target_rows()
        ids = [_or_partner(ids[side], ids[1 - side], partners[side]) for side in (0, 1)]
    return [
        replace(figure, values=_integers(ids[0])),
        replace(figure, id=f"target_{figure.id}", values=_integers(ids[1])),
    ]


def _or_partner(ids: Float64Array, others: Float64Array, partner: Int64Array) -> Float64Array:
    """The ids, and where a row has none the partner of that of the other side."""
    partners = np.append(partner, -1)[np.nan_to_num(others, nan=-1).astype(np.int64)]
    return np.where(np.isnan(ids) & (partners >= 0), partners, ids)


def _once(figure: Figure, mine: Figure | None, other: Figure | None, rows: _Rows) -> Figure:
    """The source's value where it has the row, else the target's."""
    if figure.unit == "id":
        ids = _numbers(mine, rows.source)
        return replace(figure, values=_integers(np.where(np.isnan(ids), _numbers(other, rows.target), ids)))
    texts = [np.array([*plain_values(known.values), ""] if known else [""], object) for known in (mine, other)]
    of_source, of_target = (
        text[np.where(row < len(text), row, -1)] for row, text in zip((rows.source, rows.target), texts, strict=True)
    )
    is_mine = (rows.source >= 0) & (mine is not None)
    return replace(figure, values=np.where(is_mine, of_source, of_target).tolist())


def _numbers(figure: Figure | None, rows: Int64Array) -> Float64Array:
    """The values at rows, NaN where a row is -1 or there is no figure."""
    values = np.empty(0) if figure is None else numbers_of(figure.values)
    return np.append(values, np.nan)[np.minimum(rows, len(values))]


def _integers(ids: Float64Array) -> Values:
    import pandas as pd

    is_missing = np.isnan(ids)
    numbers = np.where(is_missing, -1, ids).astype(np.int64)
    return pd.arrays.IntegerArray(numbers, is_missing) if is_missing.any() else numbers
