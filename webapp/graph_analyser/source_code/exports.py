"""Figures of the lines of a file and of the files, as tables that the Source page saves.

/data/<key>/table/source-lines.csv?file=NAME&ipu=0&vs=KEY       a row per line with programs or variables
/data/<key>/table/source-files.csv?ipu=0                        a row per file, most cycles first
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dash import Dash

from popvision.analysis.report.figure import Table
from popvision.analysis.report.figure_titles import column_of, viewer_frame
from popvision.analysis.source_code.lines import file_table, line_figures, line_table
from popvision.analysis.source_code.rows import row_texts, source_rows
from webapp.base.library import Library
from webapp.base.query import optional_number_of
from webapp.components import add_difference, register_export

if TYPE_CHECKING:
    from pandas import DataFrame

    from popvision.analysis.report.source import ReportSource

#: Figures of a line, and their names.
_NAMES = {figure: column_of("source_lines", figure) for figure in ("cycles", "live", "received")}
_COUNTS = ("executions", "programs", "variables")


def register(app: Dash, library: Library) -> None:
    """The routes of both tables."""
    register_export(app, library, "source-lines", lines)
    register_export(app, library, "source-files", files)


def files(source: ReportSource, _target: ReportSource | None, query: Mapping[str, str]) -> DataFrame:
    """The last row, whose file is empty, is what no line made."""
    return viewer_frame(file_table(source, ipu_of(source, query)))


def lines(source: ReportSource, target: ReportSource | None, query: Mapping[str, str]) -> DataFrame:
    """The figures of each line and its text; of a pair both sides, with target - source; a report that has nothing
    of a line counts 0 there."""
    import pandas as pd

    file = query.get("file", "")
    rows = source_rows(source, file, target)
    ours = _figures(line_table(source, file, ipu_of(source, query)))
    texts = row_texts(source, rows, 0, len(rows.source), target)
    if target is None:
        shown = pd.DataFrame({"line": rows.source, "text": texts})
        return ours.merge(shown, on="line", how="left")
    theirs = line_table(target, rows.target_file, ipu_of(target, query)) if rows.target_file else None
    if theirs is None:
        other = ours.iloc[:0]
        pairs = pd.DataFrame({"line_source": rows.source, "line_target": 0, "text": texts})
    else:
        other = _figures(theirs)
        pairs = pd.DataFrame({"line_source": rows.source, "line_target": rows.target, "text": texts})
    for side, table in (("source", ours), ("target", other)):
        pairs = pairs.merge(table.add_suffix(f"_{side}"), on=f"line_{side}", how="left")
    fields = [*_NAMES.values(), *_COUNTS]
    has_figures = pairs[[f"{each}_{side}" for each in fields for side in ("source", "target")]].notna().any(axis=1)
    compared = add_difference(_in_full(pairs[has_figures], source, target), *fields)
    numbers = [
        "line_source",
        "line_target",
        *(f"{each}_{part}" for each in fields for part in ("source", "target", "diff")),
    ]
    return compared[[*numbers, "text"]].astype(dict.fromkeys(numbers, "Int64"))


def _in_full(pairs: DataFrame, source: ReportSource, target: ReportSource) -> DataFrame:
    """The pairs with 0 where a report that recorded the figure has nothing of the line."""
    columns = {}
    for side, report in (("source", source), ("target", target)):
        absent = pairs[f"programs_{side}"].isna()
        known = line_figures(report)
        for field in _COUNTS:
            columns[f"{field}_{side}"] = pairs[f"{field}_{side}"].mask(absent, 0)
        for figure, field in _NAMES.items():
            if getattr(known, figure) is not None:
                columns[f"{field}_{side}"] = pairs[f"{field}_{side}"].mask(absent, 0)
    return pairs.assign(**columns)


def ipu_of(source: ReportSource, query: Mapping[str, str]) -> int | None:
    """The IPU that `ipu` of a query names; None for the busiest one, and where the report has no such IPU."""
    ipu = optional_number_of(query, "ipu")
    return ipu if ipu is None or ipu < source.reader.target().num_ipus else None


def _figures(table: Table) -> DataFrame:
    return viewer_frame(table)[["line", *_NAMES.values(), *_COUNTS]]
