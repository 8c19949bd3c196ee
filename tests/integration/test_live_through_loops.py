"""Values that the next trip of a loop reads stay live for all trips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulator.poplar import FLOAT, HALF, Engine, Graph, Tensor
from simulator.poplar.program import Execute, Program, Repeat, Sequence
from simulator.poplibs import popops
from tests.integration.fuzz_codelets import codelets
from tests.integration.plain_report import PlainReport
from tests.integration.running import by_vertices, device, report_options


@pytest.mark.parametrize("hardware", [False, True])
def test_what_a_loop_reads_is_live_in_all_of_it(hardware: bool, tmp_path: Path) -> None:
    """a is written once before the loop and read by its first program only; b is dead again at once."""
    with device(hardware, 4) as place:
        graph = Graph(place)
        graph.addCodelets(codelets(FLOAT))
        names = ("source", "a", "b", "c", "d")
        v = {name: graph.addVariable(FLOAT, [8], name) for name in names}
        for tensor in v.values():
            graph.setTileMapping(tensor, 1)
        graph.setInitialValue(v["source"], np.arange(8))
        graph.createHostRead("d", v["d"])

        def twice(x: Tensor, y: Tensor, name: str) -> Program:
            cs = graph.addComputeSet(name)
            graph.setTileMapping(graph.addVertex(cs, "Twice_float", {"x": x, "y": y}), 1)
            return Execute(cs)

        program = Sequence(
            twice(v["source"], v["a"], "before"),
            Repeat(
                3,
                Sequence(
                    twice(v["a"], v["b"], "first"), twice(v["b"], v["c"], "second"), twice(v["c"], v["d"], "third")
                ),
            ),
        )
        with Engine(graph, program, report_options(tmp_path)) as engine:
            engine.load(place)
            engine.run()
            found = np.empty(8, np.float32)
            engine.readTensor("d", found)
    assert np.array_equal(found, 16 * np.arange(8))
    report = PlainReport(tmp_path)
    at = {
        name: index
        for index, name in report.rows(
            "SELECT liveness_index, p.name FROM liveness l JOIN programs p ON p.id = l.program WHERE p.compute_set >= 0"
        )
    }
    classes = dict(report.rows("SELECT name, eq_class FROM variables"))
    live = {name: report.live_matrix[:, classes[name]] for name in ("a", "b", "c")}
    assert live["a"][at["before"] : at["third"] + 1].all()
    assert live["b"][[at["first"], at["second"], at["third"]]].tolist() == [1, 1, 0]
    assert live["c"][[at["first"], at["second"], at["third"]]].tolist() == [0, 1, 1]
    report.close()


@pytest.mark.parametrize("vertices", [False, True])
def test_halves_stop_at_their_largest(vertices: bool) -> None:
    with device(False, 4) as place:
        graph, program = Graph(place), Sequence()
        v = graph.addVariable(HALF, [3], "v")
        graph.setTileMapping(v, 2)
        graph.setInitialValue(v, [65000.0, -65000.0, 2.0])
        graph.createHostRead("out", popops.add(graph, v, v, program))
        with Engine(graph, by_vertices(program, graph) if vertices else program) as engine:
            engine.loadAndRun(place)
            found = np.empty(3, np.float16)
            engine.readTensor("out", found)
    assert found.tolist() == [65504.0, -65504.0, 4.0]
