"""What one window of device time holds: cycles by phase, utilisation, balance, bytes moved.

Every figure is exact over the half-open window [begin, end): a step that lies inside counts with its stored sums; one
that the window cuts counts with each tile's interval cut at the edges. Nothing is sampled or left out.

    share of a phase  = tile cycles of the phase / (tiles x window); a run's tail, where a tile has nothing left to do,
                        counts as sync, so the shares add up to 1
    tile utilisation  = tile cycles of compute, internal and global exchange and StreamCopyMid / (tiles x window)
    tile balance      = sum over the window's compute steps of the mean over all tiles of their cycles
                        / sum over the same steps of the maximum; for one step, mean / max
    bytes             = whole bytes of every step that is busy in the window, cut or not
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.analysis.raster import ArrayReader
from popvision.analysis.timeline import NOT_DRAWN, PHASE, PHASES, Timeline, run_bars, timeline
from popvision.formats.profile.model import PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.source import ReportSource

Int64 = npt.NDArray[np.int64]

_USEFUL = np.isin(PROGRAM_TYPES, ["OnTileExecute", "DoExchange", "GlobalExchange", "StreamCopyMid"])
_COMPUTE = PROGRAM_TYPES.index("OnTileExecute")
_STREAM = np.array([name.startswith("StreamCopy") for name in PROGRAM_TYPES])
_GLOBAL = PROGRAM_TYPES.index("GlobalExchange")


@dataclass(frozen=True)
class WindowFigures:
    """Figures of one IPU. Cycles are tile clock cycles, bytes are device bytes; ratios are None when nothing ran."""

    ipu: int
    tiles: int
    length: int  #: cycles of the window
    steps: int  #: steps in which some tile is busy within the window
    intervals: int  #: non-zero (step, tile) cells of those steps
    tile_cycles: dict[str, int]  #: by phase, the tail among sync
    tail: int  #: tile cycles without a step, already among sync
    host_parts: dict[str, int]  #: tile cycles of StreamCopyBegin, Mid and End
    useful: int
    compute_mean: float  #: sum over compute steps of the mean over tiles
    compute_max: int  #: sum over compute steps of the maximum over tiles
    stream_rx: int
    stream_tx: int
    global_rx: int
    global_tx: int

    @property
    def whole(self) -> int:
        return self.tiles * self.length

    def share(self, phase: str) -> float | None:
        return self.tile_cycles[phase] / self.whole if self.whole else None

    @property
    def utilisation(self) -> float | None:
        return self.useful / self.whole if self.whole else None

    @property
    def balance(self) -> float | None:
        return self.compute_mean / self.compute_max if self.compute_max else None


def window_figures(source: ReportSource, ipu: int, begin: int, end: int) -> WindowFigures:
    """Figures of cycles [begin, end), cut to what was recorded.

    Raises ValueError for an IPU that is not there or a window that ends before it begins; FormatError when a column
    or array cannot be read."""
    if end < begin:
        raise ValueError(f"the window from {begin} to {end} ends before it begins")
    total = run_bars(source).total
    return figures_of(timeline(source, ipu), source.reader, min(max(begin, 0), total), min(max(end, 0), total))


def figures_of(steps: Timeline, reader: ArrayReader, begin: int, end: int) -> WindowFigures:
    """`window_figures` of a timeline that is at hand; the window must lie within it."""
    spans, figures = steps.spans, steps.figures
    busy = (spans.busy_begin < end) & (spans.busy_end > begin) & (figures.active_tiles > 0)
    inside = busy & (spans.busy_begin >= begin) & (spans.busy_end <= end)
    sums = np.where(inside, figures.tile_cycles, 0).astype(np.int64)
    longest = np.where(inside, figures.max_cycles, 0).astype(np.int64)
    cells = np.where(inside, figures.active_tiles, 0).astype(np.int64)
    for step in np.flatnonzero(busy & ~inside).tolist():
        cut = cut_cycles(steps, reader, step, begin, end)
        sums[step], longest[step], cells[step] = cut.sum(), cut.max(initial=0), np.count_nonzero(cut)
    by_type = np.zeros(len(PROGRAM_TYPES), np.int64)
    np.add.at(by_type, steps.type, sums)
    return _assemble(steps, (begin, end), busy & (cells > 0), cells, by_type, longest, sums)


def cut_cycles(steps: Timeline, reader: ArrayReader, step: int, begin: int, end: int) -> Int64:
    """Cycles of each tile in one step that fall into [begin, end)."""
    ids = [int(steps.spans.start_array[step]), int(steps.spans.cycles_array[step])]
    if min(ids) < 0:
        return np.zeros(steps.tiles, np.int64)
    start, cycles = (array.astype(np.int64) for array in reader.arrays(ids))
    start += steps.spans.base[step]
    cut: Int64 = np.maximum(np.minimum(start + cycles, end) - np.maximum(start, begin), 0)
    return cut


def _assemble(
    steps: Timeline,
    window: tuple[int, int],
    shown: npt.NDArray[np.bool_],
    cells: Int64,
    by_type: Int64,
    longest: Int64,
    sums: Int64,
) -> WindowFigures:
    length = window[1] - window[0]
    phases = {name: int(by_type[row == PHASE].sum()) for row, name in enumerate(PHASES)}
    tail = steps.tiles * length - int(by_type[PHASE != NOT_DRAWN].sum())
    phases["sync"] += tail
    compute = shown & (steps.type == _COMPUTE)
    stream, between = shown & _STREAM[steps.type], shown & (steps.type == _GLOBAL)
    data_in, data_out = steps.figures.data_in, steps.figures.data_out
    return WindowFigures(
        ipu=steps.ipu,
        tiles=steps.tiles,
        length=length,
        steps=int(shown.sum()),
        intervals=int(cells.sum()),
        tile_cycles=phases,
        tail=tail,
        host_parts={n: int(by_type[PROGRAM_TYPES.index(n)]) for n in PROGRAM_TYPES if n.startswith("StreamCopy")},
        useful=int(by_type[_USEFUL].sum()),
        compute_mean=int(sums[compute].sum()) / steps.tiles,
        compute_max=int(longest[compute].sum()),
        stream_rx=int(data_in[stream].sum()),
        stream_tx=int(data_out[stream].sum()),
        global_rx=int(data_in[between].sum()),
        global_tx=int(data_out[between].sum()),
    )
