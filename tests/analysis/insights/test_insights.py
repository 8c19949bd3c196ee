"""What stands out: a planted cause for each rule, which the first finding names, and healthy programs with none."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.scale_sim.to_report import main
from popvision.analysis.insights.finding import TITLES, Finding, Insights
from popvision.analysis.insights.rules import OF_CYCLES, RULES, insights
from popvision.analysis.memory.capacity import NEVER_RAN, NO_RUN
from popvision.analysis.report.source import ReportSource
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import popops, poputil
from tests.plain_report import CAPACITY, PlainProgram, PlainReport, PlainVariable

#: A run of SCALE-Sim.
RUN = Path(__file__).resolve().parents[3] / "examples/scale_sim/encoder"
TILES = 8
ALL = range(TILES)
SYNC = PlainProgram("Sync", "Internal")
DATA = PlainVariable("weights", dict.fromkeys(ALL, 40_000))


def looked_at(report: PlainReport, folder: Path) -> Insights:
    report.write(folder)
    return insights(ReportSource(folder))


def computing(cycles: int | list[int], name: str = "layer/Compute", line: int = 0) -> PlainProgram:
    return PlainProgram("OnTileExecute", name, cycles, line=line)


def exchanging(cycles: int) -> PlainProgram:
    return PlainProgram("DoExchange", "layer/ExchangePre", cycles, [(tile, (tile + 1) % TILES, 256) for tile in ALL])


def first(report: PlainReport, folder: Path) -> Finding:
    return looked_at(report, folder).findings[0]


def test_a_slow_tile_is_named_with_its_line_and_its_bound(tmp_path: Path) -> None:
    slow = [4_000 if tile == 3 else 400 for tile in ALL]
    found = first(PlainReport([SYNC, computing(slow, line=21), SYNC], [DATA], TILES), tmp_path)
    assert found.rule == "imbalance"
    mean = (4_000 + 7 * 400) // 8
    assert found.saves == 4_000 - mean
    program, tile = found.evidence
    assert (program.kind, program.line, program.file.endswith("model.py")) == ("program", 21, True)
    assert (tile.kind, tile.id, tile.value) == ("tile", 3, 4_000)
    assert "tile 3" in found.sentence


def test_work_on_few_tiles(tmp_path: Path) -> None:
    found = first(PlainReport([SYNC, computing([2_000] + [0] * 7), SYNC], [DATA], TILES), tmp_path)
    assert (found.rule, found.saves) == ("few_tiles", 2_000 - 2_000 // 8)
    assert "1 tile of 8" in found.sentence


def test_exchange_that_takes_longer_than_computing(tmp_path: Path) -> None:
    found = first(PlainReport([SYNC, exchanging(5_000), computing(1_000)], [DATA], TILES), tmp_path)
    assert (found.rule, found.saves) == ("exchange", 5_000)


def test_waiting_for_the_host_by_stream(tmp_path: Path) -> None:
    copies = [
        PlainProgram("StreamCopyBegin", "images", 100),
        PlainProgram("StreamCopyMid", "images", 3_000),
        PlainProgram("StreamCopyEnd", "images", 100),
        PlainProgram("StreamCopyMid", "labels", 50),
        PlainProgram("StreamCopyMid", "results", 0),
    ]
    found = first(PlainReport([*copies, computing(2_000)], [DATA], TILES), tmp_path)
    assert (found.rule, found.saves) == ("host", 3_250)
    assert [(each.name, each.value) for each in found.evidence] == [("images", 3_200), ("labels", 50)]


def test_many_small_steps_pay_for_syncs(tmp_path: Path) -> None:
    steps = [each for number in range(20) for each in (SYNC, computing(40, f"op{number}/Compute"))]
    found = first(PlainReport(steps, [DATA], TILES), tmp_path)
    assert found.rule == "small_steps"
    assert found.saves == sum(1 for each in steps if each is SYNC) * 10


def test_a_program_that_does_not_fit_comes_first(tmp_path: Path) -> None:
    large = PlainVariable("table", {5: CAPACITY + 8_000})
    slow = [4_000 if tile == 3 else 400 for tile in ALL]
    found = looked_at(PlainReport([SYNC, computing(slow)], [large], TILES), tmp_path).findings
    assert [each.rule for each in found][:2] == ["out_of_memory", "imbalance"]
    assert found[0].saves == 8_000
    assert found[0].evidence[0].id == 5


def test_little_headroom(tmp_path: Path) -> None:
    nearly = PlainVariable("table", {5: CAPACITY - 1_000})
    found = first(PlainReport([SYNC, computing(1_000)], [nearly], TILES), tmp_path)
    assert (found.rule, found.saves, found.evidence[0].id) == ("little_headroom", 0, 5)
    assert "1,000 B left" in found.sentence


def test_the_largest_temporary_at_the_peak(tmp_path: Path) -> None:
    small = PlainVariable("weights", dict.fromkeys(ALL, 8_000))
    large = PlainVariable("layer/partials", dict.fromkeys(ALL, 16_000), live=(0, 1))
    found = first(PlainReport([SYNC, computing(1_000)], [small, large], TILES), tmp_path)
    assert (found.rule, found.saves) == ("large_temporary", 8 * 16_000)
    assert found.share == pytest.approx(16 / 24)
    variable, program = found.evidence
    assert (variable.name, program.name) == ("layer/partials", "layer/Compute")
    assert "It is live until layer/Compute (index 1)." in found.sentence


def test_code_larger_than_data(tmp_path: Path) -> None:
    variables = [
        PlainVariable("weights", dict.fromkeys(ALL, 1_000)),
        PlainVariable("vertexCode", dict.fromkeys(ALL, 9_000), category="vertexCode"),
    ]
    found = first(PlainReport([SYNC, computing(1_000)], variables, TILES), tmp_path)
    assert (found.rule, found.saves) == ("code_larger_than_data", 8 * 8_000)


@pytest.mark.parametrize(
    "programs",
    [
        [SYNC, computing(1_000), SYNC],
        [SYNC, exchanging(100), computing(1_000)],
        [SYNC, computing([900 + 10 * tile for tile in ALL]), SYNC, exchanging(300), computing(2_000)],
        [PlainProgram("StreamCopyMid", "labels", 50), computing(5_000)],
        [SYNC, computing(5_000), SYNC, computing(40, "loss/Compute")],
        [SYNC, computing([1_000 - 20 * (tile == 3) for tile in ALL]), SYNC, computing(1_000)],
        [
            PlainProgram("StreamCopyMid", "images", 300),
            SYNC,
            computing(4_000),
            PlainProgram("StreamCopyMid", "loss", 50),
        ],
        [SYNC, exchanging(400), computing(2_000, "forward"), SYNC, exchanging(400), computing(2_000, "backward")],
        [SYNC, computing(3_000, "product/Convolve"), SYNC, computing(100, "product/PreArrange-0")],
        [SYNC, *[computing(1_500, f"layer{number}") for number in range(12)], SYNC],
    ],
)
def test_nothing_stands_out_in_a_healthy_program(programs: list[PlainProgram], tmp_path: Path) -> None:
    found = looked_at(PlainReport(programs, [DATA], TILES), tmp_path)
    assert found.findings == ()
    assert found.not_looked_at == ()
    assert found.sentence == "Nothing stands out."


def test_a_foreign_report_gets_no_advice_on_poplar(tmp_path: Path) -> None:
    """A run of another simulator on one array with a memory that is always full."""
    main(RUN, tmp_path)
    found = insights(ReportSource(tmp_path))
    assert found.cycles == 28_448
    assert [(each.rule, each.change) for each in found.findings] == [("host", ""), ("little_headroom", "")]


def test_a_report_without_runs_says_what_was_not_looked_at(tmp_path: Path) -> None:
    folder = _compiled(tmp_path, {"autoReport.outputGraphProfile": "true"})
    found = insights(ReportSource(folder))
    assert [each.rule for each in found.not_looked_at] == list(OF_CYCLES)
    assert {each.reason for each in found.not_looked_at} == {NO_RUN}


def test_a_program_that_never_ran_is_told_to_run_and_no_option(tmp_path: Path) -> None:
    folder = _compiled(tmp_path, {"autoReport.all": "true"})
    found = insights(ReportSource(folder))
    assert {each.reason for each in found.not_looked_at} == {NEVER_RAN}
    assert "autoReport" not in NEVER_RAN


def test_a_copy_in_a_loop(tmp_path: Path) -> None:
    """A layout copy in a Repeat of ten trips: nine tenths of it could go."""
    folder = _compiled(tmp_path, {"autoReport.all": "true"}, runs=2)
    found = [each for each in insights(ReportSource(folder)).findings if each.rule == "repeated_copy"]
    assert found
    for each in found:
        cycles = each.evidence[0].value
        assert each.saves == cycles - cycles * 2 // 20
        assert each.evidence[0].file == __file__


def _compiled(folder: Path, options: dict[str, str], runs: int = 0) -> Path:
    """A copy of a transposed matrix and an addition, ten times."""
    device = IPUModel().createDevice()
    graph = Graph(device)
    source, target = (graph.addVariable(FLOAT, [256, 256], name) for name in ("source", "target"))
    poputil.mapTensorLinearly(graph, source)
    poputil.mapTensorLinearly(graph, target)
    body = Sequence()
    body.add(Copy(source.transpose(), target))
    popops.addInPlace(graph, target, target, body)
    with Engine(graph, Repeat(10, body), {**options, "autoReport.directory": str(folder)}) as engine:
        if runs:
            engine.load(device)
        for _ in range(runs):
            engine.run()
    return folder


def test_rules_are_named_as_their_findings() -> None:
    assert len(set(RULES)) == len(RULES) == 25
    assert set(TITLES) == set(RULES)
