"""The figures of one state of a program: those of each line of its files, and of what no line accounts for.

Every figure keeps the law of `popvision.analysis.source_code`: lines + not attributed = the report's total."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from popvision.analysis.execution.once import counted
from popvision.analysis.programs.figures import figures
from popvision.analysis.report.columns import stored_variables
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.lines import LineFigures, at_line, line_figures, rows_of_file
from popvision.watch.saved_source import moved_lines

#: cycles, bytes live at the peak, bytes received; None = not recorded
Figures = tuple[int | None, int | None, int | None]

NO_FIGURES: Figures = (None, None, None)


@dataclass(frozen=True)
class Line:
    """A line with programs or variables. `recorded` is its number in the report; `program` takes most cycles of its
    programs and `variable` most bytes of its variables, -1 for none."""

    figures: Figures
    recorded: int
    program: int
    variable: int


@dataclass(frozen=True)
class FileLines:
    """`name` is the file's in the report; `lines` by their number in `text`."""

    name: str
    text: str
    lines: Mapping[int, Line]


@dataclass(frozen=True)
class Version:
    """A run of the program. `files` by their absolute path."""

    number: int
    saved: float  #: seconds since the epoch
    report: Path
    others: tuple[Path, ...]  #: further reports of the run, of engines with fewer cycles
    files: Mapping[str, FileLines]
    total: Figures
    clock_hz: float
    missing: tuple[str, ...]

    def with_texts(self, texts: Mapping[str, str]) -> Version | None:
        """The same figures beside texts that differ in comments and places of lines; None where one differs in more."""
        files = dict(self.files)
        for path, text in texts.items():
            if path not in files:
                continue
            old = files[path]
            moved = moved_lines(old.text, text)
            if moved is None or not set(old.lines) <= set(moved):
                return None
            files[path] = FileLines(old.name, text, {moved[line]: each for line, each in old.lines.items()})
        return replace(self, files=files)


def read_version(number: int, saved: float, folder: Path, texts: Mapping[str, str]) -> Version | None:
    """The figures of the reports below a folder, those of the engine with most cycles; None without a report. `texts`
    are the program's files as it ran. Raises FormatError and NotRecordedError."""
    reports = [path.parent for path in sorted([*folder.glob("profile.pop"), *folder.glob("*/profile.pop")])]
    if not reports:
        return None
    sources = [ReportSource(each) for each in reports]
    source = max(sources, key=lambda each: counted(each).total_cycles)
    sums = line_figures(source)
    names = {os.path.realpath(name): name for name in dict.fromkeys(sums.places.file) if name}
    files = {
        path: FileLines(names.get(path, ""), text, _lines(source, names[path], sums) if path in names else {})
        for path, text in texts.items()
    }
    columns = (sums.cycles, sums.live, sums.received)
    total = tuple(None if values is None else int(values.sum()) for values in columns)
    report = reports[sources.index(source)]
    others = tuple(each for each in reports if each != report)
    clock = source.reader.target().clock_hz
    return Version(number, saved, report, others, files, total, clock, tuple(sums.remarks))  # type: ignore[arg-type]


def _lines(source: ReportSource, file: str, sums: LineFigures) -> dict[int, Line]:
    columns = (sums.cycles, sums.live, sums.received)
    cycles = figures(source).self_cycles
    variables = stored_variables(source)
    sizes = np.zeros(0, np.int64) if variables is None else np.asarray(variables.bytes)
    lines: dict[int, Line] = {}
    for row in rows_of_file(source, file).tolist():
        number = int(sums.places.line[row])
        programs, own = at_line(source, file, number)
        values = tuple(None if column is None else int(column[row]) for column in columns)
        lines[number] = Line(values, number, _largest(programs, cycles), _largest(own, sizes))  # type: ignore[arg-type]
    return lines


def _largest(ids: np.ndarray, values: np.ndarray) -> int:
    return int(ids[np.argmax(values[ids])]) if len(ids) else -1
