"""Device locks: one lock file per simulated IPU, so that processes contend for IPUs as they do for hardware.

The locks are advisory `flock`s, which the system drops when a process ends, however it ends. They lie in
$POPVISION_LOCKS, else $XDG_RUNTIME_DIR/popvision, else a folder of the user below the temporary folder. An allocation
of Slurm has locks of its own in a folder below: no program outside can hold what Slurm gave to a job, and Slurm itself
keeps jobs apart.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from simulator.base.errors import poplar_error

#: What Slurm's plugin sets for a program that has IPUs: how its allocation is called, and which IPUs it has.
_PARTITION, _ALLOTTED = "IPUOF_VIPU_API_PARTITION_ID", "POPVISION_IPU_IDS"


def lock_folder(environment: Mapping[str, str]) -> Path:
    """Where this process locks IPUs."""
    folder, name = _system_folder(environment), environment.get(_PARTITION, "")
    if not (environment.get(_ALLOTTED) and environment.get("SLURM_JOB_ID") and re.fullmatch(r"slurm_\d+", name)):
        return folder
    pod = environment.get("SLURM_CONF", "")  # two pods on one machine count their jobs alike
    return folder / f"{name}-{hashlib.sha256(pod.encode()).hexdigest()[:8]}"


def _system_folder(environment: Mapping[str, str]) -> Path:
    """The folder of programs outside of allocations."""
    chosen = environment.get("POPVISION_LOCKS")
    if chosen:
        return Path(chosen)
    runtime = environment.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "popvision" if runtime else Path(tempfile.gettempdir()) / f"popvision-{os.getuid()}"


class DeviceLocks:
    """The locks of one `DeviceManager`. Within a process, too, an IPU is held once."""

    _held: dict[Path, int] = {}  # noqa: RUF012  (locks belong to the process)

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or lock_folder(os.environ)

    def has_any(self) -> bool:
        """Whether this process has an IPU of this system."""
        return any(path.parent == self.folder for path in self._held)

    def take(self, ipus: Sequence[int]) -> bool:
        """Lock all of these IPUs, or none and return False when one of them is locked already. Raises `poplar_error`
        where a lock file cannot be opened."""
        taken: list[int] = []
        for ipu in sorted(ipus):
            if not self._take_one(ipu):
                self.give_back(taken)
                return False
            taken.append(ipu)
        return True

    def give_back(self, ipus: Sequence[int]) -> None:
        for ipu in ipus:
            handle = self._held.pop(self._path(ipu), None)
            if handle is not None:
                os.close(handle)

    def _path(self, ipu: int) -> Path:
        return self.folder / f"ipu{ipu}.lock"

    def _take_one(self, ipu: int) -> bool:
        path = self._path(ipu)
        if path in self._held:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise poplar_error(
                f"The lock file {path} cannot be opened ({error.strerror}); set POPVISION_LOCKS to another folder."
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        self._held[path] = handle
        return True


class HeldLock(NamedTuple):
    """An IPU that a process of this user has attached."""

    ipu: int
    process: int
    since: float  #: seconds since the epoch


def held_locks(*, everywhere: bool) -> list[HeldLock]:
    """The IPUs that processes have attached where this one locks its own, or `everywhere`: in other allocations, and
    outside of them. Takes no lock, so that it never stands in the way of who attaches."""
    folders = {lock_folder(os.environ)}
    if everywhere:
        system = _system_folder(os.environ)
        folders |= {system, *system.glob("slurm_*")}
    found = []
    for path in (path for folder in folders for path in folder.glob("ipu*.lock")):
        name = path.stem.removeprefix("ipu")
        process = _holder(path.resolve()) if name.isdigit() else None
        if process is not None:
            with suppress(OSError):  # it was removed meanwhile
                found.append(HeldLock(int(name), process, path.stat().st_mtime))
    return sorted(found)


def _holder(path: Path) -> int | None:
    """The process whose id is in a lock file and which has it open."""
    try:
        process = int(path.read_text())
        open_files = psutil.Process(process).open_files()
    except (OSError, ValueError, psutil.Error):
        return None
    return process if any(file.path == str(path) for file in open_files) else None
