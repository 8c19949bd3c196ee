"""Metrics of a report for comparisons and limits: names, units, formulas.

A metric that the report does not hold is None, never 0. docs/compare.md lists them; a limit (limits.py) names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.once import counted, set_apart
from popvision.analysis.execution.phases import PHASES, phase_totals
from popvision.analysis.liveness.curve import curve, peak
from popvision.analysis.memory.usage import category_arrays
from popvision.analysis.report.columns import programs_of, stored_tile_memory
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.tile_knowledge import tiles_unknown
from popvision.analysis.report.tiles import target_of
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import TileMemory

Values = dict[str, float | None]


@dataclass(frozen=True)
class Metric:
    """`kind`: "cycles" (device), "seconds" (device time), "bytes", "integer", "percent" (a share 0..1) or "decimal".
    `view` is the page that shows what is behind it."""

    name: str
    title: str
    kind: str
    formula: str
    view: str = "summary"


_PHASES = [(phase.replace(" ", "_"), phase) for phase in PHASES]
_ALL_RUNS = "over all recorded runs"
_COUNTED = "over all recorded runs but those once per attachment"
_RECEIVED = f"sum over their steps and IPUs of bytes received, {_ALL_RUNS}"

METRICS = (
    Metric("cycles", "Total device cycles", "cycles", f"sum of the runs' device cycles, {_COUNTED}", "execution"),
    Metric("cycles_per_run", "Device cycles per run", "decimal", "total device cycles / runs", "execution"),
    Metric("device_time", "Device time", "seconds", "total device cycles / clock", "execution"),
    Metric("cycles_apart", "Cycles once", "cycles", "device cycles of runs once per attachment", "execution"),
    Metric("runs", "Recorded runs", "integer", "runs in the report but those once per attachment"),
    Metric("steps", "Execution steps", "integer", f"steps {_COUNTED}", "execution"),
    Metric("peak", "Fullest tile, including gaps", "bytes", "maximum over tiles of the highest used byte", "memory"),
    Metric("peak_used", "Fullest tile, excluding gaps", "bytes", "maximum over tiles of bytes in use", "memory"),
    Metric("memory", "Memory, including gaps", "bytes", "sum over all tiles of the highest used byte", "memory"),
    Metric("memory_used", "Memory, excluding gaps", "bytes", "sum over all tiles of bytes in use", "memory"),
    Metric("gaps", "Gaps", "bytes", "memory including gaps - memory excluding gaps", "memory"),
    Metric("tiles_over", "Tiles out of memory", "integer", "tiles whose highest used byte is beyond them", "memory"),
    Metric(
        "live_peak",
        "Peak liveness",
        "bytes",
        "always live + the most not always live at one index, one replica",
        "liveness",
    ),
    Metric("always_live", "Always live", "bytes", "bytes of variables live throughout, one replica", "liveness"),
    Metric(
        "not_always_live",
        "Not always live at the peak",
        "bytes",
        "maximum over liveness indices, one replica",
        "liveness",
    ),
    Metric("code", "Code", "bytes", "vertex, control and exchange code, all tiles", "memory"),
    Metric("vertex_code", "Vertex code", "bytes", "category vertexCode, all tiles", "memory"),
    Metric("control_code", "Control code", "bytes", "category controlCode, all tiles", "memory"),
    Metric("exchange_code", "Exchange code", "bytes", "internal, host and global exchange code, all tiles", "memory"),
    Metric("exchange_bytes", "Exchanged between tiles", "bytes", f"DoExchange: {_RECEIVED}", "execution"),
    Metric("global_exchange_bytes", "Exchanged between IPUs", "bytes", f"GlobalExchange: {_RECEIVED}", "execution"),
    Metric("host_bytes_in", "Received from the host", "bytes", f"StreamCopy: {_RECEIVED}", "execution"),
    Metric(
        "host_bytes_out",
        "Sent to the host",
        "bytes",
        f"StreamCopy: sum over their steps and IPUs of bytes sent, {_ALL_RUNS}",
        "execution",
    ),
    *(
        Metric(
            f"{name}_share",
            f"Share of {title}",
            "percent",
            "tile cycles of the phase / (tiles x total device cycles)",
            "execution",
        )
        for name, title in _PHASES
    ),
    *(
        Metric(
            f"{name}_cycles", f"Cycles of a tile in {title}", "decimal", "tile cycles of the phase / tiles", "execution"
        )
        for name, title in _PHASES
    ),
    Metric(
        "balance",
        "Tile balance of compute",
        "percent",
        "OnTileExecute steps: sum of tile cycles / (tiles x sum of the slowest tile's cycles)",
        "execution",
    ),
    Metric("programs", "Programs", "integer", "lowered programs", "program_tree"),
    Metric("compute_sets", "Compute sets", "integer", "compute sets of the graph"),
    Metric("vertices", "Vertices", "integer", "vertices of the graph"),
    Metric("edges", "Edges", "integer", "edges of the graph"),
    Metric(
        "variables",
        "Variables of the graph",
        "integer",
        "variables that the program and its libraries add; not what the compiler adds",
        "memory",
    ),
)

BY_NAME = {metric.name: metric for metric in METRICS}

_CODE = {
    "vertex_code": ("vertexCode",),
    "control_code": ("controlCode",),
    "exchange_code": ("internalExchangeCode", "hostExchangeCode", "globalExchangeCode"),
}

_MOVED = {
    "exchange_bytes": (("DoExchange",), "data_in"),
    "global_exchange_bytes": (("GlobalExchange",), "data_in"),
    "host_bytes_in": (("StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"), "data_in"),
    "host_bytes_out": (("StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"), "data_out"),
}


def measure(source: ReportSource) -> Values:
    """Every metric of METRICS by name; None = the report does not hold it. Raises FormatError when it is damaged."""

    def read() -> Values:
        values: Values = dict.fromkeys(BY_NAME)
        for part in (_counts, _memory, _liveness, _code, _execution):
            values |= if_recorded(partial(part, source)) or {}
        return values

    return source.kept.recent(("metrics", source.generation), read)


def measure_together(reports: Sequence[ReportSource]) -> list[Values]:
    """Every metric of reports that stand side by side, as `measure`; but bytes of code that one of them has are 0 in
    another whose memory is recorded by category and holds none (the IPU Model compiles none)."""
    values = [measure(each) for each in reports]
    for at, report in enumerate(reports):
        if values[at]["memory_used"] is None or not if_recorded(partial(category_arrays, report)):
            continue
        lacking = [name for name in ("code", *_CODE) if values[at][name] is None]
        added = {name: 0 for name in lacking if any(each[name] is not None for each in values)}
        values[at] = values[at] | added
    return values


def _counts(source: ReportSource) -> Values:
    counts = source.reader.counts()
    named: Values = {name.removeprefix("num_"): value for name, value in counts.items()}
    return named | {"programs": len(programs_of(source).type)}


def _memory(source: ReportSource) -> Values:
    memory: TileMemory | None = stored_tile_memory(source)
    if memory is None or not len(memory.including_gaps):
        return {}
    including, excluding = (np.asarray(each, np.int64) for each in (memory.including_gaps, memory.excluding_gaps))
    total, used = int(including.sum()), int(excluding.sum())
    over = int(np.count_nonzero(including > target_of(source).bytes_per_tile))
    return {
        "peak": int(including.max()),
        "peak_used": int(excluding.max()),
        "memory": total,
        "memory_used": used,
        "gaps": total - used,
        "tiles_over": over,
    }


def _liveness(source: ReportSource) -> Values:
    highest = peak(curve(source))
    return {
        "live_peak": highest.total,
        "always_live": highest.always_live,
        "not_always_live": highest.not_always_live,
    }


def _code(source: ReportSource) -> Values:
    arrays = category_arrays(source)
    if not {name for names in _CODE.values() for name in names} & {key[0] for key in arrays}:
        return {}  # a model without code sizes: unknown, not 0
    sums = {
        name: sum(int(values.sum()) for key, values in arrays.items() if key[0] in categories)
        for name, categories in _CODE.items()
    }
    return {**sums, "code": sum(sums.values())}


def _execution(source: ReportSource) -> Values:
    of_runs, clock = counted(source), target_of(source).clock_hz
    if not of_runs.runs:
        return {"runs": 0}
    cycles = of_runs.total_cycles
    values: Values = {
        "cycles": cycles,
        "cycles_apart": of_runs.apart.total,
        "cycles_per_run": cycles / of_runs.runs,
        "runs": of_runs.runs,
        "steps": of_runs.steps,
        "device_time": cycles / clock if clock > 0 else None,
    }
    totals = phase_totals(source)
    for phase, tile_cycles in totals.tile_cycles.items():
        if phase in totals.unknown or not totals.of_tiles:
            continue
        name = phase.replace(" ", "_")
        values[f"{name}_cycles"] = tile_cycles / totals.tiles
        values[f"{name}_share"] = totals.share(phase) if totals.length else None
    return values | _steps(source)


def _steps(source: ReportSource) -> Values:
    reader, target = source.reader, target_of(source)
    types = reader.steps().type
    columns = [reader.steps_on_ipu(ipu) for ipu in range(target.num_ipus)]
    rows = {
        name: np.isin(types, [PROGRAM_TYPES.index(type) for type in types_of]) for name, (types_of, _) in _MOVED.items()
    }
    moved: Values = {
        name: sum(int(np.sum(getattr(steps, column)[rows[name]], dtype=np.int64)) for steps in columns)
        for name, (_, column) in _MOVED.items()
    }
    compute = (types == PROGRAM_TYPES.index("OnTileExecute")) & ~set_apart(source).steps
    slowest = sum(int(np.sum(steps.max_cycles[compute], dtype=np.int64)) for steps in columns)
    busy = sum(int(np.sum(steps.tile_cycles[compute], dtype=np.int64)) for steps in columns)
    known = slowest > 0 and not tiles_unknown(source)
    return moved | {"balance": busy / (target.tiles_per_ipu * slowest) if known else None}
