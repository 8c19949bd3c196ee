"""The scripts in examples/analysis print numbers equal to those of the files, for sample reports and a training with
named layers."""

from __future__ import annotations

import importlib
import re
import sqlite3
import sys
from pathlib import Path

import pytest

from popvision import pva
from tests.example_runs import example_run
from tests.samples import SAMPLES

FOLDER = Path(__file__).parents[2] / "examples" / "analysis"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
REPORTS = ("matmul_chain", "pipeline", "out_of_memory")


@pytest.fixture
def printed(monkeypatch, tmp_path, capsys):
    """`printed(script, folder, *words)`: (lines, return value of its main)."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)

    def run(script: str, folder: Path, *words: str) -> tuple[list[str], object]:
        result = importlib.import_module(script).main(str(folder), *words)
        return capsys.readouterr().out.splitlines(), result

    return run


@pytest.fixture(scope="module")
def layered(tmp_path_factory):
    """The report of the layered training on 16 tiles."""
    run = example_run(tmp_path_factory, "layered_training.py", "--tiles", "16", "--steps", "2")
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("squared error") == 2
    return run.folder


def numbers(line: str) -> list[int]:
    return [int(text.replace(",", "")) for text in re.findall(r"\d[\d,]*", line)]


def asked(folder: Path, query: str) -> list[tuple]:
    with sqlite3.connect(f"file:{folder / 'profile.pop'}?mode=ro", uri=True) as db:
        return db.execute(query).fetchall()


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_on_sample_reports(printed, script, report):
    lines, _ = printed(script, SAMPLES / report)
    assert lines


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_on_layered_training(printed, layered, script):
    lines, _ = printed(script, layered)
    assert len(lines) > 1


def test_tile_plot_adds_up(printed, layered, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    lines, _ = printed("tile_plot", layered)
    ((tiles, total, without),) = asked(layered, "SELECT count(*), sum(total), sum(excluding_gaps) FROM memory_by_tile")
    assert numbers(lines[0]) == [tiles, total, without]
    assert len(lines) == 1 + tiles


def test_visitor_counts_vertices(printed, layered):
    lines, _ = printed("visitor", layered)
    report = pva.openReport(str(layered / "profile.pop"))
    executes = [p for p in report.compilation.programs if p.type == pva.Program.Type.OnTileExecute]
    counts: dict[str, int] = {}
    for program in executes:
        for row in program.computeset.vertices:
            counts[row.type.name] = counts.get(row.type.name, 0) + sum(row.countByTile)
    name, count = max(counts.items(), key=lambda item: item[1])
    assert f"  {count:>9,} {name}" in lines


def test_peak_is_the_sum_of_its_parts(printed, layered):
    lines, _ = printed("peak_liveness", layered, "1000000")
    ((always,),) = asked(layered, "SELECT sum(bytes) FROM variables WHERE always_live")
    ((here,),) = asked(layered, "SELECT max(bytes) FROM liveness")
    assert numbers(lines[1]) == [always + here, always, here]
    assert sum(numbers(line)[0] for line in lines[2:]) == always + here


def test_operations_have_memory(printed, layered):
    lines, _ = printed("operation_memory", layered, "1000")
    rows = [line.split() for line in lines[1:]]
    names = {row[-1] for row in rows}
    assert {f"layer{n}/{part}" for n in range(1, 7) for part in ("fwd", "bwd", "wu", "update")} <= names
    assert all(int(row[0].replace(",", "")) > 0 for row in rows)


def test_bandwidth_counts_every_byte(printed, layered):
    lines, _ = printed("bandwidth", layered, "0", "1000")
    host = [line for line in lines if line.endswith("StreamCopyMid data/x")]
    assert numbers(host[0])[:3] == [2, 2 * 32 * 64 * 4, 0]  # two batches of 32 x 64 floats


def test_layers_account_for_all_cycles(printed, layered):
    lines, _ = printed("layers", layered)
    rows = {line.split("  ")[-1].strip(): numbers(line) for line in lines[1:]}
    assert {f"layer{n}" for n in range(1, 7)} | {"loss"} <= rows.keys()
    assert sum(row[0] for row in rows.values()) == asked(layered, "SELECT sum(cycles) FROM runs")[0][0]
    assert all(rows[f"layer{n}"][0] > 0 for n in range(1, 7))


def test_stages_cover_all_steps_and_cut_no_operation(printed, layered):
    lines, _ = printed("pipeline_split", layered, "3")
    stages = [re.match(r"stage \d: steps (\d+)-(\d+), ([\d,]+) B", line).groups() for line in lines[1:]]
    begins, ends = [int(s[0]) for s in stages], [int(s[1]) + 1 for s in stages]
    ((steps,),) = asked(layered, "SELECT count(*) FROM liveness")
    assert (begins, ends[-1], len(stages)) == ([0, *ends[:-1]], steps, 3)
    operations = pva.OperationAnalysis(pva.openReport(str(layered / "profile.pop"))).operations
    for operation in (op for op in operations if op.programs()):
        assert not any(operation.firstStepIndex < cut <= operation.lastStepIndex for cut in begins[1:])
    whole = printed("pipeline_split", layered, "1")[0][1]
    assert all(numbers(line)[3] <= numbers(whole)[3] for line in lines[1:])


def test_what_does_not_fit_is_named(printed):
    lines, result = printed("out_of_memory", SAMPLES / "out_of_memory")
    ((over,),) = asked(SAMPLES / "out_of_memory", "SELECT count(*) FROM memory_by_tile WHERE overflowed > 0")
    assert result == 1
    assert numbers(lines[1])[0] == over > 0
    assert printed("out_of_memory", SAMPLES / "train_mlp")[1] == 0


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_on_1472_tiles(printed, tmp_path_factory, script):
    run = example_run(tmp_path_factory, "layered_training.py")
    lines, _ = printed(script, run.folder)
    assert len(lines) > 1
