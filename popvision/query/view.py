"""A documented view: its columns with units, and the SELECT behind it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """`sql` is the expression over the view's tables; `unit` "" for ids, names and counts."""

    name: str
    sql: str
    unit: str
    about: str


@dataclass(frozen=True)
class View:
    """`source` is what stands behind FROM. `fast`: which filter keeps it fast on large reports, "" where none is
    needed."""

    name: str
    about: str
    columns: tuple[Column, ...]
    source: str
    fast: str = ""

    @property
    def select(self) -> str:
        """The query that the view stands for."""
        return f"SELECT {', '.join(f'{each.sql} AS {each.name}' for each in self.columns)} FROM {self.source}"


def view(name: str, about: str, source: str, columns: str, fast: str = "") -> View:
    """A view from a text with one line per column: "name | expression | unit | meaning"."""
    rows = [[part.strip() for part in line.split("|", 3)] for line in columns.strip().splitlines()]
    return View(name, about, tuple(Column(*row) for row in rows), " ".join(source.split()), fast)
