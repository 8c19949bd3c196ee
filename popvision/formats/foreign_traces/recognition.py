"""What a file is by its first bytes, packed or not: Chrome trace events, a Perfetto trace, a profile of speedscope or
of the Chrome DevTools, or none of these.

Perfetto's files have no mark of their own, and their names end in anything: the first packets must be walked as
protobuf, field by field. JSON is what one of its first keys says, looked for within the first megabytes, since PyTorch
writes facts of any length before the events."""

from __future__ import annotations

import codecs
from contextlib import suppress
from pathlib import Path
from typing import Literal

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.json_stream import encoding_of
from popvision.formats.foreign_traces.packed import is_packed, unpacked
from popvision.formats.foreign_traces.perfetto import PACKET_TAG, CutError, varint

Kind = Literal["chrome", "perfetto", "speedscope", "cpuprofile", ""]

TITLES: dict[Kind, str] = {
    "chrome": "file of Chrome trace events",
    "perfetto": "Perfetto trace",
    "speedscope": "speedscope profile",
    "cpuprofile": ".cpuprofile",
}

#: What a sentence offers.
READABLE = (
    "Chrome trace events as JSON, a Perfetto trace, a speedscope profile or a .cpuprofile, plain or packed as .gz, "
    ".zst or .zip of one file"
)

#: Names of files in a folder that may hold a foreign trace; one that is named itself may have any name.
SUFFIXES = tuple(
    f"{suffix}{packed}"
    for suffix in (".json", ".pftrace", ".perfetto-trace", ".pb", ".trace", ".cpuprofile")
    for packed in ("", ".gz", ".zst", ".zip")
)

#: Names of Perfetto's files alone.
_NAMED = (".pftrace", ".perfetto-trace")

#: Bytes in which an event is looked for, and the keys of a document.
_HEAD, _FACTS = 1 << 16, 1 << 22

#: Keys that all stand in the documents of a kind.
_KEYS: dict[tuple[bytes, ...], Kind] = {
    (b'"traceEvents"',): "chrome",
    (b"speedscope.app/file-format-schema",): "speedscope",
    (b'"shared"', b'"profiles"'): "speedscope",
    (b'"nodes"', b'"callFrame"'): "cpuprofile",
    (b'"head"', b'"functionName"'): "cpuprofile",
}

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_BLANKS = b"\xef\xbb\xbf \t\r\n"

#: Packets that are walked, and the largest number of a field: those of TracePacket end below it.
_PACKETS, _FIELDS = 16, 2000

_DATABASE = b"SQLite format 3\0"

#: First bytes of files that are given by mistake, and what a sentence calls them.
_OTHERS = {
    _DATABASE: "an SQLite database",
    b"\x7fELF": "an ELF file",
    b"!<arch>\n": "an ar archive",
    b"PK\x05\x06": "a zip of no file",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"{": "JSON without events",
    b"[": "JSON without events",
}


def is_foreign_trace(path: Path) -> bool:
    """Whether the first bytes of a file are those of another tool's trace. Any other JSON is none; a packed file that
    cannot be unpacked counts as one, whose reader says why."""
    try:
        kind, head = _look(path)
    except FormatError:
        return True
    except OSError:
        return False
    return bool(kind) and (kind != "chrome" or b'"ph"' in head[:_HEAD] or b'"traceEvents"' in head)


def kind_of(path: Path) -> Kind:
    """How a file is to be read; all JSON that is nothing else as Chrome trace events. Raises OSError, and FormatError
    for a packed file that cannot be unpacked."""
    return _look(path)[0]


def refusal(path: Path) -> str:
    """One sentence about a file that is nothing of this: what it holds, and what can be read."""
    head = _look(path)[1]
    contents = next((title for mark, title in _OTHERS.items() if head.lstrip(_BLANKS).startswith(mark)), "")
    if not head:
        contents = "a packed file that is damaged" if is_packed(path) else "nothing"
    elif not contents:
        contents = "text" if head.isascii() else f"bytes that begin with {head[:8].hex(' ')}"
    return f"{path} is no trace of a known format: it holds {contents}. Give a .pvti, {READABLE}."


def refuse_unknown(path: Path) -> None:
    """Raises FormatError for a file that is no foreign trace. Not for a database, which may be a .pvti of any name, and
    what cannot be opened: their reader says more."""
    with suppress(OSError):
        if not _look(path)[1].startswith(_DATABASE):
            raise FormatError(refusal(path))


def _look(path: Path) -> tuple[Kind, bytes]:
    """The kind, and the first bytes, of JSON in one byte a character. Raises OSError and FormatError."""
    head = bytearray()
    kind: Kind = ""
    try:
        for part in unpacked(path):
            head += part
            kind = kind if kind == "chrome" else _kind(bytes(head[:_HEAD]))
            if kind != "chrome" or len(head) >= _FACTS:
                break
            kind = _document_kind(bytes(head).replace(b"\0", b""))  # of UTF-16
            if kind:
                break
            kind = "chrome"
    except EOFError:
        pass
    if not kind and path.suffix in _NAMED and head.startswith(b"\n"):
        kind = "perfetto"  # a damaged one: its reader says so
    return kind, bytes(head).replace(b"\0", b"") if kind else bytes(head)


def _document_kind(head: bytes) -> Kind:
    """What the keys in the first bytes of JSON say; "" while they say nothing."""
    if b'"ph"' in head[:_HEAD]:
        return "chrome"
    return next((kind for keys, kind in _KEYS.items() if all(key in head for key in keys)), "")


def _kind(head: bytes) -> Kind:
    text = head
    if encoding_of(head) != "utf-8":
        text = head[2 if head.startswith(_MARKS) else 0 :].replace(b"\0", b"")
    if text.lstrip(_BLANKS)[:1] in (b"{", b"["):
        return "chrome"
    return "perfetto" if _is_perfetto(head) else ""


def _is_perfetto(head: bytes) -> bool:
    at = packets = 0
    while at < len(head) and packets < _PACKETS:
        if head[at] != PACKET_TAG:
            return False
        try:
            length, begin = varint(head, at + 1)
        except CutError:
            break
        if not _holds_fields(head[begin : begin + length], is_whole=begin + length <= len(head)):
            return False
        at, packets = begin + length, packets + 1
    return packets > 0


def _holds_fields(packet: bytes, *, is_whole: bool) -> bool:
    """Whether the bytes are fields of a message; the last one may reach beyond a packet that is not whole."""
    try:
        at = _end_of_fields(packet)
    except CutError:
        return not is_whole
    return at > 0 and (at == len(packet) or not is_whole)


def _end_of_fields(packet: bytes) -> int:
    """The place behind the last field, 0 where the bytes are no fields. Raises CutError for a number that is cut."""
    at = 0
    while at < len(packet):
        tag, at = varint(packet, at)
        if not 1 <= tag >> 3 <= _FIELDS:
            return 0
        match tag & 7:
            case 0:
                _, at = varint(packet, at)
            case 1:
                at += 8
            case 2:
                length, at = varint(packet, at)
                at += length
            case 5:
                at += 4
            case _:
                return 0
    return at
