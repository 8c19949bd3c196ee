"""Vertices of copies within tiles come back from profile.pop; files before format 1.4 do not have them."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from popvision.formats.profile import ProfileReader, ProfileWriter, model, writer
from tests.reports import tiny_compilation

SHORT = "poplar_rt::ShortMemcpy"


def write(folder: Path) -> Path:
    count, cycles = np.array([0, 0, 2, 0], np.uint32), np.array([0, 0, 144, 0], np.uint32)
    copies = [model.CopyVertices(0, SHORT, 0, 24, count, cycles)]
    with ProfileWriter(folder / "profile.pop") as opened:
        opened.write_compilation(dataclasses.replace(tiny_compilation(), copy_vertices=copies))
    return folder / "profile.pop"


def test_copies_come_back(tmp_path: Path) -> None:
    path = write(tmp_path)
    [found] = ProfileReader(path).copy_vertices()
    assert (found.compute_set, found.type, found.ipu, found.state_bytes) == (0, SHORT, 0, 24)
    assert (found.count.tolist(), found.cycles.tolist()) == ([0, 0, 2, 0], [0, 0, 144, 0])
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT compute_set, type, ipu, state_bytes FROM copy_vertices").fetchall()
    assert rows == [(0, SHORT, 0, 24)]


def test_files_before_1_4_do_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "FORMAT_VERSION", (1, 3, 0))
    path = write(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE copy_vertices")
        db.execute("DELETE FROM parts WHERE name = 'copy_vertices'")
        db.commit()
    assert ProfileReader(path).copy_vertices() == []
