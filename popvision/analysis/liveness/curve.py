"""Liveness curves: bytes live at each liveness index, for one replica, one IPU or one tile.

A liveness index is a position in the static order of the program. The report stores the curves of all tiles and of each
IPU; a tile's curve is computed from that tile's allocations and the live ranges of their equivalence classes, so no
table of tiles x indices exists anywhere. Always-live bytes are a constant below the curve. All figures are bytes.

The peak of the device is not the peak of its fullest tile: each tile peaks at its own index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.index import LiveIndex
from popvision.analysis.memory.lowered import class_rows, lowered_tile
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.columns import eq_classes, liveness
from popvision.analysis.report.tiles import Where, target_of, tiles_of_replica
from popvision.arrays import Int64Array
from popvision.formats.profile.model import EquivalenceClasses, LoweredTile

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


@dataclass(frozen=True)
class Curve:
    """Row i = liveness index i. Total live there = `always_live + not_always_live[i]`."""

    where: Where
    program: Int64Array
    not_always_live: Int64Array
    always_live: int
    capacity: int  #: bytes of memory of the tiles that the curve covers
    tiles: range


@dataclass(frozen=True)
class Peak:
    """The first index at which a curve is highest, and the program there."""

    index: int
    program: int
    not_always_live: int
    always_live: int

    @property
    def total(self) -> int:
        return self.always_live + self.not_always_live


def curve(source: ReportSource, where: Where = Where()) -> Curve:  # noqa: B008
    """The liveness curve of `where`.

    Raises NotRecordedError when the report lacks it, ValueError when the replica, IPU or tile does not exist.
    """
    stored = liveness(source)
    target = target_of(source)
    if where.kind == "all":
        tiles = tiles_of_replica(target, where.number)
        live = np.asarray(stored.bytes, dtype=np.int64)
    elif where.kind == "ipu":
        if not 0 <= where.number < len(stored.bytes_by_ipu):
            raise ValueError(
                f"IPU {where.number} does not exist: this report has IPUs 0 to {len(stored.bytes_by_ipu) - 1}"
            )
        tiles = range(where.number * target.tiles_per_ipu, (where.number + 1) * target.tiles_per_ipu)
        live = np.asarray(stored.bytes_by_ipu[where.number], dtype=np.int64)
    else:
        tiles = range(where.number, where.number + 1)
        live = tile_curve(lowered_tile(source, where.number), eq_classes(source), len(stored.program))
    always = memory_by_tile(source, None).always_live[tiles.start : tiles.stop]
    program = np.asarray(stored.program, dtype=np.int64)
    return Curve(where, program, live, int(always.sum()), target.bytes_per_tile * len(tiles), tiles)


def tile_curve(tile: LoweredTile, classes: EquivalenceClasses, indices: int) -> Int64Array:
    """Not-always-live bytes of a tile at each of `indices` liveness indices.

    Bytes of each class on the tile are added where its ranges begin and taken away where they end; the running sum of
    these differences is the curve.
    """
    owner = np.asarray(tile.eq_class, dtype=np.int64)
    temporary = owner >= 0
    used, which = np.unique(owner[temporary], return_inverse=True)
    size = np.bincount(which, weights=np.asarray(tile.bytes)[temporary], minlength=len(used)).astype(np.int64)
    rows, of = class_rows(classes, used)
    begin = np.clip(np.asarray(classes.starts, dtype=np.int64)[rows], 0, indices)
    end = np.clip(np.asarray(classes.ends, dtype=np.int64)[rows], 0, indices)
    change = np.zeros(indices + 1, dtype=np.int64)
    np.add.at(change, begin, size[of])
    np.add.at(change, end, -size[of])
    live: Int64Array = np.cumsum(change)[:indices]
    return live


def peak(of: Curve) -> Peak:
    """Where a curve is highest (the first such index). The total includes always-live bytes."""
    index = int(of.not_always_live.argmax())
    return Peak(index, int(of.program[index]), int(of.not_always_live[index]), of.always_live)


def fullest_tile(source: ReportSource, replica: int | None = 0) -> int:
    """The tile of a replica whose always-live bytes and own peak add up highest (the lowest number of equals)."""
    memory = memory_by_tile(source, replica)
    return memory.tiles.start + int((memory.always_live + memory.not_always_live).argmax())


def live_classes(source: ReportSource, index: int) -> Int64Array:
    """Equivalence classes live at a liveness index, ascending."""
    classes = eq_classes(source)
    ranges = source.kept.once("live_index", lambda: _Ranges(classes))
    return ranges.classes_at(index)


class _Ranges:
    """The live ranges of all classes, indexed, and the class of each."""

    def __init__(self, classes: EquivalenceClasses) -> None:
        offsets = np.asarray(classes.offsets, dtype=np.int64)
        count = offsets[1:] - offsets[:-1]
        self._index = LiveIndex(classes.starts, classes.ends)
        self._of = np.repeat(np.arange(len(count)), count)

    def classes_at(self, index: int) -> Int64Array:
        classes = np.sort(self._of[self._index.at(index)])  # np.unique first loads numpy.ma: 25 ms
        return classes[np.diff(classes, prepend=-1) > 0]
