"""What a view says, without its controls: facts, curves, pictures and tables, ready to be written as one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.arrays import AnyArray

#: Kinds of columns whose texts are names from the report: `--confidential` replaces them (confidential.py).
NAME_KINDS = ("program", "operation", "variable", "compute set", "vertex type", "file", "run", "value", "code")


@dataclass(frozen=True)
class Field:
    """A column of a table. `kind`: "integer", "bytes", "cycles", "percent" (of 0..1), "decimal", "text" (our own
    words), or one of NAME_KINDS."""

    name: str
    title: str
    kind: str = "text"


@dataclass(frozen=True)
class Facts:
    """Label, value, and the exact value or formula behind it ("" = none)."""

    rows: Sequence[tuple[str, str, str]]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """`rows` are dicts by field; `total` rows there are in all, where the table is cut."""

    title: str
    fields: Sequence[Field]
    rows: Sequence[dict[str, Any]]
    total: int = -1


@dataclass(frozen=True)
class Curves:
    """Values against positions 0.., one array per name, all of one unit; drawn as steps."""

    title: str
    x_title: str
    names: Sequence[str]
    values: Sequence[AnyArray]
    unit: str = "bytes"
    first: int = 0  #: what the first position is called
    marked: Sequence[int] = ()  #: selected positions


@dataclass(frozen=True)
class Picture:
    """An image as PNG, its legend as (class of colour, text)."""

    title: str
    png: bytes
    alt: str
    legend: Sequence[tuple[str, str]] = ()
    note: str = ""


@dataclass(frozen=True)
class Note:
    """A sentence: what is missing, or what a block leaves out."""

    text: str


Block = Facts | Table | Curves | Picture | Note


@dataclass(frozen=True)
class Document:
    """A view of a report. `provenance` are (label, value) about its origin; `lost` what damage has cost."""

    title: str
    report: str
    provenance: Sequence[tuple[str, str]]
    blocks: Sequence[Block]
    lost: Sequence[str] = field(default_factory=list)
