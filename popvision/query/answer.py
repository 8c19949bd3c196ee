"""The answer of a query, and the limits on its time and size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from popvision.formats.errors import AbsentError, FormatError, NotRecordedError
from popvision.formats.integrity import Verified

TOO_MUCH_MEMORY = "The query needs too much memory; narrow it with WHERE or LIMIT."

#: What a query raises by name, the narrowest first.
PROBLEMS = {kind.__name__: kind for kind in (AbsentError, NotRecordedError, FormatError)}


@dataclass(frozen=True)
class Limits:
    """Maximum `seconds` of wall time; `rows` to return after skipping `skip` rows; maximum `text` (characters and
    bytes of blobs) in all rows; maximum `heap` bytes that SQLite may use in the process that runs the query, sorting
    included (0 = no limit; a limit stays for the rest of that process; `ask` sets its own)."""

    seconds: float = 30.0
    rows: int = 1_000
    skip: int = 0
    text: int = 64 << 20
    heap: int = 0


@dataclass(frozen=True)
class Answer:
    """`rows` under `columns`; `more` = there are further rows. Cells are int, float, str or None; a blob becomes its
    size as text, an infinite float None. `verified`: "yes" where all tables that the query read match their checksums,
    "partly" where some were not compared, being large or holding arrays as they are, "no" for a file without any."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    more: bool
    verified: Verified = "yes"


def column_names(description: Sequence[Sequence[Any]] | None) -> list[str]:
    """Names of the columns of a cursor, each once: a second `a` is `a (2)`, so that rows by name lose nothing."""
    names: dict[str, None] = {}
    for name, *_ in description or ():
        number, unique = 1, str(name)
        while unique in names:
            number += 1
            unique = f"{name} ({number})"
        names[unique] = None
    return list(names)


def take_rows(rows: Iterator[tuple[Any, ...]], limits: Limits) -> tuple[list[tuple[Any, ...]], bool]:
    """(rows after `limits.skip`, whether there are more). Raises FormatError above `limits.text`."""
    next(islice(rows, limits.skip, limits.skip), None)
    taken: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        if len(taken) == limits.rows:
            return taken, True
        size += sum(len(cell) for cell in row if isinstance(cell, (str, bytes)))
        if size > limits.text:
            raise FormatError(f"The answer has more than {limits.text:,} characters; select fewer rows or columns.")
        taken.append(tuple(map(_json_cell, row)))
    return taken, False


def _json_cell(cell: Any) -> Any:
    """The cell as JSON can hold it."""
    if isinstance(cell, (bytes, bytearray, memoryview)):
        return f"<{len(cell):,} bytes>"
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if cell is None or isinstance(cell, (bool, int, float, str)):
        return cell
    return str(cell)
