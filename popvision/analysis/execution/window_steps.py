"""Share of every step of one IPU in a window of device cycles, exactly: the base of all figures of a window.

A step that lies inside counts with its stored sums; one that the window cuts counts with each tile's interval cut at
the edges. So a window costs one pass over the step rows and the arrays of the few steps at its two edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popvision.analysis.execution.raster import ArrayReader
from popvision.analysis.execution.timeline import Timeline
from popvision.arrays import BoolArray, Int64Array


@dataclass(frozen=True)
class WindowSteps:
    """Row = execution step. Steps that are not busy in the window hold zeros."""

    inside: BoolArray  #: busy, and wholly within the window
    tile_cycles: Int64Array  #: sum over tiles
    longest: Int64Array  #: maximum over tiles
    tiles: Int64Array  #: tiles with cycles in the window
    length: Int64Array  #: part of the step's flat bar; lengths add up to the window

    @property
    def busy(self) -> BoolArray:
        """Steps in which some tile takes part within the window."""
        return self.tiles > 0


def window_steps(steps: Timeline, reader: ArrayReader, begin: int, end: int) -> WindowSteps:
    """The steps of a timeline in cycles [begin, end). Raises FormatError when an array cannot be read."""
    spans, figures = steps.spans, steps.figures
    busy = (spans.busy_begin < end) & (spans.busy_end > begin) & (figures.active_tiles > 0)
    inside = busy & (spans.busy_begin >= begin) & (spans.busy_end <= end)
    sums = np.where(inside, figures.tile_cycles, 0).astype(np.int64)
    longest = np.where(inside, figures.max_cycles, 0).astype(np.int64)
    tiles = np.where(inside, figures.active_tiles, 0).astype(np.int64)
    for step in np.flatnonzero(busy & ~inside).tolist():
        cut = cut_cycles(steps, reader, step, begin, end)
        sums[step], longest[step], tiles[step] = cut.sum(), cut.max(initial=0), np.count_nonzero(cut)
    length = np.maximum(np.minimum(steps.end, end) - np.maximum(steps.begin, begin), 0)
    return WindowSteps(inside, sums, longest, tiles, length)


def cut_cycles(steps: Timeline, reader: ArrayReader, step: int, begin: int, end: int) -> Int64Array:
    """Cycles of each tile in one step that fall into [begin, end)."""
    ids = [int(steps.spans.start_array[step]), int(steps.spans.cycles_array[step])]
    if min(ids) < 0:
        return np.zeros(steps.tiles, np.int64)
    start, cycles = (array.astype(np.int64) for array in reader.arrays(ids))
    start += steps.spans.base[step]
    cut: Int64Array = np.maximum(np.minimum(start + cycles, end) - np.maximum(start, begin), 0)
    return cut
