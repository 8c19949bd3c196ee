"""Which saves change a program, and where its lines go."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.watch.saved_source import moved_lines, same_lines, syntax_problem

TEXT = "import os\n\ndef f(x):\n    return x + 1\n\nprint(f(2))\n"


@pytest.mark.parametrize(
    ("new", "moved"),
    [
        ("# head\n" + TEXT, {1: 2, 3: 4, 4: 5, 6: 7}),
        (TEXT.replace("x + 1", "x  +  1  # one more"), {1: 1, 3: 3, 4: 4, 6: 6}),
        (TEXT.replace("\n\n", "\n"), {1: 1, 3: 2, 4: 3, 6: 4}),
    ],
)
def test_comments_and_blank_lines_move_lines(new: str, moved: dict[int, int]) -> None:
    assert moved_lines(TEXT, new) == moved


@pytest.mark.parametrize(
    "new",
    [
        TEXT.replace("x + 1", "x + 2"),
        TEXT.replace("print(f(2))", "print(\n    f(2))"),  # the cost of one line would be that of two
        TEXT.replace("print(f(2))", "print(f(2)"),
        TEXT + "print(__doc__)\n",
        '"""Text that the program can read."""\n' + TEXT,
    ],
)
def test_what_may_change_a_figure_runs_again(new: str) -> None:
    assert moved_lines(TEXT, new) is None


@given(st.lists(st.sampled_from(["", "# a", "    # b", "x = 1", "y = [x, 2]", "def f():\n    return 3"]), max_size=12))
def test_moved_lines_are_those_of_equal_statements(lines: list[str]) -> None:
    old = "\n".join(line for line in lines if line and "#" not in line)
    moved = moved_lines(old, "\n".join(lines))
    assert moved is not None
    was, now = old.split("\n"), "\n".join(lines).split("\n")
    for before, after in moved.items():
        assert was[before - 1] == now[after - 1]
    assert len(moved) >= len({node.lineno for node in ast.walk(ast.parse(old)) if hasattr(node, "lineno")})


def test_an_edited_block_of_the_same_length_keeps_its_lines() -> None:
    assert same_lines(["a", "b", "c"], ["a", "B", "c"]) == {1: 1, 2: 2, 3: 3}
    assert same_lines(["a", "b", "c"], ["a", "B", "B2", "c"]) == {1: 1, 3: 4}
    assert same_lines(["a", "b"], ["a"]) == {1: 1}


def test_a_syntax_error_has_its_line() -> None:
    assert syntax_problem("f.py", TEXT) is None
    problem = syntax_problem("f.py", TEXT + "if True:\n")
    assert problem is not None
    assert problem.line == 7
    assert problem.sentence.startswith("IndentationError: ")
    assert syntax_problem("f.py", "x = '\0'") is not None
    assert syntax_problem("f.py", "(" * 5000) is not None
