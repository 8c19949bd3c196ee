"""Python codelets: the vertex types of a class, module or path, and classes by name for executables that are saved."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from simulator.base.errors import file_load_error, graph_object_load_error, poplar_error
from simulator.codelets.vertex import MultiVertex, SupervisorVertex, Vertex, vertex_type
from simulator.graph.vertices import VertexType

_BASES = (Vertex, SupervisorVertex, MultiVertex)
_MODULES: dict[Path, ModuleType] = {}


def vertex_types_of(source: Any) -> list[VertexType]:
    """The vertex types of a codelet class, a module, or a path to a module.

    Raises `file_load_error` for files that are missing or fail to import, and
    `graph_object_load_error` for sources without codelets."""
    if inspect.isclass(source) and issubclass(source, Vertex):
        return [vertex_type(source)]
    module = source if isinstance(source, ModuleType) else load_module(source)
    classes = [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, Vertex) and c not in _BASES]
    own = [c for c in classes if c.__module__ == module.__name__ and "compute" in dir(c)]
    if not own:
        raise graph_object_load_error(
            f"{module.__name__} defines no codelets; a codelet is a class derived from Vertex."
        )
    return [vertex_type(c) for c in own]


def load_module(source: Any) -> ModuleType:
    """The module of a Python file, imported once."""
    if not isinstance(source, (str, Path)):
        raise graph_object_load_error(f"{source!r} is not a codelet class, a module or a path.")
    path = Path(source).expanduser()
    if not path.is_file():
        raise file_load_error(f"Codelet file '{source}' does not exist.")
    path = path.resolve()
    if path not in _MODULES:
        _MODULES[path] = _import(path)
    return _MODULES[path]


def _import(path: Path) -> ModuleType:
    name = f"popvision_codelets_{path.stem}_{len(_MODULES)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise file_load_error(f"Codelet file '{path}' cannot be imported: {type(error).__name__}: {error}.") from error
    return module


# ---- by name, for executables that are saved ------------------------------------------------------------------------


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
    """The class of a `codelet_name`. Its source is compared before any of it is imported.

    Raises poplar_error where it is not there any more or has changed since the executable was saved."""
    loaded = sys.modules.get(module)
    path = _file_of(module, file, loaded)
    if path is None or _digest(path, qualname) != digest:
        changed = "is not there any more" if path is None else "has changed since the executable was saved"
        raise poplar_error(
            f"Codelet {qualname} of module {module} {changed}; compile the program again, or put its file back."
        )
    there = loaded is not None and hasattr(loaded, qualname.split(".")[0])
    member: Any = loaded if there else _module_again(module, path)
    for part in qualname.split("."):
        member = getattr(member, part)
    if not isinstance(member, type) or not issubclass(member, Vertex):
        raise poplar_error(f"{qualname} of module {module} is no codelet; compile the program again.")
    return member


def _file_of(module: str, file: str, loaded: Any) -> Path | None:
    """The file that holds a module here: that of the loaded module, the one that importing would find, or
    the one that was saved."""
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


def _module_again(module: str, path: Path) -> Any:
    if module != "__main__" and importlib.util.find_spec(module) is not None:
        return importlib.import_module(module)
    return load_module(path)


def _digest(path: Path, qualname: str) -> str:
    """The digest of the source of one class in a file; "" where the file has none."""
    try:
        text = path.read_text()
        nodes: list[Any] = list(ast.parse(text).body)
    except (OSError, ValueError, SyntaxError):
        return ""
    node: Any = None
    for part in qualname.split("."):
        node = next((n for n in nodes if isinstance(n, ast.ClassDef) and n.name == part), None)
        if node is None:
            return ""
        nodes = list(node.body)
    return hashlib.sha256((ast.get_source_segment(text, node) or "").encode()).hexdigest()
