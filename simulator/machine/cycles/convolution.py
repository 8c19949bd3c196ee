"""Partial vertices of convolutions that use the AMP units (a matrix product is a 1x1 convolution): tile cycles.

Source: published-numbers 7.5, completed from PopLibs' public estimators where the summary there is short (they are
named in the docstrings); the half formula is exact against the published estimator column of 5.1.
Names: rows = output positions of the tile; in groups and out groups = groups of channels of the tile; units =
convolution units used; partials = type of the partial sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, whole
from simulator.machine.cycles.worklist import Work
from simulator.machine.launch import SUPERVISOR

#: input channels of one AMP group
IN_GROUP = {"float": 8, "half": 16}
ELEMENT_BYTES = {"float": 4, "half": 2}

#: hardware: cycles that AMP 1x1 takes beyond its estimate, fitted (published-numbers 5.1: 36 to 39); when all workers
#: have equally many rows it takes `launch.SUPERVISOR` (51 there). PopLibs' estimator at HEAD has a term of 14 for that
#: case, which the published estimator column does not; 37 and 14 explain all twelve figures within 2 cycles except
#: N = 16.
LAUNCH = 37


def keeps_state(dtype: str, partials: str, units: int) -> bool:
    """Whether the workers of AMP 1x1 keep state between passes: half activations with float partials or 16 units."""
    return dtype == "half" and (partials == "float" or units == 16)


def _common_path(dtype: str, partials: str, units: int) -> bool:
    """The code path of float partials, also taken by half partials on 16 units."""
    return partials == "float" or (dtype == "half" and units == 16)


def amp_worker(dtype: str, rows: npt.ArrayLike, units: int, zeroing: bool, partials: str = "float") -> Int64Array:
    """Thread cycles of one worker for one (in group, out group) pass over `rows` positions, less what it saves by
    keeping state between passes.

    half: 0 rows 21|22, 1 32|33, 2 41|42, else (37|38) + 4 (rows - 3), the first figure when zeroing; minus 7.
    half with half partials on 8 units: 24, 39, 40, 41 + 4 (rows - 3), + 2 + 2 rows when zeroing.
    float: 24, 47, 46, 46 + 8 (rows - 3), + 2 + 8 rows when zeroing on 16 units, + 2 + 4 rows on 8."""
    n = whole(rows)
    step = 8 if dtype == "float" else 4
    if keeps_state(dtype, partials, units):
        few = np.select([n == 0, n == 1, n == 2], [21, 32, 41], 37 + step * (n - 3))
        return whole(few + (0 if zeroing else 1) - 7)
    start = (24, 47, 46, 46) if dtype == "float" else (24, 39, 40, 41)
    few = np.select([n == 0, n == 1, n == 2], start[:3], start[3] + step * (n - 3))
    if zeroing:
        per_row = (8 if units == 16 else 4) if dtype == "float" else 2
        few = few + np.where(n > 0, 2 + per_row * n, 0)
    return whole(few)


def _amp_pass(dtype: str, rows: npt.ArrayLike, units: int, zeroing: bool, partials: str) -> Int64Array:
    """Tile cycles of six workers on `rows` positions: 6 * the worker with most rows, at least the one with fewest
    + 14."""
    most = amp_worker(dtype, per_worker(rows), units, zeroing, partials)
    fewest = amp_worker(dtype, whole(rows) // WORKERS, units, zeroing, partials)
    return np.maximum(WORKERS * most, fewest + 14)


def weight_load(dtype: str, units: int, interleaved: bool, filter_height: int = 1) -> int:
    """Cycles to load the weights of one pass: units * bytes of a unit's weights / (16 interleaved | 8); a filter
    height of 4 shuffles them and always loads 8 bytes."""
    rate = 16 if interleaved and filter_height != 4 else 8
    return units * IN_GROUP[dtype] * ELEMENT_BYTES[dtype] // rate


def amp_1x1(
    dtype: str,
    rows: npt.ArrayLike,
    in_groups: npt.ArrayLike,
    out_groups: npt.ArrayLike,
    *,
    units: int = 16,
    passes: int = 1,
    partials: str = "float",
    groups: npt.ArrayLike = 1,
    interleaved_weights: bool = True,
) -> Int64Array:
    """Tile cycles of ConvPartial1x1Out:

    T = 50 + 6 (r1 + r2 (in * cg - 1)) + cg (12 + p + (in - 1) (16 - p + out (19 + passes (6 + wl + I)))
        + 11 + out (19 - p + passes (7 + wl + Iz)))
    with p = 1 on the common path (float partials, or half ones on 16 units), else 0; r1, r2 = 7, 3 where workers keep
    state (half activations on the common path), else 0; wl = `weight_load`; I, Iz = the pass of the six workers,
    without and with zeroing of the partials."""
    inp, out, cg = whole(in_groups), whole(out_groups), whole(groups)
    first_save, later_save = (7, 3) if keeps_state(dtype, partials, units) else (0, 0)
    p = int(_common_path(dtype, partials, units))
    load = weight_load(dtype, units, interleaved_weights)
    later = _amp_pass(dtype, rows, units, False, partials)
    zeroing = _amp_pass(dtype, rows, units, True, partials)
    inner = (inp - 1) * (16 - p + out * (19 + passes * (6 + load + later)))
    last = 11 + out * (19 - p + passes * (7 + load + zeroing))
    return whole(50 + 6 * (first_save + later_save * (inp * cg - 1)) + cg * (12 + p + inner + last))


def amp_launch(rows: npt.ArrayLike) -> Int64Array:
    """Cycles that hardware takes to launch AMP 1x1 beyond its estimate: 51 where six workers have equally many rows,
    else 37 (published-numbers 5.1)."""
    return np.where(whole(rows) % WORKERS == 0, SUPERVISOR, LAUNCH)


#: supervisor cycles of an n x 1 pass beside the loads, by filter height (PopLibs' estimator; 20 per row of others)
_NX1_PASS = {1: 15, 2: 46, 4: 60}
#: worker cycles that n x 1 saves per work item by keeping state
_NX1_KEPT = 9


def nx1_item(dtype: str, partials: str, units: int, n: Int64Array) -> Int64Array:
    """Thread cycles of one work item of n positions: 3 + c(n) - 9 with c: 0 17; 1 29 half | 33 float; 2 33 (+ 1 for
    half partials on 16 or float partials on 8 units) | 44; else 34 + 4 (n - 3) | 45 + 8 (n - 3)."""
    if dtype == "float":
        c = np.select([n == 0, n == 1, n == 2], [17, 33, 44], 45 + 8 * (n - 3))
    else:
        stride = int((partials == "half") == (units == 16))
        c = np.select([n == 0, n == 1, n == 2], [17, 29, 33 + stride], 34 + 4 * (n - 3))
    return whole(3 + c - _NX1_KEPT)


def amp_nx1(
    dtype: str,
    work: Work,
    in_groups: npt.ArrayLike,
    out_groups: npt.ArrayLike,
    *,
    kernel_outer: int = 1,
    kernel_inner: int = 1,
    filter_height: int = 1,
    units: int = 16,
    passes: int = 1,
    partials: str = "float",
    groups: npt.ArrayLike = 1,
    interleaved_weights: bool = True,
) -> Int64Array:
    """Tile cycles of ConvPartialnx1 (a kernel of kernel_outer x kernel_inner positions, `filter_height` rows of it at a
    time; `work` has a round for each):

    T = 109 + 6 * 9 + 6 (9 float | 10 half partials) + cg (17 out + 6 (out - 1) + 1) + 6 (cg - 1) + 1
        + cg (16 + in (14 + out (14 + I)))
    I = outer (14 + inner * 12) + sum over rounds of passes (wl + h + 3 + max(6 * longest worker, 6 * shortest + 9))
    with h = 15, 46, 60 for filter heights 1, 2, 4 (20 per row of others), wl = `weight_load`, and a worker =
    17 (+ 1 half partials) + sum of `nx1_item`. The terms of I are those of PopLibs' estimator."""
    inp, out, cg = whole(in_groups), whole(out_groups), whole(groups)

    def item(n: Int64Array) -> Int64Array:
        return nx1_item(dtype, partials, units, n)

    start = 17 + (partials == "half")
    sums, times = work.by_round(item)
    workers = np.maximum(6 * (start + sums.max(axis=1)), 6 * (start + sums.min(axis=1)) + 9).sum(axis=0) * times
    rounds = kernel_outer * kernel_inner
    one_pass = weight_load(dtype, units, interleaved_weights, filter_height) + 3
    one_pass += _NX1_PASS.get(filter_height, 20 * filter_height)
    inner = kernel_outer * 14 + rounds * 12 + passes * (rounds * one_pass + workers)
    zeroing = cg * (17 * out + 6 * (out - 1) + 1) + 6 * (cg - 1) + 1
    fixed = 109 + 6 * _NX1_KEPT + 6 * (9 if partials == "float" else 10)
    return whole(fixed + zeroing + cg * (16 + inp * (14 + out * (14 + inner))))


def amp_macs(dtype: str, rows: npt.ArrayLike, in_groups: npt.ArrayLike, out_channels: npt.ArrayLike) -> Int64Array:
    """Multiply-accumulates that the vertex issues, padding included."""
    return whole(ceil_div(rows, 1) * np.asarray(in_groups) * IN_GROUP[dtype] * np.asarray(out_channels))
