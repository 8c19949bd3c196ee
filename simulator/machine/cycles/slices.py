"""Vertices that slice and update tensors at positions known only when they run.

Source: published-numbers 7.3. 1-D, MultiSlice and MultiUpdate give tile cycles, 2-D forms thread cycles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, vector_width, whole

_ONE_BYTE = ("char", "schar", "uchar", "bool")
#: fixed thread cycles: CircBufIncrIndex, CircOffset, ForLoopCounter, CheckAccuracyWhenCast
CIRCULAR_BUFFER_INDEX, CIRCULAR_OFFSET, FOR_LOOP_COUNTER, CHECK_ACCURACY = 8, 10, 43, 30


def dynamic_slice_1d(dtype: str, region: npt.ArrayLike, sub_elements: npt.ArrayLike) -> Int64Array:
    """Tile cycles of DynamicSlice1D and DynamicUpdateSlice1D: 25 + 6 (39 + (24 + 2 ((ceil(region/6)) // v)) sub);
    8-bit 76 and 72 in place of 39 and 24, with v = 4. 64-bit elements count twice, as pairs of 32 bits."""
    size = whole(region) * (2 if dtype in ("longlong", "ulonglong") else 1)
    if dtype in _ONE_BYTE:
        return whole(25 + WORKERS * (76 + (72 + 2 * (per_worker(size) // 4)) * whole(sub_elements)))
    width = 4 if dtype == "half" else 2
    return whole(25 + WORKERS * (39 + (24 + 2 * (per_worker(size) // width)) * whole(sub_elements)))


#: thread cycles of a DynamicSlice2D vertex beside its regions
DYNAMIC_2D_BASE = 27
#: and of each region beside its slices
DYNAMIC_2D_REGION = 13


def dynamic_slice_2d_region(dtype: str, region: npt.ArrayLike, sub_elements: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one region of DynamicSlice2D: (29 + ceil(n/v)) sub + 13; half (31 + 2 ceil(n/v)) sub + 13,
    8-bit (50 + 2 ceil(n/4)) sub + 13."""
    if dtype in _ONE_BYTE:
        step = 50 + 2 * ceil_div(region, 4)
    else:
        step = 31 + 2 * ceil_div(region, 4) if dtype == "half" else 29 + ceil_div(region, 2)
    return step * whole(sub_elements) + DYNAMIC_2D_REGION


def multi_slice(
    dtype: str, elements: npt.ArrayLike, in_range: npt.ArrayLike, out_of_range: npt.ArrayLike = 0
) -> Int64Array:
    """Tile cycles of MultiSlice: 6 (30 + in range * (19 + 2 ceil(elements / 2)) + out of range * 8), `elements` of one
    slice of 2- or 4-byte type, `in_range` the indices that the longest worker finds on its tile."""
    return _multi(dtype, 30, elements, in_range, out_of_range)


def multi_update(
    dtype: str, elements: npt.ArrayLike, in_range: npt.ArrayLike, out_of_range: npt.ArrayLike = 0
) -> Int64Array:
    """Tile cycles of MultiUpdate: as MultiSlice with 29 in place of 30."""
    return _multi(dtype, 29, elements, in_range, out_of_range)


def _multi(dtype: str, start: int, elements: npt.ArrayLike, found: npt.ArrayLike, missed: npt.ArrayLike) -> Int64Array:
    # Bytes move four at a time, three cycles each; wider types two at a time (public estimators).
    moved = 3 * ceil_div(elements, 4) if dtype in _ONE_BYTE else 2 * ceil_div(elements, 2)
    return whole(WORKERS * (start + whole(found) * (19 + moved) + 8 * whole(missed)))


def sorted_search(indices: npt.ArrayLike) -> Int64Array:
    """Thread cycles that a slice with sorted indices adds: 2 log2(n) 10 + 20."""
    return whole(np.ceil(20 * np.log2(np.maximum(whole(indices), 1))) + 20)


def multi_update_add(
    dtype: str,
    elements: npt.ArrayLike,
    in_range: npt.ArrayLike,
    out_of_range: npt.ArrayLike = 0,
    *,
    scaled: bool = True,
) -> Int64Array:
    """Tile cycles of MultiUpdateAdd: 6 (3 + 29 float | 30 half (+ 6 | 4 scaled) + in range *
    (11 | 12 + (elements / atom - 1) 3) + 5 out of range), atom = elements of a 64-bit store."""
    is_float = dtype == "float"
    start = 3 + (29 if is_float else 30) + ((6 if is_float else 4) if scaled else 0)
    each = (11 if is_float else 12) + (ceil_div(elements, vector_width(dtype)) - 1) * 3
    return whole(WORKERS * (start + whole(in_range) * each + 5 * whole(out_of_range)))


def sequence_slice(element_bytes: int, elements: npt.ArrayLike, sequences: npt.ArrayLike) -> Int64Array:
    """Tile cycles of SequenceSlice copying `elements` in `sequences` runs of equal length: 60 + 60 t + 6 ceil(t / 6) *
    ceil(words / t), words of 32 bits in two cycles each."""
    runs = np.maximum(whole(sequences), 1)
    each = ceil_div(whole(elements) * element_bytes // 4 * 2, runs)
    return whole(60 + 60 * runs + WORKERS * per_worker(runs) * each)


def circular_place(other: bool) -> int:
    """Thread cycles of CircBufIncrIndex 8, and of CircOffset, which computes another place, 10."""
    return 10 if other else 8
