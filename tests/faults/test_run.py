"""A run plants faults into a copy of a tiny project: one that its test sees, one that none sees, one whose line is
gone, and one that only a test of another room sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import summary, table
from tests.faults.copies import Copy
from tests.faults.fault_list import Fault, write
from tests.faults.table import Row
from tests.faults.trial import Trial

SOURCE = """def double(size):
    twice = size * 2
    return twice


def half(size):
    limit = size > 10
    return size // 2
"""
FILE = "popvision/query/rows.py"
FAULTS = [
    Fault(1, "popvision/query", FILE, 3, "off by one", "    return twice", "    return twice + 1"),
    Fault(2, "popvision/query", FILE, 7, "swapped operands", "    limit = size > 10", "    limit = 10 > size"),
    Fault(3, "popvision/query", FILE, 4, "dropped term", "    return 2 * size", "    return 2"),
    Fault(4, "popvision/query", FILE, 8, "wrong unit", "    return size // 2", "    return size"),
]
#: Plugins that other projects install start in half of a second, and these tests use none.
PYTEST = """[tool.pytest.ini_options]
addopts = "-p no:dash -p no:hypothesispytest -p no:benchmark -p no:xdist"
markers = ["full: hours"]
"""
IMPORT = "from popvision.query.rows import"
FILES = {
    "popvision/__init__.py": "",
    "popvision/query/__init__.py": "",
    FILE: SOURCE,
    "tests/query/test_rows.py": f"{IMPORT} double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "tests/pva/test_half.py": f"{IMPORT} half\n\n\ndef test_half():\n    assert half(4) == 2\n",
    "tests/pva/test_red.py": "def test_red():\n    assert False\n",
    "pyproject.toml": PYTEST,
}


class Tried:
    """The table of FAULTS, first up to the tests of their room, then up to all tests."""

    def __init__(self, folder: Path) -> None:
        root = folder / "project"
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
            subprocess.run([*git, *words], cwd=root, check=True)
        self.copy = Copy(root, "HEAD", folder / "copy")
        self.copy.add_environment(".venv", Path(sys.executable))
        self.file = folder / "seed_1_now.csv"
        self.said: list[str] = []
        interrupted = Row(1, table.FOUND, "make test", "tests/pva/test_red.py::test_red", "fails", "likeliest")
        table.write([interrupted], self.file)
        self.in_room = self.rows_after("room", [])
        self.elsewhere = self.rows_after("elsewhere", [])

    def rows_after(self, last: str, known: list[Row]) -> dict[int, Row]:
        """The rows as the file has them."""
        trial = Trial(FAULTS, self.copy, self.file, {".venv"}, known)
        trial.run(last, 3600, self.said.append)
        return {row.number: row for row in table.read(self.file)}


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    return Tried(tmp_path_factory.mktemp("faults"))


def test_a_fault_is_found_by_the_test_of_its_room_that_fails(tried: Tried) -> None:
    row = tried.in_room[1]
    assert (row.result, row.command, row.how) == (table.FOUND, "make test", "fails")
    assert row.test == "tests/query/test_rows.py::test_double"
    assert (row.seconds > 0, row.proved) == (True, "yes")


def test_a_test_that_fails_without_the_fault_finds_nothing(tried: Tried) -> None:
    assert "tests/pva/test_red.py::test_red fails without fault 1, too" in tried.said
    assert tried.elsewhere[2].result == table.SURVIVES


def test_a_fault_that_no_test_sees_survives(tried: Tried) -> None:
    assert (tried.in_room[2].result, tried.in_room[2].met) == (table.SURVIVES, "room")
    assert (tried.elsewhere[2].result, tried.elsewhere[2].met) == (table.SURVIVES, "elsewhere")


def test_a_fault_whose_line_is_gone_says_so(tried: Tried) -> None:
    assert tried.in_room[3].result == table.GONE


def test_a_run_goes_on_after_the_rows_of_an_earlier_one(tried: Tried) -> None:
    assert tried.in_room[4].result == table.SURVIVES
    assert tried.elsewhere[4].test == "tests/pva/test_half.py::test_half"
    assert tried.elsewhere[1] == tried.in_room[1]


def test_the_copy_is_as_the_commit_after_a_run(tried: Tried) -> None:
    assert tried.copy.source(FILE) == SOURCE


def test_environments_that_import_another_tree_are_refused(tried: Tried) -> None:
    (path,) = tried.copy.path.glob(".venv/lib/python*/site-packages/copy.pth")
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join(text.splitlines()[1:]), encoding="utf-8")
    try:
        with pytest.raises(RuntimeError, match=r"\.venv imports .*; .* is expected"):
            tried.copy.add_environment(".venv", Path(sys.executable))
    finally:
        path.write_text(text, encoding="utf-8")


def test_tables_stand_side_by_side_with_what_was_not_run(tmp_path: Path) -> None:
    with (tmp_path / "seed_1.csv").open("w", encoding="utf-8") as file:
        write(FAULTS, file)
    found = Row(1, table.FOUND, "make test", "tests/test_a.py::test_a", "fails", "room", 60.0, "abc", "yes")
    unproved = found._replace(number=3, proved="")
    survivor = Row(2, met="all", seconds=60.0, commit="abc")
    table.write([found, survivor, unproved, found._replace(number=4)], tmp_path / "seed_1_before.csv")
    lost = Row(1, met="room", commit="def")
    table.write([lost, survivor, found._replace(number=4)], tmp_path / "seed_1_now.csv")
    assert summary.shown(tmp_path).splitlines() == [
        "| planted faults | seed 1 before (abc) | seed 1 now (abc, def) |",
        "|---|--:|--:|",
        "| found by `make test` | 2 | 1 |",
        "| survive every test of CI | 1 | 1 |",
        "| undecided: survive their room's tests; others not run | 0 | 1 |",
        "| not tried | 1 | 1 |",
        "| minutes of processor time | 3 | 2 |",
        "",
        "- seed 1 before (abc), survivors: 2 `popvision/query/rows.py:7` (swapped operands).",
        "- seed 1 now (abc, def), survivors: 2 `popvision/query/rows.py:7` (swapped operands).",
        "- Of 2 found before and tried now, not found: 1.",
    ]


def test_the_guide_shows_the_tables() -> None:
    root = Path(__file__).resolve().parents[2]
    guide = (root / "docs/contributing.md").read_text(encoding="utf-8")
    assert summary.shown(root / "tests/faults") in guide, "python -m tests.faults show prints other tables"
