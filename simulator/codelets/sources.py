"""From what `Graph.addCodelets` is given to vertex types."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from simulator.base.errors import file_load_error, graph_object_load_error
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
