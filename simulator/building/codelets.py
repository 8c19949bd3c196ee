"""Register codelets: Python classes, C and C++ sources, our own objects, descriptions in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import IOBase, TextIOBase
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from simulator.base.errors import graph_object_load_error, unknown_vertex_type
from simulator.base.target import TargetType
from simulator.base.types import CodeletFileType
from simulator.building.state import GraphState
from simulator.codelets.compiled.library import library_of
from simulator.codelets.compiled.placeholders import placeholder_source
from simulator.codelets.compiled.source import stream_text
from simulator.codelets.sources import vertex_types_of
from simulator.graph.store import GraphStore
from simulator.graph.vertices import FieldSpec, VertexType

#: Targets that sources are compiled for; others (the CPU) take the second generation's layouts.
_ARCHITECTURES = ("ipu1", "ipu2", "ipu21")


Stream = IO[Any] | IOBase
Output = IO[str] | TextIOBase
#: A path, a Python codelet class, a module of them, or a type of vertex that a library made.
Codelets = str | Path | type | ModuleType | VertexType


def add_codelets(state: GraphState, arguments: Sequence[Any], names: Mapping[str, Any]) -> bool:
    """`Graph.addCodelets`."""
    sources, kind, flags, output, target = _arguments(arguments, names)
    with _all_or_none(state.store):
        added = [_add_source(state, one, kind, flags, output, target) for one in sources]
    return all(added)


def add_placeholders(state: GraphState, stream: Any, target: str) -> None:
    """`Graph.addCodeletPlaceholder`."""
    source = placeholder_source(stream_text(stream))
    with _all_or_none(state.store):
        for type_ in library_of(state.store).add_text(source, "codelet placeholder", _architecture(state, target)):
            _register(state.store, type_)


@contextmanager
def _all_or_none(store: GraphStore) -> Iterator[None]:
    """Leave the codelets of a graph as they were where adding some of them fails."""
    types, supplied, library = dict(store.vertex_types), dict(store.supplied), store.codelets
    sources = None if library is None else library.copy()
    try:
        yield
    except BaseException:
        store.vertex_types, store.supplied, store.codelets = types, supplied, library
        if library is not None:
            library.become(sources)
        raise


def type_of(store: GraphStore, name: str | VertexType) -> VertexType:
    """The vertex type of a name, or the one given. Raises `unknown_vertex_type`."""
    if isinstance(name, VertexType):
        return name
    try:
        return store.vertex_types[name]
    except (KeyError, TypeError):
        raise unknown_vertex_type(
            f"'{name}' is not a vertex type of this graph; register its codelet with addCodelets."
        ) from None


def _architecture(state: GraphState, target: str = "") -> str:
    own = state.target.getTargetArchString()
    return next((name for name in (target, own) if name in _ARCHITECTURES), "ipu2")


def _add_source(
    state: GraphState, source: Any, kind: CodeletFileType, flags: str, output: IO[str] | None, target: str
) -> bool:
    """Whether the vertex types of a source were added."""
    store, library, architecture = state.store, library_of(state.store), _architecture(state)
    for_ipu = state.target.getTargetType() is TargetType.IPU
    if isinstance(source, VertexType):
        return _register(store, source)
    is_path = isinstance(source, str | Path)
    if is_path and (kind is not CodeletFileType.Auto or Path(source).suffix != ".py"):
        types = library.add_file(Path(source), kind, flags, output, target, architecture, for_ipu)
        return types is not None and all([_register(store, t) for t in types])  # noqa: C419 (all are registered)
    if is_path or isinstance(source, type | ModuleType):
        return any([_register(store, t) for t in vertex_types_of(source)])  # noqa: C419 (all are registered)
    added = [_register(store, t) for t in library.add_stream(source, kind, flags, output, architecture, for_ipu)]
    return all(added)


def _register(store: GraphStore, type_: VertexType) -> bool:
    """Whether the type is new, or the code of a placeholder. Raises `graph_object_load_error` for another codelet of a
    registered name."""
    types = store.vertex_types
    known = types.get(type_.name)
    if known is None:
        types[type_.name] = type_
        return True
    same = known.kind == type_.kind and {f.name: _kind_of(f) for f in known.fields} == {
        f.name: _kind_of(f) for f in type_.fields
    }
    if same and known.awaits_code and not type_.awaits_code:
        # Fields and constraints are those of the description, as vertices may have been added already.
        store.supplied[type_.name] = types[type_.name] = _with_code(known, type_)
        return True
    if same and type_.awaits_code:
        return False  # declared again as external: the code is that of `known`, or still to come
    if not same or known.compiled is not None or type_.compiled is not None:
        raise graph_object_load_error(f"Another codelet is registered as '{type_.name}'; rename one of the two.")
    return False


def _kind_of(field: FieldSpec) -> tuple[Any, ...]:
    return field.kind, field.direction, field.type


def _with_code(description: VertexType, code: VertexType) -> VertexType:
    """The type of a placeholder with the code of another one."""
    if code.compiled is not None:
        return replace(code, apart=description.apart or code.apart, constrained=True)
    return replace(code, fields=description.fields, apart=description.apart, constrained=True)


def _arguments(
    args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Any], CodeletFileType, str, IO[str] | None, str]:
    """(sources, type, flags, output, target) of any overload: told apart by the types of arguments."""
    names = dict(named)
    rest = list(args)
    for name in ("src", "xs", "stream"):
        if name in names:
            rest.insert(0, names.pop(name))
            break
    if not rest:
        raise graph_object_load_error("addCodelets needs a path, a stream, a class, or a list of them.")
    source = rest.pop(0)
    kind: CodeletFileType = names.pop("type", CodeletFileType.Auto)
    output = names.pop("compileOutput", None)
    texts = []
    for value in rest:
        if isinstance(value, CodeletFileType):
            kind = value
        elif isinstance(value, str):
            texts.append(value)
        elif hasattr(value, "write"):
            output = value
        else:
            raise graph_object_load_error(
                f"addCodelets: {value!r} is no CodeletFileType, no flags and no stream for the compiler's output."
            )
    flags = names.pop("compileFlags", None)
    if flags is None:
        flags = texts.pop(0) if texts else ""
    target = names.pop("targetName", None)
    if target is None:
        target = texts.pop(0) if texts else ""
    if names or texts:
        raise graph_object_load_error(f"addCodelets takes no argument {[*names, *texts]!r}.")
    return (list(source) if isinstance(source, list | tuple) else [source]), kind, flags, output, target
