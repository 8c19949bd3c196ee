"""`openReport`: a profile.pop (or a folder that holds one) as libpva's objects."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from popvision.analysis.source import ReportSource
from popvision.pva import listview
from popvision.pva.columns import Columns
from popvision.pva.compilation import CompilationReport
from popvision.pva.execution import ExecutionReport
from popvision.pva.versions import InstrumentationSettings, PoplarVersion, ProfileReportVersion, poplar_version


class Report:
    """An opened report. Objects taken from it stay valid as long as they are held."""

    def __init__(self, source: ReportSource) -> None:
        self._columns = Columns(source)

    @cached_property
    def compilation(self) -> CompilationReport:
        return CompilationReport(self._columns)

    @cached_property
    def execution(self) -> ExecutionReport:
        return ExecutionReport(self._columns)

    @cached_property
    def instrumentationSettings(self) -> InstrumentationSettings:
        return InstrumentationSettings(self._columns.reader.meta)

    @cached_property
    def poplarVersion(self) -> PoplarVersion:
        return poplar_version(str(self._columns.reader.meta.get("poplarVersion", "")))

    @cached_property
    def version(self) -> ProfileReportVersion:
        return ProfileReportVersion(*self._columns.reader.format_version)

    def listPrintLength(self, newLength: int) -> None:
        """Set how many elements of a list are shown when it is printed."""
        if newLength < 0:
            raise ValueError(f"listPrintLength takes a count of elements, not {newLength}")
        listview.print_length = int(newLength)

    def __repr__(self) -> str:
        return f"Report({self._columns.source.label!r}, {self.poplarVersion.string!r})"


def openReport(
    filename: str | os.PathLike[str] | None = None,
    debugInfoFilename: str | os.PathLike[str] | None = None,
    *,
    profileFilename: str | os.PathLike[str] | None = None,
) -> Report:
    """Open a profile.pop, with its debug.cbor (or debug.json) when the second name is given.

    Without the second name the debug file beside the profile, or one folder up, is used where there is one.
    Raises FormatError (a RuntimeError) with one sentence when a file is missing, damaged or of a newer version."""
    path = filename if filename is not None else profileFilename
    if path is None:
        raise TypeError("openReport needs the path of a profile.pop")
    debug = Path(debugInfoFilename) if debugInfoFilename is not None else None
    return Report(ReportSource(Path(path), debug_path=debug))
