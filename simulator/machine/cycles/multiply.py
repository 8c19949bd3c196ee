"""Partial vertices of convolutions that do without the AMP units: HMAC, VMAC, outer product.

Source: published-numbers 7.5; the outer product from PopLibs' public estimator. HMAC and VMAC give tile cycles, an
outer product (a worker vertex) thread cycles. Names as in `simulator.machine.cycles.convolution`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, whole
from simulator.machine.cycles.worklist import Work


def dot_product(dtype: str, partials: str, length: npt.ArrayLike) -> Int64Array:
    """Thread cycles of one dot product over `length` input channels (for half partials: of two output channels):

    3 c + hh + 4 + extra + (length / w) * (1, or 2 if w elements are less than 64 bits), - 1 for half activations;
    w = the largest power of two up to the vector width that divides length; c = 2 and hh = 1 for half with half
    partials, else 1 and 0; extra = c where w elements are less than 64 bits."""
    n = whole(length)
    width = 2 if dtype == "float" else 4
    hh = dtype == "half" and partials == "half"
    c = 2 if hh else 1
    w = np.gcd(n, width)
    narrow = w < width
    steps = n // w * np.where(narrow, 2, 1)
    return whole(3 * c + int(hh) + 4 + np.where(narrow, c, 0) + steps - (dtype == "half"))


def hmac(
    dtype: str,
    work: Work,
    in_groups: npt.ArrayLike,
    out_groups: npt.ArrayLike,
    *,
    in_channels: npt.ArrayLike,
    out_channels: npt.ArrayLike,
    partials: str = "float",
    groups: npt.ArrayLike = 1,
    one_by_one: bool = False,
) -> Int64Array:
    """Tile cycles of ConvPartialHorizontalMac, channels per group `in_channels` and `out_channels`, `work` with a round
    for each kernel position:

    T = (58 float | 65 half, - 10 if 1x1) + 6 z + 6 s + cg (23 + in (15 + out (10 + 6 * longest worker)))
    with z = 9 | 10 (float | half partials), s = 15 (1x1 form) | 0 float | 6 half;
    worker = 16 + sum over rounds of (16 - s + sum over items of (13 | 19 + n (7 + out_channels * dot))).

    An item pays 13 in the 1x1 form and 19 otherwise: the published summary gives both figures without saying which is
    whose, and older public estimators have 19 for the general form. Half partials take two output channels at once."""
    inp, out, cg = whole(in_groups), whole(out_groups), whole(groups)
    is_float = dtype == "float"
    kept = 15 if one_by_one else (0 if is_float else 6)
    pairs = whole(out_channels) if partials == "float" else ceil_div(out_channels, 2)
    each = 7 + pairs * dot_product(dtype, partials, in_channels)
    start = 13 if one_by_one else 19
    sums, times = work.by_round(lambda n: np.where(n > 0, start + n * each, 7))
    worker = 16 + times * (16 - kept + sums).sum(axis=0).max(axis=0)
    fixed = (58 if is_float else 65) - (10 if one_by_one else 0) + 6 * (9 if partials == "float" else 10) + 6 * kept
    return whole(fixed + cg * (23 + inp * (15 + out * (10 + WORKERS * worker))))


def vmac(
    positions: npt.ArrayLike,
    terms: npt.ArrayLike,
    in_groups: npt.ArrayLike,
    *,
    conv_groups: int = 4,
    partials: str = "float",
    groups: npt.ArrayLike = 1,
) -> Int64Array:
    """Tile cycles of ConvPartialVerticalMac on half activations, one input and output channel per convolution group:
    `conv_groups` (4, 8 or 16) at a time, `positions` of the tile, of which the longest worker adds up `terms` terms.

    T = 61 + 14 + 25 (+ 1 float partials) + cg (4 + ceil(E / (2 | 4)) + 32 + in (24 + 6 * longest worker)
        + 10 - f + (7 + 2 f + 5 (1 + f)) * ceil(E / 6) / conv_groups)
    E = positions * conv_groups; worker = 13 (8 groups) | 25 (16) + sum over positions of (7 + 15 + 3 + 3 (k - 1)) *
    (1 | 2), half partials only; 4 groups, and any number with float partials: 18 | 19 + sum of (7 + 3 | 5 + 3 +
    (2, or 3 per 8 groups) (k - 1)), half | float partials. k = terms of the position, f = 1 for float partials."""
    inp, cg, e = whole(in_groups), whole(groups), whole(positions) * conv_groups
    count = per_worker(positions)
    more = np.maximum(whole(terms) - count, 0)
    f = int(partials == "float")
    if conv_groups >= 8 and not f:
        blocks = conv_groups // 8
        start, spent = 13 if blocks == 1 else 25, (count * (7 + 15 + 3) + 3 * more) * blocks
    else:
        step = 2 if conv_groups < 8 else 3 * (conv_groups // 8)
        start, spent = 18 + f, count * (7 + 3 + 2 * f + 3) + step * more
    worker = start + spent
    zero = 4 + ceil_div(e, 2 if f else 4)
    reduce = 10 - f + (7 + 2 * f + 5 * (1 + f)) * per_worker(e) // conv_groups
    return whole(61 + 14 + 25 + f + cg * (zero + 32 + inp * (24 + WORKERS * worker) + reduce))


#: longest loop of a repeat instruction, and the stride that a paced store can make, in vectors
_REPEATS, _STRIDE = 4096, 512


def outer_product(dtype: str, width: npt.ArrayLike, channels: npt.ArrayLike, per_group: npt.ArrayLike) -> Int64Array:
    """Thread cycles of OuterProduct: `width` positions times `channels` output channels in groups of `per_group`.

    float: 25 + groups (11 + width (6 + (per_group - 6) / 2)) for even groups of at least 6, else a step of
    10 + 2 per_group; half: 25 + groups (10 + width (6 + (per_group - 12) / 4)) for groups of at least 12 that are
    multiples of 4, else 10 + 5 per_group / 2 rounded down."""
    width, group = whole(width), whole(per_group)
    count = whole(channels) // np.maximum(group, 1)
    lane, least, entry = (2, 6, 11) if dtype == "float" else (4, 12, 10)
    fast = (group >= least) & (group % lane == 0) & (group // lane - 3 < _REPEATS) & (group // lane + 1 < _STRIDE)
    slow = 10 + (group * 2 if dtype == "float" else group * 5 // 2)
    step = np.where(fast, 6 + (group - least) // lane, slow)
    return whole(25 + count * (entry + width * step))
