"""A tiny report read back by sqlite3, zlib and struct alone, with the numbers worked out by hand."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.reports import write_tiny

CODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i8": "q"}


@pytest.fixture
def db(tmp_path: Path) -> sqlite3.Connection:
    return sqlite3.connect(write_tiny(tmp_path))


def array(db: sqlite3.Connection, identity: int) -> list[int]:
    row = db.execute("SELECT dtype, n, codec, crc32, data FROM arrays WHERE id = ?", (identity,)).fetchone()
    dtype, n, codec, crc, data = row
    assert codec == 0
    assert zlib.crc32(data, zlib.crc32(f"{identity},{dtype},{n},{codec};".encode())) == crc
    return list(struct.unpack(f"<{n}{CODES[dtype]}", data))


def rows(db: sqlite3.Connection, query: str) -> list[tuple[Any, ...]]:
    return db.execute(query).fetchall()


def test_steps_are_rows(db: sqlite3.Connection) -> None:
    query = "SELECT s.id, s.type, p.name, s.compute_set, s.run FROM steps s JOIN programs p ON p.id = s.program"
    assert rows(db, f"{query} ORDER BY s.id") == [
        (0, "OnTileExecute", "layer/matmul", 0, 0),
        (1, "Sync", "Internal", -1, 0),
        (2, "DoExchange", "cs0_layer/ExchangePre", -1, 0),
        (3, "OnTileExecute", "layer/matmul", 0, 0),
    ]


def test_windows_are_relative_to_the_base(db: sqlite3.Connection) -> None:
    columns = "step_id, ipu, cycles, active_tiles, cycles_base, active_cycles_from_min, active_cycles_from_max"
    edges = "active_cycles_to_min, active_cycles_to_max, all_cycles_from_max, all_cycles_to_max"
    assert rows(db, f"SELECT {columns}, {edges}, tile_cycles, max_cycles FROM steps_by_ipu ORDER BY step_id") == [
        (0, 0, 20, 3, 0, 0, 0, 5, 20, 0, 20, 35, 20),
        (1, 0, 3, 4, 0, 0, 20, 23, 23, 20, 23, 57, 23),
        (2, 0, 4, 2, 23, 0, 0, 4, 4, 0, 4, 8, 4),
        (3, 0, 16, 3, 23, 0, 4, 5, 20, 4, 20, 35, 20),
    ]
    assert rows(db, "SELECT data_in, data_out FROM steps_by_ipu WHERE step_id = 2") == [(16, 8)]
    assert rows(db, "SELECT tile_balance, active_tile_balance FROM steps_by_ipu WHERE step_id = 0") == [
        (35 / 80, 35 / 60)
    ]


def test_lengths_add_up_to_the_run(db: sqlite3.Connection) -> None:
    assert rows(db, "SELECT sum(cycles) FROM steps_by_ipu") == [(43,)]
    assert rows(db, "SELECT run, ipu, cycles FROM execution_cycle_totals") == [(0, 0, 43)]


def test_arrays_are_little_endian_blobs_stored_once(db: sqlite3.Connection) -> None:
    ids = rows(db, "SELECT start_array, cycles_array FROM steps_by_ipu ORDER BY step_id")
    assert [array(db, start) for start, _ in ids] == [[0, 0, 0, 0], [10, 20, 0, 5], [0, 0, 0, 0], [4, 0, 4, 0]]
    assert [array(db, cycles) for _, cycles in ids] == [[10, 20, 0, 5], [13, 3, 23, 18], [4, 0, 4, 0], [10, 20, 0, 5]]
    assert ids[0][0] == ids[2][0]
    assert ids[0][1] == ids[1][0] == ids[3][1]
    assert (
        rows(db, "SELECT count(*), count(DISTINCT hex(data)) FROM arrays WHERE dtype = 'u1' AND n = 4")[0][0]
        == (rows(db, "SELECT count(DISTINCT hex(data)) FROM arrays WHERE dtype = 'u1' AND n = 4")[0][0])
    )


def test_memory_and_variables_join_as_published(db: sqlite3.Connection) -> None:
    assert rows(db, "SELECT tile, total FROM memory_by_tile") == [(0, 120), (1, 116), (2, 100), (3, 100)]
    query = """SELECT v.tile, c.name, s.string, v.size_bytes FROM vars_info v JOIN var_categories c ON c.id = v.category
        JOIN vars_string_table s ON s.id = v.name WHERE v.tile = 0 ORDER BY v.id"""
    assert rows(db, query) == [
        (0, "variable", "weights", 80),
        (0, "variable", "temporary", 16),
        (0, "constant", "constant", 20),
    ]
    assert rows(db, "SELECT sum(size_bytes) FROM vars_info") == rows(
        db, "SELECT sum(excluding_gaps) FROM memory_by_tile"
    )


def test_each_table_has_its_checksum(db: sqlite3.Connection) -> None:
    names = {name for (name,) in rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {name for (name,) in rows(db, "SELECT DISTINCT name FROM parts")} == names - {"arrays", "parts"}
    crc = 0
    query = "SELECT s.id, t.id, program, compute_set, run FROM steps s JOIN program_types t ON t.name = s.type"
    for column in zip(*rows(db, f"{query} ORDER BY s.id"), strict=True):
        crc = zlib.crc32(struct.pack(f"<{len(column)}q", *column), crc)
    assert rows(db, "SELECT rows, crc32 FROM parts WHERE name = 'steps' AND part = 0") == [(4, crc)]


def test_meta_is_json(db: sqlite3.Connection) -> None:
    meta = {key: json.loads(value) for key, value in rows(db, "SELECT key, value FROM meta")}
    assert (meta["format"], meta["formatVersion"], meta["generation"]) == ("profile.pop", "1.5.0", 1)
    assert (meta["reportId"], meta["simulated"], meta["target"]["tiles_per_ipu"]) == ("tiny", True, 4)


def test_a_closed_report_is_one_file(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["profile.pop"]
