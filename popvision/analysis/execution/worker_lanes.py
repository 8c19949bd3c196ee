"""Schedule of one tile in one compute set: the vertices of each worker context, idle contexts, the longest one.

The report stores, for each compute set and IPU, every vertex's thread cycles and its context, in issue order
(`ProfileReader.vertex_lanes`). A context issues one instruction every `contexts` tile cycles, so

    tile cycles of a worker vertex   = contexts x its thread cycles
    a context                        = its vertices one after another, from the begin of the compute set
    worker part of the tile          = contexts x the largest sum of thread cycles over the contexts
    supervisor and multi vertices    = already tile cycles; they run alone, one after another

The report does not say when supervisor and multi vertices run among the others; they are placed after the workers. What
the tile's figure has beyond these (launch of the workers, reading of counters) is `beyond`. All figures are those
of the compiler's estimate: one execution is like another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.report.figure import Table, Unit, Values, table_of
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.arrays import Int64Array
from popvision.formats.profile.model import VertexLanes

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: `worker` of vertices that run on the tile's supervisor or on all its workers.
NO_CONTEXT = 255

#: Figures of `lane_table`, and of `lanes_by_tile`.
VERTEX_FIGURES: dict[str, Unit] = {
    "vertex": "id",
    "type": "text",
    "context": "text",
    "begin": "cycles",
    "end": "cycles",
    "thread_cycles": "thread_cycles",
    "tile_cycles": "cycles",
}
TILE_FIGURES: dict[str, Unit] = {
    "tile": "id",
    "vertices": "count",
    "length": "cycles",
    "worker_part": "cycles",
    "alone": "cycles",
    "thread_cycles": "thread_cycles",
    "idle_share": "share",
}


@dataclass(frozen=True)
class WorkerLanes:
    """Row = vertex of the tile, in issue order. `begin` and `end` are tile cycles from the begin of the compute set."""

    compute_set: int
    ipu: int
    tile: int  #: counted over all IPUs
    contexts: int
    vertex_type: Int64Array  #: row of the vertex types
    worker: Int64Array  #: 0 .. contexts - 1, or NO_CONTEXT
    thread_cycles: Int64Array  #: as stored: thread cycles of workers, tile cycles of the others
    begin: Int64Array
    end: Int64Array
    load: Int64Array  #: sum of thread cycles of each context
    alone: int  #: tile cycles of supervisor and multi vertices
    estimate: int | None  #: tile cycles of the compute set's estimate, None where not stored

    @property
    def worker_part(self) -> int:
        """Tile cycles until the last context is done."""
        return self.contexts * int(self.load.max(initial=0))

    @property
    def length(self) -> int:
        """Tile cycles of all vertices: the worker part, then those that run alone."""
        return self.worker_part + self.alone

    @property
    def beyond(self) -> int | None:
        """Tile cycles of the estimate that no vertex accounts for: launch, reading of counters."""
        return None if self.estimate is None else self.estimate - self.length

    @property
    def idle_share(self) -> float | None:
        """Issue slots without a vertex in the worker part: 1 - sum of loads / (contexts x the largest load)."""
        longest = int(self.load.max(initial=0))
        return 1 - int(self.load.sum()) / (self.contexts * longest) if longest else None

    @property
    def critical(self) -> int:
        """Row of the vertex that holds the rest up: the longest one (the first of several) of the fullest context
        (the lowest of several); without workers the longest of all; -1 without vertices."""
        rows = np.arange(len(self.worker))
        if self.load.max(initial=0) > 0:
            rows = np.flatnonzero(self.worker == int(self.load.argmax()))
        return int(rows[self.thread_cycles[rows].argmax()]) if len(rows) else -1

    @property
    def held_up(self) -> int:
        """Tile cycles by which the tile would end earlier without the critical vertex, the others where they are."""
        row = self.critical
        if row < 0:
            return 0
        if self.worker[row] == NO_CONTEXT:
            return int(self.thread_cycles[row])
        load = self.load.copy()
        load[self.worker[row]] -= self.thread_cycles[row]
        return self.contexts * int(self.load.max() - load.max())


def lanes_of_tile(lanes: VertexLanes, place: int, tile: int, contexts: int, estimate: int | None) -> WorkerLanes:
    """The lanes of the tile at `place` within its IPU, from columns."""
    rows = slice(int(lanes.tile_offsets[place]), int(lanes.tile_offsets[place + 1]))
    kind, cycles, worker = (
        np.asarray(column)[rows].astype(np.int64) for column in (lanes.vertex_type, lanes.thread_cycles, lanes.worker)
    )
    begin, load = np.zeros(len(worker), np.int64), np.zeros(contexts, np.int64)
    for context in range(contexts):
        of_context = np.flatnonzero(worker == context)
        ends = np.cumsum(cycles[of_context])
        begin[of_context] = contexts * (ends - cycles[of_context])
        load[context] = ends[-1] if len(of_context) else 0
    own = np.flatnonzero(worker == NO_CONTEXT)
    ends = np.cumsum(cycles[own])
    begin[own] = contexts * load.max(initial=0) + ends - cycles[own]
    end = begin + cycles * np.where(worker == NO_CONTEXT, 1, contexts)
    alone = int(ends[-1]) if len(own) else 0
    return WorkerLanes(
        lanes.compute_set, lanes.ipu, tile, contexts, kind, worker, cycles, begin, end, load, alone, estimate
    )


def worker_lanes(source: ReportSource, compute_set: int, tile: int) -> WorkerLanes:
    """The lanes of one tile (counted over all IPUs) in one compute set.

    Raises NotRecordedError with the reason where the report has none, ValueError for a tile that is not there."""
    target = source.reader.target()
    if not 0 <= tile < target.num_tiles:
        raise ValueError(f"tile {tile} is not one of this report's {target.num_tiles} tiles")
    ipu, place = divmod(tile, target.tiles_per_ipu)
    estimates = _estimates(source, compute_set, ipu)
    estimate = None if estimates is None else int(estimates[place])
    return lanes_of_tile(_stored_lanes(source, compute_set, ipu), place, tile, target.worker_contexts, estimate)


def lane_table(source: ReportSource, lanes: WorkerLanes) -> Table:
    """One row per vertex of a tile, in issue order: VERTEX_FIGURES; thread_cycles NA for vertices that run alone."""
    import pandas as pd

    names, runs_alone = source.reader.vertex_types().name, lanes.worker == NO_CONTEXT
    columns: dict[str, Values] = {
        "vertex": np.arange(len(lanes.worker)),
        "type": [names[row] for row in lanes.vertex_type.tolist()],
        "context": ["whole tile" if each == NO_CONTEXT else str(each) for each in lanes.worker.tolist()],
        "begin": lanes.begin,
        "end": lanes.end,
        "thread_cycles": pd.arrays.IntegerArray(lanes.thread_cycles, runs_alone),
        "tile_cycles": lanes.end - lanes.begin,
    }
    return table_of("worker_vertices", VERTEX_FIGURES, columns)


def lanes_by_tile(source: ReportSource, compute_set: int, ipu: int) -> Table:
    """One row per tile of the IPU that has vertices: TILE_FIGURES.

    Raises NotRecordedError with the reason where the report has none."""
    lanes, target = _stored_lanes(source, compute_set, ipu), source.reader.target()
    contexts, tiles = target.worker_contexts, target.tiles_per_ipu
    offsets = np.asarray(lanes.tile_offsets).astype(np.int64)
    place = np.repeat(np.arange(tiles), offsets[1:] - offsets[:-1])
    worker, cycles = np.asarray(lanes.worker, np.int64), np.asarray(lanes.thread_cycles, np.int64)
    load = np.zeros((tiles, contexts + 1), np.int64)
    np.add.at(load, (place, np.minimum(worker, contexts)), cycles)
    longest, busy, alone = load[:, :contexts].max(axis=1), load[:, :contexts].sum(axis=1), load[:, contexts]
    idle = 1 - np.divide(busy, contexts * longest, out=np.full(tiles, np.nan), where=longest > 0)
    rows = np.flatnonzero(np.bincount(place, minlength=tiles))
    columns = {
        "tile": ipu * tiles + rows,
        "vertices": np.bincount(place, minlength=tiles)[rows],
        "length": (contexts * longest + alone)[rows],
        "worker_part": (contexts * longest)[rows],
        "alone": alone[rows],
        "thread_cycles": busy[rows],
        "idle_share": idle[rows],
    }
    return table_of("workers_by_tile", TILE_FIGURES, columns)


def _stored_lanes(source: ReportSource, compute_set: int, ipu: int) -> VertexLanes:
    reader = source.reader
    if compute_set < 0:
        raise NotRecordedError("Only steps of type OnTileExecute run vertices: select one to see its workers.")
    stored = source.kept.recent(("vertex lanes", compute_set, ipu), lambda: reader.vertex_lanes(compute_set, ipu))
    if stored is not None:
        return stored
    if "vertex_lanes" in reader.missing:
        raise NotRecordedError("This report does not say which worker ran which vertex: table vertex_lanes is missing.")
    if any(part.compute_set == compute_set and part.ipu == ipu for part in reader.compute_set_vertices()):
        raise NotRecordedError(
            "This report counts the vertices of this compute set but does not say which worker ran which of them."
        )
    raise NotRecordedError(
        f"The report names no vertices of this compute set on IPU {ipu}: it copies within tiles, or has none there."
    )


def _estimates(source: ReportSource, compute_set: int, ipu: int) -> npt.NDArray[np.integer] | None:
    programs = source.reader.programs()
    rows = np.flatnonzero(np.asarray(programs.compute_set) == compute_set)
    if not len(rows):
        return None
    stored = source.reader.program_on_ipu(int(rows[0]), ipu)
    return None if stored is None else stored.cycles
