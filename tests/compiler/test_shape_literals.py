"""No figure of a published program is written into the compiler or the libraries: rules, not fits."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from syntax_trees import syntax_tree

import simulator

ROOM = Path(simulator.__file__).parent
FILES = [path for room in ("compiler", "poplibs") for path in sorted((ROOM / room).rglob("*.py"))]
#: sizes of the published chain and their products, its plans, step lengths, tile counts and totals, the adder's
SHAPES = {
    800, 500, 400, 200, 504, 1216, 1472, 1280, 1400, 1350, 1399, 34655, 15248, 3471, 7906, 2392, 1123, 590, 314, 506,
    876, 609, 16877, 77137, 73841, 9000, 7500, 300, 600, 900, 30562, 1219, 1223, 92, 116,
}  # fmt: skip
#: splits of the published plans; as a whole they would be a hint, alone they are small numbers like any
PLANS = ({4, 7, 50}, {3, 9, 50})


def literals(path: Path) -> list[tuple[int, int]]:
    """(number, line) of every integer in the code; docstrings and comments are no numbers."""
    return [
        (node.value, node.lineno)
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ]


def test_no_shape_of_a_published_program(subtests: pytest.Subtests) -> None:
    for path in FILES:
        with subtests.test(str(path.relative_to(ROOM))):
            found = literals(path)
            assert not [(number, line) for number, line in found if number in SHAPES], "figures of which rule?"
            assert not [plan for plan in PLANS if plan <= {number for number, _ in found}]


def test_the_scan_finds_what_is_planted(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text('"""800 in words."""\nif rows == 800:  # 500\n    split = (4, 7, 50)\n')
    assert literals(planted) == [(800, 2), (4, 3), (7, 3), (50, 3)]
    assert len(FILES) > 60
