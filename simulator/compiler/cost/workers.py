"""Schedule the vertices of a tile on its six worker contexts: greedy list scheduling in vertex order."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np

from popvision.formats.profile.model import VertexLanes
from simulator.arrays import AnyArray, Int64Array, UInt8Array
from simulator.machine.cycles.rounding import WORKERS

#: For fewer tiles with about equally many vertices, one tile at a time is faster than one vertex of all tiles at a
#: time.
_FEW_TILES = 8
#: A key packs a context's load and number into one integer, so that one minimum finds the first free context.
_NUMBERS = 8


def schedule(cycles: Int64Array, offsets: Int64Array, contexts: int) -> tuple[UInt8Array, Int64Array]:
    """Assign vertices to contexts. Tile t's vertices are rows `offsets[t]:offsets[t + 1]` of `cycles` (thread cycles),
    in order. Returns (context of each vertex, largest sum of cycles over contexts per tile).

    A vertex goes to the context with the smallest sum so far, among several to the lowest numbered. With equal costs
    this is round robin."""
    count = np.diff(offsets)
    longest = np.zeros(len(count), np.int64)
    busy = np.flatnonzero(count)
    if len(busy) == 0:
        return np.empty(0, np.uint8), longest
    low = np.minimum.reduceat(cycles, offsets[busy])
    high = np.maximum.reduceat(cycles, offsets[busy])
    even = low == high
    worker = _round_robin(offsets, count, len(cycles), contexts) if even.any() else np.empty(len(cycles), np.uint8)
    longest[busy[even]] = -(-count[busy[even]] // contexts) * low[even]
    uneven = busy[~even]
    # Batch tiles whose counts are within a factor of two, so that padding at most doubles the work.
    size = np.frexp(count[uneven])[1]
    for of_size in np.unique(size).tolist():
        tiles = uneven[size == of_size]
        if len(tiles) < _FEW_TILES:
            for tile in tiles.tolist():
                own = slice(int(offsets[tile]), int(offsets[tile + 1]))
                worker[own], longest[tile] = _one_tile(cycles[own], contexts)
        else:
            rows = _rows(offsets[tiles], count[tiles], len(cycles))
            worker[rows], longest[tiles] = _in_rounds(cycles[rows], count[tiles], contexts)
    return worker, longest


def _round_robin(offsets: Int64Array, count: Int64Array, n: int, contexts: int) -> UInt8Array:
    """0, 1 .. contexts - 1, 0, 1 .., starting anew on each tile."""
    longest = int(count.max(initial=0))
    turn = np.resize(np.arange(contexts, dtype=np.uint8), longest)
    if longest * len(count) == n:
        return np.tile(turn, len(count))
    ordinal = np.arange(n, dtype=np.int32)
    ordinal -= np.repeat(offsets[:-1].astype(np.int32), count)
    return turn[ordinal]


def _rows(starts: Int64Array, count: Int64Array, n: int) -> slice | Int64Array:
    """The rows of some tiles, in order; all of them as a slice."""
    total = int(count.sum())
    if total == n:
        return slice(None)
    return np.asarray(np.repeat(starts - (np.cumsum(count) - count), count) + np.arange(total), np.int64)


def _in_rounds(cycles: Int64Array, count: Int64Array, contexts: int) -> tuple[UInt8Array, Int64Array]:
    """Round k assigns the k-th vertex of every tile; `cycles` holds the tiles one after another. Padding vertices cost
    0 and change no load."""
    rounds, tiles = int(count.max()), len(count)
    most = _NUMBERS * (int(cycles.max()) * rounds + 1)
    number: Any = np.int32 if most < np.iinfo(np.int32).max else np.int64
    real = np.arange(rounds) < count[:, None]
    padded = np.zeros((tiles, rounds), number)
    padded[real] = cycles
    costs = np.ascontiguousarray(padded.T) * number(_NUMBERS)
    # Row c of `keys`: load of context c on each tile, times _NUMBERS, plus c; the keys of a tile are distinct.
    keys: AnyArray = np.repeat(np.arange(contexts, dtype=number)[:, None], tiles, axis=1)
    firsts = np.empty((rounds, tiles), number)
    beyond = np.empty_like(keys)
    sign = number(8 * keys.itemsize - 1)
    for cost, first in zip(costs, firsts, strict=True):
        np.minimum.reduce(keys, axis=0, out=first)
        # A mask with all bits set for the smallest key, else 0: only that key grows by the cost.
        np.subtract(keys, first, out=beyond)
        beyond -= 1
        beyond >>= sign
        beyond &= cost
        keys += beyond
    chosen = (firsts & (_NUMBERS - 1)).astype(np.uint8)
    return np.ascontiguousarray(chosen.T)[real], (keys.max(axis=0) // _NUMBERS).astype(np.int64)


def _one_tile(cycles: Int64Array, contexts: int) -> tuple[UInt8Array, int]:
    """The contexts of one tile's vertices, and the largest load."""
    heap = [(0, context) for context in range(contexts)]
    chosen = []
    for cost in cycles.tolist():
        total, context = heap[0]
        heapq.heapreplace(heap, (total + cost, context))
        chosen.append(context)
    return np.array(chosen, np.uint8), max(heap)[0]


def shuffled_workers(lanes: list[VertexLanes], random: np.random.Generator) -> list[VertexLanes]:
    """Shuffle worker ids per tile (target.deterministicWorkers=false). Vertices that share a worker still do, so cycles
    do not change."""
    shuffled = []
    for lane in lanes:
        turn = random.integers(0, WORKERS, len(lane.tile_offsets) - 1)
        by_vertex = np.repeat(turn, np.diff(lane.tile_offsets))
        on_worker = lane.worker < WORKERS
        worker = np.where(on_worker, (lane.worker + by_vertex) % WORKERS, lane.worker)
        shuffled.append(replace(lane, worker=worker.astype(lane.worker.dtype)))
    return shuffled
