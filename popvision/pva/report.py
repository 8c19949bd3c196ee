"""`openReport`: a profile.pop (or a folder that holds one) as libpva's objects."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from popvision.analysis.report.source import ReportSource
from popvision.formats.debug_info import FORMAT, run_id_of
from popvision.pva.columns import Columns
from popvision.pva.compilation import CompilationReport
from popvision.pva.errors import FormatError
from popvision.pva.execution import ExecutionReport
from popvision.pva.versions import InstrumentationSettings, PoplarVersion, ProfileReportVersion, poplar_version


class Report:
    """An opened report. Objects taken from it stay valid when the report itself is dropped."""

    def __init__(self, source: ReportSource) -> None:
        self._columns = Columns(source)

    @cached_property
    def compilation(self) -> CompilationReport:
        """Target, graph, memory, programs and liveness."""
        return CompilationReport(self._columns)

    @cached_property
    def execution(self) -> ExecutionReport:
        """What ran; empty when nothing was recorded."""
        return ExecutionReport(self._columns)

    @cached_property
    def instrumentationSettings(self) -> InstrumentationSettings:
        """How the program was instrumented."""
        return InstrumentationSettings(self._columns.reader.meta)

    @cached_property
    def poplarVersion(self) -> PoplarVersion:
        """The software that wrote the report."""
        return poplar_version(str(self._columns.reader.meta.get("poplarVersion", "")))

    @cached_property
    def version(self) -> ProfileReportVersion:
        """Version of the file's layout."""
        return ProfileReportVersion(*self._columns.reader.format_version)

    def listPrintLength(self, newLength: int) -> None:
        """Set how many elements a printed list of this report shows (10 by default).

        Raises ValueError for a negative count."""
        if newLength < 0:
            raise ValueError(f"the length of a printed list must be 0 or more, not {newLength}")
        self._columns.printing.length = int(newLength)

    def __repr__(self) -> str:
        return f"Report({self._columns.source.label!r}, {self.poplarVersion.string!r})"


def columns_of(report: object) -> Columns:
    """The columns behind a report. Raises TypeError when it is not a Report."""
    if not isinstance(report, Report):
        raise TypeError(f"expected the Report that openReport returns, not {type(report).__name__}")
    return report._columns


def openReport(
    filename: str | os.PathLike[str] | None = None,
    debugInfoFilename: str | os.PathLike[str] | None = None,
    *,
    profileFilename: str | os.PathLike[str] | None = None,
) -> Report:
    """Open a profile.pop, with the debug.cbor (or debug.json) that the second name gives.

    Without a second name, uses the debug file of the same run beside the profile or one folder up, if there is one.
    Raises FormatError (a RuntimeError) with one sentence when a file is missing, damaged, locked or of a newer version,
    and when the debug file is of another kind or of another run."""
    path = filename if filename is not None else profileFilename
    if path is None:
        raise TypeError("openReport needs the path of a profile.pop")
    if not os.fspath(path):
        raise FormatError("openReport was given an empty path; give the path of a profile.pop.")
    debug = Path(debugInfoFilename) if debugInfoFilename is not None else None
    source = ReportSource(Path(path), debug_path=debug)
    if debug is not None:
        _check_debug(debug, str(source.reader.meta.get("runId", "")))
    return Report(source)


def _check_debug(path: Path, run_id: str) -> None:
    """Read only the head of the file; a debug context reads the rest at its first use."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
        debug_run_id = run_id_of(path)
    except OSError as error:
        raise FormatError(f"cannot open {path}: {error.strerror or error}.") from None
    if FORMAT.encode() not in head:
        raise FormatError(f"{path} is not debug information; give the debug.cbor or debug.json of the report.")
    if run_id and debug_run_id and debug_run_id != run_id:
        raise FormatError(
            f"{path} was written by another run ({debug_run_id}) than the profile ({run_id}); give the debug file "
            "of the same run, or none."
        )
