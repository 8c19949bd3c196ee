"""Reports of the examples: every law, libpva's identities, and the same database from two processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision import pva
from popvision.formats.profile.model import CATEGORIES
from tests.example_runs import example_run, run_example
from tests.integration import time_laws
from tests.integration.plain_report import PlainReport
from tests.integration.test_report_laws import check_report
from tests.same_reports import META_OF_A_RUN

EXAMPLES = {
    "chain": ["matmul_chain.py", "--plan"],
    "chain_hw": ["matmul_chain.py", "--hw"],
    "train": ["train_mlp.py", "--epochs", "1", "--hidden", "16"],
    "tut1": ["tut1_variables.py"],
    "tut2": ["tut2_operations.py"],
    "tut3": ["tut3_vertices.py"],
    "memory": ["out_of_memory.py"],
}
#: columns that differ between two equal runs: host times and identities
VOLATILE = {"host_start_us", "host_end_us"}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The report folder of an example, run once."""
    return lambda name: example_run(tmp_path_factory, *EXAMPLES[name]).folder


#: The product too large for its tiles takes a minute on a busy machine; its report is checked in examples/ as well.
LAWFUL = [pytest.param(name, marks=pytest.mark.long) if name == "memory" else name for name in sorted(EXAMPLES)]


@pytest.mark.parametrize("name", LAWFUL)
def test_laws(name: str, example: Callable[[str], Path]) -> None:
    report = PlainReport(example(name))
    # An overflowing tile counts a million bytes one by one: two of them will do.
    check_report(report, list(range(0, report.tiles, max(1, report.tiles // (2 if name == "memory" else 8)))))
    if name == "memory":
        assert report.tile_memory[:, 4].max() > 0
        assert report.rows("SELECT id FROM runs") == []
    else:
        assert report.rows("SELECT id FROM runs")
    report.close()


def test_intervals_of_the_chain(example: Callable[[str], Path]) -> None:
    command = [sys.executable, "-m", "popvision", "export", "intervals", "--format", "csv", str(example("chain"))]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, line.split(","))) for line in text.splitlines() if line[0].isdigit()]
    report = PlainReport(example("chain"))
    time_laws.check_intervals(report, rows)
    report.close()


@pytest.mark.parametrize("name", [pytest.param("chain_hw", marks=pytest.mark.long), "train"])
def test_two_processes_write_the_same_database(name: str, example: Callable[[str], Path], tmp_path: Path) -> None:
    assert dump(example(name)) == dump(run_example(EXAMPLES[name], tmp_path / name).folder)


def dump(folder: Path) -> dict[str, list[Any]]:
    """Every table, less what is the host's time or an identity, and less the checksums over these."""
    report = PlainReport(folder)
    tables = {}
    for (table,) in report.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
        columns = [row[1] for row in report.rows(f"PRAGMA table_info({table})")]
        kept = [name for name in columns if name not in VOLATILE]
        rows = report.rows(f"SELECT {', '.join(kept)} FROM {table} ORDER BY {', '.join(kept)}")
        if table == "meta":
            rows = [(key, value.replace(str(folder), "FOLDER")) for key, value in rows if key not in META_OF_A_RUN]
        if table == "parts":
            rows = [row[:3] for row in rows if row[0] not in ("meta", "runs")]
        tables[table] = rows
    report.close()
    return tables


@pytest.fixture(scope="module", params=["chain_hw", "train"])
def opened(request: pytest.FixtureRequest, example: Callable[[str], Path]) -> Any:
    folder = example(request.param)
    return folder, pva.openReport(str(folder / "profile.pop"), str(folder / "debug.cbor"))


def test_peak_memory(opened: Any) -> None:
    """libpva notes 2.4.1: always live bytes + the largest step, as tiles, variables and steps give them."""
    compilation = opened[1].compilation
    tiles = list(compilation.tiles)
    always = sum(t.memory.alwaysLiveBytes for t in tiles)
    assert always == sum(v.size for v in compilation.alwaysLiveVariables)
    steps = list(compilation.livenessProgramSteps)
    peak = max(s.notAlwaysLiveMemory.bytes for s in steps)
    assert peak <= sum(t.memory.notAlwaysLiveBytes for t in tiles)
    assert peak > 0
    for step in steps[:: max(1, len(steps) // 5)]:
        assert step.notAlwaysLiveMemory.bytes == sum(v.size for v in step.notAlwaysLiveMemory.variables)


def test_live_bytes_of_a_tile(opened: Any) -> None:
    """2.4.2: bytes of a tile are its variables', always live and at every step."""
    compilation = opened[1].compilation
    tiles, steps = compilation.tiles, compilation.livenessProgramSteps
    for tile in range(0, len(tiles), max(1, len(tiles) // 5)):
        variables = compilation.alwaysLiveVariablesForTile(tile)
        assert tiles[tile].memory.alwaysLiveBytes == sum(v.size for v in variables)
        found = []
        for step in list(steps):
            memory = step.notAlwaysLiveMemoryForTile(tile)
            assert memory.bytes == sum(v.size for v in memory.variables)
            found.append(memory.bytes)
        assert max(found) == tiles[tile].memory.notAlwaysLiveBytes


def test_lowered_variables_have_the_size_of_theirs(opened: Any) -> None:
    """2.4.4: on each tile lowered variables of a variable add up to its size there; a step lists what is live."""
    compilation = opened[1].compilation
    for tile in (0, 7):
        always = {v: v.size for v in compilation.alwaysLiveVariablesForTile(tile)}
        live: dict[Any, int] = {}
        for step in list(compilation.livenessProgramSteps):
            for v in step.notAlwaysLiveMemoryForTile(tile).variables:
                live[v] = max(live.get(v, 0), v.size)
        sums: dict[Any, int] = {}
        for part in compilation.loweredVariables.forTile(tile):
            if part.hasUnloweredVar:
                sums[part.unloweredVar] = sums.get(part.unloweredVar, 0) + part.bytes
        assert len(sums) > 10
        assert all(v.size == size for v, size in sums.items())
        assert all(sums[v] == size for v, size in always.items() if v in sums)
        assert all(0 < live[v] <= sums[v] for v in sums if v not in always)
        assert {v.name for v in (always | live).keys() - sums.keys()} <= set(CATEGORIES)


def test_cycles_of_a_tile_and_the_tail_are_the_total(opened: Any) -> None:
    """2.5.1: on every tile, what its steps take and the run's tail add up to the total."""
    folder, report = opened
    execution = report.execution
    total = execution.totalCycles.total
    sums = np.zeros(len(report.compilation.tiles), np.int64)
    for step in execution.steps:
        sums += np.array(step.cyclesByTile, np.int64)
    assert sums.max() <= total
    plain = PlainReport(folder)
    tails = sum(plain.tail(run, 0) for (run,) in plain.rows("SELECT id FROM runs"))
    assert (tails + sums == total).all()
    plain.close()


def test_windows_of_steps(opened: Any) -> None:
    """2.5.2: windows are absolute; those of one IPU follow each other. 2.5.6: bytes are counted per step and IPU."""
    last = 0
    for step in opened[1].execution.steps:
        ipu = step.ipus[0]
        assert ipu.allCycles.cyclesFrom.max == last
        assert ipu.allCycles.cyclesFrom.min <= ipu.allCycles.cyclesTo.min <= ipu.allCycles.cyclesTo.max
        assert ipu.cycles == ipu.allCycles.cyclesTo.max - ipu.allCycles.cyclesFrom.max
        assert ipu.dataIn >= 0
        assert ipu.dataOut >= 0
        last = ipu.allCycles.cyclesTo.max
    assert last == opened[1].execution.totalCycles.total


def test_stream_copies_come_in_threes(opened: Any) -> None:
    """2.5.3: Begin, Mid, End, with two triplets of the control at the start of each run."""
    for run in opened[1].execution.runs:
        names = [step.program.type.name for step in run.steps]
        copies = [name for name in names if name.startswith("StreamCopy")]
        assert copies == ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"] * (len(copies) // 3)
        first = [name for name in names if name != "Sync"][:6]
        assert first == ["StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"] * 2


def test_operations_of_training(example: Callable[[str], Path]) -> None:
    """The library calls of a training step: named, of the library's layer, with the programs that do their work."""
    folder = example("train")
    report = pva.openReport(str(folder / "profile.pop"), str(folder / "debug.cbor"))
    operations = list(pva.OperationAnalysis(report, "poplibs").operations)
    names = [operation.name for operation in operations]
    for wanted in ("layer1/fwd", "layer3/wu", "layer2/bwd"):
        assert any(wanted in name for name in names), names
    by_operation = [[p._id for p in operation.programs()] for operation in operations]
    for operation, programs in zip(operations, by_operation, strict=True):
        assert programs
        assert operation.firstStepIndex <= operation.lastStepIndex
        steps = report.compilation.livenessProgramSteps
        within = {steps[i].program._id for i in range(operation.firstStepIndex, operation.lastStepIndex + 1)}
        leaves = {p._id for p in operation.programs() if not p.children}
        without_index = {p for p in leaves if report.compilation.programs[p].type.name in ("WriteUndef", "Sync")}
        assert leaves <= within | without_index
    seen = [program for programs in by_operation for program in programs]
    assert len(seen) == len(set(seen)), "a program belongs to one call"
