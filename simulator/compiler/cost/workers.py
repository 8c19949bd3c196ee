"""Vertices of a tile go to its six worker contexts: each in turn to the first context that is free."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np

from popvision.formats.profile.model import VertexLanes
from simulator.arrays import AnyArray, Int64Array, UInt8Array
from simulator.machine.cycles.rounding import WORKERS

#: Below this many tiles with about equally many vertices, going tile by tile is faster than one vertex of all tiles at
#: a time.
_FEW_TILES = 8
#: A context's load and its number in one integer, so that one minimum finds the first free one.
_NUMBERS = 8


def schedule(cycles: Int64Array, offsets: Int64Array, contexts: int) -> tuple[UInt8Array, Int64Array]:
    """Assign vertices to contexts. Tile t's vertices are rows `offsets[t]:offsets[t + 1]` of `cycles` (thread cycles),
    in order. Returns (context of each vertex, largest sum of cycles over contexts per tile).

    A vertex goes to the context with the smallest sum so far, the lowest numbered of several; with equal costs this is
    round robin."""
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
    # Tiles whose counts are within a factor of two go together, so that no more is padded than there is.
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
    """0, 1 .. contexts - 1, 0, 1 .. anew on each tile."""
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
    """Round k assigns the k-th vertex of every tile that has one; `cycles` holds the tiles one after another. A vertex
    that a tile does not have costs nothing and changes no load."""
    rounds, tiles = int(count.max()), len(count)
    most = _NUMBERS * (int(cycles.max()) * rounds + 1)
    number: Any = np.int32 if most < np.iinfo(np.int32).max else np.int64
    real = np.arange(rounds) < count[:, None]
    padded = np.zeros((tiles, rounds), number)
    padded[real] = cycles
    costs = np.ascontiguousarray(padded.T) * number(_NUMBERS)
    # Row c of `keys`: what context c of each tile has been given, times _NUMBERS, plus c: no two of a tile are equal.
    keys: AnyArray = np.repeat(np.arange(contexts, dtype=number)[:, None], tiles, axis=1)
    firsts = np.empty((rounds, tiles), number)
    beyond = np.empty_like(keys)
    sign = number(8 * keys.itemsize - 1)
    for cost, first in zip(costs, firsts, strict=True):
        np.minimum.reduce(keys, axis=0, out=first)
        # All bits where a key is the smallest, else none; so only that one grows by the cost.
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
    """Lanes in which each tile's workers have changed their turns. Who shares a worker with whom stays, so that no
    cycles change."""
    free = []
    for lane in lanes:
        turn = random.integers(0, WORKERS, len(lane.tile_offsets) - 1)
        by_vertex = np.repeat(turn, np.diff(lane.tile_offsets))
        on_worker = lane.worker < WORKERS
        worker = np.where(on_worker, (lane.worker + by_vertex) % WORKERS, lane.worker)
        free.append(replace(lane, worker=worker.astype(lane.worker.dtype)))
    return free
