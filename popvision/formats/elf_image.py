"""One tile image as an ELF32 object: symbols, and sections that report a size but store no bytes.

Layout: ELF header, `.comment`, symbol table, string tables, section headers. `.comment` holds the lines
"popvision", "run_id=...", "members=..." (objects in the archive), "tiles=00000007", "crc32=xxxxxxxx"; the checksum
covers the whole object with those eight digits read as zeros. Objects of tiles with the same image differ in the last
two lines alone; so an image is encoded and decoded once, however many tiles have it. Archives of before hold one object
for them, with "tiles=0-3,7", and do not say how many there are.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

from popvision.arrays import IntegerArray
from popvision.formats.errors import FormatError

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_SECTION = struct.Struct("<10I")
_SYMBOL = struct.Struct("<IIIBBH")
_IDENT = b"\x7fELF\x01\x01\x01" + b"\0" * 9
_RELOCATABLE, _NO_MACHINE = 1, 0
_PROGBITS, _SYMTAB, _STRTAB, _NOBITS = 1, 2, 3, 8
_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_CRC = b"crc32="
_TILES = b"tiles="
MOST_TILES = 1 << 24  #: of a system whose archive is read
_NO_TILE, _NO_CRC = b"0" * 8, b"0" * 8


@dataclass(frozen=True)
class Section:
    name: str  #: for example ".text"
    bytes: int
    address: int = 0  #: byte offset from the beginning of the tile's memory
    executable: bool = False


@dataclass(frozen=True)
class Symbol:
    name: str
    section: str
    offset: int  #: bytes from the beginning of the section
    bytes: int


@dataclass(frozen=True)
class TileImage:
    """Sections and symbols in the memory of the tiles that share this image."""

    tiles: IntegerArray
    sections: list[Section]
    symbols: list[Symbol] = field(default_factory=list)
    run_id: str = ""
    members: int = 0  #: of the archive that it is in; 0 = not said, as in archives of before

    @property
    def total_bytes(self) -> int:
        return sum(section.bytes for section in self.sections)


def encode_image(image: TileImage) -> bytes:
    """The ELF object of all tiles of the image, which `object_of_tile` makes that of one of them.

    Raises FormatError for sizes above 32 bits or a symbol of an unknown section."""
    names = [section.name for section in image.sections]
    members = [f"members={image.members}".encode()] if image.members else []
    lines = [b"popvision", f"run_id={image.run_id}".encode(), *members, _TILES + _NO_TILE, _CRC + _NO_CRC, b""]
    comment = b"\n".join(lines)
    try:
        symbols, symbol_names = _symbols(image, names)
        headers, blobs = _layout(image, comment, symbols, symbol_names)
    except (struct.error, ValueError) as error:
        raise FormatError(f"cannot write the image of tiles {tiles_text(image.tiles)}: {error}.") from None
    body = b"".join(blobs)
    count = len(headers)
    head = _HEADER.pack(
        _IDENT,
        _RELOCATABLE,
        _NO_MACHINE,
        1,
        0,
        0,
        _HEADER.size + len(body),
        0,
        _HEADER.size,
        0,
        0,
        _SECTION.size,
        count,
        count - 1,
    )
    return head + body + b"".join(headers)


def object_of_tile(encoded: bytes, tile: int) -> bytes:
    """The ELF object of one tile of an encoded image, with its number and checksum."""
    at = encoded.index(b"\n" + _TILES + _NO_TILE) + 1 + len(_TILES)
    plain = encoded[:at] + f"{tile:08d}".encode() + encoded[at + 8 :]
    at = plain.index(_CRC) + len(_CRC)
    return plain[:at] + f"{zlib.crc32(plain):08x}".encode() + plain[at + 8 :]


def _symbols(image: TileImage, names: list[str]) -> tuple[bytes, bytes]:
    table, strings = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)], b"\0"
    for symbol in image.symbols:
        at = names.index(symbol.section)
        kind = 2 if image.sections[at].executable else 1  # function or object, global
        table.append(_SYMBOL.pack(len(strings), symbol.offset, symbol.bytes, 0x10 | kind, 0, at + 1))
        strings += symbol.name.encode() + b"\0"
    return b"".join(table), strings


def _layout(image: TileImage, comment: bytes, symbols: bytes, symbol_names: bytes) -> tuple[list[bytes], list[bytes]]:
    """Section headers, and the bytes that follow the ELF header."""
    blobs = [_padded(blob) for blob in (comment, symbols, symbol_names)]
    offsets = [_HEADER.size]
    for blob in blobs:
        offsets.append(offsets[-1] + len(blob))
    count = len(image.sections)
    rows = [
        (s.name, _NOBITS, _ALLOC | (_EXECUTE if s.executable else _WRITE), s.address, 0, s.bytes, 0, 0, 4, 0)
        for s in image.sections
    ]
    rows += [
        (".comment", _PROGBITS, 0, 0, offsets[0], len(comment), 0, 0, 1, 0),
        (".symtab", _SYMTAB, 0, 0, offsets[1], len(symbols), count + 3, 1, 4, _SYMBOL.size),
        (".strtab", _STRTAB, 0, 0, offsets[2], len(symbol_names), 0, 0, 1, 0),
    ]
    strings = b"\0" + b"".join(row[0].encode() + b"\0" for row in rows) + b".shstrtab\0"
    rows.append((".shstrtab", _STRTAB, 0, 0, offsets[3], len(strings), 0, 0, 1, 0))
    headers, at = [_SECTION.pack(*[0] * 10)], 1
    for name, *values in rows:
        headers.append(_SECTION.pack(at, *values))
        at += len(name.encode()) + 1
    return headers, [*blobs, _padded(strings)]


def _padded(blob: bytes) -> bytes:
    return blob + b"\0" * (-len(blob) % 4)


def separate_tiles(data: bytes) -> tuple[IntegerArray, bytes]:
    """(tiles of an ELF object, its other bytes: equal for objects of one image).

    Raises FormatError when its checksum is wrong."""
    try:
        at = data.index(_CRC) + len(_CRC)
        if zlib.crc32(data[:at] + _NO_CRC + data[at + 8 :]) != int(data[at : at + 8], 16):
            raise FormatError("the checksum of a tile image does not match; the archive is damaged")
        begin = data.rindex(b"\n" + _TILES, 0, at) + 1 + len(_TILES)
        end = data.index(b"\n", begin)
        return parse_tiles(data[begin:end].decode()), data[:begin] + data[end : at - len(_CRC)] + data[at + 8 :]
    except ValueError as error:
        raise FormatError(f"a tile image is damaged: {error}") from None


def decode_image(data: bytes) -> TileImage:
    """The image in an ELF object. Raises FormatError when its checksum or structure is wrong."""
    tiles, _ = separate_tiles(data)
    try:
        fields = _HEADER.unpack_from(data)
        headers = [_SECTION.unpack_from(data, fields[6] + i * _SECTION.size) for i in range(fields[12])]
        names = _blob(data, headers[fields[13]])
        named = [(_text(names, header[0]), header) for header in headers]
        blobs = {name: _blob(data, header) for name, header in named if header[1] not in (0, _NOBITS)}
        sections = [Section(name, h[5], h[3], bool(h[2] & _EXECUTE)) for name, h in named if h[1] == _NOBITS]
        symbols = [
            Symbol(_text(blobs[".strtab"], name), sections[section - 1].name, offset, size)
            for name, offset, size, _, _, section in _SYMBOL.iter_unpack(blobs[".symtab"])
            if section
        ]
        facts = dict(line.split("=", 1) for line in blobs[".comment"].decode().splitlines() if "=" in line)
        return TileImage(tiles, sections, symbols, facts["run_id"], int(facts.get("members", 0)))
    except (struct.error, ValueError, IndexError, KeyError) as error:
        raise FormatError(f"a tile image is damaged: {error}") from None


def _blob(data: bytes, header: tuple[int, ...]) -> bytes:
    return data[header[4] : header[4] + header[5]]


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode()


def tiles_text(tiles: IntegerArray) -> str:
    """Tile ids as ranges: "0-3,7"."""
    ids = np.unique(tiles)
    if not len(ids):
        return ""
    breaks = np.flatnonzero(np.diff(ids) != 1)
    first, last = ids[np.concatenate([[0], breaks + 1])], ids[np.concatenate([breaks, [len(ids) - 1]])]
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in pairs)


def parse_tiles(text: str) -> IntegerArray:
    """The ids of `tiles_text`. Raises ValueError."""
    ranges = [part.partition("-") for part in text.split(",") if part]
    bounds = [(int(first), int(last or first)) for first, _, last in ranges]
    if any(not 0 <= first <= last < MOST_TILES for first, last in bounds):
        raise ValueError(f"tile ranges {text[:40]!r}")
    return np.concatenate([np.empty(0, np.int64), *(np.arange(first, last + 1) for first, last in bounds)])
