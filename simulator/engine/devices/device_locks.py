"""Device locks: one lock file per simulated IPU, so that processes contend for IPUs as they do for hardware.

The locks are advisory `flock`s, which the system drops when a process ends, however it ends. They lie in
$POPVISION_LOCKS, else $XDG_RUNTIME_DIR/popvision, else a folder of the user below the temporary folder.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from simulator.base.errors import poplar_error


def lock_folder() -> Path:
    chosen = os.environ.get("POPVISION_LOCKS")
    if chosen:
        return Path(chosen)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "popvision" if runtime else Path(tempfile.gettempdir()) / f"popvision-{os.getuid()}"


class DeviceLocks:
    """The locks of one `DeviceManager`. Within a process, too, an IPU is held once."""

    _held: dict[Path, int] = {}  # noqa: RUF012  (locks belong to the process)

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or lock_folder()

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


def holder_of(ipu: int) -> int | None:
    """The id of the process of this user that has attached an IPU; None where there is none. Takes no lock, so that it
    never stands in the way of who attaches."""
    path = (lock_folder() / f"ipu{ipu}.lock").resolve()
    try:
        process = int(path.read_text())
        open_files = list(Path(f"/proc/{process}/fd").iterdir())
    except (OSError, ValueError):
        return None
    for file in open_files:
        with suppress(OSError):  # closed meanwhile
            if file.readlink() == path:
                return process
    return None
