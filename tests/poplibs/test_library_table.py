"""docs/libraries.md names every public function of the libraries, and tests that exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simulator.poplibs import gcl, poplin, popnn, popops, poprand, popsparse, poputil
from tests.poplibs.test_every_operator import REFERENCE

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "libraries.md").read_text()
#: names in the table, which refers to another test for the operators
NAMED = {*re.findall(r"`([\w.]+)`", TEXT), *REFERENCE}
PLACES = {"P/": "tests/poplibs/", "R/": "tests/runtime/address_accurate/test_address_accurate_"}
LIBRARIES = (popops, poplin, popnn, poprand, poputil, gcl, popsparse)
ROOMS = (popnn.bn, popnn.gn, popnn.ln, popnn.in_, popnn.lstm, popnn.gru, popnn.rnn, popnn.pooling, popsparse.static_)
#: functions of the simulator itself
OWN = {"addCodelets", "reference"}


def public(module: ModuleType, own_only: bool) -> set[str]:
    """Names in Poplar's spelling; of a room only those that it defines."""
    found = set()
    for name, function in vars(module).items():
        spelled = re.fullmatch(r"[a-z][a-zA-Z0-9]*", name) and inspect.isfunction(function)
        here = function.__module__.startswith("simulator.poplibs") if spelled else False
        own = here and function.__module__.startswith(module.__name__)
        if here and (own or not own_only) and name not in OWN:
            found.add(name)
    return found


@pytest.mark.parametrize("module", LIBRARIES, ids=lambda m: m.__name__)
def test_every_function_is_in_the_table(module: ModuleType) -> None:
    missing = {n for n in public(module, False) if not {n, n.removesuffix("InPlace")} & NAMED}
    assert not missing


@pytest.mark.parametrize("room", ROOMS, ids=lambda m: m.__name__)
def test_every_function_of_a_room_is_in_the_table(room: ModuleType) -> None:
    short = room.__name__.rpartition(".")[2]
    missing = {f"{short}.{name}" for name in public(room, True)} - NAMED
    assert not missing


def names(rows: str) -> list[str]:
    """Names in the first column of functions, or with their libraries in the second of what is missing."""
    return [
        name for row in re.findall(r"^\|([^|]*`[^|]*)\|", rows, re.MULTILINE) for name in re.findall(r"`([\w.]+)`", row)
    ]


def has(library: ModuleType, name: str) -> bool:
    found: Any = library
    for part in name.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def test_names_without_code_are_not_listed() -> None:
    listed = names(TEXT.partition("## Missing")[0])
    assert len(listed) > 200
    assert [name for name in listed if not any(has(library, name) for library in LIBRARIES)] == []


def test_what_is_listed_as_missing_is_not_there() -> None:
    rows = re.findall(r"^\| (\w+) \| (`.*) \|$", TEXT.partition("## Missing")[2], re.MULTILINE)
    libraries = {library.__name__.rpartition(".")[2]: library for library in LIBRARIES}
    lacking = [(libraries[library], name) for library, row in rows for name in re.findall(r"`([\w.]+)`", row)]
    assert len(lacking) > 5
    assert [name for library, name in lacking if has(library, name)] == []


def test_tests_that_the_table_names_exist() -> None:
    references = re.findall(r"\b([PR]/)([\w/]+\.py)(?:::(\w+))?", TEXT)
    assert len(references) > 40
    for place, file, test in references:
        path = ROOT / (PLACES[place] + file)
        assert path.is_file(), path
        assert not test or f"def {test}(" in path.read_text(), (file, test)
