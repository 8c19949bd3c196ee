"""The plugin that tells what a test costs, and the marks by which a command chooses tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_TESTS = """
import subprocess, sys, time
import pytest

BUSY = "import time\\nwhile time.process_time() < 0.25: pass"

@pytest.mark.parametrize("how", ["here", "child"])
def test_busy(how):
    if how == "here":
        begin = time.process_time()
        while time.process_time() - begin < 0.25: pass
    else:
        subprocess.run([sys.executable, "-c", BUSY], check=True)

@pytest.mark.long
def test_marked():
    test_busy("here")

def test_waits():
    time.sleep(0.5)
"""


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_costs.py").write_text(_TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    long: long\n", encoding="utf-8")
    program = "import sys, pytest, tests.processor_time as p; p.NAMED = 0.2; sys.exit(pytest.main(sys.argv[1:], [p]))"
    command = [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_costs_are_processor_time_of_the_call_and_its_children(tmp_path: Path) -> None:
    run = _run(tmp_path, "--processor-limit", "30")
    assert run.returncode == 0, run.stdout + run.stderr
    named = re.findall(r"^ +([0-9.]+) s .*::(\S+)$", run.stdout, re.MULTILINE)
    assert {name for _, name in named} == {"test_busy[here]", "test_busy[child]"}
    assert all(0.2 < float(seconds) < 2 for seconds, _ in named)


def test_a_test_above_the_limit_fails_the_run(tmp_path: Path) -> None:
    run = _run(tmp_path, "--processor-limit", "0.2")
    assert run.returncode == pytest.ExitCode.TESTS_FAILED
    assert "2 tests take more than the limit of 0.2 s: make it smaller, or mark it long." in run.stdout


def test_each_test_of_pages_is_marked() -> None:
    """`make test` needs no Chromium: what opens it stands in tests/browser or carries the mark, and says so."""
    unmarked = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"^from playwright", text := path.read_text(encoding="utf-8"), re.MULTILINE)
        and "pytest.mark.browser" not in text
    ]
    assert unmarked == []


def test_the_commands_run_each_test_once() -> None:
    """A mark that no command asks for would hide its tests."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "UNMARKED := not long and not fuzz" in makefile
    assert "LONG := (long or hypothesis) and not fuzz" in makefile
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = re.findall(r"^(test[\w-]*):", makefile, re.MULTILINE)
    assert set(re.findall(r"^make (test[\w-]*)$", ci, re.MULTILINE)) == set(commands) - {"test-long"}
