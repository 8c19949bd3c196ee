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
    """An opened report. Objects taken from it stay valid as long as they are held."""

    def __init__(self, source: ReportSource) -> None:
        self._columns = Columns(source)

    @cached_property
    def compilation(self) -> CompilationReport:
        """Everything known when compilation ended."""
        return CompilationReport(self._columns)

    @cached_property
    def execution(self) -> ExecutionReport:
        """What ran; there, but empty, when nothing was recorded."""
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
        """Set how many elements of a list of this report are shown when it is printed (10 at first).

        Raises ValueError for a negative count."""
        if newLength < 0:
            raise ValueError(f"listPrintLength takes a count of elements, not {newLength}")
        self._columns.printing.length = int(newLength)

    def __repr__(self) -> str:
        return f"Report({self._columns.source.label!r}, {self.poplarVersion.string!r})"


def openReport(
    filename: str | os.PathLike[str] | None = None,
    debugInfoFilename: str | os.PathLike[str] | None = None,
    *,
    profileFilename: str | os.PathLike[str] | None = None,
) -> Report:
    """Open a profile.pop, with its debug.cbor (or debug.json) when the second name is given.

    Without the second name the debug file beside the profile, or one folder up, is used where there is one of the same
    run. Raises FormatError (a RuntimeError) with one sentence when a file is missing, damaged, locked or of a newer
    version, or when the debug file is none or belongs to another run."""
    path = filename if filename is not None else profileFilename
    if path is None:
        raise TypeError("openReport needs the path of a profile.pop")
    if not os.fspath(path):
        raise FormatError("openReport was given an empty path; give that of a profile.pop.")
    debug = Path(debugInfoFilename) if debugInfoFilename is not None else None
    source = ReportSource(Path(path), debug_path=debug)
    if debug is not None:
        _check_debug(debug, str(source.reader.meta.get("runId", "")))
    return Report(source)


def _check_debug(path: Path, run_id: str) -> None:
    """Look at the head of the file alone: the rest is read when a debug context is first asked for."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
        found = run_id_of(path)
    except OSError as error:
        raise FormatError(f"cannot open {path}: {error.strerror or error}.") from None
    if FORMAT.encode() not in head:
        raise FormatError(f"{path} is no debug information; give the debug.cbor or debug.json of the report.")
    if run_id and found and found != run_id:
        raise FormatError(
            f"{path} was written by another run ({found}) than the profile ({run_id}): give the debug information that "
            "was written with it, or leave it out."
        )
