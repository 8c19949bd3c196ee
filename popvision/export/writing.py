"""Write columns as CSV or JSON, in chunks. A file gets its name only when it is complete."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from popvision.export.cells import safe_cell, safe_comment
from popvision.export.tables import Column, Table
from popvision.formats.errors import FormatError
from popvision.formats.replacing import replacing

_CHUNK = 65536


def _rows(table: Table) -> Iterator[list[tuple[Any, ...]]]:
    columns = [np.asarray(column) if not isinstance(column, list) else column for column in table.values()]
    size = len(columns[0]) if columns else 0
    for first in range(0, size, _CHUNK):
        parts = [column[first : first + _CHUNK] for column in columns]
        yield list(zip(*(p.tolist() if isinstance(p, np.ndarray) else p for p in parts), strict=True))


def write_csv(table: Table, provenance: str, stream: IO[str]) -> None:
    """Write a comment line with the provenance, a header and the rows, with formulas escaped (cells.py)."""
    stream.write(f"# {safe_comment(provenance)}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(safe_cell(name) for name in table)
    texts = [name for name, column in table.items() if not _is_number(column)]
    safe = table | {name: [safe_cell(value) for value in table[name]] for name in texts}
    for rows in _rows(safe):
        writer.writerows(rows)


def _is_number(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "iufb"


def write_json(table: Table, provenance: str, stream: IO[str]) -> None:
    """Write an object with `provenance`, `columns` and `rows` (a list of lists)."""
    stream.write(f'{{"provenance": {json.dumps(provenance)}, "columns": {json.dumps(list(table))}, "rows": [')
    separator = "\n"
    for rows in _rows(table):
        for row in rows:
            stream.write(separator + json.dumps(row))
            separator = ",\n"
    stream.write("\n]}\n")


WRITERS: dict[str, Callable[[Table, str, IO[str]], None]] = {"csv": write_csv, "json": write_json}


def write_file(path: Path, write: Callable[[IO[str]], None]) -> None:
    """Write a temporary file beside `path` and rename it, so that a failed export leaves no file that looks complete.

    Raises FormatError when the file cannot be written."""
    try:
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            write(stream)
    except OSError as error:
        raise FormatError(f"cannot write {path}: {error.strerror or error}; give another path or free space.") from None
