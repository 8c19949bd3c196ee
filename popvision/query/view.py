"""A documented view: its columns with units, and its SELECT."""

from __future__ import annotations

from dataclasses import dataclass

from popvision.analysis.report.table_columns import Columns


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
        columns = ", ".join(f'{column.sql} AS "{column.name}"' for column in self.columns)
        return f"SELECT {columns} FROM {self.source}"


def view(name: str, about: str, source: str, columns: str, of: Columns | None = None, fast: str = "") -> View:
    """Parse a view; `columns` has a line per column: "name | expression", with unit and meaning as declared in `of`, or
    "name | expression | unit | meaning" for one that no question has.

    Raises ValueError for a line that cannot be read, KeyError for a column that is not declared."""
    return View(
        name, about, tuple(_column(line, of) for line in columns.strip().splitlines()), " ".join(source.split()), fast
    )


def _column(line: str, of: Columns | None) -> Column:
    parts = [part.strip() for part in line.split("|", 3)]
    if len(parts) == 4:
        return Column(*parts)
    name, sql = parts
    if of is None:
        raise ValueError(f"{name} is no column of a question: give its unit and its meaning")
    return Column(name, sql, of[name].unit_words, of[name].meaning)
