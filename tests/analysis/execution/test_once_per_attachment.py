"""Runs that happen once per attachment are told apart and are in no share; nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import popvision
from popvision.analysis.compare.metrics import measure
from popvision.analysis.compare.what_changed import waterfalls
from popvision.analysis.execution.once import counted, set_apart
from popvision.analysis.execution.phases import PHASES, phase_totals
from popvision.analysis.insights.rules import insights
from popvision.analysis.operations.operations import operations
from popvision.analysis.operations.table import operation_table
from popvision.analysis.programs.program_tree import roots
from popvision.analysis.programs.table import column_totals, program_columns, program_table
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.lines import line_figures
from popvision.analysis.summary.headline import headline
from popvision.cli import group
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, compileGraph
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops, poputil


def run(folder: Path, once: tuple[int, ...], programs: tuple[int, ...] = (0, 1, 1, 0)) -> ReportSource:
    """The report of an engine whose program 0 writes 4,096 weights and whose program 1 adds 8 of them."""
    model = IPUModel()
    model.tilesPerIPU = 8
    device = model.createDevice()
    graph = Graph(device)
    popops.addCodelets(graph)
    weights = graph.addVariable(FLOAT, [4096], "weights")
    poputil.mapTensorLinearly(graph, weights)
    stream = graph.addHostToDeviceFIFO("weights", FLOAT, 4096)
    send, step = Sequence([Copy(stream, weights, False, "weights/copy")]), Sequence()
    few = weights.slice(0, 8)
    popops.addInPlace(graph, few, few, step, "net/add")
    options = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    executable = compileGraph(graph, [send, step], options)
    executable.once_per_attachment = once
    with Engine(executable, options) as engine:
        engine.load(device)
        engine.connectStream("weights", np.zeros(4096, np.float32))
        for index in programs:
            engine.run(index, ("weightsFromHost", "step")[index])
    return ReportSource(folder)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return run(tmp_path_factory.mktemp("once"), (0,))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    """The same runs of a plain Poplar program."""
    return run(tmp_path_factory.mktemp("plain"), ())


def test_the_runs_are_told_with_their_cycles(source: ReportSource) -> None:
    runs, apart = source.reader.runs(), set_apart(source)
    assert apart.runs.tolist() == [True, False, False, True]
    sent = int(runs.cycles[0] + runs.cycles[3])
    assert apart.cycles == {"weightsFromHost": sent}
    sentence = f"Once per attachment, not in shares: weightsFromHost {sent:,} cycles."
    assert apart.sentence == sentence == headline(source).apart == insights(source).apart


def test_a_plain_program_sets_nothing_apart(plain: ReportSource) -> None:
    assert not set_apart(plain).runs.any()
    assert headline(plain).apart == ""
    longest = headline(plain).longest
    assert longest is not None
    assert longest.type.startswith("StreamCopy")


def test_what_is_all_there_is_counts_as_any(tmp_path: Path) -> None:
    source = run(tmp_path, (0,), (0,))
    assert not set_apart(source).runs.any()
    shares = headline(source).shares
    assert shares is not None
    assert sum(shares.values()) == pytest.approx(1)


def test_operations_rank_the_step_first(source: ReportSource, plain: ReportSource) -> None:
    table = operation_table(source, "poplibs")
    assert table["name"][0] == "net/add"
    sums, both = operations(source, "poplibs"), operations(plain, "poplibs")
    assert sums.cycles is not None
    assert both.cycles is not None
    total = source.reader.total_cycles()
    assert int(sums.cycles.cycles.sum()) == total - set_apart(source).total
    assert (sums.cycles.cycles + sums.cycles.cycles_apart).tolist() == both.cycles.cycles.tolist()
    assert not both.cycles.cycles_apart.any()
    assert sums.apart == set_apart(source).sentence
    assert both.apart == ""


def test_shares_are_those_of_the_steps(source: ReportSource, plain: ReportSource) -> None:
    totals, steps = phase_totals(source), phase_totals(plain, [1, 2])
    assert (totals.tile_cycles, totals.length) == (steps.tile_cycles, steps.length)
    assert sum(totals.share(phase) for phase in PHASES) == pytest.approx(1)
    found, whole = insights(source), insights(plain)
    assert found.cycles == whole.cycles - set_apart(source).total
    saved = [{one.rule: one.saves for one in each.findings}["host"] for each in (found, whole)]
    steps_of_host = 2 * 2 * (90 + 21 + 10)  # the engine's choice of a program, in two runs
    assert saved[0] == steps_of_host
    assert saved[1] > 2 * 2744


def test_frames_and_commands_tell_them(source: ReportSource) -> None:
    sentence = set_apart(source).sentence
    with popvision.open(source.folder) as report:
        frame = report.operations("poplibs")
        assert frame.attrs["apart"] == sentence
        assert int(frame["apart_cycles"].sum() + frame["total_cycles"].sum()) == source.reader.total_cycles()
    query = ["query", str(source.folder), "select sum(apart_cycles) as apart from operations", "--json"]
    answer = json.loads(CliRunner().invoke(group, query).output)
    assert answer["rows"][0] in ([set_apart(source).total], {"apart": set_apart(source).total})
    for command in (["operations", "--layer", "poplibs"], ["insights"]):
        result = CliRunner().invoke(group, [command[0], str(source.folder), *command[1:]])
        assert result.exit_code == 0
        assert sentence in " ".join(result.output.split())


def test_the_program_tree_counts_the_steps_alone(source: ReportSource, plain: ReportSource) -> None:
    ours, theirs = program_columns(source), program_columns(plain)
    apart, total = set_apart(source), counted(source).total_cycles
    assert column_totals(source)["total"] == total == source.reader.total_cycles() - apart.total
    assert (ours["self"] + ours["apart"]).tolist() == theirs["self"].tolist()
    assert (theirs["apart"] == -1).all()
    roots_of_tree = [root.program for root in roots(source)]
    tail = total - int(ours["total"][roots_of_tree].sum())
    assert 0 <= tail < 100  # from the last step of each run to its end
    first = int(program_table(source)["id"][0])
    assert not programs_of(source).type[first].startswith("StreamCopy")


def test_lines_add_up_to_the_steps(source: ReportSource) -> None:
    sums = line_figures(source)
    assert sums.cycles is not None
    assert int(sums.cycles.sum()) == counted(source).total_cycles
    assert sums.remarks == [set_apart(source).sentence]


def test_compared_metrics_are_those_of_the_steps(source: ReportSource, plain: ReportSource) -> None:
    ours, steps = measure(source), source.reader.runs().cycles[1:3]
    assert ours["cycles"] == int(steps.sum())
    assert ours["cycles_apart"] == set_apart(source).total
    assert (ours["runs"], ours["cycles_per_run"]) == (2, int(steps.sum()) / 2)
    theirs = measure(plain)
    assert (theirs["runs"], theirs["cycles_apart"]) == (4, 0)
    assert theirs["cycles"] == source.reader.total_cycles()
    for waterfall in waterfalls(source, plain):
        if waterfall.kind == "cycles":
            assert waterfall.total.difference == set_apart(source).total
