"""Detailed questions of `popvision.open`: source lines, worker lanes, blocks, host copies, windows, two reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popvision.formats.errors import FormatError, NotRecordedError
from popvision.formats.profile import model
from popvision.formats.profile.writer import ProfileWriter
from popvision.opened.report import OpenedReport
from popvision.query.run import run_query
from tests.plain_report import PlainProgram, PlainReport, PlainVariable
from tests.reports import i8, tiny_compilation, tiny_run, u4
from tests.samples import SAMPLES

PLAIN = PlainReport(
    [PlainProgram("OnTileExecute", "a", 100, line=3), PlainProgram("OnTileExecute", "b", 50, line=7)],
    [PlainVariable("v", {0: 64}, (0, 1)), PlainVariable("w", {0: 32})],
)


def test_source_lines(tmp_path: Path) -> None:
    report = OpenedReport(PLAIN.write(tmp_path / "r"))
    files = report.source_files()
    assert files.file[0] == "/home/user/model.py"
    assert files.total_cycles.sum() == report.runs().run_cycles.sum() == 150
    lines = report.source_lines("/home/user/model.py")
    assert dict(zip(lines.line, lines.total_cycles, strict=True)) == {3: 100, 7: 50}
    with pytest.raises(FormatError, match="source_files"):
        report.source_lines("other.py")


def test_worker_lanes(tmp_path: Path) -> None:
    report = OpenedReport(PLAIN.write(tmp_path / "r"))
    lanes = report.worker_lanes(0, 2)
    assert lanes.worker.tolist() == list(range(6))
    assert lanes.thread_cycles.tolist() == [100] * 6
    assert lanes.end_cycles.tolist() == [600] * 6
    with pytest.raises(FormatError, match="tile 99"):
        report.worker_lanes(0, 99)


def test_liveness_over_time(tmp_path: Path) -> None:
    report = OpenedReport(PLAIN.write(tmp_path / "r"))
    table = report.liveness_over_time()
    assert table.begin_cycle.tolist() == [0, 100]
    assert table.end_cycle.tolist() == [100, 150]
    assert table.live_bytes.tolist() == [96, 96]
    assert report.liveness_over_time(tile=1).live_bytes.tolist() == [0, 0]
    with pytest.raises(FormatError, match="run 1"):
        report.liveness_over_time(1)


def test_two_reports(tmp_path: Path) -> None:
    before = OpenedReport(PLAIN.write(tmp_path / "a"))
    after = OpenedReport(PLAIN.with_program(1, cycles=80).write(tmp_path / "b"))
    table = before.compared_programs(after)
    first = table.iloc[0]
    assert (first["name"], first.self_cycles, first.other_self_cycles) == ("b", 50, 80)
    assert (table.other_self_cycles[1:] == table.self_cycles[1:]).all()
    with pytest.raises(FormatError, match="by must be one of"):
        before.compared_programs(after, by="colour")


def test_host_copies() -> None:
    report = OpenedReport(SAMPLES / "train_mlp_wide")
    copies, exchanges = report.host_copies(), report.exchanges()
    host = exchanges[exchanges.type == "StreamCopyMid"]
    assert copies.to_device_bytes.sum() == host.total_received_bytes.sum() > 0
    assert copies.to_host_bytes.sum() == host.total_sent_bytes.sum()
    assert copies.executions.sum() == host.executions.sum()
    with pytest.raises(NotRecordedError, match="outputArchive"):
        report.binary_bytes()


def test_blocks_of_lightweight_profiling(tmp_path: Path) -> None:
    from dataclasses import replace

    block = model.TileBlocks(
        1, i8(3, -1, 2), u4(model.COMMON, model.OVERFLOW, model.FLUSH), i8(0, 10, 20), i8(9, 15, 43)
    )
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(replace(tiny_run(), blocks=[block]))
    report = OpenedReport(tmp_path)
    table = report.blocks(1)
    assert table.program.tolist() == [3, -1, 2]
    assert table.kind.tolist() == ["common", "overflow", "flush"]
    assert (table.end_cycle - table.begin_cycle).tolist() == [9, 5, 23]
    assert table.type.tolist() == ["DoExchange", "", "Sync"]
    rows = run_query(report.source, "select program, kind, begin_cycle, end_cycle from block_list where tile = 1").rows
    expected = table[["program", "kind", "begin_cycle", "end_cycle"]].to_numpy().tolist()
    assert [list(row) for row in rows] == expected
    with pytest.raises(NotRecordedError, match=r"profiler\.blocks"):
        report.blocks(0)
    with pytest.raises(FormatError, match="tile 4 does not exist"):
        report.blocks(4)


def test_sections_of_the_binary(tmp_path: Path) -> None:
    with pytest.raises(NotRecordedError):
        OpenedReport(PLAIN.write(tmp_path / "r")).binary_bytes()
    assert np.asarray(OpenedReport(tmp_path / "r").tiles().tile).tolist() == list(range(8))


def test_windows_of_time() -> None:
    report = OpenedReport(SAMPLES / "matmul_chain_hardware")
    whole, phases = report.window(), report.phases(0)
    assert whole.tile_cycles.tolist() == phases.tile_cycles.tolist()
    assert whole.time_share.sum() == pytest.approx(1)
    assert 0 < whole.attrs["utilisation"] < 1
    total = int(report.runs().run_cycles.sum())
    halves = [report.window(0, total // 2), report.window(total // 2, total)]
    assert sum(half.tile_cycles for half in halves).tolist() == whole.tile_cycles.tolist()
    groups = report.grouped_steps("type")
    steps = report.steps_on_ipu(0)
    assert dict(zip(groups.name, groups.total_cycles, strict=True)) == {
        name: cycles for name, cycles in steps.groupby("type").step_cycles.sum().items() if name in set(groups.name)
    }
    assert groups.total_cycles.sum() == total
    with pytest.raises(FormatError, match="added up by"):
        report.grouped_steps("colour")
    with pytest.raises(NotRecordedError, match="does not fit into the memory of the tiles"):
        OpenedReport(SAMPLES / "out_of_memory").window()


def test_what_adds_up_to_a_tile() -> None:
    report = OpenedReport(SAMPLES / "train_mlp")
    tiles, waterfall = report.tiles(), report.tile_peak(5)
    parts = waterfall[waterfall.kind == "part"]
    assert parts.size_bytes.sum() == tiles.capacity_bytes[5]
    assert parts[parts.group != "rest"].size_bytes.sum() == tiles.including_gaps_bytes[5]
    assert parts[parts.group == "always"].size_bytes.sum() == tiles.always_live_bytes[5]
    vertices = report.tile_vertices(5)
    assert (vertices.instances * vertices.instance_bytes == vertices.state_bytes).all()
    stored = report.query("select sum(array_value(count_array, 5)) as n from compute_set_vertices")
    assert vertices.instances.sum() == stored.n[0] > 0
