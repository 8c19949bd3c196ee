"""A report folder read with sqlite3, struct, zlib and zstandard alone, as docs/formats.md says: no popvision."""

from __future__ import annotations

import itertools
import json
import sqlite3
import struct
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

DTYPES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i8": "q"}


class PlainReport:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._db = sqlite3.connect(f"file:{folder / 'profile.pop'}?mode=ro", uri=True)
        self._kept: dict[int, Any] = {}
        self.meta = {key: json.loads(value) for key, value in self.rows("SELECT key, value FROM meta")}
        self.target = self.meta["target"]
        self.per_ipu: int = self.target["tiles_per_ipu"]
        self.tiles: int = self.target["num_ipus"] * self.per_ipu
        self.always: int = self.meta["alwaysLiveClass"]  #: the class of always-live variables, after all others
        self.types = dict(self.rows("SELECT p.id, t.name FROM programs p JOIN program_types t ON t.id = p.type"))
        self.categories = dict(self.rows("SELECT id, name FROM var_categories"))
        self.regions = dict(self.rows("SELECT id, name FROM var_regions"))

    def close(self) -> None:
        self._db.close()

    def rows(self, query: str, *values: Any) -> list[Any]:
        return self._db.execute(query, values).fetchall()

    @cached_property
    def knows_single_tiles(self) -> bool:
        """Whether compute was counted, or estimated, on every tile."""
        level = self.meta.get("computeInstrumentation", "")
        return self.target["type"] != "Ipu" or level not in ("Ipu", "Device", "Off")

    def array(self, identity: int, n: int | None = None) -> Any:
        """The array of that id as int64; -1 = n zeros."""
        if identity == -1:
            return np.zeros(self.per_ipu if n is None else n, np.int64)
        if identity not in self._kept:
            ((dtype, count, codec, crc, data),) = self.rows(
                "SELECT dtype, n, codec, crc32, data FROM arrays WHERE id = ?", identity
            )
            raw = zstandard.decompress(data) if codec == 1 else data
            assert zlib.crc32(raw, zlib.crc32(f"{identity},{dtype},{count},{codec};".encode())) == crc
            numbers = struct.unpack(f"<{count}" + DTYPES[dtype], raw)
            self._kept[identity] = np.array(numbers, np.int64)
        return self._kept[identity]

    @cached_property
    def children(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for program, child in self.rows("SELECT program, child FROM program_children ORDER BY program, pos"):
            found.setdefault(program, []).append(child)
        return found

    @cached_property
    def tile_memory(self) -> Any:
        """(tiles, 5): total, excluding_gaps, always_live, not_always_live, overflowed."""
        query = """SELECT total, excluding_gaps, always_live, not_always_live, overflowed
                   FROM memory_by_tile ORDER BY tile"""
        return np.array(self.rows(query), np.int64).reshape(self.tiles, 5)

    @cached_property
    def lowered(self) -> dict[int, dict[str, Any]]:
        """tile -> columns bytes, address, category, region, variable (row of variable_parts), eq_class (-1 = always
        live), name."""
        names = ("bytes", "address", "category", "region", "variable", "eq_class", "name")
        query = f"SELECT tile, n, {', '.join(f'{name}_array' for name in names)} FROM lowered_by_tile"
        tiles = {
            tile: {name: self.array(i, n) for name, i in zip(names, ids, strict=True)}
            for tile, n, *ids in self.rows(query)
        }
        for columns in tiles.values():
            columns["eq_class"] = np.where(columns["eq_class"] == self.always, -1, columns["eq_class"])
        return tiles

    @cached_property
    def parts(self) -> list[tuple[int, int, int, int]]:
        """(part, variable, bytes, class) of each part of a variable; class -1 = always live, or never."""
        rows = self.rows("SELECT id, variable, bytes, eq_class FROM variable_parts ORDER BY id")
        return [(part, variable, size, -1 if c == self.always else c) for part, variable, size, c in rows]

    @cached_property
    def classes(self) -> list[list[tuple[int, int]]]:
        """Class -> the half-open ranges of liveness indices in which it is live; the last one is always live."""
        ((_, offsets, starts, ends),) = self.rows("SELECT * FROM eq_classes")
        at, begin, end = (self.array(i, 0).tolist() for i in (offsets, starts, ends))
        found = [list(zip(begin[a:b], end[a:b], strict=True)) for a, b in itertools.pairwise(at)]
        ((indices,),) = self.rows("SELECT count(*) FROM liveness")
        assert (len(found) - 1, found[-1]) == (self.always, [(0, indices)])
        return found

    @cached_property
    def live_matrix(self) -> Any:
        """(liveness indices, classes): which class is live where."""
        ((count,),) = self.rows("SELECT count(*) FROM liveness")
        live = np.zeros((count, len(self.classes)), np.int64)
        for number, ranges in enumerate(self.classes):
            for begin, end in ranges:
                live[begin:end, number] = 1
        return live

    def steps(self, run: int, ipu: int) -> list[Any]:
        """(step, type, program, base, start per tile, cycles per tile, row of steps_by_ipu as a dict) in order."""
        cursor = self._db.execute(
            """SELECT b.*, s.program AS program FROM steps s JOIN steps_by_ipu b ON b.step_id = s.id
               WHERE s.run = ? AND b.ipu = ? ORDER BY s.id""",
            (run, ipu),
        )
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, values, strict=True)) for values in cursor]
        return [
            (
                r["step_id"],
                self.types[r["program"]],
                r["program"],
                r["cycles_base"],
                self.array(r["start_array"]),
                self.array(r["cycles_array"]),
                r,
            )
            for r in rows
        ]

    def tail(self, run: int, ipu: int) -> Any:
        ((identity,),) = self.rows("SELECT tail_array FROM run_tail WHERE run = ? AND ipu = ?", run, ipu)
        return self.array(identity)
