"""The tables of profile.pop, as data: one line per table, its columns in order and its key.

`steps`, `steps_by_ipu`, `programs`, `compute_sets`, `vars_info`, `var_categories`, `vars_string_table`,
`memory_by_tile` and `execution_cycle_totals` carry the published names and columns, so that plain SQL works on them.
Columns called `*_array` hold ids of `arrays`; -1 = none stored. Of a figure of a program that means zero on every tile
where `known_figures` lists the program, elsewhere not known. No column is ever NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from popvision.formats.profile.program_types import PROGRAM_TYPES

#: Version of the layout of profile.pop. Readers refuse a newer major version.
FORMAT_VERSION = (1, 5, 0)

#: `PRAGMA application_id`: "PPOP" in ASCII.
APPLICATION_ID = 0x50504F50

_KINDS = {"i": "INTEGER", "f": "REAL", "t": "TEXT"}


@dataclass(frozen=True)
class Table:
    """A scalar table. `columns` are (name, kind) with kind "i" integer, "f" real, "t" text;
    rows are read in `key` order."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]
    per_run: bool = False  #: grows with each recorded run, one checksum row per run
    #: Integer columns that stand in the file as names, column -> name of each number: as published, for plain SQL.
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def create(self) -> str:
        if len(self.key) == 1 and dict(self.columns)[self.key[0]] == "i":
            marks = {name: "PRIMARY KEY" if name == self.key[0] else "NOT NULL" for name, _ in self.columns}
            columns = [f"{n} {self._kind(n, k)} {marks[n]}" for n, k in self.columns]
            return f"CREATE TABLE {self.name}({', '.join(columns)})"
        columns = [f"{n} {self._kind(n, k)} NOT NULL" for n, k in self.columns]
        return f"CREATE TABLE {self.name}({', '.join(columns)}, PRIMARY KEY({', '.join(self.key)})) WITHOUT ROWID"

    def _kind(self, name: str, kind: str) -> str:
        return "TEXT" if name in self.named else _KINDS[kind]

    def selected(self, names: Iterable[str]) -> str:
        """SQL of columns as numbers, as files before format 1.2 have them all. A name that is none stays a text."""
        return ", ".join(self._number(name) if name in self.named else name for name in names)

    def _number(self, name: str) -> str:
        cases = " ".join(f"WHEN '{text}' THEN {code}" for code, text in enumerate(self.named[name]))
        return f"CASE {name} {cases} ELSE {name} END AS {name}"

    @property
    def insert(self) -> str:
        names = ", ".join(n for n, _ in self.columns)
        return f"INSERT INTO {self.name}({names}) VALUES ({', '.join('?' * len(self.columns))})"


def _table(
    name: str, key: str, columns: str, per_run: bool = False, named: Mapping[str, tuple[str, ...]] | None = None
) -> Table:
    pairs = [column.split(":") for column in columns.split()]
    return Table(name, tuple((n, k) for n, k in pairs), tuple(key.split()), per_run, named or {})


_TABLES = (
    _table("meta", "key", "key:t value:t"),
    _table("program_types", "id", "id:i name:t"),
    _table("programs", "id", "id:i type:i name:t owner:t compute_set:i repeat_count:i debug_id:i sync_type:t"),
    _table("program_children", "program pos", "program:i pos:i child:i"),
    _table("program_calls", "program", "program:i callee:i"),
    _table(
        "program_by_ipu",
        "program ipu",
        "program:i ipu:i cycles_array:i rx_array:i tx_array:i exchange_code_array:i control_code_array:i",
    ),
    _table("known_figures", "figure", "figure:t programs_array:i"),
    _table("messages", "program ipu", "program:i ipu:i src_array:i dst_array:i bytes_array:i"),
    _table("sendings", "program ipu", "program:i ipu:i src_array:i receivers_array:i bytes_array:i"),
    _table("program_variables", "program", "program:i variables_array:i"),
    _table("compute_sets", "compute_set", "compute_set:i name:t debug_id:i flops:i"),
    _table("vertex_types", "id", "id:i name:t kind:t state_bytes:i code_bytes:i"),
    _table(
        "compute_set_vertices",
        "compute_set vertex_type ipu",
        "compute_set:i vertex_type:i ipu:i count_array:i cycles_array:i provenance:t flops:i",
    ),
    _table(
        "copy_vertices",
        "compute_set type ipu",
        "compute_set:i type:t ipu:i state_bytes:i count_array:i cycles_array:i",
    ),
    _table(
        "vertex_lanes",
        "compute_set ipu",
        "compute_set:i ipu:i offsets_array:i type_array:i thread_cycles_array:i worker_array:i",
    ),
    _table("cost_terms", "id", "id:i object:t term:t value:f source:t"),
    _table("memory_by_tile", "tile", "tile:i total:i excluding_gaps:i always_live:i not_always_live:i overflowed:i"),
    _table("memory_arrays", "category region overlapped ipu", "category:i region:i overlapped:i ipu:i bytes_array:i"),
    _table("var_categories", "id", "id:i name:t"),
    _table("var_regions", "id", "id:i name:t"),
    _table("vars_string_table", "id", "id:i string:t"),
    _table("vars_info", "id", "id:i tile:i category:i name:i size_bytes:i"),
    _table("variables", "id", "id:i name:t debug_id:i bytes:i always_live:i eq_class:i"),
    _table("variable_parts", "id", "id:i variable:i bytes:i eq_class:i"),
    _table("eq_classes", "id", "id:i offsets_array:i starts_array:i ends_array:i"),
    _table("liveness", "liveness_index", "liveness_index:i program:i bytes:i"),
    _table("liveness_by_ipu", "ipu", "ipu:i bytes_array:i"),
    _table(
        "lowered_by_tile",
        "tile",
        "tile:i n:i first_id:i bytes_array:i address_array:i category_array:i region_array:i variable_array:i"
        " eq_class_array:i name_array:i",
    ),
    _table(
        "runs",
        "id",
        "id:i program_index:i name:t host_start_us:i host_end_us:i first_step:i n_steps:i cycles:i truncated:i",
        per_run=True,
    ),
    _table("run_tail", "run ipu", "run:i ipu:i tail_array:i", per_run=True),
    _table("branch_record", "run program", "run:i program:i entered:i trips:i", per_run=True),
    _table(
        "blocks",
        "run tile",
        "run:i tile:i n:i program_array:i kind_array:i start_array:i end_array:i",
        per_run=True,
    ),
    _table("execution_cycle_totals", "run ipu", "run:i ipu:i cycles:i", per_run=True),
    _table("steps", "id", "id:i type:i program:i compute_set:i run:i", True, {"type": PROGRAM_TYPES}),
    _table(
        "steps_by_ipu",
        "step_id ipu",
        "step_id:i ipu:i cycles:i active_tiles:i cycles_base:i"
        " active_cycles_from_min:i active_cycles_from_max:i active_cycles_to_min:i active_cycles_to_max:i"
        " all_cycles_from_min:i all_cycles_from_max:i all_cycles_to_min:i all_cycles_to_max:i"
        " data_in:i data_out:i tile_balance:f active_tile_balance:f start_array:i cycles_array:i"
        " tile_cycles:i max_cycles:i",
        per_run=True,
    ),
)

#: Every scalar table, by name, in the order in which they are written.
TABLES = {table.name: table for table in _TABLES}

#: The two tables that are not checked by a row of `parts`: the arrays carry their own checksums, `parts` holds them.
CREATE_ARRAYS = """CREATE TABLE arrays(id INTEGER PRIMARY KEY, dtype TEXT NOT NULL, n INTEGER NOT NULL,
 codec INTEGER NOT NULL, crc32 INTEGER NOT NULL, data BLOB NOT NULL)"""
CREATE_PARTS = """CREATE TABLE parts(name TEXT NOT NULL, part INTEGER NOT NULL, rows INTEGER NOT NULL,
 crc32 INTEGER NOT NULL, PRIMARY KEY(name, part)) WITHOUT ROWID"""
