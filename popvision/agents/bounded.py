"""Answers cut to what an agent can take in, and the cursor that leads on."""

from __future__ import annotations

import json
import zlib
from typing import Any

from popvision.formats.errors import FormatError
from popvision.opened.printable import clipped

#: Bytes of one answer as JSON, and characters of one text in it.
MOST_BYTES = 40_000
MOST_TEXT = 1_000


def bounded(answer: dict[str, Any], arguments: dict[str, Any], generation: int) -> str:
    """The answer as JSON of at most MOST_BYTES with texts made
    printable and cut to MOST_TEXT characters; rows that do not fit wait for `next_cursor`."""
    kept = _cut(answer)
    rows = kept.pop("rows", None)
    end = answer.get("next_offset")
    kept.pop("next_offset", None)
    if rows is None:
        return json.dumps(kept)
    room = MOST_BYTES - len(json.dumps(kept)) - 200
    fitting: list[Any] = []
    for row in rows:
        room -= len(json.dumps(row)) + 2
        if room < 0:
            break
        fitting.append(row)
    if rows and not fitting:
        raise FormatError(f"one row alone is larger than {MOST_BYTES:,} bytes; ask for fewer columns or shorter texts.")
    if len(fitting) < len(rows):
        end = answer["offset"] + len(fitting)
    cursor = None if end is None else f"{end}.{generation}.{_mark(arguments)}"
    return json.dumps(kept | {"rows": fitting, "next_cursor": cursor})


def offset_of(cursor: str, arguments: dict[str, Any], generation: int) -> int:
    """Where a page begins. Raises FormatError for a cursor of another question or of an earlier state of the report."""
    if not cursor:
        return 0
    parts = cursor.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise FormatError("the cursor is not one of mine; leave it out for the first page.")
    if parts[2] != str(_mark(arguments)):
        raise FormatError("the cursor belongs to another question; repeat the arguments or leave the cursor out.")
    if parts[1] != str(generation):
        raise FormatError("the report has grown since that page; ask again without a cursor.")
    return int(parts[0])


def _mark(arguments: dict[str, Any]) -> int:
    asked = {name: value for name, value in arguments.items() if name not in ("cursor", "limit")}
    return zlib.crc32(json.dumps(asked, sort_keys=True).encode())


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return "\n".join(clipped(line, MOST_TEXT) for line in value.split("\n")[:20])
    if isinstance(value, dict):
        return {_cut(key): _cut(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cut(each) for each in value]
    return value
