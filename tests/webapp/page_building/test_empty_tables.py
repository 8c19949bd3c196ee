"""Every table of the viewer has a sentence of its own for the case that it has no rows."""

from __future__ import annotations

import ast
from pathlib import Path

from webapp.components.empty_tables import EMPTY_TABLES, empty_sentence
from webapp.graph_analyser.memory.tables import ROWS

WEBAPP = Path(__file__).parents[3] / "webapp"


def _names(call: ast.Call) -> list[str]:
    """What a call says of the name of its table: its text, "1" for each part that the program fills in."""
    if getattr(call.func, "id", "") == "long_table":
        given: list[ast.expr] = call.args[:1]
    else:
        given = [each.value for each in call.keywords if each.arg == "name"]
    names = []
    for each in given:
        if isinstance(each, ast.Constant):
            names.append(str(each.value))
        elif isinstance(each, ast.Subscript | ast.Name | ast.JoinedStr):
            names.append("")
    return names


def test_every_table_has_a_sentence_of_its_own() -> None:
    named: set[str] = set()
    for path in WEBAPP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("data_table", "long_table"):
                found = _names(node)
                assert found, f"{path}:{node.lineno} has a table without a name"
                named.update(name for name in found if name)
    named |= {*ROWS.values(), "steps-added-up", "steps-compared", "calls", "statistics", "step-tiles-last"}
    assert len(named) > 45
    assert sorted(named - set(EMPTY_TABLES)) == []


def test_numbers_in_a_name_do_not_matter() -> None:
    assert empty_sentence("step-17-tiles") == EMPTY_TABLES["step-tiles"]
    assert empty_sentence("step-17-tiles-source-target") == EMPTY_TABLES["step-tiles-source-target"]


def test_sentences_say_something() -> None:
    for name, sentence in EMPTY_TABLES.items():
        assert sentence.endswith("."), name
        assert len(sentence.split()) >= 4, name
