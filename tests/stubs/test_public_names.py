"""Every public name of seeds 002 and 003 is there, takes the arguments of its rows by Poplar's names, and is claimed by
a test that exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tests.stubs.public_names import Row, calls, is_a, owner_of, rows

ROOT = Path(__file__).parents[2]
ROWS = [row for row in rows() if not row.excluded]


def check(row: Row) -> None:
    owner, name = owner_of(row)
    found = inspect.getattr_static(owner, name, None) if inspect.isclass(owner) else getattr(owner, name, None)
    assert found is not None, row.signature
    function = getattr(owner, name)
    assert callable(function)
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return  # overloads by name: simulator.base.overloads, tested with each of them
    known = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
    room = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) - inspect.isclass(owner)
    many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    assert many or room + isinstance(found, staticmethod) >= sum(not a.by_name_only for a in row.arguments)
    positional_only = any(p.kind is p.POSITIONAL_ONLY and p.name != "self" for p in parameters)
    assert positional_only or {a.name for a in row.arguments} <= known, (row.signature, known)


def test_every_name_exists_and_takes_the_arguments(subtests: pytest.Subtests) -> None:
    for row in ROWS:
        with subtests.test(f"{row.python}-{row.key}"):
            check(row)


def test_rows_without_a_counterpart_say_why() -> None:
    for row in rows():
        assert row.excluded == "" or row.excluded == "private" or len(row.excluded) > 20, row
        assert bool(row.test) or bool(row.excluded), row.key


def test_claims_name_tests_that_exist() -> None:
    for row in ROWS:
        if row.test:
            file, name = row.test.split("::")
            source = (ROOT / file).read_text()
            assert re.search(rf"^def {name.split('[')[0]}\(", source, re.M), row.test


def test_calls_belong_to_rows_by_the_kinds_of_their_arguments() -> None:
    by_key = {row.key: row for row in ROWS}
    one_value, many_values = by_key["003:234"], by_key["003:206"]
    from simulator.poplar import FLOAT

    assert calls(one_value, (FLOAT, [2], 3.0), {})
    assert not calls(many_values, (FLOAT, [2], 3.0), {})
    assert calls(many_values, (FLOAT, [2], [1, 2]), {"debugContext": "c"})
    assert not calls(one_value, (FLOAT,), {})
    assert not calls(one_value, (FLOAT, [2], 3.0), {"other": 1})
    assert is_a("dict", None)
    assert len({row.key for row in rows()}) == len(rows())
