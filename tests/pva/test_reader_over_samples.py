"""A reader of every list-valued and liveness name, over all samples: lengths, zero against not known, and identities
between the lists, each recomputed from the file with sqlite3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from popvision import pva
from tests.pva.plain_file import PlainFile
from tests.samples import SAMPLES

#: An IPU Model with code, and the samples: models without code, hardware, replicas, out of memory.
REPORTS = ["made", *sorted(p.parent.name for p in SAMPLES.glob("*/profile.pop") if p.parent.name != "damaged")]


@pytest.fixture(scope="module", params=REPORTS)
def path(request: pytest.FixtureRequest, made_path: Path) -> Path:
    return made_path if request.param == "made" else SAMPLES / request.param / "profile.pop"


@pytest.fixture(scope="module")
def report(path: Path) -> pva.Report:
    return pva.openReport(path)


@pytest.fixture(scope="module")
def file(path: Path) -> PlainFile:
    return PlainFile(path)


def some(items: Any, count: int) -> Any:
    """Items spread over a long list, the first among them."""
    return items[:: max(1, len(items) // count)]


def test_lists_of_programs_have_a_number_per_tile(report: pva.Report, file: PlainFile) -> None:
    """Zeros where a figure is zero, so that lists of two programs can be added; [] only where it is not known."""
    lists = (("codeBytesByTile", "exchange_code"), ("estimatedCyclesByTile", "cycles"))
    programs = report.compilation.programs
    for program in programs:
        assert len(program.controlCodeByTile) == file.tiles
        for name, figure in lists:
            if hasattr(program, name):
                assert getattr(program, name) == file.figure(program._id, figure)
    leaves = [p for p in programs if not p.children]
    sums = [sum(each) for each in zip(*(p.controlCodeByTile for p in leaves), strict=True)]
    own = [file.figure(p._id, "control_code") for p in leaves]
    assert sums == [sum(each) for each in zip(*own, strict=True)]
    for program in (p for p in programs if p.children):
        below = [file.figure(each, "control_code") for each in file.under(program._id)]
        assert program.controlCodeByTile == [sum(each) for each in zip(*below, strict=True)]
    assert all(len(p.codeBytesByTile) == file.tiles for p in programs if hasattr(p, "codeBytesByTile"))


def test_cycles_are_estimated_where_something_moves_or_computes(report: pva.Report, file: PlainFile) -> None:
    unknown = {p.type.name for p in report.compilation.programs if not p.estimatedCyclesByTile}
    assert unknown <= {
        "Sequence", "Repeat", "OnEveryTileSwitch", "StreamCopyBegin", "Sync", "CrossReplicaCopy",
    }  # fmt: skip
    assert all(len(c.estimatedCyclesByTile) == file.tiles for c in report.compilation.computeSets)
    waits = next(p for p in report.compilation.programs if p.type.name == "Sync")
    with pytest.raises(IndexError, match="this report does not know the cycles of Sync programs"):
        _ = waits.estimatedCyclesByTile[0]
    with pytest.raises(IndexError, match="a compute set of the compilation has not run"):
        _ = report.compilation.computeSets[0].cyclesByTile[0]


def test_lists_of_vertices_and_of_the_target(report: pva.Report, file: PlainFile) -> None:
    rows = file.rows("SELECT compute_set, vertex_type, ipu, count_array FROM compute_set_vertices")
    names = dict(file.rows("SELECT id, name FROM vertex_types"))
    by_set: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for compute_set, kind, ipu, identity in rows:
        by_set.setdefault((compute_set, names[kind]), []).append((ipu, identity))
    for compute_set in report.compilation.computeSets:
        for vertices in compute_set.vertices:
            assert vertices.countByTile == file.by_tile(by_set[compute_set._id, vertices.type.name])
            assert len(vertices.countByTile) == file.tiles
            assert vertices.estimatedCycles >= 0
    assert len(report.compilation.target.relativeSyncDelayByTile) == file.tiles
    per_tile = [tile.memory for tile in report.compilation.tiles]
    assert len(per_tile) == file.tiles
    assert sum(len(ipu.tiles) for ipu in report.compilation.ipus) == file.tiles


def test_classes_live_at_a_step_hold_all_memory_in_use(report: pva.Report, file: PlainFile) -> None:
    """At each step, bytes of all classes live there, always-live ones included, are the memory in use."""
    size: dict[int, int] = {}
    for brief in report.compilation.loweredVariables.allBriefVars:
        size[brief.equivalenceClass.id] = size.get(brief.equivalenceClass.id, 0) + brief.bytes
    steps = len(report.compilation.livenessProgramSteps)
    classes = {v.equivalenceClass.id: v.equivalenceClass for v in all_lowered(report)}
    assert classes.keys() == size.keys()
    change = [0] * (steps + 1)
    for number, eq_class in classes.items():
        assert [tuple(interval) for interval in eq_class.steps] == file.ranges(number)
        for begin, end in eq_class.steps:
            change[begin] += size[number]
            change[end] -= size[number]
    always = file.one("SELECT sum(always_live) FROM memory_by_tile")
    curve = file.column("SELECT bytes FROM liveness ORDER BY liveness_index")
    assert [sum(change[: i + 1]) for i in range(steps)] == [always + n * file.target["num_replicas"] for n in curve]
    assert size[file.always] == always > 0
    assert classes[file.always].steps == [(0, steps)]


def all_lowered(report: pva.Report) -> list[Any]:
    """One full record of each class and tile; enough to meet every class."""
    found: dict[int, Any] = {}
    for tile in range(len(report.compilation.tiles)):
        for variable in report.compilation.loweredVariables.forTile(tile):
            found.setdefault(variable.equivalenceClass.id, variable)
    return list(found.values())


def test_variables_of_a_step_are_tensors(report: pva.Report, file: PlainFile) -> None:
    """Each tensor once, with the bytes of its parts live there; at the peak the sum by name is the sum of all.

    Elsewhere a program may have given two tensors one name."""
    names = dict(file.rows("SELECT id, name FROM variables"))
    live_ranges = {c: file.ranges(c) for c in set(file.column("SELECT eq_class FROM variable_parts")) - {-1}}
    parts = file.rows("SELECT variable, bytes, eq_class FROM variable_parts WHERE eq_class <> ?", file.always)
    replicas = file.target["num_replicas"]
    steps = report.compilation.livenessProgramSteps
    peak = max(steps, key=lambda step: step.notAlwaysLiveMemory.bytes)
    for step in [*some(steps, 8), peak]:
        memory, index = step.notAlwaysLiveMemory, list(steps).index(step)
        live: dict[int, int] = {}
        for variable, size, number in parts:
            if any(begin <= index < end for begin, end in live_ranges.get(number, ())):
                live[variable] = live.get(variable, 0) + size // replicas
        assert {v._id: v.size for v in memory.variables} == live
        assert [v.name for v in memory.variables] == [names[v._id] for v in memory.variables]
        assert len(set(memory.variables)) == len(memory.variables)
        stored = file.one("SELECT bytes FROM liveness WHERE liveness_index=?", index)
        assert sum(v.size for v in memory.variables) == memory.bytes == stored
    by_name = {v.name: v.size for v in peak.notAlwaysLiveMemory.variables}  # as scripts do
    assert sum(by_name.values()) == peak.notAlwaysLiveMemory.bytes


def test_live_memory_of_ipus_and_tiles(report: pva.Report, file: PlainFile) -> None:
    peak = max(report.compilation.livenessProgramSteps, key=lambda step: step.notAlwaysLiveMemory.bytes)
    index = list(report.compilation.livenessProgramSteps).index(peak)
    for ipu in range(file.ipus):
        memory = peak.notAlwaysLiveMemoryForIpu(ipu)
        stored = file.array(file.one("SELECT bytes_array FROM liveness_by_ipu WHERE ipu=?", ipu))[index]
        assert memory.bytes == sum(v.size for v in memory.variables) == stored
    for tile in some(range(file.tiles), 5):
        memory, columns = peak.notAlwaysLiveMemoryForTile(tile), file.lowered(tile)
        rows = zip(columns["whole"], columns["bytes"], columns["eq_class"], strict=True)
        live: dict[int, int] = {}
        for variable, size, number in rows:
            if file.is_live(number, index):
                live[variable] = live.get(variable, 0) + size
        assert {v._id: v.size for v in memory.variables} == live
        assert memory.bytes == sum(live.values())


def test_variables_elsewhere_are_whole(report: pva.Report, file: PlainFile) -> None:
    c = report.compilation
    always = file.rows("SELECT id, name, bytes FROM variables WHERE always_live ORDER BY id")
    assert sorted((v._id, v.name, v.size) for v in c.alwaysLiveVariables) == always
    assert sum({v.name: v.size for v in c.alwaysLiveVariables}.values()) == sum(size for *_, size in always)
    for tile in some(range(file.tiles), 5):
        columns = file.lowered(tile)
        whole: dict[int, int] = {}
        for variable, size in zip(columns["whole"], columns["bytes"], strict=True):
            whole[variable] = whole.get(variable, 0) + size
        for lowered in c.loweredVariables.forTile(tile):
            if lowered.hasUnloweredVar:
                assert lowered.unloweredVar.size == whole[lowered.unloweredVar._id]
        listed = {v._id: v.size for v in c.alwaysLiveVariablesForTile(tile)}
        assert listed == {v: whole[v] for v in listed}
        assert sum(listed.values()) == file.one("SELECT always_live FROM memory_by_tile WHERE tile=?", tile)


def test_steps_and_tail_of_a_tile_are_the_run(report: pva.Report, file: PlainFile) -> None:
    """On every tile cycles of the steps and the tail are the run: nothing is lost."""
    for number, run in enumerate(report.execution.runs):
        length = file.one("SELECT cycles FROM runs WHERE id=?", number)
        spent = [0] * file.tiles
        for step in run.steps:
            cycles = step.cyclesByTile
            assert len(cycles) == file.tiles
            assert all(s.cyclesByTile == cycles for s in step.computeSets)
            spent = [a + b for a, b in zip(spent, cycles, strict=True)]
        assert run.tailByTile == file.by_tile(file.rows("SELECT ipu, tail_array FROM run_tail WHERE run=?", number))
        lost = [length - a - b for a, b in zip(spent, run.tailByTile, strict=True)]
        assert lost == [0] * file.tiles
        assert len(run.cyclesByIpu) == file.ipus
        assert max(run.cyclesByIpu) <= length
    total = report.execution.totalCycles.total
    assert total == (file.one("SELECT sum(cycles) FROM runs") or 0)
    for step in some(report.execution.steps, 40):
        assert len(step.ipus) == file.ipus


def test_a_tail_is_there_to_be_seen() -> None:
    """Without it the sums over steps would fall short, on some tiles and not on others."""
    run = pva.openReport(SAMPLES / "pipeline").execution.runs[0]
    assert 0 == min(run.tailByTile) < max(run.tailByTile)
