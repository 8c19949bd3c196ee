"""The part of `Engine` that reports: what was compiled and what ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from simulator.base.errors import invalid_option, missing_graph_profile, profiling_disabled
from simulator.base.target import TargetType
from simulator.base.text_output import checked_stream
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.engine.options import EngineOptions
from simulator.engine.state import EngineState

if TYPE_CHECKING:
    from popvision.pva import Report


class ProfileMethods(EngineState):
    def enableExecutionProfiling(self) -> None:
        """Record runs from now on, where the target can."""
        self._core.recording = self._can_record()

    def disableExecutionProfiling(self) -> None:
        """Do not record further runs."""
        self._core.recording = False

    def resetExecutionProfile(self) -> None:
        """Forget the runs recorded so far. What a report file holds already stays there."""
        self._core.recorder.reset()

    def getReport(self, reportExecution: bool = True) -> Report:
        """The profile as libpva shows it, as of now.

        Raises missing_graph_profile for CPU targets and when neither autoReport.outputGraphProfile nor
        debug.retainDebugInformation nor a filter of lightweight profiling was given."""
        if self._kind is TargetType.CPU:
            raise missing_graph_profile("A CPU target has no graph profile; use an IPUModel.")
        report, lightweight = self._options.report, self._options.compile.records_blocks
        if not (report.output_graph_profile or report.retain_debug_information or lightweight):
            raise missing_graph_profile(
                "The engine kept no graph profile; set debug.retainDebugInformation or autoReport.outputGraphProfile."
            )
        from simulator.engine.report_snapshot import snapshot_report

        blocks = self._core.recorder.block_records if reportExecution else []
        return snapshot_report(*self._what(), self._records(reportExecution), blocks)

    def printProfileSummary(self, outputStream: IO[str], opt: Mapping[str, Any] | None = None) -> None:
        """Write the summary of graph and execution. Options, all "false" at first: colours, showVarStorage,
        showOptimizations, showExecutionSteps, showPerIpuMemoryUsage."""
        self._require_profile()
        from simulator.engine.report_snapshot import write_summary

        try:
            text = write_summary(*self._what(), self._records(True), opt or {})
        except KeyError as error:
            raise invalid_option(str(error.args[0])) from None
        checked_stream(outputStream, "printProfileSummary").write(text)

    def reportIntervals(self, outputStream: IO[str]) -> None:
        """Write a CSV of how many tiles compute, exchange and sync over time, in cycles."""
        self._require_profile()
        if not self._can_record():
            raise profiling_disabled("No execution was recorded: set debug.instrument on simulated hardware.")
        from simulator.engine.report_snapshot import write_interval_rows

        checked_stream(outputStream, "reportIntervals")
        write_interval_rows(*self._what(), self._records(True), outputStream)

    def _what(self) -> tuple[CompiledGraph, EngineOptions, str]:
        """What reports are made of besides runs."""
        return self._executable._compiled, self._options, self._executable._name

    def _records(self, wanted: bool) -> list[Any]:
        return list(self._core.recorder.records) if wanted else []

    def _require_profile(self) -> None:
        if self._kind is TargetType.CPU:
            raise profiling_disabled("A CPU target is not profiled; use an IPUModel.")
