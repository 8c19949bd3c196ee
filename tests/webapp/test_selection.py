"""The selection in the URL: what goes in comes out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.base.selection import Selection, format_tiles, parse_tiles

numbers = st.none() | st.integers(0, 2**63 - 1)
names = st.text(min_size=1, max_size=12).filter(
    lambda name: name not in ("tiles", "ipu", "program", "step", "liveness", "variable", "from", "to")
)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(
    st.builds(
        Selection,
        tiles=st.sets(st.integers(0, 190_000), max_size=30).map(lambda tiles: tuple(sorted(tiles))),
        ipu=numbers,
        program=numbers,
        step=numbers,
        liveness=numbers,
        variable=numbers,
        begin=numbers,
        end=numbers,
        extras=st.dictionaries(names.filter(str.isprintable), texts, max_size=4),
    )
)
def test_round_trip_through_the_query_string(selection: Selection) -> None:
    assert Selection.parse(selection.format()) == selection
    assert Selection.parse("?" + selection.format()) == selection
    assert Selection.parse(selection.as_params()) == selection


@given(st.text(max_size=60))
def test_no_query_string_raises(text: str) -> None:
    found = Selection.parse(text)
    again = Selection.parse(found.format())
    assert replace(again, problems=()) == replace(found, problems=())


def test_every_part_has_its_name() -> None:
    query = "tiles=0-3,7&ipu=1&program=12&step=40&liveness=5&variable=9&from=1000&to=2500&mem_by=region"
    found = Selection.parse(query)
    assert found == Selection((0, 1, 2, 3, 7), 1, 12, 40, 5, 9, 1000, 2500, {"mem_by": "region"})
    assert (
        found.format() == "tiles=0-3,7&ipu=1&program=12&step=40&liveness=5&variable=9&from=1000&to=2500&mem_by=region"
    )


def test_what_cannot_be_read_is_left_out_and_named() -> None:
    found = Selection.parse("tiles=0-x&ipu=-1&program=1.5&step=7")
    assert (found.tiles, found.ipu, found.program, found.step) == ((), None, None, 7)
    assert len(found.problems) == 3
    assert "'0-x'" in found.problems[0]
    assert "'-1'" in found.problems[1]


@given(st.sets(st.integers(0, 500), max_size=60))
def test_tiles_as_ranges(tiles: set[int]) -> None:
    assert parse_tiles(format_tiles(tuple(tiles))) == tuple(sorted(tiles))


def test_tiles_by_hand() -> None:
    assert parse_tiles(" 5, 1-3 ,2") == (1, 2, 3, 5)
    assert format_tiles((1, 2, 3, 5)) == "1-3,5"


@pytest.mark.parametrize("text", ["3-1", "0-99999999999", "a", "1-", "-1", "1--2", "\u0661"])
def test_bad_tiles_name_the_part(text: str) -> None:
    with pytest.raises(ValueError, match="tiles: "):
        parse_tiles(text)
