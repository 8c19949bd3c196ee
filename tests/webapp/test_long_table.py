"""Sorting and filtering of long tables against a loop over dicts."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.components.long_table import ordered
from webapp.components.table import MOST_ROWS, Column, data_table

rows_of = st.lists(
    st.fixed_dictionaries({"name": st.text("abAB<", max_size=3), "size": st.integers(-5, 5)}), min_size=1, max_size=30
)


def slow(rows: list[dict[str, Any]], text: str, least: int) -> list[dict[str, Any]]:
    found = [row for row in rows if text.lower() in row["name"].lower() and row["size"] >= least]
    return sorted(found, key=lambda row: -row["size"])


@given(rows_of, st.text("ab<", max_size=2), st.integers(-5, 5))
def test_filter_and_sort(rows: list[dict[str, Any]], text: str, least: int) -> None:
    wanted = {
        "filterModel": {
            "name": {"filterType": "text", "type": "contains", "filter": text},
            "size": {"filterType": "number", "type": "greaterThanOrEqual", "filter": least},
        },
        "sortModel": [{"colId": "size", "sort": "desc"}],
    }
    assert ordered(pd.DataFrame(rows), wanted).to_dict("records") == slow(rows, text, least)


def test_two_conditions_and_unknown_columns() -> None:
    frame = pd.DataFrame({"size": [1, 2, 3, 4]})
    both = {
        "filterType": "number",
        "operator": "OR",
        "conditions": [
            {"filterType": "number", "type": "lessThan", "filter": 2},
            {"filterType": "number", "type": "inRange", "filter": 3, "filterTo": 5},
        ],
    }
    wanted = {"filterModel": {"size": both, "nothing": both}, "sortModel": [{"colId": "nothing", "sort": "asc"}]}
    assert ordered(frame, wanted)["size"].tolist() == [1, 4]


def test_a_table_too_long_for_the_browser_is_refused() -> None:
    with pytest.raises(ValueError, match="long_table"):
        data_table("t", [{"a": 1}] * (MOST_ROWS + 1), [Column("a", "A")])
