"""What the reports of random programs must obey, whatever the programs do."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.poplar import Engine
from tests.integration import file_laws, memory_laws, time_laws
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


@pytest.mark.full
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(data=st.data())
def test_reports_of_many_random_programs(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_program(lambda low, high: data.draw(st.integers(low, high)), tmp_path_factory.mktemp("laws"))
