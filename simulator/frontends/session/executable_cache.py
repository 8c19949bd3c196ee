"""Executable cache: a folder of content-addressed files, one executable each, that several processes share.

A hit costs one file read. An entry is written under a temporary name and renamed, so that readers never see half of one
and need no lock. Compilation of one key is exclusive: whoever waits for the lock finds the entry afterwards. Locks are
advisory `flock`s, which the system drops when their process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from popvision.formats.errors import FormatError
from popvision.formats.executable import entry, parts_of_entry
from popvision.formats.replacing import replacing
from simulator.base.errors import file_load_error, poplar_error
from simulator.base.target import Target
from simulator.base.version import packageHash, versionString
from simulator.engine.executable import Executable

#: Variables whose raw text is part of every key, as TensorFlow's driver has it: another report folder misses the cache.
KEY_VARIABLES = ("POPLAR_ENGINE_OPTIONS", "POPLAR_TARGET_OPTIONS")


def executable_key(target: Target, parts: Sequence[str | bytes], environment: Mapping[str, str] | None = None) -> str:
    """16 hexadecimal digits over the simulator's version, the target, the environment's options and the front end's own
    `parts` (program, settings). Equal keys mean equal executables. `environment`: {} where `parts` have its options."""
    variables = os.environ if environment is None else environment
    digest = hashlib.sha256()
    own = (versionString(), packageHash(), repr(target), *(variables.get(name, "") for name in KEY_VARIABLES))
    for part in (*own, *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]


def entry_bytes(executable: Executable, notes: bytes) -> bytes:
    """An executable with a front end's notes as one file. Raises poplar_error for what cannot be saved."""
    buffer = io.BytesIO()
    executable.serialize(buffer)
    return entry(notes, buffer.getvalue())


def read_entry(data: bytes) -> tuple[Executable, bytes]:
    """What `entry_bytes` wrote. Raises file_load_error for anything else: cut in half, another version, damaged, no
    entry."""
    try:
        notes, executable, _ = parts_of_entry(data)
    except FormatError as problem:
        raise file_load_error(f"The file holds no executable of a front end: {problem}.") from None
    return Executable.deserialize(io.BytesIO(executable)), notes


def _described(target: Target) -> str:
    return f"{target.getNumTiles()} tiles of {target.getTargetArchString()} ({target.getTargetType().value})"


class Outcome(Enum):
    """Where an executable came from."""

    LOADED = "loaded"  #: from the cache
    STORED = "stored"  #: compiled, and the cache has it now
    UNCACHED = "uncached"  #: compiled; the cache could not take it, which was said once


@dataclass(frozen=True)
class CachedExecutable:
    executable: Executable
    notes: bytes  #: what the front end stored with it
    outcome: Outcome
    path: Path  #: of the entry, whether or not it exists


class ExecutableCache:
    """Executables below one folder, named `<key><suffix>`."""

    def __init__(self, folder: Path, suffix: str, warn: Callable[[str], None]) -> None:
        """The folder is made at the first request for an executable. `suffix` is the front end's (".popef",
        ".poplar_exec"). `warn` gets one sentence, once per kind of trouble: the program itself goes on without."""
        self.folder = Path(folder).expanduser()
        self.suffix = suffix
        self._warn = warn
        self._warned: set[str] = set()

    def path(self, key: str) -> Path:
        return self.folder / f"{key}{self.suffix}"

    def fetch(
        self,
        key: str,
        compile_executable: Callable[[], Executable],
        notes: Callable[[], bytes] = bytes,
        target: Target | None = None,
    ) -> CachedExecutable:
        """The executable of a key: from the cache, else compiled and stored. `notes`, called after a compilation, are
        stored with it. A file that was compiled for another target than `target` is replaced. Raises only what these
        two raise: a cache that cannot be read or written costs time, never the program."""
        path = self.path(key)
        loaded = self._load(path, target)
        if loaded is not None:
            return CachedExecutable(*loaded, Outcome.LOADED, path)
        with self._compile_lock(key) as locked:
            if not locked:
                return CachedExecutable(compile_executable(), notes(), Outcome.UNCACHED, path)
            loaded = self._load(path, target)
            if loaded is not None:
                return CachedExecutable(*loaded, Outcome.LOADED, path)
            self._remove_leftovers(key)
            executable = compile_executable()
            noted = notes()
            stored = self._store(executable, noted, path)
            return CachedExecutable(executable, noted, Outcome.STORED if stored else Outcome.UNCACHED, path)

    def _load(self, path: Path, target: Target | None) -> tuple[Executable, bytes] | None:
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._warn_once("read", f"{path} cannot be read ({error.strerror}); the program is compiled again.")
            return None
        try:
            executable, notes = read_entry(data)
            if target is not None and executable.getTarget() != target:
                wrong, wanted = _described(executable.getTarget()), _described(target)
                raise file_load_error(f"It was compiled for {wrong}, not for {wanted}.")
        except poplar_error as error:
            self._warn_once(str(path), f"{path} is not used and replaced: {error}")
            return None
        return executable, notes

    @contextmanager
    def _compile_lock(self, key: str) -> Iterator[bool]:
        """Hold the lock of one key; yields False where the folder takes no lock file."""
        handle = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / f"{key}.compile_lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            locked = True
        except OSError as error:
            self._warn_about_writing(error)
            locked = False
        try:
            yield locked
        finally:
            if handle is not None:
                os.close(handle)

    def _remove_leftovers(self, key: str) -> None:
        """Remove temporary files of processes that were killed while they wrote: no other process writes now."""
        for path in self.folder.glob(f"{key}.*.tmp"):
            path.unlink(missing_ok=True)

    def _store(self, executable: Executable, notes: bytes, path: Path) -> bool:
        """Write the entry and say whether it is there."""
        try:
            data = entry_bytes(executable, notes)
        except poplar_error as error:
            self._warn_once("serialize", f"The program is not cached: {error}")
            return False
        try:
            with replacing(path) as temporary:
                temporary.write_bytes(data)
        except OSError as error:
            self._warn_about_writing(error)
            return False
        return True

    def _warn_about_writing(self, error: OSError) -> None:
        self._warn_once(
            "write",
            f"The executable cache {self.folder} cannot be written ({error.strerror}); programs are compiled in each "
            "process. Free space there, or choose another folder.",
        )

    def _warn_once(self, kind: str, sentence: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn(sentence)
