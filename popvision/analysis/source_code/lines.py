"""What each line of the user's own source cost: cycles, exchanged bytes and live bytes, and what no line accounts for.

A program or variable belongs to the line of its debug context: the innermost frame of the user's code that made it.
All figures are of one IPU for cycles (the one that is busy longest, unless another is asked for) and of the whole
device for bytes; nothing is counted twice, so that for each figure

    sum over lines + not attributed = the report's own total

holds exactly. Not attributed is what has no context (the control program that every run begins with) or one without a
line, and the cycles between the last step of an IPU and the end of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.liveness.variables import always_live_table, live_table
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import programs_of, stored_variables
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.tiles import Where
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource


DEBUG_INFORMATION = (
    "This report holds no debug information: run the program with autoReport.outputDebugInfo=true to see its lines."
)

#: Position in the list of places of what no line accounts for.
NOWHERE = 0

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
    cycles: Int64Array | None  #: device cycles of the line's programs on `ipu`, all recorded runs
    received: Int64Array | None  #: bytes that its programs' steps received, all IPUs and runs
    live: Int64Array | None  #: bytes of its variables live at `peak_index`, of one replica
    executions: Int64Array  #: steps
    programs: Int64Array
    variables: Int64Array
    ipu: int
    peak_index: int  #: -1 where not recorded
    missing: list[str]


def places(source: ReportSource) -> Places:
    """The places of all programs and variables. Raises NotRecordedError without debug information."""
    return source.kept.once("source_places", lambda: _places(source))


def line_figures(source: ReportSource, ipu: int | None = None) -> LineFigures:
    """Figures of every line. Raises NotRecordedError without debug information, ValueError for an IPU that is not
    there."""
    return source.kept.recent(("line_figures", source.generation, ipu), lambda: _line_figures(source, ipu))


def file_table(source: ReportSource, ipu: int | None = None) -> pd.DataFrame:
    """A row per file, most cycles first: File, Lines (that made something), Cycles, Received, Live; the last row, with
    an empty File, is not attributed. Missing figures are NA."""
    import pandas as pd

    found = line_figures(source, ipu)
    frame = pd.DataFrame({"File": found.places.file, "Lines": 1, **_columns(found)})
    frame.loc[NOWHERE, "Lines"] = 0
    frame = frame.groupby("File", as_index=False, sort=False).sum(min_count=1)
    frame["none"] = frame["File"] == ""
    return frame.sort_values(["none", "Cycles", "File"], ascending=[True, False, True]).drop(columns="none")


def line_table(source: ReportSource, file: str, ipu: int | None = None) -> pd.DataFrame:
    """A row per line of `file` that made something, in order: Line, Cycles, Received, Live, Executions, Programs,
    Variables."""
    import pandas as pd

    found = line_figures(source, ipu)
    rows = rows_of_file(source, file)
    columns: dict[str, Any] = {"Line": found.places.line, **_columns(found), "Executions": found.executions}
    columns |= {"Programs": found.programs, "Variables": found.variables}
    return pd.DataFrame({name: values[rows] for name, values in columns.items()})


def rows_of_file(source: ReportSource, file: str) -> Int64Array:
    """The places of a file, ascending by line; empty for one that nothing was made in."""
    found = source.kept.once("rows_of_files", lambda: _by_file(places(source)))
    return found.get(file, np.empty(0, np.int64))


def _by_file(found: Places) -> dict[str, Int64Array]:
    rows: dict[str, list[int]] = {}
    for row in np.argsort(found.line, kind="stable").tolist():
        if row != NOWHERE:
            rows.setdefault(found.file[row], []).append(row)
    return {file: np.array(each, np.int64) for file, each in rows.items()}


def at_line(source: ReportSource, file: str, line: int) -> tuple[Int64Array, Int64Array]:
    """(programs, variables) that a line made, ascending."""
    found = places(source)
    rows = rows_of_file(source, file)
    rows = rows[found.line[rows] == line]
    return tuple(np.flatnonzero(np.isin(each, rows)) for each in (found.program, found.variable))  # type: ignore[return-value]


def _columns(found: LineFigures) -> dict[str, object]:
    import pandas as pd

    unknown = pd.array([pd.NA] * len(found.places.line), dtype="Int64")
    named = {"Cycles": found.cycles, "Received": found.received, "Live": found.live}
    return {name: unknown if values is None else pd.array(values, dtype="Int64") for name, values in named.items()}


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
    found = places(source)
    n = len(found.line)
    missing: list[str] = []
    chosen = _busiest(source) if ipu is None else ipu
    if not 0 <= chosen < source.reader.target().num_ipus:
        raise ValueError(f"there is no IPU {chosen}")
    cycles = received = None
    executions = np.zeros(n, np.int64)
    if len(source.reader.runs().name):
        sums = figures(source, chosen)
        cycles = _by_place(found.program, sums.self_cycles, n)
        cycles[NOWHERE] += source.reader.total_cycles() - int(sums.self_cycles.sum())
        received = _by_place(found.program, figures(source).bytes_received, n)
        executions = _by_place(found.program, sums.executions, n)
    else:
        missing.append("No run was recorded: cycles and bytes need autoReport.outputExecutionProfile=true.")
    live, index = None, -1
    try:
        index = peak(curve(source)).index
        live = _live(source, found, index, n)
    except NotRecordedError as lacking:
        missing.append(str(lacking))
    made = np.bincount(found.program, minlength=n), np.bincount(found.variable, minlength=n)
    return LineFigures(found, cycles, received, live, executions, *made, chosen, index, missing)


def _busiest(source: ReportSource) -> int:
    """The IPU whose steps take longest, the lowest number of equals."""
    reader = source.reader
    lengths = [int(np.sum(reader.steps_on_ipu(ipu).cycles)) for ipu in range(reader.target().num_ipus)]
    return int(np.argmax(lengths))


def _by_place(place: Int64Array, values: Int64Array, n: int) -> Int64Array:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, place, values)
    return sums


def _live(source: ReportSource, found: Places, index: int, n: int) -> Int64Array:
    """Bytes of each line's variables at a liveness index, always-live ones included; the rest of the curve there, such
    as code and stacks, is not attributed."""
    where = Where()
    sums = np.zeros(n, np.int64)
    always, rest = always_live_table(source, where), live_table(source, [index], where)
    for table in (always, rest):
        variable, size = np.asarray(table["variable"]), np.asarray(table["size_bytes"])
        known = variable >= 0
        np.add.at(sums, found.variable[variable[known]], size[known])
    line = curve(source, where)
    total = line.always_live + int(line.not_always_live[index])
    sums[NOWHERE] += total - int(sums.sum())
    return sums
