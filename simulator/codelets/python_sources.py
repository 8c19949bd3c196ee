"""Python codelets by name: where a class is, and a digest of its source, for executables that are saved."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from simulator.base.errors import poplar_error
from simulator.codelets.sources import load_module
from simulator.codelets.vertex import Vertex


def codelet_name(cls: type) -> tuple[str, str, str, str]:
    """(module, name in it, file, digest of the class's source). Raises poplar_error for a class that cannot be found
    again: one made inside a function, or without a file."""
    if "<locals>" in cls.__qualname__:
        raise poplar_error(
            f"The executable cannot be saved: codelet {cls.__qualname__} is defined inside a function, where no "
            "other program could find it; define it at the top of a module."
        )
    try:
        path = inspect.getsourcefile(cls)
    except TypeError:
        path = None
    if path is None:
        raise poplar_error(f"The executable cannot be saved: codelet {cls.__qualname__} has no source file.")
    return cls.__module__, cls.__qualname__, str(Path(path).resolve()), _digest(Path(path), cls.__qualname__)


def codelet_class(module: str, qualname: str, file: str, digest: str) -> type:
    """The class again. Its source is compared before any of it is imported.

    Raises poplar_error where it is not there any more or has changed since the executable was saved."""
    loaded = sys.modules.get(module)
    path = _file_of(module, file, loaded)
    if path is None or _digest(path, qualname) != digest:
        changed = "is not there any more" if path is None else "has changed since the executable was saved"
        raise poplar_error(
            f"Codelet {qualname} of module {module} {changed}; compile the program again, or put its file back."
        )
    found: Any = loaded if loaded is not None and hasattr(loaded, qualname.split(".")[0]) else _imported(module, path)
    for part in qualname.split("."):
        found = getattr(found, part)
    if not isinstance(found, type) or not issubclass(found, Vertex):
        raise poplar_error(f"{qualname} of module {module} is no codelet; compile the program again.")
    return found


def _file_of(module: str, file: str, loaded: Any) -> Path | None:
    """The file that holds a module here: the loaded one's, the one that importing would find, or the one of then."""
    if loaded is not None and getattr(loaded, "__file__", None):
        return Path(loaded.__file__)
    if module != "__main__" and not module.startswith("popvision_codelets_"):
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.origin and Path(spec.origin).suffix == ".py":
            return Path(spec.origin)
    return Path(file) if Path(file).is_file() else None


def _imported(module: str, path: Path) -> Any:
    if module != "__main__" and importlib.util.find_spec(module) is not None:
        return importlib.import_module(module)
    return load_module(path)


def _digest(path: Path, qualname: str) -> str:
    """Of the text of one class in a file; "" where the file has none."""
    try:
        text = path.read_text()
        nodes: list[Any] = list(ast.parse(text).body)
    except (OSError, ValueError, SyntaxError):
        return ""
    found: Any = None
    for part in qualname.split("."):
        found = next((n for n in nodes if isinstance(n, ast.ClassDef) and n.name == part), None)
        if found is None:
            return ""
        nodes = list(found.body)
    return hashlib.sha256((ast.get_source_segment(text, found) or "").encode()).hexdigest()
