"""Vertices of a tile go to its six worker contexts: each in turn to the first context that is free."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int64]
U1 = npt.NDArray[np.uint8]

#: Below this many tiles with vertices left, going tile by tile is faster than one vertex of all tiles at a time.
_FEW_TILES = 8


def schedule(cycles: I8, offsets: I8, contexts: int) -> tuple[U1, I8]:
    """Assign vertices to contexts. Tile t's vertices are rows `offsets[t]:offsets[t + 1]` of `cycles` (thread cycles),
    in order. Returns (context of each vertex, largest sum of cycles over contexts per tile).

    A vertex goes to the context with the smallest sum so far, the lowest numbered of several; with equal costs this is
    round robin."""
    count = np.diff(offsets)
    ordinal = np.arange(len(cycles)) - np.repeat(offsets[:-1], count)
    worker = (ordinal % contexts).astype(np.uint8)
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


def _in_rounds(cycles: I8, offsets: I8, count: I8, tiles: I8, contexts: int, worker: U1, longest: I8) -> None:
    """Round k assigns the k-th vertex of every tile that has one; tiles are sorted by falling count."""
    load = np.zeros((len(tiles), contexts), np.int64)
    sizes = count[tiles]
    done = 0
    for k in range(int(sizes[0]) if len(tiles) else 0):
        n = int(np.searchsorted(-sizes, -k, side="left"))
        if n < _FEW_TILES:
            done = k
            break
        row = offsets[tiles[:n]] + k
        context = load[:n].argmin(axis=1)
        worker[row] = context
        load[np.arange(n), context] += cycles[row]
    else:
        done = int(sizes[0]) if len(tiles) else 0
    for i in np.flatnonzero(sizes > done).tolist():
        first, last = int(offsets[tiles[i]]) + done, int(offsets[tiles[i] + 1])
        _one_tile(cycles[first:last], load[i], worker[first:last])
    if len(tiles):
        longest[tiles] = load.max(axis=1)


def _one_tile(cycles: I8, load: I8, worker: U1) -> None:
    heap = [(total, context) for context, total in enumerate(load.tolist())]
    heapq.heapify(heap)
    chosen = []
    for cost in cycles.tolist():
        total, context = heap[0]
        heapq.heapreplace(heap, (total + cost, context))
        chosen.append(context)
    worker[:] = chosen
    for total, context in heap:
        load[context] = total
