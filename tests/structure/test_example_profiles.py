"""How many examples Hypothesis draws has one home, and a long run says how to repeat it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.example_profiles import COSTLY_PART, PROFILE

ROOT = Path(__file__).resolve().parents[2]

_TESTS = """
import collections
from hypothesis import given, strategies as st
from tests.example_profiles import costly

seen = collections.defaultdict(list)

@given(st.integers())
def test_plain(number):
    seen["plain"].append(number)

@costly()
@given(st.integers())
def test_costly(number):
    seen["costly"].append(number)

def test_counts():
    print("COUNTS", len(seen["plain"]), len(seen["costly"]), hash(tuple(seen["plain"])))
"""


def _run(folder: Path, profile: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_drawn.py").write_text(_TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    plugins = ["-p", "_hypothesis_pytestplugin", "-p", "tests.example_profiles", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if name != PROFILE}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    if profile is not None:
        environment[PROFILE] = profile
    command = [sys.executable, "-m", "pytest", "-q", "-s", *plugins, "--rootdir", str(folder), str(folder)]
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _counts(run: subprocess.CompletedProcess[str]) -> list[int]:
    found = re.search(r"COUNTS (\d+) (\d+) (-?\d+)", run.stdout)
    assert found is not None, run.stdout + run.stderr
    return [int(number) for number in found.groups()]


def test_a_commit_draws_the_same_examples_each_time(tmp_path: Path) -> None:
    first, again = (_counts(_run(tmp_path, None)) for _ in range(2))
    assert (first, first[:2]) == (again, [25, 25 // COSTLY_PART])


def test_a_long_run_prints_the_seed_that_repeats_it(tmp_path: Path) -> None:
    run = _run(tmp_path, "long")
    first = _counts(run)
    assert first[:2] == [500, 500 // COSTLY_PART]
    found = re.search(r"Hypothesis profile long; the same again: (--hypothesis-seed=\d+)", run.stdout)
    assert found is not None, run.stdout
    assert _counts(_run(tmp_path, "long", found[1])) == first


def test_an_unknown_profile_is_refused_in_one_sentence(tmp_path: Path) -> None:
    run = _run(tmp_path, "quick")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "HYPOTHESIS_PROFILE is 'quick': give one of commit, long." in run.stderr


def test_no_test_sets_its_own_number_of_examples() -> None:
    """Settings of Hypothesis are those of tests/example_profiles.py everywhere."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path.name == "example_profiles.py" or "hypothesis" not in (text := path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "hypothesis":
                found += [str(path.relative_to(ROOT)) for alias in node.names if alias.name == "settings"]
    assert not found, f"use the profile, or tests.example_profiles.costly, in {found}"
