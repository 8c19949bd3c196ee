"""ReportSource: one opened report, the argument of every question of `popvision.analysis`."""

from __future__ import annotations

import threading
from pathlib import Path

from popvision.formats.debug_info import DebugContexts, read_debug_info
from popvision.formats.errors import FormatError
from popvision.formats.folder import ReportFile, locate, report_files
from popvision.formats.integrity import LostPart, Verified, verified
from popvision.formats.profile import ProfileReader
from popvision.kept import Kept


class ReportSource:
    """A report folder, or a profile.pop alone. Only profile.pop is needed; what else is missing reads as empty.

    `debug_path` names the debug information to use instead of what lies beside the profile or one folder up. With
    `salvage` a damaged report opens as well: questions about what is damaged raise LostError, the others answer, and
    `lost` lists the losses. Without it, a question about a damaged part raises FormatError.
    Debug information outside the folder `within` is left alone: a report's may lie one folder up. With `one_state` the
    report stays as it is now, whatever runs its program adds.

    Raises FormatError when there is no readable profile.pop, or no file at `debug_path`."""

    def __init__(
        self,
        folder_or_file: str | Path,
        *,
        debug_path: str | Path | None = None,
        salvage: bool = False,
        within: Path | None = None,
        one_state: bool = False,
    ) -> None:
        self.folder, profile = locate(folder_or_file)
        self._within = None if within is None else within.resolve()
        self._debug_path = None if debug_path is None else Path(debug_path)
        if self._debug_path is not None and not self._debug_path.is_file():
            raise FormatError(f"{self._debug_path} does not exist; give a debug.json or debug.cbor, or leave it out.")
        self.reader = ProfileReader(profile, salvage=salvage, one_state=one_state)
        self._salvage = salvage
        self._lost_debug = ""
        self._debug: DebugContexts | None = None
        self._lock = threading.Lock()
        self.kept = Kept()  #: columns that were read, and values computed from them

    @property
    def files(self) -> dict[str, ReportFile]:
        """Every known file by name, with its state: "found", "missing" or "stale" (of another run)."""
        run_id = str(self.reader.meta.get("runId", ""))
        return {file.name: file for file in report_files(self.folder, run_id)}

    @property
    def debug(self) -> DebugContexts:
        """Debug contexts, read at the first use; empty when the report has none of its own run.

        Raises FormatError when the file is damaged; with `salvage` it then reads as empty, and `lost` says so."""
        with self._lock:
            if self._debug is None:
                path = self._debug_path or self._debug_file()
                self._debug = DebugContexts() if path is None else self._read_debug(path)
            return self._debug

    def _read_debug(self, path: Path) -> DebugContexts:
        try:
            return read_debug_info(path)
        except FormatError as problem:
            if not self._salvage:
                raise
            self._lost_debug = str(problem)
            return DebugContexts()

    @property
    def lost(self) -> list[LostPart]:
        """What damage has cost, one sentence each: see ProfileReader.lost, and damaged debug information after its
        first use. Always empty without `salvage`."""
        debug = [LostPart("debug information", self._lost_debug)] if self._lost_debug else []
        return [*self.reader.lost, *debug]

    @property
    def verified(self) -> Verified:
        """Whether what is shown was compared with checksums."""
        return verified(self.lost, not self.reader.foreign)

    def _debug_file(self) -> Path | None:
        files = self.files
        debug_files = (files[name] for name in ("debug.json", "debug.cbor"))
        paths = (file.path for file in debug_files if file.state == "found" and file.path is not None)
        return next((path for path in paths if self._within is None or self._lies_within(path)), None)

    def _lies_within(self, path: Path) -> bool:
        return self._within is not None and path.resolve().is_relative_to(self._within)

    @property
    def label(self) -> str:
        """A short name: the engine's, else the folder's, else the file's."""
        engine = self.reader.meta.get("engineName", "")
        return str(engine or self.folder.absolute().name or self.reader.path.name)

    @property
    def report_id(self) -> str:
        return self.reader.report_id

    @property
    def generation(self) -> int:
        """Grows with each run that a live program commits."""
        return self.reader.generation
