"""Partial vertices of a convolution (a matrix product is a 1x1 convolution): tile cycles.

Source: published-numbers 7.5; the AMP formula is exact against the published estimator column of 5.1.
Names: rows = output positions of the tile; in groups and out groups = groups of channels of the tile.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.machine.cycles.rounding import I8, WORKERS, ceil_div, per_worker, whole

#: input channels of one AMP group
IN_GROUP = {"float": 8, "half": 16}


def amp_worker(dtype: str, rows: npt.ArrayLike, units: int, zeroing: bool) -> I8:
    """Thread cycles of one worker for one (in group, out group) pass over `rows` positions, the state it retains
    between passes (7 cycles) taken off.

    half: 0 rows 21|22, 1 32|33, 2 41|42, else (37|38) + 4 (rows - 3), the first figure when zeroing.
    float: 24, 47, 46, 46 + 8 (rows - 3), + 2 + 8 rows when zeroing with 16 units."""
    n = whole(rows)
    if dtype == "half":
        few = np.select([n == 0, n == 1, n == 2], [21, 32, 41], 37 + 4 * (n - 3))
        return few + (0 if zeroing else 1) - 7
    few = np.select([n == 0, n == 1, n == 2], [24, 47, 46], 46 + 8 * (n - 3))
    if zeroing and units == 16:
        few = few + np.where(n > 0, 2 + 8 * n, 0)
    return whole(few - 7)


def _amp_pass(dtype: str, rows: npt.ArrayLike, units: int, zeroing: bool) -> I8:
    """Tile cycles of six workers on `rows` positions: 6 * max worker, at least the smallest worker + 14."""
    longest = amp_worker(dtype, per_worker(rows), units, zeroing)
    shortest = amp_worker(dtype, whole(rows) // WORKERS, units, zeroing)
    return np.maximum(WORKERS * longest, shortest + 14)


def amp_1x1(
    dtype: str,
    rows: npt.ArrayLike,
    in_groups: npt.ArrayLike,
    out_groups: npt.ArrayLike,
    *,
    units: int = 16,
    passes: int = 1,
    partials: str = "float",
    groups: int = 1,
    interleaved_weights: bool = True,
) -> I8:
    """Tile cycles of ConvPartial1x1Out:

    T = 50 + 6 (r1 + r2 (in * cg - 1)) + cg (13 + (in - 1) (15 + out (19 + passes (6 + wl + I)))
        + 11 + out (18 + passes (7 + wl + Iz)))
    with r1, r2 = 7, 3 for float partials or 16 units, else 0; wl = units * weight bytes / (16 interleaved | 8);
    I, Iz = the pass of the six workers, without and with zeroing of the partials."""
    inp, out = whole(in_groups), whole(out_groups)
    r1, r2 = (7, 3) if partials == "float" or units == 16 else (0, 0)
    element_bytes = 4 if dtype == "float" else 2
    load = units * IN_GROUP[dtype] * element_bytes // (16 if interleaved_weights else 8)
    later = _amp_pass(dtype, rows, units, zeroing=False)
    first = _amp_pass(dtype, rows, units, zeroing=True)
    inner = (inp - 1) * (15 + out * (19 + passes * (6 + load + later)))
    last = 11 + out * (18 + passes * (7 + load + first))
    return whole(50 + 6 * (r1 + r2 * (inp * groups - 1)) + groups * (13 + inner + last))


def amp_macs(dtype: str, rows: npt.ArrayLike, in_groups: npt.ArrayLike, out_channels: npt.ArrayLike) -> I8:
    """Multiply-accumulates that the vertex issues, padding included."""
    return whole(ceil_div(rows, 1) * np.asarray(in_groups) * IN_GROUP[dtype] * np.asarray(out_channels))
