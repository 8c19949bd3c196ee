"""The summary of a report: headline figures, target, graph, versions, options, runs and files, as plain values.

Peak memory is given in two ways, because they answer different questions: the fullest tile *including gaps* against
the bytes of a tile decides whether the program fits; the sum *excluding gaps* against all tiles says how much is used.
Shares of time are tile cycles by phase over all tiles and recorded runs (phases.py); they add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.phases import PHASES, phase_totals
from popvision.analysis.program_figures import figures
from popvision.analysis.program_tree import programs_of
from popvision.analysis.target import architecture_name, type_name
from popvision.formats.profile.model import PHASE_OF_TYPE

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource
    from popvision.formats.profile.model import Target


@dataclass(frozen=True)
class LongestProgram:
    """The program that took most device cycles of its own over all recorded runs, on the IPU where it took most."""

    program: int
    type: str
    name: str
    cycles: int
    executions: int
    share: float  #: cycles / total cycles, 0..1


@dataclass(frozen=True)
class Headline:
    """The figures one asks for first. Cycles and bytes None = not in the report; device time = cycles / clock."""

    total_cycles: int | None
    device_seconds: float | None
    runs: int
    truncated: bool
    shares: dict[str, float] | None  #: phase -> part of all tile cycles, 0..1
    longest: LongestProgram | None
    tile_bytes: int | None  #: fullest tile, including gaps
    worst_tile: int | None
    tile_capacity: int
    tile_share: float | None  #: tile_bytes / tile_capacity
    used_bytes: int | None  #: all tiles, excluding gaps
    total_capacity: int
    used_share: float | None  #: used_bytes / total_capacity
    tiles_out_of_memory: int | None


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


@dataclass(frozen=True)
class RunRow:
    """One recorded run. `cycles` is device time; the host times are wall time, microseconds since the epoch."""

    run: int
    program_index: int
    name: str
    steps: int
    cycles: int
    device_us: float
    host_start_us: int
    host_us: int  #: end - start on the host's clock
    truncated: bool


@dataclass(frozen=True)
class Summary:
    """Everything the summary says; `provenance` are (label, value) facts about who made the report and how."""

    headline: Headline
    target: TargetFacts
    graph: dict[str, int]
    provenance: list[tuple[str, str]]
    options: list[tuple[str, str, str]]  #: ("engine" | "target", name, value)
    runs: list[RunRow]
    missing: list[str] = field(default_factory=list)  #: tables that the file does not have


def summarise(source: ReportSource) -> Summary:
    """Raises FormatError when the report cannot be read."""
    reader = source.reader
    return Summary(
        headline=headline(source),
        target=_target_facts(reader.target(), reader.meta),
        graph=reader.counts(),
        provenance=_provenance(reader.meta),
        options=_options(reader.meta),
        runs=run_rows(source),
        missing=list(reader.missing),
    )


def headline(source: ReportSource) -> Headline:
    """The first figures alone; see the head of this module for their formulas."""
    reader = source.reader
    target, runs, memory = reader.target(), reader.runs(), reader.tile_memory()
    total = reader.total_cycles() if runs.name else None
    totals = phase_totals(source) if runs.name else None
    worst = None if memory is None or not len(memory.including_gaps) else int(np.argmax(memory.including_gaps))
    tile_bytes = None if memory is None or worst is None else int(memory.including_gaps[worst])
    used = None if memory is None else int(np.sum(memory.excluding_gaps, dtype=np.int64))
    capacity = target.bytes_per_tile * target.num_tiles
    over = None if memory is None else int(np.count_nonzero(memory.including_gaps > target.bytes_per_tile))
    return Headline(
        total_cycles=total,
        device_seconds=None if total is None or target.clock_hz <= 0 else total / target.clock_hz,
        runs=len(runs.name),
        truncated=bool(runs.truncated.any()),
        shares=None if totals is None or not totals.length else {phase: totals.share(phase) for phase in PHASES},
        longest=_longest(source, total),
        tile_bytes=tile_bytes,
        worst_tile=worst,
        tile_capacity=target.bytes_per_tile,
        tile_share=_ratio(tile_bytes, target.bytes_per_tile),
        used_bytes=used,
        total_capacity=capacity,
        used_share=_ratio(used, capacity),
        tiles_out_of_memory=over,
    )


def _ratio(part: int | None, whole: int) -> float | None:
    return None if part is None or whole <= 0 else part / whole


def _longest(source: ReportSource, total: int | None) -> LongestProgram | None:
    programs = programs_of(source)
    timed = np.array([type_ in PHASE_OF_TYPE for type_ in programs.type], bool)
    if not total or not timed.any():
        return None
    sums = figures(source)
    program = int(np.argmax(np.where(timed, sums.self_cycles, -1)))
    cycles = int(sums.self_cycles[program])
    if cycles <= 0:
        return None
    return LongestProgram(
        program, programs.type[program], programs.name[program], cycles, int(sums.executions[program]), cycles / total
    )


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


def _provenance(meta: dict[str, Any]) -> list[tuple[str, str]]:
    origin = "simulated" if meta.get("simulated", False) else "not said to be simulated"
    facts = [("Origin", origin)]
    facts += [(label, str(meta[key])) for key, label in _PROVENANCE_KEYS if meta.get(key) not in (None, "")]
    version = meta.get("formatVersion")
    if version is not None:
        text = ".".join(str(part) for part in version) if isinstance(version, list) else str(version)
        facts.append(("Format version", text))
    return facts


def _options(meta: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    for group, key in (("engine", "engineOptions"), ("target", "targetOptions")):
        options = meta.get(key)
        if isinstance(options, dict):
            rows += [(group, str(name), str(value)) for name, value in sorted(options.items())]
    return rows


def run_rows(source: ReportSource) -> list[RunRow]:
    """The recorded runs in order."""
    runs, clock = source.reader.runs(), source.reader.target().clock_hz
    return [
        RunRow(
            run=run,
            program_index=int(runs.program_index[run]),
            name=runs.name[run],
            steps=int(runs.n_steps[run]),
            cycles=int(runs.cycles[run]),
            device_us=int(runs.cycles[run]) / clock * 1e6 if clock > 0 else 0.0,
            host_start_us=int(runs.host_start_us[run]),
            host_us=int(runs.host_end_us[run]) - int(runs.host_start_us[run]),
            truncated=bool(runs.truncated[run]),
        )
        for run in range(len(runs.name))
    ]
