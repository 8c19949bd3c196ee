"""The prominent peaks of a curve: high places between clear falls, not every small step. One pass over the curve."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popvision.arrays import Int64Array

#: A fall is clear from this share of the curve's range (maximum - minimum) on.
CLEAR = 0.05

#: Peaks that are named; of more, the highest.
MOST = 24


def peaks(values: npt.ArrayLike, most: int = MOST) -> Int64Array:
    """Positions of the peaks, ascending: on both sides the curve falls by at least CLEAR of its range before it rises
    above the peak; beyond its ends it counts as having fallen. Of a plateau the first position. A flat curve has none.

    One pass over the turning points with hysteresis: remember the highest place since the last clear fall, and take it
    for a peak as soon as the curve has fallen clearly below it; then look for the lowest place likewise.
    """
    curve = np.asarray(values, dtype=np.int64)
    if not curve.size or curve.min() == curve.max():
        return np.empty(0, dtype=np.int64)
    clear = CLEAR * float(curve.max() - curve.min())
    starts = np.flatnonzero(np.diff(curve, prepend=curve[0] - 1))
    positions: list[int] = []
    best, at, low, rising = -1, -1, int(curve.min()) - 1, True
    for position, value in zip(starts.tolist(), curve[starts].tolist(), strict=True):
        if rising:
            if at < 0 or value > best:
                best, at = value, position
            elif value <= best - clear:
                positions.append(at)
                low, rising = value, False
        elif value < low:
            low = value
        elif value >= low + clear:
            best, at, rising = value, position, True
    if rising:
        positions.append(at)
    chosen = np.asarray(positions, dtype=np.int64)
    if len(chosen) > most:
        chosen = np.sort(chosen[np.argsort(-curve[chosen], kind="stable")[:most]])
    return chosen
