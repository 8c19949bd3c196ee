"""What a query gives, and how much it may take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from popvision.formats.errors import FormatError


@dataclass(frozen=True)
class Limits:
    """`seconds` of wall time; `rows` that are returned, `skip` rows before them;
    `text`: characters and bytes of blobs in all of them; `heap`: bytes that SQLite may take in
    this process, sorting included (0 = no limit; the process keeps a limit once it has one)."""

    seconds: float = 30.0
    rows: int = 1_000
    skip: int = 0
    text: int = 64 << 20
    heap: int = 0


@dataclass(frozen=True)
class Answer:
    """`rows` under `columns`; `more`: there are further rows. Cells are int, float, str or None; a blob is its size as
    text, an infinite float is None."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    more: bool


def gathered(rows: Iterator[tuple[Any, ...]], limits: Limits) -> tuple[list[tuple[Any, ...]], bool]:
    """(plain rows behind `limits.skip`, whether there are more). Raises FormatError above `limits.text`."""
    next(islice(rows, limits.skip, limits.skip), None)
    found: list[tuple[Any, ...]] = []
    held = 0
    for row in rows:
        if len(found) == limits.rows:
            return found, True
        held += sum(len(cell) for cell in row if isinstance(cell, (str, bytes)))
        if held > limits.text:
            raise FormatError(f"The answer holds more than {limits.text:,} characters of text; ask for fewer or less.")
        found.append(plain(row))
    return found, False


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with cells that JSON can hold."""
    return tuple(_cell(cell) for cell in row)


def _cell(cell: Any) -> Any:
    if isinstance(cell, (bytes, bytearray, memoryview)):
        return f"<{len(cell):,} bytes>"
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if cell is None or isinstance(cell, (bool, int, float, str)):
        return cell
    return str(cell)
