"""Lowered programs as rows: the figures of the program tree, side by side.

-1 in a column = the report does not hold the figure; in the tables such figures are missing (NA).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from popvision.analysis.execution.once import counted, set_apart
from popvision.analysis.programs.details import code_bytes_of, cycles_provenance, tile_figures
from popvision.analysis.programs.figures import figures
from popvision.analysis.programs.memory import peak_live
from popvision.analysis.report.code_memory import holds_code
from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.figure import Figure, Table, Unit, least_certain
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.table_columns import columns
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    import pandas as pd

    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import ComputeSetVertices, VertexTypes


#: Columns of the tree. Cycles are device cycles, `apart` those of its own steps in runs once per attachment (-1 where
#: none is known), bytes those of all recorded runs; `executions` = entries over all runs; `trips` = iterations of a
#: Repeat per execution; `received`, `sent` with everything below and called; `live` = most live bytes while it runs;
#: `code` = exchange and control code of the program itself, -1 where the report holds no code (the IPU Model compiles
#: none by default).
FIELDS: dict[str, Unit] = {
    "self": "cycles",
    "total": "cycles",
    "apart": "cycles",
    "executions": "count",
    "received": "bytes",
    "live": "bytes",
    "code": "bytes",
    "trips": "count",
    "sent": "bytes",
}


#: Field of `column_totals` -> how its share is computed.
SHARES = {
    "self": "self cycles / total device cycles",
    "total": "total cycles / total device cycles",
    "received": "bytes / all bytes received",
    "sent": "bytes / all bytes sent",
    "live": "bytes / highest point of the liveness curve",
    "code": "bytes / exchange and control code of all programs",
}

#: Fields that recorded runs alone have.
OF_RUNS = ("self", "total", "apart", "executions", "received", "sent")


def program_columns(source: ReportSource, ipu: int | None = None) -> dict[str, Int64Array]:
    """By field one figure for each program, on one IPU or over all of them."""
    return source.kept.recent(("program_columns", source.generation, ipu), lambda: _columns(source, ipu))


def column_totals(source: ReportSource, ipu: int | None = None) -> dict[str, int]:
    """The total that is 100 % of a field: the report's, for `live` the highest point of the curve. Fields that have no
    meaningful total (executions, trips) are left out."""
    columns = program_columns(source, ipu)
    sums = figures(source, ipu)
    return {
        "self": counted(source).total_cycles,
        "total": counted(source).total_cycles,
        "received": int(sums.bytes_received.sum()),
        "sent": int(sums.bytes_sent.sum()),
        "live": int(columns["live"].max(initial=0)),
        "code": int(np.maximum(columns["code"], 0).sum()),
    }


def program_table(source: ReportSource, ipu: int | None = None) -> Table:
    """A row per program, most self cycles first: id, type, name and FIELDS."""
    programs, columns = programs_of(source), program_columns(source, ipu)
    order = np.lexsort((np.arange(len(programs.type)), -columns["self"]))
    return Table(
        "programs",
        [
            Figure("id", "id", order),
            Figure("type", "text", [programs.type[row] for row in order.tolist()]),
            Figure("name", "text", [programs.name[row] for row in order.tolist()]),
            *[Figure(field, FIELDS[field], known_integers(values[order])) for field, values in columns.items()],
        ],
    )


def known_integers(values: Int64Array) -> pd.api.extensions.ExtensionArray:
    """Whole numbers, those below 0 as missing (NA)."""
    import pandas as pd

    return pd.arrays.IntegerArray(np.asarray(values, np.int64), np.asarray(values) < 0)


def _columns(source: ReportSource, ipu: int | None) -> dict[str, Int64Array]:
    programs = programs_of(source)
    n = len(programs.type)
    sums = figures(source, ipu)
    unknown = np.full(n, -1, np.int64)
    ran = bool(len(source.reader.runs().name))
    try:
        live = peak_live(source, ipu)
    except NotRecordedError:
        live = unknown
    code = np.array(code_bytes_of(source, range(n)), np.int64)
    trips = np.where(np.array(programs.type) == "Repeat", np.asarray(programs.repeat_count), -1).astype(np.int64)
    recorded = {
        "self": sums.self_cycles,
        "total": sums.total_cycles,
        "apart": sums.apart_cycles if set_apart(source).runs.any() else unknown,
        "executions": sums.entered,
        "received": sums.total_received,
        "live": live,
        "code": code if holds_code(source) else unknown,
        "trips": trips,
        "sent": sums.total_sent,
    }
    return recorded if ran else recorded | dict.fromkeys(OF_RUNS, unknown)


#: Figure -> (unit, field of `TileFigures`).
TILE_FIGURES: dict[str, tuple[Unit, str]] = {
    "estimated_cycles": ("cycles", "estimated"),
    "recorded_cycles": ("cycles", "recorded"),
    "received_bytes": ("bytes", "received"),
    "sent_bytes": ("bytes", "sent"),
    "exchange_code_bytes": ("bytes", "exchange_code"),
    "control_code_bytes": ("bytes", "control_code"),
}


def program_tiles(source: ReportSource, program: int) -> Table:
    """A row per tile of all IPUs: tile, ipu, then what the report holds of estimated_cycles (of one execution),
    recorded_cycles (of the last recorded step), received_bytes, sent_bytes, exchange_code_bytes and control_code_bytes.
    ValueError for a program that is not there."""
    by_tile = tile_figures(source, program)
    stored = [
        Figure(id, unit, values)
        for id, (unit, field) in TILE_FIGURES.items()
        if (values := getattr(by_tile, field)) is not None
    ]
    provenance = cycles_provenance(source, program)
    stored = [replace(each, provenance=provenance) if each.unit == "cycles" else each for each in stored]
    return Table("program_tiles", [*tile_numbers(source), *stored])


def tile_numbers(source: ReportSource) -> list[Figure]:
    """tile and ipu of each row."""
    machine = target_of(source)
    tile = np.arange(machine.num_tiles)
    return [Figure("tile", "id", tile), Figure("ipu", "id", tile // machine.tiles_per_ipu)]


VERTICES = columns(
    "program_vertices",
    """
    name                | text          | Vertex type: name of the type
    kind                | text          | worker, supervisor or multi
    instances           | count         | instances in the compute set
    tiles               | count         | tiles with at least one instance
    cycles              | thread_cycles | Cycles: sum over the instances in one execution: thread cycles of workers, \
tile cycles of others; never shown as time
    largest_tile_cycles | thread_cycles | Largest tile: sum on the tile with most cycles
    state_bytes         | bytes         | bytes of vertex state over all tiles
    flops               | flops         | FLOPs: floating point operations of one execution; missing when unknown
    provenance          | text          | From: exact, a public formula; fitted, a constant fitted to published \
figures; guess, a default, because no source states the cost; unknown, the report does not state the source
    """,
)


def program_vertices(source: ReportSource, program: int) -> Table:
    """VERTICES of the program's compute set over all IPUs, most cycles first; no rows for other programs."""
    compute_set = int(programs_of(source).compute_set[program])
    by_type: dict[int, list[ComputeSetVertices]] = {}
    for part in source.reader.compute_set_vertices(compute_set) if compute_set >= 0 else []:
        by_type.setdefault(part.vertex_type, []).append(part)
    types = source.reader.vertex_types()
    rows = [_vertices_of_type(types, number, parts) for number, parts in by_type.items()]
    rows.sort(key=lambda row: (-row["cycles"], row["name"]))
    values = {id: [row[id] for row in rows] for id in VERTICES.ids}
    return VERTICES.table(**values | {"flops": known_integers(np.array(values["flops"], np.int64))})


def _vertices_of_type(types: VertexTypes, number: int, parts: list[ComputeSetVertices]) -> dict[str, Any]:
    """A row; `parts` are the vertices of the type on each IPU."""
    counts = np.concatenate([np.asarray(part.count, np.int64) for part in parts])
    cycles = np.concatenate([np.asarray(part.cycles, np.int64) for part in parts])
    flops = [part.flops for part in parts]
    return {
        "name": types.name[number],
        "kind": types.kind[number],
        "instances": int(counts.sum()),
        "tiles": int(np.count_nonzero(counts)),
        "cycles": int(cycles.sum()),
        "largest_tile_cycles": int(cycles.max(initial=0)),
        "state_bytes": int(types.state_bytes[number]) * int(counts.sum()),
        "flops": -1 if min(flops) < 0 else sum(flops),
        "provenance": least_certain(part.provenance for part in parts),
    }
