"""Rules of late tiles, of vertices and plans, and of memory that could be free: a planted cause for each, and a program
beside it in which the cause is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from popvision.analysis.insights.finding import MOST_PLACES, Finding
from popvision.analysis.insights.rules import insights
from popvision.analysis.report.source import ReportSource
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Copy, Repeat, Sequence
from simulator.poplibs import popops
from tests.analysis.execution.overlap_case import write_overlap
from tests.plain_report import CAPACITY, PlainProgram, PlainReport, PlainVariable

TILES = 8
ALL = range(TILES)
SYNC = PlainProgram("Sync", "Internal")
DATA = PlainVariable("weights", dict.fromkeys(ALL, 40_000))
AMP = "poplin::ConvPartial1x1Out<{},{},true,false,16,4,false>"


def findings(report: PlainReport, folder: Path) -> dict[str, Finding]:
    report.write(folder)
    return {each.rule: each for each in insights(ReportSource(folder)).findings}


def computing(name: str, cycles: int | list[int], **more: object) -> PlainProgram:
    return PlainProgram("OnTileExecute", name, cycles, **more)  # type: ignore[arg-type]


def program(*leaves: PlainProgram, data: PlainVariable = DATA) -> PlainReport:
    return PlainReport([*leaves], [data], TILES)


def test_a_tile_that_is_last_after_several_programs(tmp_path: Path) -> None:
    """Tile 2 takes 90 cycles more in each of four programs, none of which is 2 % by itself out of balance."""
    late = [190 if tile == 2 else 100 for tile in ALL]
    leaves = [each for number in range(4) for each in (computing(f"small{number}", late), SYNC)]
    found = findings(program(computing("large", 1_000), SYNC, *leaves), tmp_path)["last_tile"]
    mean = 4 * (7 * 90 // TILES)
    assert found.saves == pytest.approx(mean, abs=4)
    assert found.evidence[0].id == 2
    assert [each.name for each in found.evidence[1:]] == ["small0", "small1", "small2"]
    assert found.sentence.startswith("Tile 2 is the straggler at 4 syncs.")


def test_a_tile_that_is_late_once_is_a_matter_of_balance(tmp_path: Path) -> None:
    slow = [1_900 if tile == 2 else 1_000 for tile in ALL]
    assert "last_tile" not in findings(program(computing("large", slow), SYNC), tmp_path)


def test_an_exchange_into_one_tile(tmp_path: Path) -> None:
    into_one = PlainProgram("DoExchange", "gather/ExchangePre", 2_000, [(tile, 5, 1_000) for tile in ALL if tile != 5])
    found = findings(program(into_one, computing("work", 5_000)), tmp_path)["received_by_few"]
    assert found.saves == int((7_000 - 7_000 // 8) / 4)
    assert (found.evidence[1].id, found.evidence[1].value) == (5, 7_000)


def test_an_exchange_into_all_tiles(tmp_path: Path) -> None:
    to_all = PlainProgram("DoExchange", "halo/ExchangePre", 2_000, [(tile, (tile + 1) % TILES, 1_000) for tile in ALL])
    assert "received_by_few" not in findings(program(to_all, computing("work", 5_000)), tmp_path)


@pytest.mark.parametrize(
    "vertex",
    [
        "poplin::ConvPartialHorizontalMac1x1<half,float,true>",
        "poplin::OuterProduct<float>",
        "popops::BroadcastVectorOuterByRow1DInPlace<popops::expr::BinaryOpType::ADD,float,true>",
    ],
)
def test_vertices_on_slow_paths(vertex: str, tmp_path: Path) -> None:
    leaves = (computing("product", 700, vertex=vertex, line=3), SYNC, computing("rest", 3_000))
    found = findings(program(*leaves), tmp_path)["slow_vertices"]
    assert (found.saves, found.evidence[0].name, found.evidence[0].line) == (700, "product", 3)
    assert vertex in found.sentence


def test_many_tiny_vertices(tmp_path: Path) -> None:
    """600 vertices a tile share 6 x 1,200 thread cycles: 12 each."""
    leaves = (computing("scatter", 1_200, instances=600, line=4), SYNC, computing("rest", 3_000))
    found = findings(program(*leaves), tmp_path / "tiny")["tiny_vertices"]
    assert found.saves == 1_200 - 1_200 * 6 // 600
    assert f"{600 * TILES:,} vertices, up to 600 on a tile, of 12 thread cycles each" in found.sentence
    large = replace(leaves[0], instances=24)
    assert "tiny_vertices" not in findings(program(large, *leaves[1:]), tmp_path / "large")


def test_products_in_float_and_in_half(tmp_path: Path) -> None:
    leaves = (computing("product", 3_000, vertex=AMP.format("float", "float")), SYNC, computing("rest", 1_000))
    found = findings(program(*leaves), tmp_path / "float")["float_products"]
    assert found.saves == 3_000 * 3 // 4
    half = replace(leaves[0], vertex=AMP.format("half", "float"))
    assert not findings(program(half, *leaves[1:]), tmp_path / "half")


def test_passes_that_the_memory_does_not_need(tmp_path: Path) -> None:
    plan = "split x on 8 tiles\n4 passes over output channels, one after another\ntotal: 9 cycles"
    messages = [(tile, (tile + 1) % TILES, 256) for tile in ALL]
    exchange = PlainProgram("DoExchange", "product/ExchangePre", 900, messages, line=8, plan=plan)
    found = findings(program(exchange, SYNC, computing("rest", 3_000)), tmp_path / "room")["serial_passes"]
    assert found.saves == 900 - 900 // 4
    assert found.evidence[0].line == 8
    full = PlainVariable("weights", dict.fromkeys(ALL, CAPACITY - 8_000))
    report = program(exchange, SYNC, computing("rest", 3_000), data=full)
    assert "serial_passes" not in findings(report, tmp_path / "full")


def test_guesses_that_carry_the_program(tmp_path: Path) -> None:
    leaves = (computing("own", 1_000, provenance="guess"), SYNC, computing("rest", 2_000))
    found = findings(program(*leaves), tmp_path)["guesses"]
    assert (found.saves, found.evidence[0].name) == (0, "own")
    assert "1,000 cycles" in found.sentence


def test_operands_that_are_gathered_within_tiles(tmp_path: Path) -> None:
    leaves = (computing("product/PreArrange-0", 800), computing("product", 3_000), SYNC)
    found = findings(program(*leaves), tmp_path)["rearranging"]
    assert (found.saves, found.evidence[0].name) == (800, "product/PreArrange-0")


def test_gaps_on_a_full_tile(tmp_path: Path) -> None:
    below = PlainVariable("below", {3: 8_000})
    above = PlainVariable("above", {3: 100_000}, gap=CAPACITY - 110_000)
    found = findings(PlainReport([computing("work", 1_000)], [below, above], TILES), tmp_path)["gaps"]
    assert (found.saves, found.evidence[0].id) == (CAPACITY - 110_000, 3)


def test_a_full_interleaved_region(tmp_path: Path) -> None:
    half = CAPACITY // 2
    operands = PlainVariable("operands", {3: half - 800}, region="interleaved")
    report = PlainReport([computing("work", 1_000)], [DATA, operands], TILES, region_split=half)
    found = findings(report, tmp_path / "full")["interleaved"]
    assert (found.evidence[0].id, found.evidence[0].value) == (3, half - 800)
    assert f"{half - 40_000:,} B" in found.sentence
    fewer = replace(operands, bytes={3: half // 2})
    assert "interleaved" not in findings(replace(report, variables=[DATA, fewer]), tmp_path / "room")


def test_constants_where_memory_is_short(tmp_path: Path) -> None:
    table = PlainVariable("table", dict.fromkeys(ALL, 120_000), category="constant")
    found = findings(PlainReport([computing("work", 1_000)], [DATA, table], TILES), tmp_path / "short")["constants"]
    assert found.saves == 8 * 120_000
    small = replace(table, bytes=dict.fromkeys(ALL, 20_000))
    assert not findings(PlainReport([computing("work", 1_000)], [DATA, small], TILES), tmp_path / "room")


def test_variables_that_one_program_uses(tmp_path: Path) -> None:
    once = PlainVariable("embedding", dict.fromkeys(ALL, 120_000))
    leaves = [computing("lookup", 1_000, uses=(0, 1)), SYNC, computing("rest", 1_000, uses=(0,))]
    found = findings(PlainReport(leaves, [DATA, once], TILES), tmp_path)["used_once"]
    assert (found.saves, [each.name for each in found.evidence]) == (8 * 120_000, ["embedding"])
    assert "used by lookup" in found.sentence


def test_a_rule_lists_its_largest_places_and_counts_the_others(tmp_path: Path) -> None:
    slow = [3_000 if tile == 3 else 300 for tile in ALL]
    leaves = [each for number in range(5) for each in (computing(f"part{number}", slow), SYNC)]
    PlainReport(leaves, [DATA], TILES).write(tmp_path)
    found = insights(ReportSource(tmp_path))
    assert [each.rule for each in found.findings].count("imbalance") == MOST_PLACES
    assert found.further == {"imbalance": 2}


def test_exchanges_that_are_alike(tmp_path: Path) -> None:
    messages = [(tile, (tile + 1) % TILES, 256) for tile in ALL]
    alike = [PlainProgram("DoExchange", f"layer{number}/ExchangePre", 90, messages) for number in range(3)]
    other = PlainProgram("DoExchange", "other/ExchangePre", 90, messages[:1])
    small = PlainVariable("weights", dict.fromkeys(ALL, 120))
    report = program(*alike, other, computing("work", 5_000), data=small)
    found = findings(report, tmp_path / "alike")["alike_exchanges"]
    assert found.saves == 2 * 24 * TILES
    assert [each.name for each in found.evidence] == [each.name for each in alike]
    assert "has 3 of 192 B each" in found.sentence
    different = program(alike[0], other, computing("work", 5_000), data=small)
    assert "alike_exchanges" not in findings(different, tmp_path / "different")


def test_transfers_that_wait_beside_others_that_overlap(tmp_path: Path) -> None:
    alone = insights(ReportSource(write_overlap(tmp_path / "alone", alone=40))).findings
    (found,) = (each for each in alone if each.rule == "overlap_lost")
    assert (found.saves, found.share, found.evidence[0].name) == (40, 40 / 150, "images")
    assert "1 of 2 transfers run beside computing" in found.sentence
    beside = insights(ReportSource(write_overlap(tmp_path / "beside"))).findings
    assert "overlap_lost" not in [each.rule for each in beside]


def test_an_ipu_that_comes_last(tmp_path: Path) -> None:
    """IPU 0 works on 40 times as many elements as IPU 1, and both meet at the copy between them."""
    machine = IPUModel()
    machine.numIPUs = 2
    device = machine.createDevice()
    graph = Graph(device)
    first, second = (graph.createVirtualGraph(ipu * 1472, (ipu + 1) * 1472) for ipu in range(2))
    large, small = graph.addVariable(FLOAT, [40_000], "large"), graph.addVariable(FLOAT, [1_000], "small")
    first.setTileMapping(large, 3)
    second.setTileMapping(small, 5)
    body = Sequence()
    popops.addInPlace(first, large, large, body)
    popops.addInPlace(second, small, small, body)
    body.add(Copy(large.slice(0, 1_000), small))
    with Engine(graph, Repeat(3, body), {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}) as engine:
        engine.load(device)
        engine.run()
    (found,) = (each for each in insights(ReportSource(tmp_path)).findings if each.rule == "last_ipu")
    assert found.sentence.startswith("IPU 0 is the straggler at")
    assert found.saves > 3 * 10_000
