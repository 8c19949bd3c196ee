"""Reads streams of hostile Cap'n Proto messages with pycapnp.

This module finds message borders from the segment tables: pycapnp's read_multiple(file) aborts the process on damaged
input. The traversal limit of a message is little more than its own size, so that no message makes the reader loop.
Every exception of pycapnp becomes a FormatError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from popvision.formats.errors import FormatError

_MOST_SEGMENTS = 512
_WORD = 8


def load_schema(name: str) -> Any:
    """The structs of popvision/formats/<name>."""
    import capnp

    capnp.remove_import_hook()
    return capnp.load(str(Path(__file__).with_name(name)))


def message_sizes(data: bytes | memoryview) -> Iterator[tuple[int, int]]:
    """(offset, length) of each message. Raises FormatError when the data end within one."""
    at = 0
    while at < len(data):
        if len(data) - at < _WORD:
            raise FormatError("it ends within a message")
        segments = int.from_bytes(data[at : at + 4], "little") + 1
        table = (4 + 4 * segments + _WORD - 1) // _WORD * _WORD
        if segments > _MOST_SEGMENTS or at + table > len(data):
            raise FormatError("a message has no sound segment table")
        words = np.frombuffer(data, dtype="<u4", count=segments, offset=at + 4)
        length = table + int(words.sum(dtype=np.int64)) * _WORD
        if at + length > len(data):
            raise FormatError("it ends within a message")
        yield at, length
        at += length


@contextmanager
def opened(struct: Any, message: bytes) -> Iterator[Any]:
    """One message as a reader of `struct`; every failure to read it is a FormatError."""
    import capnp

    try:
        with struct.from_bytes(message, traversal_limit_in_words=2 * len(message) // _WORD + 64) as reader:
            yield reader
    except (capnp.KjException, ValueError, RuntimeError, MemoryError, RecursionError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FormatError(f"a message cannot be read: {text}") from None
