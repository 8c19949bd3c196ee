"""Processes that shared one report folder without a launcher that numbers them: a loop of a shell, multiprocessing, a
fork.

The first one has the folder until it ends, each other one process_<PID> below it. These folders outlive their run; the
folder itself is overwritten by the next one. So a run has the reports of the process that has the folder now, and those
of the processes that came while it had it: each report says since when its process has its folder (`folderSince`).

Cost: a pass over the reports, and one over the folders of their paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAME = re.compile(r"process_\d+(_\d+)?")


@dataclass(frozen=True)
class ProcessFacts:
    """What a report says about its process."""

    since_us: int  #: when it got its report folder, µs since the epoch
    engine: str  #: name of the engine, "" without one


@dataclass(frozen=True)
class ProcessPlace:
    """The place of a process among those that shared a folder, from 0, by when they came."""

    run: str
    number: int
    processes: int  #: 2 or more


def process_facts(meta: Mapping[str, Any]) -> ProcessFacts | None:
    """The process in the facts of a report; None where they do not tell since when it has its folder."""
    since = meta.get("folderSince")
    if not isinstance(since, int) or isinstance(since, bool) or since < 0:
        return None
    return ProcessFacts(since, str(meta.get("engineName", "")))


def above_processes(folder: Path) -> Path | None:
    """The folder that processes shared, of the report folder of one of them; None for one that shared none."""
    process = _process_folder(folder)
    if process is not None:
        return process.parent
    return next((shared for shared in (folder, folder.parent) if any(shared.glob("process_*"))), None)


def numbered(reports: Mapping[Path, ProcessFacts]) -> dict[Path, ProcessPlace]:
    """The places of those reports whose processes shared a folder with others, by path."""
    places: dict[Path, ProcessPlace] = {}
    of_processes: dict[Path, dict[Path, list[Path]]] = {}  # shared folder -> folder of a process -> reports
    for path in reports:
        process = _process_folder(path)
        if process is not None:
            of_processes.setdefault(process.parent, {}).setdefault(process, []).append(path)
    for shared, processes in of_processes.items():
        first = _of_the_first(shared, reports)
        began = min((reports[path].since_us for path in first), default=0)
        came = {
            process: min(reports[path].since_us for path in paths)
            for process, paths in processes.items()
            if all(reports[path].since_us >= began for path in paths)
        }
        order = ([first] if first else []) + [
            processes[folder] for folder in sorted(came, key=lambda folder: (came[folder], folder))
        ]
        if len(order) > 1:
            run = f"the processes that shared {shared.name} (numbered by when they came)"
            for number, paths in enumerate(order):
                places |= dict.fromkeys(paths, ProcessPlace(run, number, len(order)))
    return places


def _of_the_first(shared: Path, reports: Mapping[Path, ProcessFacts]) -> list[Path]:
    """The reports of the process that has the folder itself: its engines write into the folder and one level below.
    What another program left there has another moment."""
    near = [path for path in reports if shared in (path, path.parent) and _process_folder(path) is None]
    if not near:
        return []
    since = reports[shared].since_us if shared in reports else max(reports[path].since_us for path in near)
    return [path for path in near if reports[path].since_us == since]


def _process_folder(path: Path) -> Path | None:
    """The last process_<PID> of a path."""
    return next((folder for folder in (path, *path.parents) if _NAME.fullmatch(folder.name)), None)
