"""libpva's names on the report of tests/reports.py, every figure checked by hand."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import popvision.pva as pva
from popvision.package_data import package_folder
from tests.reports import write_tiny


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tiny(tmp_path)


@pytest.fixture
def report(path: Path) -> pva.Report:
    return pva.openReport(str(path))


def test_versions_and_settings(report: pva.Report) -> None:
    assert (report.poplarVersion.major, report.poplarVersion.minor, report.poplarVersion.point) == (3, 4, 0)
    assert report.poplarVersion.string == "3.4.0 (popvision 0.1.0)"
    assert report.version.major == 1
    settings = report.instrumentationSettings
    assert settings.compute == pva.InstrumentationSettings.ComputeInstrumentationLevel.Tile
    assert settings.externalExchange == pva.InstrumentationSettings.Off


def test_target_and_graph(report: pva.Report) -> None:
    target, graph = report.compilation.target, report.compilation.graph
    assert target.type == pva.Target.Type.IpuModel
    assert target.architecture.name == "Ipu2"
    assert (target.numTiles, target.tilesPerIpu, target.bytesPerIPU, target.totalMemory) == (4, 4, 4000, 4000)
    assert (graph.numComputeSets, graph.numVertices, graph.numEdges, graph.numVars) == (1, 3, 9, 2)


def test_tile_memory(report: pva.Report) -> None:
    memory = report.compilation.tiles[0].memory
    assert (memory.total.includingGaps, memory.total.excludingGaps) == (120, 116)
    assert (memory.alwaysLiveBytes, memory.notAlwaysLiveBytes) == (100, 16)
    assert memory.category.variable.total == 96
    assert memory.category.variable.interleaved.nonOverlapped == 16
    assert memory.category.vertexCode.total == 0
    with pytest.raises(AttributeError, match="no memory category 'colour'"):
        _ = memory.category.colour
    assert [v.type.name for v in memory.vertices] == ["MatMul<float>"]
    assert len(report.compilation.ipus) == 1
    assert len(report.compilation.ipus[0].tiles) == 4  # type: ignore[arg-type]
    worst = max(report.compilation.tiles, key=lambda tile: tile.memory.total.includingGaps)
    assert worst.id == 0


def test_programs_and_visitor(report: pva.Report) -> None:
    root = report.compilation.programs[0]
    assert [child._id for child in root.children] == [1, 2, 3]
    assert root.type == pva.Program.Type.Sequence
    execute, sync, exchange = root.children
    assert isinstance(execute, pva.OnTileExecuteProgram)
    assert execute.computeset.name == "layer/matmul"
    assert execute.computeset.estimatedCyclesByTile == [10, 20, 0, 5]
    assert execute.computeset.vertices[0].countByTile == [1, 1, 0, 1]
    assert execute.computeset.vertices[0].type.size == 12
    assert type(sync) is pva.Program
    assert sync.name == "Internal"
    assert isinstance(exchange, pva.DoExchangeProgram)
    assert exchange.estimatedCyclesByTile == [4, 0, 4, 0]
    assert {root.children[0], report.execution.steps[0].program} == {execute}

    class Names(pva.ProgramVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def visitOnTileExecute(self, program: pva.Program) -> None:
            self.seen.append(program.name)

    visitor = Names()
    for program in report.compilation.programs:
        program.accept(visitor)
    assert visitor.seen == ["layer/matmul"]


def test_liveness(report: pva.Report) -> None:
    steps = report.compilation.livenessProgramSteps
    assert [step.notAlwaysLiveMemory.bytes for step in steps] == [32, 32, 0]
    assert [(v.name, v.size) for v in steps[0].notAlwaysLiveMemory.variables] == [("temporary", 32)]
    assert steps[2].notAlwaysLiveMemory.variables == []
    tile = steps[1].notAlwaysLiveMemoryForTile(0)
    assert (tile.bytes, [(v.name, v.size) for v in tile.variables]) == (16, [("temporary", 16)])
    assert tile.variables[0] == steps[0].notAlwaysLiveMemory.variables[0]
    assert steps[1].notAlwaysLiveMemoryForIpu(0).bytes == 32
    assert [(v.name, v.size) for v in report.compilation.alwaysLiveVariables] == [("weights", 288), ("constant", 112)]
    on_tile = report.compilation.alwaysLiveVariablesForTile(0)
    assert sum(v.size for v in on_tile) == report.compilation.tiles[0].memory.alwaysLiveBytes


def test_lowered_variables(report: pva.Report) -> None:
    lowered = report.compilation.loweredVariables
    brief = list(lowered.allBriefVars)
    assert [(v.id, v.bytes, v.tileId, v.equivalenceClass.id) for v in brief] == [
        (0, 80, 0, 1),
        (1, 20, 0, 1),
        (2, 16, 0, 0),
    ]
    assert [(i.start, i.end) for i in brief[2].equivalenceClass.steps] == [(0, 2)]
    steps = len(report.compilation.livenessProgramSteps)
    assert [(i.start, i.end) for i in brief[0].equivalenceClass.steps] == [(0, steps)]
    full = lowered.forTile(0)[2]
    assert (full._id, full.name, full.bytes, full.offset, full.alwaysLive) == (2, "temporary", 16, 104, False)
    assert full.hasUnloweredVar
    assert full.unloweredVar.size == full.bytes


def test_execution(report: pva.Report, path: Path) -> None:
    execution = report.execution
    assert execution.totalCycles.total == 43
    assert [step.ipus[0].cycles for step in execution.steps] == [20, 3, 4, 16]
    run = execution.runs[0]
    assert (run.name, len(run.steps), run.cyclesByIpu) == ("step", 4, [43])
    assert run.microseconds.end - run.microseconds.start == 250
    exchange = execution.steps[2]
    assert exchange.cyclesByTile == [4, 0, 4, 0]
    assert exchange.computeSets == []
    assert (exchange.ipus[0].dataIn, exchange.ipus[0].dataOut, exchange.ipus[0].activeTiles) == (16, 8, 2)
    last = execution.steps[3].ipus[0]
    assert (last.activeCycles.cyclesFrom.min, last.activeCycles.cyclesTo.max) == (23, 43)
    assert (last.allCycles.cyclesFrom.max, last.allCycles.cyclesTo.min) == (27, 27)
    assert last.tileBalance == pytest.approx(35 / (4 * 20))
    assert last.activeTileBalance == pytest.approx(35 / (3 * 20))
    assert execution.steps[0].computeSets[0].cyclesByTile == [10, 20, 0, 5]
    with sqlite3.connect(path) as db:
        assert db.execute("select sum(cycles) from steps_by_ipu").fetchone() == (43,)


def test_plain_values(report: pva.Report) -> None:
    step = report.execution.steps[0]
    json.dumps([step.cyclesByTile, step.ipus[0].cycles, report.compilation.tiles[0].memory.alwaysLiveBytes])
    assert np.array(step.cyclesByTile, dtype=np.uint64).sum() == 35
    with pytest.raises(IndexError, match="index 9 is outside a list of 1"):
        _ = report.execution.runs[9]


def test_printed_lists_are_cut(report: pva.Report) -> None:
    try:
        report.listPrintLength(2)
        assert repr(report.compilation.programs).count("Program(") == 2
        assert repr(report.compilation.programs).endswith("... 2 more]")
    finally:
        report.listPrintLength(10)
    assert "more" not in repr(report.compilation.programs)
    with pytest.raises(ValueError, match="must be 0 or more"):
        report.listPrintLength(-1)


def test_missing_file_is_a_runtime_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"profile\.pop"):
        pva.openReport(str(tmp_path / "profile.pop"))


def test_old_script_through_compat(path: Path) -> None:
    script = (
        "import pva, sys; r = pva.openReport(sys.argv[1]);"
        "assert isinstance(r, pva.pva_core.Report);"
        "print(r.execution.totalCycles.total, pva.pva_core.Program.Type.StreamCopyMid.name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(package_folder("compat"))},
    )
    assert done.stdout.split() == ["43", "StreamCopyMid"]
