"""Output of codelets: labelled by tile and worker, line by line, on the stream of Engine.setPrintStream.

    [tile 3, worker 1] 0.5
    [replica 1, tile 0, supervisor] done

A worker vertex is labelled by its worker in the report: the first that was free, by the costs of the earlier vertices
of its tile. A line that a vertex leaves unfinished ends with the run.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.errors import ErrorLocation
from simulator.machine.cycles.rounding import WORKERS

if TYPE_CHECKING:
    from popvision.formats.profile.model import VertexLanes
    from simulator.graph.vertices import VertexBlock


class Workers:
    """The worker of every vertex of a compiled program, as in `lanes`."""

    def __init__(self, lanes: Iterable[VertexLanes], tiles_per_ipu: int) -> None:
        self._lanes = {(lane.compute_set, lane.ipu): lane for lane in lanes}
        self._tiles_per_ipu = tiles_per_ipu

    def of(self, compute_set: int, tile: int, turn: int) -> int:
        """The worker of vertex number `turn` of a tile in a compute set."""
        ipu, tile = divmod(tile, self._tiles_per_ipu)
        lane = self._lanes[compute_set, ipu]
        return int(lane.worker[int(lane.tile_offsets[tile]) + turn])

    def begins(self, places: VertexPlaces) -> Int64Array:
        """The tile cycle at which each vertex of a block begins, from the begin of its compute set."""
        from popvision.analysis.execution.worker_lanes import lanes_of_tile  # here, as only few programs ask

        begins = np.zeros(len(places.tiles), np.int64)
        for tile in np.unique(places.tiles).tolist():
            rows = np.flatnonzero(places.tiles == tile)
            ipu, place = divmod(tile, self._tiles_per_ipu)
            first = places.turn(int(rows[0]))
            lanes = lanes_of_tile(self._lanes[places.number, ipu], place, tile, WORKERS, None)
            begins[rows] = lanes.begin[first : first + len(rows)]
        return begins


@dataclass(frozen=True)
class VertexPlaces:
    """The places of the vertices of a block. `number`: that of its compute set. `tiles`: the tile of each vertex;
    `all_tiles`: those of every block of the compute set, which its blocks share; this block is number `block` of them.
    Nothing is counted before a vertex prints."""

    type_name: str
    kind: str
    compute_set: str
    number: int
    tiles: AnyArray
    all_tiles: tuple[AnyArray, ...]
    block: int

    def tile(self, row: int) -> int:
        return int(self.tiles[row])

    def turn(self, row: int) -> int:
        """The number of vertices that its tile runs before this one."""
        tile = self.tile(row)
        earlier = int(self._earlier[tile]) if tile < len(self._earlier) else 0
        return earlier + int(np.count_nonzero(self.tiles[:row] == tile))

    @cached_property
    def _earlier(self) -> AnyArray:
        """Vertices of each tile in earlier blocks of the compute set."""
        return np.bincount(np.concatenate([np.zeros(0, np.int64), *self.all_tiles[: self.block]]).astype(np.int64))

    def located(self, row: int) -> tuple[str, ErrorLocation]:
        """The place of a vertex, as words and as a location."""
        tile = self.tile(row)
        text = f"Vertex {row} of type {self.type_name} in compute set '{self.compute_set}' on tile {tile}"
        return text, ErrorLocation(tile, vertex=self.type_name)

    def label(self, row: int, worker: int, workers: Workers) -> str:
        """`worker`: of a MultiVertex."""
        tile = self.tile(row)
        if self.kind == "supervisor":
            return f"tile {tile}, supervisor"
        return (
            f"tile {tile}, worker {worker if self.kind == 'multi' else workers.of(self.number, tile, self.turn(row))}"
        )


def places_of(blocks: Sequence[VertexBlock], compute_set: str) -> list[VertexPlaces]:
    """The places of each block of a compute set, in the order in which a tile runs them."""
    tiles = tuple(block.tiles for block in blocks)
    return [
        VertexPlaces(block.type.name, block.type.kind, compute_set, block.compute_set, block.tiles, tiles, i)
        for i, block in enumerate(blocks)
    ]


class _Running(threading.local):
    """The vertex that this thread runs: (places, replica), the row, and the worker of a multi-vertex. `clocks`: the
    cycle counters [replicas, tiles] at the begin of a compute set whose vertices read them."""

    places: tuple[VertexPlaces, int] | None = None
    row = 0
    worker = 0
    clocks: Int64Array | None = None

    def cycles(self) -> int:
        """The cycle counter of the vertex's tile."""
        assert self.places is not None
        assert self.clocks is not None, "the compute set of a vertex that reads its tile's counter is known to do so"
        places, replica = self.places
        return int(self.clocks[replica, places.tile(self.row)])


running = _Running()


class CodeletPrints:
    """Collects lines and labels them. `stream` None = standard error, looked up when something is printed."""

    def __init__(self, replicas: int, workers: Workers) -> None:
        self.stream: TextIO | None = None
        self._workers = workers
        self._replicas = replicas
        self._unfinished: dict[str, str] = {}
        self._lock = threading.Lock()

    def write(self, places: VertexPlaces, replica: int, row: int, worker: int, text: str) -> None:
        """Print text of a vertex."""
        label = places.label(row, worker, self._workers)
        if self._replicas > 1:
            label = f"replica {replica}, {label}"
        with self._lock:
            *lines, rest = (self._unfinished.pop(label, "") + text).split("\n")
            if rest:
                self._unfinished[label] = rest
            self._out("".join(f"[{label}] {line}\n" for line in lines))

    def finish(self) -> None:
        """End lines that are still open."""
        with self._lock:
            for label, rest in self._unfinished.items():
                self._out(f"[{label}] {rest}\n")
            self._unfinished.clear()

    def _out(self, text: str) -> None:
        if text:
            (self.stream or sys.stderr).write(text)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Inside this context the output of Python codelets comes here; other text on standard output is unaffected."""
        with contextlib.redirect_stdout(_Listener(sys.stdout, self)):
            try:
                yield
            finally:
                self.finish()


class _Listener:
    """Standard output while programs run."""

    def __init__(self, before: Any, prints: CodeletPrints) -> None:
        self._before, self._prints = before, prints

    def write(self, text: str) -> int:
        if running.places is None:
            return int(self._before.write(text))
        places, replica = running.places
        self._prints.write(places, replica, running.row, running.worker, text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._before, name)
