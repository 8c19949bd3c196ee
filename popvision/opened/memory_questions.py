"""What lies in the memory of the tiles, as frames and arrays. All sizes are bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from popvision.analysis.memory.lowered import address_use, eq_classes, lowered_names, lowered_tile, variables
from popvision.analysis.memory.usage import breakdown, category_arrays, memory_by_tile
from popvision.analysis.memory.variable_tiles import variable_bytes_by_tile
from popvision.analysis.report.kept import kept
from popvision.analysis.report.not_recorded import GRAPH_PROFILE, NotRecordedError
from popvision.analysis.report.tiles import target_of
from popvision.arrays import Int64Array
from popvision.formats.profile.model import CATEGORIES, REGIONS
from popvision.opened.asked import Asked, question

if TYPE_CHECKING:
    import pandas as pd

    from popvision.formats.profile.model import EquivalenceClasses


class MemoryQuestions(Asked):
    """Tiles, categories, variables and where they lie."""

    @question
    def tiles(self, replica: int | None = None) -> pd.DataFrame:
        """A row per tile, all replicas or one: tile, ipu, physical_tile (where known), capacity_bytes,
        including_gaps_bytes (highest used address), excluding_gaps_bytes, gaps_bytes, always_live_bytes,
        not_always_live_bytes (the tile's own maximum over liveness indices), overflowed_bytes.

        Raises NotRecordedError without a graph profile."""
        memory, target = memory_by_tile(self.source, replica), target_of(self.source)
        tile = np.arange(memory.tiles.start, memory.tiles.stop)
        columns: dict[str, Any] = {"tile": tile, "ipu": tile // target.tiles_per_ipu}
        if target.physical_tile is not None and len(target.physical_tile):
            columns["physical_tile"] = np.asarray(target.physical_tile, np.int64)[tile % target.tiles_per_ipu]
        columns |= {
            "capacity_bytes": np.full(len(tile), memory.capacity),
            "including_gaps_bytes": memory.including_gaps,
            "excluding_gaps_bytes": memory.excluding_gaps,
            "gaps_bytes": memory.gaps,
            "always_live_bytes": memory.always_live,
            "not_always_live_bytes": memory.not_always_live,
            "overflowed_bytes": memory.overflowed,
        }
        return self._frame(columns)

    @question
    def memory(self, by: str = "category", replica: int | None = None) -> pd.DataFrame:
        """A row per tile and a column per part that holds anything, `by` "category", "region" or "liveness": tile, then
        "<part>_bytes" (for example vertexCode_bytes). The parts of a tile add up to its excluding_gaps_bytes."""
        found = breakdown(self.source, by, replica)
        tiles = memory_by_tile(self.source, replica).tiles
        parts = {f"{key}_bytes": values for key, values in zip(found.keys, found.values, strict=True)}
        return self._frame({"tile": np.arange(tiles.start, tiles.stop)} | parts)

    @question
    def memory_totals(self) -> pd.DataFrame:
        """A row per category, region and overlap: category, region, overlapped (its addresses are used by another
        allocation at another time), bytes over all tiles, largest_tile_bytes and largest_tile."""
        rows = [
            (*key, int(values.sum()), int(values.max()), int(values.argmax()))
            for key, values in category_arrays(self.source).items()
        ]
        names = ("category", "region", "overlapped", "total_bytes", "largest_tile_bytes", "largest_tile")
        return self._frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    @question
    def variables(self) -> pd.DataFrame:
        """A row per variable before lowering, pseudo-variables such as vertexCode among them: variable (its id), name,
        total_bytes over all tiles, always_live, eq_class, first_index and last_index (liveness indices, missing for
        always-live ones), indices (how many), debug_id (-1 where none)."""
        import pandas as pd

        known = variables(self.source)
        classes = kept(self.source, "eq_classes", self.source.reader.eq_classes)
        eq_class = np.where(known.always_live, -1, np.asarray(known.eq_class, np.int64))
        first, last, count = _spans(classes, eq_class)
        absent = first < 0
        return self._frame(
            {
                "variable": np.arange(len(known.name)),
                "name": known.name,
                "total_bytes": np.asarray(known.bytes, np.int64),
                "always_live": np.asarray(known.always_live, bool),
                "eq_class": eq_class,
                "first_index": pd.arrays.IntegerArray(first, absent),
                "last_index": pd.arrays.IntegerArray(last, absent),
                "indices": pd.arrays.IntegerArray(count, absent),
                "debug_id": np.asarray(known.debug_id, np.int64),
            }
        )

    @question
    def lowered_variables(self, tile: int) -> pd.DataFrame:
        """A row per allocation of one tile, by address: id, name, variable (row of `variables()`, -1 where none),
        category, region, address_bytes, bytes, always_live, eq_class (-1 = always live), shared (another allocation
        uses an address of it too).

        Raises NotRecordedError unless lowered variables were recorded (autoReport.outputLoweredVars)."""
        low, names = lowered_tile(self.source, tile), lowered_names(self.source)
        eq_class = np.asarray(low.eq_class, np.int64)
        return self._frame(
            {
                "id": low.first_id + np.arange(len(low.bytes)),
                "name": [names[i] if 0 <= i < len(names) else "" for i in np.asarray(low.name).tolist()],
                "variable": np.asarray(low.variable, np.int64),
                "category": _named(CATEGORIES, low.category),
                "region": _named(REGIONS, low.region),
                "address_bytes": np.asarray(low.address, np.int64),
                "size_bytes": np.asarray(low.bytes, np.int64),
                "always_live": eq_class < 0,
                "eq_class": eq_class,
                "shared": address_use(low).shared,
            },
            tile=tile,
        )

    @question
    def tile_variables(self, tile: int) -> pd.DataFrame:
        """What one tile holds by category and name, most bytes first: category, name, size_bytes (the published table
        vars_info)."""
        target = target_of(self.source)
        if not 0 <= tile < target.num_tiles:
            raise ValueError(f"tile {tile} does not exist: this report has tiles 0 to {target.num_tiles - 1}")
        category, name, size = self.source.reader.vars_info(tile)
        if not len(size):
            raise NotRecordedError(GRAPH_PROFILE)
        names = lowered_names(self.source)
        order = np.argsort(-np.asarray(size, np.int64), kind="stable")
        return self._frame(
            {
                "category": _named(CATEGORIES, np.asarray(category)[order]),
                "name": [names[i] if 0 <= i < len(names) else "" for i in np.asarray(name)[order].tolist()],
                "size_bytes": np.asarray(size, np.int64)[order],
            },
            tile=tile,
        )

    @question
    def variable_bytes_by_tile(self, chosen: Sequence[int], replica: int | None = None) -> Int64Array:
        """(variables, tiles) bytes of each chosen variable (ids of `variables()`) on each tile of all replicas or one.

        Reads the allocations of all tiles once. Raises NotRecordedError without lowered variables."""
        return variable_bytes_by_tile(self.source, list(chosen), replica)

    @question
    def live_ranges(self) -> pd.DataFrame:
        """A row per range of liveness indices in which an equivalence class is live: eq_class, begin_index, end_index
        (half-open: live at begin_index, no longer at end_index)."""
        classes = eq_classes(self.source)
        offsets = np.asarray(classes.offsets, np.int64)
        return self._frame(
            {
                "eq_class": np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
                "begin_index": np.asarray(classes.starts, np.int64),
                "end_index": np.asarray(classes.ends, np.int64),
            }
        )


def _named(names: tuple[str, ...], codes: npt.ArrayLike) -> list[str]:
    return [names[code] if 0 <= code < len(names) else "unknown" for code in np.asarray(codes).tolist()]


def _spans(classes: EquivalenceClasses | None, eq_class: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(first index, last index, number of indices) by row of `eq_class`, -1 for classes without ranges."""
    nothing = np.full(len(eq_class), -1, np.int64)
    if classes is None or not len(classes.starts):
        return nothing, nothing.copy(), nothing.copy()
    offsets = np.asarray(classes.offsets, np.int64)
    starts, ends = np.asarray(classes.starts, np.int64), np.asarray(classes.ends, np.int64)
    size = np.diff(offsets)
    filled = np.flatnonzero(size)
    first, last, count = (np.full(len(size), -1, np.int64) for _ in range(3))
    at = offsets[filled]
    first[filled] = np.minimum.reduceat(starts, at)
    last[filled] = np.maximum.reduceat(ends, at) - 1
    count[filled] = np.add.reduceat(ends - starts, at)
    good = (eq_class >= 0) & (eq_class < len(size))
    row = np.where(good, eq_class, 0)
    return tuple(np.where(good, column[row], -1) for column in (first, last, count))  # type: ignore[return-value]
