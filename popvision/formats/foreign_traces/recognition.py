"""What a file is by its first bytes: Chrome trace events as JSON, a Perfetto trace, either packed by gzip, or neither.

Perfetto's files have no mark of their own, and their names end in anything: the first packets must be walked as
protobuf, field by field. JSON is a trace where the list of events is named within the first megabytes, since PyTorch
writes facts of any length before it."""

from __future__ import annotations

import codecs
import zlib
from pathlib import Path
from typing import Literal

from popvision.formats.foreign_traces.json_stream import unpacked
from popvision.formats.foreign_traces.perfetto import PACKET_TAG, CutError, varint

Kind = Literal["json", "perfetto", ""]

#: Names of files in a folder that may hold a foreign trace; one that is named itself may have any name.
SUFFIXES = tuple(
    f"{suffix}{packed}"
    for suffix in (".json", ".pftrace", ".perfetto-trace", ".pb", ".trace")
    for packed in ("", ".gz")
)

#: Names of Perfetto's files alone.
_NAMED = (".pftrace", ".perfetto-trace")

#: Bytes in which an event is looked for, and the list of events.
_HEAD, _FACTS = 1 << 16, 1 << 22

_BLANKS = b"\xef\xbb\xbf \t\r\n"

#: Packets that are walked, and the largest number of a field: those of TracePacket end below it.
_PACKETS, _FIELDS = 16, 2000


def is_foreign_trace(path: Path) -> bool:
    """Whether the first bytes of a file are those of another tool's trace. Any other JSON is none."""
    kind, head = _look(path)
    return kind == "perfetto" or (kind == "json" and (b'"ph"' in head[:_HEAD] or b'"traceEvents"' in head))


def kind_of(path: Path) -> Kind:
    """How a file is to be read."""
    return _look(path)[0]


def _look(path: Path) -> tuple[Kind, bytes]:
    """The kind, and of JSON the first bytes in one byte a character."""
    head = bytearray()
    kind: Kind = ""
    try:
        for part in unpacked(path):
            head += part
            kind = kind or _kind(bytes(head[:_HEAD]))
            if kind != "json" or len(head) >= _FACTS or b'"traceEvents"' in head:
                break
    except (OSError, EOFError, zlib.error):
        pass
    if not kind and path.suffix in _NAMED and head.startswith(b"\n"):
        kind = "perfetto"  # a damaged one: its reader says so
    return kind, bytes(head).replace(b"\0", b"")  # of UTF-16


def _kind(head: bytes) -> Kind:
    is_wide = head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    text = head[2:].replace(b"\0", b"") if is_wide else head
    if text.lstrip(_BLANKS)[:1] in (b"{", b"["):
        return "json"
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
