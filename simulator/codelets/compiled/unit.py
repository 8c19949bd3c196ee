"""One source, compiled: its object file and the vertex classes in it.

The user's text is followed by an entry function for each class that may be a vertex, so that the compiler emits the
code and the debug information of the class, from which its layout is read.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.base.types import CodeletFileType, type_named
from simulator.codelets.compiled.declarations import ClassHead, Declared, declared_in
from simulator.codelets.compiled.host_compiler import cached, cached_description, compiler, key_of
from simulator.codelets.compiled.source import BUILTINS, DEFAULTS, LANGUAGES, CompilationFailed, Preprocessed
from simulator.graph.vertices import ClassLayout, CompiledClass, FieldSpec, HostField

_ENTRY = """
namespace {space} {{ using popvision_type_{k} = {type}; }}
extern "C" {{
__attribute__((used, visibility("hidden"))) {typed} *popvision_type_{key}_{k} = nullptr;
{external}static void popvision_run_{key}_{k}(char *state, unsigned long first, unsigned long last,
    unsigned first_worker, unsigned last_worker, volatile poplar::host::Position *at) {{
  {call}
}}
__attribute__((section("popvision_entries"), used)) poplar::host::NamedEntry popvision_entry_{key}_{k} = {{
  "{key}_{k}", popvision_run_{key}_{k} }};
}}
"""
_RUN = "poplar::host::run_candidate<{typed}>(state, first, last, first_worker, last_worker, at);"
#: The code of a class that a supervisor of this source runs on its workers by its symbol.
_CODE_FOR_WORKERS = """
extern "C" void {symbol}(void *vertex, unsigned worker) {{ poplar::host::run_code<{typed}>(vertex, worker); }}
"""
#: Functions that hold a class's code alone, without the loops over rows and workers of the host.
_CODE_OF_CLASS = """
namespace popvision_code {
template <class C>
decltype(auto) compute([[maybe_unused]] C &vertex, [[maybe_unused]] unsigned worker) {
  if constexpr (__is_base_of(poplar::Vertex, C)) {
    if constexpr (poplar::host::has_compute<C>(nullptr)) {
      if constexpr (__is_base_of(poplar::MultiVertex, C)) return vertex.compute(worker);
      else return vertex.compute();
    }
  }
}
}
"""
_CODE = """
namespace {space} {{ using popvision_type_{k} = {type}; }}
extern "C" __attribute__((used, visibility("hidden"))) decltype(auto) popvision_code_{key}_{k}({typed} &vertex,
    unsigned worker) {{ return popvision_code::compute(vertex, worker); }}
"""
_RUN_EXTERNAL = """if constexpr ({typed}::isExternalCodelet)
    poplar::host::run_external<{typed}>(state, first, last, first_worker, last_worker, at,
                                        popvision_external_{key}_{k});
  else
    """


@dataclass(frozen=True)
class Unit:
    key: str
    source: Preprocessed
    classes: tuple[CompiledClass, ...]
    messages: str  #: warnings of the compiler

    def object_file(self) -> Path:
        """The object file in the cache, compiled again if it is gone."""

        def make(path: Path) -> None:
            _compile(self.source, self.text(), path)

        return cached(f"{self.key}.o", make)

    def text(self) -> str:
        """The user's text and the entry functions."""
        return _text(self.source, self.key)

    def code_text(self) -> str:
        """The user's text and a function `code_symbol` for each class, which does what one vertex does."""
        parts = [self.source.text]
        if self.source.language == "c++":
            candidates = _candidates(declared_in(self.source.text), self.source.text)
            parts += [_CODE_OF_CLASS] if candidates else []
            for k, (_, type_, space) in enumerate(candidates):
                own = space or "popvision_types"
                parts.append(_CODE.format(space=own, type=type_, typed=f"{own}::popvision_type_{k}", key=self.key, k=k))
        return "\n".join(parts)


def unit_of(source: Preprocessed) -> Unit:
    """Compile a source, or find it in the cache. Raises CompilationFailed, DamagedCacheError, and
    graph_object_load_error for classes that cannot be vertices."""
    key = key_of(compiler().version, source.language, source.name, "\0".join(source.flags), source.text)

    def read(described: Any) -> Unit:
        return Unit(key, source, tuple(_class_of(one) for one in described["classes"]), described["messages"])

    return cached_description(f"{key}.json", lambda path: _describe(source, key, path), read)


def _describe(source: Preprocessed, key: str, path: Path) -> None:
    declared = declared_in(source.text) if source.language == "c++" else Declared()
    messages = ""

    def make(object_: Path) -> None:
        nonlocal messages
        messages = _compile(source, _text(source, key), object_)

    object_ = cached(f"{key}.o", make)
    classes = list(_classes(declared, source, key, object_))
    path.write_text(json.dumps({"messages": messages, "classes": [_dumped(one) for one in classes]}))


def _classes(declared: Declared, source: Preprocessed, key: str, object_: Path) -> Iterator[CompiledClass]:
    candidates = {f"{key}_{k}": head for k, (head, _, _) in enumerate(_candidates(declared, source.text))}
    if not candidates:
        return
    from simulator.codelets.compiled.struct_fields import class_layouts  # here, as importing pyelftools takes 40 ms

    for entry, layout in class_layouts(object_, "popvision_type_", candidates, source.name):
        head = candidates.get(entry)
        if head is None or not (layout.computes or layout.external):
            continue
        outside = layout.external and not head.has_compute
        yield CompiledClass(layout, entry, head.constraints, external_symbol(layout.name) if outside else "")


def called_symbol(class_: CompiledClass) -> str:
    """The function that the entry of an external vertex calls, to be defined as `class_.symbol` when linking."""
    return f"popvision_external_{class_.entry}"


def code_symbol(class_: CompiledClass) -> str:
    """The function that is the code of a vertex: of `Unit.code_text`, or that of another source."""
    return class_.symbol or f"popvision_code_{class_.entry}"


def external_symbol(name: str) -> str:
    """The function that is the code of an external vertex: "a::B<float,1>" has `__runCodelet_a__B___float_1`."""
    plain = name.replace("::", "__").replace("<", "___").replace(">", "")
    return "__runCodelet_" + re.sub(r"\W", "_", plain)


def _text(source: Preprocessed, key: str) -> str:
    """The user's text and the entry functions."""
    parts = [source.text]
    if source.language == "c++":
        for k, (head, type_, space) in enumerate(_candidates(declared_in(source.text), source.text)):
            parts.append(_entry(head, type_, space, key, k))
            symbol = external_symbol(f"{space}::{type_}" if space else type_.removeprefix("::"))
            if head.has_compute and re.search(rf"\b{symbol}\b", source.text):
                parts.append(_CODE_FOR_WORKERS.format(symbol=symbol, typed=_typed(space, k)))
    return "\n".join(parts)


def _typed(space: str, k: int) -> str:
    """The name of the type of candidate `k`."""
    return f"{space or 'popvision_types'}::popvision_type_{k}"


def _entry(head: ClassHead, type_: str, space: str, key: str, k: int) -> str:
    own, typed = space or "popvision_types", _typed(space, k)
    run = _RUN.format(typed=typed)
    external = ""
    if head.external and not head.has_compute:
        external = f"__attribute__((weak)) void popvision_external_{key}_{k}(void *vertex, unsigned worker);\n"
        run = _RUN_EXTERNAL.format(typed=typed, key=key, k=k) + run
    return _ENTRY.format(space=own, type=type_, typed=typed, key=key, k=k, external=external, call=run)


def _candidates(declared: Declared, text: str) -> list[tuple[ClassHead, str, str]]:
    """(class or template, the type as C++ spells it, the namespace to spell it in) of all that may be vertices."""
    if "run_candidate" not in text:  # poplar/Vertex.hpp is not included
        return []
    candidates = [(head, f"::{head.name}", "") for head in declared.classes.values() if not head.template]
    for name, arguments, scope in declared.instances:
        spaces = scope.split("::") if scope else []
        for depth in range(len(spaces), -1, -1):
            qualified = "::".join([*spaces[:depth], name])
            if f"{qualified}<{arguments}>" in declared.classes:  # a full specialisation is a candidate already
                break
            head = declared.classes.get(qualified)
            if head is not None:
                candidates.append((head, f"{name}<{arguments}>", scope))
                break
    return candidates


def _compile(source: Preprocessed, text: str, out: Path) -> str:
    """The object file of a text; returns warnings."""
    return compile_text(source, text, out, DEFAULTS[source.language], ("-c",))


def compile_text(source: Preprocessed, text: str, out: Path, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """Run the compiler on preprocessed text, the user's flags between `before` and `after`; returns warnings."""
    language = LANGUAGES[CodeletFileType.CppSource if source.language == "c++" else CodeletFileType.CSource][1]
    with tempfile.TemporaryDirectory(prefix="popvision_codelet_") as folder:
        given = Path(folder) / "text"
        given.write_text(text, encoding="utf-8", errors="surrogateescape")
        code, messages = compiler().run(
            [
                "-x",
                language,
                *before,
                *source.flags,
                "-g",
                "-gdwarf-4",
                "-gno-split-dwarf",
                "-fPIE",
                "-Wno-attributes",
                "-Wno-ignored-attributes",
                *after,
                str(given),
                "-o",
                str(out),
            ]
        )
    messages = messages.replace(str(given), source.name).replace(BUILTINS[1], BUILTINS[0])
    if code != 0:
        raise CompilationFailed(source.name, messages)
    return messages


# ---- classes as JSON in the cache ------------------------------------------------------------------------------


def _dumped(one: CompiledClass) -> dict[str, Any]:
    def type_name(value: Any) -> str:
        return str(value.name)

    def spec(field: HostField) -> dict[str, Any]:
        values = {name: getattr(field.spec, name) for name in FieldSpec.__dataclass_fields__}
        return {"spec": {**values, "type": type_name(field.spec.type)}, "offset": field.offset, "wide": field.wide}

    layout = {**{name: getattr(one.layout, name) for name in ClassLayout.__dataclass_fields__}}
    layout["fields"] = [spec(field) for field in one.layout.fields]
    return {"layout": layout, "entry": one.entry, "constraints": list(one.constraints), "symbol": one.symbol}


def _class_of(data: dict[str, Any]) -> CompiledClass:
    fields = tuple(
        HostField(
            FieldSpec(**{**one["spec"], "type": type_named(one["spec"]["type"])}), int(one["offset"]), bool(one["wide"])
        )
        for one in data["layout"]["fields"]
    )
    layout = ClassLayout(**{**data["layout"], "fields": fields})
    return CompiledClass(layout, data["entry"], tuple(data["constraints"]), data["symbol"])
