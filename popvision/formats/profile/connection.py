"""Opens an SQLite file that another program may be writing, has left half-closed, or has put in a read-only folder.

No connection outlives a request, unless the file is to be removed while it is read (`SqliteFile.hold`). The files in
the folder decide how it is opened:

- a closed report: one file, opened read-only;
- a live or killed writer: the file and its `-wal`; SQLite recovers it when it may create `-shm` beside them;
- a writer killed outside WAL mode (while it created or finalised the file): the file and its `-journal`; SQLite must
  write to roll the transaction back;
- the same in a folder where nothing may be created: without a `-wal` the file is complete and opened as immutable,
  with a `-wal`, file and log are copied to a temporary folder and opened there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from popvision.formats.errors import FormatError

_MAGIC = b"SQLite format 3\0"
_KINDS = {"profile.pop": "report"}
_COPY_ATTEMPTS = 5

#: Seconds to wait for a program that holds the file locked.
PATIENCE = 5.0

#: Raised by sqlite3 on damaged files; names in messages may be no UTF-8.
_DAMAGE = (sqlite3.Error, MemoryError, UnicodeDecodeError)

#: Identity of a state of the file: inode, size and time of the file and of its logs.
Signature = tuple[tuple[int, int, int] | None, ...]


class SqliteFile:
    """A path from which read-only connections can be opened, one request at a time, from any thread."""

    def __init__(self, path: str | Path, what: str, *, salvage: bool = False) -> None:
        """`what` names the kind of file in messages, for example "profile.pop". With `salvage` a file that SQLite
        refuses as a whole, because its end is missing or an entry of its schema is damaged, is opened all the same:
        readable pages can then be read, and must be checked. Raises FormatError at once when the path is
        no SQLite database."""
        self.path = Path(path)
        self._what = what
        self._salvage = salvage
        self._lock = threading.Lock()
        self._request = threading.local()  #: connection of the request that this thread is in, and the state it sees
        self._copy: tuple[Signature, tempfile.TemporaryDirectory[str]] | None = None
        self._held: sqlite3.Connection | None = None  #: of all requests, one at a time
        self._turn = threading.RLock()
        self._check_header()

    def hold(self) -> None:
        """Open the file for all requests to come, which then take turns: it may be removed from its folder, and its
        bytes go with this object, or with a process that is killed. Nobody may write it any more. Raises
        FormatError."""
        try:
            self._held = self._open()
        except (*_DAMAGE, OSError) as error:
            raise self._unreadable(error) from error

    def signature(self) -> Signature:
        """Changes whenever the file or its log does; within `connect` it is that of the state seen there."""
        if getattr(self._request, "db", None) is not None:
            seen: Signature = self._request.signature
            return seen
        return tuple(_stat(path) for path in (self.path, *self._logs))

    @contextlib.contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A connection inside one read transaction; every SQLite error becomes a FormatError. Within such a context the
        same thread gets the same connection again, so that a request of several parts sees one state of the file."""
        if self._held is not None:
            with self._turn, self._readable():
                yield self._held
            return
        outer: sqlite3.Connection | None = getattr(self._request, "db", None)
        before = self.signature()
        try:
            db = outer or self._open()
        except (*_DAMAGE, OSError) as error:
            raise self._unreadable(error) from error
        self._request.db, self._request.signature = db, before
        try:
            with self._readable():
                yield db
        finally:
            if outer is None:
                self._request.db = None
                db.close()

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise self._unreadable(error) from error

    @property
    def _logs(self) -> list[Path]:
        return [self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-journal")]

    def _unreadable(self, error: BaseException) -> FormatError:
        # SQLite quotes text that it cannot decode, however long it is.
        reason = str(error).partition(" with text ")[0].rstrip(".") or type(error).__name__
        if reason in ("database is locked", "database table is locked"):
            return FormatError(f"{self.path} is locked by another program: wait until it has finished, or close it.")
        return FormatError(f"{self.path} cannot be read as a {self._what}: {reason}; write it again or restore a copy.")

    def _check_header(self) -> None:
        try:
            with self.path.open("rb") as file:
                head = file.read(len(_MAGIC))
        except OSError as error:
            raise FormatError(f"cannot open {self.path}: {error.strerror or error}.") from error
        if head != _MAGIC:
            why = "it is empty" if not head else "not an SQLite file"
            raise FormatError(f"{self.path} is not a PopVision {_KINDS.get(self._what, self._what)} ({why}).")

    def _open(self) -> sqlite3.Connection:
        try:
            return self._open_as_is(forced=False)
        except sqlite3.DatabaseError as error:
            if not self._salvage or isinstance(error, sqlite3.OperationalError):
                raise
        return self._open_as_is(forced=True)

    def _open_as_is(self, forced: bool) -> sqlite3.Connection:
        try:
            return _opened(self.path, "mode=ro", forced)
        except sqlite3.OperationalError as error:
            writable = _writable(self.path.parent)
            if error.sqlite_errorname == "SQLITE_READONLY_ROLLBACK":
                if writable and os.access(self.path, os.W_OK):
                    return _opened(self.path, "mode=rw", forced)
            elif writable or _stat(self.path) is None:
                raise
        if not any(_size(log) for log in self._logs):
            return _opened(self.path, "mode=ro&immutable=1", forced)
        return _opened(self._copied(), "mode=rw", forced)

    def _copied(self) -> Path:
        """A private copy of the file and its logs, renewed when they have changed."""
        with self._lock:
            for _ in range(_COPY_ATTEMPTS):
                before = self.signature()
                if self._copy is not None and self._copy[0] == before:
                    break
                folder = tempfile.TemporaryDirectory(prefix="popvision-", ignore_cleanup_errors=True)
                shutil.copyfile(self.path, Path(folder.name) / self.path.name)
                for log in self._logs:
                    with contextlib.suppress(FileNotFoundError):
                        shutil.copyfile(log, Path(folder.name) / log.name)
                if self.signature() == before:
                    self._copy = before, folder
                    break
            else:
                raise OSError("it keeps changing while it is copied from a folder that cannot be written")
            return Path(self._copy[1].name) / self.path.name


def _opened(path: Path, mode: str, forced: bool) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?{mode}"
    db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA cell_size_check=ON")
        if forced:  # SQLite then ignores the recorded length of the file, and skips damaged entries of the schema
            db.execute("PRAGMA writable_schema=ON")
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _size(path: Path) -> int:
    status = _stat(path)
    return 0 if status is None else status[1]


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY
