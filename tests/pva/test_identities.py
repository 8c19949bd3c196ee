"""Identities that scripts rely on (pva-api.md 2.4 and 2.5), on every complete simulated report at hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from popvision.formats.profile import ProfileReader
from tests.pva.plain_file import PlainFile
from tests.samples import SAMPLES

COMPLETE = ["made", "matmul_chain_hardware", "pipeline", "replicated_training", "train_mlp"]


@pytest.fixture(scope="module", params=COMPLETE)
def path(request: pytest.FixtureRequest, made_path: Path) -> Path:
    return made_path if request.param == "made" else SAMPLES / request.param / "profile.pop"


@pytest.fixture(scope="module")
def report(path: Path) -> pva.Report:
    return pva.openReport(path)


def some(items: Any, count: int = 6) -> Any:
    return items[:: max(1, len(items) // count)]


def tiles_of(report: pva.Report) -> Iterator[int]:
    return iter(some(range(len(report.compilation.tiles))))


def test_peak_is_always_live_and_the_largest_step(report: pva.Report) -> None:
    """2.4.1 and 2.4.8: both ways of adding always-live bytes agree; each tile peaks at its own step."""
    c = report.compilation
    always = sum(tile.memory.alwaysLiveBytes for tile in c.tiles)
    assert always == sum(v.size for v in c.alwaysLiveVariables) > 0
    largest = max(step.notAlwaysLiveMemory.bytes for step in c.livenessProgramSteps)
    assert 0 < largest * c.target.numReplicas <= sum(tile.memory.notAlwaysLiveBytes for tile in c.tiles)


def test_variables_of_a_tile_add_up(report: pva.Report) -> None:
    """2.4.2 and 2.4.8, and the same over an IPU and over all tiles of a replica."""
    c = report.compilation
    for tile in tiles_of(report):
        assert c.tiles[tile].memory.alwaysLiveBytes == sum(v.size for v in c.alwaysLiveVariablesForTile(tile))
        live = [step.notAlwaysLiveMemoryForTile(tile) for step in c.livenessProgramSteps]
        assert max(memory.bytes for memory in live) == c.tiles[tile].memory.notAlwaysLiveBytes
        assert all(memory.bytes == sum(v.size for v in memory.variables) for memory in some(live))
    for step in some(c.livenessProgramSteps):
        memory = step.notAlwaysLiveMemory
        ipus = [step.notAlwaysLiveMemoryForIpu(ipu) for ipu in range(c.target.ipusPerReplica)]
        assert memory.bytes == sum(v.size for v in memory.variables) == sum(each.bytes for each in ipus)
        assert all(each.bytes == sum(v.size for v in each.variables) for each in ipus)


def test_categories_hold_what_programs_use(report: pva.Report) -> None:
    """2.4.3: upper bounds of the parts seen through programs, and all of them make up the tile."""
    c = report.compilation
    exchanges = {p for p in c.programs if p.type in (pva.Program.Type.DoExchange,)}
    leaves = [p for p in c.programs if not p.children]
    control = [p.controlCodeByTile for p in leaves]
    exchanged = [p.codeBytesByTile for p in exchanges]  # type: ignore[attr-defined]
    for tile in tiles_of(report):
        memory = c.tiles[tile].memory
        category = memory.category
        assert category.vertexCode.total >= sum(v.codeBytes for v in memory.vertices)
        assert category.internalExchangeCode.total >= sum(code[tile] for code in exchanged if code)
        assert category.controlCode.total >= sum(code[tile] for code in control if code)
        state = sum(v.type.size * v.countByTile[tile] for s in c.computeSets for v in s.vertices)
        assert category.vertexInstanceState.total + category.vectorListDescriptor.total >= state
        assert sum(getattr(category, name).total for name in dir(category)) == memory.total.excludingGaps
        assert memory.total.excludingGaps <= memory.total.includingGaps
        parts = (memory.nonInterleaved, memory.interleaved, memory.overflowed)
        assert sum(part.includingGaps for part in parts) == memory.total.includingGaps
        assert sum(part.excludingGaps for part in parts) == memory.total.excludingGaps
    assert any(memory.vertices for memory in (tile.memory for tile in c.tiles))


def test_lowered_variables_add_up_to_their_variable(made: pva.Report) -> None:
    """2.4.4, for each variable of each tile: at a step, those parts of it that are live there."""
    c, parted = made.compilation, 0
    for tile in range(len(c.tiles)):
        mine = [v for v in c.loweredVariables.forTile(tile) if v.hasUnloweredVar]
        whole = {v.unloweredVar: v.unloweredVar.size for v in mine}
        assert whole == {v: sum(part.bytes for part in mine if part.unloweredVar == v) for v in whole}
        parted += len(mine) - len(whole)
        for index, step in enumerate(c.livenessProgramSteps):
            live = {v: v.size for v in step.notAlwaysLiveMemoryForTile(tile).variables}
            for variable in whole:
                parts = [v.bytes for v in mine if v.unloweredVar == variable and not v.alwaysLive and is_live(v, index)]
                assert live.get(variable, 0) == sum(parts)
    assert parted > 0


def is_live(v: Any, index: int) -> bool:
    """Whether an allocation's class is live at an index."""
    return any(interval.start <= index < interval.end for interval in v.equivalenceClass.steps)


def test_classes_give_the_memory_of_every_step(report: pva.Report) -> None:
    """As popliner does: all bytes of a tile at a step, always-live ones included, from equivalence classes alone."""
    c = report.compilation
    tile = next(tiles_of(report))
    found = [0] * len(c.livenessProgramSteps)
    for v in c.loweredVariables.allBriefVars:
        if v.tileId == tile:
            for interval in v.equivalenceClass.steps:
                for index in range(interval.start, interval.end):
                    found[index] += v.bytes
    always = c.tiles[tile].memory.alwaysLiveBytes
    assert always > 0
    assert found == [always + step.notAlwaysLiveMemoryForTile(tile).bytes for step in c.livenessProgramSteps]


def test_parameters_are_what_is_left(made: pva.Report) -> None:
    """2.4.5, approximate: always-live bytes less code and vertex state are weights, stacks and constants."""
    c = made.compilation
    names = ("vertexCode", "internalExchangeCode", "vertexInstanceState", "controlCode")
    left = 0
    for tile in c.tiles:
        left += tile.memory.alwaysLiveBytes - sum(getattr(tile.memory.category, name).total for name in names)
    kept = {v.name: v.size for v in c.alwaysLiveVariables}
    assert kept["w"] <= left <= sum(kept[name] for name in kept if name not in names)


def test_every_tile_spends_the_whole_run(report: pva.Report, path: Path) -> None:
    """2.5.1: on every tile cycles of the steps and the tails of the runs are the device's total; kinds add up."""
    file, total = PlainFile(path), report.execution.totalCycles
    spent = [0] * file.tiles
    for step in report.execution.steps:
        spent = [a + b for a, b in zip(spent, step.cyclesByTile, strict=True)]
    tails = [
        file.by_tile(file.rows("SELECT ipu, tail_array FROM run_tail WHERE run=?", run))
        for run in range(len(report.execution.runs))
    ]
    assert {sum(each) for each in zip(spent, *tails, strict=True)} == {total.total}
    kinds = total.compute + total.doExchange + total.globalExchange + total.streamCopy + total.sync
    assert kinds + sum(map(sum, tails)) == total.total * file.tiles
    for ipu in range(file.ipus):
        assert sum(step.ipus[ipu].cycles for step in report.execution.steps) <= total.total


def test_windows_lie_on_one_line(report: pva.Report) -> None:
    """2.5.2: absolute cycles; a step's length runs from the last tile's start to the last tile's end."""
    last = [0] * len(report.compilation.ipus)
    for step in report.execution.steps:
        for number, ipu in enumerate(step.ipus):
            window, active = ipu.allCycles, ipu.activeCycles
            assert ipu.cycles == window.cyclesTo.max - window.cyclesFrom.max
            assert last[number] == window.cyclesFrom.max or window.cyclesFrom.max > last[number]
            last[number] = window.cyclesTo.max
            if ipu.activeTiles:
                assert window.cyclesFrom.min <= active.cyclesFrom.min <= active.cyclesTo.max <= window.cyclesTo.max


def test_stream_copies_come_in_three_parts(report: pva.Report) -> None:
    """2.5.3, and two control triplets begin each run."""
    for run in report.execution.runs:
        kinds = [step.program.type.name for step in run.steps]
        copies = [kind for kind in kinds if kind.startswith("StreamCopy")]
        assert copies == ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"] * (len(copies) // 3)
        first = next(i for i, kind in enumerate(kinds) if kind not in ("Sync", *copies))
        assert sum(kind == "StreamCopyMid" for kind in kinds[:first]) == 2


def test_syncs_are_named_and_data_is_in_bytes(report: pva.Report) -> None:
    """2.5.5 and 2.5.6."""
    syncs = {step.program.name for step in report.execution.steps if step.program.type == pva.Program.Type.Sync}
    assert syncs <= {"Internal", "External"}
    assert syncs
    moved = [sum(ipu.dataIn + ipu.dataOut for ipu in step.ipus) for step in report.execution.steps]
    exchanges = ("DoExchange", "GlobalExchange", "StreamCopyMid")
    kinds = [step.program.type.name for step in report.execution.steps]
    assert all(kind in exchanges for kind, n in zip(kinds, moved, strict=True) if n)
    assert sum(moved) > 0


def test_a_program_takes_as_long_as_estimated_on_the_model(made: pva.Report) -> None:
    """2.5.7: cycles of compute sets come from estimates."""
    seen = 0
    for step in made.execution.steps:
        for compute_set in step.computeSets:
            assert compute_set.cyclesByTile == compute_set.estimatedCyclesByTile
            seen += sum(compute_set.cyclesByTile)
    assert seen > 0


def test_programs_and_variables_are_the_same_by_every_path(made: pva.Report, made_path: Path) -> None:
    c, execution = made.compilation, made.execution
    programs = set(c.programs)
    assert {step.program for step in execution.steps} | {step.program for step in c.livenessProgramSteps} < programs
    operations = pva.OperationAnalysis(made).operations
    assert {p for operation in operations for p in operation.programs()} < programs
    assert {child for p in c.programs for child in p.children} < programs
    assert len(programs) == len(c.programs) == len({p._id for p in programs})
    assert execution.runs[1].steps[0] in set(execution.steps)
    everywhere = set(c.alwaysLiveVariables)
    for step in c.livenessProgramSteps:
        everywhere |= set(step.notAlwaysLiveMemory.variables)
    for tile in range(len(c.tiles)):
        assert set(c.alwaysLiveVariablesForTile(tile)) < everywhere
        assert {v.unloweredVar for v in c.loweredVariables.forTile(tile) if v.hasUnloweredVar} < everywhere
    brief = {v.id for v in c.loweredVariables.allBriefVars}
    assert {v._id for p in c.programs for v in p.vars} <= brief
    assert {v._id for operation in operations for v in operation.vars} <= brief
    another = pva.openReport(made_path)
    assert another.compilation.programs[0] != c.programs[0]
    assert ProfileReader(made_path).report_id
