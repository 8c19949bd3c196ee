"""docs/pva.md and the code: every public name is listed with a test that exists, and nothing else is."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from popvision.pva.tile import CATEGORIES
from tests.pva.recompute import VALUES

HERE = Path(__file__).parent
DOCUMENT = Path(__file__).parents[2] / "docs" / "pva.md"
ROW = re.compile(r"\| `(\w+)` \| (.*) \| (.*) \| (.*) \| (documented|clients|predecessor|ours) \| (\S+) \|")


def listed() -> dict[str, dict[str, str]]:
    """Class (or "module") -> name -> test."""
    found: dict[str, dict[str, str]] = {}
    for section in re.split(r"^### ", DOCUMENT.read_text().split("## Names")[1], flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("| `")]
        rows = [ROW.fullmatch(line) for line in lines]
        assert all(rows), f"{title}: a row without its six columns"
        found[title] = {row[1]: row[6] for row in rows if row}
        assert len(found[title]) == len(lines), f"{title}: a name twice"
    return found


def public_names(cls: Any) -> set[str]:
    """Attributes of the class and those that its __init__ sets, without what every object of Python has."""
    if cls is pva.Categories:
        return set(CATEGORIES)
    names = {name for name in dir(cls) if not name.startswith("_")}
    for each in cls.__mro__[:-1]:
        if each.__module__.startswith("popvision") and "__init__" in vars(each):
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
            for node in ast.walk(tree):
                stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                if stored and isinstance(node.value, ast.Name):
                    names.add(node.attr)
    names |= set(getattr(cls, "__dataclass_fields__", {}))
    of_tuple = {"count", "index"} if issubclass(cls, tuple) else set()
    return {name for name in names if not name.startswith("_")} - of_tuple | ({"_id"} & set(dir(cls)))


CLASSES = [name for name in pva.pva_core.__all__ if isinstance(getattr(pva, name), type)]


@pytest.mark.parametrize("name", [name for name in CLASSES if not name.endswith("Error")])
def test_members_of_a_class(name: str) -> None:
    cls, names = getattr(pva, name), listed()[name]
    inherited = set().union(
        *(public_names(base) for base in cls.__mro__[1:-1] if base.__module__.startswith("popvision"))
    )
    if name.startswith("StreamCopy") or "codeBytesByTile" in names:
        inherited -= {"codeBytesByTile"}
    assert set(names) == public_names(cls) - inherited


def test_names_of_the_module() -> None:
    assert set(listed()) == {"module", *(name for name in CLASSES if not name.endswith("Error"))}
    functions = {name for name in pva.pva_core.__all__ if name not in CLASSES or name.endswith("Error")}
    assert set(listed()["module"]) == functions | {"pva_core"}


def test_tests_that_are_named_exist() -> None:
    for title, names in listed().items():
        for name, test in names.items():
            if match := re.fullmatch(r"test_values\.py\[(.*)\]", test):
                assert match[1] in VALUES, f"{title}.{name}: {test}"
            else:
                file, _, function = test.partition("::")
                assert f"def {function}(" in (HERE / file).read_text(), f"{title}.{name}: {test}"
    named = {test for names in listed().values() for test in names.values()}
    assert {f"test_values.py[{name}]" for name in VALUES} <= named
