"""Catalogues of the folders that the viewer was given, brought up to date in a thread of their own.

A refresh reads what is new or has changed, some 45 ms a report; meanwhile the page shows the rows there are, and how
many reports are left to read. A folder is looked at again when its page is opened or reloaded.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path

from popvision.analysis.report.not_recorded import FormatError
from popvision.catalogue import refresh


@dataclass(frozen=True)
class State:
    """`turn` changes with each refresh that ended; `read` of `total` reports, while one is under way; `problem` is the
    sentence of one that failed, `note` that of one that could not look at everything."""

    turn: int = 0
    is_reading: bool = False
    read: int = 0
    total: int = 0
    problem: str = ""
    note: str = ""


class CatalogueFolders:
    """The state of each folder's catalogue. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: dict[Path, State] = {}

    def state(self, folder: Path) -> State:
        """What is known of a folder's catalogue."""
        with self._lock:
            return self._states.get(folder, State())

    def start(self, folder: Path) -> State:
        """Begin to bring a catalogue up to date, unless that is under way; the state afterwards."""
        with self._lock:
            before = self._states.get(folder, State())
            if before.is_reading:
                return before
            state = self._states[folder] = replace(before, is_reading=True, read=0, total=0)
        threading.Thread(target=self._refresh, args=(folder,), daemon=True, name="catalogue").start()
        return state

    def _refresh(self, folder: Path) -> None:
        problem = note = ""
        try:
            note = refresh(folder, lambda read, total: self._set(folder, read=read, total=total)).note
        except (FormatError, OSError) as failed:
            problem = str(failed)
        with self._lock:
            self._states[folder] = State(self._states[folder].turn + 1, problem=problem, note=note)

    def _set(self, folder: Path, *, read: int, total: int) -> None:
        with self._lock:
            self._states[folder] = replace(self._states[folder], read=read, total=total)
