"""The summary against plain SQL over profile.pop and hand-counted figures of the tiny report."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from popvision.analysis.report.report_files import file_rows, json_files
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.facts import run_rows, summarise
from popvision.analysis.summary.headline import headline
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import tiny_compilation, tiny_run, write_tiny


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("summary") / "tiny")


def one(profile: Path, query: str) -> tuple[int, ...]:
    with closing(sqlite3.connect(profile)) as db:
        row: tuple[int, ...] = db.execute(query).fetchone()
        return row


def test_cycles_and_memory_are_those_of_the_tables(profile: Path) -> None:
    found = headline(ReportSource(profile))
    assert (found.total_cycles,) == one(profile, "select sum(cycles) from runs")
    assert (found.worst_tile, found.tile_bytes) == one(
        profile, "select tile, total from memory_by_tile order by total desc, tile limit 1"
    )
    assert (found.used_bytes,) == one(profile, "select sum(excluding_gaps) from memory_by_tile")
    assert found.device_seconds == 43 / 1e6
    assert (found.tile_share, found.used_share) == (120 / 1000, 432 / 4000)
    assert found.tiles_out_of_memory == 0


def test_longest_program_is_that_of_sql(profile: Path) -> None:
    query = (
        "select program, sum(cycles), count(*) from steps join steps_by_ipu on step_id = id group by 1 order by 2 desc"
    )
    longest = headline(ReportSource(profile)).longest
    assert longest is not None
    assert (longest.program, longest.cycles, longest.executions) == one(profile, query)
    assert (longest.type, longest.share) == ("OnTileExecute", 36 / 43)


def test_shares_are_tile_cycles_by_phase(profile: Path) -> None:
    """Of 4 tiles x 43 cycles: two compute steps of 35, one exchange of 8, the rest sync and the tail."""
    shares = headline(ReportSource(profile)).shares
    assert shares == {
        "compute": 70 / 172,
        "exchange": 8 / 172,
        "global exchange": 0,
        "host": 0,
        "sync": (13 + 3 + 23 + 18 + 6 + 0 + 16 + 15) / 172,
    }
    assert sum(shares.values()) == pytest.approx(1)


def test_a_report_without_runs_or_memory_says_so(tmp_path: Path) -> None:
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(tiny_compilation(), tile_memory=None, category_memory=()))
    found = summarise(ReportSource(tmp_path))
    assert (found.headline.total_cycles, found.headline.shares, found.headline.longest) == (None, None, None)
    assert (found.headline.tile_bytes, found.headline.used_share) == (None, None)
    assert found.runs == []


def test_tiles_out_of_memory_are_counted(tmp_path: Path) -> None:
    compilation = tiny_compilation()
    assert compilation.tile_memory is not None
    full = dataclasses.replace(compilation.tile_memory, including_gaps=np.array([1000, 1001, 1500, 7], np.uint32))
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(dataclasses.replace(compilation, tile_memory=full))
    found = headline(ReportSource(tmp_path))
    assert (found.tiles_out_of_memory, found.worst_tile, found.tile_share) == (2, 2, 1.5)


def test_runs_keep_the_two_clocks_apart(profile: Path) -> None:
    (row,) = run_rows(ReportSource(profile))
    assert (row.cycles, row.device_us, row.steps) == (43, 43.0, 4)
    assert (row.host_start_us, row.host_us) == (1_000_000, 250)


def test_facts_of_target_and_provenance(profile: Path) -> None:
    found = summarise(ReportSource(profile))
    assert (found.target.type, found.target.architecture, found.target.bytes_total) == ("IPU Model", "Mk2", 4000)
    assert found.graph == {"num_vertices": 3, "num_edges": 9, "num_variables": 2, "num_compute_sets": 1}
    assert ("Origin", "simulated") in found.provenance
    assert ("Model version", "popvision 0.1.0") in found.provenance
    assert found.options == [("engine", "autoReport.all", "true")]


def test_files_found_missing_and_stale(tmp_path: Path) -> None:
    from popvision.formats.debug_info import DebugInfo, write_debug_info

    profile = write_tiny(tmp_path / "tiny")
    write_debug_info(profile.parent, [DebugInfo(1)], "another-run", ["debug.json"])
    write_debug_info(profile.parent, [DebugInfo(1)], "tiny-run", ["debug.cbor"])
    rows = {row.name: row for row in file_rows(ReportSource(profile)) if row.name != "profile.pop"}
    assert {name: row.state for name, row in rows.items() if row.state != "missing"} == {
        "debug.json": "stale",
        "debug.cbor": "found",
    }
    assert rows["archive.a"].option == "autoReport.outputArchive"


def test_framework_and_application_files(tmp_path: Path) -> None:
    profile = write_tiny(tmp_path / "tiny")
    (profile.parent / "app.json").write_text(json.dumps({"a": {"b": [1, 2], "c": "<i>x</i>"}, "d": {}}))
    (profile.parent / "framework.json").write_text("{")
    framework, application = json_files(ReportSource(profile))
    assert application.rows == [("a / b", "[1, 2]"), ("a / c", "<i>x</i>"), ("d", "{}")]
    assert framework.rows == []
    assert "framework.json cannot be read" in framework.problem


def test_truncated_runs_are_marked(tmp_path: Path) -> None:
    with ProfileWriter(tmp_path / "profile.pop") as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(dataclasses.replace(tiny_run(), truncated=True))
    assert headline(ReportSource(tmp_path)).truncated
