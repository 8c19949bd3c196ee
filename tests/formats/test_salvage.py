"""What is still answered of a damaged profile.pop: the truth, or a sentence; never another number."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError, LostError
from popvision.formats.profile import ProfileReader
from popvision.formats.profile.writer import ProfileWriter
from tests.formats.test_profile_hostile import everything
from tests.reports import tiny_compilation, tiny_run, write_tiny


def answers(path: Path) -> dict[str, str]:
    """All answers of a salvaging reader as text, LostErrors marked."""
    return everything(path, salvage=True)


def three_runs(folder: Path) -> Path:
    path = folder / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
        for _ in range(3):
            writer.append_run(tiny_run())
    return path


def changed(path: Path, *statements: str) -> ProfileReader:
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()
    return ProfileReader(path, salvage=True)


def test_a_whole_report_has_lost_nothing_and_answers_the_same(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    assert ProfileReader(path, salvage=True).survey() == ProfileReader(path, salvage=True).lost == []
    assert answers(path) == everything(path)


def test_a_flipped_row_costs_its_table_and_nothing_else(tmp_path: Path) -> None:
    reader = changed(write_tiny(tmp_path), "UPDATE programs SET name = 'other' WHERE id = 1")
    with pytest.raises(LostError, match="table programs is damaged: rows from 0 on do not match their checksum"):
        reader.programs()
    assert reader.lost == ["table programs is damaged: rows from 0 on do not match their checksum."]
    assert reader.total_cycles() == 43
    assert reader.target().num_tiles == 4


def test_a_flipped_array_costs_the_questions_that_need_it(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        (identity,) = db.execute("SELECT bytes_array FROM liveness_by_ipu").fetchone()
    reader = changed(path, f"UPDATE arrays SET crc32 = crc32 + 1 WHERE id = {identity}")
    with pytest.raises(LostError, match=f"array {identity} is damaged"):
        reader.liveness()
    assert any(f"arrays of liveness_by_ipu.bytes_array are damaged (array {identity})" in each for each in reader.lost)
    assert reader.tile_memory() is not None


def test_a_missing_table_is_lost(tmp_path: Path) -> None:
    reader = changed(write_tiny(tmp_path), "DROP TABLE memory_by_tile")
    with pytest.raises(LostError, match="no such table: memory_by_tile"):
        reader.tile_memory()
    assert [each for each in reader.lost if "memory_by_tile" in each]


def test_runs_before_the_damage_are_whole(tmp_path: Path) -> None:
    path = three_runs(tmp_path)
    reader = changed(path, "UPDATE steps_by_ipu SET cycles = cycles + 1 WHERE step_id = 9")
    assert len(reader.steps_on_ipu(0).cycles) == len(reader.steps().run) == 8
    os.utime(path, (0, 0))  # a file written a moment ago is read afresh for each question
    reader = ProfileReader(path, salvage=True)
    assert len(reader.steps().run) == 8
    assert (len(reader.runs().name), reader.total_cycles()) == (2, 86)
    assert reader.lost == ["run 2 of 3 lost (steps_by_ipu damaged): figures are of runs 0 to 1."]
    first = changed(path, "UPDATE runs SET cycles = 44 WHERE id = 0")
    for question in (first.total_cycles, first.steps):
        with pytest.raises(LostError, match=r"runs 0 to 2 of 3 lost .*no run can be shown"):
            question()


def test_lost_meta_costs_the_target_but_not_the_tables(tmp_path: Path) -> None:
    reader = changed(write_tiny(tmp_path), """UPDATE meta SET value = '"other"' WHERE key = 'reportId'""")
    assert reader.meta == {}
    with pytest.raises(LostError, match="table meta is damaged"):
        reader.target()
    assert reader.total_cycles() == 43


def test_lost_meta_costs_what_depends_on_the_class_of_always_live_variables(tmp_path: Path) -> None:
    whole = ProfileReader(write_tiny(tmp_path))
    assert whole.variables() is not None
    assert whole.eq_classes() is not None
    reader = changed(whole.path, """UPDATE meta SET value = '"other"' WHERE key = 'reportId'""")
    for read in (reader.variables, reader.eq_classes, lambda: reader.lowered_tile(0)):
        with pytest.raises(LostError, match="table meta is damaged"):
            read()


def test_damaged_debug_information_reads_as_empty_and_says_so(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    (tmp_path / "debug.json").write_text('{"runId":"tiny-run", "format"')
    source = ReportSource(tmp_path, salvage=True)
    assert len(source.debug) == 0
    assert "debug.json" in source.lost[-1]
    with pytest.raises(FormatError):
        len(ReportSource(tmp_path).debug)


@pytest.mark.parametrize("content", [b"", b"text\n" * 9, b"SQLite format 3\0" + b"x" * 4000])
def test_what_is_no_database_is_refused_with_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "profile.pop"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"profile\.pop") as refused:
        ProfileReader(path, salvage=True)
    assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, dict[str, str]]:
    path = write_tiny(tmp_path_factory.mktemp("salvage"))
    return path, path.read_bytes(), everything(path)


@pytest.mark.parametrize("page", [*range(0, 33, 4), 32])
def test_a_truncated_file_tells_the_truth_about_the_rest(
    original: tuple[Path, bytes, dict[str, str]], page: int
) -> None:
    path, data, truth = original
    path.write_bytes(data[: page * 8192 + 4096])
    honest(path, truth)


@given(seed=st.integers(0, 2**32), flips=st.integers(1, 6), cut=st.booleans())
def test_no_number_changes_without_a_warning(
    original: tuple[Path, bytes, dict[str, str]], seed: int, flips: int, cut: bool
) -> None:
    path, data, truth = original
    rng, damaged = random.Random(seed), bytearray(data)
    used = [at for at in range(100, len(data)) if data[at]]
    for _ in range(flips):
        damaged[rng.choice(used)] ^= 1 << rng.randrange(8)
    if cut:
        del damaged[rng.randrange(len(data) // 2, len(data)) :]
    path.write_bytes(damaged)
    honest(path, truth)


def honest(path: Path, truth: dict[str, str]) -> None:
    """Every answer is the truth, or a sentence that `lost` announces."""
    try:
        found = answers(path)
    except FormatError:
        return  # refused as a whole
    lost = ProfileReader(path, salvage=True).survey()
    for name, answer in found.items():
        if answer != truth[name]:
            assert lost, name
            assert answer.startswith("FormatError") or (name == "meta" and answer == "{}"), name
