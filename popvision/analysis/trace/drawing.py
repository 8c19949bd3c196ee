"""Level of detail of a host trace in a window of time: blocks per lane, instants, line graphs, heat maps, the overview.

Windows are half-open, in ns since the epoch. Nothing is dropped: events narrower than a pixel merge into blocks that
hold their number and the share of their span that they fill.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from popvision.analysis.trace.columns import HostTrace, Lane, TraceThread
from popvision.analysis.trace.mipmap import Blocks
from popvision.arrays import Float64Array, Int64Array, UInt8Array, UInt32Array

T = TypeVar("T", bound=np.generic)


def blocks_in(lane: Lane, begin: int, end: int, width: int) -> Blocks:
    """Blocks of a lane for a drawing `width` pixels wide: merged only where several events begin within a pixel."""
    first, last = lane.between(begin, end)
    level = lane.mipmap.for_width((end - begin) / max(1, width))
    if level is None and last - first > 4 * width and lane.mipmap.levels:
        level = lane.mipmap.levels[0]
    if level is None or last - first <= width // 2:
        chosen = slice(first, last)
        duration = lane.duration[chosen].astype(np.int64)
        start = lane.start[chosen]
        name = lane.name[chosen].astype(np.uint32)
        rows = np.arange(first, last) if lane.positions is None else lane.positions[chosen]
        return Blocks(start, start + duration, duration, np.ones(len(start), np.int64), name, rows)
    blocks = level.blocks(*level.between(begin, end))
    return blocks if lane.positions is None else replace(blocks, first=lane.positions[blocks.first])


def instants_in(thread: TraceThread, begin: int, end: int, width: int) -> tuple[Int64Array, UInt32Array, Int64Array]:
    """Times, names and positions of a thread's instants in the window, one per pixel where they are denser."""
    first, last = np.searchsorted(thread.instant_time, np.array([begin, end + 1]))
    rows = np.arange(first, last)
    if len(rows) > width:
        pixel = (thread.instant_time[rows] - begin) * width // max(1, end - begin)
        rows = rows[np.concatenate([[True], pixel[1:] != pixel[:-1]])]
    return thread.instant_time[rows], thread.instant_name[rows].astype(np.uint32), rows


def events_between(source: HostTrace, begin: int, end: int) -> int:
    """Number of events with a duration that overlap the window, all threads."""
    spans = [lane.between(begin, end) for thread in source.threads for lane in thread.lanes]
    return sum(last - first for first, last in spans)


def samples_in(
    times: Int64Array, values: Float64Array, begin: int, end: int, width: int
) -> tuple[Int64Array, Float64Array]:
    """Samples to draw as a step-after line: those of the window and the one before and after it.

    With more than four per pixel, the first, lowest, highest and last of each pixel stay, which draws the same line.
    """
    first = max(0, int(np.searchsorted(times, np.int64(begin), "right")) - 1)
    last = min(len(times), int(np.searchsorted(times, np.int64(end), "left")) + 1)
    time, value = times[first:last], values[first:last]
    if len(time) <= 4 * width:
        return time, value
    pixel = np.clip((time - begin) * width // max(1, end - begin), -1, width)
    edge = np.concatenate([[0], np.flatnonzero(pixel[1:] != pixel[:-1]) + 1])
    order = np.lexsort((value, pixel))
    keep = np.unique(np.concatenate([edge, np.append(edge[1:], len(time)) - 1, order[edge], _ends(order, edge)]))
    return time[keep], value[keep]


def _ends(order: Int64Array, edge: Int64Array) -> Int64Array:
    highest: Int64Array = order[np.append(edge[1:], len(order)) - 1]
    return highest


def column_widths(times: Int64Array) -> Int64Array:
    """How long each column of a heat map stands for: until the next, at most twice the median step, so that a pause
    in the program stays empty. A single column gets one millisecond."""
    if len(times) < 2:
        return np.full(len(times), 1_000_000, np.int64)
    steps = np.diff(times)
    usual = int(np.median(steps))
    widths: Int64Array = np.minimum(np.append(steps, usual), 2 * max(1, usual))
    return widths


def heatmap_in(
    times: Int64Array, quantities: UInt32Array, begin: int, end: int, width: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Columns of a heat map in a window: begins, ends, quantities (column, bin).

    Columns that begin within the same pixel are added up.
    """
    ends = times + column_widths(times)
    first = int(np.searchsorted(ends, np.int64(begin), "right"))
    last = int(np.searchsorted(times, np.int64(end), "left"))
    time, stop, table = times[first:last], ends[first:last], quantities[first:last].astype(np.int64)
    if len(time) <= width:
        return time, stop, table
    pixel = (time - begin) * width // max(1, end - begin)
    edge = np.concatenate([[0], np.flatnonzero(pixel[1:] != pixel[:-1]) + 1])
    return time[edge], stop[np.append(edge[1:], len(time)) - 1], np.add.reduceat(table, edge, axis=0)


def overview(source: HostTrace, width: int) -> tuple[UInt8Array, npt.NDArray[np.uint16]]:
    """The entire trace as a small picture: (lane, pixel) share of the pixel that is busy, 0 to 255 rounded up, and the
    channel of the longest block there. Lanes in the order of threads and depths."""
    source.finish_preparing()
    lanes = [lane for thread in source.threads for lane in thread.lanes]
    share = np.zeros((len(lanes), width), np.uint8)
    channel = np.zeros((len(lanes), width), np.uint16)
    span = max(1, source.end - source.begin)
    for row, lane in enumerate(lanes):
        blocks = blocks_in(lane, source.begin, source.end + 1, width)
        low = np.minimum((blocks.start - source.begin) * (width / span), width - 1)
        end = np.maximum(blocks.end, blocks.start + 1)
        high = np.maximum((end - source.begin) * (width / span), low)
        density = np.maximum(1, blocks.busy) / (end - blocks.start)
        filled = _coverage(low, np.minimum(high, width), density, width)
        share[row] = np.ceil(255 * np.minimum(1, filled) - 1e-6)
        order = np.argsort(blocks.busy, kind="stable")
        of_block = source.names.channel[blocks.name[order]].astype(np.uint16)
        channel[row, low[order].astype(np.int64)] = of_block
        wide = np.flatnonzero(high - low > 1)[:width]
        pixels = np.minimum(np.ceil(high[wide]), width).astype(np.int64) - low[wide].astype(np.int64)
        at = np.arange(pixels.sum()) - np.repeat(np.cumsum(pixels) - pixels - low[wide].astype(np.int64), pixels)
        channel[row, at] = np.repeat(source.names.channel[blocks.name[wide]], pixels)  # of several the last stays
    return share, channel


def overview_strip(source: HostTrace, width: int, rows: int) -> tuple[UInt8Array, npt.NDArray[np.uint16]]:
    """`overview` in at most `rows` rows: where several lanes share a row, each pixel shows the fullest of them, of
    equally full ones the first."""
    share, channel = overview(source, width)
    lanes = len(share)
    if lanes <= rows:
        return share, channel
    bounds = [-(-row * lanes // rows) for row in range(rows + 1)]
    parts = [slice(*pair) for pair in itertools.pairwise(bounds)]
    fullest = [share[part].argmax(axis=0)[None] for part in parts]

    def of_fullest(values: npt.NDArray[T]) -> npt.NDArray[T]:
        chosen = [np.take_along_axis(values[part], row, axis=0) for part, row in zip(parts, fullest, strict=True)]
        return np.concatenate(chosen)

    return of_fullest(share), of_fullest(channel)


def _coverage(low: Float64Array, high: Float64Array, density: Float64Array, width: int) -> Float64Array:
    """Sum over blocks of density times the part of each pixel that [low, high) covers: the slope of a ramp per block,
    so two additions at each end instead of a loop over pixels."""
    filled = np.zeros(width + 2)
    for edge, sign in ((low, density), (high, -density)):
        pixel = edge.astype(np.int64)
        part = edge - pixel
        np.add.at(filled, pixel, sign * (1 - part))
        np.add.at(filled, pixel + 1, sign * part)
    return np.cumsum(filled)[:width]
