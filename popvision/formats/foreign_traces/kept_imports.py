"""Imported traces that are kept, so that reading a file of another tool is paid for once.

`$XDG_CACHE_HOME/popvision/traces` (mode 0700) holds a .pvti for each file, named after its path and its state (inode,
size, time in nanoseconds) and the sources of the importer: another state or version is another name, and takes the
place of the former. A lock beside it is held while the trace is open; its time says when that was last, its text is
the digest of the import, since a damaged one must not look like damage of the file (0.1 s for 100 MB). All
together take at most MOST_BYTES or a tenth of the disk; those that were not opened for longest go first.

A file that changed within the last seconds may change again within one tick of its clock, and is imported into a
temporary file, as all are where the folder cannot be written or POPVISION_TRACE_CACHE is "off". That one is removed as
soon as it is open, so that a process that is killed leaves nothing. What is left of one that is killed while it imports
is removed by a shell that waits for its end, and where that was killed too by the next opening of a trace."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.importing import import_trace
from popvision.formats.pvti.reader import TraceReader

#: The environment variable that names another folder, or says "off".
VARIABLE = "POPVISION_TRACE_CACHE"
OFF = "off"

MOST_BYTES, SHARE_OF_DISK = 10 << 30, 0.1

#: Seconds within which a file that changed may change again without another time.
_UNSETTLED = 2.0

_ENTRY = re.compile(r"([0-9a-f]{16})-[0-9a-f]{32}\.pvti")

#: Of folders of imports under way, and of those that are not kept.
_TEMPORARY = "popvision-trace-"


@dataclass(frozen=True)
class KeptImport:
    """A kept import: the file that it was made of, its bytes, and when it was last opened (seconds since 1970)."""

    path: Path
    origin: str
    bytes: int
    opened: float


@dataclass(frozen=True)
class Imported:
    """The .pvti that stands for another tool's trace, open: what is kept of it stays while the reader lives."""

    reader: TraceReader
    problem: str = ""  #: why no import can be kept; "" where they can, or need not be


class _NotKeptError(Exception):
    """Why this file is not kept; "" where there is nothing to say about it."""


def imported(source: Path) -> Imported:
    """The import of a file. Raises FormatError."""
    _remove_leftovers(Path(tempfile.gettempdir()))
    try:
        return _kept(source)
    except _NotKeptError as problem:
        return Imported(_temporary(source), str(problem))


@contextlib.contextmanager
def without_kept_imports() -> Iterator[None]:
    """Within this no import is kept, and none that is kept is read, by all threads of this process."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = OFF
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def kept_imports() -> list[KeptImport]:
    """What is kept, opened last first. Raises FormatError where the folder cannot be read."""
    folder = kept_imports_folder()
    imports: list[KeptImport] = []
    try:
        names = [path for path in folder.iterdir() if _ENTRY.fullmatch(path.name)] if folder.exists() else []
    except OSError as problem:
        raise FormatError(f"{folder} cannot be read: {problem.strerror or problem}.") from None
    for path in names:
        with contextlib.suppress(OSError):
            size, opened = path.stat().st_size, _lock_of(path).stat().st_mtime
            imports.append(KeptImport(path, _origin(path), size, opened))
    return sorted(imports, key=lambda kept: -kept.opened)


def clear_imports() -> tuple[int, int]:
    """Remove what is kept and not open anywhere; how many and how many bytes."""
    removed = [kept for kept in kept_imports() if _remove(kept.path)]
    return len(removed), sum(kept.bytes for kept in removed)


def _kept(source: Path) -> Imported:
    if os.environ.get(VARIABLE) == OFF:
        raise _NotKeptError
    try:
        path = source.resolve(strict=True)
        state = path.stat()
    except OSError:
        raise _NotKeptError from None  # its reader says why
    if time.time() - state.st_mtime < _UNSETTLED:
        raise _NotKeptError
    folder = _made_folder()
    of_path = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
    facts = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, _version())
    target = folder / f"{of_path}-{hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest()}.pvti"
    with _kept_problems(folder):
        lock = _locked(target)
    if not _is_whole(target):
        try:
            _write(source, target)
        except BaseException:
            lock.close()
            _remove(target)
            raise
        for former in folder.glob(f"{of_path}-*.pvti"):
            if former != target:
                _remove(former)
        _make_room(folder, target)
    return Imported(TraceReader(target, lock, salvage=True, is_verified=True))


def _locked(target: Path) -> IO[str]:
    """The lock of an entry, which says that it was opened now. Raises OSError."""
    while True:
        lock = _lock_of(target).open("a")
        fcntl.flock(lock, fcntl.LOCK_SH)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.fileno()), _lock_of(target).stat()):
                os.utime(lock.fileno())
                return lock
        lock.close()  # of an entry that was removed meanwhile


def _write(source: Path, target: Path) -> None:
    """Import beside the target and put it in place: a reader sees all of it or nothing."""
    with _kept_problems(target.parent):
        place = _OwnFolder(target.parent)
    try:
        import_trace(source, place.trace)
        digest = _digest(place.trace)
        with _kept_problems(target.parent):
            place.trace.replace(target)
            _lock_of(target).write_text(digest)
    finally:
        place.remove()


@contextlib.contextmanager
def _kept_problems(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise _NotKeptError(_sentence(folder, problem)) from None


class _OwnFolder:
    """A folder of this process alone, whose lock tells others that it is in use. A shell, which reads from a pipe of
    this process until there is none, removes it when the process was killed."""

    def __init__(self, parent: Path) -> None:
        _remove_leftovers(parent)
        self._folder = tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=parent, ignore_cleanup_errors=True)
        self.trace = Path(self._folder.name, "trace.pvti")
        self._lock = Path(self._folder.name, "lock").open("w")  # noqa: SIM115 -- as long as the folder
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        command = ["/bin/sh", "-c", 'read -r line; rm -rf -- "$1"', "sh", self._folder.name]
        # Who waits for the end of this process's errors waits for it, too.
        self._guard = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/", start_new_session=True
        )

    def remove(self) -> None:
        """Remove it with all that it holds."""
        self._lock.close()
        self._folder.cleanup()
        self._guard.communicate()


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of processes that were killed."""
    for folder in parent.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError), (folder / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)


def _temporary(source: Path) -> TraceReader:
    """A reader of an import whose file is in no folder any more."""
    place = _OwnFolder(Path(tempfile.gettempdir()))
    try:
        import_trace(source, place.trace)
        return TraceReader(place.trace, salvage=True, is_verified=True, is_held=True)
    finally:
        place.remove()


def kept_imports_folder() -> Path:
    """Where imports are kept, whether it is there or not."""
    folder = os.environ.get(VARIABLE, "")
    if folder and folder != OFF:
        return Path(folder).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "popvision", "traces")


def _made_folder() -> Path:
    """The folder, which nobody else may read or write. Raises _NotKeptError."""
    folder = kept_imports_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        state = folder.stat()
        if state.st_uid != os.getuid():
            raise PermissionError(0, "it belongs to another user")
        if stat.S_IMODE(state.st_mode) & 0o077:
            folder.chmod(0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(0, "it cannot be written")
    except (OSError, RuntimeError) as problem:
        raise _NotKeptError(_sentence(folder, problem)) from None
    return folder


def _sentence(folder: Path, problem: Exception) -> str:
    reason = getattr(problem, "strerror", None) or str(problem)
    return f"imported traces are not kept in {folder}: {reason}; set {VARIABLE} to another folder, or to {OFF}."


@cache
def _version() -> str:
    """The digest of the sources that decide what an import holds."""
    digest = hashlib.blake2b(digest_size=16)
    formats = Path(__file__).resolve().parents[1]
    for folder in (formats / "foreign_traces", formats / "pvti"):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _lock_of(entry: Path) -> Path:
    return entry.with_suffix(".lock")


def _is_whole(entry: Path) -> bool:
    """Whether an import is there and as it was written: a damaged one is made anew, and not called damage of its
    file."""
    try:
        return _lock_of(entry).read_text() == _digest(entry)
    except (OSError, UnicodeDecodeError):
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _origin(entry: Path) -> str:
    try:
        return TraceReader(entry, salvage=True).meta.get("imported_from", "")
    except FormatError:
        return ""


def _remove(entry: Path) -> bool:
    """Remove an import, unless it is open somewhere."""
    lock: IO[str]
    try:
        with _lock_of(entry).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entry.unlink(missing_ok=True)
            _lock_of(entry).unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _make_room(folder: Path, newest: Path) -> None:
    """Remove what was not opened for longest, until the rest fits; the newest one last."""
    most = min(MOST_BYTES, SHARE_OF_DISK * shutil.disk_usage(folder).total)
    kept = kept_imports()
    total = sum(entry.bytes for entry in kept)
    for entry in reversed(kept):
        if total > most and entry.path != newest and _remove(entry.path):
            total -= entry.bytes
