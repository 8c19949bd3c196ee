"""The content of an exported view: facts, curves, pictures, tables and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.base.arrays import AnyArray
from webapp.components.message import CHECKED_PART

#: Kinds of columns with names from the report, which `--confidential` replaces (confidential.py).
NAME_KINDS = (
    *("program", "operation", "variable", "compute set", "vertex type", "file", "report", "run", "value", "code"),
    *("thread", "label", "channel", "line graph", "line"),
)


@dataclass(frozen=True)
class Field:
    """A column of a table. `kind`: "integer", "bytes", "cycles", "percent" (of 0..1), "decimal", "text" (words of the
    viewer), or one of NAME_KINDS. `help` explains it where the pointer rests on its title."""

    name: str
    title: str
    kind: str = "text"
    help: str = ""


@dataclass(frozen=True)
class Facts:
    """Rows of label, value, and exact value or formula ("" = none)."""

    rows: Sequence[tuple[str, str, str]]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """`rows` are dicts by field; `total` is the number of all rows when the table is cut."""

    title: str
    fields: Sequence[Field]
    rows: Sequence[dict[str, Any]]
    total: int = -1


@dataclass(frozen=True)
class Curves:
    """Values over positions from 0, one array per name, all with the same unit; drawn as steps."""

    title: str
    x_title: str
    names: Sequence[str]
    values: Sequence[AnyArray]
    unit: str = "bytes"
    first: int = 0  #: number of the first position
    marked: Sequence[int] = ()  #: selected positions
    colours: Sequence[int] = ()  #: number of each curve's colour, 1 to 6; by default 1, 2, ...
    filled: bool = False  #: whether curves are areas; a later one is drawn over those before it

    @property
    def series(self) -> Sequence[int]:
        """Number of each curve's colour."""
        return self.colours or [index % 6 + 1 for index in range(len(self.names))]


@dataclass(frozen=True)
class Axis:
    """An axis of a picture: `count` positions from the number `first`."""

    title: str
    first: int
    count: int


@dataclass(frozen=True)
class Reading:
    """What a part of a picture says under the mouse; its place in shares of the picture, 0..1 from the upper left."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


@dataclass(frozen=True)
class Picture:
    """A PNG image with its legend as (colour class, text); `across` and `down` are the axes below and beside it."""

    title: str
    png: bytes
    alt: str
    legend: Sequence[tuple[str, str]] = ()
    note: str = ""
    across: Axis | None = None
    down: Axis | None = None
    readings: Sequence[Reading] = ()


@dataclass(frozen=True)
class Drawing:
    """A complete SVG, escaped by its maker, with the names of its lines."""

    title: str
    svg: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Note:
    """A sentence about missing or omitted content."""

    text: str


Block = Facts | Table | Curves | Picture | Drawing | Note


@dataclass(frozen=True)
class Document:
    """An exported view. `provenance` are (label, value) about its origin, `lost` the losses of a damaged report."""

    title: str
    report: str
    provenance: Sequence[tuple[str, str]]
    blocks: Sequence[Block]
    lost: Sequence[str] = field(default_factory=list)
    damage: str = f"This report is damaged. {CHECKED_PART}"  #: is said above `lost`
