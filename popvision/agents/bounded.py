"""Limit answers to the size that an agent can take in, with a cursor to the next page."""

from __future__ import annotations

import json
import zlib
from typing import Any

from popvision.formats.errors import FormatError
from popvision.opened.printable import clipped

#: Maximum bytes of an answer as JSON, and characters of a text in it.
MOST_BYTES = 40_000
MOST_TEXT = 1_000


def bounded(answer: dict[str, Any], arguments: dict[str, Any], generation: int) -> str:
    """The answer as JSON of at most MOST_BYTES, with printable texts of at most MOST_TEXT characters. Rows that do not
    fit are left for `next_cursor`. Raises FormatError when not even one row fits."""
    document = _with_short_texts(answer)
    rows = document.pop("rows", None)
    end = document.pop("next_offset", None)
    if rows is None:
        return json.dumps(document)
    room = MOST_BYTES - len(json.dumps(document)) - 200
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
    cursor = None if end is None else f"{end}.{generation}.{_fingerprint(arguments)}"
    return json.dumps(document | {"rows": fitting, "next_cursor": cursor})


def offset_of(cursor: str, arguments: dict[str, Any], generation: int) -> int:
    """The first row of the page. Raises FormatError for a cursor of another question or of an earlier report."""
    if not cursor:
        return 0
    parts = cursor.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise FormatError("the cursor is invalid; omit it for the first page.")
    if parts[2] != str(_fingerprint(arguments)):
        raise FormatError("the cursor belongs to another question; repeat the arguments or omit the cursor.")
    if parts[1] != str(generation):
        raise FormatError("the report has grown since that page; ask again without a cursor.")
    return int(parts[0])


def _fingerprint(arguments: dict[str, Any]) -> int:
    """A checksum of the question, without its page."""
    question = {name: value for name, value in arguments.items() if name not in ("cursor", "limit")}
    return zlib.crc32(json.dumps(question, sort_keys=True).encode())


def _with_short_texts(value: Any) -> Any:
    if isinstance(value, str):
        return "\n".join(clipped(line, MOST_TEXT) for line in value.split("\n")[:20])
    if isinstance(value, dict):
        return {_with_short_texts(key): _with_short_texts(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_short_texts(each) for each in value]
    return value
