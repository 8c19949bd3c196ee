"""The table of contents of a zip that comes from anywhere: its size is bounded before it is read.

`zipfile` reads the table at once, takes its size from one of several records, which need not agree, and makes an object
of every 46 bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

#: Bytes of a table: tens of thousands of members.
MOST_TABLE_BYTES = 2 << 20


class TableGuard:
    """A file for `zipfile.ZipFile` of which no single read is larger than a table may be; contents are read in small
    pieces."""

    def __init__(self, file: IO[bytes], error: Callable[[str], Exception]) -> None:
        """`error` makes of a clause what is raised for a larger read."""
        self._file, self._error = file, error
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        """As of any file."""
        if size > MOST_TABLE_BYTES:
            raise self._error(f"the archive's table of contents is larger than {MOST_TABLE_BYTES >> 20} MiB")
        return self._file.read(MOST_TABLE_BYTES if size < 0 else size)
