"""Which process has a report directory: the first that writes there, until it ends.

The claim is a `flock` on the directory itself: it leaves no file, and the system drops it with the process, however
that ends. While it is held, other processes write into process_<PID> below the directory, a forked child too: it gives
up the claims that it inherits without dropping its parent's. Where the file system knows no such locks, as some network
ones do not, every process takes the directory itself.

Folders process_<PID> outlive their run, the directory itself is overwritten by the next one. So each report says since
when its process has its folder: those of one run have it since the first one has the directory, or later.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from simulator.base.text_output import warn


@dataclass(frozen=True)
class Claim:
    """A folder that this process has, and since when, in µs since the epoch."""

    folder: Path
    since_us: int


_lock = threading.Lock()
_held: dict[Path, int] = {}  #: directories of this process, each with its open descriptor
_since: dict[Path, int] = {}  #: when this process got each of its directories, also where there are no locks
_instead: dict[Path, Claim] = {}  #: where this process writes what would go into a directory of another one


def claimed(directory: Path) -> Claim:
    """The directory, where this process has it or takes it now, else one below it. It must exist; so does the one
    below afterwards. The first time for each, one line says where."""
    key = directory.absolute()
    with _lock:
        before = _now_us()
        if _take(key):
            return Claim(directory, _since.setdefault(key, before))
        if key not in _instead:
            name, number = f"process_{os.getpid()}", 0
            while True:  # process numbers are unique within one container only
                below = directory / (name if not number else f"{name}_{number}")
                below.mkdir(exist_ok=True)
                if _take(below.absolute()):
                    break
                number += 1
            _instead[key] = Claim(below, _now_us())
            warn(f"Another process writes its reports into {directory}; those of this one are in {below}.")
        return _instead[key]


def _take(directory: Path) -> bool:
    """Whether this process has the directory, after it took it if it was free."""
    handle = _held.get(directory)
    if handle is not None:
        if _is(directory, handle):
            return True
        os.close(_held.pop(directory))  # it was removed and made again
        _since.pop(directory, None)
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # it cannot be read; whether it can be written is found out by who writes
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return False
    except OSError:
        os.close(handle)
        return True
    _held[directory] = handle
    return True


def _now_us() -> int:
    return time.time_ns() // 1000


def _is(directory: Path, handle: int) -> bool:
    there, ours = directory.stat(), os.fstat(handle)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _forget() -> None:
    """In a forked child: its parent has the claims."""
    global _lock
    _lock = threading.Lock()
    for handle in _held.values():
        os.close(handle)
    _held.clear()
    _since.clear()
    _instead.clear()


os.register_at_fork(after_in_child=_forget)
