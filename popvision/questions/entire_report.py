"""Questions about the entire report: its summary, target, options, facts and files."""

from __future__ import annotations

from typing import Any

from popvision.analysis.report.origin import options_of, provenance_of
from popvision.analysis.report.report_files import file_rows
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.table_columns import UNIT_WORDS, columns
from popvision.analysis.report.target import target_facts
from popvision.questions.question import Answer, question

#: Fields of `Headline` that become rows of their own names.
_COMPOUND_FIELDS = ("shares", "longest", "live_peak", "lost")

_UNITS = {
    "total_cycles": UNIT_WORDS["cycles"],
    "device_seconds": "seconds of device time",
    "tile_bytes": "bytes",
    "tile_capacity": "bytes",
    "used_bytes": "bytes",
    "total_capacity": "bytes",
    "tile_share": UNIT_WORDS["share"],
    "used_share": UNIT_WORDS["share"],
}

SUMMARY = columns(
    "main_figures",
    """
    figure | text | the figure
    value  | text | its value; missing where the report does not hold it
    unit   | text | its unit
    """,
)


@question(SUMMARY)
def summary(source: ReportSource) -> Answer:
    """The main figures: total cycles and device time, the fullest tile (`tile_bytes`, including gaps, on `worst_tile`),
    bytes in use over all tiles, peak liveness, the share of each phase, the longest program."""
    from popvision.analysis.summary.headline import headline

    figures = headline(source)
    rows: list[tuple[str, Any, str]] = [
        (name, value, _UNITS.get(name, "")) for name, value in vars(figures).items() if name not in _COMPOUND_FIELDS
    ]
    if figures.live_peak is not None:
        rows.append(("live_peak_bytes", figures.live_peak.total, "bytes"))
        rows.append(("live_peak_index", figures.live_peak.index, "liveness index"))
    rows += [(f"{phase} share", share, UNIT_WORDS["share"]) for phase, share in (figures.shares or {}).items()]
    if figures.longest is not None:
        rows.append(("longest_program", figures.longest.program, "program id"))
        rows.append(("longest_program_cycles", figures.longest.cycles, UNIT_WORDS["cycles"]))
    figure, value, unit = (list(column) for column in zip(*rows, strict=True))
    return Answer(SUMMARY.table(figure=figure, value=value, unit=unit))


@question()
def target(source: ReportSource) -> dict[str, Any]:
    """The machine: type, architecture, clock_hz, tiles_per_ipu, total_ipus, total_tiles, replicas, bytes_per_tile ...
    (`analysis.summary.facts.TargetFacts`)."""
    return dict(vars(target_facts(source)))


OPTIONS = columns(
    "options",
    """
    group | text | "engine" or "target"
    name  | text | name of the option
    value | text | its value
    """,
)


@question(OPTIONS)
def options(source: ReportSource) -> Answer:
    """Options of the engine and the target."""
    rows = options_of(source)
    return Answer(OPTIONS.table(**{name: [row[at] for row in rows] for at, name in enumerate(OPTIONS.ids)}))


@question()
def facts(source: ReportSource) -> dict[str, str]:
    """Producer, time and versions of the report."""
    return dict(provenance_of(source))


FILES = columns(
    "files",
    """
    label      | text  | what the file is
    name       | text  | its name
    option     | text  | the option that writes it
    state      | text  | found, missing, damaged, or stale: of another run
    size_bytes | bytes | its size; missing for a missing file
    """,
)


@question(FILES)
def files(source: ReportSource) -> Answer:
    """The files that a report can have."""
    import pandas as pd

    rows = file_rows(source)
    names = {name: [getattr(row, name) for row in rows] for name in ("label", "name", "option", "state")}
    return Answer(FILES.table(**names, size_bytes=pd.array([row.bytes for row in rows], dtype="Int64")))
