"""OpenedReport: everything that can be asked of a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popvision.analysis.report.report_files import file_rows
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.facts import options_of, provenance_of, target_facts
from popvision.analysis.summary.headline import headline
from popvision.formats.errors import FormatError
from popvision.opened.asked import question
from popvision.opened.detail_questions import DetailQuestions
from popvision.opened.execution_questions import ExecutionQuestions
from popvision.opened.liveness_questions import LivenessQuestions
from popvision.opened.memory_questions import MemoryQuestions
from popvision.opened.operation_questions import OperationQuestions
from popvision.opened.program_questions import ProgramQuestions
from popvision.opened.window_questions import WindowQuestions

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from popvision.opened.trace import OpenedTrace
    from popvision.pva import Report

#: Figures of the summary that are not plain numbers of `Headline`, or not figures at all.
_PARTS = ("shares", "longest", "live_peak", "lost")

_UNITS = {
    "total_cycles": "tile clock cycles",
    "device_seconds": "seconds of device time",
    "tile_bytes": "bytes",
    "tile_capacity": "bytes",
    "used_bytes": "bytes",
    "total_capacity": "bytes",
    "tile_share": "part of the whole, 0 to 1",
    "used_share": "part of the whole, 0 to 1",
}


class OpenedReport(
    MemoryQuestions,
    LivenessQuestions,
    ProgramQuestions,
    OperationQuestions,
    ExecutionQuestions,
    WindowQuestions,
    DetailQuestions,
):
    """A report. Each method reads what it needs when it is called and answers with a DataFrame or an array; see
    `help()` of each for its columns. Use it as a context manager, or let it go: no file is held open.

    All methods raise FormatError (also NoSuchError, which is a ValueError too) or NotRecordedError of
    `popvision.formats.errors`, one sentence each."""

    def __init__(
        self,
        path: str | Path,
        *,
        debug: str | os.PathLike[str] | None = None,
        salvage: bool = False,
        within: Path | None = None,
    ) -> None:
        """See `popvision.open`; `within`: no debug information outside this folder is read."""
        beside = None if debug is None else Path(debug)
        source = ReportSource(path, debug_path=beside, salvage=salvage, within=within)
        if source.reader.foreign and not salvage:  # what a foreign file lacks is missing then, not zero
            source = ReportSource(path, debug_path=beside, salvage=True, within=within)
        super().__init__(source)
        self._beside = beside

    @property
    def path(self) -> Path:
        """The profile.pop."""
        return Path(self._name)

    @property
    def lost(self) -> list[str]:
        """What damage has cost, one sentence each; always empty unless opened with `salvage`."""
        return self.source.lost

    @question
    def summary(self) -> pd.DataFrame:
        """The figures one asks for first: figure, value, unit. Total cycles and device time, fullest tile
        (`tile_bytes`, including gaps, on `worst_tile`), bytes used over all tiles, peak liveness, share of each phase,
        the program that took most. A figure that the report does not hold is missing."""
        rows: list[tuple[str, Any, str]] = []
        found = headline(self.source)
        for name, value in vars(found).items():
            if name not in _PARTS:
                rows.append((name, value, _UNITS.get(name, "")))
        if found.live_peak is not None:
            rows.append(("live_peak_bytes", found.live_peak.total, "bytes"))
            rows.append(("live_peak_index", found.live_peak.index, "liveness index"))
        rows += [
            (f"{phase} share", share, "part of the whole, 0 to 1") for phase, share in (found.shares or {}).items()
        ]
        if found.longest is not None:
            rows.append(("longest_program", found.longest.program, "program id"))
            rows.append(("longest_program_cycles", found.longest.cycles, "tile clock cycles"))
        figure, value, unit = zip(*rows, strict=True)
        return self._frame({"figure": list(figure), "value": list(value), "unit": list(unit)})

    @question
    def target(self) -> dict[str, Any]:
        """The machine as a dict: type, architecture, clock_hz, tiles_per_ipu, total_ipus, total_tiles, replicas,
        bytes_per_tile, ... (`analysis.summary.TargetFacts`)."""
        return dict(vars(target_facts(self.source)))

    @question
    def options(self) -> pd.DataFrame:
        """Options of the engine and the target that the report names: group ("engine" or "target"), name, value."""
        rows = options_of(self.source)
        return self._frame({name: [row[at] for row in rows] for at, name in enumerate(("group", "name", "value"))})

    @question
    def facts(self) -> dict[str, str]:
        """Who made the report, when, with which versions."""
        return dict(provenance_of(self.source))

    @question
    def files(self) -> pd.DataFrame:
        """The files that a report can have: label, name, option (that asks for it), state ("found", "missing",
        "damaged" or "stale": of another run), size_bytes (missing where there is none)."""
        import pandas as pd

        rows = file_rows(self.source)
        columns = {name: [getattr(row, name) for row in rows] for name in ("label", "name", "option", "state")}
        size = pd.array([row.bytes for row in rows], dtype="Int64")
        return self._frame(columns | {"size_bytes": size})

    @property
    def pva(self) -> Report:
        """The same report as libpva's objects (docs/pva.md)."""
        from popvision.pva import openReport

        return openReport(self.source.reader.path, self._beside)

    @property
    def traces(self) -> list[OpenedTrace]:
        """The host traces (.pvti) that lie in the report's folder, opened; FormatError when one cannot be read."""
        from popvision.opened.trace import OpenedTrace

        return [OpenedTrace(each) for each in sorted(self.source.folder.glob("*.pvti"))]

    @question
    def query(self, sql: str, *, timeout: float = 30.0, most_rows: int = 1_000_000) -> pd.DataFrame:
        """Read-only SQL over the views of docs/query.md, such as "select tile, gaps_bytes from tiles order by 2 desc".

        Raises FormatError for SQL that is wrong, writes, takes longer than `timeout` seconds or gives more rows."""
        from popvision.query import Limits, run_query

        found = run_query(self.source, sql, Limits(seconds=timeout, rows=most_rows))
        if found.more:
            raise FormatError(f"the query gives more than {most_rows:,} rows; narrow it or raise `most_rows`.")
        return self._frame({name: [row[at] for row in found.rows] for at, name in enumerate(found.columns)})

    def __repr__(self) -> str:
        from popvision.opened.showing import report_text

        return report_text(self)

    def __rich__(self) -> Table:
        from popvision.opened.showing import report_table

        return report_table(self)

    def _repr_html_(self) -> str:
        from popvision.opened.showing import report_html

        return report_html(self)
