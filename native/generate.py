"""Generated C++: the functions that only forward to the simulator, made from the headers that declare them.

A header of include/ is the one home of a signature: a declaration without a body is forwarded to the name that the
simulator has in the same place, and one that a comment sends to a file of src/ (`// src/graph.cpp`) is written there by
hand. Enumerations, handles and the structs of PopLibs get the tables by which they are converted, exceptions the one by
which they are thrown.

What C++ returns through pointers and references stands behind the result in Python: `/*out*/` behind a parameter says
that Python does not take it, `/*inout*/` that it does, `/*wanted*/` that it takes behind all others whether the
pointer is not null. A `std::vector &` is a list that Python changes.

The headers are read by their shape, not by a C++ parser: one declaration per statement, attributes and macros as the
headers here use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Where the simulator has what stands in a namespace; what stands in one inside it has its name there too.
MODULES = {
    "poplar": "simulator.poplar",
    "poputil": "simulator.poplibs.poputil",
    "popops": "simulator.poplibs.popops",
    "poplin": "simulator.poplibs.poplin",
    "popnn": "simulator.poplibs.popnn",
    "poprand": "simulator.poplibs.poprand",
    "gcl": "simulator.poplibs.gcl",
    "popsparse": "simulator.poplibs.popsparse",
    "pva": "popvision.pva",
    "pvti": "popvision.pvti",
}
#: How many sources the forwarding functions are spread over: each costs some seconds of its own.
PARTS = 6
#: Whose structs are converted by hand.
BY_HAND = ("poplar", "pva", "pvti")
#: Where a method without arguments is a property of the simulator's class.
PROPERTIES = ("pva",)
#: Names that Python spells otherwise: operators, and words of its own.
PYTHON_NAMES = {
    "operator[]": "__getitem__",
    "operator()": "__call__",
    "None": "None_",
    "from": "cyclesFrom",
    "to": "cyclesTo",
    "in": "in_",
    "inputChannelsPerConvGroup": "inputChannels",
    "outputChannelsPerConvGroup": "outputChannels",
    "majorVer": "major",
    "minorVer": "minor",
    "pointVer": "point",
}
#: What the tables of Poplar's own headers begin with, and those of the other folders.
TABLES_BEGIN = {
    True: '#pragma once\n#include "convert.hpp"\n',
    False: '#pragma once\n#include "tables_poplar.hpp"\n#include "poplibs.hpp"\n',
}
_MACRO = re.compile(r"^#define (\w+)(?:\(([\w, ]*)\))?[ \t\\]*\n?((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?P<result>.*?)(?P<name>operator\s*(?:\[\]|\(\))|~?\w+)\s*\((?P<parameters>.*)\)"
    r"\s*(?P<const>const)?\s*(?:noexcept|override)?$",
    re.DOTALL,
)
_NOT_FORWARDED = ("using ", "typedef ", "friend ", "extern ", "template", "static const ", "virtual ", "operator ")
_COMPARISON = re.compile(r"bool operator(<|==|!=)\(const ([\w:]+) &a, const \2 &b\)$")
_PRINTING = re.compile(r"std::ostream &operator<<\(std::ostream &out, const ([\w:]+) &\w+\)$")


@dataclass
class Parameter:
    type: str
    name: str
    way: str  #: "" for what only goes to Python, "out", "inout", "wanted", or "list"

    def passed(self) -> str:
        return f"poplar::bridge::list({self.name})" if self.way == "list" else self.name


@dataclass
class Function:
    """A declaration: `result` is empty for constructors."""

    scope: tuple[str, ...]
    name: str
    result: str
    parameters: list[Parameter]
    const: bool
    static: bool


@dataclass
class Class:
    namespace: str
    scope: tuple[str, ...]  #: its name behind those of the classes around it
    base: str
    struct: bool
    fields: list[str] = field(default_factory=list)

    @property
    def converts(self) -> bool:
        """Whether its fields are those of a class of the simulator."""
        return self.struct and bool(self.fields) and not self.base and first(self.namespace) not in BY_HAND


@dataclass
class Enumeration:
    scope: tuple[str, ...]
    namespace: str
    members: list[str]


@dataclass
class Header:
    """What the text of a header declares."""

    functions: list[tuple[str, Function]] = field(default_factory=list)  #: with their namespaces
    classes: dict[str, Class] = field(default_factory=dict)  #: by qualified name
    enumerations: list[Enumeration] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)  #: with their namespace
    operators: list[tuple[str, str, str]] = field(default_factory=list)  #: namespace, operator and struct


def read(text: str) -> Header:
    """The declarations of a header."""
    text = re.sub(r";\s*// src/\w+\.cpp", " BY_HAND;", text)
    text = re.sub(r"/\*((?:in)?out|wanted)\*/", r"_\1_", text)
    text = expanded(re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL))
    header = Header()
    _read_scope(text, 0, (), "", header)
    return header


def expanded(text: str) -> str:
    """The text without directives, the header's own macros replaced: they are the rows of tables."""
    macros = _MACRO.findall(text)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.MULTILINE)
    for name, parameters, body in reversed(macros):
        body = body.replace("\\\n", "\n").strip()
        if not body or "__attribute__" in body:
            continue
        used = rf"\b{name}\b" + (r"\(([^()]*)\)" if parameters else "")
        text = re.sub(used, lambda use, names=parameters, body=body: _replaced(use, names, body), text)
    return text


def _replaced(use: re.Match[str], names: str, body: str) -> str:
    """A macro's body with the arguments of a use."""
    for parameter, argument in zip(names.split(","), use[1].split(","), strict=True) if names else ():
        body = re.sub(rf"(?:##)?\b{parameter.strip()}\b(?:##)?", lambda _, argument=argument: argument.strip(), body)
    return body


def _read_scope(text: str, place: int, classes: tuple[str, ...], namespace: str, header: Header) -> int:
    """Read to the end of a namespace or class; returns the place behind its brace."""
    start = place
    depth = 0
    while place < len(text):
        character = text[place]
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ";":
            _read_statement(text[start:place], classes, namespace, header)
            start = place + 1
        elif depth == 0 and character == "{":
            place = _read_block(text, place, text[start:place].strip(), classes, namespace, header)
            start = place
            continue
        elif depth == 0 and character == "}":
            return place + 1
        place += 1
    return place


def _read_block(text: str, place: int, head: str, classes: tuple[str, ...], namespace: str, header: Header) -> int:
    """What stands in braces after `head`."""
    head = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", head)
    if match := re.match(r"namespace (\w+)$", head):
        inner = f"{namespace}::{match[1]}" if namespace else match[1]
        return _read_scope(text, place + 1, classes, inner, header)
    if match := re.match(r"enum (?:class )?(\w+)$" if not classes else r"enum class (\w+)$", head):
        end = text.index("}", place)
        members = [member.strip() for member in text[place + 1 : end].split(",")]
        assert not any("=" in name for name in members), f"{match[1]}: members are converted by place, not by value"
        header.enumerations.append(Enumeration((*classes, match[1]), namespace, [name for name in members if name]))
        return end + 1
    if match := re.match(r"(class|struct)(?: POPLAR_API)? (\w+)(?: final)?(?:\s*:\s*(?:public )?([\w:]+))?$", head):
        scope = (*classes, match[2])
        name = "::".join((namespace, *scope))
        header.classes[name] = Class(namespace, scope, match[3] or "", match[1] == "struct")
        return _read_scope(text, place + 1, scope, namespace, header)
    return _behind_brace(text, place)


def _behind_brace(text: str, place: int) -> int:
    depth = 0
    while True:
        depth += (text[place] == "{") - (text[place] == "}")
        place += 1
        if depth == 0:
            return place


def _read_statement(statement: str, classes: tuple[str, ...], namespace: str, header: Header) -> None:
    statement = re.sub(r"^(?:\s*(?:public|private|protected)\s*:)+", "", statement).strip()
    if re.match(r"~\w+\(\) override$", statement):
        header.exceptions.append("::".join((namespace, *classes)))
        return
    for pattern in (_COMPARISON, _PRINTING):
        if match := pattern.match(statement):
            header.operators.append(
                (namespace, match[1] if pattern is _COMPARISON else "<<", match[match.lastindex or 1])
            )
    match = re.match(r"[\w:<>, ]+ (\w+)(?: = .*)?$", statement, re.DOTALL)
    if match is not None:
        if classes and not statement.startswith(_NOT_FORWARDED):
            header.classes["::".join((namespace, *classes))].fields.append(match[1])
        return
    if "(" not in statement or statement.endswith(("BY_HAND", "= default", "= delete", "= 0")):
        return
    static = statement.startswith("static ") and not statement.startswith("static const ")
    statement = re.sub(r"^(?:static (?!const)|explicit |inline )+", "", statement)
    match = _FUNCTION.match(statement)
    if match is None or statement.startswith(_NOT_FORWARDED):
        return
    function = Function(
        classes,
        match["name"].replace(" ", ""),
        " ".join(match["result"].split()),
        [_parameter(text) for text in _split(match["parameters"])],
        match["const"] is not None,
        static,
    )
    header.functions.append((namespace, function))


def _split(parameters: str) -> Iterator[str]:
    """Parameters between commas that are in no brackets."""
    depth = start = 0
    for place, character in enumerate(parameters):
        depth += (character in "<({[") - (character in ">)}]")
        if character == "," and depth == 0:
            yield parameters[start:place]
            start = place + 1
    if parameters[start:].strip():
        yield parameters[start:]


def _parameter(text: str) -> Parameter:
    """The default of a parameter stays in the header."""
    declared = " ".join(text.split("=")[0].split())
    match = re.match(r"(.*?)(\w+?)(?: _(\w+)_)?$", declared)
    assert match is not None, f"a parameter without a name: {text}"
    type_ = match[1].strip()
    return Parameter(type_, match[2], match[3] or ("list" if re.match(r"std::vector<.*> &$", type_) else ""))


def first(namespace: str) -> str:
    return namespace.split("::")[0]


def place(namespace: str, *path: str) -> tuple[str, str]:
    """The module that has a name of a namespace, and its path there."""
    outer, *inner = namespace.split("::")
    return MODULES[outer], ".".join(PYTHON_NAMES.get(name, name) for name in (*inner, *path))


def _quoted(namespace: str, *path: str) -> str:
    return '"{}", "{}"'.format(*place(namespace, *path))


def forwarding(header: Header) -> list[str]:
    """The definitions of a header's functions, one after another."""
    functions = [
        f"namespace {namespace} {{\n{_definition(namespace, function, header)}}} // namespace {namespace}\n"
        for namespace, function in header.functions
    ]
    return functions + [_operator(*declared) for declared in header.operators]


def _definition(namespace: str, function: Function, header: Header) -> str:
    parameters = ", ".join(f"{parameter.type} {parameter.name}" for parameter in function.parameters)
    taken = [parameter.passed() for parameter in function.parameters if parameter.way not in ("out", "wanted")]
    taken += [f"{parameter.name} != nullptr" for parameter in function.parameters if parameter.way == "wanted"]
    passed = "".join(f", {argument}" for argument in taken)
    scope = "::".join(function.scope)
    if function.scope and function.name == function.scope[-1]:
        base = header.classes[f"{namespace}::{scope}"].base
        return (
            f"{scope}::{function.name}({parameters}) : {base}([&] {{\n"
            f"  static poplar::bridge::Place forwarded{{{_quoted(namespace, *function.scope)}}};\n"
            f"  return poplar::bridge::made(forwarded{passed});\n}}()) {{}}\n"
        )
    head = f"auto {scope + '::' if scope else ''}{function.name}({parameters}){' const' if function.const else ''}"
    if function.scope and not function.static:
        kind = "attribute" if namespace in PROPERTIES and not function.parameters else "method"
        return (
            f"{head} -> {function.result} {{\n"
            f'  static poplar::bridge::Name forwarded{{"{PYTHON_NAMES.get(function.name, function.name)}"}};\n'
            f"  return poplar::bridge::{kind}<{function.result}>(*this, forwarded{passed});\n}}\n"
        )
    outs = ", ".join(parameter.name for parameter in function.parameters if parameter.way in ("out", "inout", "wanted"))
    return (
        f"{head} -> {function.result} {{\n"
        f"  static poplar::bridge::Place forwarded{{{_quoted(namespace, *function.scope, function.name)}}};\n"
        + (
            f"  return poplar::bridge::function_with<{function.result}>(std::tie({outs}), forwarded{passed});\n}}\n"
            if outs
            else f"  return poplar::bridge::function<{function.result}>(forwarded{passed});\n}}\n"
        )
    )


def _operator(namespace: str, operator: str, struct: str) -> str:
    """A comparison of structs by their fields, or the simulator's text of one."""
    if operator == "<<":
        head = f"std::ostream &{namespace}::operator<<(std::ostream &out, const {struct} &value)"
        return f"{head} {{ return out << poplar::bridge::text(value); }}\n"
    head = f"bool {namespace}::operator{operator}(const {struct} &a, const {struct} &b)"
    if operator == "!=":
        return f"{head} {{ return !(a == b); }}\n"
    return f"{head} {{ return poplar::bridge::tied(a) {operator} poplar::bridge::tied(b); }}\n"


def tables(named: list[tuple[str, Header]]) -> str:
    """Where the simulator has the classes of handles, the fields of structs and the members of enumerations."""
    parts = ["namespace poplar {\nnamespace bridge {\n"]
    for _, header in named:
        for qualified, described in header.classes.items():
            if described.base.endswith(("Handle", "Program")):
                name = f'static constexpr const char *name = "{described.scope[-1]}"'
                parts.append(f"template <> struct ClassOf<{qualified}> {{ {name}; }};\n")
            elif described.converts:
                parts.append(_fields(qualified, described))
        for enumeration in header.enumerations:
            parts.append(_members(enumeration))
    return "".join([*parts, "} // namespace bridge\n} // namespace poplar\n"])


def _place_members(namespace: str, path: tuple[str, ...]) -> str:
    module, name = place(namespace, *path)
    return f'  static constexpr const char *module = "{module}";\n  static constexpr const char *path = "{name}";\n'


def _fields(qualified: str, struct: Class) -> str:
    """A field `scale` whose struct has a field `useScale` too is None where that one is false."""
    uses = {f"use{name[0].upper()}{name[1:]}": name for name in struct.fields}
    flags = {uses[name]: name for name in struct.fields if name in uses}
    calls = "".join(
        f'    field("{PYTHON_NAMES.get(name, name)}", '
        + (f"optional(value.{flags[name]}, value.{name}));\n" if name in flags else f"value.{name});\n")
        for name in struct.fields
        if name not in uses
    )
    tied = ", ".join(f"value.{name}" for name in struct.fields)
    return (
        f"template <> struct FieldsOf<{qualified}> {{\n"
        + _place_members(struct.namespace, struct.scope)
        + f"  template <class S, class F> static void each(S &value, F field) {{\n{calls}  }}\n"
        f"  static auto tied(const {qualified} &value) {{ return std::tie({tied}); }}\n}};\n"
    )


def _members(enumeration: Enumeration) -> str:
    if first(enumeration.namespace) not in MODULES:
        return ""
    names = ", ".join(f'"{PYTHON_NAMES.get(member, member)}"' for member in enumeration.members)
    return (
        f"template <> struct MembersOf<{'::'.join((enumeration.namespace, *enumeration.scope))}> {{\n"
        + _place_members(enumeration.namespace, enumeration.scope)
        + f"  static constexpr std::size_t count = {len(enumeration.members)};\n"
        f"  static constexpr const char *names[] = {{{names}}};\n}};\n"
    )


def exceptions(headers: list[Header]) -> str:
    """The destructors of exceptions, and the function that throws one by its name."""
    names = [name for header in headers for name in header.exceptions]
    destructors = "".join(f"{name}::~{name.rpartition('::')[2]}() = default;\n" for name in names)
    throwing = "".join(f'  if (name == "{name.rpartition("::")[2]}")\n    throw {name}(what);\n' for name in names)
    return (
        f"{destructors}\nnamespace poplar {{\nnamespace bridge {{\n"
        "void throw_named(const std::string &name, const std::string &what);\n"
        f"void throw_named(const std::string &name, const std::string &what) {{\n{throwing}}}\n"
        "} // namespace bridge\n} // namespace poplar\n"
    )


def write(include: Path, folder: Path) -> list[Path]:
    """Write tables and a source for each folder of headers into `folder`, and tables.hpp with all of them; returns the
    sources. A header is part of the tables of its own folder alone, so that a change compiles few sources again."""
    libraries: dict[str, list[tuple[str, Header]]] = {}
    for path in sorted(include.rglob("*.hpp")):
        name = str(path.relative_to(include))
        libraries.setdefault(name.split("/")[0], []).append((name, read(path.read_text(encoding="utf-8"))))
    headers = [header for library in libraries.values() for _, header in library]
    includes = {library: "".join(f"#include <{name}>\n" for name, _ in named) for library, named in libraries.items()}
    for library, named in libraries.items():
        write_changed(
            folder / f"tables_{library}.hpp", TABLES_BEGIN[library == "poplar"] + includes[library] + tables(named)
        )
    write_changed(folder / "tables.hpp", "".join(f'#include "tables_{library}.hpp"\n' for library in libraries))
    sources = [folder / "exceptions.cpp"]
    write_changed(sources[0], "".join(includes.values()) + "#include <string>\n" + exceptions(headers))
    parts = [part for header in headers for part in forwarding(header)]
    for number, part in enumerate(_balanced(parts, PARTS)):
        sources.append(folder / f"forward_{number}.cpp")
        write_changed(sources[-1], '#include "tables.hpp"\n' + part)
    return sources


def _balanced(parts: list[str], count: int) -> list[str]:
    """The parts in `count` texts of about the same length, in their order."""
    texts = [""] * count
    total, before = sum(map(len, parts)), 0
    for part in parts:
        texts[before * count // total] += part + "\n"
        before += len(part)
    return texts


def write_changed(path: Path, text: str) -> None:
    """Write a file unless it holds the text already: what did not change is not compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
