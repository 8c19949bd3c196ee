"""The compiler of the host, called without a shell, and the cache of its results.

Results are cached by content: preprocessed text, flags, compiler. Entries appear by a rename, so that two processes
may fill one cache; an entry that is gone or broken is made again, once.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from simulator.base.errors import graph_program_compilation_error

INCLUDE = Path(__file__).parent.parent / "include"
HOST = Path(__file__).parent.parent / "host"

#: Part of every key; raised when the results for the same text change.
_FORMAT = "10"
#: Prefixes of permitted flags: of compilation, definitions and paths of headers.
_FLAGS = ("-D", "-U", "-I", "-O", "-g", "-W", "-f", "-m", "-std=", "-include", "-isystem", "-iquote", "-idirafter")
_WHOLE_FLAGS = ("-w", "-ansi", "-pedantic", "-pedantic-errors", "-pthread", "-nostdinc", "-nostdinc++")
#: Refused all the same: flags for other results than an object file, other files, programs or libraries.
_REFUSED = (
    "-Wl,",
    "-Wa,",
    "-Wp,",
    "-flto",
    "-fwhole-program",
    "-fplugin",
    "-fsyntax-only",
    "-fdump",
    "-fsanitize",
    "-fprofile",
    "-ftest-coverage",
    "-fcallgraph",
    "-fstack-usage",
    "-fpch",
    "-fmodules",
    "-fdirectives-only",
    "-fpreprocessed",
    "-fuse-ld",
    "-gsplit-dwarf",
    "-m32",
    "-mx32",
    "-m16",
)
#: Flags whose value may be the next argument.
_APART = ("-D", "-I", "-U", "-include", "-isystem", "-iquote", "-idirafter")


@dataclass(frozen=True)
class Compiler:
    path: str
    version: str  #: its path and first line of --version

    def run(self, arguments: Sequence[str]) -> tuple[int, str]:
        """(exit code, messages)."""
        environment = {**without_host_paths(os.environ), "LC_ALL": "C", "GCC_COLORS": ""}
        done = subprocess.run(
            [self.path, *arguments], capture_output=True, check=False, stdin=subprocess.DEVNULL, env=environment
        )
        return done.returncode, (done.stderr + done.stdout).decode(errors="replace")


#: What enable.sh sets for C++ programs of the host, and a file by which one of its folders is known.
_HOST_PATHS = {
    "CPATH": ("poplar/Graph.hpp", "poplar/Vertex.hpp"),
    "LIBRARY_PATH": ("libpoplar.so",),
    "LD_LIBRARY_PATH": ("libpoplar.so",),
}


def without_host_paths(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the folders of headers and libraries of host programs: codelets have their own."""
    cleared = dict(environment)
    for variable, marks in _HOST_PATHS.items():
        folders = [folder for folder in cleared.pop(variable, "").split(os.pathsep) if folder]
        kept = [folder for folder in folders if not any(Path(folder, mark).exists() for mark in marks)]
        if kept:
            cleared[variable] = os.pathsep.join(kept)
    return cleared


def compiler() -> Compiler:
    """The compiler of `POPVISION_CXX`, else g++. Raises graph_program_compilation_error when there is none."""
    name = os.environ.get("POPVISION_CXX") or "g++"
    path = shutil.which(name)
    if path is None:
        raise graph_program_compilation_error(
            f"C and C++ codelets need the compiler '{name}', which is not installed; on Debian: apt-get install g++."
        )
    return Compiler(path, _version(path))


@functools.lru_cache(maxsize=4)
def _version(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return f"{path} {done.stdout.decode(errors='replace').splitlines()[0] if done.stdout else ''}"


def check_flags(flags: Sequence[str]) -> None:
    """Raises graph_program_compilation_error for flags that do not only affect compilation."""
    for previous, flag in zip(["", *flags], flags, strict=False):
        if previous in _APART:
            continue
        known = flag in _WHOLE_FLAGS or flag.startswith(_FLAGS)
        if not known or flag.startswith(_REFUSED):
            raise graph_program_compilation_error(
                f"Compile flag '{flag}' is not permitted for codelets; give only options of compilation, such as -O3, "
                "-g and -D."
            )
    if flags and flags[-1] in _APART:
        raise graph_program_compilation_error(f"Compile flag '{flags[-1]}' at the end lacks its value.")


def key_of(*parts: str | bytes) -> str:
    """The digest of parts, each with its length."""
    digest = hashlib.sha256(_FORMAT.encode())
    for part in parts:
        raw = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()[:40]


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/popvision/codelets`; a temporary folder where that cannot be written."""
    return _folder(os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))


@functools.lru_cache(maxsize=4)
def _folder(root: str) -> Path:
    folder = Path(root) / "popvision" / "codelets"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="popvision_codelets_"))
    return folder


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """The file `name` of the cache; when it is not there, `make` writes it under another name first."""
    path = cache_folder() / name
    if not path.is_file():
        with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="making_") as folder:
            made = Path(folder) / name
            make(made)
            made.replace(path)
    return path


class DamagedCacheError(graph_program_compilation_error):
    """An entry of the cache cannot be read, though it was made just now."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The cache of compiled codelets gives back a damaged '{name}', though it was written just now; free space "
            f"on the disk of {cache_folder()}, or set XDG_CACHE_HOME to another folder."
        )


Description = TypeVar("Description")


def cached_description(name: str, make: Callable[[Path], None], read: Callable[[Any], Description]) -> Description:
    """What `read` makes of the JSON file `name` of the cache; a file that it cannot read is made again, once.

    Raises DamagedCacheError where that one cannot be read either."""
    for _ in range(2):
        path = cached(name, make)
        try:
            return read(json.loads(path.read_text()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            path.unlink(missing_ok=True)
    raise DamagedCacheError(name)
