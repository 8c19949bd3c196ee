"""Unpack an uploaded .zip, .tar or .tar.gz, or a single profile.pop or trace, into a folder.

The archive is untrusted: only regular members with file names of a report are written, at paths inside the folder,
while running totals stay below the caps. A member that leads out of the folder makes the entire archive refused. Only
`_write` creates files.
"""

from __future__ import annotations

import gzip
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from popvision.analysis.summary.report_list import READABLE_TRACES, TRACE_SUFFIXES, is_foreign_trace
from popvision.zip_table import TableGuard

#: File names of a report; of other files only traces are kept.
KNOWN = frozenset(
    {
        "profile.pop",
        "profile.pop-wal",
        "debug.json",
        "debug.cbor",
        "serialized_graph.capnp",
        "archive.a",
        "framework.json",
        "app.json",
    }
)

_SQLITE = b"SQLite format 3\0"
_CHUNK = 1 << 20
_SAFE = re.compile(r"[^A-Za-z0-9._ -]+")


_MOST_HEADER_BYTES = 1 << 20

_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class RefusedError(ValueError):
    """An upload that is refused; the message is a clause with the reason."""


class _CappedStream:
    """Reads from a stream; raises RefusedError after more than `limit` bytes."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise RefusedError("the archive unpacks to more than the limit")
        return data


class _GuardedInfo(tarfile.TarInfo):
    """A member that checks the size of its headers before they are read into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _MOST_HEADER_BYTES:
            raise RefusedError("the archive holds a header larger than 1 MiB")
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]


@dataclass(frozen=True)
class Caps:
    """Limits of one upload."""

    packed_bytes: int = 1 << 30
    unpacked_bytes: int = 4 << 30
    members: int = 10_000
    depth: int = 8
    name_characters: int = 255


@dataclass(frozen=True)
class Unpacked:
    """The written files, and the number of skipped members."""

    written: list[Path]
    left_out: int


def unpack(upload: Path, name: str, folder: Path, caps: Caps = Caps()) -> Unpacked:
    """Write the report files of `upload`, which the user calls `name`, below `folder`, an existing empty one.

    Raises RefusedError; the caller removes files written before."""
    if upload.stat().st_size > caps.packed_bytes:
        raise RefusedError(f"the file is larger than {caps.packed_bytes >> 20:,} MiB")
    with upload.open("rb") as file:
        head = file.read(512)
    if head.startswith(_SQLITE):
        target = _alone(name)
        with upload.open("rb") as file:
            return Unpacked([_write(file, folder, target, caps.unpacked_bytes)[0]], 0)
    if head[:2] != b"PK" and is_foreign_trace(upload):
        with upload.open("rb") as file:
            return Unpacked([_write(file, folder, _alone(name, ".trace"), caps.unpacked_bytes)[0]], 0)
    try:
        members = _zip_members(upload, caps) if head[:2] == b"PK" else _tar_members(upload, head, caps)
        unpacked = _take(members, folder, caps)
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        struct.error,
        OSError,
        NotImplementedError,
        UnicodeError,
        RuntimeError,
        ValueError,
    ) as problem:
        if isinstance(problem, RefusedError):
            raise
        raise RefusedError(f"the archive is damaged: {problem}") from None
    if not any(path.name == "profile.pop" or path.name not in KNOWN for path in unpacked.written):
        raise RefusedError(f"the archive holds no profile.pop and no trace; give {READABLE_TRACES}")
    return unpacked


def _alone(name: str, suffix: str = "") -> tuple[str, ...]:
    """The path of a database or trace that was uploaded without an archive; a foreign trace whose name does not tell
    what it is takes the suffix."""
    if not suffix and not name.lower().endswith(".pvti"):
        return ("profile.pop",)
    if suffix and not name.endswith(TRACE_SUFFIXES):
        name += suffix
    return (_SAFE.sub("_", Path(name).name)[-100:].lstrip(".") or f"trace{suffix}",)


def _take(members: Iterator[tuple[tuple[str, ...], IO[bytes]]], folder: Path, caps: Caps) -> Unpacked:
    written: list[Path] = []
    left_out, room = 0, caps.unpacked_bytes
    for parts, content in members:
        may_be_foreign = parts[-1] not in KNOWN and parts[-1].endswith(TRACE_SUFFIXES)
        if parts[-1] not in KNOWN and not parts[-1].endswith(".pvti") and not may_be_foreign:
            left_out += 1
            continue
        path, size = _write(content, folder, parts, room)
        room -= size
        if may_be_foreign and not is_foreign_trace(path):
            path.unlink()
            left_out += 1
            continue
        written.append(path)
    return Unpacked(written, left_out)


def safe_parts(name: str, caps: Caps) -> tuple[str, ...]:
    """The path of a member as folder and file names. Raises RefusedError for a path that may lead outside."""
    shown = name[:80].encode("ascii", "replace").decode("ascii")
    if "\0" in name or "\\" in name or name.startswith("/") or re.match(r"^[A-Za-z]:", name):
        raise RefusedError(f"the archive holds {shown!r}, which is not a path below its own folder")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts or not parts:
        raise RefusedError(f"the archive holds {shown!r}, which leads out of its own folder")
    if len(parts) > caps.depth or any(len(part.encode("utf-8", "replace")) > caps.name_characters for part in parts):
        raise RefusedError(f"the archive holds {shown!r}, whose path is too deep or too long")
    if any(ord(character) < 32 for character in name):
        raise RefusedError(f"the archive holds {shown!r}, whose name has control characters")
    return parts


def _write(content: IO[bytes], folder: Path, parts: tuple[str, ...], room: int) -> tuple[Path, int]:
    """Copy a stream to a new file below `folder`; (path, bytes)."""
    root = folder.resolve()
    path = root.joinpath(*parts)
    if not path.resolve().is_relative_to(root):
        raise RefusedError("the archive leads out of its own folder")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    size = 0
    with path.open("xb") as file:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > room:
                raise RefusedError("the archive unpacks to more than the limit")
            file.write(chunk)
    return path, size


def _zip_members(upload: Path, caps: Caps) -> Iterator[tuple[tuple[str, ...], IO[bytes]]]:
    with upload.open("rb") as file, zipfile.ZipFile(cast(IO[bytes], TableGuard(file, RefusedError))) as archive:
        infos = archive.infolist()
        if len(infos) > caps.members:
            raise RefusedError(f"the archive holds more than {caps.members:,} files")
        checked = [(safe_parts(info.orig_filename, caps), info) for info in infos]
        for parts, info in checked:
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise RefusedError(f"the archive holds {parts[-1][:80]!r}, a link or a device")
            if info.flag_bits & 1:
                raise RefusedError("the archive is encrypted")
        if sum(info.file_size for _, info in checked) > caps.unpacked_bytes:
            raise RefusedError("the archive unpacks to more than the limit")
        for parts, info in checked:
            if not info.is_dir():
                with archive.open(info) as content:
                    yield parts, content


def _tar_members(upload: Path, head: bytes, caps: Caps) -> Iterator[tuple[tuple[str, ...], IO[bytes]]]:
    packed = head[:2] == b"\x1f\x8b"
    if not packed and head[257:262] != b"ustar":
        raise RefusedError(f"it is no archive (.zip, .tar, .tar.gz), profile.pop or trace; give {READABLE_TRACES}")
    with upload.open("rb") as file:
        plain: IO[bytes] = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]
        stream = _CappedStream(plain, caps.unpacked_bytes + (caps.members << 10))
        with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|", tarinfo=_GuardedInfo) as archive:
            for count, member in enumerate(archive):
                if count >= caps.members:
                    raise RefusedError(f"the archive holds more than {caps.members:,} files")
                if member.isdir() and member.name in (".", "./"):
                    continue
                parts = safe_parts(member.name, caps)
                if member.isdir():
                    continue
                if not member.isreg() or member.issparse():
                    raise RefusedError(f"the archive holds {parts[-1][:80]!r}, a link or a device")
                content = archive.extractfile(member)
                assert content is not None
                yield parts, content
