"""Sentences about damaged files name them from the given folders down: no page and no list has a path of the server."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from popvision.formats.pvti.generate import generate_trace
from tests.samples import SAMPLES
from webapp.base.library import Library
from webapp.shell import pages
from webapp.shell.app import create_app


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = replace(value, '1.', '9.') WHERE key IN ('version', 'formatVersion')")


def other_name(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        table, column = ("strings", "text") if path.suffix == ".pvti" else ("programs", "name")
        db.execute(f"UPDATE {table} SET {column} = 'other'")


def bad_blob(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        if path.suffix == ".pvti":
            db.execute("UPDATE slices SET site = zeroblob(length(site))")
            db.execute("UPDATE samples SET value = zeroblob(length(value))")
        else:
            db.execute("UPDATE arrays SET data = zeroblob(length(data))")


@pytest.mark.parametrize("damage", [cut, empty, newer, other_name, bad_blob])
def test_no_sentence_has_a_path(damage: Callable[[Path], None], tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "matmul_chain_hardware", tmp_path / "runs" / "report")
    generate_trace(tmp_path / "runs" / "host.pvti", 300, threads=2)
    damage(tmp_path / "runs" / "report" / "profile.pop")
    damage(tmp_path / "runs" / "host.pvti")
    library = Library([tmp_path / "runs"])
    library.samples = None
    client = create_app(library).server.test_client()
    shown = []
    for entry in library.scan():
        card = library.card(entry)
        assert card.state == "damaged"
        assert card.problem
        shown.append(card.problem)
        for view in ("summary", "memory", "program_tree", "execution") if entry.kind == "report" else ("timeline",):
            visit = {"pathname": f"/{entry.kind}/{entry.key}/{view}", "search": ""}
            parts = pages.show(library, visit, "light")
            shown.append(json.dumps(parts, default=lambda each: each.to_plotly_json()))
            shown.append(client.get(f"/data/{entry.key}/{view}/state").get_data(as_text=True))
    for text in shown:
        assert str(tmp_path) not in text
