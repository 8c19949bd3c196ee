"""The C++ program among the sample reports: it shows lines of C++, and `make samples` gives it again."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import popvision
from popvision.formats.debug_info import read_debug_info
from tests.cpp.building import ROOT
from tests.samples import SAMPLES

SAMPLE = SAMPLES / "stream_cpp"


@pytest.fixture
def make_samples() -> Any:
    """The module of the command."""
    spec = importlib.util.spec_from_file_location("make_samples", SAMPLES / "make_samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _compute_sets(report: Path) -> list[list[str]]:
    """The compute sets that each run executes, in order."""
    steps = popvision.open(report).steps()
    executed = steps[steps["type"] == "OnTileExecute"]
    return [executed[executed["run"] == run]["name"].tolist() for run in sorted(set(steps["run"]))]


def _lines(report: Path) -> dict[str, str]:
    """The text of the program's line that made each variable and compute set, by their names."""
    text = (ROOT / "examples" / "cpp" / "stream.cpp").read_text(encoding="utf-8").splitlines()
    contexts = [context for _, context in read_debug_info(report / "debug.cbor").records()]
    return {context["name"]: text[context["line"] - 1].strip() for context in contexts if context["file"]}


def test_the_sample_shows_lines_of_the_program() -> None:
    assert _compute_sets(SAMPLE)[1] == ["triad"]
    assert _lines(SAMPLE)["triad"] == 'ComputeSet set = graph.addComputeSet("triad");'


def test_the_sample_is_made_again(shell, make_samples) -> None:
    make_samples.make("stream_cpp", shell.folder / "made")
    assert {path.name for path in (shell.folder / "made").iterdir()} == {path.name for path in SAMPLE.iterdir()}
    assert _compute_sets(shell.folder / "made") == _compute_sets(SAMPLE)
    assert _lines(shell.folder / "made") == _lines(SAMPLE)


def test_without_the_libraries_the_command_says_what_to_do(tmp_path, monkeypatch, make_samples) -> None:
    monkeypatch.setattr(make_samples, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"stream\.cpp needs the libraries of C\+\+ programs.*: make cpp\."):
        make_samples.make("stream_cpp", tmp_path / "made")
