"""The plain bytes of a file in pieces: of a .gz, a .zst or a .zip of one file what it holds, and of that again.

Memory stays at a few pieces. The file comes from anywhere: layers, members, bytes and the ratio of bytes unpacked to
bytes in the file are bounded, and the reading ends where a bound is met."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import IO, cast

import zstandard

from popvision.formats.errors import FormatError
from popvision.zip_table import TableGuard

#: Bytes of a piece.
PIECE = 1 << 16

#: Packed files within packed files.
_MOST_LAYERS = 3

#: Bytes in all, and for each byte of the file; the second counts beyond the first bytes.
_MOST_BYTES, _MOST_RATIO, _FREE_BYTES = 1 << 36, 1000, 1 << 26

#: Bytes that zstd is given at once: it may make 32 KiB of each.
_ZSTD_PIECE = 1 << 10

_MOST_WINDOW = 1 << 27  #: bytes that zstd may look back

_GZIP, _ZIP, _ZSTD = b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
_MARK_BYTES = 4

#: Who is told how far the reading of a file is.
_TOLD: ContextVar[Callable[[float], None] | None] = ContextVar("told", default=None)

#: Members that a sentence names.
_NAMED = 5


@contextmanager
def telling(say: Callable[[float], None]) -> Iterator[None]:
    """Within this `say` is called with the share of a file that was read, again and again until it is."""
    token = _TOLD.set(say)
    try:
        yield
    finally:
        _TOLD.reset(token)


def is_packed(path: Path) -> bool:
    """Whether a file is a .gz, .zst or .zip by its first bytes. Raises OSError."""
    with path.open("rb") as file:
        return file.read(_MARK_BYTES).startswith((_GZIP, _ZIP, _ZSTD))


def unpacked(path: Path) -> Iterator[bytes]:
    """The bytes of a file, or what it holds; the first piece has four or more where there are so many.

    Raises EOFError where a packed file is cut off or damaged, after all that stands before, and FormatError for a .zip
    of several files or beyond a bound."""
    say = _TOLD.get()
    with path.open("rb") as file:
        parts = iter(lambda: file.read(PIECE), b"")
        size = os.fstat(file.fileno()).st_size
        total, most = 0, min(_MOST_BYTES, max(_FREE_BYTES, _MOST_RATIO * size))
        for part in _plain(path, file, parts, 0):
            total += len(part)
            if say is not None:
                say(min(1.0, file.tell() / size))
            if total > most:
                raise FormatError(f"{path} unpacks to more than {most:,} bytes; unpack it and give what it holds.")
            yield part


def _plain(path: Path, file: IO[bytes] | None, parts: Iterator[bytes], layers: int) -> Iterator[bytes]:
    """What the parts hold; `file` is where a whole file can be read."""
    first = b""
    for part in parts:
        first += part
        if len(first) >= _MARK_BYTES:
            break
    parts = chain((first,), parts) if first else iter(())
    if not first.startswith((_GZIP, _ZIP, _ZSTD)):
        yield from parts
        return
    if layers == _MOST_LAYERS:
        raise FormatError(f"{path} is packed more than {_MOST_LAYERS} times; unpack it and give what it holds.")
    if first.startswith(_ZIP):
        yield from _plain(path, None, _only_member(path, file, parts), layers + 1)
    else:
        unpack = _gzip if first.startswith(_GZIP) else unpack_zstd
        yield from _plain(path, None, unpack(parts), layers + 1)


def _gzip(parts: Iterator[bytes]) -> Iterator[bytes]:
    """What all members hold, up to where one is cut or damaged."""
    part = next(parts, b"")
    while part:
        unpacking = zlib.decompressobj(31)
        try:
            while part and not unpacking.eof:
                yield unpacking.decompress(part, PIECE)
                part = unpacking.unconsumed_tail or (unpacking.unused_data if unpacking.eof else next(parts, b""))
            if not unpacking.eof:
                yield unpacking.flush()
        except zlib.error as problem:
            raise EOFError(str(problem)) from None
        if not unpacking.eof:
            raise EOFError("the packed file is cut off")
        part = part.lstrip(b"\0") or next(parts, b"").lstrip(b"\0")


def unpack_zstd(parts: Iterator[bytes]) -> Iterator[bytes]:
    """What all frames of zstd hold. Raises EOFError where one is cut or damaged."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    unpacking = decompressor.decompressobj()
    is_begun = False
    for part in parts:
        for at in range(0, len(part), _ZSTD_PIECE):
            rest = part[at : at + _ZSTD_PIECE]
            while rest:
                if unpacking.eof:
                    unpacking, is_begun = decompressor.decompressobj(), False
                try:
                    yield unpacking.decompress(rest)
                except zstandard.ZstdError as problem:
                    raise EOFError(str(problem)) from None
                is_begun = True
                rest = unpacking.unused_data if unpacking.eof else b""
    if is_begun and not unpacking.eof:
        raise EOFError("the packed file is cut off")


def _only_member(path: Path, file: IO[bytes] | None, parts: Iterator[bytes]) -> Iterator[bytes]:
    """The only file of a .zip. One that is packed itself is copied first: its table stands at its end."""
    with tempfile.TemporaryFile() as copy:
        if file is None:
            for part in parts:
                copy.write(part)
            file = copy
        try:
            guard = TableGuard(file, lambda clause: FormatError(f"{path} cannot be unpacked: {clause}."))
            archive = zipfile.ZipFile(cast(IO[bytes], guard))
            with archive, archive.open(_chosen(path, archive.infolist())) as content:
                yield from iter(lambda: content.read(PIECE), b"")
        except FormatError:
            raise
        except (zipfile.BadZipFile, zlib.error, OSError, ValueError) as problem:
            raise EOFError(str(problem)) from None
        except (NotImplementedError, RuntimeError) as problem:  # another method, a password
            raise FormatError(f"{path} cannot be unpacked: {problem}; unpack it and give what it holds.") from None


def _chosen(path: Path, members: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """The only file; what macOS adds does not count. Raises FormatError for several, and for none."""
    files = [member for member in members if not member.is_dir() and not member.filename.startswith("__MACOSX/")]
    if len(files) == 1:
        return files[0]
    names = ", ".join(repr(member.filename[:80]) for member in files[:_NAMED])
    more = ", ..." if len(files) > _NAMED else ""
    contents = f"{len(files):,} files ({names}{more}); unpack it and give one of them" if files else "no file"
    raise FormatError(f"{path} is a zip of {contents}.")
