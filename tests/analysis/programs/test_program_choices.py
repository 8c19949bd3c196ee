"""What a report says of programs whose way data chose: how often each was entered, and what they did there."""

import numpy as np
import pytest
from runtime.test_programs_that_choose import PROFILED, Bench

from popvision.analysis.programs.details import recorded_trips
from popvision.analysis.programs.entries import entries
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.source import ReportSource
from simulator.poplar import Engine
from simulator.poplar.program import If, Repeat, RepeatWhileTrue, Sequence, Switch


@pytest.fixture(params=["true", "false"])
def source(request, tmp_path):
    """Two runs: from 0, and from 6; with and without a branch record."""
    bench = Bench()
    loop = RepeatWhileTrue(bench.count(4), bench.flag, If(bench.flag, bench.put(1), bench.put(2)))
    program = Sequence(loop, Switch(bench.x, [(4, Repeat(3, bench.put(7)))], bench.put(8)))
    files = {"autoReport.directory": str(tmp_path)}
    files |= {f"autoReport.output{part}Profile": "true" for part in ("Graph", "Execution")}
    options = files | {"debug.instrumentControlFlow": request.param}
    with Engine(bench.graph, program, PROFILED | options) as engine:
        engine.load(bench.device)
        for x in (0, 6):
            engine.writeTensor("x", np.array([x], np.int32))
            engine.run()
        recorded = engine.core.compiled.lowered.control_flow
    return ReportSource(tmp_path / "profile.pop"), recorded


def test_entries_follow_the_branch_records(source):
    report, recorded = source
    programs = report.reader.programs()
    found = entries(report, figures(report, None).executions)
    row = {type_: programs.type.index(type_) for type_ in ("RepeatWhile", "If", "Switch", "Repeat")}
    names = {name: programs.name.index(name) for name in ("condition", "body", "true", "false", "case 4", "default")}
    if not recorded:
        assert found[names["true"]] == -1
        assert recorded_trips(report, row["RepeatWhile"]) == (-1, -1)
        return
    assert {name: int(found[at]) for name, at in names.items()} == {
        "condition": 5,
        "body": 3,
        "true": 3,
        "false": 0,
        "case 4": 1,
        "default": 1,
    }
    assert recorded_trips(report, row["RepeatWhile"]) == (2, 3)
    assert recorded_trips(report, row["Switch"]) == (2, 2)
    assert recorded_trips(report, row["Repeat"]) == (1, 3)
