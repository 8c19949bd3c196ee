"""Which tests a fault meets, and in which order: those of its room first, the likeliest of them before all others.

A test file is likely when it uses words of the faulty file that few test files use: names of its functions and classes;
for scripts, identifiers of elements.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.faults.fault_list import Fault

#: Test files that are likeliest, of a room and of all.
LIKELIEST = 6
#: Tests of rooms whose folder has another name, or none.
_FOLDERS = {
    "simulator/base": ("tests/engine", "tests/poplar", "tests/compiler"),
    "simulator/graph": ("tests/poplar", "tests/codelets"),
    "simulator/building": ("tests/poplar", "tests/runtime"),
    "popvision": ("tests/test_kept.py", "tests/opened"),
    "popvision/answers": ("tests/agents", "tests/cli"),
    "popvision/export": ("tests/cli", "tests/formats", "tests/opened"),
    "webapp/catalogue": ("tests/catalogue", "tests/webapp"),
    "webapp/watched": ("tests/watch", "tests/webapp"),
}
#: Tests of pages whose names have another word than the folder of the scripts.
_PAGES = {
    "assets": ("test_shell", "test_addresses"),
    "shell": ("test_shell", "test_report_list", "test_addresses"),
    "shared": ("graph_analyser/test_plot", "graph_analyser/test_execution"),
    "timeline": ("system_analyser/", "test_timeline"),
    "programs": ("graph_analyser/test_program",),
    "source_code": ("graph_analyser/test_source",),
    "watched": ("test_watch", "test_growing"),
}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{3,}")


class Command(NamedTuple):
    """One command of CI."""

    name: str
    environment: str
    left_out: tuple[str, ...]  #: marks of tests that it does not run
    folder: str  #: where its tests stand


# `full` was the mark of long tests before issue 30
_LONG = ("long", "full", "fuzz")
TEST = Command("make test", ".venv", (*_LONG, "browser"), "tests")
PAGES = Command("make test-pages", ".venv", _LONG, "tests/browser")
TORCH = Command("make test-frontends", ".venv-frontends", _LONG, "tests/frontends")
TENSORFLOW = Command("make test-frontends", ".venv-tensorflow", _LONG, "tests/frontends/tensorflow")
COMMANDS = (TEST, PAGES, TORCH, TENSORFLOW)


def commands_of(fault: Fault) -> tuple[Command, ...]:
    """The commands with tests of a fault's room."""
    if fault.room.startswith("webapp/assets"):
        return (TEST, PAGES)
    if fault.room == "simulator/frontends":
        return (TENSORFLOW if "/tensorflow/" in fault.file else TORCH,)
    return (TEST,)


class TestFiles:
    """The test files of a tree, with the words they use."""

    __test__ = False

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        files = sorted((tree / "tests").rglob("test_*.py"))
        self.words = {str(file.relative_to(tree)): set(_WORD.findall(file.read_text("utf-8"))) for file in files}
        self._users = Counter(word for words in self.words.values() for word in words)

    def of_room(self, fault: Fault, command: Command) -> list[str]:
        """Test files of a room that the command runs, the likeliest first."""
        package, _, room = fault.room.partition("/")
        files = [file for file in self.words if file.startswith(command.folder)]
        if command is TEST:
            usual = "tests/javascript" if room.startswith("assets") else "tests/webapp"
            folders = _FOLDERS.get(fault.room, (usual,) if package == "webapp" else (f"tests/{room}",))
            files = [file for file in files if file.startswith(folders)]
        elif command is TORCH:
            files = [file for file in files if not file.startswith(TENSORFLOW.folder)]
        elif command is PAGES:
            scripts = room.rpartition("/")[2]
            names = _PAGES.get(scripts, (f"test_{scripts}",))
            files = [file for file in files if any(name in file for name in names)]
        return self._by_likeliness(fault, files)

    def elsewhere(self, fault: Fault, command: Command) -> list[str]:
        """The other test files of a command, the likeliest first."""
        room = set(self.of_room(fault, command)) if command in commands_of(fault) else set()
        files = [file for file in self.words if file.startswith(command.folder) and file not in room]
        if command is TEST:
            files = [file for file in files if not file.startswith((PAGES.folder, TORCH.folder))]
        return self._by_likeliness(fault, files)

    def _by_likeliness(self, fault: Fault, files: Iterable[str]) -> list[str]:
        """Each file of two tests names of ours: one over the number of files that use the word."""
        words = _words(fault, (self._tree / fault.file).read_text("utf-8"))
        weight = {word: 1 / self._users[word] for word in words if word in self._users}
        score = {file: sum(weight.get(word, 0.0) for word in self.words[file]) for file in files}
        return sorted(score, key=lambda file: (-score[file], file))


def _words(fault: Fault, source: str) -> set[str]:
    """What a file defines and how it is called."""
    own = {Path(fault.file).stem, fault.room.rpartition("/")[2]}
    if fault.file.endswith(".js"):
        return own | set(_WORD.findall(source))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return own | {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, kinds) and len(node.name) > 3}
