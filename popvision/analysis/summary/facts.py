"""The summary of a report: headline figures, target, graph, versions, options, runs and files, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from popvision.analysis.report.not_recorded import LostError, NotRecordedError, held
from popvision.analysis.report.target import architecture_name, type_name
from popvision.analysis.report.tiles import target_of
from popvision.analysis.summary.headline import Headline, LongestProgram, headline

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Target

__all__ = [
    "Headline",
    "LongestProgram",
    "RunRow",
    "Summary",
    "TargetFacts",
    "headline",
    "options_of",
    "provenance_of",
    "run_rows",
    "summarise",
    "target_facts",
]


@dataclass(frozen=True)
class TargetFacts:
    """The machine; bytes and counts over all replicas unless said otherwise."""

    type: str
    architecture: str
    clock_hz: float
    tiles_per_ipu: int
    total_ipus: int
    total_tiles: int
    replicas: int
    ipus_per_replica: int
    bytes_per_tile: int
    bytes_per_ipu: int
    bytes_per_replica: int
    bytes_total: int
    compute_instrumentation: str
    external_exchange_instrumentation: str

    def rows(self) -> list[tuple[str, str, float | str]]:
        """(name, kind, value) of every fact; `kind` "text", "bytes", "integer" or "hertz"; replicas where there are
        several."""
        facts: list[tuple[str, str, float | str]] = [
            ("Type", "text", self.type),
            ("Architecture", "text", self.architecture),
            ("Clock", "hertz", self.clock_hz),
            ("Tiles per IPU", "integer", self.tiles_per_ipu),
            ("IPUs per replica", "integer", self.ipus_per_replica),
            ("Replicas", "integer", self.replicas),
            ("Total IPUs", "integer", self.total_ipus),
            ("Total tiles", "integer", self.total_tiles),
            ("Memory per tile", "bytes", self.bytes_per_tile),
            ("Memory per IPU", "bytes", self.bytes_per_ipu),
            ("Memory per replica", "bytes", self.bytes_per_replica),
            ("Total memory", "bytes", self.bytes_total),
            ("Compute set instrumentation", "text", self.compute_instrumentation or "–"),
            ("External exchange instrumentation", "text", self.external_exchange_instrumentation or "–"),
        ]
        of_replicas = {"IPUs per replica", "Replicas", "Memory per replica"}
        return facts if self.replicas > 1 else [fact for fact in facts if fact[0] not in of_replicas]


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
    """Everything the summary says; `provenance` are (label, value) facts about who made the report and how. `lost`:
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
        target=held(lambda: target_facts(source)),
        graph=held(reader.counts) or {},
        provenance=provenance_of(source),
        options=options_of(source),
        runs=runs,
        missing=list(reader.missing),
        lost=lost,
    )


def target_facts(source: ReportSource) -> TargetFacts:
    """The machine the program was compiled for."""
    return _target_facts(target_of(source), source.reader.meta)


def _target_facts(target: Target, meta: dict[str, Any]) -> TargetFacts:
    replicas = max(1, target.num_replicas)
    ipus_per_replica = target.num_ipus // replicas
    bytes_per_ipu = target.bytes_per_tile * target.tiles_per_ipu
    return TargetFacts(
        type=type_name(target),
        architecture=architecture_name(target),
        clock_hz=target.clock_hz,
        tiles_per_ipu=target.tiles_per_ipu,
        total_ipus=target.num_ipus,
        total_tiles=target.num_tiles,
        replicas=replicas,
        ipus_per_replica=ipus_per_replica,
        bytes_per_tile=target.bytes_per_tile,
        bytes_per_ipu=bytes_per_ipu,
        bytes_per_replica=bytes_per_ipu * ipus_per_replica,
        bytes_total=bytes_per_ipu * target.num_ipus,
        compute_instrumentation=str(meta.get("computeInstrumentation", "")),
        external_exchange_instrumentation=str(meta.get("externalExchangeInstrumentation", "")),
    )


_PROVENANCE_KEYS = (
    ("poplarVersion", "Poplar API level"),
    ("modelVersion", "Model version"),
    ("whatIf", "What-if"),
    ("engineName", "Engine"),
    ("timestamp", "Compiled"),
    ("reportId", "Report id"),
    ("runId", "Run id"),
    ("generation", "Generation"),
)


def provenance_of(source: ReportSource) -> list[tuple[str, str]]:
    """(label, value): who made the report, when, with which versions."""
    meta = source.reader.meta
    origin = "simulated" if meta.get("simulated", False) else "not said to be simulated"
    facts = [("Origin", origin)]
    facts += [(label, str(meta[key])) for key, label in _PROVENANCE_KEYS if meta.get(key) not in (None, "")]
    version = meta.get("formatVersion")
    if version is not None:
        text = ".".join(str(part) for part in version) if isinstance(version, list) else str(version)
        facts.append(("Format version", text))
    return facts


def options_of(source: ReportSource) -> list[tuple[str, str, str]]:
    """("engine" or "target", name, value) of every option the report names, sorted."""
    meta = source.reader.meta
    rows = []
    for group, key in (("engine", "engineOptions"), ("target", "targetOptions")):
        options = meta.get(key)
        if isinstance(options, dict):
            rows += [(group, str(name), str(value)) for name, value in sorted(options.items())]
    return rows


def run_rows(source: ReportSource) -> list[RunRow]:
    """The recorded runs in order."""
    runs, target = source.reader.runs(), held(source.reader.target)
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
