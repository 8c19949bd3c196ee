"""An engine's profile as of now, through a temporary profile.pop: what getReport and the printed summaries read."""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from popvision.analysis.execution.intervals import write_intervals
from popvision.analysis.report.source import ReportSource
from popvision.analysis.summary.profile_summary import SummaryOptions, profile_summary
from popvision.formats.debug_info import write_debug_info
from popvision.formats.profile.model import RunRecord, TileBlocks
from popvision.formats.profile.writer import ProfileWriter
from popvision.pva import Report, openReport
from simulator.compiler.compiled_graph import CompiledGraph
from simulator.engine.options import EngineOptions
from simulator.runtime.recording.report_folder import PROFILE_NAME, debug_contexts
from simulator.runtime.recording.report_meta import report_meta

#: Option of printProfileSummary -> field of SummaryOptions, but for colours, which are put on the finished text.
_OPTIONS = {
    "colours": "colours",
    "showVarStorage": "show_var_storage",
    "showOptimizations": "show_optimizations",
    "showExecutionSteps": "show_execution_steps",
    "showPerIpuMemoryUsage": "show_per_ipu_memory",
}


def snapshot_report(
    executable: CompiledGraph,
    options: EngineOptions,
    name: str,
    records: Sequence[RunRecord],
    blocks: Sequence[Sequence[TileBlocks]] = (),
) -> Report:
    """A report that stays readable as long as it is in use. `blocks`: of further runs, of which only they are kept."""
    folder = tempfile.TemporaryDirectory(prefix="popvision-report-")
    path = _write(Path(folder.name), executable, options, name, records, blocks)
    report = openReport(path, path.with_name("debug.cbor"))
    weakref.finalize(report._columns, folder.cleanup)  # every object of the report holds these
    return report


def write_summary(
    executable: CompiledGraph,
    options: EngineOptions,
    name: str,
    records: Sequence[RunRecord],
    flags: Mapping[str, Any],
) -> str:
    """The text of printProfileSummary. Raises KeyError with a sentence for an unknown or malformed option."""
    chosen = _chosen(flags)
    colours = chosen.pop("colours", False)
    with _source(executable, options, name, records) as source:
        text = profile_summary(source, SummaryOptions(**chosen))
    return _coloured(text) if colours else text


def _coloured(text: str) -> str:
    """Headings in bold, bars of histograms in a colour: escape sequences of terminals."""
    text = re.sub(r"^( *)(\S[^:\n]*:)$", "\\1\x1b[1m\\2\x1b[0m", text, flags=re.MULTILINE)
    return re.sub(r"\*{1,40}", "\x1b[36m\\g<0>\x1b[0m", text)


def write_interval_rows(
    executable: CompiledGraph, options: EngineOptions, name: str, records: Sequence[RunRecord], stream: IO[str]
) -> None:
    """The rows of reportIntervals."""
    with _source(executable, options, name, records) as source:
        write_intervals(source, stream)


def _chosen(flags: Mapping[str, Any]) -> dict[str, bool]:
    chosen = {}
    for option, value in flags.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if option not in _OPTIONS:
            raise KeyError(
                f"'{option}' is not an option of printProfileSummary; the options are {', '.join(_OPTIONS)}."
            )
        if text not in ("true", "false"):
            raise KeyError(f"Option '{option}' cannot be '{value}'; use 'true' or 'false'.")
        chosen[_OPTIONS[option]] = text == "true"
    return chosen


@contextmanager
def _source(
    executable: CompiledGraph, options: EngineOptions, name: str, records: Sequence[RunRecord]
) -> Iterator[ReportSource]:
    with tempfile.TemporaryDirectory(prefix="popvision-report-") as folder:
        yield ReportSource(_write(Path(folder), executable, options, name, records))


def _write(
    folder: Path,
    executable: CompiledGraph,
    options: EngineOptions,
    name: str,
    records: Sequence[RunRecord],
    blocks: Sequence[Sequence[TileBlocks]] = (),
) -> Path:
    meta = report_meta(options.facts(), name, "", executable)
    path = folder / PROFILE_NAME
    with ProfileWriter(path) as writer:
        writer.write_compilation(replace(executable.compilation, meta=meta))
        for record in records:
            writer.append_run(record)
        for each in blocks:
            writer.append_blocks(each)
    write_debug_info(folder, debug_contexts(executable.debug_infos), "", ["debug.cbor"])
    return path
