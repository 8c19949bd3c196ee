"""ES modules joined into one script: each module is a function that runs once, after those that it imports, and returns
what it exports; what it imports are constants of it.

The functions stand at the top of the script. Chromium compiles functions there while the script arrives; inside another
function it compiles them twice, which took 22 ms of each page.

Joining reads each file once, at start. It knows the forms of import and export that webapp/assets uses, each at the
begin of a line, and refuses others, a cycle of imports, a name that is not exported and an export that is assigned
again: constants would not follow it.

Browsers could load the modules themselves, but that is a hundred requests, and they run module scripts after the page
is parsed, when Dash's renderer has already called the functions that they define (docs/contributing.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_IMPORT = re.compile(r'^import (?:(?:\{([^}]*)\}|\* as (\w+)) from )?"(\.[^"]*)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export \{([^}]*)\};$", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
_NAME = re.compile(r"^(\w+)(?: as (\w+))?$")


@dataclass(frozen=True)
class Import:
    """An import statement: of all that `source` exports under one name, or of (its name, the name here) each."""

    source: PurePosixPath
    whole: str | None
    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Module:
    """A module without its imports and exports. `exports`: (name for others, name here)."""

    path: PurePosixPath
    body: str
    imports: tuple[Import, ...]
    exports: tuple[tuple[str, str], ...]

    @property
    def variable(self) -> str:
        """The constant of the joined script that holds what the module exports."""
        return "$" + "$".join(self.path.with_suffix("").parts)


def join_modules(folder: Path, entry: str) -> str:
    """The script that runs the module `entry` of the folder and all that it imports. Raises ValueError for a module
    that cannot be joined, FileNotFoundError for an import of a file that is not there."""
    modules = modules_in_order(folder, entry)
    known = {module.path: module for module in modules}
    return "".join(_function(module, known) for module in modules)


def modules_in_order(folder: Path, entry: str) -> list[Module]:
    """The module `entry` and all that it imports, each after its imports, as JavaScript itself orders them."""
    found: dict[PurePosixPath, Module] = {}
    entered: list[PurePosixPath] = []

    def visit(path: PurePosixPath) -> None:
        if path in found:
            return
        if path in entered:
            circle = " -> ".join(str(each) for each in [*entered[entered.index(path) :], path])
            raise ValueError(f"scripts import each other in a circle: {circle}. Move what they share to a third one.")
        entered.append(path)
        module = read_module(folder, path)
        for each in module.imports:
            visit(each.source)
        entered.pop()
        found[path] = module

    visit(PurePosixPath(entry))
    return list(found.values())


def read_module(folder: Path, path: PurePosixPath) -> Module:
    """A module of the folder, taken apart. Raises ValueError for a form of import or export that is not joined."""
    text = (folder / path).read_text(encoding="utf-8")
    imports = tuple(
        Import(_source(path, found[3]), found[2], tuple(_names(path, found[1] or "")))
        for found in _IMPORT.finditer(text)
    )
    exports = tuple((other, here) for found in _EXPORT.finditer(text) for here, other in _names(path, found[1]))
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    if strange := _OTHER.search(body):
        raise ValueError(
            f"{path}: {strange[0]!r} is not joined: write import {{ a, b as c }} or * as a from a file, and "
            "export { a, b as c } of what is declared above"
        )
    for name, here in exports:
        if re.search(rf"^(?:let|var) (?:.*[ ,])?{re.escape(here)}\b", body, re.MULTILINE):
            raise ValueError(f"{path} exports {name}, which is assigned again: export an object that holds it")
    return Module(path, body.strip(), imports, exports)


def _names(path: PurePosixPath, listed: str) -> Iterator[tuple[str, str]]:
    """(before "as", after it) of each name in braces, the same twice without "as"."""
    for text in filter(None, (part.strip() for part in listed.split(","))):
        found = _NAME.match(text)
        if found is None:
            raise ValueError(f"{path}: {text!r} is no name to import or export")
        yield found[1], found[2] or found[1]


def _source(path: PurePosixPath, address: str) -> PurePosixPath:
    """The file of an import, from the folder."""
    parts: list[str] = []
    for part in (path.parent / address).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            raise ValueError(f"{path} imports {address!r}, which is outside the folder of scripts")
    return PurePosixPath(*parts)


def _function(module: Module, known: dict[PurePosixPath, Module]) -> str:
    """The statement of the joined script that runs a module."""
    constants = "".join(_constant(module, each, known[each.source]) for each in module.imports)
    exports = ", ".join(name if name == here else f"{name}: {here}" for name, here in module.exports)
    returned = f"return {{ {exports} }};\n" if exports else ""
    return (
        f"/* {module.path} */\nconst {module.variable} = (() => {{\n"
        f'"use strict";\n{constants}{module.body}\n{returned}}})();\n'
    )


def _constant(module: Module, imported: Import, source: Module) -> str:
    if imported.whole:
        return f"const {imported.whole} = {source.variable};\n"
    offered = {name for name, _ in source.exports}
    for name, _ in imported.names:
        if name not in offered:
            raise ValueError(f"{module.path} imports {name!r}, which {source.path} does not export")
    names = ", ".join(name if name == here else f"{name}: {here}" for name, here in imported.names)
    return f"const {{ {names} }} = {source.variable};\n" if names else ""
