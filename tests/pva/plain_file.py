"""A profile.pop read with sqlite3, struct and zlib (zstandard where an array is a frame), as docs/formats.md says."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from pathlib import Path
from typing import Any


class PlainFile:
    """Rows and arrays; no popvision, no NumPy."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.meta = {key: json.loads(value) for key, value in self.rows("SELECT key, value FROM meta")}
        self.target = self.meta["target"]
        self.per_ipu: int = self.target["tiles_per_ipu"]
        self.ipus: int = self.target["num_ipus"]
        self.tiles = self.ipus * self.per_ipu
        self.always: int = self.meta["alwaysLiveClass"]  #: the class of always-live variables

    def rows(self, query: str, *values: Any) -> list[Any]:
        return self._db.execute(query, values).fetchall()

    def column(self, query: str, *values: Any) -> list[Any]:
        return [row[0] for row in self.rows(query, *values)]

    def one(self, query: str, *values: Any) -> Any:
        return self.rows(query, *values)[0][0]

    def array(self, identity: int) -> list[int]:
        dtype, n, codec, crc, data = self.rows("SELECT dtype, n, codec, crc32, data FROM arrays WHERE id=?", identity)[
            0
        ]
        if codec == 1:
            import zstandard

            data = zstandard.decompress(data)
        assert zlib.crc32(data, zlib.crc32(f"{identity},{dtype},{n},{codec};".encode())) == crc
        return list(struct.unpack(f"<{n}" + {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i8": "q"}[dtype], data))

    def by_tile(self, rows: list[tuple[int, int]]) -> list[int]:
        """(IPU, array) -> one number for each tile of the target, [] where there is no array."""
        if all(identity < 0 for _, identity in rows):
            return []
        found = [0] * self.tiles
        for ipu, identity in rows:
            for tile, value in enumerate(self.array(identity) if identity >= 0 else ()):
                found[ipu * self.per_ipu + tile] += value
        return found

    def lowered(self, tile: int) -> dict[str, list[int]]:
        names = ("bytes", "address", "category", "region", "variable", "eq_class", "name")
        columns = ", ".join(f"{name}_array" for name in names)
        ids = self.rows(f"SELECT {columns} FROM lowered_by_tile WHERE tile=?", tile)[0]
        found = {name: self.array(identity) for name, identity in zip(names, ids, strict=True)}
        whole = dict(self.rows("SELECT id, variable FROM variable_parts"))
        found["whole"] = [whole[part] for part in found["variable"]]
        found["id"] = [
            self.one("SELECT first_id FROM lowered_by_tile WHERE tile=?", tile) + i for i in range(len(found["name"]))
        ]
        return found

    def ranges(self, number: int) -> list[tuple[int, int]]:
        """Live ranges of an equivalence class."""
        offsets, starts, ends = (
            self.array(i) for i in self.rows("SELECT offsets_array, starts_array, ends_array FROM eq_classes")[0]
        )
        rows = slice(offsets[number], offsets[number + 1])
        return list(zip(starts[rows], ends[rows], strict=True))

    def is_live(self, number: int, index: int) -> bool:
        """Whether a class is live at an index, but not always."""
        return number not in (-1, self.always) and any(start <= index < end for start, end in self.ranges(number))

    def figure(self, program: int, name: str) -> list[int]:
        """One number for each tile; [] where the figure is not known."""
        found = self.by_tile(self.rows(f"SELECT ipu, {name}_array FROM program_by_ipu WHERE program=?", program))
        if not found and program in self.known(name):
            return [0] * self.tiles
        return found

    def known(self, figure: str) -> list[int]:
        """Programs of which a figure is known."""
        return self.array(self.one("SELECT programs_array FROM known_figures WHERE figure=?", figure))

    def under(self, program: int) -> list[int]:
        """A program and everything below it."""
        below = self.column("SELECT child FROM program_children WHERE program=? ORDER BY pos", program)
        return [program, *(each for child in below for each in self.under(child))]

    def first(self, type_: str) -> int:
        """The first program of a type that has figures of its own."""
        return self.one(
            "SELECT p.id FROM programs p JOIN program_types t ON t.id = p.type"
            " JOIN program_by_ipu b ON b.program = p.id WHERE t.name = ? ORDER BY p.id",
            type_,
        )

    def variables_of(self, program: int) -> list[int]:
        """Ids of the allocations, on all tiles, of the variables that a program reads or writes."""
        ids = self.column("SELECT variables_array FROM program_variables WHERE program=?", program)
        wanted = {v for identity in ids for v in self.array(identity)}
        return [
            id
            for tile in range(self.tiles)
            for columns in [self.lowered(tile)]
            for id, variable in zip(columns["id"], columns["variable"], strict=True)
            if variable in wanted
        ]
