"""ReportSource: one opened report, what every question of `popvision.analysis` is asked of."""

from __future__ import annotations

import threading
from pathlib import Path

from popvision.formats.debug_info import DebugContexts, read_debug_info
from popvision.formats.folder import ReportFile, locate, report_files
from popvision.formats.profile import ProfileReader


class ReportSource:
    """A report folder, or a profile.pop alone. Only profile.pop is needed; what else is missing reads as empty.

    Raises FormatError when there is no readable profile.pop."""

    def __init__(self, folder_or_file: str | Path) -> None:
        self.folder, profile = locate(folder_or_file)
        self.reader = ProfileReader(profile)
        self._debug: DebugContexts | None = None
        self._lock = threading.Lock()

    @property
    def files(self) -> dict[str, ReportFile]:
        """Every known file by name, with its state: "found", "missing" or "stale" (of another run)."""
        run_id = str(self.reader.meta.get("runId", ""))
        return {file.name: file for file in report_files(self.folder, run_id)}

    @property
    def debug(self) -> DebugContexts:
        """Debug contexts, read when first asked for; empty when the report has none of its own run.

        Raises FormatError when the file is damaged."""
        with self._lock:
            if self._debug is None:
                files = self.files
                found = (files[name] for name in ("debug.json", "debug.cbor"))
                paths = [file.path for file in found if file.state == "found" and file.path is not None]
                self._debug = read_debug_info(paths[0]) if paths else DebugContexts()
            return self._debug

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
