"""OpenedReport: one method per question about a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from popvision import questions
from popvision.analysis.report.source import ReportSource
from popvision.formats.errors import FormatError
from popvision.formats.integrity import Loss, Verified, summed
from popvision.opened.cards import report_card
from popvision.opened.frames import frame, report_provenance
from popvision.opened.questions import Opened, asked
from popvision.opened.trace import OpenedTrace
from popvision.query import Limits, ask

if TYPE_CHECKING:
    import pandas as pd

    from popvision.pva import Report


class OpenedReport(Opened[ReportSource]):
    """A report. Each method answers one question with a DataFrame or an array and reads what it needs when called;
    `help()` of a method lists its columns. Use it as a context manager, or drop it: it keeps no file open.

    All methods raise FormatError (NoSuchError, also a ValueError, for bad arguments) or NotRecordedError of
    `popvision.formats.errors`, with one sentence."""

    def __init__(
        self,
        path: str | Path,
        *,
        debug: str | os.PathLike[str] | None = None,
        salvage: bool = False,
        within: Path | None = None,
    ) -> None:
        """See `popvision.open`. With `within`, no debug information outside this folder is read."""
        debug_path = None if debug is None else Path(debug)
        source = ReportSource(path, debug_path=debug_path, salvage=salvage, within=within)
        if source.reader.foreign and not salvage:  # salvage: what a foreign file lacks is missing, not zero
            source = ReportSource(path, debug_path=debug_path, salvage=True, within=within)
        super().__init__(source, str(source.reader.path), "Report", report_card)
        self._debug_path = debug_path

    @property
    def path(self) -> Path:
        """The profile.pop."""
        return Path(self._name)

    @property
    def lost(self) -> list[Loss]:
        """What was lost through damage: kind, count and the sentence about the first; empty unless opened with
        `salvage`."""
        return summed(self.source.lost)

    @property
    def verified(self) -> Verified:
        """Whether answers come from parts that match their checksums: "yes", "partly" where something is lost, "no" for
        a file without checksums, of another tool."""
        return self.source.verified

    # The entire report.
    summary = asked(questions.entire_report.summary)
    target = asked(questions.entire_report.target)
    options = asked(questions.entire_report.options)
    facts = asked(questions.entire_report.facts)
    files = asked(questions.entire_report.files)

    # Memory of tiles.
    tiles = asked(questions.memory.tiles)
    memory = asked(questions.memory.memory)
    memory_totals = asked(questions.memory.memory_totals)
    variables = asked(questions.memory.variables)
    lowered_variables = asked(questions.memory.lowered_variables)
    tile_variables = asked(questions.memory.tile_variables)
    variable_bytes_by_tile = asked(questions.memory.variable_bytes_by_tile)
    tile_peak = asked(questions.memory.tile_peak)
    tile_vertices = asked(questions.memory.tile_vertices)
    binary_bytes = asked(questions.memory.binary_bytes)

    # Live memory over the static order of programs, and over time.
    liveness = asked(questions.liveness.liveness)
    live_variables = asked(questions.liveness.live_variables)
    peak_variables = asked(questions.liveness.peak_variables)
    always_live_variables = asked(questions.liveness.always_live_variables)
    live_ranges = asked(questions.liveness.live_ranges)
    liveness_over_time = asked(questions.liveness.liveness_over_time)

    # Programs, compute sets, vertices and the sources of their figures.
    programs = asked(questions.programs.programs)
    tree = asked(questions.programs.tree)
    program_tiles = asked(questions.programs.program_tiles)
    compute_sets = asked(questions.vertices.compute_sets)
    vertices = asked(questions.vertices.vertices)
    vertices_by_tile = asked(questions.vertices.vertices_by_tile)
    vertex_types = asked(questions.vertices.vertex_types)
    compared_programs = asked(questions.programs.compared_programs)
    explain = asked(questions.programs.explain)

    # Calls of a software layer, and lines of the program.
    operations = asked(questions.operations.operations)
    source_files = asked(questions.source_lines.source_files)
    source_lines = asked(questions.source_lines.source_lines)
    debug_contexts = asked(questions.source_lines.debug_contexts)

    # Data that moves.
    exchanges = asked(questions.exchange.exchanges)
    messages = asked(questions.exchange.messages)
    host_copies = asked(questions.exchange.host_copies)

    # Recorded execution.
    runs = asked(questions.execution.runs)
    steps = asked(questions.execution.steps)
    steps_on_ipu = asked(questions.execution.steps_on_ipu)
    cycles_by_tile = asked(questions.execution.cycles_by_tile)
    begins_by_tile = asked(questions.execution.begins_by_tile)
    phases = asked(questions.execution.phases)
    intervals = asked(questions.execution.intervals)
    window = asked(questions.execution.window)
    grouped_steps = asked(questions.execution.grouped_steps)
    worker_lanes = asked(questions.execution.worker_lanes)
    blocks = asked(questions.execution.blocks)

    def query(self, sql: str, *, timeout: float = 30.0, most_rows: int = 1_000_000) -> pd.DataFrame:
        """Read-only SQL over the views of docs/query.md, such as "select tile, gaps_bytes from tiles order by 2 desc".

        Raises FormatError for SQL that is wrong, writes, takes longer than `timeout` seconds or gives more than
        `most_rows` rows."""
        answer = ask(self.source.reader.path, sql, Limits(seconds=timeout, rows=most_rows))
        if answer.more:
            raise FormatError(f"the query gives more than {most_rows:,} rows; narrow it or raise `most_rows`.")
        columns = {name: [row[place] for row in answer.rows] for place, name in enumerate(answer.columns)}
        return frame(columns, report_provenance(self.source))

    @property
    def pva(self) -> Report:
        """The same report as libpva's objects (docs/pva.md)."""
        from popvision.pva import openReport

        return openReport(self.source.reader.path, self._debug_path)

    @property
    def traces(self) -> list[OpenedTrace]:
        """The host traces (.pvti) in the report's folder, opened. Raises FormatError when one cannot be read."""
        return [OpenedTrace(each) for each in sorted(self.source.folder.glob("*.pvti"))]
