"""The objects of a JSON trace one at a time, from a sliding window: memory stays bounded by the largest object.

A trace is an array of events, an object with the array `traceEvents` among other keys, or several of these, such as
an event a line. Sound events are read many at a time (sound_pieces.py), others one by one. Times with a fraction keep
their digits where a float would round them; NaN and infinities, which JSON lacks, come as text (C's `nan` and `inf`
too). An array may lack its `]`, as the format allows: its program still writes it, or never came to the end.

What is no JSON costs one event: the next one is looked for from the byte after its begin, as an object with a phase
`ph`, in time proportional to the text; `broken` counts such pieces, `replaced` characters that are not of the file's
encoding. A file that ends early gives the events before; `problem` tells."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.packed import PIECE, unpacked
from popvision.formats.foreign_traces.sound_pieces import SoundPieces, fraction

#: Characters of a reading. An error of the decoder costs a look at the whole window, for the number of its line.
_READ = PIECE

#: Characters of one event or of a value beside the events; a larger one is no event.
_MOST_CHARACTERS = 1 << 26

#: Characters of an event in which C's numbers are looked for, then of longer ones.
_PIECES = (1 << 8, 1 << 11, 1 << 15)

#: A decoder's error this near to the end of the window may be one of the window alone: "-Infinity", "\\u1234".
_NEAR_END = 16

#: Characters of what stands behind the last event.
_LONGEST_END = 256

_SPACE = re.compile(r"[ \t\r\n]*")
_OBJECT = re.compile(r'\{\s*"')
_EVENTS = re.compile(r'"traceEvents"\s*:\s*(?=\[)')
_PHASE = re.compile(r'"ph"\s*:')

#: Behind the last event: keys that producers write there.
_AFTER_EVENTS = re.compile(
    r"\](?=\s*,\s*\"(?:otherData|displayTimeUnit|stackFrames|samples|metadata|systemTraceEvents|schemaVersion"
    r"|deviceProperties|distributedInfo|traceName|baseTimeNanoseconds|controllerTraceDataKey)\"\s*:)"
)

#: And the end of a document.
_LAST_BRACKET = re.compile(r"\](?=[\s}]*\Z)")

#: What C's printf makes of numbers that are none, with what may stand before it.
_C_NUMBER = re.compile(r"(?<=[:,\[\s])([-+]?)(nan(?:\([^)\"]*\))?|inf(?:inity)?)(?=\s*[,\]}])", re.IGNORECASE)


def encoding_of(head: bytes) -> str:
    """The encoding of JSON by its first bytes: a mark, or zeros beside two characters of ASCII; UTF-8 without any."""
    if head.startswith(codecs.BOM_UTF16_LE) or (head[1:4:2] == b"\0\0" and 0 not in head[0:4:2]):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE) or (head[0:4:2] == b"\0\0" and 0 not in head[1:4:2]):
        return "utf-16-be"
    return "utf-8"


class _BrokenError(Exception):
    """What stands here is no JSON, from `place` in the window on; `is_cut` where only the end of the file makes it
    so."""

    def __init__(self, reason: str, place: int = 0, *, is_cut: bool = False) -> None:
        super().__init__(reason)
        self.place, self.is_cut = place, is_cut


class JsonTraceStream:
    """The events of a file; `facts` holds the plain values of the keys beside `traceEvents` once all are read.

    Raises FormatError, one sentence, where the file is no JSON trace."""

    def __init__(self, path: Path, unit_ns: int = 1000) -> None:
        self.path = path
        self.facts: dict[str, Any] = {}
        self.problem = ""  #: why the rest of the file could not be read; "" when all of it was
        self.is_open = False  #: an array of events without its end
        self.broken = 0  #: pieces that are no JSON
        self.replaced = 0  #: characters
        self.constants = 0  #: NaN and infinities
        self.documents = 0
        self._text = ""
        self._at = 0
        self._begun = 0  #: where the last value begins
        self._cut = ""  #: why the bytes end early
        self._pieces: Iterator[str] = iter(())
        self._sound = SoundPieces(unit_ns)
        self._decoder = json.JSONDecoder(parse_float=fraction, parse_constant=self._constant)

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        """Events in the order of the file, as many at once as were read together."""
        events = 0
        self._pieces = self._decoded(unpacked(self.path))
        try:
            for together in self._documents():
                events += len(together)
                yield together
        except FormatError as problem:
            if not events and not self._cut:
                raise
            self.problem = str(problem)
        if self._cut:
            self.problem = f"{self.path} is damaged after {events:,} events: {self._cut}."
        if self.problem and not events:
            raise FormatError(self.problem)

    def _decoded(self, parts: Iterator[bytes]) -> Iterator[str]:
        """Pieces of text in the encoding that the first bytes say."""
        first = next(parts, b"")
        encoding = encoding_of(first)
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        given = "\ufffd".encode(encoding)  # a text may hold the sign itself
        part: bytes | None = first
        while part is not None:
            text = decoder.decode(part)
            self.replaced += max(0, text.count("\ufffd") - part.count(given))
            yield text.removeprefix("\ufeff")
            part = next(parts, None)
        yield decoder.decode(b"", True)

    def _documents(self) -> Iterator[list[dict[str, Any]]]:
        character = self._next_character()
        if character not in ("{", "["):
            raise self._error(f"it begins with {character!r}")
        while character in ("{", "["):
            self.documents += 1
            if character == "[":
                yield from self._array(may_be_open=True)
            else:
                yield from self._object()
            character = self._next_character()
        if character:
            raise self._error(f"{self._text[self._at - 1 : self._at + 39]!r} follows its end")

    def _object(self) -> Iterator[list[dict[str, Any]]]:
        """The events of a document; those of all lines where it is an event itself."""
        facts: dict[str, Any] = {}
        begin = self._at - 1
        has_events = False
        while (character := self._next_character()) not in ("}", ""):
            if character == ",":
                continue
            self._at -= 1
            try:
                key = self._value()
                if self._next_character() != ":":
                    raise _BrokenError(f"the key {str(key)[:40]!r} has no value")
                if key != "traceEvents":
                    facts[str(key)] = self._value()
                    continue
            except _BrokenError as problem:
                if not has_events and self._seek_events(begin):
                    pass
                elif not has_events and self._seek_event():
                    yield from self._array(may_be_open=True, has_end=False)
                    return
                else:
                    raise self._error(str(problem)) from None
            if self._next_character() != "[":
                raise self._error("traceEvents is no array")
            has_events = True
            yield from self._array()
            begin = self._at
        if not character and not has_events:
            raise self._error("it ends within an object")
        if "ph" not in facts:
            self.facts |= facts
            return
        yield [facts]
        yield from self._array(may_be_open=True, has_end=False)

    def _array(self, *, may_be_open: bool = False, has_end: bool = True) -> Iterator[list[dict[str, Any]]]:
        """Events up to the bracket, or to the end of the file."""
        while True:
            character = self._next_character()
            if character == "]":
                return
            if not character and may_be_open:
                self.is_open = has_end
                return
            if not character:
                raise self._error("it ends within the list of events")
            if character == ",":
                continue
            self._at -= 1
            if sound := self._sound_values():
                yield sound
                continue
            try:
                value = self._value()
            except _BrokenError as problem:
                value = self._repaired(problem.place)
                if value is None and not self._seek_event(has_end=has_end):
                    if not has_end and not problem.is_cut:
                        self.broken += 1
                        return
                    self.is_open = may_be_open
                    raise self._error("it ends within an event" if problem.is_cut else str(problem)) from None
            if isinstance(value, dict):
                yield [value]

    def _sound_values(self) -> list[dict[str, Any]]:
        """The objects from here on that can be read at once; none where the next one needs a closer look."""
        missing = self._sound.size - (len(self._text) - self._at)
        if missing > 0:
            self._read(missing)
        events, self._at = self._sound.read(self._text, self._at)
        return events

    def _constant(self, text: str) -> str:
        self.constants += 1
        return text

    def _value(self) -> Any:
        """The JSON value that begins here. Raises _BrokenError, and stays, where it is none."""
        self._next_character()
        self._at -= 1
        size, constants = _READ, self.constants
        while True:
            self.constants = constants  # each value is counted once, however often it is looked at
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._read(size):
                    self._begun, self._at = self._at, end
                    return value
            except json.JSONDecodeError as problem:
                # An object may only be incomplete in the window; what more text does not mend is damage.
                is_cut = problem.pos >= len(self._text) - _NEAR_END or problem.msg.startswith("Unterminated string")
                if is_cut and len(self._text) - self._at < _MOST_CHARACTERS and self._read(size):
                    size *= 2
                    continue
                reason = f"{problem.msg} in {self._text[self._at : self._at + 40]!r}"
                raise _BrokenError(reason, problem.pos, is_cut=is_cut) from None
            except (ValueError, RecursionError) as problem:  # a number of thousands of digits, thousands of brackets
                raise _BrokenError(str(problem).splitlines()[0]) from None

    def _repaired(self, place: int) -> Any:
        """The event that begins here with C's numbers, of which the first is at `place`, as texts of their length;
        None where that does not help."""
        if not _C_NUMBER.match(self._text, place):
            return None
        for size in _PIECES:
            mended = _C_NUMBER.sub(_as_text, self._text[self._at : self._at + size])
            try:
                value, end = self._decoder.raw_decode(mended)
            except (ValueError, RecursionError):
                continue
            self._at += end
            return value
        return None

    def _seek_event(self, *, has_end: bool = True) -> bool:
        """Move on to the next event, or to the bracket behind the last one, and count what is passed. False where the
        file ends first."""
        self._at += 1
        phases = 0
        while True:
            found = _OBJECT.search(self._text, self._at)
            end = max(self._at, len(self._text) - _LONGEST_END) if found is None else found.start()
            after = _AFTER_EVENTS.search(self._text, self._at, len(self._text) if found is None else end)
            end = end if after is None else after.start()
            phases += len(_PHASE.findall(self._text, self._at, end))
            self._at = end
            if after is not None or (found is not None and self._is_event()):
                break
            if found is not None:
                self._at += 1
            elif not self._read():
                after = _LAST_BRACKET.search(self._text, self._at) if has_end else None
                if after is None:
                    self._at = len(self._text)
                    return False
                self._at = after.start()
                break
        self.broken += max(1, phases)
        return True

    def _is_event(self) -> bool:
        """Whether an event begins here."""
        constants = self.constants
        try:
            value = self._value()
        except _BrokenError:
            return False
        finally:
            self.constants = constants
        self._at = self._begun
        return isinstance(value, dict) and isinstance(value.get("ph"), str)

    def _seek_events(self, begin: int) -> bool:
        """Move on to the list of events behind a value that is no JSON; stay where none follows soon."""
        self._at = begin
        looked = begin
        while (found := _EVENTS.search(self._text, looked)) is None:
            before = len(self._text) - self._at
            if before > _MOST_CHARACTERS or not self._read(before or _READ):
                return False
            looked = max(0, before - _LONGEST_END)
        self._at = found.end()
        self.broken += 1
        return True

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

    def _read(self, size: int = _READ) -> bool:
        """Add to the window. False at the end of the file."""
        parts: list[str] = []
        try:
            while size > 0 and (piece := next(self._pieces, None)) is not None:
                parts.append(piece)
                size -= len(piece)
        except (EOFError, OSError) as problem:
            self._cut = str(problem).splitlines()[0]
        self._text = self._text[self._at :] + "".join(parts)
        self._at = 0
        return any(parts)


def _as_text(number: re.Match[str]) -> str:
    """A JSON text, as long as the number."""
    sign, word = number.groups()
    text = "NaN" if word[:1] in "nN" else f'"{"-" if sign == "-" else ""}\u221e"'
    return text.ljust(len(number[0]))
