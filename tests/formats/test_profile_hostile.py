"""Damaged, foreign, newer and half-written files: one FormatError or the truth, never a crash, never other numbers."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popvision.formats.errors import FormatError
from popvision.formats.profile import ProfileReader
from popvision.formats.profile.overview import overview
from tests.reports import write_tiny


def everything(path: Path, *, salvage: bool = False) -> dict[str, str]:
    """All answers of a reader as text, or the FormatError of each."""
    reader = ProfileReader(path, salvage=salvage)
    questions: dict[str, Callable[[], Any]] = {
        "meta": lambda: reader.meta,
        "target": reader.target,
        "programs": reader.programs,
        "compute_sets": reader.compute_sets,
        "vertex_types": reader.vertex_types,
        "vertices": reader.compute_set_vertices,
        "memory": reader.tile_memory,
        "categories": reader.category_memory,
        "variables": reader.variables,
        "classes": reader.eq_classes,
        "liveness": reader.liveness,
        "lowered": lambda: reader.lowered_tile(0),
        "names": reader.lowered_names,
        "runs": reader.runs,
        "vars_info": lambda: reader.vars_info(0),
        "messages": lambda: reader.messages(3, 0),
        "program": lambda: reader.program_on_ipu(1, 0),
        "steps": reader.steps,
        "on_ipu": lambda: reader.steps_on_ipu(0),
        "tail": lambda: reader.run_tail(0, 0),
        "intervals": lambda: list(reader.intervals(0, 0, 9)),
    }
    answers = {}
    for name, question in questions.items():
        try:
            answers[name] = repr(question())
        except FormatError as error:
            answers[name] = f"FormatError: {error}"
    return answers


def check(path: Path, truth: dict[str, str]) -> bool:
    """True when damage was noticed; fails when an answer differs without an error."""
    try:
        found = everything(path)
    except FormatError:
        return True
    noticed = False
    for name, answer in found.items():
        if answer.startswith("FormatError"):
            noticed = True
        else:
            assert answer == truth[name], name
    return noticed


def test_bit_flips_and_truncation(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    flips(path, tmp_path / "x" / "profile.pop", 120)


@pytest.mark.long
def test_many_bit_flips_and_truncation(tmp_path: Path) -> None:
    flips(write_tiny(tmp_path), tmp_path / "x" / "profile.pop", 6_000)


def flips(path: Path, target: Path, count: int) -> None:
    truth, data, rng = everything(path), path.read_bytes(), random.Random(5)
    used = [at for at, byte in enumerate(data) if byte]  # pages are mostly empty: aim at what holds something
    target.parent.mkdir()
    noticed = 0
    for trial in range(count):
        damaged = bytearray(data)
        if trial % 8 == 0:
            del damaged[rng.randrange(len(data)) :]
        else:
            damaged[rng.choice(used)] ^= 1 << rng.randrange(8)
        target.write_bytes(damaged)
        noticed += check(target, truth)
    assert noticed > count // 3


def test_one_wrong_number_is_noticed(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE steps_by_ipu SET cycles = cycles + 1 WHERE step_id = 2")
    with pytest.raises(FormatError, match="table steps_by_ipu is damaged: rows from 0 on do not match"):
        ProfileReader(path).steps_on_ipu(0)
    assert ProfileReader(path).total_cycles() == 43


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("UPDATE runs SET cycles = 44", "table runs is damaged: rows from 0 on do not match their checksum"),
        ("DELETE FROM steps WHERE id = 2", "table steps is damaged: it has 3 rows, its checksums cover 4"),
        ("UPDATE meta SET value = '9' WHERE key = 'generation'", "table meta is damaged"),
    ],
)
def test_the_first_look_is_checked_too(tmp_path: Path, change: str, sentence: str) -> None:
    path = write_tiny(tmp_path)
    assert overview(path)["total_cycles"] == 43
    with sqlite3.connect(path) as db:
        db.execute(change)
    db.close()
    with pytest.raises(FormatError, match=sentence):
        overview(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    import zstandard

    path = write_tiny(tmp_path)
    bomb = zstandard.ZstdCompressor(level=19).compress(bytes(200 << 20))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE arrays SET codec = 1, data = ? WHERE id = 1", (bomb,))
        db.execute("UPDATE arrays SET n = ? WHERE id = 2", (2**61,))
    reader = ProfileReader(path)
    with pytest.raises(FormatError, match="does not hold 4 elements"):
        reader.array(1)
    with pytest.raises(FormatError, match="above the limit of 1 GiB"):
        reader.array(2)
    with pytest.raises(FormatError, match="array 999 is not in the file"):
        reader.array(999)


@pytest.mark.parametrize(("content", "message"), [(b"", "it is empty"), (b"text\n" * 9, "not an SQLite file")])
def test_other_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "profile.pop"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        ProfileReader(path)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.pop"):
        with pytest.raises(FormatError, match=f"cannot open {path}"):
            ProfileReader(path)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("""UPDATE meta SET value = '"2.0.0"' WHERE key = 'formatVersion'""")
    with pytest.raises(FormatError, match=r"format version 2\.0\.0; this popvision reads up to 1\.x: install a newer"):
        ProfileReader(path)


def test_a_foreign_report_opens_as_far_as_it_is_known(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE memory_by_tile(tile INTEGER, total INTEGER)")
        db.executemany("INSERT INTO memory_by_tile VALUES (?, ?)", [(1, 70), (0, 50)])
        db.execute("CREATE TABLE programs(id INTEGER, name TEXT, something BLOB)")
        db.execute("INSERT INTO programs VALUES (0, 'main', x'00')")
    reader = ProfileReader(path)
    memory = reader.tile_memory()
    assert reader.foreign
    assert memory is not None
    assert memory.including_gaps.tolist() == [50, 70]
    assert reader.programs().name == ["main"]
    assert {"steps", "memory_by_tile.always_live", "programs.type"} <= set(reader.missing)
    assert not {"programs", "memory_by_tile"} & set(reader.missing)
    assert len(reader.steps().type) == reader.total_cycles() == 0


def test_an_unrelated_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "profile.pop"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE songs(title TEXT)")
    with pytest.raises(FormatError, match="none of its tables"):
        ProfileReader(path)


def test_answers_do_not_share_state_between_copies(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    reader = ProfileReader(path)
    assert reader.total_cycles() == 43
    other = write_tiny(tmp_path / "other")
    with sqlite3.connect(other) as db:
        db.execute("UPDATE runs SET cycles = 44")
    shutil.copyfile(other, path)
    with pytest.raises(FormatError, match="table runs is damaged"):
        reader.total_cycles()
    assert np.array_equal(reader.steps().run, [0, 0, 0, 0])
