"""A process and its descendants (Linux): how many, how much memory, and their end.

The root adopts orphans (PR_SET_CHILD_SUBREAPER), so that a process that forks twice or leads a session of its own stays
below it. A look costs O(processes below the root)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

#: Seconds for killed processes to leave; a process in uninterruptible sleep may take longer.
_PATIENCE = 5.0


def descendants(root: int) -> list[int]:
    """The processes below `root`, children before grandchildren; those that ended and were not waited for do not
    count."""
    below: list[int] = []
    waiting = [root]
    while waiting:
        children = [child for child in _children(waiting.pop(0)) if is_running(child)]
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
    """From /proc: 0.03 ms a look. `psutil.Process.children` reads all processes of the machine, 3 ms for 150 of them,
    and a watched program is looked at 20 times a second."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                children += map(int, (thread / "children").read_text().split())
    return children


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended: one that nobody waited for yet is listed, and does nothing."""
    try:
        return psutil.Process(process).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False


def _resident(process: int) -> int:
    try:
        return psutil.Process(process).memory_info().rss
    except psutil.Error:
        return 0
