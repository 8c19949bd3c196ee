"""`popvision insights` as a user types it; its figures against plain SQL over the file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from popvision.analysis.memory.capacity import DOES_NOT_FIT
from tests.cli.called import popvision
from tests.samples import SAMPLES


def asked(name: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(popvision("insights", SAMPLES / name, "--json").stdout)
    return answer


def test_host_copies_against_sql() -> None:
    answer = asked("train_mlp")
    query = (
        "SELECT name, sum(step_cycles) AS spent FROM execution_steps WHERE phase = 'host' GROUP BY name "
        "ORDER BY spent DESC, name"
    )
    done = popvision("query", SAMPLES / "train_mlp", query, "--json")
    streams = [(name, spent) for name, spent in json.loads(done.stdout)["rows"]]
    with closing(sqlite3.connect(SAMPLES / "train_mlp" / "profile.pop")) as db:
        total = db.execute("SELECT sum(cycles) FROM runs").fetchone()[0]
    (first,) = (each for each in answer["findings"] if each["rule"] == "host")
    assert first["saves"] == sum(cycles for _, cycles in streams)
    assert first["share"] == pytest.approx(first["saves"] / total)
    named = [(name, cycles) for name, cycles in streams if name]
    assert [(each["name"], each["value"]) for each in first["evidence"]] == named[:3]
    assert answer["cycles"] == total


def test_rearranging_and_waits_against_sql() -> None:
    answer = asked("train_mlp")
    query = (
        "SELECT sum(step_cycles) FROM execution_steps WHERE name LIKE '%/PreArrange-%' OR name LIKE '%/OnTileCopy-%'"
    )
    done = popvision("query", SAMPLES / "train_mlp", query, "--json")
    (first,) = (each for each in answer["findings"] if each["rule"] == "rearranging")
    assert first["saves"] == json.loads(done.stdout)["rows"][0][0]
    with closing(sqlite3.connect(SAMPLES / "train_mlp" / "profile.pop")) as db:
        names = dict(db.execute("SELECT id, name FROM programs"))
        tiles = db.execute("SELECT count(*) FROM memory_by_tile").fetchone()[0]
    assert all(row["name"] == names[row["program"]] for row in answer["waits"])
    assert all(row["mean"] == row["waited"] // tiles for row in answer["waits"])


def test_text_names_bound_formula_place_and_change() -> None:
    text = popvision("insights", SAMPLES / "out_of_memory").stdout
    assert "1. The program does not fit: 368 of 368 tiles are over their memory" in text
    assert "could save  at most" in text
    assert "of what the tile needs)" in text
    assert "try         Spread the largest variables" in text
    assert DOES_NOT_FIT in text


def test_a_damaged_report_says_what_was_not_looked_at() -> None:
    answer = asked("damaged")
    assert {each["rule"] for each in answer["not_looked_at"]} >= {"imbalance", "large_temporary"}


def test_no_report_is_one_sentence(tmp_path: Path) -> None:
    done = popvision("insights", tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
