"""Questions about the program's source: its files and lines, and debug contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from popvision.analysis.report.figure_titles import opened_frame
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.lines import file_table, line_table, places
from popvision.opened.frames import report_frame, report_table

if TYPE_CHECKING:
    import pandas as pd


def source_files(source: ReportSource, ipu: int | None = None) -> pd.DataFrame:
    """A row per source file of the program, most cycles first: file ("" = not attributed), lines (with programs or
    variables), total_cycles, received_bytes, live_bytes (at the peak).

    Raises NotRecordedError without debug information."""
    return report_table(source, opened_frame(file_table(source, ipu)))


def source_lines(source: ReportSource, file: str, ipu: int | None = None) -> pd.DataFrame:
    """A row per line of a file with programs or variables: line, total_cycles, received_bytes, live_bytes, executions,
    programs, variables."""
    if file not in set(places(source).file):
        raise ValueError(f"no program or variable comes from the file {file[:200]!r}; source_files() lists the files")
    return report_table(source, opened_frame(line_table(source, file, ipu)), file=file)


def debug_contexts(source: ReportSource) -> pd.DataFrame:
    """A row per debug context: debug_id, layer, name, file, line (0 = unknown), parents (a list of ids), arguments (a
    dict). Empty without debug information of this run."""
    contexts = source.debug
    records = [contexts.record(each) for each in contexts]
    names = {"debug_id": "id"} | {name: name for name in ("layer", "name", "file", "line", "parents", "arguments")}
    return report_frame(source, {name: [record[key] for record in records] for name, key in names.items()})
