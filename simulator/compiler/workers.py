"""Vertices of a tile go to its six worker contexts: each in turn to the first context that is free."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]
U1 = npt.NDArray[np.uint8]

#: Below this many tiles with vertices left, going tile by tile is faster than one vertex of all tiles at a time.
_FEW_TILES = 8
#: A context's load and its number in one integer, so that one minimum finds the first free one.
_NUMBERS = 8


def schedule(cycles: I8, offsets: I8, contexts: int) -> tuple[U1, I8]:
    """Assign vertices to contexts. Tile t's vertices are rows `offsets[t]:offsets[t + 1]` of `cycles` (thread cycles),
    in order. Returns (context of each vertex, largest sum of cycles over contexts per tile).

    A vertex goes to the context with the smallest sum so far, the lowest numbered of several; with equal costs this is
    round robin."""
    count = np.diff(offsets)
    worker = _round_robin(offsets, count, len(cycles), contexts)
    longest = np.zeros(len(count), np.int64)
    busy = np.flatnonzero(count)
    if len(busy) == 0:
        return worker, longest
    low = np.minimum.reduceat(cycles, offsets[busy])
    high = np.maximum.reduceat(cycles, offsets[busy])
    even = low == high
    longest[busy[even]] = -(-count[busy[even]] // contexts) * low[even]
    uneven = busy[~even]
    uneven = uneven[np.argsort(-count[uneven], kind="stable")]
    _in_rounds(cycles, offsets, count, uneven, contexts, worker, longest)
    return worker, longest


def _round_robin(offsets: I8, count: I8, n: int, contexts: int) -> U1:
    """0, 1 .. contexts - 1, 0, 1 .. anew on each tile."""
    longest = int(count.max(initial=0))
    turn = np.resize(np.arange(contexts, dtype=np.uint8), longest)
    if longest * len(count) == n:
        return np.tile(turn, len(count))
    ordinal = np.arange(n, dtype=np.int32)
    ordinal -= np.repeat(offsets[:-1].astype(np.int32), count)
    return turn[ordinal]


def _in_rounds(cycles: I8, offsets: I8, count: I8, tiles: I8, contexts: int, worker: U1, longest: I8) -> None:
    """Round k assigns the k-th vertex of every tile that has one; tiles are sorted by falling count."""
    if len(tiles) == 0:
        return
    first, sizes = offsets[tiles], count[tiles]
    # Row c of `keys`: what context c of each tile has been given, times _NUMBERS, plus c.
    keys = np.repeat(np.arange(contexts, dtype=np.int64)[:, None], len(tiles), axis=1)
    flat, scaled = keys.reshape(-1), cycles * _NUMBERS
    column = np.arange(len(tiles))
    holders = len(sizes) - np.searchsorted(sizes[::-1], np.arange(1, int(sizes[0]) + 1), side="left")
    done = 0
    for k, n in enumerate(holders.tolist()):
        if n < _FEW_TILES:
            break
        row = first[:n] + k
        context = keys[:, :n].min(axis=0) & (_NUMBERS - 1)
        worker[row] = context
        flat[context * len(tiles) + column[:n]] += scaled[row]
        done = k + 1
    for i in np.flatnonzero(sizes > done).tolist():
        begin, end = int(first[i]) + done, int(first[i] + sizes[i])
        keys[:, i] = _one_tile(cycles[begin:end], keys[:, i] // _NUMBERS, worker[begin:end]) * _NUMBERS
    longest[tiles] = keys.max(axis=0) // _NUMBERS


def _one_tile(cycles: I8, load: I8, worker: U1) -> I8:
    """Assign the vertices of one tile; returns the new loads."""
    heap = [(total, context) for context, total in enumerate(load.tolist())]
    heapq.heapify(heap)
    chosen = []
    for cost in cycles.tolist():
        total, context = heap[0]
        heapq.heapreplace(heap, (total + cost, context))
        chosen.append(context)
    worker[:] = chosen
    return np.array([total for total, _ in sorted(heap, key=lambda pair: pair[1])], np.int64)
