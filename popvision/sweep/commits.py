"""Commits of the program's repository, each unpacked once below the sweep's folder (`git archive`), which leaves the
repository and its worktrees as they are.

Where PYTHONPATH names folders of the repository, a point of a commit has those of the commit."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from popvision.formats.errors import FormatError
from popvision.formats.replacing import replacing

T = TypeVar("T")


@dataclass(frozen=True)
class Checkout:
    """The program of one commit, the folder it runs in, and the variables that lead to the commit's modules."""

    commit: str  #: full id
    time: int  #: of the committer, seconds since the epoch
    program: Path
    folder: Path
    environment: dict[str, str]


class Checkouts:
    """The commits of one repository below `where`."""

    def __init__(self, program: Path, folder: Path, where: Path) -> None:
        """Raises FormatError when the program lies in no repository."""
        self._program, self._folder, self._where = program, folder, where
        top = self._git("rev-parse", "--show-toplevel", problem=f"{program} lies in no git repository")
        self._root = Path(top.decode().strip()).resolve()
        self._by_name: dict[str, Checkout] = {}
        self._values: dict[str, object] = {}

    def once(self, commit: str, compute: Callable[[], T]) -> T:
        """The value for a commit, computed at the first call."""
        if commit not in self._values:
            self._values[commit] = compute()
        return self._values[commit]  # type: ignore[return-value]

    def checkout(self, name: str) -> Checkout:
        """The commit of a name, unpacked. Raises FormatError when there is none, or it lacks the program."""
        if name not in self._by_name:
            self._by_name[name] = self._make(name)
        return self._by_name[name]

    def _make(self, name: str) -> Checkout:
        question = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        commit = self._git(*question, problem=f"the repository {self._root} has no commit {name!r}").decode().strip()
        tree = self._where / commit[:12]
        if not tree.is_dir():
            self._unpack(commit, tree)
        time = int(self._git("show", "-s", "--format=%ct", commit, problem=f"the commit {commit} cannot be read"))
        program = tree / self._program.relative_to(self._root)
        if not program.is_file():
            raise FormatError(f"the commit {name!r} has no {self._program.relative_to(self._root)}.")
        folder = tree / self._folder.relative_to(self._root) if self._folder.is_relative_to(self._root) else tree
        return Checkout(commit, time, program, folder if folder.is_dir() else tree, self._environment(tree))

    def _unpack(self, commit: str, tree: Path) -> None:
        archive = self._git("archive", "--format=tar", commit, problem=f"the commit {commit} cannot be read", root=True)
        self._where.mkdir(parents=True, exist_ok=True)
        with replacing(tree) as temporary:
            try:
                with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                    tar.extractall(temporary, filter="data")
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise

    def _environment(self, tree: Path) -> dict[str, str]:
        entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        moved = [self._moved(Path(entry), tree) for entry in entries]
        return {"PYTHONPATH": os.pathsep.join(moved)} if moved != entries else {}

    def _moved(self, entry: Path, tree: Path) -> str:
        path = entry.resolve()
        return str(tree / path.relative_to(self._root)) if path.is_relative_to(self._root) else str(entry)

    def _git(self, *words: str, problem: str, root: bool = False) -> bytes:
        folder = self._root if root else self._program.parent
        try:
            done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
        except FileNotFoundError:
            raise FormatError("git is not installed; an axis of commits needs it.") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise FormatError(f"{problem}{f' ({said[-1]})' if said else ''}.")
        return done.stdout
