"""Questions about the entire report: its summary, target, options, facts and files, and SQL over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.analysis.report.origin import options_of, provenance_of
from popvision.analysis.report.report_files import file_rows
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.target import target_facts
from popvision.analysis.summary.headline import headline
from popvision.formats.errors import FormatError
from popvision.opened.frames import report_frame
from popvision.query import Limits, ask

if TYPE_CHECKING:
    import pandas as pd

#: Fields of `Headline` that become rows of their own names.
_COMPOUND_FIELDS = ("shares", "longest", "live_peak", "lost")

_SHARE = "part of the whole, 0 to 1"
_UNITS = {
    "total_cycles": "tile clock cycles",
    "device_seconds": "seconds of device time",
    "tile_bytes": "bytes",
    "tile_capacity": "bytes",
    "used_bytes": "bytes",
    "total_capacity": "bytes",
    "tile_share": _SHARE,
    "used_share": _SHARE,
}


def summary(source: ReportSource) -> pd.DataFrame:
    """The main figures: figure, value, unit. Total cycles and device time, the fullest tile (`tile_bytes`, including
    gaps, on `worst_tile`), bytes in use over all tiles, peak liveness, the share of each phase, the longest program. A
    figure that the report does not hold is missing."""
    figures = headline(source)
    rows: list[tuple[str, Any, str]] = [
        (name, value, _UNITS.get(name, "")) for name, value in vars(figures).items() if name not in _COMPOUND_FIELDS
    ]
    if figures.live_peak is not None:
        rows.append(("live_peak_bytes", figures.live_peak.total, "bytes"))
        rows.append(("live_peak_index", figures.live_peak.index, "liveness index"))
    rows += [(f"{phase} share", share, _SHARE) for phase, share in (figures.shares or {}).items()]
    if figures.longest is not None:
        rows.append(("longest_program", figures.longest.program, "program id"))
        rows.append(("longest_program_cycles", figures.longest.cycles, "tile clock cycles"))
    figure, value, unit = zip(*rows, strict=True)
    return report_frame(source, {"figure": list(figure), "value": list(value), "unit": list(unit)})


def target(source: ReportSource) -> dict[str, Any]:
    """The machine as a dict: type, architecture, clock_hz, tiles_per_ipu, total_ipus, total_tiles, replicas,
    bytes_per_tile, ... (`analysis.summary.facts.TargetFacts`)."""
    return dict(vars(target_facts(source)))


def options(source: ReportSource) -> pd.DataFrame:
    """Options of the engine and the target: group ("engine" or "target"), name, value."""
    rows = options_of(source)
    return report_frame(source, {name: [row[at] for row in rows] for at, name in enumerate(("group", "name", "value"))})


def facts(source: ReportSource) -> dict[str, str]:
    """Producer, time and versions of the report."""
    return dict(provenance_of(source))


def files(source: ReportSource) -> pd.DataFrame:
    """The files that a report can have: label, name, option (which writes it), state ("found", "missing", "damaged", or
    "stale": of another run), size_bytes (missing for a missing file)."""
    import pandas as pd

    rows = file_rows(source)
    columns = {name: [getattr(row, name) for row in rows] for name in ("label", "name", "option", "state")}
    size = pd.array([row.bytes for row in rows], dtype="Int64")
    return report_frame(source, columns | {"size_bytes": size})


def query(source: ReportSource, sql: str, *, timeout: float = 30.0, most_rows: int = 1_000_000) -> pd.DataFrame:
    """Read-only SQL over the views of docs/query.md, such as "select tile, gaps_bytes from tiles order by 2 desc".

    Raises FormatError for SQL that is wrong, writes, takes longer than `timeout` seconds or gives more than `most_rows`
    rows."""
    answer = ask(source.reader.path, sql, Limits(seconds=timeout, rows=most_rows))
    if answer.more:
        raise FormatError(f"the query gives more than {most_rows:,} rows; narrow it or raise `most_rows`.")
    return report_frame(source, {name: [row[at] for row in answer.rows] for at, name in enumerate(answer.columns)})
