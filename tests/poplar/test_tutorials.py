"""The ports of the public tutorials print what the originals print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from popvision.formats.profile import ProfileReader

EXAMPLES = Path(__file__).parents[2] / "examples"

TUT1_OUT = """Running program
Program complete

h3 data:
  0 0 0 0 
  0 1 1.5 2 
  0 0 0 0 
  0 0 0 0 
"""  # noqa: W291

TUT1_ERR = """v1-debug: [1.0000000 1.5000000 2.0000000 2.5000000]
v2-debug: [1.0000000 1.5000000 2.0000000 2.5000000]
v4-0: [0 1 2 3 4 5 6 7 8 9]
v4-1: [10 11 12 13 14 15 16 17 18 19]
"""


@pytest.fixture
def run_example(tmp_path, monkeypatch):
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    monkeypatch.delenv("POPLAR_ENGINE_OPTIONS", raising=False)

    def run(name: str, *arguments: str) -> tuple[str, str]:
        command = [sys.executable, str(EXAMPLES / name), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert not [path for path in tmp_path.iterdir() if path.name != "locks"], "nothing asked for reports"
        return done.stdout, done.stderr

    return run


def test_tutorial_1_on_the_model(run_example) -> None:
    assert run_example("tut1_variables.py") == (TUT1_OUT, TUT1_ERR)


def test_tutorial_1_on_simulated_hardware(run_example) -> None:
    out, err = run_example("tut1_variables.py", "--hw")
    assert out == "Trying to attach to IPU\nAttached to IPU 0\n" + TUT1_OUT
    assert err.replace(" ", "").split() == TUT1_ERR.replace(" ", "").split()


def test_a_what_if_run_says_so_in_its_report(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    monkeypatch.setenv("POPVISION_TILES", "64")
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"autoReport.outputGraphProfile":"true"}')
    subprocess.run([sys.executable, str(EXAMPLES / "tut3_vertices.py")], capture_output=True, check=True, cwd=tmp_path)
    reader = ProfileReader(tmp_path / "profile.pop")
    assert reader.target().tiles_per_ipu == 64
    assert reader.meta["whatIf"] == "POPVISION_TILES changed the tiles per IPU from 1472 to 64."


def test_tutorial_3(run_example) -> None:
    out, err = run_example("tut3_vertices.py")
    assert out == "Running program\nProgram complete\n"
    assert err == "v2: [7.0000000 6.0000000 4.5000000 2.5000000]\n"
