"""docs/api.md names every public name of the API."""

import enum
import inspect
import re
from pathlib import Path
from typing import get_overloads

import simulator.poplar
from simulator.poplar import program

TEXT = (Path(__file__).parents[2] / "docs/api.md").read_text()
WORDS = set(re.findall(r"\w+", TEXT))

#: Beyond Poplar, for our compiler and library; values rather than programs; the base of two programs.
OURS = {"LibraryGroup", "PrintTensorFmt", "FloatFormat", "SyncType", "RepeatWhile", "Program", "dumpProgram"}
OURS |= {"ConnectionDesc", "HostFunctionArgument"}


def test_every_public_name_is_in_the_document() -> None:
    for module in (simulator.poplar, program):
        assert [name for name in module.__all__ if name not in WORDS] == []


def test_every_method_of_poplars_classes_is_in_the_document() -> None:
    classes = {getattr(m, name) for m in (simulator.poplar, program) for name in m.__all__}
    missing = {  # of our own code: what dict and int bring is Python's
        f"{made.__name__}.{name}"
        for made in classes
        if inspect.isclass(made) and not issubclass(made, BaseException | enum.Enum)
        for base in made.__mro__
        if base.__module__.startswith("simulator.")
        for name in vars(base)
        if not name.startswith("_") and callable(getattr(made, name)) and name not in WORDS
    }
    assert missing == set()


def test_every_argument_of_graph_programs_and_engine_has_a_row() -> None:
    rows = named_in_rows()
    missing = []
    for name, call in [
        *inspect.getmembers(simulator.poplar.Graph),
        *inspect.getmembers(simulator.poplar.Engine),
        *((n, getattr(simulator.poplar, n)) for n in ("Engine", "compileGraph", "compileModule")),
        *((n, getattr(program, n)) for n in program.__all__),
    ]:
        if name.startswith("_") or name in OURS or not callable(call):
            continue
        call = inspect.unwrap(call.__init__ if inspect.isclass(call) else call)
        if not inspect.isfunction(call):
            continue
        for form in get_overloads(call) or [call]:
            parameters = inspect.signature(form).parameters.keys() - {"self", "debugContext", "named", "names"}
            missing += [f"{name}.{each}" for each in parameters if each not in rows.get(name, set())]
    assert missing == []


def named_in_rows() -> dict[str, set[str]]:
    """The arguments that the tables of docs/api.md name, by call; a row without a call belongs to the one above."""
    rows: dict[str, set[str]] = {}
    calls: list[str] = []
    for line in TEXT.split("## Every argument")[1].split("\n## ")[0].splitlines():
        cells = line.split("|")
        if len(cells) == 6:
            calls = re.findall(r"`(\w+)`", cells[1]) or calls
            for call in calls:
                rows.setdefault(call, set()).update(re.findall(r"`(\w+)`", cells[2]))
    return rows
