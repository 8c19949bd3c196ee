"""What a program says of itself to the file that POPVISION_PROGRESS_FILE names."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Sequence


def test_a_program_says_what_it_is_doing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setenv("POPVISION_PROGRESS_FILE", str(tmp_path / "progress"))
    monkeypatch.setattr(
        Path, "write_text", lambda path, text, **_: said.append(text) if path.name == "progress" else None
    )
    device = IPUModel("ipu2").createDevice()
    graph = Graph(device)
    here, there = (graph.addVariable(FLOAT, [4], name) for name in ("here", "there"))
    graph.setTileMapping(here, 0)
    graph.setTileMapping(there, 1)
    engine = Engine(graph, Sequence([Copy(here, there)]))
    engine.load(device)
    monkeypatch.setattr("simulator.engine.progress._last_said", float("-inf"))
    engine.run(0, "first")
    assert said[0] == "compiling"
    assert [text for text in said if "phases" in text] == [f"compiling, {n} of 6 phases done" for n in range(1, 6)]
    assert said[-1] == "began program 0 (first), run 1 of this engine"
    monkeypatch.setenv("POPVISION_PROGRESS_FILE", str(tmp_path / "absent" / "progress"))
    engine.run(0)
