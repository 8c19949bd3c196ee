"""The committed list of public names, public_names.csv, and which calls belong to which of its rows.

One row per signature of seeds 002 and 003:

    seed, line   where the signature stands
    signature    in C++
    python       the name in Python: `Class.method` or a function of simulator.poplar
    arguments    `name:Kind` in order, `name:Kind=` for one that may be missing, `*name:Kind` for one given by name only
    test         the test that claims the row: with the row's calls replaced by a no-op it must fail
    excluded     why a row has no counterpart: private, or C++ only

`calls(row, args, kwargs)` tells whether a call is one of a row's; `make stubs` replaces exactly these. Kinds are
classes of simulator.poplar or those of `_KINDS`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simulator import poplar

FILE = Path(__file__).with_name("public_names.csv")


@dataclass(frozen=True)
class Argument:
    name: str
    kind: str
    needed: bool
    by_name_only: bool


@dataclass(frozen=True)
class Row:
    seed: str
    line: int
    signature: str
    python: str
    arguments: tuple[Argument, ...]
    test: str
    excluded: str

    @property
    def key(self) -> str:
        return f"{self.seed}:{self.line}"


def rows() -> list[Row]:
    """All rows, in the order of the seeds."""
    with FILE.open(newline="") as file:
        return [_row(**r) for r in csv.DictReader(file)]


def _row(seed: str, line: str, signature: str, python: str, arguments: str, test: str, excluded: str) -> Row:
    return Row(seed, int(line), signature, python, _arguments(arguments), test, excluded)


def _arguments(text: str) -> tuple[Argument, ...]:
    out = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, kind = part.lstrip("*").split(":")
        out.append(Argument(name, kind.split("=")[0], "=" not in kind, part.startswith("*")))
    return tuple(out)


def owner_of(row: Row) -> tuple[Any, str]:
    """(the class or module that has the name, its last part)."""
    first, _, last = row.python.partition(".")
    return (getattr(poplar, first), last) if last else (poplar, first)


def calls(row: Row, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call with these arguments (without `self`) is one of the row's."""
    places = [a for a in row.arguments if not a.by_name_only]
    if len(args) > len(places) or set(kwargs) - {a.name for a in row.arguments}:
        return False
    given = {a.name: value for a, value in zip(places, args, strict=False)} | dict(kwargs)
    return all((not a.needed) if a.name not in given else is_a(a.kind, given[a.name]) for a in row.arguments)


def is_a(kind: str, value: Any) -> bool:
    """Whether a value is of a kind."""
    return _KINDS[kind](value) if kind in _KINDS else isinstance(value, getattr(poplar, kind))


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | range | np.ndarray | Mapping)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_ | poplar.QuarterMetadata) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


_KINDS: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "int": lambda value: isinstance(value, int | np.integer) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "str": lambda value: not isinstance(value, int) and not _is_list(value),  # vertex types and codelets too
    "list": _is_list,
    "dict": lambda value: isinstance(value, Mapping) or value is None,
    "Number": _is_number,
    "Array": lambda value: _is_list(value) and not _is_number(value),
    "Value": lambda value: _is_number(value) or (_is_list(value) and not isinstance(value, Mapping)),
    "File": lambda value: hasattr(value, "write") or hasattr(value, "read"),
    "Path": lambda value: not _is_list(value) and not hasattr(value, "read"),
    "Callable": lambda value: callable(value) or value is None,
    "Context": lambda value: isinstance(
        value, str | tuple | poplar.DebugContext | poplar.DebugInfo | poplar.DebugNameAndId
    ),
    "Program": lambda value: isinstance(value, poplar.program.Program),
    "TimerTimePoint": lambda value: hasattr(value, "host_ns"),
}


def save(tests: Mapping[str, str]) -> None:
    """Write other claims into the list, by the keys of rows."""
    with FILE.open(newline="") as file:
        reader = csv.DictReader(file)
        names, lines = list(reader.fieldnames or ()), list(reader)
    for line in lines:
        line["test"] = tests.get(f"{line['seed']}:{line['line']}", line["test"])
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
