"""docs/libraries.md names every public function of the libraries, and tests that exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from simulator.poplibs import gcl, poplin, popnn, popops, poprand, poputil
from tests.poplibs.test_every_operator import REFERENCE

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "libraries.md").read_text()
#: names in the table, which refers to another test for the operators
NAMED = {*re.findall(r"`([\w.]+)`", TEXT), *REFERENCE}
PLACES = {"P/": "tests/poplibs/", "R/": "tests/runtime/address_accurate/test_address_accurate_"}
LIBRARIES = (popops, poplin, popnn, poprand, poputil, gcl)
ROOMS = (popnn.bn, popnn.gn, popnn.ln, popnn.in_, popnn.lstm, popnn.gru, popnn.rnn, popnn.pooling)
#: functions of the simulator itself, or forms of what the table names
OWN = {"addCodelets", "reference"}


def public(module: ModuleType, own_only: bool) -> set[str]:
    """Names in Poplar's spelling; of a room only those that it defines."""
    found = set()
    for name, function in vars(module).items():
        spelled = re.fullmatch(r"[a-z][a-zA-Z0-9]*", name) and inspect.isfunction(function)
        here = function.__module__.startswith("simulator.poplibs") if spelled else False
        if here and (not own_only or function.__module__ == module.__name__) and name not in OWN:
            found.add(name)
    return found


@pytest.mark.parametrize("module", LIBRARIES, ids=lambda m: m.__name__)
def test_every_function_is_in_the_table(module: ModuleType) -> None:
    missing = {n for n in public(module, False) if not {n, n.removesuffix("InPlace")} & NAMED}
    assert not missing


@pytest.mark.parametrize("room", ROOMS, ids=lambda m: m.__name__)
def test_every_function_of_a_room_is_in_the_table(room: ModuleType) -> None:
    short = room.__name__.rpartition(".")[2]
    forms = {"ln": "ln.layerNorm", "in_": "in_.instanceNorm"}
    for name in public(room, True):
        form = forms.get(short, "").partition(".")[2]
        stated = name.removeprefix(form) in NAMED and f"{short}.{form}" in NAMED if form else f"{short}.{name}" in NAMED
        assert stated, name


def test_tests_that_the_table_names_exist() -> None:
    references = re.findall(r"\b([PR]/)([\w/]+\.py)(?:::(\w+))?", TEXT)
    assert len(references) > 40
    for place, file, test in references:
        path = ROOT / (PLACES[place] + file)
        assert path.is_file(), path
        assert not test or f"def {test}(" in path.read_text(), (file, test)
