"""`openReport`: a profile.pop (or a folder that holds one) as libpva's objects."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from popvision.analysis.report.source import ReportSource
from popvision.formats.debug_info import FORMAT, run_id_of
from popvision.formats.integrity import Loss, Verified, summed, verified
from popvision.formats.profile import ProfileReader
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

    @cached_property
    def lost(self) -> list[Loss]:
        """What damage has cost: a kind, a count and the sentence about the first of each. Reads the entire file. Not
        one of libpva's names; here a damaged part raises FormatError where it is asked for."""
        reader = self._columns.reader
        return summed(ProfileReader(reader.path, salvage=True).survey())

    @property
    def verified(self) -> Verified:
        """Whether the file matches its checksums: "yes", "partly" where something is `lost`, "no" for a file of another
        tool. Reads the entire file. Not one of libpva's names."""
        return verified(self.lost, not self._columns.reader.foreign)

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
    and when the debug file is of another kind or of another run; of two files it says which is wrong, and whether they
    were exchanged."""
    path = filename if filename is not None else profileFilename
    if path is None:
        raise TypeError("openReport needs the path of a profile.pop")
    if not os.fspath(path):
        raise FormatError("openReport was given an empty path; give the path of a profile.pop.")
    profile = Path(path)
    if debugInfoFilename is None:
        return Report(ReportSource(profile))
    debug = Path(debugInfoFilename)
    if _is_debug_information(_head(profile)) and _head(debug).startswith(_SQLITE):
        raise FormatError(
            f"openReport was given its two files in the wrong order: {profile} is debug information and {debug} a "
            "profile; give the profile.pop first."
        )
    try:
        _check_debug_file(debug)
    except FormatError as problem:
        raise FormatError(f"the second file of openReport, the debug information: {problem}") from None
    try:
        source = ReportSource(profile, debug_path=debug)
    except FormatError as problem:
        raise FormatError(f"the first file of openReport, the profile: {problem}") from problem
    _check_run(debug, str(source.reader.meta.get("runId", "")))
    return Report(source)


#: First bytes of every SQLite database.
_SQLITE = b"SQLite format 3\0"


def _head(path: Path) -> bytes:
    """The first bytes of a file; none of a folder or of a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(512)
    except OSError:
        return b""


def _is_debug_information(head: bytes) -> bool:
    return FORMAT.encode() in head


def _check_debug_file(path: Path) -> None:
    """Read only the head of the file; a debug context reads the rest at its first use."""
    if not path.is_file():
        raise FormatError(f"{path} does not exist; give a debug.json or debug.cbor, or leave it out.")
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise FormatError(f"cannot open {path}: {error.strerror or error}.") from None
    if not _is_debug_information(head):
        raise FormatError(f"{path} is not debug information; give the debug.cbor or debug.json of the report.")


def _check_run(path: Path, run_id: str) -> None:
    """Raises FormatError for debug information of another run."""
    debug_run_id = run_id_of(path)
    if run_id and debug_run_id and debug_run_id != run_id:
        raise FormatError(
            f"{path} was written by another run ({debug_run_id}) than the profile ({run_id}); give the debug file "
            "of the same run, or none."
        )
