"""The figures of `steps_by_ipu` that depend on one (start, cycles) pair alone, for many pairs at once.

For a pair, tile t is busy in [start[t], start[t] + cycles[t]) relative to the step's base and takes part when
cycles[t] > 0. `all_*` run over every tile of the IPU, `active_*` over those that take part (0 when none does).
`length` = all_to_max - all_from_max. Because each tile starts a step where it ended the one before, lengths
telescope. Balance = mean / max of cycles (0 when no tile takes part), over all tiles or over active ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from popvision.arrays import Float64Array, Int64Array, IntegerArray
from popvision.formats.errors import FormatError
from popvision.formats.profile.model import StepOnIpu


@dataclass(frozen=True)
class PatternStatistics:
    """One row per pattern. Cycles relative to the step's base."""

    length: Int64Array
    active_tiles: Int64Array
    active_from_min: Int64Array
    active_from_max: Int64Array
    active_to_min: Int64Array
    active_to_max: Int64Array
    all_from_min: Int64Array
    all_from_max: Int64Array
    all_to_min: Int64Array
    all_to_max: Int64Array
    cycles_min: Int64Array
    cycles_max: Int64Array
    cycles_sum: Int64Array
    tile_balance: Float64Array
    active_tile_balance: Float64Array

    @classmethod
    def concatenated(cls, blocks: Sequence[PatternStatistics]) -> PatternStatistics:
        """The rows of all blocks, in order."""
        empty = np.empty(0, dtype=np.int64)
        names = (field.name for field in fields(cls))
        return cls(**{name: np.concatenate([empty, *(getattr(b, name) for b in blocks)]) for name in names})


def pattern_statistics(patterns: Sequence[StepOnIpu]) -> PatternStatistics:
    """Statistics of patterns that all have the same number of tiles.

    Raises FormatError when lengths differ, or a start or a duration is negative."""
    start = _stacked([pattern.start for pattern in patterns])
    cycles = _stacked([pattern.cycles for pattern in patterns])
    if start.shape != cycles.shape or start.ndim != 2 or start.shape[1] == 0:
        raise FormatError(f"start and cycles of a step differ in shape: {start.shape} and {cycles.shape}.")
    if int(start.min()) < 0 or int(cycles.min()) < 0:
        raise FormatError("a step has a negative start or a negative number of cycles on some tile.")
    start, cycles = _same_type(start, cycles)
    end = start + cycles
    from_min, from_max, to_min, to_max = (_wide(a) for a in (start.min(1), start.max(1), end.min(1), end.max(1)))
    total, longest, shortest = cycles.sum(1, dtype=np.int64), _wide(cycles.max(1)), _wide(cycles.min(1))
    tiles = start.shape[1]
    active_tiles = np.full(len(patterns), tiles, dtype=np.int64)
    active = [from_min.copy(), from_max.copy(), to_min.copy(), to_max.copy()]
    partial = np.flatnonzero(shortest == 0)
    if len(partial):
        active_tiles[partial] = np.count_nonzero(cycles[partial], axis=1)
        for column, values in zip(active, _over_active(start[partial], cycles[partial], end[partial]), strict=True):
            column[partial] = values
    busiest = np.maximum(longest, 1)
    return PatternStatistics(
        length=to_max - from_max,
        active_tiles=active_tiles,
        active_from_min=active[0],
        active_from_max=active[1],
        active_to_min=active[2],
        active_to_max=active[3],
        all_from_min=from_min,
        all_from_max=from_max,
        all_to_min=to_min,
        all_to_max=to_max,
        cycles_min=shortest,
        cycles_max=longest,
        cycles_sum=total,
        tile_balance=total / (busiest * tiles),
        active_tile_balance=total / (busiest * np.maximum(active_tiles, 1)),
    )


def _stacked(arrays: list[IntegerArray]) -> IntegerArray:
    try:
        return np.stack(arrays)
    except ValueError:
        lengths = sorted({len(array) for array in arrays})
        raise FormatError(f"the steps of one IPU have different numbers of tiles: {lengths}.") from None


def _same_type(start: IntegerArray, cycles: IntegerArray) -> tuple[IntegerArray, IntegerArray]:
    """Both in a signed type in which start + cycles cannot wrap; 4 bytes where possible, for speed."""
    highest = int(start.max()) + int(cycles.max())
    if highest > np.iinfo(np.int64).max:
        raise FormatError(f"a step ends {highest} cycles after its base, more than 63 bits hold.")
    wide = np.int32 if highest <= np.iinfo(np.int32).max else np.int64
    return start.astype(wide, copy=False), cycles.astype(wide, copy=False)


def _over_active(
    start: IntegerArray, cycles: IntegerArray, end: IntegerArray
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """from min, from max, to min, to max over tiles with cycles > 0; 0 in rows without any."""
    active = cycles > 0
    some = active.any(1)
    high = np.iinfo(start.dtype).max
    columns = (
        np.where(active, start, high).min(1),
        np.where(active, start, 0).max(1),
        np.where(active, end, high).min(1),
        np.where(active, end, 0).max(1),
    )
    first, second, third, fourth = (np.where(some, column, 0).astype(np.int64) for column in columns)
    return first, second, third, fourth


def _wide(values: IntegerArray) -> Int64Array:
    return values.astype(np.int64)
