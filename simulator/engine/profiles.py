"""EngineProfile: the profile of an engine as of now, for getReport and the printed summaries.

It is written to a temporary profile.pop, which is read as any other report.
"""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from popvision.analysis.execution.intervals import write_intervals
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.profile_summary import SummaryOptions, profile_summary
from popvision.formats.debug_info import write_debug_info
from popvision.formats.profile.writer import ProfileWriter
from popvision.pva import Report, openReport
from popvision.pva.report import columns_of
from simulator.base.errors import invalid_option, missing_graph_profile, profiling_disabled
from simulator.base.target import TargetType
from simulator.base.text_output import checked_stream
from simulator.engine.executable import Executable, report_facts
from simulator.engine.options import EngineOptions
from simulator.runtime.recording.recorder import Recorder
from simulator.runtime.recording.report_folder import PROFILE_NAME, debug_contexts
from simulator.runtime.recording.report_meta import report_meta

#: Option of printProfileSummary -> field of SummaryOptions; the finished text gets the colours.
_SUMMARY_OPTIONS = {
    "colours": "colours",
    "showVarStorage": "show_var_storage",
    "showOptimizations": "show_optimizations",
    "showExecutionSteps": "show_execution_steps",
    "showPerIpuMemoryUsage": "show_per_ipu_memory",
}


class EngineProfile:
    """What was compiled, and the runs in `recorder`. `options` are the engine's."""

    def __init__(self, executable: Executable, options: EngineOptions, recorder: Recorder) -> None:
        self._executable, self._options, self._recorder = executable, options, recorder
        self._on_cpu = executable.target.getTargetType() is TargetType.CPU

    def report(self, with_runs: bool) -> Report:
        """A report that stays readable as long as it is in use. Raises missing_graph_profile for CPU targets and where
        no option keeps a graph profile."""
        if self._on_cpu:
            raise missing_graph_profile("A CPU target has no graph profile; use an IPUModel.")
        report, lightweight = self._options.report, self._options.compile.records_blocks
        if not (report.output_graph_profile or report.retain_debug_information or lightweight):
            raise missing_graph_profile(
                "The engine has no graph profile; set debug.retainDebugInformation or autoReport.outputGraphProfile."
            )
        folder = tempfile.TemporaryDirectory(prefix="popvision-report-")
        path = self._write(Path(folder.name), with_runs=with_runs, with_blocks=with_runs)
        opened = openReport(path, path.with_name("debug.cbor"))
        weakref.finalize(columns_of(opened), folder.cleanup)  # every object of the report refers to these
        return opened

    def print_summary(self, stream: IO[str], flags: Mapping[str, Any]) -> None:
        """Write the text of printProfileSummary. Raises invalid_option for an unknown or malformed option,
        profiling_disabled for CPU targets."""
        self._require_machine()
        chosen = _summary_options(flags)
        colours = chosen.pop("colours", False)
        with self._source() as source:
            text = profile_summary(source, SummaryOptions(**chosen))
        checked_stream(stream, "printProfileSummary").write(_coloured(text) if colours else text)

    def print_intervals(self, stream: IO[str]) -> None:
        """Write the rows of reportIntervals. Raises profiling_disabled where the target records nothing."""
        self._require_machine()
        if not self._options.records_runs(self._executable.target):
            raise profiling_disabled("No execution was recorded: set debug.instrument on simulated hardware.")
        checked_stream(stream, "reportIntervals")
        with self._source() as source:
            write_intervals(source, stream)

    def _require_machine(self) -> None:
        if self._on_cpu:
            raise profiling_disabled("A CPU target is not profiled; use an IPUModel.")

    @contextmanager
    def _source(self) -> Iterator[ReportSource]:
        with tempfile.TemporaryDirectory(prefix="popvision-report-") as folder:
            yield ReportSource(self._write(Path(folder), with_runs=True, with_blocks=False))

    def _write(self, folder: Path, *, with_runs: bool, with_blocks: bool) -> Path:
        """The profile, in a file; `with_blocks`: those of runs of which only blocks are recorded, too."""
        compiled = self._executable.compiled
        lowered = compiled.compilation.lowered if self._options.report.output_lowered_vars else ()
        meta = report_meta(report_facts(self._executable, self._options), self._executable.name, "", compiled)
        path = folder / PROFILE_NAME
        with ProfileWriter(path) as writer:
            writer.write_compilation(replace(compiled.compilation, meta=meta, lowered=lowered))
            for record in self._recorder.records if with_runs else ():
                writer.append_run(record)
            for blocks in self._recorder.block_records if with_blocks else ():
                writer.append_blocks(blocks)
        write_debug_info(folder, debug_contexts(compiled.debug_infos), "", ["debug.cbor"])
        return path


def _summary_options(flags: Mapping[str, Any]) -> dict[str, bool]:
    chosen = {}
    for option, value in flags.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if option not in _SUMMARY_OPTIONS:
            known = ", ".join(_SUMMARY_OPTIONS)
            raise invalid_option(f"'{option}' is not an option of printProfileSummary; the options are {known}.")
        if text not in ("true", "false"):
            raise invalid_option(f"Option '{option}' cannot be '{value}'; use 'true' or 'false'.")
        chosen[_SUMMARY_OPTIONS[option]] = text == "true"
    return chosen


def _coloured(text: str) -> str:
    """Headings in bold, bars of histograms in a colour: escape sequences of terminals."""
    text = re.sub(r"^( *)(\S[^:\n]*:)$", "\\1\x1b[1m\\2\x1b[0m", text, flags=re.MULTILINE)
    return re.sub(r"\*{1,40}", "\x1b[36m\\g<0>\x1b[0m", text)
