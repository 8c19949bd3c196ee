"""Text for people: notices on standard error, each once per process, and streams that a program gives for text."""

from __future__ import annotations

import sys
from io import IOBase
from typing import Any

from simulator.base.errors import poplar_error
from simulator.base.log import Level, log

_printed: set[str] = set()


def no_effect(what: str) -> None:
    """Say that `what`, an option with its value, has no effect."""
    name = what.split("=")[0]
    if name not in _printed:
        _printed.add(name)
        warn(f"{what} has no effect in this version of the simulator.")


def once(subject: str, sentence: str) -> None:
    """Print a sentence, unless one about `subject` was printed before."""
    if subject not in _printed:
        _printed.add(subject)
        warn(sentence)


def warn(sentence: str) -> None:
    """Print a sentence about what a program loses while it goes on; the log has it too."""
    log(Level.WARN, "NOTICE", sentence)
    print(f"popvision: {sentence}", file=sys.stderr)


def checked_stream(stream: Any, what: str) -> Any:
    """The stream. Raises poplar_error for what cannot be written to."""
    if not callable(getattr(stream, "write", None)):
        raise poplar_error(f"{what}: {stream!r} is not a stream; give a file object open for text, such as sys.stdout.")
    if isinstance(stream, IOBase) and not stream.writable():
        raise poplar_error(f"{what}: {stream!r} is open for reading only; open it for writing.")
    return stream
