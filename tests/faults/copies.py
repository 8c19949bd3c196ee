"""A copy of a commit, with environments of its own, in which faults are planted and tests run.

The copy is a clone that shares the objects of this repository. Each of its environments is a venv whose path leads to
the copy first and then to the packages of an environment here; so children of tests import the copy too, wherever they
start. Between two runs everything that a test left goes.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.faults.draw import PACKAGES

#: Seconds of one test, and of one run, after which it counts as one that does not end.
TEST_LIMIT, RUN_LIMIT = 120, 3600
#: Memory of one process: a fault may well fill all there is.
MOST_BYTES = 8 << 30
_NOTER = """
import os
def _note(name):
    with open(os.environ["FAILED_TESTS"], "a", encoding="utf-8") as file:
        file.write(name + "\\n")
def pytest_runtest_logreport(report):
    if report.failed:
        _note(report.nodeid)
def pytest_collectreport(report):
    if report.failed:
        _note(report.nodeid or "collection")
"""
#: Exit codes of pytest.
TESTS_FAILED, NOT_COLLECTED, INTERNAL_ERROR, NOT_UNDERSTOOD, NONE_CHOSEN = 1, 2, 3, 4, 5


class Outcome(NamedTuple):
    """What became of a run."""

    code: int  #: pytest's exit code, negative after RUN_LIMIT
    failed: list[str]  #: node ids
    seconds: float  #: processor time, children included

    @property
    def green(self) -> bool:
        return self.code in (0, NOT_UNDERSTOOD, NONE_CHOSEN)


class Copy:
    """One commit of the repository at `root`, below `folder`."""

    def __init__(self, root: Path, commit: str, folder: Path) -> None:
        self.commit, self.path, self._room = commit, folder / "tree", folder / "t"
        self._planted: dict[Path, str] = {}
        if not self.path.exists():
            subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", root, self.path], check=True)
        self._git("checkout", "-q", "-f", commit)
        settings = tomllib.loads(self.source("pyproject.toml") or "")
        marks = settings.get("tool", {}).get("pytest", {}).get("ini_options", {}).get("markers", [])
        self._marks = {mark.partition(":")[0] for mark in marks}
        self.clean()

    def add_environment(self, name: str, python: Path) -> None:
        """An environment with the packages of another one. RuntimeError if it would not import the copy."""
        home = self.path / name
        if not home.exists():
            venv.create(home, symlinks=True)
            origin = python.parent.parent
            (packages,) = origin.glob("lib/python*/site-packages")
            (site,) = home.glob("lib/python*/site-packages")
            (site / "copy.pth").write_text(f"{self.path}\n{packages}\n", encoding="utf-8")
            (site / "note_failed_tests.py").write_text(_NOTER, encoding="utf-8")
            for script in (origin / "bin").iterdir():
                text = script.read_bytes() if script.is_file() and not script.is_symlink() else b""
                if text.startswith(b"#!") and not (home / "bin" / script.name).exists():
                    made = home / "bin" / script.name
                    made.write_bytes(text.replace(os.fsencode(origin), os.fsencode(home)))
                    made.chmod(0o755)
        ask = "import importlib.util as u, sys; [print(u.find_spec(n).origin) for n in sys.argv[1:] if u.find_spec(n)]"
        command = [home / "bin/python", "-P", "-c", ask, *PACKAGES]
        answer = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout.split()
        strange = [file for file in answer if not Path(file).is_relative_to(self.path)]
        if strange or not answer:
            raise RuntimeError(f"{home} imports {', '.join(strange) or 'nothing'}; {self.path} is expected.")

    def source(self, file: str) -> str:
        """The text of a file of the commit; "" where there is none."""
        path = self.path / file
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def plant(self, file: str, text: str) -> None:
        """Another text for a file, until `clean`."""
        path = self.path / file
        path.write_text(text, encoding="utf-8")
        _forget_compiled(path)
        self._planted[path] = text

    def clean(self) -> None:
        """Take out what was planted, and all files that tests left."""
        self._git("checkout", "-q", "-f", "HEAD", "--", ".")
        for path in self._planted:
            _forget_compiled(path)
        self._planted.clear()
        # what Python compiled is kept for the next run: it knows its sources by time and size
        self._git("clean", "-fdxq", "-e", ".venv*", "-e", "__pycache__")
        shutil.rmtree(self._room, ignore_errors=True)
        self._room.mkdir(parents=True)

    def run(self, environment: str, left_out: Iterable[str], tests: list[str], first_only: bool) -> Outcome:
        """Run tests without the marks `left_out`; with `first_only` stop at the first failure.

        RuntimeError if pytest did not understand its words; a test that is not there (any more) is no such error.
        """
        failed = self._room / "failed"
        failed.unlink(missing_ok=True)
        command = [self.path / environment / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        chosen = " and ".join(f"not {mark}" for mark in sorted(self._marks.intersection(left_out)))
        command += ["-p", "note_failed_tests", "-m", chosen, "-x" if first_only else "--continue-on-collection-errors"]
        command += ["--timeout", str(TEST_LIMIT), *tests]
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        variables |= {"TMPDIR": str(self._room), "XDG_CACHE_HOME": str(self._room), "FAILED_TESTS": str(failed)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (self._room / "output").open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.path,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_limit_memory,
            )
            try:
                code = process.wait(RUN_LIMIT)
            except subprocess.TimeoutExpired:
                code = -1
            finally:
                _kill(process.pid)  # what a test started and left, too
                process.wait()
        text = (self._room / "output").read_text(encoding="utf-8", errors="replace")
        if code == NOT_UNDERSTOOD and "while loading conftest" in text:
            code = NOT_COLLECTED
        if code in (NOT_UNDERSTOOD, INTERNAL_ERROR) and "ERROR: not found:" not in text:
            raise RuntimeError(f"{' '.join(map(str, command))}: {text[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        names = failed.read_text(encoding="utf-8").splitlines() if failed.exists() else []
        return Outcome(code, list(dict.fromkeys(names)), seconds)

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.path, check=True)


def _forget_compiled(path: Path) -> None:
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
