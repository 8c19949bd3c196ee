"""Frames of saved executables: the bytes around a compiled program, each part of them under a checksum.

An executable is a Cap'n Proto message and one that holds its checksum (executable.capnp). An entry of a cache, which
front ends export too, begins with a mark, the checksum and the length of the front end's notes, and the notes. What the
message means is the simulator's; whether its bytes are those that were written is known without it.
"""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

from popvision.formats.capnp_stream import load_schema, message_sizes, opened
from popvision.formats.errors import FormatError

FORMAT, VERSION = "popvision.executable", "2.2.0"
SCHEMA = "executable.capnp"

#: begins an entry; the crc32 of the notes follows in 4 bytes, their length in 8
_ENTRY = b"PVEXE2\r\n"
#: the same without the crc32
_ENTRY_WITHOUT_CHECKSUM = b"PVEXE1\r\n"
#: what the version of a message without a checksum is
_WITHOUT_CHECKSUM = "2.0.0"

_OLD = "written before executables had checksums"


def with_checksum(message: bytes) -> bytes:
    """A message as a file."""
    return message + _checksum_of(message)


def _checksum_of(message: bytes) -> bytes:
    return bytes(load_schema(SCHEMA).Checksum.new_message(crc32=crc32(message)).to_bytes())


def checked_message(data: bytes) -> tuple[bytes, bool]:
    """The message of a file, and whether it has a checksum. Raises FormatError for what is no executable, has another
    version's form, or is damaged."""
    sizes = list(message_sizes(data))
    if not sizes:
        raise FormatError("it is empty")
    first, *checksums = (data[offset : offset + length] for offset, length in sizes)
    if checksums not in ([], [_checksum_of(first)]):
        raise FormatError("it is damaged: its checksum differs")
    with opened(load_schema(SCHEMA).ExecutableFile, first) as message:
        if message.format != FORMAT:
            raise FormatError("it has another format")
        if message.version.split(".")[0] != VERSION.split(".")[0]:
            raise FormatError(f"it has version {message.version}, this program reads {VERSION}")
        if not checksums and message.version != _WITHOUT_CHECKSUM:
            raise FormatError("it is damaged: its checksum is missing")
    return first, bool(checksums)


def entry(notes: bytes, executable: bytes) -> bytes:
    """A file of an executable with a front end's notes."""
    return _ENTRY + crc32(notes).to_bytes(4, "little") + len(notes).to_bytes(8, "little") + notes + executable


def parts_of_entry(data: bytes) -> tuple[bytes, bytes, bool]:
    """The notes of an entry, its executable, and whether the notes have a checksum. Raises FormatError where it is no
    entry, or its notes are damaged."""
    is_checked = data.startswith(_ENTRY)
    sizes = len(_ENTRY) + (4 if is_checked else 0)
    begin = sizes + 8
    end = begin + int.from_bytes(data[sizes:begin], "little")
    if not (is_checked or data.startswith(_ENTRY_WITHOUT_CHECKSUM)) or len(data) < end:
        raise FormatError("it is another file, or a part of one")
    notes = data[begin:end]
    if is_checked and crc32(notes) != int.from_bytes(data[len(_ENTRY) : sizes], "little"):
        raise FormatError("it is damaged: its checksum differs")
    return notes, data[end:], is_checked


def is_executable(path: Path) -> bool:
    """Whether a file of any name begins like an executable or an entry."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return False
    return head.startswith((_ENTRY, _ENTRY_WITHOUT_CHECKSUM)) or FORMAT.encode() in head


def check_executable(path: Path) -> str:
    """Compares an executable or an entry with its checksums; why it has none, "" where it has. Raises FormatError."""
    try:
        data = path.read_bytes()
        has_checksums = True
        if data.startswith((_ENTRY, _ENTRY_WITHOUT_CHECKSUM)):
            _, data, has_checksums = parts_of_entry(data)
        _, is_checked = checked_message(data)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}.") from error
    except FormatError as error:
        raise FormatError(f"{path} holds no executable of this version: {error}.") from None
    return "" if is_checked and has_checksums else _OLD
