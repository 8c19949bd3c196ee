"""A documented view: its columns with units, and its SELECT."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """`sql` is an expression over the view's tables; `unit` is "" for ids, names and counts."""

    name: str
    sql: str
    unit: str
    about: str


@dataclass(frozen=True)
class View:
    """`source` is the FROM clause. `fast` is the filter that keeps the view fast on large reports, "" for none."""

    name: str
    about: str
    columns: tuple[Column, ...]
    source: str
    fast: str = ""

    @property
    def select(self) -> str:
        """The view as a SELECT."""
        return f"SELECT {', '.join(f'{each.sql} AS {each.name}' for each in self.columns)} FROM {self.source}"


def view(name: str, about: str, source: str, columns: str, fast: str = "") -> View:
    """Parse a view; `columns` has a line per column: "name | expression | unit | meaning"."""
    rows = [[part.strip() for part in line.split("|", 3)] for line in columns.strip().splitlines()]
    return View(name, about, tuple(Column(*row) for row in rows), " ".join(source.split()), fast)
