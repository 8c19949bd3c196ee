"""Estimates of the program: they are for the IPU Model; hardware counts what compiled codelets do."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Bench, model

from simulator.base import text_output
from simulator.codelets.vertex import Input, Output, Vector, Vertex
from simulator.poplar import INT

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="blocks are counted on x86-64 only")

SOURCE = Path(__file__).with_name("counted_runs.cpp")
OPTIONS = {"debug.instrument": "true"}


class Copied(Vertex):
    x = Input(Vector(INT))
    y = Output(Vector(INT))

    def compute(self) -> None:
        self.y[:] = self.x


def trips_on(device: Any, estimate: int | None = None, registered: bool = False) -> tuple[int, Any]:
    """(cycles of a tile with a vertex of three trips, row of its type in the report)."""
    bench = Bench(device=device)
    bench.graph.addCodelets(SOURCE)
    vertex = bench.vertex("Trips", {"n": bench.tensor("n", INT, [3])[0], "out": bench.tensor("out", INT, [0])[0]})
    if estimate is not None and registered:
        bench.graph.registerPerfEstimator("Trips", lambda _, __: estimate)
    elif estimate is not None:
        bench.graph.setPerfEstimate(vertex, estimate)
    with bench.engine(None, OPTIONS) as engine:
        engine.run(0)
        record, lowered = engine.core.recorder.records[-1], engine.core.compiled.lowered
        step = next(i for i, row in enumerate(record.program.tolist()) if lowered.table.name[row] == "cs")
        (row,) = engine.core.compiled.compilation.compute_set_vertices
        return int(record.patterns[int(record.pattern[step, 0])].cycles[0]), row


@pytest.mark.parametrize("registered", [False, True], ids=["of a vertex", "of a type"])
def test_no_estimate_decides_on_hardware(device: Any, registered: bool) -> None:
    counted, row = trips_on(device)
    assert row.provenance == "guess"
    for estimate in (1, 100_000):
        cycles, row = trips_on(device, estimate, registered)
        assert (cycles, row.provenance) == (counted, "guess")


@pytest.mark.parametrize("registered", [False, True], ids=["of a vertex", "of a type"])
def test_an_estimate_decides_on_a_model_and_is_given(registered: bool) -> None:
    cycles, row = trips_on(model(4), 77, registered)
    assert (cycles, row.provenance) == (6 * 77, "given")


def test_an_estimate_far_off_is_named_once(capsys, monkeypatch) -> None:
    monkeypatch.setattr(text_output, "_printed", set())
    for estimate in (100_000, 100_000, 20, 25):
        trips_on(model(4), estimate)
    lines = [line for line in capsys.readouterr().err.splitlines() if "estimate" in line]
    assert len(lines) == 1
    assert lines[0].startswith("popvision: the estimate of 100,000 cycles for a vertex of Trips (setPerfEstimate) is ")


def test_the_report_names_an_estimate_far_off() -> None:
    bench = Bench()
    bench.graph.addCodelets(SOURCE)
    vertex = bench.vertex("Trips", {"n": bench.tensor("n", INT, [3])[0], "out": bench.tensor("out", INT, [0])[0]})
    bench.graph.setPerfEstimate(vertex, 100_000)
    with bench.engine() as engine:
        sources = [term.source for term in engine.core.compiled.compilation.cost_terms]
    assert any(s.startswith("given: setPerfEstimate; ") and "times off what its code counts" in s for s in sources)


def test_an_estimate_stands_where_code_is_not_counted(device: Any) -> None:
    bench = Bench(device=device)
    bench.graph.addCodelets(Copied)
    vertex = bench.vertex("Copied", {"x": bench.tensor("x", INT, np.ones(4)), "y": bench.tensor("y", INT, np.zeros(4))})
    bench.graph.setPerfEstimate(vertex, 500)
    with bench.engine(None, OPTIONS) as engine:
        (row,) = engine.core.compiled.compilation.compute_set_vertices
    assert (row.provenance, int(row.cycles[0])) == ("given", 500)
