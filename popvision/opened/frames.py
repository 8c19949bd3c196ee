"""DataFrames that carry their units and their provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popvision.analysis.report.figure_titles import opened_column, opened_frame
from popvision.analysis.report.origin import provenance_line
from popvision.analysis.report.table_columns import UNIT_WORDS
from popvision.formats.errors import FormatError, NotRecordedError

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource
    from popvision.questions import Answer

#: Suffix of a column's name -> its unit.
UNITS = {
    "_bytes": UNIT_WORDS["bytes"],
    "_cycles": UNIT_WORDS["cycles"],
    "thread_cycles": UNIT_WORDS["thread_cycles"],
    "_cycle": UNIT_WORDS["cycle"],
    "_us": UNIT_WORDS["microseconds"],
    "_ns": "nanoseconds",
    "_hz": "hertz",
    "_share": UNIT_WORDS["share"],
    "_bytes_per_cycle": UNIT_WORDS["bytes_per_cycle"],
    "_percent": UNIT_WORDS["percent"],
    "flops": UNIT_WORDS["flops"],
}


def unit_of(column: str) -> str:
    """The unit that a column's name gives; "" for ids, names and counts."""
    if column.startswith("host_start"):
        return UNIT_WORDS["host_us"]
    ends = [end for end in UNITS if column.endswith(end)]
    return UNITS[max(ends, key=len)] if ends else ""


def units_of(columns: Any) -> dict[str, str]:
    """Column -> unit, for columns that have one."""
    return {str(each): unit_of(str(each)) for each in columns if unit_of(str(each))}


def frame(columns: Mapping[str, Any], provenance: str, **facts: Any) -> pd.DataFrame:
    """A DataFrame with `attrs` "units", "provenance" and the given facts."""
    import pandas as pd

    return labelled(pd.DataFrame(dict(columns)), provenance, **facts)


def labelled(table: pd.DataFrame, provenance: str, **facts: Any) -> pd.DataFrame:
    """The same frame with these `attrs`."""
    attributes: dict[Any, Any] = {"units": units_of(table.columns), "provenance": provenance}
    table.attrs = attributes | facts
    return table


def answer_frame(source: ReportSource, answer: Answer) -> pd.DataFrame:
    """The rows of an answer; `attrs` "units" (those of its figures), "provenance" and its facts."""
    units = {opened_column(answer.table, figure): UNIT_WORDS.get(figure.unit, "") for figure in answer.table}
    frame = opened_frame(answer.table)
    known = {column: unit for column, unit in units.items() if unit}
    attributes: dict[Any, Any] = {"units": known, "provenance": report_provenance(source)}
    frame.attrs = attributes | dict(answer.facts)
    return frame


def report_provenance(source: ReportSource) -> str:
    """The producer of the report; its path alone where the report has none."""
    try:
        return provenance_line(source)
    except (FormatError, NotRecordedError):
        return f"Profile: {source.reader.path}"
