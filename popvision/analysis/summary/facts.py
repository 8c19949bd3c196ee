"""The summary of a report: headline figures, target, graph, versions, options, runs and files, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from popvision.analysis.report.not_recorded import LostError, NotRecordedError, if_recorded
from popvision.analysis.report.origin import options_of, provenance_of
from popvision.analysis.report.target import TargetFacts, target_facts
from popvision.analysis.summary.headline import Headline, headline

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class RunRow:
    """One recorded run. `cycles` is device time; the host times are wall time, microseconds since the epoch."""

    run: int
    program_index: int
    name: str
    steps: int
    cycles: int
    device_us: float | None  #: None where the clock was lost
    host_start_us: int
    host_us: int  #: end - start on the host's clock
    truncated: bool


@dataclass(frozen=True)
class Summary:
    """The facts of the summary; `provenance` are (label, value) facts about the report's producer and options. `lost`:
    "target", "runs" or "meta" -> the sentence about damage that took that part."""

    headline: Headline
    target: TargetFacts | None
    graph: dict[str, int]
    provenance: list[tuple[str, str]]
    options: list[tuple[str, str, str]]  #: ("engine" | "target", name, value)
    runs: list[RunRow]
    missing: list[str] = field(default_factory=list)  #: tables that the file does not have
    lost: dict[str, str] = field(default_factory=dict)


def summarise(source: ReportSource) -> Summary:
    """What damage took is None or empty, and `lost` says so."""
    reader = source.reader
    lost: dict[str, str] = {}
    figures = headline(source)  # before the rest: it meets the damage that takes runs away
    runs: list[RunRow] = []
    try:
        reader.target()
    except LostError as damage:
        lost["target"] = str(damage)
    except NotRecordedError:
        pass
    try:
        runs = run_rows(source)
    except LostError as damage:
        lost["runs"] = str(damage)
    except NotRecordedError:
        pass
    damaged = next((each for each in source.lost if "table meta is damaged" in each), "")
    if damaged:
        lost["meta"] = damaged
    return Summary(
        headline=figures,
        target=if_recorded(lambda: target_facts(source)),
        graph=if_recorded(reader.counts) or {},
        provenance=provenance_of(source),
        options=options_of(source),
        runs=runs,
        missing=list(reader.missing),
        lost=lost,
    )


def run_rows(source: ReportSource) -> list[RunRow]:
    """The recorded runs in order."""
    runs, target = source.reader.runs(), if_recorded(source.reader.target)
    clock = 0.0 if target is None else target.clock_hz
    return [
        RunRow(
            run=run,
            program_index=int(runs.program_index[run]),
            name=runs.name[run],
            steps=int(runs.n_steps[run]),
            cycles=int(runs.cycles[run]),
            device_us=int(runs.cycles[run]) / clock * 1e6 if clock > 0 else None,
            host_start_us=int(runs.host_start_us[run]),
            host_us=int(runs.host_end_us[run]) - int(runs.host_start_us[run]),
            truncated=bool(runs.truncated[run]),
        )
        for run in range(len(runs.name))
    ]
