"""Lists of reports that lack a part, come from another tool or are damaged: full length, or empty with the reason."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from simulator.poplar import FLOAT, Device, Engine, Graph
from simulator.poplar.program import Sequence
from simulator.poplibs import popops, poputil
from tests.compiler.tiny_graphs import hardware
from tests.pva.made import make
from tests.samples import SAMPLES

LISTS = ("controlCodeByTile", "codeBytesByTile", "estimatedCyclesByTile")


def test_programs_have_their_lists_without_a_graph_profile(made: pva.Report, tmp_path: Path) -> None:
    """Figures of programs do not depend on the parts that were left out."""
    without = {"autoReport_outputGraphProfile": "false", "autoReport_outputLoweredVars": "false"}
    partial = pva.openReport(make(tmp_path, **without))
    assert not [*partial.compilation.tiles, *partial.compilation.loweredVariables.allBriefVars]
    for one, other in zip(partial.compilation.programs, made.compilation.programs, strict=True):
        assert one.type == other.type
        for name in LISTS:
            assert len(getattr(one, name, [])) == len(getattr(other, name, []))
    code = [p.controlCodeByTile for p in partial.compilation.programs]
    assert {len(each) for each in code} == {16}


def test_lists_of_another_tools_report_say_why_they_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE programs(id, name)")
        db.execute("INSERT INTO programs VALUES (0, 'a'), (1, 'b')")
        db.execute("CREATE TABLE steps(id, type, program)")
        db.execute("INSERT INTO steps VALUES (0, 'DoExchange', 0), (1, 'OnTileExecute', 1)")
        db.execute("CREATE TABLE memory_by_tile(tile, total)")
        db.execute("INSERT INTO memory_by_tile VALUES (0, 5), (1, 6)")
    db.close()
    programs = pva.openReport(path).compilation.programs
    names = [(program, name) for program in programs for name in LISTS if hasattr(program, name)]
    assert len(names) == 5
    for program, name in names:
        values: Any = getattr(program, name)
        assert values == [] == values[:3]
        assert values + values == []
        with pytest.raises(IndexError, match=f"this report does not know the .* of {program.type.name} programs"):
            _ = values[0]


def test_a_damaged_report_is_refused_in_a_sentence() -> None:
    with pytest.raises(pva.FormatError, match=r"profile\.pop cannot be read") as refused:
        pva.openReport(SAMPLES / "damaged" / "profile.pop")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("level", "known"), [("tile", True), ("vertex", True), ("ipu", False), ("device", False)])
def test_counting_on_one_tile_loses_the_cycles_of_single_tiles(level: str, known: bool) -> None:
    target = hardware()
    graph = Graph(target)
    x = graph.addVariable(FLOAT, [64], "x")
    poputil.mapTensorLinearly(graph, x)
    graph.createHostWrite("x", x)
    program = Sequence()
    popops.addInPlace(graph, x, x, program, "twice")
    options = {"debug.instrument": "true", "debug.retainDebugInformation": "true"}
    with Engine(graph, program, options | {"debug.computeInstrumentationLevel": level}) as engine:
        device = Device(target)
        device.attach()
        engine.load(device)
        engine.run()
        steps = engine.getReport().execution.steps
        device.detach()
    (compute,) = [step for step in steps if step.computeSets and step.computeSets[0].vertices]
    lists = [compute.cyclesByTile, compute.computeSets[0].cyclesByTile]
    assert compute.ipus[0].cycles > 0
    syncs = [step for step in steps if step.program.type.name == "Sync"]
    assert syncs
    assert {bool(step.cyclesByTile) for step in syncs} == {known}
    assert [len(each) for each in lists] == [len(steps[0].cyclesByTile) if known else 0] * 2
    assert len(steps[0].cyclesByTile) == target.getNumTiles()  # a stream copy: its tiles count for themselves
    if not known:
        with pytest.raises(IndexError, match="computeInstrumentationLevel=tile"):
            _ = lists[0][0]
