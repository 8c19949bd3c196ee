"""Cost of each line of the user's own source: cycles, exchanged bytes, live bytes, and what no line accounts for.

A program or variable belongs to the line of its debug context: the innermost frame of the user's code that created it.
Cycles are those of one IPU (the one that is busy longest, unless the caller names another), bytes those of all
IPUs; nothing is counted twice, so that for each figure

    sum over lines + not attributed = the report's own total

holds exactly; for cycles the total is that of the runs that are not set apart (once.py). Not attributed is what has no
context (the control program that every run begins with) or one without a line, and the cycles between the last step of
an IPU and the end of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.execution.once import counted, set_apart
from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.memory.capacity import why_no_run
from popvision.analysis.memory.lowered import variables_table
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import programs_of, stored_variables
from popvision.analysis.report.figure import Table, Unit, table_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.table_columns import columns
from popvision.analysis.report.tiles import Where
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


DEBUG_INFORMATION = (
    "This report holds no debug information: run the program with autoReport.outputDebugInfo=true to see its lines."
)

#: Position in the list of places of what no line accounts for.
NOWHERE = 0

#: Figures of a file and of a line.
_SUMS: dict[str, Unit] = {"cycles": "cycles", "received": "bytes", "live": "bytes"}
FILE_FIGURES: dict[str, Unit] = {"file": "text", "lines": "count", **_SUMS}
_COUNTS: dict[str, Unit] = {"executions": "count", "programs": "count", "variables": "count"}
LINE_FIGURES: dict[str, Unit] = {"line": "id", **_SUMS, **_COUNTS}

LINE_PROGRAMS = columns(
    "line_programs",
    """
    program        | id     | Id: id in the program tree
    type           | text   | its type
    name           | text   | debug name
    self_cycles    | cycles | Self cycles: cycles of its own steps, all recorded runs
    executions     | count  | its execution steps
    received_bytes | bytes  | bytes received by its own steps, all recorded runs
    """,
)

#: Contexts that are followed upwards in search of a line.
_MOST_PARENTS = 100


@dataclass(frozen=True)
class Places:
    """Lines of the user's files. Row 0 is "not attributed"; `program[p]` and `variable[v]` are rows of this list."""

    file: list[str]
    line: Int64Array
    program: Int64Array
    variable: Int64Array


@dataclass(frozen=True)
class LineFigures:
    """One row per place, row 0 = not attributed. A column is None where the report does not hold it; then `missing`
    says which option records it."""

    places: Places
    cycles: Int64Array | None  #: device cycles of the line's programs on `ipu`, all runs that are not set apart
    received: Int64Array | None  #: bytes that its programs' steps received, all IPUs and runs
    live: Int64Array | None  #: bytes of its variables live at `peak_index`, of one replica
    executions: Int64Array  #: steps
    programs: Int64Array
    variables: Int64Array
    ipu: int
    peak_index: int  #: -1 where not recorded
    missing: list[str]
    apart: str  #: what happened once per attachment and is in no line, as a sentence; "" for nothing

    @property
    def remarks(self) -> list[str]:
        """Sentences about the figures: what the report lacks, and what is set apart."""
        return [*self.missing, *([self.apart] if self.apart else [])]


def places(source: ReportSource) -> Places:
    """The places of all programs and variables. Raises NotRecordedError without debug information."""
    return source.kept.once("source_places", lambda: _places(source))


def line_figures(source: ReportSource, ipu: int | None = None) -> LineFigures:
    """Figures of every line. Raises NotRecordedError without debug information, ValueError for an IPU that is not
    there."""
    return source.kept.recent(("line_figures", source.generation, ipu), lambda: _line_figures(source, ipu))


def file_table(source: ReportSource, ipu: int | None = None) -> Table:
    """A row per file, most cycles first, before any run most live bytes: file, lines (with programs or variables),
    cycles, received, live; the last row, whose file is "", is not attributed. Missing figures are NA."""
    import pandas as pd

    sums = line_figures(source, ipu)
    frame = pd.DataFrame({"file": sums.places.file, "lines": 1, **_figure_columns(sums)})
    frame.loc[NOWHERE, "lines"] = 0
    frame = frame.groupby("file", as_index=False, sort=False).sum(min_count=1)
    is_file = frame["file"] != ""
    frame = frame.assign(is_file=is_file).sort_values(
        ["is_file", "live" if sums.cycles is None else "cycles", "file"],
        ascending=[False, False, True],
        ignore_index=True,
    )
    return table_of("source_files", FILE_FIGURES, frame)


def line_table(source: ReportSource, file: str, ipu: int | None = None) -> Table:
    """A row per line of `file` with programs or variables, in order: line, cycles, received, live, executions,
    programs, variables."""
    sums = line_figures(source, ipu)
    rows = rows_of_file(source, file)
    columns = {"line": sums.places.line, **_figure_columns(sums), "executions": sums.executions}
    columns |= {"programs": sums.programs, "variables": sums.variables}
    return table_of("source_lines", LINE_FIGURES, {id: values[rows] for id, values in columns.items()})


def rows_of_file(source: ReportSource, file: str) -> Int64Array:
    """The places of a file, ascending by line; empty for a file without programs and variables."""
    rows = source.kept.once("rows_of_files", lambda: _rows_by_file(places(source)))
    return rows.get(file, np.empty(0, np.int64))


def _rows_by_file(lines: Places) -> dict[str, Int64Array]:
    rows: dict[str, list[int]] = {}
    for row in np.argsort(lines.line, kind="stable").tolist():
        if row != NOWHERE:
            rows.setdefault(lines.file[row], []).append(row)
    return {file: np.array(each, np.int64) for file, each in rows.items()}


def at_line(source: ReportSource, file: str, line: int) -> tuple[Int64Array, Int64Array]:
    """(programs, variables) that a line created, ascending."""
    lines = places(source)
    rows = rows_of_file(source, file)
    rows = rows[lines.line[rows] == line]
    return tuple(np.flatnonzero(np.isin(each, rows)) for each in (lines.program, lines.variable))  # type: ignore[return-value]


def programs_of_line(source: ReportSource, file: str, line: int) -> Table:
    """LINE_PROGRAMS of the programs that a line created, most self cycles first."""
    sums, programs = figures(source), programs_of(source)
    ids = at_line(source, file, line)[0]
    ids = ids[np.argsort(-sums.self_cycles[ids], kind="stable")]
    return LINE_PROGRAMS.table(
        program=ids,
        type=[programs.type[program] for program in ids.tolist()],
        name=[programs.name[program] for program in ids.tolist()],
        self_cycles=sums.self_cycles[ids],
        executions=sums.executions[ids],
        received_bytes=sums.bytes_received[ids],
    )


def variables_of_line(source: ReportSource, file: str, line: int) -> Table:
    """`variables_table` of the variables that a line created. Raises NotRecordedError."""
    table = variables_table(source)
    return table.take(np.isin(table["variable"], at_line(source, file, line)[1]))


def _figure_columns(sums: LineFigures) -> dict[str, Any]:
    import pandas as pd

    unknown = pd.array([pd.NA] * len(sums.places.line), dtype="Int64")
    columns = {"cycles": sums.cycles, "received": sums.received, "live": sums.live}
    return {id: unknown if values is None else pd.array(values, dtype="Int64") for id, values in columns.items()}


def _places(source: ReportSource) -> Places:
    contexts = source.debug
    if not len(contexts):
        raise NotRecordedError(DEBUG_INFORMATION)
    known: dict[tuple[str, int], int] = {("", 0): NOWHERE}
    of_context: dict[int, int] = {}

    def row(debug_id: int) -> int:
        if debug_id not in of_context:
            of_context[debug_id] = known.setdefault(_line_of(source, debug_id), len(known))
        return of_context[debug_id]

    variables = stored_variables(source)
    program = np.array([row(each) for each in np.asarray(programs_of(source).debug_id).tolist()], np.int64)
    variable = [] if variables is None else [row(each) for each in np.asarray(variables.debug_id).tolist()]
    return Places(
        [file for file, _ in known],
        np.array([line for _, line in known], np.int64),
        program,
        np.array(variable, np.int64),
    )


def _line_of(source: ReportSource, debug_id: int) -> tuple[str, int]:
    """File and line of a context, else of the nearest context above it that has them; ("", 0) where none has."""
    contexts = source.debug
    for _ in range(_MOST_PARENTS):
        if debug_id < 0 or debug_id not in contexts:
            break
        record = contexts.record(debug_id)
        file, line = record.get("file"), record.get("line")
        if isinstance(file, str) and file and isinstance(line, int) and 0 < line < 2**31:
            return file, line
        above = record.get("parents")
        debug_id = above[0] if isinstance(above, list) and above and isinstance(above[0], int) else -1
    return "", 0


def _line_figures(source: ReportSource, ipu: int | None) -> LineFigures:
    lines = places(source)
    n = len(lines.line)
    missing: list[str] = []
    ipu = busiest_ipu(source) if ipu is None else ipu
    if not 0 <= ipu < source.reader.target().num_ipus:
        raise ValueError(f"there is no IPU {ipu}")
    cycles = received = None
    executions = np.zeros(n, np.int64)
    if len(source.reader.runs().name):
        sums = figures(source, ipu)
        cycles = _sum_by_place(lines.program, sums.self_cycles, n)
        cycles[NOWHERE] += counted(source).total_cycles - int(sums.self_cycles.sum())
        received = _sum_by_place(lines.program, figures(source).bytes_received, n)
        executions = _sum_by_place(lines.program, sums.executions, n)
    else:
        missing.append(why_no_run(source))
    live, index = None, -1
    try:
        index = peak(curve(source)).index
        live = _live(source, lines, index, n)
    except NotRecordedError as problem:
        missing.append(str(problem))
    counts = np.bincount(lines.program, minlength=n), np.bincount(lines.variable, minlength=n)
    apart = "" if cycles is None else set_apart(source).sentence
    return LineFigures(lines, cycles, received, live, executions, *counts, ipu, index, missing, apart)


def busiest_ipu(source: ReportSource) -> int:
    """The IPU whose steps take longest, the lowest number of equals."""
    reader = source.reader
    lengths = [int(counted(source).cycles(ipu).sum()) for ipu in range(reader.target().num_ipus)]
    return int(np.argmax(lengths))


def _sum_by_place(place: Int64Array, values: Int64Array, n: int) -> Int64Array:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, place, values)
    return sums


def _live(source: ReportSource, lines: Places, index: int, n: int) -> Int64Array:
    """Bytes of each line's variables at a liveness index, always-live ones included; the rest of the curve there, such
    as code and stacks, is not attributed."""
    where = Where()
    sums = np.zeros(n, np.int64)
    always, rest = always_live_table(source, where), live_table(source, [index], where)
    for table in (always, rest):
        variable, size = np.asarray(table["variable"]), np.asarray(table["size_bytes"])
        is_known = variable >= 0
        np.add.at(sums, lines.variable[variable[is_known]], size[is_known])
    totals = curve(source, where)
    total = totals.always_live + int(totals.not_always_live[index])
    sums[NOWHERE] += total - int(sums.sum())
    return sums
