"""Questions about the program's source: its files and lines, and debug contexts."""

from __future__ import annotations

from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import catalogued, columns
from popvision.analysis.source_code.lines import FILE_FIGURES, LINE_FIGURES, file_table, line_table, places
from popvision.questions.question import Answer, question


@question(catalogued("source_files", FILE_FIGURES))
def source_files(source: ReportSource, ipu: int | None = None) -> Answer:
    """Source files of the program, most cycles first; file "" = not attributed.

    Raises NotRecordedError without debug information."""
    return Answer(file_table(source, ipu))


@question(catalogued("source_lines", LINE_FIGURES))
def source_lines(source: ReportSource, file: str, ipu: int | None = None) -> Answer:
    """Lines of a file with programs or variables."""
    if file not in set(places(source).file):
        raise ValueError(f"no program or variable comes from the file {file[:200]!r}; source_files() lists the files")
    return Answer(line_table(source, file, ipu), {"file": file})


DEBUG_CONTEXTS = columns(
    "debug_contexts",
    """
    debug_id  | id   | id of the context
    layer     | text | software layer
    name      | text | its name
    file      | text | source file
    line      | id   | line, 0 = unknown
    parents   | text | a list of the ids of its parents
    arguments | text | a dict of its arguments
    """,
)


@question(DEBUG_CONTEXTS)
def debug_contexts(source: ReportSource) -> Answer:
    """Debug contexts; none without debug information of this run."""
    contexts = source.debug
    records = [contexts.record(number) for number in contexts]
    names = {"debug_id": "id"} | {name: name for name in ("layer", "name", "file", "line", "parents", "arguments")}
    return Answer(DEBUG_CONTEXTS.table(**{name: [record[key] for record in records] for name, key in names.items()}))
