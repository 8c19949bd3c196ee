"""Streams that a program gives for text: anything with `write`."""

from __future__ import annotations

from typing import Any

from simulator.base.errors import poplar_error


def checked_stream(stream: Any, what: str) -> Any:
    """The stream. Raises poplar_error for what cannot be written to."""
    if not callable(getattr(stream, "write", None)):
        raise poplar_error(f"{what}: {stream!r} is not a stream; give a file object open for text, such as sys.stdout.")
    return stream
