"""Figures of one window of device time: cycles by type, utilisation, balance, bytes and bandwidth.

Every figure is exact over the half-open window [begin, end) (`window_steps`). Nothing is sampled; figures leave out
only the types in `hidden`.

    share of a phase     = tile cycles of the phase / (tiles x window); a run's tail, where a tile has nothing left to
                           do, counts as sync, so the shares add up to 1. With hidden types: / that of the others.
                           Where hardware did not count some phases (`phases_unknown`), cycles without a step are "not
                           recorded", not sync
    tile utilisation     = tile cycles of compute, internal and global exchange and StreamCopyMid / the same
    tile balance         = sum over the window's compute steps of the mean over all tiles of their cycles
                           / sum over the same steps of the maximum; for one step, mean / max
    active tile balance  = the same with the mean over the tiles that take part in the step
    bytes                = all bytes of every step that is busy in the window, cut or not
    achieved bandwidth   = bytes received by the steps entirely within the window / sum of their longest tile's cycles
    plain rate, exchange = 4 B x sum over the same steps of (longest tile's cycles x tiles that receive) / sum of these
                           cycles: for one step 4 B x tiles that receive, as in analysis.exchange
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.execution.raster import ArrayReader
from popvision.analysis.execution.timeline import NOT_DRAWN, PHASE, PHASES, Timeline, run_bars, timeline
from popvision.analysis.execution.window_steps import WindowSteps, window_steps
from popvision.analysis.report.tile_knowledge import phases_unknown, tiles_unknown
from popvision.arrays import BoolArray, Int64Array, UInt8Array
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


_USEFUL = np.isin(PROGRAM_TYPES, ["OnTileExecute", "DoExchange", "GlobalExchange", "StreamCopyMid"])
_COMPUTE = PROGRAM_TYPES.index("OnTileExecute")

#: What moves bytes: name of the figure -> program types whose steps carry the bytes.
MOVERS = {
    "exchange": ("DoExchange",),
    "global exchange": ("GlobalExchange",),
    "stream copy": ("StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd"),
}

#: The type whose cycles are the transfer proper; its steps measure the bandwidth.
_PROPER = {"exchange": "DoExchange", "global exchange": "GlobalExchange", "stream copy": "StreamCopyMid"}


@dataclass(frozen=True)
class Transfer:
    """Bytes moved by one kind of step. `measured` and `cycles` belong to steps wholly within the window."""

    received: int
    sent: int
    measured: int  #: bytes received, or sent where that is more, by the steps of known length
    cycles: int  #: sum over those steps of the longest tile's cycles
    port_cycles: int = (
        0  #: exchange: sum over those steps of (longest tile's cycles x tiles that receive); 0 = not known
    )

    @property
    def bandwidth(self) -> float | None:
        """Bytes per cycle that were achieved, None when no step of the kind lies in the window."""
        return self.measured / self.cycles if self.cycles else None


@dataclass(frozen=True)
class WindowFigures:
    """Figures of one IPU. Cycles are tile clock cycles, bytes are device bytes; ratios are None when nothing ran."""

    ipu: int
    tiles: int
    length: int  #: cycles of the window
    steps: int  #: steps in which some tile is busy within the window
    intervals: int  #: non-zero (step, tile) cells of those steps
    by_type: dict[str, int]  #: tile cycles by program type, types that ran; the tail is apart
    tail: int  #: tile cycles without a step
    hidden: frozenset[str]  #: types left out; with "Sync" the tail too
    compute_mean: float  #: sum over compute steps of the mean over tiles
    active_mean: float  #: sum over compute steps of the mean over tiles that take part
    compute_max: int  #: sum over compute steps of the maximum over tiles
    transfers: dict[str, Transfer]  #: by the names of MOVERS
    streams: dict[str, Transfer]  #: "stream copy" split by DESTINATIONS; those that occur
    unrecorded: int = 0  #: tile cycles without a step in a report that did not record some phases; the tail among them
    unknown: frozenset[str] = frozenset()  #: the phases that were not recorded (`phases_unknown`)
    of_tiles: bool = True  #: False: from flat bars, the report does not know its tiles

    @property
    def all_cycles(self) -> int:
        """Tile cycles that shares refer to: tiles x length, less what is hidden."""
        return sum(self.tile_cycles.values()) + self.unrecorded

    @property
    def tile_cycles(self) -> dict[str, int]:
        """Tile cycles by phase, the tail among sync; 0 for phases that were not recorded."""
        phases = dict.fromkeys(PHASES, 0)
        for name, cycles in self.by_type.items():
            row = int(PHASE[PROGRAM_TYPES.index(name)])
            if row != NOT_DRAWN:
                phases[PHASES[row]] += cycles
        phases["sync"] += 0 if "Sync" in self.hidden else self.tail
        return phases

    @property
    def host_parts(self) -> dict[str, int]:
        """Tile cycles of StreamCopyBegin, Mid and End."""
        return {name: self.by_type.get(name, 0) for name in MOVERS["stream copy"]}

    @property
    def useful(self) -> int:
        return sum(cycles for name, cycles in self.by_type.items() if _USEFUL[PROGRAM_TYPES.index(name)])

    def recorded_cycles(self, phase: str) -> int | None:
        """Tile cycles of a phase, None where it was not recorded."""
        return None if phase in self.unknown else self.tile_cycles[phase]

    def share(self, phase: str) -> float | None:
        if phase in self.unknown:
            return None
        return self.tile_cycles[phase] / self.all_cycles if self.all_cycles else None

    @property
    def utilisation(self) -> float | None:
        if not self.of_tiles or self.unknown:
            return None
        return self.useful / self.all_cycles if self.all_cycles else None

    @property
    def balance(self) -> float | None:
        return self.compute_mean / self.compute_max if self.compute_max else None

    @property
    def active_balance(self) -> float | None:
        return self.active_mean / self.compute_max if self.compute_max else None


def window_figures(source: ReportSource, ipu: int, begin: int, end: int, hidden: Collection[str] = ()) -> WindowFigures:
    """Figures of cycles [begin, end), cut to what was recorded, without the program types in `hidden`.

    Raises ValueError for an IPU that is not there or a window that ends before it begins; FormatError when a column
    or array cannot be read."""
    if end < begin:
        raise ValueError(f"the window from {begin} to {end} ends before it begins")
    total = run_bars(source).total
    window = min(max(begin, 0), total), min(max(end, 0), total)
    steps = timeline(source, ipu)
    if tiles_unknown(source):
        figures = flat_figures(steps, *window, hidden, destinations(source), receiving_tiles(source, ipu))
    else:
        figures = figures_of(steps, source.reader, *window, hidden, destinations(source), receiving_tiles(source, ipu))
    unknown = frozenset(phases_unknown(source))
    if not unknown:
        return figures
    by_type = {name: cycles for name, cycles in figures.by_type.items() if PHASE_OF_TYPE.get(name) not in unknown}
    left_out = sum(cycles for name, cycles in figures.by_type.items() if name not in by_type and name in PHASE_OF_TYPE)
    return replace(figures, by_type=by_type, tail=0, unrecorded=figures.tail + left_out, unknown=unknown)


def flat_figures(
    steps: Timeline,
    begin: int,
    end: int,
    hidden: Collection[str] = (),
    destination: UInt8Array | None = None,
    receivers: Int64Array | None = None,
) -> WindowFigures:
    """Figures of a report that does not know its tiles: the IPU counts as one tile that does what the flat bars say.
    Balances are None, `of_tiles` is False."""
    length = np.maximum(np.minimum(steps.end, end) - np.maximum(steps.begin, begin), 0)
    inside = (length > 0) & (steps.begin >= begin) & (steps.end <= end)
    in_window = WindowSteps(inside, length, length, (length > 0).astype(np.int64), length)
    figures = _figures(replace(steps, tiles=1), in_window, (begin, end), hidden, destination, receivers)
    return replace(figures, tiles=1, compute_mean=0.0, active_mean=0.0, compute_max=0, of_tiles=False)


def figures_of(
    steps: Timeline,
    reader: ArrayReader,
    begin: int,
    end: int,
    hidden: Collection[str] = (),
    destination: UInt8Array | None = None,
    receivers: Int64Array | None = None,
) -> WindowFigures:
    """`window_figures`, from a timeline; the window must lie within it. `destination` and `receivers`
    (`receiving_tiles`): row = program, None = not known."""
    return _figures(steps, window_steps(steps, reader, begin, end), (begin, end), hidden, destination, receivers)


def _figures(
    steps: Timeline,
    in_window: WindowSteps,
    window: tuple[int, int],
    hidden: Collection[str],
    destination: UInt8Array | None,
    receivers: Int64Array | None,
) -> WindowFigures:
    begin, end = window
    drawn = np.zeros(len(PROGRAM_TYPES), np.int64)
    np.add.at(drawn, steps.type, in_window.tile_cycles)
    tail = steps.tiles * (end - begin) - int(drawn[PHASE != NOT_DRAWN].sum())
    left_out = np.isin(PROGRAM_TYPES, list(hidden))
    shown = in_window.busy & ~left_out[steps.type]
    compute = shown & (steps.type == _COMPUTE)
    sums, active = in_window.tile_cycles[compute], in_window.tiles[compute]
    return WindowFigures(
        ipu=steps.ipu,
        tiles=steps.tiles,
        length=end - begin,
        steps=int(shown.sum()),
        intervals=int(in_window.tiles[shown].sum()),
        by_type={name: int(drawn[row]) for row, name in enumerate(PROGRAM_TYPES) if drawn[row] and not left_out[row]},
        tail=tail,
        hidden=frozenset(hidden),
        compute_mean=int(sums.sum()) / steps.tiles,
        active_mean=float((sums / active).sum()),
        compute_max=int(in_window.longest[compute].sum()),
        transfers={
            name: _transfer(steps, in_window, shown, name, receivers if name == "exchange" else None) for name in MOVERS
        },
        streams=_streams(steps, in_window, shown, destination),
    )


def _streams(
    steps: Timeline, in_window: WindowSteps, shown: BoolArray, destination: UInt8Array | None
) -> dict[str, Transfer]:
    goes = np.full(len(steps), DESTINATIONS.index("unknown")) if destination is None else destination[steps.program]
    copies = shown & np.isin(PROGRAM_TYPES, MOVERS["stream copy"])[steps.type]
    return {
        name: _transfer(steps, in_window, shown & (goes == row), "stream copy")
        for row, name in enumerate(DESTINATIONS)
        if (copies & (goes == row)).any()
    }


def _transfer(
    steps: Timeline, in_window: WindowSteps, shown: BoolArray, name: str, receivers: Int64Array | None = None
) -> Transfer:
    rows = shown & np.isin(PROGRAM_TYPES, MOVERS[name])[steps.type]
    data_in, data_out = (np.asarray(each).astype(np.int64) for each in (steps.figures.data_in, steps.figures.data_out))
    proper = rows & in_window.inside & (steps.type == PROGRAM_TYPES.index(_PROPER[name]))
    moved = np.maximum(data_in[proper], data_out[proper])
    longest = in_window.longest[proper]
    port_cycles = 0
    if receivers is not None:
        tiles = receivers[steps.program[proper]]
        port_cycles = 0 if ((tiles == 0) & (moved > 0)).any() else int((longest * tiles).sum())
    return Transfer(
        int(data_in[rows].sum()), int(data_out[rows].sum()), int(moved.sum()), int(longest.sum()), port_cycles
    )


#: Where a stream copy goes.
DESTINATIONS = ("host", "remote buffer", "unknown")


def destinations(source: ReportSource) -> UInt8Array:
    """By program: index into DESTINATIONS, meaningless for programs that are no stream copies.

    A StreamCopy program is named after its stream or buffer. A report whose meta lists `remoteBuffers` (names, perhaps
    none) tells the two apart, one without the list does not."""
    return source.kept.once("stream destinations", lambda: _destinations(source))


def _destinations(source: ReportSource) -> UInt8Array:
    names = source.reader.programs().name
    buffers = source.reader.meta.get("remoteBuffers")
    if not isinstance(buffers, list):
        return np.full(len(names), DESTINATIONS.index("unknown"), np.uint8)
    known = {str(each) for each in buffers}
    return np.array([int(name in known) for name in names], np.uint8)


# ---- tiles that receive ----

#: Programs whose columns are read together.
_AT_ONCE = 128


def receiving_tiles(source: ReportSource, ipu: int) -> Int64Array:
    """By program: tiles of an IPU that receive bytes in one execution of a DoExchange; 0 for other types, and where the
    report does not store the bytes of tiles. Raises FormatError when a column cannot be read."""
    counted: Int64Array = source.kept.once("receiving tiles", lambda: _counted(source))
    of_ipu: Int64Array = counted[ipu]
    return of_ipu


def _counted(source: ReportSource) -> Int64Array:
    types = source.reader.programs().type
    counted = np.zeros((source.reader.target().num_ipus, len(types)), np.int64)
    rows = [row for row, name in enumerate(types) if name == "DoExchange"]
    for begin in range(0, len(rows), _AT_ONCE):
        for program, ipu, received in source.reader.program_columns("rx", rows[begin : begin + _AT_ONCE]):
            counted[ipu, program] = np.count_nonzero(received)
    return counted
