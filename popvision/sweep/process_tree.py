"""A process and its descendants (Linux): how many, how much memory, and their end.

The root adopts orphans (PR_SET_CHILD_SUBREAPER), so that a process that forks twice or leads a session of its own stays
below it. A look reads /proc: O(processes)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")

#: Seconds for killed processes to leave; a process in uninterruptible sleep may take longer.
_PATIENCE = 5.0


def descendants(root: int) -> list[int]:
    """The processes below `root`, children before grandchildren; those that ended and were not waited for do not
    count."""
    below: list[int] = []
    waiting = [root]
    while waiting:
        children = [each for each in _children(waiting.pop(0)) if is_running(each)]
        below += children
        waiting += children
    return below


def resident_bytes(processes: list[int]) -> int:
    """Bytes resident in the processes; pages that they share count in each."""
    return sum(_resident(each) for each in processes)


def end_descendants(root: int) -> None:
    """Kill all processes below `root`. They are stopped first: a process that is killed while others fork leaves new
    ones behind."""
    ends = time.monotonic() + _PATIENCE
    while (running := descendants(root)) and time.monotonic() < ends:
        stopped: set[int] = set()
        while new := set(descendants(root)) - stopped:
            _signal(new, signal.SIGSTOP)
            stopped |= new
        _signal(stopped | set(running), signal.SIGKILL)
        time.sleep(0.01)


def folder_bytes(folder: Path) -> int:
    """Bytes of the files below a folder; files that go away meanwhile do not count."""
    return sum(_disk_sizes(folder))


def _disk_sizes(folder: Path) -> Iterator[int]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _disk_sizes(Path(entry.path))
                else:
                    yield entry.stat(follow_symlinks=False).st_blocks * 512


def _signal(processes: set[int], number: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, number)


def _children(process: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended: one that nobody waited for yet is listed, and does nothing."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
