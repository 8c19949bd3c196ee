"""Tables of a database that another tool wrote, brought into the shape of ours.

Only the published names of tables and columns of such a file are known. A missing table has no rows; a column that is
missing, or holds another kind of value than its name implies, refuses each use of its values with one sentence
(`AbsentColumn`). Program types and memory categories are matched by name, not by the numbers of the file; a row that
others refer to by id is moved to the position of its id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from popvision.formats.errors import AbsentError
from popvision.formats.profile.checksum import Column, as_column
from popvision.formats.profile.model import CATEGORIES, PROGRAM_TYPES, REGIONS
from popvision.formats.profile.schema import TABLES, Table
from popvision.formats.profile.table_names import column_names

#: Values that stand for "none" in our own files, and for a missing number in a foreign one.
_NONE = {"debug_id": -1, "compute_set": -1, "variable": -1, "eq_class": -1, "flops": -1, "code_bytes": -1}

#: Tables whose rows have all of their arrays: a missing one is unknown, not "no array stored".
_NEVER_BLANK = ("memory_arrays", "eq_classes", "liveness_by_ipu", "lowered_by_tile")

#: Table -> its column of ids, which are row numbers in our files.
_PLACES = {"programs": "id", "compute_sets": "compute_set", "vertex_types": "id", "vars_string_table": "id"}

#: (table, column) -> (our names in order, table of the file that names its codes, our code for other names)
_CODES: dict[tuple[str, str], tuple[tuple[str, ...], str, str]] = {
    ("programs", "type"): (PROGRAM_TYPES, "program_types", "Unknown"),
    ("steps", "type"): (PROGRAM_TYPES, "program_types", "Unknown"),
    ("vars_info", "category"): (CATEGORIES, "var_categories", "multiple"),
    ("memory_arrays", "category"): (CATEGORIES, "var_categories", "multiple"),
    ("memory_arrays", "region"): (REGIONS, "var_regions", REGIONS[0]),
}

#: Rows at most that a table is filled up with, so that an absurdly large id takes no memory.
_MOST_GAPS = 100_000

Fetch = Callable[[sqlite3.Connection, Table, list[str], str], dict[str, Column]]


class AbsentColumn:
    """A column without values: every use of it raises AbsentError with the same sentence."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise AbsentError(self._sentence)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)  # NumPy and copy look for these
        self._refuse()

    __len__ = __getitem__ = __iter__ = __contains__ = __array__ = __bool__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse


def numbers(table: dict[str, Column], name: str) -> Any:
    """A column as an array; an AbsentColumn as it is."""
    column: Any = table[name]
    return column if isinstance(column, AbsentColumn) else np.asarray(column)


def chosen(column: Any, rows: Any) -> Any:
    """Rows of an array; an AbsentColumn as it is."""
    return column if isinstance(column, AbsentColumn) else column[rows]


def row_count(table: dict[str, Column]) -> int:
    """Rows of a table some of whose columns may be absent."""
    return next((len(column) for column in table.values() if not isinstance(column, AbsentColumn)), 0)


def read_foreign(db: sqlite3.Connection, name: str, present: set[str], fetch: Fetch) -> dict[str, Column]:
    """Columns of table `name` of a database that has the tables `present`; `fetch` reads whole columns."""
    table = TABLES[name]
    known = column_names(db, name) if name in present else set()
    stored = [column for column, _ in table.columns if column in known]
    read = _readable(db, table, stored, _order(db, table, stored), fetch)
    rows = row_count(read)
    columns = {
        column: read[column] if column in read else _blank(table, column, rows) if read else _repeated(kind, 0, 0)
        for column, kind in table.columns
    }
    for column in read:
        if (name, column) in _CODES:
            columns[column] = _our_codes(db, present, columns[column], *_CODES[name, column])
    columns = _named_by_steps(db, table, columns, present, fetch)
    if name == "programs":
        columns |= _as_executed(db, columns, known, present, fetch)
    return _placed(table, columns)


#: Tables whose rows steps name -> the column of steps that does.
_NAMED_BY_STEPS = {"programs": "program", "compute_sets": "compute_set"}


def _named_by_steps(
    db: sqlite3.Connection, table: Table, columns: dict[str, Column], present: set[str], fetch: Fetch
) -> dict[str, Column]:
    """The columns with an empty row for every program or compute set that only the steps name."""
    column = _NAMED_BY_STEPS.get(table.name)
    key: Any = columns.get(_PLACES.get(table.name, ""))
    if column is None or "steps" not in present or isinstance(key, AbsentColumn):
        return columns
    named: Any = read_foreign(db, "steps", present, fetch)[column]
    extra = np.empty(0, np.int64) if isinstance(named, AbsentColumn) else np.setdiff1d(named[named >= 0], key)
    if not len(extra):
        return columns
    return {name: _longer(table, name, values, extra) for name, values in columns.items()}


def _longer(table: Table, name: str, values: Any, extra: Any) -> Column:
    blank: Any = extra if name == _PLACES[table.name] else _blank(table, name, len(extra))
    if isinstance(values, AbsentColumn) or isinstance(blank, AbsentColumn):
        return values  # type: ignore[no-any-return]
    return [*values, *blank] if isinstance(values, list) else np.concatenate([values, blank])


def _order(db: sqlite3.Connection, table: Table, names: list[str]) -> str:
    """By key, ties by everything else, so that each column is read in the same order; else as the rows were written."""
    if not set(table.key) <= set(names) and _has_rowid(db, table.name):
        return "rowid"
    return ", ".join([*(key for key in table.key if key in names), *(name for name in names if name not in table.key)])


def _has_rowid(db: sqlite3.Connection, table: str) -> bool:
    try:
        db.execute(f"SELECT rowid FROM {table} LIMIT 0")
    except sqlite3.OperationalError:
        return False
    return True


def _readable(db: sqlite3.Connection, table: Table, names: list[str], order: str, fetch: Fetch) -> dict[str, Column]:
    if not names:
        return {}
    try:
        return fetch(db, table, names, order)
    except (TypeError, ValueError, OverflowError):
        return {name: _one_by_one(db, table, name, order) for name in names}


def _one_by_one(db: sqlite3.Connection, table: Table, name: str, order: str) -> Column:
    """A column of which some values are missing or of another kind; text stays where names can be codes."""
    values = [row[0] for row in db.execute(f"SELECT {name} FROM {table.name} ORDER BY {order}")]
    kind = dict(table.columns)[name]
    if (table.name, name) in _CODES and all(isinstance(value, str) for value in values):
        return values
    none: Any = "" if kind == "t" else _NONE.get(name, -1 if _may_be_none(table, name) else None)
    try:
        return as_column([none if value is None else value for value in values], kind)
    except (TypeError, ValueError, OverflowError):
        absent: Any = AbsentColumn(
            f"Column {name} of table {table.name} of this report holds other values than {_MEANT[kind]}: "
            "it was written by another tool."
        )
        return absent  # type: ignore[no-any-return]


_MEANT = {"i": "whole numbers", "f": "numbers", "t": "text"}


def _blank(table: Table, name: str, rows: int) -> Column:
    """A missing column: text is empty, values that may be "none" are none, other values are absent."""
    kind = dict(table.columns)[name]
    if kind == "t" or _may_be_none(table, name):
        return _repeated(kind, _NONE.get(name, -1), rows)
    if (table.name, name) == ("programs", "type"):
        return _repeated(kind, PROGRAM_TYPES.index("Unknown"), rows)
    absent: Any = AbsentColumn(
        f"Table {table.name} of this report has no column {name}: it was written by another tool."
    )
    return absent  # type: ignore[no-any-return]


def _may_be_none(table: Table, name: str) -> bool:
    return (name.endswith("_array") and table.name not in _NEVER_BLANK) or name in _NONE


def _repeated(kind: str, value: int, rows: int) -> Column:
    return [""] * rows if kind == "t" else np.full(rows, value, np.int64 if kind == "i" else np.float64)


def _our_codes(
    db: sqlite3.Connection, present: set[str], codes: Column, ours: tuple[str, ...], names: str, other: str
) -> Column:
    """Codes of our own for the names, or for the numbers that the file's table `names` explains. Numbers that nothing
    explains are `other`."""
    if isinstance(codes, AbsentColumn):
        return codes
    meant: dict[Any, str] = {}
    if isinstance(codes, list):
        meant = {text: text for text in set(codes)}
    elif names in present and {"id", "name"} <= column_names(db, names):
        meant = dict(db.execute(f"SELECT id, name FROM {names}").fetchall())
    place = {name: code for code, name in enumerate(ours)}
    listed = codes if isinstance(codes, list) else codes.tolist()
    return np.array([place.get(meant.get(code, other), place[other]) for code in listed], np.int64)


def _as_executed(
    db: sqlite3.Connection, programs: dict[str, Column], known: set[str], present: set[str], fetch: Fetch
) -> dict[str, Column]:
    """Type and compute set of programs, from the steps that ran them, where table programs does not say."""
    lacking = {"type", "compute_set"} - known
    steps = read_foreign(db, "steps", present, fetch) if lacking else {}
    used = (programs["id"], *(steps.get(name, []) for name in ("program", *lacking)))
    if not row_count(steps) or any(isinstance(column, AbsentColumn) for column in used):
        return {}
    ids, ran = np.asarray(programs["id"]), np.asarray(steps["program"])
    executed, first = np.unique(ran, return_index=True)
    position = np.searchsorted(executed, ids)
    rows = np.flatnonzero(np.append(executed, -1)[position] == ids)
    result: dict[str, Column] = {}
    for name in lacking:
        values = np.array(programs[name], np.int64)
        values[rows] = np.asarray(steps[name])[first[position[rows]]]
        result[name] = values
    return result


def _placed(table: Table, columns: dict[str, Column]) -> dict[str, Column]:
    """Rows at the position of their id. Ids that the file leaves out become empty rows."""
    ids: Any = columns.get(_PLACES.get(table.name, "tile" if table.name == "memory_by_tile" else ""))
    if ids is None or isinstance(ids, AbsentColumn) or np.array_equal(ids, np.arange(len(ids))):
        return columns
    size = int(ids.max()) + 1
    if table.name == "memory_by_tile" or ids.min() < 0 or size > len(ids) + _MOST_GAPS:
        text = f"Table {table.name} of this report does not number its rows from 0 on: it was written by another tool."
        absent: Any = AbsentColumn(text)
        return dict.fromkeys(columns, absent)
    return {name: _spread(table, name, column, ids, size) for name, column in columns.items()}


def _spread(table: Table, name: str, column: Any, ids: Any, size: int) -> Column:
    if isinstance(column, AbsentColumn):
        return column  # type: ignore[return-value]
    if name == _PLACES[table.name]:
        return np.arange(size)
    blank = _blank(table, name, size)
    spread = np.array(
        _repeated(dict(table.columns)[name], 0, size) if isinstance(blank, AbsentColumn) else blank, object
    )
    spread[ids] = column
    return spread.tolist() if isinstance(column, list) else spread.astype(column.dtype)
