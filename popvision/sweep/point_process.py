"""One point as a child process (Linux): started, watched, ended.

The child dies with the process that started it (PR_SET_PDEATHSIG), so that a killed sweep leaves no program behind,
and leads a session of its own, so that a limit ends all its processes. Memory is what /proc says is resident in the
child and its descendants, looked at ten times a second: a rise and fall between two looks is not seen."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import shutil
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from popvision.sweep.plan import Limits, Point, SweepError
from popvision.sweep.process_tree import descendants, resident_bytes
from popvision.sweep.profiled_child import profiling_environment, program_command
from popvision.sweep.program_files import PlannedFiles
from popvision.sweep.sweep_folder import SweepFolder, storage_error

#: Seconds between two looks at a child's memory and time.
CHECK_SECONDS = 0.1

#: Bytes of the output's end that are searched for the error.
_TAIL = 4000

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class PointProcess:
    """A point under way. `handle` is readable once the child has ended (pidfd)."""

    def __init__(self, point: Point, folder: SweepFolder, limits: Limits, planned: PlannedFiles) -> None:
        """Start it. Raises SweepError when the folder cannot be written, the program not be started, or a file that the
        point depends on has changed since it was planned."""
        self.point, self._folder, self._limits, self._planned = point, folder, limits, planned
        self._check_files()
        self._broken = ""
        self._began, self._started = time.monotonic(), datetime.now(UTC)
        try:
            self._running = folder.begin(point)
            self._output = self._running / "output.txt"
            with self._output.open("wb") as output:
                self._process = self._start(output)
        except OSError as problem:
            raise storage_error(problem, folder.root) from None
        self.handle = os.pidfd_open(self._process.pid)

    def _start(self, output: Any) -> subprocess.Popen[bytes]:
        point, parent = self.point, os.getpid()

        def prepare() -> None:
            die_with(parent)

        # Started in a job step of several tasks, a point is still a program of its own, not one of their ranks.
        environment = {name: text for name, text in os.environ.items() if name != "SLURM_STEP_NUM_TASKS"}
        environment |= point.environment
        made = profiling_environment(
            self._running,
            runs=point.runs,
            trace=point.trace,
            target=point.target,
            tiles=point.tiles,
            constants=",".join(f"{name}={value}" for name, value in point.constants.items()),
            options=point.options,
        )
        if "PYTHONPATH" in point.environment:  # of a commit
            compat = made["PYTHONPATH"].partition(os.pathsep)[0]
            made["PYTHONPATH"] = os.pathsep.join((compat, point.environment["PYTHONPATH"]))
        return subprocess.Popen(
            program_command(point.program, point.arguments),
            cwd=point.folder,
            env=environment | made,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=prepare,
        )

    def _check_files(self) -> None:
        """A report must not stand under a digest of other files than it was made with."""
        name = self._planned.difference(Path(self.point.program), self.point.files, self.point.producer)
        if name:
            raise SweepError(
                f"{name} has changed since the sweep was planned; start it again: points that were run before stay."
            )

    def check(self) -> None:
        """End the child when it is beyond a limit."""
        seconds = time.monotonic() - self._began
        limits = self._limits
        if limits.seconds is not None and seconds > limits.seconds:
            self._break(f"it took longer than the limit of {limits.seconds:g} s")
        elif limits.memory_bytes is not None:
            process = self._process.pid
            resident = resident_bytes([process, *descendants(process)])
            if resident > limits.memory_bytes:
                self._break(
                    f"its processes held {resident / 2**20:,.0f} MiB after {seconds:.1f} s, more than the limit of "
                    f"{limits.memory_bytes / 2**20:,.0f} MiB"
                )

    def _break(self, reason: str) -> None:
        self._broken = self._broken or reason
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> dict[str, Any] | None:
        """Wait for the child and give the point its place. Returns what point.json says of its end, None when the point
        had ended elsewhere. Raises SweepError for a full disk, and for files that changed: the point has not ended."""
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = code = os.waitstatus_to_exitcode(status)
        self._kill()  # what it left in its session
        os.close(self.handle)
        tail = self._tail()
        if code and os.strerror(errno.ENOSPC) in tail:
            shutil.rmtree(self._running, ignore_errors=True)
            raise storage_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), self._folder.root)
        try:
            self._check_files()
        except SweepError:
            shutil.rmtree(self._running, ignore_errors=True)
            raise
        result = {
            "error": self._error(code, tail),
            "exit_code": code,
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self._began, 3),
            "peak_process_bytes": usage.ru_maxrss * 1024,
        }
        try:
            return result if self._folder.end(self.point, self._running, result) else None
        except OSError as problem:
            raise storage_error(problem, self._folder.root) from None

    def discard(self) -> None:
        """Kill the child; nothing remains of it."""
        self._kill()
        self._process.wait()
        os.close(self.handle)
        shutil.rmtree(self._running, ignore_errors=True)

    def _tail(self) -> str:
        try:
            with self._output.open("rb") as stream:
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
                return stream.read().decode(errors="replace")
        except OSError:
            return ""

    def _error(self, code: int, tail: str) -> str:
        """One sentence, "" for a point that is done."""
        if self._broken:
            return self._broken
        # The folder that it ran in has another name afterwards: paths count from the report.
        lines = [line for line in tail.replace(f"{self._running}/", "").splitlines() if line.strip()]
        last = f": {lines[-1].strip()[:500]}" if lines else ""
        if code < 0:
            return f"ended by {_signal_name(-code)}{last}"
        if code:
            return f"exit code {code}{last}"
        if not any(self._running.glob("profile.pop")) and not any(self._running.glob("*/profile.pop")):
            return "the program ended well but made no report: no Engine was created"
        return ""


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, the process `parent`, ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def run_point(point: Point, folder: SweepFolder, limits: Limits) -> dict[str, Any] | None:
    """Run one point to its end in this process's main thread. See `PointProcess.end`."""
    process = PointProcess(point, folder, limits, PlannedFiles())
    try:
        while not select.select([process.handle], [], [], CHECK_SECONDS)[0]:
            process.check()
    except BaseException:
        process.discard()
        raise
    return process.end()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
