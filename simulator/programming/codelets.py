"""Registering codelets: Python classes, C and C++ sources, our own objects, descriptions in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import IOBase, TextIOBase
from pathlib import Path
from types import ModuleType
from typing import IO, Any, overload

from simulator.base.errors import graph_object_load_error
from simulator.base.types import CodeletFileType
from simulator.codelets.compiled.library import library_of
from simulator.codelets.compiled.placeholders import placeholder_source
from simulator.codelets.compiled.source import stream_text
from simulator.codelets.sources import vertex_types_of
from simulator.graph.vertices import VertexType
from simulator.programming.order import OrderMethods

#: Targets that sources are compiled for; others (the CPU) take the second generation's layouts.
_ARCHITECTURES = ("ipu1", "ipu2", "ipu21")


Stream = IO[Any] | IOBase
Output = IO[str] | TextIOBase
#: A path, a Python codelet class, a module of them, or a type of vertex that a library made.
Codelets = str | Path | type | ModuleType | VertexType


class CodeletMethods(OrderMethods):
    """The codelets of a graph."""

    @overload
    def addCodelets(
        self, src: Codelets, type: CodeletFileType = CodeletFileType.Auto, compileFlags: str = "", targetName: str = ""
    ) -> bool: ...
    @overload
    def addCodelets(
        self, src: Codelets, type: CodeletFileType, compileFlags: str, compileOutput: Output, targetName: str = ""
    ) -> bool: ...
    @overload
    def addCodelets(self, xs: Sequence[Any], compileFlags: str = "", targetName: str = "") -> bool: ...
    @overload
    def addCodelets(
        self,
        stream: Stream,
        compileFlags: str = "",
        type: CodeletFileType = CodeletFileType.CppSource,
        targetName: str = "",
    ) -> bool: ...
    @overload
    def addCodelets(
        self,
        stream: Stream,
        compileFlags: str,
        compileOutput: Output,
        type: CodeletFileType = CodeletFileType.CppSource,
        targetName: str = "",
    ) -> bool: ...
    def addCodelets(self, *args: Any, **named: Any) -> bool:
        """Register codelets.

        - `src`: a path to a C or C++ source, to an object of `popvision popc` (.gp) or to a Python module; or a Python
          codelet class, or a module of them.
        - `xs`: a list of these; symbols of one source may be used by any other, in any order.
        - `stream`: a text or binary stream that holds source text, C++ unless `type` says CSource.

        `type` tells the kind of a file whose suffix does not. `compileFlags`: further flags for the compiler, as on a
        command line. `compileOutput`: gets what the compiler prints, in place of standard error. `targetName`: the
        target to take from an object, in place of that of the graph. Sources are compiled with the compiler of this
        machine; symbols that they lack are looked for when an engine is built (`link_error`).

        Returns whether all were added: False where one had been added before. Raises `file_load_error` for missing
        files and unknown suffixes, `graph_program_compilation_error` for sources that do not compile, assembly, and a
        missing compiler, `graph_object_load_error` for objects of other tools, classes that are no vertices, a second
        vertex of a name, and a stream that was added before."""
        source, kind, flags, output, target = _arguments(args, named)
        added = [self._add_one(one, kind, flags, output, target) for one in source]
        return all(added)

    def addCodeletPlaceholder(self, stream: Any, targetName: str = "") -> None:
        """Register vertex types described in JSON: a list of {"name", "type": "Vertex" | "SupervisorVertex" |
        "MultiVertex", "fields": {name: type}, "constraints": [...]}.

        Their code is given by a source with a function `__runCodelet_NAME(vertex)`, by a C++ class or by a Python
        codelet of the same name and fields, all through addCodelets; an engine without it cannot be built
        (`link_error`). Raises `parse_error` for text that is no such list."""
        source = placeholder_source(stream_text(stream))
        for type_ in library_of(self.store).add_text(source, "codelet placeholder", self._architecture(targetName)):
            self._register(type_)

    def _architecture(self, target: str = "") -> str:
        own = self._target.getTargetArchString()
        return next((name for name in (target, own) if name in _ARCHITECTURES), "ipu2")

    def _add_one(self, source: Any, kind: CodeletFileType, flags: str, output: IO[str] | None, target: str) -> bool:
        library, architecture = library_of(self.store), self._architecture()
        if isinstance(source, VertexType):
            return self._register(source)
        is_path = isinstance(source, str | Path)
        if is_path and (kind is not CodeletFileType.Auto or Path(source).suffix != ".py"):
            found = library.add_file(Path(source), kind, flags, output, target, architecture)
            return found is not None and all([self._register(type_) for type_ in found])  # noqa: C419 (all are registered)
        if is_path or isinstance(source, type | ModuleType):
            return any([self._register(t) for t in vertex_types_of(source)])  # noqa: C419 (all are registered)
        added = [self._register(t) for t in library.add_stream(source, kind, flags, output, architecture)]
        return all(added)

    def _register(self, type_: VertexType) -> bool:
        """Whether the type is new, or the code of a placeholder."""
        types = self.store.vertex_types
        known = types.get(type_.name)
        if known is None:
            types[type_.name] = type_
            return True
        same = known.kind == type_.kind and {f.name: _kind_of(f) for f in known.fields} == {
            f.name: _kind_of(f) for f in type_.fields
        }
        if same and known.awaits_code and not type_.awaits_code:
            # Fields and constraints are those of the description, as vertices may have been added already.
            self.store.supplied[type_.name] = types[type_.name] = _supplied(known, type_)
            return True
        if same and type_.awaits_code and not known.awaits_code:
            return False
        if not same or known.compiled is not None or type_.compiled is not None:
            raise graph_object_load_error(f"Another codelet is registered as '{type_.name}'; rename one of the two.")
        return False


def _kind_of(field: Any) -> tuple[Any, ...]:
    return field.kind, field.direction, field.type


def _supplied(description: VertexType, code: VertexType) -> VertexType:
    """The type of a placeholder with the code of another one."""
    if code.compiled is not None:
        return replace(code, apart=description.apart or code.apart, constrained=True)
    return replace(code, fields=description.fields, apart=description.apart, constrained=True)


def _arguments(
    args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[list[Any], CodeletFileType, str, IO[str] | None, str]:
    """(sources, type, flags, output, target) of any overload: told apart by the types of arguments."""
    named = dict(named)
    rest = list(args)
    for name in ("src", "xs", "stream"):
        if name in named:
            rest.insert(0, named.pop(name))
            break
    if not rest:
        raise graph_object_load_error("addCodelets needs what to add: a path, a stream, a class, or a list of them.")
    source = rest.pop(0)
    kind: CodeletFileType = named.pop("type", CodeletFileType.Auto)
    output = named.pop("compileOutput", None)
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
    flags = named.pop("compileFlags", None)
    if flags is None:
        flags = texts.pop(0) if texts else ""
    target = named.pop("targetName", None)
    if target is None:
        target = texts.pop(0) if texts else ""
    if named or texts:
        raise graph_object_load_error(f"addCodelets takes no argument {[*named, *texts]!r}.")
    return (list(source) if isinstance(source, list | tuple) else [source]), kind, flags, output, target
