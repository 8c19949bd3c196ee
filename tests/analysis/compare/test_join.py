"""The outer join of two tables against a plain loop over dictionaries."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.compare.join import join, most_different_first, with_rule
from popvision.analysis.compare.matching import HOW, Matching, pairs_of
from popvision.analysis.report.figure import Figure, Table

#: (id, -1 = none; name; bytes).
Rows = list[tuple[int, str, int]]

ROWS = st.lists(
    st.tuples(st.integers(-1, 5), st.sampled_from("abc"), st.integers(0, 99)),
    max_size=8,
    unique_by=lambda row: row[0] if row[0] >= 0 else object(),
)


def table(rows: Rows) -> Table:
    ids, names, sizes = ([row[column] for row in rows] for column in range(3))
    figures = [Figure("variable", "id", np.array(ids, np.int64)), Figure("name", "text", names)]
    return Table("variables", [*figures, Figure("size_bytes", "bytes", np.array(sizes, np.int64))])


def plain(values: Any) -> list[Any]:
    return [None if pd.isna(value) else value for value in pd.Series(values).tolist()]


def rows_of(joined: Table) -> list[tuple[Any, ...]]:
    return list(zip(*(plain(figure.values) for figure in joined), strict=True))


def keyed(rows: Rows, partner: dict[int, int] | None) -> dict[Any, tuple[int, str, int]]:
    """The rows by key: the source's id, or name and how often it stood before."""
    seen = Counter[str]()
    found: dict[Any, tuple[int, str, int]] = {}
    for row in rows:
        id, name, _ = row
        if id < 0:
            found[name, seen[name]] = row
            seen[name] += 1
        else:
            found[id if partner is None else partner.get(id, ("target", id))] = row
    return found


@given(ROWS, ROWS, st.permutations(range(6)), st.integers(0, 6))
def test_a_join_is_the_loop_over_both(source: Rows, target: Rows, order: list[int], pairs: int) -> None:
    """The first `pairs` ids of `order` of the target are partners of ids 0, 1 ... of the source."""
    partner = np.array([order[id] if id < pairs else -1 for id in range(6)])
    matching = pairs_of(partner, 6)
    back = {int(other): id for id, other in enumerate(partner) if other >= 0}
    mine, others = keyed(source, None), keyed(target, back)
    expected = []
    for key in [*mine, *(key for key in others if key not in mine)]:
        row, other = mine.get(key), others.get(key)
        id, theirs = (None if side is None else side[0] for side in (row, other))
        if id is None and theirs is not None:
            id = back.get(theirs)
        if theirs is None and row is not None and row[0] >= 0 and partner[row[0]] >= 0:
            theirs = int(partner[row[0]])
        reports = "both" if row and other else "source" if row else "target"
        sizes = (row[2] if row else 0, other[2] if other else 0)
        expected.append((id, theirs, (row or other or ("", ""))[1], *sizes, reports))
    joined = join(table(source), table(target), "variable", matching)
    assert rows_of(joined) == expected
    assert [figure.side for figure in joined] == ["", "", "", "source", "target", ""]
    assert [figure.id for figure in joined][1] == "target_variable"


def test_what_a_report_did_not_record_is_missing() -> None:
    nothing = Table("variables", [Figure("variable", "id", ()), Figure("name", "text", ())])
    joined = join(table([(0, "a", 7)]), nothing, "name")
    assert rows_of(joined) == [(0, "a", 7, None, "source")]
    assert rows_of(join(table([(0, "a", 7)]), table([]), "name")) == [(0, "a", 7, 0, "source")]
    assert rows_of(join(table([(0, "a", 7)]), table([]), "name", recorded=(True, False))) == [
        (0, "a", 7, None, "source")
    ]


def test_a_place_that_one_machine_lacks_has_no_figures() -> None:
    sides = [
        Table("tiles", [Figure("tile", "id", tiles), Figure("gaps_bytes", "bytes", [8 * tile for tile in tiles])])
        for tiles in ([1, 0], [0, 1, 2])
    ]
    assert rows_of(join(sides[0], sides[1], "tile")) == [
        (1, 8, 8, "both"),
        (0, 0, 0, "both"),
        (2, None, 16, "target"),
    ]


def test_the_rule_of_a_row_and_the_order_by_differences() -> None:
    matching = Matching(np.array([0, 1]), np.array([1, 0]), np.array([0, 2], np.uint8), np.array([2]), np.array([2]))
    joined = join(
        table([(0, "a", 5), (1, "b", 6), (2, "c", 90)]),
        table([(0, "b", 8), (1, "a", 5), (2, "d", 1)]),
        "variable",
        matching,
    )
    ruled = most_different_first(with_rule(joined, "variable", matching), "size_bytes")
    assert list(zip(ruled["name"], ruled["matched"], ruled["in_report"], strict=True)) == [
        ("c", "", "source"),
        ("b", HOW[2], "both"),
        ("d", "", "target"),
        ("a", HOW[0], "both"),
    ]
