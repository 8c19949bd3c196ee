"""Generated C++: the functions that only forward to the simulator, made from the headers that declare them.

A header of include/ is the one home of a signature: a declaration without a body is forwarded to the name that the
simulator has in the same place, and one that a comment sends to a file of src/ (`// src/graph.cpp`) is written there by
hand. Enumerations and handles get the tables by which they are converted, exceptions the one by which they are thrown.

The headers are read by their shape, not by a C++ parser: one declaration per statement, attributes and macros as the
headers here use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Where the simulator has what stands in a namespace.
MODULES = {
    "poplar": "simulator.poplar",
    "poplar::program": "simulator.poplar.program",
    "poputil": "simulator.poplibs.poputil",
    "popops": "simulator.poplibs.popops",
    "popops::expr": "simulator.poplibs.popops.expr",
    "poplin": "simulator.poplibs.poplin",
    "popnn": "simulator.poplibs.popnn",
    "poprand": "simulator.poplibs.poprand",
    "gcl": "simulator.poplibs.gcl",
    "pva": "popvision.pva",
    "pvti": "popvision.pvti",
}
#: Where a method without arguments is a property of the simulator's class.
PROPERTIES = ("pva",)
#: Names that Python spells otherwise: operators, and words of its own.
PYTHON_NAMES = {"operator[]": "__getitem__", "None": "None_", "from": "cyclesFrom", "to": "cyclesTo"}
_MACRO = re.compile(r"^#define (\w+)(?:\(([\w, ]*)\))?[ \t\\]*\n?((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?P<result>.*?)(?P<name>operator\s*\[\]|~?\w+)\s*\((?P<parameters>.*)\)"
    r"\s*(?P<const>const)?\s*(?:noexcept|override)?$",
    re.DOTALL,
)
_NOT_FORWARDED = ("using ", "typedef ", "friend ", "extern ", "template", "static const ", "virtual ", "operator ")


@dataclass
class Function:
    """A declaration: `result` is empty for constructors."""

    scope: tuple[str, ...]
    name: str
    result: str
    parameters: list[tuple[str, str]]  #: type and name
    const: bool
    static: bool


@dataclass
class Class:
    namespace: str
    name: str
    base: str


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


def read(text: str) -> Header:
    """The declarations of a header."""
    text = re.sub(r";\s*// src/\w+\.cpp", " BY_HAND;", text)
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
    if match := re.match(r"enum class (\w+)$", head):
        end = text.index("}", place)
        members = [member.strip() for member in text[place + 1 : end].split(",")]
        assert not any("=" in name for name in members), f"{match[1]}: members are converted by place, not by value"
        header.enumerations.append(Enumeration((*classes, match[1]), namespace, [name for name in members if name]))
        return end + 1
    if match := re.match(r"(?:class|struct)(?: POPLAR_API)? (\w+)(?: final)?(?:\s*:\s*(?:public )?([\w:]+))?$", head):
        name = "::".join((namespace, *classes, match[1]))
        header.classes[name] = Class(namespace, match[1], match[2] or "")
        return _read_scope(text, place + 1, (*classes, match[1]), namespace, header)
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


def _parameter(text: str) -> tuple[str, str]:
    """Type and name of a parameter; its default stays in the header."""
    declared = " ".join(text.split("=")[0].split())
    match = re.match(r"(.*?)(\w+)$", declared)
    assert match is not None, f"a parameter without a name: {text}"
    return match[1].strip(), match[2]


def forwarding(header: Header) -> str:
    """The definitions of a header's functions."""
    return "\n".join(
        f"namespace {namespace} {{\n{_definition(namespace, function, header)}}} // namespace {namespace}\n"
        for namespace, function in header.functions
    )


def _definition(namespace: str, function: Function, header: Header) -> str:
    module = MODULES[namespace]
    parameters = ", ".join(f"{type_} {name}" for type_, name in function.parameters)
    passed = "".join(f", {name}" for _, name in function.parameters)
    scope = "::".join(function.scope)
    name = PYTHON_NAMES.get(function.name, function.name)
    if function.scope and function.name == function.scope[-1]:
        base = header.classes[f"{namespace}::{scope}"].base
        return (
            f"{scope}::{function.name}({parameters}) : {base}([&] {{\n"
            f'  static poplar::bridge::Place forwarded{{"{module}", "{".".join(function.scope)}"}};\n'
            f"  return poplar::bridge::made(forwarded{passed});\n}}()) {{}}\n"
        )
    head = f"auto {scope + '::' if scope else ''}{function.name}({parameters}){' const' if function.const else ''}"
    if function.scope and not function.static:
        kind = "attribute" if namespace in PROPERTIES and not function.parameters else "method"
        return (
            f"{head} -> {function.result} {{\n"
            f'  static poplar::bridge::Name forwarded{{"{name}"}};\n'
            f"  return poplar::bridge::{kind}<{function.result}>(*this, forwarded{passed});\n}}\n"
        )
    path = ".".join((*function.scope, name))
    return (
        f"{head} -> {function.result} {{\n"
        f'  static poplar::bridge::Place forwarded{{"{module}", "{path}"}};\n'
        f"  return poplar::bridge::function<{function.result}>(forwarded{passed});\n}}\n"
    )


def tables(headers: list[Header]) -> str:
    """Where the simulator has the classes of handles and the members of enumerations."""
    parts = ["namespace poplar {\nnamespace bridge {\n"]
    for header in headers:
        for qualified, described in header.classes.items():
            if described.base.endswith(("Handle", "Program")):
                name = f'static constexpr const char *name = "{described.name}"'
                parts.append(f"template <> struct ClassOf<{qualified}> {{ {name}; }};\n")
        for enumeration in header.enumerations:
            parts.append(_members(enumeration))
    return "".join([*parts, "} // namespace bridge\n} // namespace poplar\n"])


def _members(enumeration: Enumeration) -> str:
    if enumeration.namespace not in MODULES:
        return ""
    names = ", ".join(f'"{PYTHON_NAMES.get(member, member)}"' for member in enumeration.members)
    return (
        f"template <> struct MembersOf<{'::'.join((enumeration.namespace, *enumeration.scope))}> {{\n"
        f'  static constexpr const char *module = "{MODULES[enumeration.namespace]}";\n'
        f'  static constexpr const char *path = "{".".join(enumeration.scope)}";\n'
        f"  static constexpr std::size_t count = {len(enumeration.members)};\n"
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
    """Write tables.hpp and one source per folder of headers into `folder`; returns the sources."""
    libraries: dict[str, list[tuple[str, Header]]] = {}
    for path in sorted(include.rglob("*.hpp")):
        name = str(path.relative_to(include))
        libraries.setdefault(name.split("/")[0], []).append((name, read(path.read_text(encoding="utf-8"))))
    headers = [header for library in libraries.values() for _, header in library]
    includes = {library: "".join(f"#include <{name}>\n" for name, _ in found) for library, found in libraries.items()}
    converters = '#include "convert.hpp"\n#include "poplibs.hpp"\n'
    write_changed(folder / "tables.hpp", converters + "".join(includes.values()) + tables(headers))
    sources = [folder / "exceptions.cpp"]
    write_changed(sources[0], "".join(includes.values()) + "#include <string>\n" + exceptions(headers))
    for library, found in libraries.items():
        if any(header.functions for _, header in found):
            sources.append(folder / f"forward_{library}.cpp")
            write_changed(sources[-1], '#include "tables.hpp"\n' + "\n".join(forwarding(header) for _, header in found))
    return sources


def write_changed(path: Path, text: str) -> None:
    """Write a file unless it holds the text already: what did not change is not compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
