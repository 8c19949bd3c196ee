"""Laws of the reports of random programs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, Engine, Graph
from simulator.poplar.program import Execute, Sequence
from tests.integration import file_laws, memory_laws, time_laws
from tests.integration.fuzz_codelets import codelets
from tests.integration.plain_report import PlainReport
from tests.integration.random_program import Pick
from tests.integration.running import device, make, report_options, run_engine, seeded


def check_report(report: PlainReport, tiles: list[int]) -> None:
    """Every law that needs nothing but the folder."""
    if report.rows("SELECT id FROM runs"):
        assert time_laws.check_time(report) > 0
        time_laws.check_order(report)
        time_laws.check_estimates(report)
    memory_laws.check_totals(report)
    memory_laws.check_rows_of_variables(report)
    memory_laws.check_overlap_rule(report, tiles)
    memory_laws.check_addresses(report)
    memory_laws.check_liveness(report)
    memory_laws.check_messages(report)
    memory_laws.check_code(report)
    file_laws.check_debug_ids(report)
    file_laws.check_archive(report)


def check_program(pick: Pick, folder: Path) -> None:
    with device(bool(pick(0, 1)), pick(4, 16)) as place:
        made = make(pick, place)
        levels = ("vertex", "tile", "ipu", "device")
        level = {"debug.computeInstrumentationLevel": levels[pick(0, 3)]}
        run_engine(made, place, made.body.program, 2, report_options(folder, **level))
        report = PlainReport(folder)
        check_report(report, list(range(report.tiles)))
        file_laws.check_regions(made.graph)
        file_laws.check_live_when_used(report, made.graph)
        file_laws.check_counts(report, made.graph)
        file_laws.check_graph_file(report, made.graph)
        with Engine(made.graph, made.body.program, {"debug.instrument": "true", **level}) as engine:
            engine.load(place)
            for handle, data in made.inputs.items():
                engine.connectStream(handle, data.copy())
            for handle in made.outputs:
                engine.connectStreamToCallback(handle, lambda values: None)
            engine.run(0)
            engine.run(0)
            text = io.StringIO()
            engine.reportIntervals(text)
        rows = [tuple(map(int, line.split(","))) for line in text.getvalue().splitlines()]
        time_laws.check_intervals(report, rows)
        report.close()


@pytest.mark.parametrize("seed", range(25))
def test_reports_of_random_programs(seed: int, tmp_path: Path) -> None:
    check_program(seeded(seed), tmp_path)


def test_what_vertices_use_is_live_where_a_variable_has_parts(tmp_path: Path) -> None:
    """Nothing reads most of a variable after its write, so that its two parts differ in liveness. The part that the
    second compute set reads is the report's second row of that variable."""
    with device(False, 4) as place:
        graph = Graph(place)
        graph.addCodelets(codelets(FLOAT))
        given, wide, narrow = (graph.addVariable(FLOAT, [n], name) for n, name in ((35, "x"), (35, "wide"), (5, "y")))
        graph.setInitialValue(given, 1.0)
        program = Sequence()
        for name, source, target in (("first", given, wide), ("second", wide[:5], narrow)):
            compute_set = graph.addComputeSet(name)
            vertex = graph.addVertex(compute_set, f"Twice_{FLOAT.name}", {"x": source, "y": target})
            for part in (source, target, vertex):
                graph.setTileMapping(part, 2)
            program.add(Execute(compute_set))
        graph.setTileMapping(wide, 2)
        graph.createHostRead("y", narrow)
        with Engine(graph, program, report_options(tmp_path)) as engine:
            engine.load(place)
            engine.run(0)
    report = PlainReport(tmp_path)
    ((number, size),) = report.rows("SELECT id, bytes FROM variables WHERE name = 'wide'")
    parts = [(len(report.classes[c]), b) for _, variable, b, c in report.parts if variable == number]
    assert (parts, size) == ([(1, 120), (1, 20)], 140)
    live = file_laws.live_bytes(report, number, 2)
    assert live[live > 0].tolist() == [140, 20]
    assert file_laws.check_live_when_used(report, graph) == 4
    report.close()


@pytest.mark.long
@given(data=st.data())
def test_reports_of_many_random_programs(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_program(lambda low, high: data.draw(st.integers(low, high)), tmp_path_factory.mktemp("laws"))
