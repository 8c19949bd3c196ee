"""Chosen liveness indices in full: program, vertices, cycle estimates and floating point operations.

Cycles are the compiler's estimates for one execution on the selected tiles, not recorded time. An index's
length is the maximum over its tiles; balance = mean / maximum over all those tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.liveness.curve import curve
from popvision.analysis.report.columns import liveness, programs_of
from popvision.analysis.report.figure import Figure, Table, Unit, least_certain
from popvision.analysis.report.tiles import Where, target_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import ComputeSetVertices

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def program_at(source: ReportSource, index: int) -> int:
    """Id of the program at a liveness index. Raises ValueError when there is no such index, NotRecordedError without
    liveness."""
    order = liveness(source).program
    if not 0 <= index < len(order):
        raise ValueError(f"liveness index {index} does not exist: this report has indices 0 to {len(order) - 1}")
    return int(order[index])


def program_label(source: ReportSource, program: int) -> str:
    """Type and name as the program tree writes them: "OnTileExecute (m4/Conv_1/Convolve)"."""
    programs = programs_of(source)
    name = programs.name[program]
    return f"{programs.type[program]} ({name})" if name else programs.type[program]


def program_names(source: ReportSource, programs: Int64Array) -> npt.NDArray[np.object_]:
    """`program_label` of many programs, each looked up once."""
    each, which = np.unique(programs, return_inverse=True)
    names = np.asarray([program_label(source, program) for program in each.tolist()], dtype=object)
    return names[which] if len(names) else np.empty(0, dtype=object)


def program_count(source: ReportSource) -> int:
    return len(programs_of(source).type)


def matching_indices(source: ReportSource, text: str) -> Int64Array:
    """Liveness indices whose program's type or name contains `text`, upper and lower case alike; all for ""."""
    wanted = text.strip().lower()
    programs = programs_of(source)
    pairs = zip(programs.type, programs.name, strict=True)
    matches = np.asarray([wanted in type_.lower() or wanted in name.lower() for type_, name in pairs], dtype=bool)
    return np.flatnonzero(matches[np.asarray(liveness(source).program, dtype=np.int64)])


def indices_of_program(source: ReportSource, program: int) -> Int64Array:
    """All liveness indices of a program: one per call site."""
    return np.flatnonzero(np.asarray(liveness(source).program) == program)


def vertices_table(source: ReportSource, indices: Sequence[int], tiles: range) -> Table:
    """Vertices of the compute sets at `indices` on `tiles`, a row per type: name, kind, then instances and state_bytes
    at each "index i", and from the second index on state_change_bytes at "i - first". Raises as `program_at`."""
    types = source.reader.vertex_types()
    each = np.asarray(types.state_bytes, dtype=np.int64)
    counts = [_per_type(_groups(source, index), "count", tiles, source, len(types.name)) for index in indices]
    present = np.flatnonzero(np.any(counts, axis=0)) if counts else np.empty(0, dtype=np.int64)
    table = [
        Figure("name", "text", [types.name[i] for i in present]),
        Figure("kind", "text", [types.kind[i] for i in present]),
    ]
    state = [count[present] * each[present] for count in counts]
    for index, count, size in zip(indices, counts, state, strict=True):
        table.append(Figure("instances", "count", count[present], f"index {index}"))
        table.append(Figure("state_bytes", "bytes", size, f"index {index}"))
    for index, size in zip(indices[1:], state[1:], strict=True):
        table.append(Figure("state_change_bytes", "bytes_change", size - state[0], f"{index} - {indices[0]}"))
    return Table("live_vertices", table)


def cycles_table(source: ReportSource, indices: Sequence[int], tiles: range) -> Table:
    """Cycle estimates on `tiles`, a row per index: liveness_index, program, step, longest_cycles, mean_cycles,
    shortest_cycles (over the tiles), longest_tile, balance, device_us (longest / clock) and provenance (the least
    certain of its vertices, "" where it has none). Figures are missing where the report has no estimate."""
    import pandas as pd

    clock = target_of(source).clock_hz
    rows = []
    for index in indices:
        program = program_at(source, index)
        cycles = _cycles(source, program, tiles)
        row: dict[str, object] = {"liveness_index": index, "program": program, "step": program_label(source, program)}
        if cycles is not None:
            longest = int(cycles.max())
            row |= {
                "longest_cycles": longest,
                "mean_cycles": float(cycles.mean()),
                "shortest_cycles": int(cycles.min()),
                "longest_tile": tiles.start + int(cycles.argmax()),
                "balance": float(cycles.mean()) / longest if longest else 1.0,
                "device_us": longest / clock * 1e6 if clock > 0 else np.nan,
            }
        rows.append(row | {"provenance": least_certain(group.provenance for group in _groups(source, index))})
    frame = pd.DataFrame(rows, columns=list(_ESTIMATES))
    provenance = least_certain(frame["provenance"])
    estimated = [id for id in _ESTIMATES if id.endswith("_cycles") or id == "device_us"]
    return Table(
        "cycle_estimates",
        [
            Figure(id, unit, frame[id], provenance=provenance if id in estimated else "")
            for id, unit in _ESTIMATES.items()
        ],
    )


_ESTIMATES: dict[str, Unit] = {
    "liveness_index": "id",
    "program": "id",
    "step": "text",
    "longest_cycles": "cycles",
    "mean_cycles": "mean_cycles",
    "shortest_cycles": "cycles",
    "longest_tile": "id",
    "balance": "share",
    "device_us": "microseconds",
    "provenance": "text",
}


def flops_table(source: ReportSource, indices: Sequence[int]) -> Table:
    """Floating point operations of one execution over all tiles: name ("Total" first, then each vertex type) and flops
    at each "index i". A missing figure means that the report does not know it, not that it is zero."""
    import pandas as pd

    types = source.reader.vertex_types()
    flops = source.reader.compute_sets().flops
    totals: list[int | None] = []
    per_type: list[dict[int, int | None]] = []
    for index in indices:
        compute_set = int(programs_of(source).compute_set[program_at(source, index)])
        known = int(flops[compute_set]) if compute_set >= 0 else 0
        totals.append(known if known >= 0 else None)
        sums: dict[int, int | None] = {}
        for group in _groups(source, index):
            before = sums.get(group.vertex_type, 0)
            sums[group.vertex_type] = None if before is None or group.flops < 0 else before + group.flops
        per_type.append(sums)
    present = sorted({kind for sums in per_type for kind in sums})
    table = [Figure("name", "text", ["Total", *(types.name[kind] for kind in present)])]
    for index, total, sums in zip(indices, totals, per_type, strict=True):
        column = [total, *(sums.get(kind, 0) for kind in present)]
        table.append(Figure("flops", "flops", pd.array(column, dtype="Int64"), f"index {index}"))
    return Table("flop_estimates", table)


def _groups(source: ReportSource, index: int) -> list[ComputeSetVertices]:
    compute_set = int(programs_of(source).compute_set[program_at(source, index)])
    return source.reader.compute_set_vertices(compute_set) if compute_set >= 0 else []


def _on_tiles(values: npt.NDArray[np.integer], ipu: int, tiles: range, per_ipu: int) -> npt.NDArray[np.integer]:
    first = ipu * per_ipu
    return np.asarray(values)[max(tiles.start - first, 0) : max(min(tiles.stop - first, per_ipu), 0)]


def _per_type(
    groups: list[ComputeSetVertices], column: str, tiles: range, source: ReportSource, types: int
) -> Int64Array:
    per_ipu = target_of(source).tiles_per_ipu
    sums = np.zeros(types, dtype=np.int64)
    for group in groups:
        sums[group.vertex_type] += int(_on_tiles(getattr(group, column), group.ipu, tiles, per_ipu).sum(dtype=np.int64))
    return sums


def _cycles(source: ReportSource, program: int, tiles: range) -> Int64Array | None:
    """Estimated cycles per tile of `tiles`, None when no IPU has any."""
    per_ipu = target_of(source).tiles_per_ipu
    parts, known = [], False
    for ipu in range(tiles.start // per_ipu, (tiles.stop - 1) // per_ipu + 1):
        stored = source.reader.program_on_ipu(program, ipu)
        cycles = None if stored is None else stored.cycles
        known |= cycles is not None
        of_ipu = np.zeros(per_ipu, dtype=np.int64) if cycles is None else np.asarray(cycles, dtype=np.int64)
        parts.append(_on_tiles(of_ipu, ipu, tiles, per_ipu))
    return np.concatenate(parts).astype(np.int64) if known else None


def curve_table(source: ReportSource, where: Where = Where(), text: str = "") -> Table:  # noqa: B008
    """liveness_index, program, step, not_always_live_bytes, live_bytes (always live included), in order of the indices.
    With `text` only steps whose type or name contains it. Raises as `liveness.curve`."""
    line = curve(source, where)
    index = matching_indices(source, text) if text.strip() else np.arange(len(line.program))
    live = line.not_always_live[index]
    return Table(
        "liveness_curve",
        [
            Figure("liveness_index", "id", index),
            Figure("program", "id", line.program[index]),
            Figure("step", "text", program_names(source, line.program[index])),
            Figure("not_always_live_bytes", "bytes", live),
            Figure("live_bytes", "bytes", live + line.always_live),
        ],
    )


def first_step(source: ReportSource, program: int) -> int | None:
    """The first execution step of a program over all runs, None when it never ran or nothing is recorded."""
    steps = np.flatnonzero(np.asarray(source.reader.steps().program) == program)
    return int(steps[0]) if len(steps) else None
