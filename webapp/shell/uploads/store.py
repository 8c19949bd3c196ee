"""The private folder of the uploads of a viewer."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
import threading
from pathlib import Path
from typing import IO

from webapp.base.library import Entry, Library
from webapp.shell.uploads.unpack import Caps, RefusedError, unpack

_CHUNK = 1 << 20

#: Uploads of one viewer.
MOST_UPLOADS = 32


class Uploads:
    """Stores uploads in a folder that only this user can read and that is deleted when the viewer ends."""

    def __init__(self, library: Library, caps: Caps = Caps()) -> None:  # noqa: B008 -- frozen
        self._library = library
        self.caps = caps
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._kept = 0  #: uploads whose files are here, or on their way
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def take(self, stream: IO[bytes], name: str, length: int | None) -> list[Entry]:
        """The reports and traces of an uploaded file. Raises RefusedError."""
        if length is not None and length > self.caps.packed_bytes:
            raise RefusedError(f"the file is larger than {self.caps.packed_bytes >> 20:,} MiB")
        private = self._private_folder()
        place, packed = private / "contents" / _stem(name), private / "packed"
        try:
            private.mkdir(mode=0o700)
            place.mkdir(parents=True, mode=0o700)
            self._receive(stream, packed)
            unpack(packed, name, place, self.caps)
        except BaseException:
            shutil.rmtree(private, ignore_errors=True)
            with self._lock:
                self._kept -= 1
            raise
        packed.unlink()
        return self._library.add(place)

    def _private_folder(self) -> Path:
        """The path of a new folder for one upload."""
        with self._lock:
            if self._kept >= MOST_UPLOADS:
                raise RefusedError(f"this viewer has reached its limit of {MOST_UPLOADS} uploads; restart it")
            self._kept += 1
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="popvision-upload-", ignore_cleanup_errors=True)
            return Path(self._folder.name) / str(next(self._numbers))

    def _receive(self, stream: IO[bytes], path: Path) -> None:
        size = 0
        with path.open("xb") as file:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > self.caps.packed_bytes:
                    raise RefusedError(f"the file is larger than {self.caps.packed_bytes >> 20:,} MiB")
                file.write(chunk)


def _stem(name: str) -> str:
    """The name of an upload without its suffix, as a folder's name."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", re.sub(r"(\.tar)?\.[A-Za-z]+$", "", name)).strip("_")[:60]
    return stem or "upload"
