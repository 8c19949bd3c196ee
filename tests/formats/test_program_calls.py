"""Which function a Call runs: written since format 1.1, unknown in older files, an error where it was lost."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from popvision.formats.errors import FormatError
from popvision.formats.profile import ProfileReader, writer
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import i8, tiny_compilation


def write(folder: Path, callee: tuple[int, ...]) -> Path:
    found = tiny_compilation()
    with ProfileWriter(folder / "profile.pop") as opened:
        opened.write_compilation(
            dataclasses.replace(found, programs=dataclasses.replace(found.programs, callee=i8(*callee)))
        )
    return folder / "profile.pop"


def forget_calls(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE program_calls")
        db.commit()


def test_calls_come_back(tmp_path: Path) -> None:
    path = write(tmp_path, (-1, 3, -1, -1))
    callee = ProfileReader(path).programs().callee
    assert callee is not None
    assert callee.tolist() == [-1, 3, -1, -1]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT program, callee FROM program_calls").fetchall() == [(1, 3)]


def test_files_of_version_1_0_do_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "FORMAT_VERSION", (1, 0, 0))
    path = write(tmp_path, (-1, -1, -1, -1))
    forget_calls(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM parts WHERE name = 'program_calls'")
        db.commit()
    reader = ProfileReader(path)
    assert reader.programs().callee is None
    assert reader.missing == ["program_calls"]


def test_a_lost_table_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path, (-1, -1, -1, -1))
    forget_calls(path)
    with pytest.raises(FormatError, match="its table program_calls is gone"):
        ProfileReader(path).programs()


def test_a_call_of_nothing_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path, (-1, 77, -1, -1))
    with pytest.raises(FormatError, match="names a program that is not there"):
        ProfileReader(path).programs()
