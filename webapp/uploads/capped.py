"""Limits that the readers of archives do not have by themselves."""

from __future__ import annotations

import tarfile
from typing import IO

_MOST_HEADER_BYTES = 1 << 20

_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class RefusedError(ValueError):
    """An upload that is not taken; the message is a clause that says why."""


class CappedStream:
    """Reads from a stream until more than `limit` bytes came out of it."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise RefusedError("the archive unpacks to more than the limit")
        return data


class GuardedInfo(tarfile.TarInfo):
    """A member whose own headers are looked at before they are read into memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _MOST_HEADER_BYTES:
            raise RefusedError("the archive holds a header larger than 1 MiB")
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]
