"""Arguments of Engine's methods that move data: a buffer, its begin and end, or a callback, in Poplar's forms."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import type_error
from simulator.runtime.host.host_buffers import memory_between
from simulator.runtime.host.quarter_ends import is_metadata

_BUFFER_NAMES = ("buf", "buffer", "begin", "p", "bufEnd", "end")


def buffer_argument(
    what: str, arguments: tuple[Any, ...], named: dict[str, Any], pointers: bool = False
) -> tuple[Any, Any]:
    """(metadata or None, the buffer) of one of Poplar's forms; `pointers`: as it was given, begin or begin and end."""
    given = list(arguments)
    metadata = named.pop("metadata", None)
    if metadata is None and given and is_metadata(given[0]):
        metadata = given.pop(0)
    given += [named.pop(name) for name in _BUFFER_NAMES if name in named]
    given = [part for part in given if part is not None]
    if named or not 1 <= len(given) <= 2:
        raise type_error(f"{what}: give a buffer, or its begin and end; got {len(given)} arguments {sorted(named)}.")
    if pointers:
        return metadata, tuple(given)
    return metadata, given[0] if len(given) == 1 else memory_between(given[0], given[1], what)


def callback_arguments(handle: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    """(callback, replica or None) of `connectStreamToCallback(handle, f)` or `(handle, index, f)`."""
    given = list(arguments)
    callback = named.pop("f") if "f" in named else given.pop() if given else None
    index = named.pop("index") if "index" in named else given.pop() if given else None
    if given or named or callback is None:
        raise type_error(f"connectStreamToCallback('{handle}') takes (handle, f) or (handle, index, f).")
    return callback, index
