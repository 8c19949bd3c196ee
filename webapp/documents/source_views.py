"""The document of the source view: files, and the lines of one with their figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.figure_titles import column_of, figure_title, viewer_frame
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.source_code.lines import (
    NOWHERE,
    LineFigures,
    at_line,
    file_table,
    line_figures,
    line_table,
    programs_of_line,
    variables_of_line,
)
from popvision.analysis.source_code.text import SourceText, source_text
from webapp.base.formats import bytes_text, cycles_text, percent_text
from webapp.base.query import whole_number
from webapp.base.view import ViewContext
from webapp.documents.confidential import Names
from webapp.documents.document import Block, Facts, Field, Note, Table
from webapp.documents.memory_views import figure_table, frame_table
from webapp.graph_analyser.source_code.page import chosen_file

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource

#: Lines of an exported file; of a longer file, only lines with programs or variables.
MOST_LINES = 5_000

_TAB = 8

_FIGURES = [
    Field(column_of("source_lines", id), figure_title("source_lines", id).title, kind)
    for id, kind in (("cycles", "cycles"), ("live", "bytes"), ("received", "bytes"))
]


def source_blocks(context: ViewContext, names: Names) -> list[Block]:
    """Figures outside all lines, the files, and the selected file: its text with figures, or in a confidential export
    only the numbers of lines with programs or variables."""
    source, ipu = context.source, context.selection.ipu
    if ipu is not None and ipu >= source.reader.target().num_ipus:
        ipu = None
    file = chosen_file(source, context.params.get("src_file", ""))
    if not file:
        return [Note("No debug context of this report names a source file and line.")]
    line_sums = line_figures(source, ipu)
    files = viewer_frame(file_table(source, ipu))
    fields = [Field("file", "File", "file"), Field("lines", "Lines with programs or variables", "integer"), *_FIGURES]
    blocks: list[Block] = [_unattributed(line_sums), *(Note(each) for each in line_sums.remarks)]
    blocks.append(frame_table("Files, most cycles first", files[files["file"] != ""], fields))
    return [*blocks, *_lines(source, file, ipu, names), *_parts(context, file)]


def _unattributed(line_sums: LineFigures) -> Block:
    rows = []
    for label, values, text in (
        (f"Cycles on IPU {line_sums.ipu}", line_sums.cycles, cycles_text),
        (f"Live at index {line_sums.peak_index}", line_sums.live, bytes_text),
        ("Received", line_sums.received, bytes_text),
    ):
        if values is not None:
            total, rest = int(values.sum()), int(values[NOWHERE])
            share = percent_text(rest / total if total else None)
            rows.append((label, text(total), f"{text(rest)} ({share}) not attributed to a line"))
    return Facts(rows)


def _lines(source: ReportSource, file: str, ipu: int | None, names: Names) -> list[Block]:
    lines = viewer_frame(line_table(source, file, ipu))
    text = source_text(source, file)
    title = f"Lines of {names.show('file', file)}"
    fields = [Field("line", "Line", "integer"), *_FIGURES]
    if names.confidential:
        note = Note("Texts are omitted; only lines with programs or variables are listed.")
        return [note, _cut(title, lines, fields)]
    notes = [Note(text.problem)] if text.problem else []
    if len(text.lines) > MOST_LINES:
        notes.append(Note(f"The file has {len(text.lines):,} lines; only those with programs or variables are listed."))
    if not text.lines:
        return [*notes, _cut(title, lines, fields)]
    return [*notes, _cut(title, _with_text(lines, text), [*fields, Field("text", "Text", "code")])]


def _with_text(figures_of_lines: pd.DataFrame, text: SourceText) -> pd.DataFrame:
    """All lines of the text, or of a long one those with figures; lines with figures beyond its end are included."""
    frame = figures_of_lines
    if len(text.lines) <= MOST_LINES:
        every = np.union1d(np.arange(1, len(text.lines) + 1), figures_of_lines["line"].to_numpy())
        frame = figures_of_lines.set_index("line").reindex(every).rename_axis("line").reset_index()
    lines = [text.lines[line - 1] if line <= len(text.lines) else "" for line in frame["line"].tolist()]
    return frame.assign(text=[each.expandtabs(_TAB) for each in lines])


def _cut(title: str, frame: pd.DataFrame, fields: list[Field]) -> Table:
    return frame_table(title, frame, fields, most=MOST_LINES)


def _parts(context: ViewContext, file: str) -> list[Block]:
    """The programs and variables of the selected line."""
    source, line = context.source, whole_number(context.params.get("src_line", ""))
    if line is None:
        return []
    programs, variables = at_line(source, file, line)
    if not len(programs) and not len(variables):
        return [Note(f"Line {line:,} creates no program and no variable.")]
    listed, ids = programs_of_line(source, file, line), ("program", "type", "name", "self_cycles")
    blocks: list[Block] = [figure_table(f"Programs of line {line:,}", listed, ids, {"name": "program"})]
    known = if_recorded(lambda: variables_of_line(source, file, line))
    if known is None:
        return blocks
    title, names_of_kinds = f"Variables of line {line:,}", {"name": "variable"}
    return [*blocks, figure_table(title, known, ("variable", "name", "size_bytes"), names_of_kinds)]
