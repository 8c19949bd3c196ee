"""The objects of a JSON trace one at a time, from a sliding window: memory stays bounded by the largest object.

A trace is an array of events, or an object with the array `traceEvents` among other keys. Numbers with a fraction
come as text, so that none is rounded, and so do NaN and infinities, which JSON lacks. A file that ends early or is
damaged gives the events before; `problem` tells. An array may lack its `]`, as the format allows: its program still
writes it, or never came to the end."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from popvision.formats.errors import FormatError

_READ = 1 << 20

#: Characters of one event or of a value beside the events; a larger one is no event.
_MOST_CHARACTERS = 1 << 26

_SPACE = re.compile(r"[ \t\r\n]*")


class JsonTraceStream:
    """The events of a file; `facts` holds the plain values of the keys beside `traceEvents` once all are read.

    Raises FormatError, one sentence, where the file is no JSON trace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.facts: dict[str, Any] = {}
        self.problem = ""  #: why the rest of the file could not be read; "" when all of it was
        self.is_open = False  #: an array of events without its end
        self._text = ""
        self._at = 0
        self._file: IO[str] | None = None
        self._decoder = json.JSONDecoder(parse_float=str, parse_constant=str)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        events = 0
        try:
            with self._open() as file:
                self._file = file
                for event in self._document():
                    events += 1
                    yield event
        except FormatError as problem:
            if not events:
                raise
            self.problem = str(problem)
        except (UnicodeDecodeError, EOFError, OSError, zlib.error, ValueError, RecursionError) as problem:
            sentence = f"{self.path} is damaged after {events:,} events: {str(problem).splitlines()[0]}."
            if not events:
                raise FormatError(sentence) from None
            self.problem = sentence

    def _open(self) -> IO[str]:
        with self.path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        if is_packed:
            return gzip.open(self.path, "rt", encoding="utf-8-sig")
        return self.path.open(encoding="utf-8-sig")

    def _document(self) -> Iterator[dict[str, Any]]:
        first = self._next_character()
        if first == "[":
            yield from self._array(may_be_open=True)
            return
        if first != "{":
            raise self._error(f"it begins with {first!r}")
        while self._next_character() not in ("}", ""):
            self._at -= 1
            key = self._value()
            if self._next_character() != ":":
                raise self._error(f"the key {str(key)[:40]!r} has no value")
            if key == "traceEvents":
                if self._next_character() != "[":
                    raise self._error("traceEvents is no array")
                yield from self._array()
            else:
                self.facts[str(key)] = self._value()
            if self._next_character() != ",":
                return

    def _array(self, *, may_be_open: bool = False) -> Iterator[dict[str, Any]]:
        while True:
            character = self._next_character()
            if character == "]":
                return
            if not character and may_be_open:
                self.is_open = True
                return
            if not character:
                raise self._error("it ends within the list of events")
            if character == ",":
                continue
            self._at -= 1
            value = self._value()
            if isinstance(value, dict):
                yield value

    def _value(self) -> Any:
        """The JSON value that begins here."""
        self._next_character()
        self._at -= 1
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._read():
                    self._at = end
                    return value
            except json.JSONDecodeError as problem:
                # An object may only be incomplete in the window; what more text does not mend is damage.
                if len(self._text) - self._at < _MOST_CHARACTERS and self._read():
                    continue
                raise self._error(f"{problem.msg} in {self._text[self._at : self._at + 40]!r}") from None

    def _error(self, reason: str) -> FormatError:
        return FormatError(f"{self.path} is no complete JSON trace: {reason}.")

    def _next_character(self) -> str:
        """The next character that is no space; "" at the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                self._at += 1
                return self._text[self._at - 1]
            if not self._read():
                self._at += 1  # callers step back over the character
                return ""

    def _read(self) -> bool:
        """Add to the window. False at the end of the file."""
        assert self._file is not None
        text = self._file.read(_READ)
        if text:
            self._text = self._text[self._at :] + text
            self._at = 0
        return bool(text)
