"""A draw gives the same faults each time, all of them programs; the committed list still finds its lines."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest

from tests.faults import fault_list, javascript_forms, python_forms
from tests.faults.changes import KINDS, changes
from tests.faults.draw import draw, room_of
from tests.faults.fault_list import Fault, planted

ROOT = Path(__file__).resolve().parents[2]
SEED_30 = ROOT / "tests/faults/seed_30.csv"
needs_acorn = pytest.mark.skipif(not javascript_forms.ACORN.exists(), reason="acorn comes with make check")

MODULE = '''"""Rows - of 8 * 1024 bytes."""

from __future__ import annotations

LIMIT: int | None = 8


@decorated(1 + 2)
def tail(rows: list[int], first: int) -> list[int]:
    assert first < 2
    if first < 0:
        raise ValueError(f"Row {first + 1} of {len(rows) - 1}")
    size = first * 1024
    return rows[1:] if size and first else rows
'''
SCRIPT = """// rows - of 8 * 1024 bytes
function tail(rows, first) {
  if (!rows) return;
  const size = first * 1024;
  console.log(`row ${first + 1}`, "a" + first);
  return size && first < 2 ? rows.slice(1) : rows;
}
"""


def lines_after(source: str, forms: list[python_forms.Form]) -> dict[str, set[str]]:
    """The changed lines by kind of fault."""
    found: dict[str, set[str]] = {}
    for change in (change for form in forms for change in changes(source, form)):
        begin = source.rindex("\n", 0, change.begin) + 1
        line = source[begin : change.begin] + change.text + source[change.end : source.index("\n", change.end)]
        found.setdefault(change.kind, set()).add(line.strip())
    return found


def test_faults_of_a_module_are_changes_of_what_it_does() -> None:
    assert lines_after(MODULE, list(python_forms.forms(MODULE))) == {
        "off by one": {"if first <= 0:", "return rows[2:] if size and first else rows"},
        "dropped term": {
            "size = first",
            "size = 1024",
            "return rows[1:] if size else rows",
            "return rows[1:] if first else rows",
        },
        "swapped operands": {"if 0 < first:", "return rows if size and first else rows[1:]"},
        "unchecked error": {"if False:"},
        "wrong unit": {"size = first * 1000", "size = first"},
    }


@needs_acorn
def test_faults_of_a_script_are_changes_of_what_it_does() -> None:
    (tree,) = javascript_forms.trees([SCRIPT])
    assert tree is not None
    assert lines_after(SCRIPT, list(javascript_forms.forms(SCRIPT, tree))) == {
        "off by one": {
            "return size && first <= 2 ? rows.slice(1) : rows;",
            "return size && first < 2 ? rows.slice(2) : rows;",
        },
        "dropped term": {
            "const size = first;",
            "const size = 1024;",
            "return size ? rows.slice(1) : rows;",
            "return (first < 2) ? rows.slice(1) : rows;",
        },
        "swapped operands": {
            "return size && 2 < first ? rows.slice(1) : rows;",
            "return size && first < 2 ? rows : rows.slice(1);",
        },
        "unchecked error": {"if (false) return;"},
        "wrong unit": {"const size = first * 1000;", "const size = first;"},
    }


@needs_acorn
def test_a_draw_is_the_same_each_time_and_spread_over_rooms_and_kinds() -> None:
    places = [f"{package}/{room}/rows.py" for package in ("simulator", "popvision") for room in ("one", "two")]
    files = dict.fromkeys(places, MODULE) | {"webapp/assets/one/rows.js": SCRIPT}
    faults = draw(files, 30, 12)
    assert faults == draw(dict(reversed(files.items())), 30, 12)
    assert faults != draw(files, 31, 12)
    in_room = Counter(fault.room for fault in faults)
    assert in_room["webapp/assets/one"] == 3
    assert sorted(in_room[room_of(path)] for path in places) == [2, 2, 2, 3]
    assert {fault.kind for fault in faults} == set(KINDS)
    assert len({(fault.file, fault.line) for fault in faults}) == 12


def test_a_fault_is_found_again_in_the_nearest_line_of_its_text() -> None:
    fault = Fault(1, "webapp", "webapp/rows.py", 6, "off by one", "    row = 1", "    row = 2")
    source = "    row = 1\n\n\n    row = 1\n\n\n\n\n    row = 1\n"
    assert planted(fault, source) == "    row = 1\n\n\n    row = 2\n\n\n\n\n    row = 1\n"
    assert planted(fault, "row = 1\n") == "row = 2\n"
    assert planted(fault, "    row = 1 # changed\n") is None


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    faults = [Fault(1, "webapp", "webapp/rows.py", 6, "off by one", ' say("1,2")', ' say("1,3")')]
    text = io.StringIO()
    fault_list.write(faults, text)
    (tmp_path / "list.csv").write_text(text.getvalue(), encoding="utf-8")
    assert fault_list.read(tmp_path / "list.csv") == faults


def test_the_committed_list_is_of_all_kinds_and_both_languages_and_still_compiles() -> None:
    faults = fault_list.read(SEED_30)
    assert [fault.number for fault in faults] == list(range(1, 61))
    assert Counter(fault.kind for fault in faults).keys() == set(KINDS)
    assert sum(fault.file.endswith(".js") for fault in faults) == 15
    for fault in faults:
        path = ROOT / fault.file
        source = planted(fault, path.read_text(encoding="utf-8")) if path.suffix == ".py" and path.exists() else None
        assert source is None or compile(source, fault.file, "exec", dont_inherit=True), fault
