"""The check behind `make test` that tests leave the tree as it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.structure.clean_tree import run_cleanly


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".gitignore").write_text("*.pop_cache\n/report/\n", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("text", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("Path('engine_1').mkdir()", "engine_1 is new."),
        ("Path('unused').mkdir(); Path('unused/profile.pop').touch()", "unused is new."),
        ("Path('docs/page.md').write_text('other text')", "docs/page.md has changed."),
        ("Path('docs/page.md').unlink()", "docs/page.md is gone."),
    ],
)
def test_what_a_command_leaves_is_named(root: Path, capsys, statement: str, sentence: str) -> None:
    assert run_cleanly(root, [sys.executable, "-c", f"from pathlib import Path; {statement}"]) == 1
    assert capsys.readouterr().err.endswith(f": {sentence}\n")


def test_caches_and_ignored_names_do_not_count(root: Path, capsys) -> None:
    statement = "Path('.cache').mkdir(); Path('report').mkdir(); Path('docs/profile.pop_cache').touch()"
    assert run_cleanly(root, [sys.executable, "-c", f"from pathlib import Path; {statement}"]) == 0
    assert run_cleanly(root, [sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert capsys.readouterr().err == ""
