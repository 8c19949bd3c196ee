"""docs/poptorch.md is what its tables say, and its tables are what the package has."""

import enum
import re
from pathlib import Path

from simulator.frontends import poptorch
from simulator.frontends.capture.decompositions import DECOMPOSITIONS
from simulator.frontends.lowering.rules import TABLE
from simulator.frontends.poptorch.documents.document import OPERATORS, render
from simulator.frontends.poptorch.documents.name_table import NAMES
from simulator.frontends.poptorch.option_table import OPTIONS, Effect

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "poptorch.md").read_text()


def test_the_page_is_written_from_the_tables():
    assert PAGE.split(OPERATORS)[0] == render().split(OPERATORS)[0], (
        "python -m simulator.frontends.poptorch.documents.document > docs/poptorch.md"
    )


def test_operators_of_the_page_have_rules():
    listed = set(re.findall(r"`((?:aten|poptorch)\.[\w.]+)`", PAGE.split(OPERATORS)[1]))
    assert listed
    replaced = {str(one) for one in DECOMPOSITIONS}
    assert {name for name in listed if name not in TABLE} == replaced


def test_every_public_name_is_in_the_table():
    enumerations = {
        name
        for name in poptorch.__all__
        if isinstance(getattr(poptorch, name), type | enum.EnumMeta) and issubclass(getattr(poptorch, name), enum.Enum)
    }
    assert set(poptorch.__all__) - enumerations - set(NAMES) == set()


def test_methods_of_the_table_exist():
    for name in NAMES:
        owner, dot, method = name.partition(".")
        assert not dot or callable(getattr(getattr(poptorch, owner), method))


def test_what_works_has_a_test():
    folder = Path(__file__).parent
    for name, entry in {**OPTIONS, **NAMES}.items():
        if entry.effect is Effect.WORKS:
            file, _, function = entry.test.partition("::")
            assert f"def {function}(" in (folder / file).read_text(), name
        else:
            assert entry.test == ""
