"""DataFrames that carry their units and their provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popvision.analysis.report.figure_titles import opened_frame
from popvision.analysis.report.origin import provenance_line
from popvision.formats.errors import FormatError, NotRecordedError

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource
    from popvision.questions import Answer

#: Suffix of a column's name -> its unit.
UNITS = {
    "_bytes": "bytes",
    "_cycles": "tile clock cycles",
    "_cycle": "tile clock cycles since the first recorded run began",
    "_us": "microseconds",
    "_ns": "nanoseconds",
    "_hz": "hertz",
    "_share": "part of the whole, 0 to 1",
    "_bytes_per_cycle": "bytes per tile clock cycle",
    "_percent": "percent",
    "_flops": "floating point operations",
    "flops": "floating point operations",
}

#: Unit of columns that hold a time on the host's clock.
SINCE_EPOCH = "microseconds since the epoch, host clock"


def unit_of(column: str) -> str:
    """The unit that a column's name gives; "" for ids, names and counts."""
    if column.startswith("host_start"):
        return SINCE_EPOCH
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
    """The rows of an answer; `attrs` "units", "provenance" and its facts."""
    return labelled(opened_frame(answer.table), report_provenance(source), **answer.facts)


def report_provenance(source: ReportSource) -> str:
    """The producer of the report; its path alone where the report has none."""
    try:
        return provenance_line(source)
    except (FormatError, NotRecordedError):
        return f"Profile: {source.reader.path}"
