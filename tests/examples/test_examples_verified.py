"""Every example writes what it reads: debug.verify finds nothing in them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from simulator.poplar import control_program_error

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Example -> its arguments.
QUICK = {
    "pipeline": (),
    "tut1_variables": (),
    "tut2_operations": (),
    "tut3_vertices": (),
    "tut5_matrix_vector": ("20", "20"),
    "tut6_matrix_vector_opt": ("20", "20"),
    "prefetch_callbacks": (),
    "row_norms": (),
}
SLOW = ("halo_exchange", "layered_training", "matmul_chain", "replicated_training", "train_cnn", "train_mlp")
EVERY = [(name, QUICK[name]) for name in QUICK]
EVERY += [pytest.param(name, (), marks=pytest.mark.long) for name in SLOW]  # type: ignore[misc]


def run(name: str, words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"debug.verify":"true"}')
    monkeypatch.setattr(sys, "argv", [name, *words])
    assert not importlib.import_module(name).main()


@pytest.mark.parametrize(("name", "words"), EVERY)
def test_an_example_reads_nothing_unwritten(
    name: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(name, words, tmp_path, monkeypatch)


def test_tutorial_4_never_writes_its_matrices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(control_program_error, match="reads 'm1' before anything wrote it"):
        run("tut4_profiling", (), tmp_path, monkeypatch)
