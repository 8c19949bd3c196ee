"""The columns of a table, declared once: a line each with id, unit and meaning.

    TILES = columns("tiles", '''
        tile                 | id    | tile, counted over all IPUs
        including_gaps_bytes | bytes | Including gaps: highest used address
    ''')
    TILES.table(tile=numbers, including_gaps_bytes=sizes)

The line is the only home of a column: frames, SQL, exports, pages and documents take name, unit, title and meaning from
it. `columns` enters it in the catalogue (`figure_titles.TITLES`), so that a table is shown under declared names alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast, get_args

from popvision.analysis.report.figure import Figure, Table, Unit, Values
from popvision.analysis.report.figure_titles import TITLES, column_of
from popvision.analysis.report.titles.figure_title import FigureTitle

#: Unit -> its name in words. A unit that is not listed needs none: ids, names, counts.
UNIT_WORDS: dict[Unit, str] = {
    "bytes": "bytes",
    "bytes_change": "bytes",
    "cycles": "tile clock cycles",
    "mean_cycles": "tile clock cycles",
    "thread_cycles": "cycles of a worker thread",
    "cycle": "tile clock cycles since the first recorded run began",
    "flops": "floating point operations",
    "share": "part of the whole, 0 to 1",
    "percent": "percent",
    "bytes_per_cycle": "bytes per tile clock cycle",
    "microseconds": "microseconds",
    "host_us": "microseconds since the epoch, host clock",
}


@dataclass(frozen=True)
class TableColumn:
    """A declared column. In `id`, "{place}" stands for the place of a figure that a table has several times."""

    id: str
    unit: Unit
    title: str
    meaning: str

    @property
    def unit_words(self) -> str:
        """The unit in words; "" for ids, names and counts."""
        return UNIT_WORDS.get(self.unit, "")


@dataclass(frozen=True)
class Columns:
    """The declared columns of the table `id`, in their order."""

    id: str
    columns: tuple[TableColumn, ...]

    def __iter__(self) -> Iterator[TableColumn]:
        return iter(self.columns)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the columns, in their order."""
        return tuple(column.id for column in self.columns)

    def __getitem__(self, id: str) -> TableColumn:
        """The column of that id. Raises KeyError."""
        for column in self.columns:
            if column.id == id:
                return column
        raise KeyError(f"table {self.id} declares no column {id!r}")

    def table(self, **values: Values) -> Table:
        """The table with these values by column. Raises KeyError unless exactly the declared columns have values."""
        if unknown := values.keys() - {column.id for column in self.columns}:
            raise KeyError(f"table {self.id} declares no column {', '.join(sorted(unknown))}")
        return Table(self.id, [Figure(column.id, column.unit, values[column.id]) for column in self.columns])

    def figure(self, id: str, values: Values, place: str = "") -> Figure:
        """One column with its values, at a place."""
        column = self[id]
        return Figure(column.id, column.unit, values, place)


def catalogued(table: str, units: Mapping[str, Unit]) -> Columns:
    """The columns of a table whose figures stand in the catalogue already, named as in frames."""
    entries = TITLES[table]
    named = ((column_of(table, id), unit, entries[id]) for id, unit in units.items())
    return Columns(
        table, tuple(TableColumn(name, unit, entry.title, entry.hint or entry.title) for name, unit, entry in named)
    )


def columns(id: str, lines: str) -> Columns:
    """Declare the columns of the table `id`; a line is "id | unit | meaning" or "id | unit | Title: meaning".

    Raises ValueError for a table that is declared twice or a line that cannot be read."""
    declared = Columns(id, tuple(_column(line) for line in lines.splitlines() if line.strip()))
    if id in TITLES:
        raise ValueError(f"the columns of table {id} are declared twice")
    TITLES[id] = {column.id: FigureTitle(column.title, column.meaning) for column in declared}
    return declared


def _column(line: str) -> TableColumn:
    id, unit, text = (part.strip() for part in line.split("|", 2))
    if unit not in get_args(Unit):
        raise ValueError(f"{unit!r} is no unit: {line.strip()}")
    title, colon, meaning = text.partition(": ")
    if not colon or not title[:1].isupper():
        title, meaning = _title_of(id), text
    return TableColumn(id, cast(Unit, unit), title, meaning)


def _title_of(id: str) -> str:
    """The title that an id gives: "gaps_bytes" is "Gaps"."""
    words = id.removesuffix("_bytes").removesuffix("_cycles").replace("_", " ")
    return words[:1].upper() + words[1:]
