"""Numbers of addresses: what strangers write there is a number between its bounds, or refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.base.query import (
    MOST,
    number_of,
    numbers_of,
    optional_number_of,
    range_of,
    whole_number,
    whole_numbers,
    whole_range,
)

#: All of them are numbers to somebody: Python's int and float, JavaScript's Number, a spreadsheet.
HOSTILE = [
    "",
    " ",
    " 7",
    "7 ",
    "+7",
    "-7",
    "-0",
    "7.0",
    "7.",
    ".7",
    "7e2",
    "1e999",
    "9" * 5000,
    "nan",
    "NaN",
    "inf",
    "Infinity",
    "1_000",
    "0x7",
    "0b1",
    "١٢",
    "７",
    "²",
    "Ⅶ",
    "7\n",
    "7\x00",
    "1,5",
    "seven",
    "'; drop table steps",
    "9007199254740993",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_number(text: str) -> None:
    assert whole_number(text) is None
    assert whole_range(f"{text}-5") is None
    assert whole_range(f"0-{text}") is None
    assert whole_numbers(f"3,{text.replace(',', ';')},4") == (3, 4)


@given(st.integers(0, MOST), st.integers(0, MOST), st.integers(0, MOST))
def test_bounds_belong_to_what_is_allowed(number: int, one: int, other: int) -> None:
    least, most = sorted((one, other))
    assert whole_number(str(number), least, most) == (number if least <= number <= most else None)


@given(st.text(max_size=30))
def test_no_text_raises(text: str) -> None:
    found = whole_number(text)
    assert found is None or str(found) == (text.lstrip("0") or "0")
    whole_range(text)
    whole_numbers(text)


def test_lists_and_ranges() -> None:
    assert whole_range("12-40") == (12, 40)
    assert whole_range("7-7") == (7, 7)
    assert whole_range("12-40", 39) is None
    assert [whole_range(text) for text in ("40-12", "a-b", "", "1-2-3", "-1-5", "5")] == [None] * 6
    assert whole_numbers("3,3,x,7,-1") == (3, 7)
    assert whole_numbers("5,4,3,2", 2) == (5, 4)
    assert whole_numbers("") == ()


def test_numbers_of_a_query() -> None:
    assert number_of({"tile": "7"}, "tile") == 7
    assert number_of({}, "tile", default=-1) == -1
    assert number_of({"tile": ""}, "tile", default=3) == 3
    assert optional_number_of({"tile": "0"}, "tile") == 0
    assert optional_number_of({}, "tile") is None
    assert numbers_of({"hide": "4,0,4"}, "hide", 5) == [4, 0, 4]
    assert numbers_of({}, "hide", 5) == []
    assert range_of({"tiles": "3-5"}, "tiles") == range(3, 6)


@pytest.mark.parametrize("text", [each for each in HOSTILE if each])
def test_a_query_is_refused_in_one_short_sentence(text: str) -> None:
    query = {"n": text}
    questions: list[Callable[[], object]] = [
        lambda: number_of(query, "n"),
        lambda: number_of(query, "n", default=3),
        lambda: optional_number_of(query, "n"),
        lambda: numbers_of(query, "n", 5),
        lambda: range_of(query, "n"),
    ]
    for question in questions:
        with pytest.raises(
            ValueError, match=r"^n=['\"].* is not a (whole number from|list of whole|range of whole)"
        ) as told:
            question()
        assert len(str(told.value)) < 250
        assert "\n" not in str(told.value)


def test_the_sentence_names_the_bounds() -> None:
    with pytest.raises(ValueError, match=r"^rows='9' is not a whole number from 1 to 8$"):
        number_of({"rows": "9"}, "rows", 1, 8)
    with pytest.raises(ValueError, match=r"^rows='' is not a whole number from 1 to 8$"):
        number_of({}, "rows", 1, 8)
