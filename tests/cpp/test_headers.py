"""The headers' names: each is one of the simulator's, and those of the seeds are all there. Needs no compiler."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import inspect
import itertools
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from tests.cpp.building import HERE, ROOT

INCLUDE = ROOT / "native" / "include"

PROGRAMS = HERE / "programs"
#: Names of simulator.poplar that stand elsewhere in C++: types of codelets, a module, a base class, marks of libraries.
ELSEWHERE = {"VectorLayout", "VectorListLayout", "program", "RepeatWhile", "LibraryGroup"}
POPLIBS = ("poputil", "popops", "poplin", "popnn", "poprand", "gcl", "popsparse")
#: What PopLibs' modules have and the headers lack, and why.
PYTHONS_OWN = {
    **dict.fromkeys(("Unary", "Binary", "Ternary"), "the type of a function"),
    **dict.fromkeys(("UnaryInPlace", "BinaryInPlace", "TernaryInPlace"), "the type of a function"),
    "RnnGradients": "C++ returns a tuple",
    "RecurrentOptions": "parsed options, no name of PopLibs",
    "RecurrentProducts": "what layers share, no name of PopLibs",
    "Layer": "a pass of a layer, no name of PopLibs",
}


def _native(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"native_{name}", ROOT / "native" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


GENERATE = _native("generate")


def _public_names(module: Any, package: Any) -> set[str]:
    """The names of PopLibs that a module has: camel case, from the module's library."""
    names = {name for name, value in vars(module).items() if _is_of(value, package) and not name.startswith("_")}
    return {name for name in names if "_" not in name or name in ("poplibs_error",)}


def _is_of(value: Any, package: Any) -> bool:
    home = getattr(value, "__module__", None)
    return not inspect.ismodule(value) and isinstance(home, str) and home.startswith(package.__name__)


def _declared(library: str) -> dict[str, set[str]]:
    """What the namespaces inside a library's declare: functions, classes, enumerations."""
    names: dict[str, set[str]] = {}
    for header in _headers([library]):
        for namespace, function in header.functions:
            names.setdefault(namespace, set()).add((*function.scope, function.name)[0])
        for described in header.classes.values():
            names.setdefault(described.namespace, set()).add(described.scope[0])
        for enumeration in header.enumerations:
            names.setdefault(enumeration.namespace, set()).add(enumeration.scope[0])
    return names


def _has(owner: Any, name: str) -> bool:
    """Whether a class or module has a name: fields of records and what a constructor sets included."""
    fields = {field for base in getattr(owner, "__mro__", ()) for field in getattr(base, "__annotations__", {})}
    constructor = getattr(getattr(owner, "__init__", None), "__code__", None)
    listed = owner.__dir__(object.__new__(owner)) if "__dir__" in vars(owner) else ()
    return (
        hasattr(owner, name) or name in {*fields, *listed} or (constructor is not None and name in constructor.co_names)
    )


def _python(namespace: str, *path: str) -> Any:
    """What the simulator has in the place of a name of C++."""
    module, name = GENERATE.place(namespace, *path)
    return reduce(getattr, name.split(".") if name else [], importlib.import_module(module))


def _headers(libraries: Iterable[str]) -> Iterator[Any]:
    for library in libraries:
        for path in sorted((INCLUDE / library).glob("*.hpp")):
            yield GENERATE.read(path.read_text(encoding="utf-8"))


def test_each_forwarded_name_is_one_of_the_simulator() -> None:
    lost = []
    count = 0
    for path in sorted(INCLUDE.rglob("*.hpp")):
        for namespace, function in GENERATE.read(path.read_text(encoding="utf-8")).functions:
            constructor = function.scope and function.name == function.scope[-1]
            owner = _python(namespace, *(function.scope[:-1] if constructor else function.scope))
            count += 1
            if not _has(owner, GENERATE.PYTHON_NAMES.get(function.name, function.name)):
                lost.append(f"{path.name}: {'.'.join(function.scope)} {function.name}")
    assert lost == []
    assert count > 600


def test_the_members_of_enumerations_are_those_of_the_simulator() -> None:
    for path in sorted(INCLUDE.rglob("*.hpp")):
        for enumeration in GENERATE.read(path.read_text(encoding="utf-8")).enumerations:
            if GENERATE.first(enumeration.namespace) in GENERATE.MODULES:
                members = _python(enumeration.namespace, *enumeration.scope).__members__
                names = [GENERATE.PYTHON_NAMES.get(name, name) for name in enumeration.members]
                assert names == list(members), enumeration.scope


def _rows_of_the_seeds() -> list[str]:
    """The names of the public functions that the seeds document, one for each overload."""
    with (ROOT / "tests" / "stubs" / "public_names.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["excluded"] != "private"]
    names = [row["python"].rpartition(".")[2] for row in rows]
    return [name for name in names if name not in ("__init__", "__del__", "getImpl")]


def test_each_public_function_of_graph_and_engine_is_declared() -> None:
    text = "".join((INCLUDE / "poplar" / f"{name}.hpp").read_text() for name in ("Graph", "Engine", "Executable"))
    assert set(_rows_of_the_seeds()) - set(re.findall(r"\b(\w+)\(", text)) == set()


def test_the_programs_call_each_public_function_as_often_as_it_has_overloads() -> None:
    text = "".join((PROGRAMS / f"{chapter}_chapter.cpp").read_text() for chapter in ("graph", "engine"))
    overloads = Counter(_rows_of_the_seeds())
    calls = {name: len(re.findall(rf"\b{name}\b(?:<[^;()]*>)?\(", text)) for name in overloads}
    assert {name: calls[name] for name, count in overloads.items() if calls[name] < count} == {"ConnectionDesc": 0}
    assert "Connection(" in text


def test_each_public_name_of_the_simulator_is_declared() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (INCLUDE / "poplar").glob("*.hpp"))
    declared = set(re.findall(r"\w+", text))
    modules = [importlib.import_module(name) for name in ("simulator.poplar", "simulator.poplar.program")]
    names = {name for module in modules for name in module.__all__}
    assert names - declared - ELSEWHERE == set()


def test_each_public_name_of_poplibs_is_declared() -> None:
    lacking = set()
    for library in POPLIBS:
        package = importlib.import_module(GENERATE.MODULES[library])
        texts = [path.read_text(encoding="utf-8") for path in sorted((INCLUDE / library).glob("*.hpp"))]
        text = "".join(GENERATE.expanded(text) for text in texts)
        lacking |= _public_names(package, package) - set(re.findall(r"\w+", text))
        declared = _declared(library)
        shared = declared.get(library, set()) | set(re.findall(r"^inline \w+ (\w+)\(", text, re.MULTILINE))
        for name, module in vars(package).items():
            inner = f"{library}::{name.rstrip('_')}"
            if inspect.ismodule(module) and inner in declared:
                lacking |= _public_names(module, package) - declared[inner] - shared
    assert lacking == PYTHONS_OWN.keys()


def test_the_table_of_the_documentation_names_the_headers_of_poplibs() -> None:
    table = (ROOT / "docs" / "cpp.md").read_text(encoding="utf-8")
    for library in POPLIBS:
        (row,) = re.findall(rf"^\| `{library}/` \|(.*)\|$", table, re.MULTILINE)
        assert re.findall(r"`(\w+)`", row) == sorted(path.stem for path in (INCLUDE / library).glob("*.hpp"))


def test_each_function_of_poplibs_is_called_by_a_program() -> None:
    programs = [*PROGRAMS.glob("*.cpp"), *(ROOT / "examples" / "cpp").glob("*.cpp")]
    text = "".join(GENERATE.expanded(path.read_text(encoding="utf-8")) for path in sorted(programs))
    lost = []
    for header in _headers(POPLIBS):
        for namespace, function in header.functions:
            constructed = function.scope and function.name in (function.scope[-1], "operator()")
            name = rf"(\.|::){function.name}" if function.scope else rf"\b{namespace.split('::')[-1]}::{function.name}"
            if not constructed and not re.search(rf"{name}\(", text):
                lost.append(f"{namespace}::{function.name}")
    assert lost == []


def test_another_python_flag_or_header_compiles_again(tmp_path, monkeypatch) -> None:
    build = _native("build")
    source, header, settings = (tmp_path / name for name in ("source.cpp", "header.hpp", "settings.txt"))
    for path in (source, header):
        path.touch()
    compiled = []
    seconds = itertools.count(time.time_ns() + 10**12, 10**9)  # files of one tick would count as changed

    def stamp(path: Path) -> None:
        moment = next(seconds)
        os.utime(path, ns=(moment, moment))

    def compile_source(source: Path, target: Path, generated: Path) -> bool:
        target.touch()
        stamp(target)
        target.with_suffix(".d").write_text(f"{target}: {source} \\\n {header}\n")
        compiled.append(source)
        return True

    def build_with(flag: str) -> int:
        monkeypatch.setattr(build, "flags", lambda generated: [flag])
        before = settings.stat().st_mtime_ns if settings.exists() else 0
        GENERATE.write_changed(settings, build.settings(tmp_path))
        if settings.stat().st_mtime_ns != before:
            stamp(settings)
        assert build.compile_sources([source], tmp_path, tmp_path)
        return len(compiled)

    monkeypatch.setattr(build, "compile_source", compile_source)
    assert build_with("-O1") == build_with("-O1") == 1
    assert build_with("-O2") == 2
    monkeypatch.setattr(build.sys, "version", "another Python")
    assert build_with("-O2") == 3
    stamp(header)
    assert build_with("-O2") == build_with("-O2") == 4
