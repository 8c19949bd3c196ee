"""Builds and runs of one C++ program: compiled at each save with the libraries of `make cpp`, then watched to its end.

The compiler notes which files of the user the program includes, so that a save of a header counts too.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from popvision.sweep.point_process import die_with
from popvision.sweep.process_tree import end_descendants
from popvision.watch.limits import Limits
from popvision.watch.program_run import LOOK, Ended, exit_problem, run_environment, tail
from popvision.watch.saved_source import Problem

#: Names of files that are compiled before they run.
SUFFIXES = (".cpp", ".cc", ".cxx", ".C")

_ERROR = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)


class CompiledRuns:
    """As `ProgramRuns`, for a C++ source. Not thread-safe."""

    def __init__(
        self, program: str, arguments: Sequence[str], limits: Limits, options: dict[str, object], scratch: Path
    ) -> None:
        self._source, self._arguments, self._limits, self._options = program, list(arguments), limits, options
        self._scratch = scratch
        self._running: subprocess.Popen[bytes] | None = None

    def run(self, folder: Path, is_cancelled: Callable[[], bool]) -> Ended | None:
        """Compile the program and run it with its reports in `folder`, which must be new. None when it was
        cancelled."""
        folder.mkdir(mode=0o700)
        (folder / "temporary").mkdir()
        self._scratch.mkdir(mode=0o700, exist_ok=True)
        (self._scratch / "program").unlink(missing_ok=True)
        files: list[str] = []
        for command in (self._compiler_command(), [str(self._scratch / "program"), *self._arguments]):
            code, broken = self._follow(command, folder, is_cancelled)
            if code is None and not broken:
                return None
            files = files or self._included()
            if code or broken:
                return Ended(folder, tail(folder / "output.txt"), files, self._problem(folder, code, broken))
        return Ended(folder, tail(folder / "output.txt"), files, None)

    def close(self) -> None:
        """End what runs, and what it left behind."""
        if self._running is not None:
            end_descendants(self._running.pid)
            os.killpg(self._running.pid, signal.SIGKILL)  # orphans too: it leads a session
            self._running.wait()
            self._running = None

    def _compiler_command(self) -> list[str]:
        compiler = os.environ.get("CXX", "g++")
        if shutil.which(compiler) is None:
            raise FileNotFoundError(2, "a C++ program needs a compiler; on Debian: apt-get install -y g++", compiler)
        noted = ["-MMD", "-MF", str(self._scratch / "program.d")]
        linked = ["-lpoplar", "-lpthread"]  # PopLibs, pva and pvti are in libpoplar too
        return [compiler, "-O1", "-g", *noted, self._source, *linked, "-o", str(self._scratch / "program")]

    def _follow(self, command: list[str], folder: Path, is_cancelled: Callable[[], bool]) -> tuple[int | None, str]:
        """(exit code, the limit that was broken) of a command at its end; (None, "") when it was cancelled."""
        parent, disk = os.getpid(), self._limits.disk

        def prepare() -> None:
            die_with(parent)
            resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with (folder / "output.txt").open("ab") as output:
            self._running = running = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=os.environ | run_environment(folder, self._options),
                preexec_fn=prepare,
            )
        began, broken = time.monotonic(), ""
        while os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(LOOK)
            broken = self._limits.broken_by(running.pid, folder, time.monotonic() - began)
            if broken or is_cancelled():
                self.close()
                return None, broken
        self.close()
        return running.returncode, ""

    def _included(self) -> list[str]:
        """Files of the user that the program is made of: those that the compiler noted in the source's folder."""
        try:
            noted = (self._scratch / "program.d").read_text(encoding="utf-8").partition(":")[2]
        except OSError:
            return []
        folder = Path(self._source).resolve().parent
        paths = {Path(word).resolve() for word in noted.replace("\\\n", " ").split()}
        return sorted(str(path) for path in paths if path.is_relative_to(folder))

    def _problem(self, folder: Path, code: int | None, broken: str) -> Problem | None:
        """The limit, the compiler's first error, or the end of the program."""
        if broken:
            return Problem(broken)
        output = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
        error = _ERROR.search(output)
        if error is not None:
            return Problem(error["text"], os.path.realpath(error["file"]), int(error["line"]))
        if not (self._scratch / "program").exists():
            said = [line for line in output.splitlines() if "undefined reference" in line] or output.splitlines()
            return Problem(f"The program cannot be linked: {said[0] if said else 'the compiler says nothing'}"[:1000])
        return exit_problem(code)
