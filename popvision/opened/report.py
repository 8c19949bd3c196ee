"""OpenedReport: one method per question about a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from popvision.analysis.report.source import ReportSource
from popvision.formats.integrity import Loss, Verified, summed
from popvision.opened import (
    exchange_questions,
    execution_questions,
    liveness_questions,
    memory_questions,
    operation_questions,
    program_questions,
    source_questions,
    summary_questions,
)
from popvision.opened.cards import report_card
from popvision.opened.questions import Opened, question
from popvision.opened.trace import OpenedTrace

if TYPE_CHECKING:
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
    summary = question(summary_questions.summary)
    target = question(summary_questions.target)
    options = question(summary_questions.options)
    facts = question(summary_questions.facts)
    files = question(summary_questions.files)
    query = question(summary_questions.query)

    # Memory of tiles.
    tiles = question(memory_questions.tiles)
    memory = question(memory_questions.memory)
    memory_totals = question(memory_questions.memory_totals)
    variables = question(memory_questions.variables)
    lowered_variables = question(memory_questions.lowered_variables)
    tile_variables = question(memory_questions.tile_variables)
    variable_bytes_by_tile = question(memory_questions.variable_bytes_by_tile)
    tile_peak = question(memory_questions.tile_peak)
    tile_vertices = question(memory_questions.tile_vertices)
    binary_bytes = question(memory_questions.binary_bytes)

    # Live memory over the static order of programs, and over time.
    liveness = question(liveness_questions.liveness)
    live_variables = question(liveness_questions.live_variables)
    peak_variables = question(liveness_questions.peak_variables)
    always_live_variables = question(liveness_questions.always_live_variables)
    live_ranges = question(liveness_questions.live_ranges)
    liveness_over_time = question(liveness_questions.liveness_over_time)

    # Programs, compute sets, vertices and the sources of their figures.
    programs = question(program_questions.programs)
    tree = question(program_questions.tree)
    program_tiles = question(program_questions.program_tiles)
    compute_sets = question(program_questions.compute_sets)
    vertices = question(program_questions.vertices)
    vertices_by_tile = question(program_questions.vertices_by_tile)
    vertex_types = question(program_questions.vertex_types)
    compared_programs = question(program_questions.compared_programs)
    explain = question(program_questions.explain)

    # Calls of a software layer, and lines of the program.
    operations = question(operation_questions.operations)
    source_files = question(source_questions.source_files)
    source_lines = question(source_questions.source_lines)
    debug_contexts = question(source_questions.debug_contexts)

    # Data that moves.
    exchanges = question(exchange_questions.exchanges)
    messages = question(exchange_questions.messages)
    host_copies = question(exchange_questions.host_copies)

    # Recorded execution.
    runs = question(execution_questions.runs)
    steps = question(execution_questions.steps)
    steps_on_ipu = question(execution_questions.steps_on_ipu)
    cycles_by_tile = question(execution_questions.cycles_by_tile)
    begins_by_tile = question(execution_questions.begins_by_tile)
    phases = question(execution_questions.phases)
    intervals = question(execution_questions.intervals)
    window = question(execution_questions.window)
    grouped_steps = question(execution_questions.grouped_steps)
    worker_lanes = question(execution_questions.worker_lanes)
    blocks = question(execution_questions.blocks)

    @property
    def pva(self) -> Report:
        """The same report as libpva's objects (docs/pva.md)."""
        from popvision.pva import openReport

        return openReport(self.source.reader.path, self._debug_path)

    @property
    def traces(self) -> list[OpenedTrace]:
        """The host traces (.pvti) in the report's folder, opened. Raises FormatError when one cannot be read."""
        return [OpenedTrace(each) for each in sorted(self.source.folder.glob("*.pvti"))]
