"""Binary answers: the layout that assets/shared/packed.js reads, read here a second way."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.base.packed import pack, packed_response

ARRAYS = st.lists(
    st.tuples(st.sampled_from(["u1", "<u4", "<i4", "<f8"]), st.lists(st.integers(0, 200), max_size=9)), max_size=4
)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    arrays = {}
    for name, kind, offset, count in header.pop("arrays"):
        assert offset % 8 == 0
        arrays[name] = np.frombuffer(data, "<" + kind, count, offset).tolist()
    return header, arrays


@given(ARRAYS, st.text(max_size=20))
def test_what_is_packed_comes_back(columns: list[tuple[str, list[int]]], note: str) -> None:
    arrays = {f"a{row}": np.array(values, kind) for row, (kind, values) in enumerate(columns)}
    header, found = unpack(pack({"note": note}, arrays))
    assert header == {"note": note}
    assert found == {f"a{row}": values for row, (_, values) in enumerate(columns)}


def test_times_keep_every_cycle() -> None:
    _, found = unpack(pack({}, {"begin": np.array([2**53 - 1], np.float64)}))
    assert int(found["begin"][0]) == 2**53 - 1


@pytest.mark.parametrize("wrong", [np.zeros(2, np.int64), np.zeros(2, np.float32), np.zeros((2, 2), np.uint8)])
def test_other_types_are_refused_by_name(wrong: Any) -> None:
    with pytest.raises(TypeError, match="array times has type"):
        pack({}, {"times": wrong})


def test_answers_are_not_kept_by_the_browser() -> None:
    answer = packed_response({}, {})
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.mimetype == "application/octet-stream"
