"""Every documented view against sqlite3, pva or the frames, on a report where it is not empty."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import popvision
from popvision import pva
from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError, NotRecordedError
from popvision.formats.profile.schema import TABLES
from popvision.opened.report import OpenedReport
from popvision.query import Limits
from popvision.query.document import with_views
from popvision.query.run import run_query
from popvision.query.views import VIEWS
from tests.reports import write_tiny
from tests.samples import SAMPLES

TRAINING = SAMPLES / "train_mlp"
DOCUMENT = Path(__file__).parents[2] / "docs" / "query.md"


@pytest.fixture(scope="module")
def source() -> ReportSource:
    return ReportSource(TRAINING)


@pytest.fixture(scope="module")
def frames() -> OpenedReport:
    found = popvision.open(TRAINING)
    assert isinstance(found, OpenedReport)
    return found


def rows(source: ReportSource, sql: str) -> list[tuple[Any, ...]]:
    return run_query(source, sql, Limits(rows=1_000_000)).rows


def test_the_document_lists_every_view_and_column() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert with_views(text) == text, "python -m popvision.query.document docs/query.md"


def test_no_view_hides_a_table_of_the_file() -> None:
    assert not set(VIEWS) & {*TABLES, "arrays", "parts"}


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "block_list"])
def test_columns_are_those_documented(source: ReportSource, name: str) -> None:
    found = run_query(source, f"select * from {name}", Limits(rows=1))
    assert found.columns == [column.name for column in VIEWS[name].columns]
    assert found.rows, f"{name} must not be empty in the sample"


def test_views_of_one_ipu_and_frames_agree(source: ReportSource, frames: OpenedReport) -> None:
    curve = frames.liveness(ipu=0)[["liveness_index", "not_always_live_bytes"]].to_numpy().tolist()
    found = rows(source, "select liveness_index, not_always_live_bytes from ipu_liveness")
    assert [list(row) for row in found] == curve
    columns = "step, program, name, step_cycles, active_tiles, tile_cycles, data_in_bytes, data_out_bytes, tile_balance"
    found = rows(source, f"select {columns} from execution_steps")
    assert [list(row) for row in found] == frames.steps_on_ipu(0)[columns.split(", ")].to_numpy().tolist()


def test_windows_of_steps(source: ReportSource, frames: OpenedReport) -> None:
    steps = frames.steps_on_ipu(0)
    window = rows(source, "select begin_cycle, end_cycle, phase from execution_steps")
    assert [row[0] for row in window] == steps.all_from_min_cycle.tolist()
    assert [row[1] for row in window] == steps.all_to_max_cycle.tolist()
    assert [row[2] or "" for row in window] == steps.phase.tolist()


def test_cycles_by_tile(source: ReportSource, frames: OpenedReport) -> None:
    found = rows(source, "select tile, begin_cycle, cycles from cycles_by_tile where step = 20")
    assert [row[0] for row in found] == list(range(64))
    assert [row[1] for row in found] == frames.begins_by_tile(20, 20)[0].tolist()
    assert [row[2] for row in found] == frames.cycles_by_tile(20, 20)[0].tolist()
    one = rows(source, "select array_value(cycles_array, 5) from execution_steps where step < 50")
    assert [value for (value,) in one] == frames.cycles_by_tile(0, 49)[:, 5].tolist()


def test_phases_and_programs(source: ReportSource, frames: OpenedReport) -> None:
    phases = frames.phases()
    found = {phase: cycles for _, phase, cycles in rows(source, "select * from phase_cycles")}
    assert {p: c for p, c in zip(phases.phase, phases.tile_cycles, strict=True) if c} == found
    own = frames.programs().set_index("program").self_cycles
    by_program = rows(source, "select program, self_cycles, executions from program_cycles")
    assert all(own[program] == cycles for program, cycles, _ in by_program)
    assert sum(count for *_, count in by_program) == len(frames.steps()) > 5000


def test_memory_views(source: ReportSource, frames: OpenedReport) -> None:
    totals = frames.memory_totals()
    expected = totals[["category", "region", "overlapped", "total_bytes", "largest_tile_bytes"]].to_numpy().tolist()
    assert sorted(map(list, rows(source, "select * from category_totals"))) == sorted(expected)
    by_tile = rows(source, "select tile, sum(category_bytes) from tile_categories group by tile order by tile")
    assert [size for _, size in by_tile] == frames.tiles().excluding_gaps_bytes.tolist()
    lowered = frames.lowered_variables(7)
    columns = "id, name, variable, category, region, address_bytes, size_bytes, eq_class"
    found = rows(source, f"select {columns} from lowered_variables where tile = 7")
    assert [list(row) for row in found] == lowered[columns.split(", ")].to_numpy().tolist()
    held = frames.tile_variables(7)[["category", "name", "size_bytes"]].to_numpy().tolist()
    found = rows(source, "select category, name, size_bytes from tile_variables where tile = 7")
    assert sorted(map(list, found)) == sorted(held)


def test_live_variables_add_up(source: ReportSource, frames: OpenedReport) -> None:
    curve = frames.liveness()
    at = curve.attrs["peak_index"]
    found = rows(source, f"select variable, size_bytes from live_variables where liveness_index = {at}")
    assert sum(size for _, size in found) == curve.not_always_live_bytes[at] > 0
    assert {variable for variable, _ in found} == set(frames.peak_variables().variable)


def test_programs_exchanges_and_vertices(source: ReportSource, frames: OpenedReport) -> None:
    with closing(sqlite3.connect(TRAINING / "profile.pop")) as db:
        stored = db.execute("select program, pos, child from program_children order by 1, 2").fetchall()
    assert rows(source, "select parent, position, child from program_edges order by 1, 2") == stored
    table = frames.exchanges().set_index("program")
    for program, *figures in rows(
        source, "select program, received_bytes, sent_bytes, receivers, senders from exchanges where type='DoExchange'"
    ):
        assert figures == table.loc[program, ["received_bytes", "sent_bytes", "receivers", "senders"]].tolist()
    (program,) = rows(source, "select program from exchange_messages limit 1")[0]
    messages = frames.messages(program)
    found = rows(
        source, f"select source_tile, target_tile, message_bytes from exchange_messages where program={program}"
    )
    assert sorted(map(list, found)) == messages.to_numpy().tolist()
    tiles = frames.program_tiles(program)
    found = rows(source, f"select tile, received_bytes, sent_bytes from program_tiles where program = {program}")
    assert [list(row) for row in found] == tiles[["tile", "received_bytes", "sent_bytes"]].to_numpy().tolist()
    by_tile = rows(source, "select vertex_type, tile, instances from vertices_by_tile where compute_set = 0")
    wide = frames.vertices_by_tile(0)
    assert all(wide[kind][tile] == count for kind, tile, count in by_tile)
    theirs = pva.openReport(str(TRAINING / "profile.pop")).compilation.computeSets
    found = rows(source, "select name, vertices from compute_set_list order by compute_set")
    assert found == [(each.name, sum(sum(v.countByTile) for v in each.vertices)) for each in theirs]


def test_operations(source: ReportSource, frames: OpenedReport) -> None:
    table = frames.operations()
    members = dict(rows(source, "select context, count(*) from operation_members group by 1"))
    known = table[table.context.notna() & (table.programs > 0)]
    assert members == dict(zip(known.context, known.programs, strict=True))
    theirs = pva.OperationAnalysis(pva.openReport(str(TRAINING / "profile.pop"), str(TRAINING / "debug.cbor")))
    for each in theirs.operations:
        if each.debugContext.id in members and each.name:
            own = rows(source, f"select program from operation_members where context = {each.debugContext.id}")
            assert {program for (program,) in own} >= {program._id for program in each.programs()}


def test_the_machine_and_the_report(source: ReportSource) -> None:
    ((kind, architecture, ipus, tiles, replicas, memory, clock),) = rows(source, "select * from machine")
    assert (kind, architecture, ipus, tiles, replicas, memory) == ("IpuModel", "Ipu2", 1, 64, 1, 638976)
    assert clock == 1.33e9
    facts = dict(rows(source, "select name, value from report_facts"))
    assert facts["simulated"] == "true"
    assert rows(source, "select count(*) from cost_term_list") == rows(source, "select count(*) from cost_terms")


def test_two_ipus_number_tiles_globally() -> None:
    source = ReportSource(SAMPLES / "pipeline")
    tiles = source.reader.target().tiles_per_ipu
    found = rows(source, "select distinct ipu, tile / tiles_per_ipu() from cycles_by_tile where step < 20")
    assert sorted(found) == [(ipu, ipu) for ipu in range(source.reader.target().num_ipus)]
    assert rows(source, "select max(tile) from tile_categories") == [(source.reader.target().num_tiles - 1,)]
    assert tiles * source.reader.target().num_ipus == source.reader.target().num_tiles


def test_what_a_foreign_report_lacks_is_said(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table steps(id integer primary key, type, program, compute_set)")
        db.execute("create table memory_by_tile(tile integer primary key, total, excluding_gaps)")
        db.execute("insert into memory_by_tile values (0, 100, 90)")
        db.commit()
    source = ReportSource(path)
    assert rows(source, "select total from memory_by_tile") == [(100,)]
    with pytest.raises(NotRecordedError, match="view tiles: no such column: always_live"):
        run_query(source, "select * from tiles")
    with pytest.raises(NotRecordedError, match="view cycles_by_tile: no such table"):
        run_query(source, "select * from cycles_by_tile")
    with pytest.raises(FormatError, match=r"^The view operation_list is called operations\.$"):
        run_query(source, "select * from operation_list")
    with pytest.raises(FormatError, match="No such table: tyles; the views are report_facts"):
        run_query(source, "select * from tyles")


def test_operations_without_debug_information(tmp_path: Path) -> None:
    source = ReportSource(write_tiny(tmp_path / "r"))
    with pytest.raises(NotRecordedError, match="outputDebugInfo"):
        run_query(source, "select * from operations")
    assert run_query(source, "select count(*) from program_list").rows == [(4,)]
