"""The headers' names: each is one of the simulator's, and those of the seeds are all there. Needs no compiler."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import re
import sys
from functools import reduce
from pathlib import Path
from typing import Any

from tests.cpp.building import ROOT

INCLUDE = ROOT / "native" / "include"

#: What Python has and the headers of Graph and Engine lack; docs/cpp.md says so.
LACKING = {"setInitCallback"}


def _native(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"native_{name}", ROOT / "native" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


GENERATE = _native("generate")


def _has(owner: Any, name: str) -> bool:
    """Whether a class or module has a name: fields of records and what a constructor sets included."""
    fields = {field for base in getattr(owner, "__mro__", ()) for field in getattr(base, "__annotations__", {})}
    made = getattr(getattr(owner, "__init__", None), "__code__", None)
    return hasattr(owner, name) or name in fields or (made is not None and name in made.co_names)


def test_each_forwarded_name_is_one_of_the_simulator() -> None:
    lost = []
    count = 0
    for path in sorted(INCLUDE.rglob("*.hpp")):
        for namespace, function in GENERATE.read(path.read_text(encoding="utf-8")).functions:
            module = importlib.import_module(GENERATE.MODULES[namespace])
            constructor = function.scope and function.name == function.scope[-1]
            owner = reduce(getattr, function.scope[:-1] if constructor else function.scope, module)
            count += 1
            if not _has(owner, GENERATE.PYTHON_NAMES.get(function.name, function.name)):
                lost.append(f"{path.name}: {'.'.join(function.scope)} {function.name}")
    assert lost == []
    assert count > 600


def test_the_members_of_enumerations_are_those_of_the_simulator() -> None:
    for path in sorted(INCLUDE.rglob("*.hpp")):
        for enumeration in GENERATE.read(path.read_text(encoding="utf-8")).enumerations:
            if enumeration.namespace in GENERATE.MODULES:
                module = importlib.import_module(GENERATE.MODULES[enumeration.namespace])
                members = reduce(getattr, enumeration.scope, module).__members__
                names = [GENERATE.PYTHON_NAMES.get(name, name) for name in enumeration.members]
                assert names == list(members), enumeration.scope


def test_each_public_function_of_graph_and_engine_is_declared() -> None:
    text = "".join((INCLUDE / "poplar" / f"{name}.hpp").read_text() for name in ("Graph", "Engine", "Executable"))
    declared = set(re.findall(r"\b(\w+)\(", text))
    with (ROOT / "tests" / "stubs" / "public_names.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["excluded"] != "private"]
    names = {row["python"].rpartition(".")[2] for row in rows} - {"__init__", "__del__", "getImpl"}
    assert names - declared == LACKING


def test_another_python_or_flag_compiles_everything_again(tmp_path, monkeypatch) -> None:
    build = _native("build")
    source = tmp_path / "source.cpp"
    source.touch()
    (tmp_path / "tables.hpp").touch()
    compiled = []

    def compile_source(source: Path, target: Path, generated: Path) -> bool:
        target.touch()
        compiled.append(source)
        return True

    def build_with(flag: str) -> int:
        monkeypatch.setattr(build, "flags", lambda generated: [flag])
        GENERATE.write_changed(tmp_path / "settings.txt", build.settings(tmp_path))
        assert build.compile_sources([source], tmp_path, tmp_path)
        return len(compiled)

    monkeypatch.setattr(build, "compile_source", compile_source)
    assert build_with("-O1") == build_with("-O1") == 1
    assert build_with("-O2") == 2
    monkeypatch.setattr(build.sys, "version", "another Python")
    assert build_with("-O2") == 3
