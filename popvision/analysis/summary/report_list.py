"""Reports and traces below a folder, and one card of facts about each."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.recognition import READABLE, SUFFIXES, is_foreign_trace
from popvision.package_data import package_folder

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.growing import FollowedTrace
    from popvision.analysis.trace.source import TraceSource

__all__ = [
    "READABLE_TRACES",
    "TRACE_SUFFIXES",
    "Card",
    "ReportPath",
    "describe",
    "find",
    "follow_trace",
    "is_foreign_trace",
    "open_report",
    "open_trace",
    "run_id_of",
    "samples_folder",
]

#: Folders looked into below one root. A larger tree is cut off with a note, so that "/" does not hang the viewer.
MOST_FOLDERS = 20_000

_SKIPPED = {"node_modules", "__pycache__", "site-packages"}
_JOURNAL_IS_FRESH = 60.0  # seconds since the last commit after which an open journal looks abandoned


@dataclass(frozen=True)
class ReportPath:
    """`kind` is "report" (path = the folder that holds profile.pop) or "trace" (path = the .pvti file)."""

    kind: str
    path: Path


@dataclass(frozen=True)
class Card:
    """One line about a report or trace; None = not in the file.

    `state` is "complete"; "running" (a run was committed within the last minute and the file is still being written);
    "not closed" (its writer ended without closing it); "truncated" (the cap on recorded steps was reached); "does not
    fit" (a tile is over its memory); "another tool's" (a trace that opening will import; nothing of it was read yet);
    "recording or killed" (a trace that its program has not ended); "no events" (a trace that was ended without one);
    or "damaged", for which `problem` is the sentence. Cycles are device cycles over all recorded runs, bytes are device
    memory."""

    label: str
    state: str
    problem: str = ""
    target: str = ""
    simulated: bool = False
    total_cycles: int | None = None
    runs: int | None = None
    peak_bytes: int | None = None  #: highest used address of a tile, gaps included
    used_bytes: int | None = None  #: most bytes in use on a tile, gaps excluded
    capacity_bytes: int | None = None
    clock_hz: float | None = None  #: of the device
    shares: dict[str, float] | None = None  #: phase -> part of all tile cycles, 0..1
    size_bytes: int = 0
    modified: float = 0.0  #: seconds since the epoch
    compiled: float | None = None  #: the same of the compilation, None where the report does not say
    opens: bool = True  #: False for a file of which nothing can be read


#: Names of files that may be another tool's trace; a file that is named itself may have any name.
TRACE_SUFFIXES = SUFFIXES

#: Traces that can be opened, in words.
READABLE_TRACES = f"a .pvti, {READABLE}"

#: State of another tool's trace that nobody has opened yet.
NOT_READ = "another tool's"

#: Bytes of such a trace that the list reads: some 10,000 events, half a second.
_QUICKLY_IMPORTED = 1 << 20


def samples_folder() -> Path | None:
    """The reports shipped with the package, or None when this installation has none."""
    try:
        return package_folder("sample_reports")
    except FileNotFoundError:
        return None


def find(root: Path) -> tuple[list[ReportPath], str]:
    """Reports and traces at and below `root`, in path order, and a note ("" when all is well): no report, not
    there, or cut off. A file may be given instead of a folder. Symbolic links to folders are not followed."""
    if root.is_file():
        return _find_file(root)
    if not root.is_dir():
        return [], f"{root} does not exist: give a report folder, or a folder above some."
    entries: list[ReportPath] = []
    for visited, (parent, folders, files) in enumerate(os.walk(root)):
        if visited >= MOST_FOLDERS:
            note = f"{root} holds more than {MOST_FOLDERS:,} folders; not all were searched: give one below it."
            return entries, note
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        if "profile.pop" in files:
            entries.append(ReportPath("report", Path(parent)))
        entries += [ReportPath("trace", Path(parent, name)) for name in sorted(files) if _is_trace(Path(parent, name))]
    if not entries:
        options = """POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true", "autoReport.directory":"FOLDER"}'"""
        return [], f"{root} holds no report: run the program with {options} and open that folder."
    return entries, ""


def _is_trace(path: Path) -> bool:
    """A .pvti by its name; a trace of another tool by its name and its first bytes."""
    return path.name.endswith(".pvti") or (path.name.endswith(SUFFIXES) and is_foreign_trace(path))


def _find_file(path: Path) -> tuple[list[ReportPath], str]:
    if path.suffix == ".pvti" or is_foreign_trace(path):
        return [ReportPath("trace", path)], ""
    if (path.parent / "profile.pop").is_file():
        return [ReportPath("report", path.parent)], ""
    return [], f"{path} is neither a .pvti trace nor a file of a report folder: give a folder that holds profile.pop."


def open_report(folder: Path) -> ReportSource:
    """As far as it can be read, in the state that it has now: `lost` of the source says what damage has cost. Raises
    FormatError."""
    from popvision.analysis.report.source import ReportSource

    return ReportSource(folder, salvage=True, one_state=True)


def open_trace(path: Path) -> TraceSource:
    """Raises FormatError."""
    from popvision.analysis.trace.source import TraceSource

    return TraceSource(path)


def follow_trace(path: Path) -> FollowedTrace:
    """A trace whose readings take what was added since the last one."""
    from popvision.analysis.trace.growing import FollowedTrace

    return FollowedTrace(path)


def run_id_of(entry: ReportPath) -> str:
    """The id that the files of one execution share; "" where it is not recorded or the file cannot be read. Reads the
    facts of the file, no events."""
    from popvision.formats.pvti.reader import TraceReader

    try:
        if entry.kind == "report":
            return str(open_report(entry.path).reader.meta.get("runId", ""))
        return "" if is_foreign_trace(entry.path) else TraceReader(entry.path, salvage=True).meta.get("run_id", "")
    except FormatError:
        return ""


def reports_beside(trace: Path) -> list[ReportSource]:
    """The reports of the execution that a trace is of, in its folder and the folders right below it. Damaged ones are
    left out."""
    run_id = run_id_of(ReportPath("trace", trace))
    folders = [trace.parent, *sorted(each for each in trace.parent.glob("*") if each.is_dir())]
    paths = [folder for folder in folders if run_id and (folder / "profile.pop").is_file()]
    return [open_report(folder) for folder in paths if run_id_of(ReportPath("report", folder)) == run_id]


def describe(entry: ReportPath, opened: TraceSource | None = None) -> Card:
    """Open an entry, unless it is a trace that is `opened`, and read its card; damage becomes the card's sentence. A
    large trace of another tool is NOT_READ, since its import takes long."""
    try:
        return _describe_report(entry.path) if entry.kind == "report" else _describe_trace(entry.path, opened)
    except FormatError as problem:
        state, sentence = "damaged", str(problem)
    size, modified = _size_and_time(entry.path)
    return Card(entry.path.name, state, sentence, size_bytes=size, modified=modified, opens=False)


def _describe_report(folder: Path) -> Card:
    from popvision.analysis.report.not_recorded import if_recorded
    from popvision.analysis.report.target import describe_target
    from popvision.analysis.summary.headline import headline

    source = open_report(folder)
    figures = headline(source)
    meta = if_recorded(lambda: source.reader.meta) or {}
    target = if_recorded(source.reader.target)
    lost: Sequence[str] = source.lost or list(
        dict.fromkeys(figures.lost.values())
    )  # of large files: what the card asks for
    size, modified = _size_and_time(folder)
    state = _journal_state(folder)
    if figures.truncated:
        state = "truncated"
    if figures.tiles_out_of_memory:
        state = "does not fit"
    return Card(
        label=source.label,
        state="damaged" if lost else state,
        problem=_problem(lost),
        target="" if target is None else describe_target(target),
        simulated=bool(meta.get("simulated", False)),
        total_cycles=figures.total_cycles,
        runs=None if "cycles" in figures.lost else figures.runs,
        peak_bytes=figures.tile_bytes,
        used_bytes=figures.fullest_bytes,
        capacity_bytes=None if target is None else target.bytes_per_tile,
        clock_hz=None if target is None else target.clock_hz,
        shares=figures.shares,
        size_bytes=size,
        modified=modified,
        compiled=_compiled_at(str(meta.get("timestamp", ""))),
    )


def _compiled_at(text: str) -> float | None:
    """Seconds since the epoch at a time in ISO 8601, None where the text is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _problem(lost: Sequence[str]) -> str:
    if not lost:
        return ""
    more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
    return f"Damaged, opens in part. Lost: {lost[0].rstrip('.')}{more}."


def _describe_trace(path: Path, opened: TraceSource | None) -> Card:
    size, modified = _size_and_time(path)
    if opened is None and is_foreign_trace(path) and size > _QUICKLY_IMPORTED:
        return Card(path.name, NOT_READ, size_bytes=size, modified=modified)
    source = opened or open_trace(path)
    state = "recording or killed" if source.files[0].state == "recording" else "complete"
    if state == "complete" and not (source.begin or source.end):
        state = "no events"
    if source.is_damaged:
        state = "damaged"
    problem = f"{source.loss_state.capitalize()}. {' '.join(source.lost)}" if source.lost else ""
    return Card(label=source.label, state=state, problem=problem, size_bytes=size, modified=modified)


def _journal_state(folder: Path) -> str:
    try:
        status = (folder / "profile.pop-wal").stat()
    except OSError:
        return "complete"
    if not status.st_size:
        return "complete"
    return "running" if time.time() - status.st_mtime < _JOURNAL_IS_FRESH else "not closed"


def _size_and_time(path: Path) -> tuple[int, float]:
    """Bytes of the file, or of the files directly in the folder; the newest modification time."""
    size, newest = 0, 0.0
    files = [path] if path.is_file() else list(path.iterdir())
    for file in files:
        try:
            status = file.lstat()
        except OSError:
            continue
        if file.is_file():
            size += status.st_size
            newest = max(newest, status.st_mtime)
    return size, newest
