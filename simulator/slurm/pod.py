"""A pod on one machine: munged, slurmctld and slurmd as child processes, in a private folder, on free ports.

It needs neither systemd nor cgroups, and nothing of /etc: the path of slurm.conf is absolute, and munged has a key and
a socket in the folder. The end of `with` ends the jobs first, then the daemons that it started, each by its id.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from simulator.slurm.configuration import (
    CGROUP_CONF,
    PACKAGES,
    OneMachine,
    PodError,
    PodFiles,
    slurm_conf_of_one_machine,
    user_name,
)

#: Seconds until daemons must answer, until jobs must have ended (Slurm sends KILL after KillWait = 5), until daemons
#: must have ended.
START_SECONDS, JOBS_SECONDS, STOP_SECONDS = 60.0, 30.0, 15.0
_POLL_SECONDS = 0.1
_DAEMONS = ("munged", "slurmctld", "slurmd")
_COMMANDS = ("srun", "sbatch", "squeue", "scancel", "sinfo", "scontrol")
_SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"  # not on the PATH of a user
_LONGEST_SOCKET_PATH = 100  # bytes; the system's limit is 107


class Pod:
    """A context manager: the daemons run inside `with`. `folder` must be empty or missing; the users whose jobs run
    must be able to read it. With several `nodes`, each with its `ipus`, jobs can span nodes; but all nodes are this
    machine, on which two processes cannot attach an IPU of the same number."""

    def __init__(self, folder: Path, ipus: int, nodes: int = 1) -> None:
        self.files = PodFiles(folder.resolve(), ipus, folder.resolve() / "step_locks")
        self._nodes = nodes
        self.environment = {**os.environ, "SLURM_CONF": str(self.files.slurm_conf)}
        self._daemons: list[tuple[str, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> Pod:
        """Raises PodError, in one sentence, for missing packages, a folder in use, a daemon that does not start."""
        programs = _programs()
        self._make_folder()
        try:
            self._start(programs)
        except BaseException:
            self._stop_daemons()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_jobs()
        self._stop_daemons()

    def failed_daemon(self) -> str:
        """The name of a daemon that has ended by itself, "" while all run."""
        return next((name for name, process in self._daemons if process.poll() is not None), "")

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints; "" where it fails, and after 10 seconds without an answer."""
        try:
            run = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=10, check=False)
        except subprocess.TimeoutExpired:
            return ""
        return run.stdout.strip() if run.returncode == 0 else ""

    def _make_folder(self) -> None:
        folder = self.files.folder
        if len(os.fsencode(folder / "munge" / "socket")) > _LONGEST_SOCKET_PATH:
            raise PodError(f"The path of the folder '{folder}' is too long for munged's socket; choose a shorter one.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise PodError(f"The folder '{folder}' is not empty; name a new one.")
            folder.chmod(0o755)
            for name in ("munge", "state", "spool"):
                (folder / name).mkdir(mode=0o755)
        except OSError as error:
            raise PodError(f"The folder '{folder}' cannot be used ({error.strerror}); name another.") from None

    def _start(self, programs: dict[str, str]) -> None:
        files, munge = self.files, self.files.folder / "munge"
        files.write()
        key = munge / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        host = socket.gethostname().partition(".")[0]
        names = [host] if self._nodes == 1 else [f"{host}-{number}" for number in range(1, self._nodes + 1)]
        with _free_ports(1 + len(names)) as (controller, *ports):
            nodes = dict(zip(names, ports, strict=True))
            machine = OneMachine(host, _is_loopback(host), user_name(), controller, nodes)
        files.slurm_conf.write_text(slurm_conf_of_one_machine(files, machine))
        (files.folder / "cgroup.conf").write_text(CGROUP_CONF)
        options = {name: munge / name for name in ("socket", "pid-file", "log-file", "seed-file", "key-file")}
        options["key-file"] = key
        self._run(
            "munged", programs, "--foreground", "--force", *(f"--{name}={path}" for name, path in options.items())
        )
        self._wait(lambda: options["socket"].exists(), "munged")
        self._run("slurmctld", programs, "-D")
        self._wait(lambda: "is UP" in self.ask("scontrol", "ping"), "slurmctld")
        for name in names:
            (files.folder / "spool" / name).mkdir()
            self._run("slurmd", programs, "-D", "-N", name)
        self._wait(lambda: self.ask("sinfo", "-h", "-o", "%T %D") == f"idle {len(names)}", "slurmd")

    def _run(self, name: str, programs: dict[str, str], *arguments: str) -> None:
        """Start a daemon in a session of its own: Ctrl-C is for this process, which ends the jobs first."""
        with (self.files.folder / f"{name}.out").open("ab") as output:
            process = subprocess.Popen(
                [programs[name], *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=self.files.folder,
            )
        self._daemons.append((name, process))

    def _wait(self, is_ready: Callable[[], bool], name: str) -> None:
        """Until the daemon answers. Raises PodError with its own words when it ends or never does."""
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            failed = self.failed_daemon()
            if failed or time.monotonic() > deadline:
                said = self._last_error(failed or name)
                raise PodError(f"{failed or name} does not start: {said or 'it says nothing'}.")
            time.sleep(_POLL_SECONDS)

    def _last_error(self, name: str) -> str:
        lines: list[str] = []
        for path in (*sorted(self.files.folder.glob(f"{name}*.log")), self.files.folder / f"{name}.out"):
            if path.exists():
                lines += path.read_text(errors="replace").splitlines()
        fatal = [line for line in lines if "fatal" in line]
        errors = [line for line in lines if "error" in line.lower()]
        return "; ".join(fatal[:1] or errors[-3:] or lines[-1:]).rstrip(".")

    def _end_jobs(self) -> None:
        """Cancel what runs and wait, so that no process of a job outlives the daemons."""
        deadline = time.monotonic() + JOBS_SECONDS
        while not self.failed_daemon() and time.monotonic() < deadline:
            jobs = self.ask("squeue", "-h", "-o", "%A").split()
            if not jobs:
                break
            self.ask("scancel", *jobs)
            time.sleep(_POLL_SECONDS)

    def _stop_daemons(self) -> None:
        """End the daemons, the last one started first, and what slurmd left of steps."""
        for _, process in reversed(self._daemons):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        if self._daemons:
            for pid in _step_managers(self.files.slurm_conf):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._daemons.clear()


def _programs() -> dict[str, str]:
    """The daemons' paths. Raises PodError naming what is missing and the packages."""
    path = f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_FOLDERS}"
    programs = {name: shutil.which(name, path=path) for name in (*_DAEMONS, *_COMMANDS)}
    missing = [name for name, program in programs.items() if program is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise PodError(f"{', '.join(missing)} {verb} missing; as root: {PACKAGES}.")
    return {name: program for name, program in programs.items() if program is not None}


def _is_loopback(node: str) -> bool:
    try:
        return socket.gethostbyname(node) == "127.0.0.1"
    except OSError:
        return False


@contextlib.contextmanager
def _free_ports(count: int) -> Iterator[list[int]]:
    """TCP ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]


def _step_managers(slurm_conf: Path) -> list[int]:
    """The slurmstepd processes that belong to the pod of this slurm.conf."""
    mark = b"SLURM_CONF=" + os.fsencode(slurm_conf)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "comm").read_text().strip() == "slurmstepd" and mark in (
                process / "environ"
            ).read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found
