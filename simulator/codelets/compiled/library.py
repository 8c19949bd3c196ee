"""The compiled codelets of one graph: vertex types of the sources that were added, and the program of all of them.

Codelets may constrain the memory of their fields: `elem(*a) != elem(*b)`, `region(*a) != region(*b)`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from simulator.base.errors import (
    graph_object_load_error,
    graph_program_compilation_error,
    memory_elem_constraints_error,
)
from simulator.base.types import CodeletFileType
from simulator.codelets.compiled.counted_code import counted_code
from simulator.codelets.compiled.counted_costs import counted_costs
from simulator.codelets.compiled.counted_objects import counting_program
from simulator.codelets.compiled.cycle_counter import with_cycle_counter
from simulator.codelets.compiled.ipu_path import compiled_path, split_ipu_path
from simulator.codelets.compiled.linking import Program
from simulator.codelets.compiled.objects import read_object
from simulator.codelets.compiled.source import (
    CompilationFailed,
    file_type,
    preprocessed_file,
    preprocessed_text,
    refuse_assembly,
    stream_text,
)
from simulator.codelets.compiled.unit import Unit, called_symbol, unit_of
from simulator.codelets.counted_costs import or_guessed
from simulator.graph.vertices import CompiledClass, FieldSpec, VertexType, with_metadata_fields

if TYPE_CHECKING:
    from simulator.graph.store import GraphStore

_CONSTRAINT = re.compile(
    r"\s*(elem|region)\s*\(\s*\*{0,2}\s*(\w+)\s*\)\s*!=\s*(elem|region)\s*\(\s*\*{0,2}\s*(\w+)\s*\)\s*"
)

Pairs = tuple[tuple[str, str], ...]


def constrained(
    vertex: str, constraints: Sequence[str], fields: tuple[FieldSpec, ...]
) -> tuple[tuple[FieldSpec, ...], Pairs]:
    """(the fields, pairs of them whose data must lie in different memory elements). Of two fields that must lie in
    different regions the second becomes interleaved, unless one of them is.

    Raises memory_elem_constraints_error for text that is no constraint, names that are no fields, and what cannot be
    kept: a field apart from itself, two interleaved fields in different regions."""
    fields_by_name = {spec.name: spec for spec in fields}
    pairs = []
    for text in constraints:
        match = _CONSTRAINT.fullmatch(text)
        if match is None or match[1] != match[3]:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} is not of the form elem(*a) != elem(*b) or "
                "region(*a) != region(*b)."
            )
        one, other = match[2], match[4]
        for name in (one, other):
            if name not in fields_by_name:
                raise memory_elem_constraints_error(
                    f"Memory constraint '{text}' of {vertex} names '{name}', which is no field; its fields are "
                    f"{', '.join(fields_by_name)}."
                )
        if one == other:
            raise memory_elem_constraints_error(
                f"Memory constraint '{text}' of {vertex} cannot be met: a field cannot lie apart from itself."
            )
        if match[1] == "region":
            if fields_by_name[one].interleaved and fields_by_name[other].interleaved:
                raise memory_elem_constraints_error(
                    f"Memory constraint '{text}' of {vertex} cannot be met: both fields must be in interleaved memory."
                )
            if not fields_by_name[one].interleaved:
                fields_by_name[other] = replace(fields_by_name[other], interleaved=True)
        pairs.append((one, other))
    return tuple(fields_by_name.values()), tuple(pairs)


class CodeletLibrary:
    """Grows with each call of addCodelets; `program()` is the program of the sources so far."""

    def __init__(self) -> None:
        self._units: list[Unit] = []
        self._paths: set[Path] = set()
        self._texts: set[str] = set()

    def program(self, external: Mapping[str, str] | None = None) -> Program:
        """The program of all units so far. `external`: function that an entry calls -> function that is its code."""
        return Program(tuple(self._units), tuple(sorted((external or {}).items())))

    def copy(self) -> CodeletLibrary:
        """A library of the same sources, which grows on its own."""
        copied = CodeletLibrary()
        copied._units += self._units
        copied._paths |= self._paths
        copied._texts |= self._texts
        return copied

    def become(self, other: CodeletLibrary) -> None:
        """Take the sources of a copy, and no others; vertex types that refer to this library stay valid."""
        self._units, self._paths, self._texts = list(other._units), set(other._paths), set(other._texts)

    def add_file(
        self,
        path: Path,
        type_: CodeletFileType,
        flags: str,
        output: IO[str] | None,
        target: str,
        architecture: str,
        for_ipu: bool,
    ) -> list[VertexType] | None:
        """The vertex types of a file, None when it was added before. `for_ipu`: for hardware. Raises file_load_error,
        graph_program_compilation_error, graph_object_load_error."""
        path = path.expanduser()
        kind = file_type(path, type_)
        if path.resolve() in self._paths:
            return None
        with _messages_to(output):
            if kind is CodeletFileType.Object:
                sources = read_object(path, target or architecture, architecture, for_ipu)
                units = [unit_of(with_cycle_counter(source) if for_ipu else source) for source in sources]
            else:
                way, further = split_ipu_path(split_flags(flags))
                units = [
                    compiled_path(lambda ipu: preprocessed_file(path, kind, further, architecture, ipu), way, for_ipu)
                ]
        types = self._add(units, output)
        self._paths.add(path.resolve())
        return types

    def add_stream(
        self, stream: Any, type_: CodeletFileType, flags: str, output: IO[str] | None, architecture: str, for_ipu: bool
    ) -> list[VertexType]:
        """The vertex types of a stream's text. `for_ipu`: for hardware. Raises graph_object_load_error for a text that
        was added before."""
        kind = CodeletFileType.CppSource if type_ is CodeletFileType.Auto else type_
        refuse_assembly("The codelet stream", kind)
        if kind is CodeletFileType.Object:
            raise graph_object_load_error("A codelet stream holds source text; add an object by its file name.")
        text = stream_text(stream)
        if text in self._texts:
            raise graph_object_load_error("The codelets of this stream were added before; add a stream once.")
        with _messages_to(output):
            way, further = split_ipu_path(split_flags(flags))
            unit = compiled_path(
                lambda ipu: preprocessed_text(text, "stream", kind, further, architecture, ipu), way, for_ipu
            )
        types = self._add([unit], output)
        self._texts.add(text)
        return types

    def add_text(self, text: str, name: str, architecture: str) -> list[VertexType]:
        """The vertex types of C++ source that the simulator wrote itself."""
        with _messages_to(None):
            unit = unit_of(preprocessed_text(text, name, CodeletFileType.CppSource, (), architecture))
        return self._add([unit], None)

    def _add(self, units: Sequence[Unit], output: IO[str] | None) -> list[VertexType]:
        for unit in units:
            if unit.messages:
                (output or sys.stderr).write(unit.messages)
        types = [self._vertex_type(class_, unit) for unit in units for class_ in unit.classes]
        known = {unit.key for unit in self._units}
        self._units += [unit for unit in units if unit.key not in known]
        return types

    def _vertex_type(self, class_: CompiledClass, unit: Unit) -> VertexType:
        layout = class_.layout
        declared = tuple(field.spec for field in layout.fields)
        fields, apart = constrained(layout.name, class_.constraints, declared)
        counts = counted_costs(self.program, class_)
        return VertexType(
            name=layout.name,
            kind=layout.kind,
            fields=with_metadata_fields(fields),
            costs=or_guessed(layout.name, layout.kind, counts, "register a performance estimator"),
            counts=counts,
            code=partial(counted_code, self.program, class_),
            apart=apart,
            constrained=bool(apart),
            compiled=class_,
            awaits_code=bool(class_.symbol),
            doc=f"compiled from {unit.source.name}",
        )


class _messages_to:
    """A context that writes the compiler's messages of a failure to a stream, by default standard error."""

    def __init__(self, output: IO[str] | None) -> None:
        self._output = output

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, CompilationFailed):
            (self._output or sys.stderr).write(error.output)


def split_flags(flags: str) -> tuple[str, ...]:
    """The flags in a string that is quoted as for a shell; no shell is called."""
    try:
        return tuple(shlex.split(flags))
    except ValueError as error:
        raise graph_program_compilation_error(f"Compile flags '{flags}' cannot be split: {error}.") from None


def library_of(store: GraphStore) -> CodeletLibrary:
    """The compiled codelets of a graph; made with the first call."""
    if store.codelets is None:
        store.codelets = CodeletLibrary()
    assert isinstance(store.codelets, CodeletLibrary)
    return store.codelets


def linked_codelets(store: GraphStore, counting: bool = False) -> Program | None:
    """The program of a graph's compiled codelets, None when no vertex is one of them. `counting`: with vertices that
    count their slots, where that is possible. Raises link_error."""
    used = [block.type.compiled for block in store.settled_blocks if block.type.compiled is not None and len(block)]
    if not used:
        return None
    external = {called_symbol(class_): class_.symbol for class_ in used if class_.symbol}
    program = library_of(store).program(external)
    program = counting_program(program) if counting else program
    program.path()
    return program
