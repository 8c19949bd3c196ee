"""What a report depends on besides its options: the files of the program, and what runs it.

The files of a program are those that its import statements reach in its own folder, by name; modules imported by
computed names, codelets and data are named by the user ("files")."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import platform
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Packages whose version may change a report.
_PACKAGES = ("numpy", "torch", "tensorflow-cpu")


def hash_files(program: Path, folder: Path, patterns: Sequence[str] = ()) -> dict[str, str]:
    """Path -> SHA-256 of the contents: of the program, the modules of its folder that it imports, directly or through
    one another, and the files that `patterns` match in `folder`. Paths below the program's folder are
    relative to it.

    Raises FileNotFoundError, one sentence, for a pattern that matches nothing."""
    root = program.parent
    files = set(_import_closure(program))
    for pattern in patterns:
        matches = [path for path in _matches(folder, pattern) if path.is_file()]
        if not matches:
            raise FileNotFoundError(f"files = {pattern!r} matches no file in {folder}.")
        files.update(matches)
    return {_name(path, root): _sha256(path) for path in sorted(files)}


def _matches(folder: Path, pattern: str) -> list[Path]:
    path = Path(pattern)
    return [path] if path.is_absolute() else sorted(folder.glob(pattern))


def _name(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _import_closure(program: Path) -> set[Path]:
    """The program and the modules of its folder that it imports."""
    root, waiting, reached = program.parent, [program], {program}
    while waiting:
        path = waiting.pop()
        for name in _imported_names(path):
            for file in _module_files(root, path.parent, name):
                if file not in reached:
                    reached.add(file)
                    waiting.append(file)
    return reached


def _imported_names(path: Path) -> Iterator[str]:
    """Dotted names in import statements, relative ones with a dot in front; none from a file that is not Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            before = "." * node.level + (node.module or "")
            yield before
            yield from (f"{before}.{alias.name}" if node.module else before + alias.name for alias in node.names)


def _module_files(root: Path, beside: Path, name: str) -> Iterator[Path]:
    """The files that an import of `name` runs, where they lie below `root`."""
    level = len(name) - len(name.lstrip("."))
    start = root if not level else beside.joinpath(*[".."] * (level - 1)).resolve()
    folder = start
    for part in name.strip(".").split("."):
        if not part:
            return
        module, package = folder / f"{part}.py", folder / part / "__init__.py"
        if package.is_file():
            yield package
        elif module.is_file():
            yield module
        folder = folder / part


def producer_hash() -> dict[str, str]:
    """Versions of Python and of packages that change reports, and a hash of the sources of the simulator and of what
    writes its files."""
    producer = {"python": platform.python_version()}
    for package in ("popvision", *_PACKAGES):
        try:
            producer[package] = version(package)
        except PackageNotFoundError:
            pass
    for name, root in _source_folders().items():
        total = hashlib.sha256()
        for path in _sources(root):
            total.update(f"{path.relative_to(root)}\0".encode())
            total.update(path.read_bytes())
        producer[name] = total.hexdigest()[:16]
    return producer


class PlannedFiles:
    """Whether what points depend on is still what their digests were made of. Files are hashed again only when time or
    size of one has changed: a look costs about a millisecond."""

    def __init__(self) -> None:
        self._verified: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        self._sources = [path for root in _source_folders().values() for path in _sources(root)]

    def difference(self, program: Path, files: Mapping[str, str], producer: Mapping[str, str]) -> str:
        """The first file or part of the producer that is not as planned, "" when all are."""
        paths = [program.parent / name for name in files]
        key = tuple(map(str, paths))
        now = [_time_and_size(path) for path in (*paths, *self._sources)]
        if self._verified.get(key) == now:
            return ""
        for path, planned in zip(paths, files.values(), strict=True):
            if not path.is_file() or _sha256(path) != planned:
                return str(path)
        current = producer_hash()
        for name in {**producer, **current}:
            if current.get(name) != producer.get(name):
                return f"{name} ({producer.get(name)}, now {current.get(name)})"
        self._verified[key] = now
        return ""


def _time_and_size(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return (0, -1)
    return state.st_mtime_ns, state.st_size


@cache
def _source_folders() -> dict[str, Path]:
    """Name in `producer_hash` -> folder of the sources."""
    folders = {}
    for package in ("simulator", "popvision"):
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec else []:
            folders[f"{package} sources"] = Path(place) if package == "simulator" else Path(place, "formats")
    return folders


def _sources(root: Path) -> list[Path]:
    return sorted(each for each in root.rglob("*") if each.suffix in (".py", ".capnp", ".h", ".hpp", ".cpp"))
