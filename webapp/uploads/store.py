"""The private folder of the uploads of a viewer."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from pathlib import Path
from typing import IO

from webapp.library import Entry, Library
from webapp.uploads.unpack import Caps, RefusedError, unpack

_CHUNK = 1 << 20

#: Uploads of one viewer.
MOST_UPLOADS = 32


class Uploads:
    """Stores uploads in a folder that only this user can read and that is deleted when the viewer ends."""

    def __init__(self, library: Library, caps: Caps = Caps()) -> None:  # noqa: B008 -- frozen
        self._library = library
        self.caps = caps
        self._lock = threading.Lock()
        self._count = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def take(self, stream: IO[bytes], name: str, length: int | None) -> list[Entry]:
        """The reports and traces of an uploaded file. Raises RefusedError."""
        if length is not None and length > self.caps.packed_bytes:
            raise RefusedError(f"the file is larger than {self.caps.packed_bytes >> 20:,} MiB")
        place = self._place(name)
        packed = place.parent / "upload"
        try:
            self._receive(stream, packed)
            unpack(packed, name, place, self.caps)
        except BaseException:
            shutil.rmtree(place.parent, ignore_errors=True)
            raise
        packed.unlink()
        return self._library.add(place)

    def _place(self, name: str) -> Path:
        """A new folder with the name of the upload, in a new private folder."""
        with self._lock:
            if self._count >= MOST_UPLOADS:
                raise RefusedError(f"this viewer has reached its limit of {MOST_UPLOADS} uploads; restart it")
            self._count += 1
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="popvision-upload-", ignore_cleanup_errors=True)
            own = Path(self._folder.name) / str(self._count)
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", re.sub(r"(\.tar)?\.[A-Za-z]+$", "", name)).strip("_")[:60]
        place = own / (stem or "upload")
        place.mkdir(parents=True, mode=0o700)
        return place

    def _receive(self, stream: IO[bytes], path: Path) -> None:
        size = 0
        with path.open("xb") as file:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > self.caps.packed_bytes:
                    raise RefusedError(f"the file is larger than {self.caps.packed_bytes >> 20:,} MiB")
                file.write(chunk)
