"""Titles, help and names of figures, by table and id.

The viewer, `popvision.open` and the command line read `TITLES[table][figure]`, whose entries stand in the modules of
titles/. A figure that is not listed is an error, so that nothing is shown under a guessed name or unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from popvision.analysis.report.figure import Figure, Table
from popvision.analysis.report.titles.execution import OF_EXECUTION
from popvision.analysis.report.titles.figure_title import FigureTitle
from popvision.analysis.report.titles.memory import OF_MEMORY
from popvision.analysis.report.titles.programs import OF_PROGRAMS

if TYPE_CHECKING:
    import pandas as pd


class UnknownFigureError(KeyError):
    """A table or a figure that the catalogue does not list."""


TITLES: dict[str, dict[str, FigureTitle]] = OF_PROGRAMS | OF_MEMORY | OF_EXECUTION

#: What every table of two reports has (compare/join.py).
_OF_JOINS = {
    "matched": FigureTitle(
        "Matched by", "Rule that matched the rows: debug identity, name or order; empty = unmatched"
    ),
    "in_report": FigureTitle("In", "The report that has the row: both, source or target alone"),
}


def figure_title(table: str, figure: str) -> FigureTitle:
    """The entry of a figure; "target_program" of a joined table is the program of the target. Raises
    UnknownFigureError, which says what to add where."""
    entries = TITLES.get(table, {})
    if (entry := entries.get(figure) or _OF_JOINS.get(figure)) is not None:
        return entry
    name = figure.removeprefix("target_")
    if name == figure or name not in entries:
        raise UnknownFigureError(f"add {figure!r} of table {table!r} to a module of analysis/report/titles")
    entry = entries[name]
    title = f"Target {entry.title[:1].lower()}{entry.title[1:]}"
    help = f"In the target: {entry.hint}" if entry.hint else "In the target"
    return FigureTitle(title, help, column=f"other_{entry.column or name}")


def placed(text: str, place: str) -> str:
    """A title or a name with its place."""
    if "{place}" in text:
        return text.replace("{place}", place)
    return f"{text}, {place}" if place else text


def heading(table: Table, figure: Figure) -> str:
    """The title of a column, with its place."""
    return placed(figure_title(table.id, figure.id).title, figure.place)


def field_of(table: Table, figure: Figure) -> str:
    """The name of a column in the viewer's tables and exports, such as "state_bytes, tile 5_source"."""
    name = placed(column_of(table.id, figure.id), figure.place)
    return f"{name}_{figure.side}" if figure.side else name


def column_of(table: str, figure: str) -> str:
    """The name of a column in frames of `popvision.open`. Raises UnknownFigureError."""
    return figure_title(table, figure).column or figure


def viewer_frame(table: Table) -> pd.DataFrame:
    """The table as the viewer shows and exports it. Raises UnknownFigureError."""
    import pandas as pd

    return pd.DataFrame({field_of(table, figure): figure.values for figure in table})


def opened_frame(table: Table) -> pd.DataFrame:
    """The table as `popvision.open` gives it; a figure of the other of two reports is "other_<name>". Raises
    UnknownFigureError, ValueError where a figure stands twice."""
    import pandas as pd

    columns = {opened_column(table, figure): figure.values for figure in table}
    if len(columns) < len(table.figures):
        raise ValueError(f"table {table.id} has a figure in several places: choose one")
    return pd.DataFrame(columns)


def opened_column(table: Table, figure: Figure) -> str:
    """The name of the column of a figure in `opened_frame`."""
    name = column_of(table.id, figure.id).replace("{place}", figure.place)
    return f"other_{name}" if figure.side == "target" else name
