"""How a matrix product is divided over tiles: the cheapest split under PopLibs' published objective.

[M, K] x [K, N] is a 1x1 convolution: a *field* of positions, K input channels in groups, output channels in groups of
the convolution units. Field = rows of A and output channels = columns of B, or the operands swapped. A split
(field, in, out) gives each tile one share of each; the tiles that share an output position add their partial sums
afterwards. Every split is costed at once, in arrays, by

    total = input exchange + weights exchange + partials (AMP vertex) + reduce exchange + reduce

and the least total wins; equal totals go to fewer tiles, then to operands not swapped. Sources: published-numbers 7.5
(vertex), 7.4 (reduction), 7.7 (exchange: 4 bytes a cycle, 8 when the two tiles of a shared bus receive the same, so
the activations take 8 exactly when the out split, whose index runs fastest over tiles, is even). The real planner's
further terms (transforms, serial splits, other vertex kinds) are not searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.machine.cycles.convolution import IN_GROUP, amp_1x1
from simulator.machine.cycles.reduction import strided
from simulator.machine.cycles.rounding import WORKERS

I8 = npt.NDArray[np.int64]
B1 = npt.NDArray[np.bool_]

ELEMENT_BYTES = {"float": 4, "half": 2}


class Machine(NamedTuple):
    """What the planner needs to know of a target."""

    tiles: int
    bytes_per_tile: int
    unit_counts: tuple[int, ...]  #: numbers of convolution units that a vertex can use
    exchange_bytes: int = 4  #: per cycle and tile
    tiles_per_bus: int = 2
    memory_proportion: float = 0.6  #: share of a tile that inputs and partials may take


@dataclass(frozen=True)
class MatMulPlan:
    """One split and its cost. Cycles are estimates of the planner, not of the compiled program."""

    swapped: bool
    field: int  #: positions in all
    in_channels: int
    out_channels: int
    units: int  #: output channels of a group
    in_group: int  #: input channels of a group
    field_split: int
    in_split: int
    out_split: int
    input_exchange: int
    weights_exchange: int
    partials: int
    reduce_exchange: int
    reduce: int
    temporary_bytes: int  #: per tile: inputs, weights and partials at once
    fits: bool  #: temporary bytes within the proportion of tile memory

    @property
    def total(self) -> int:
        """Cycles of all terms."""
        return self.input_exchange + self.weights_exchange + self.partials + self.reduce_exchange + self.reduce

    @property
    def tiles(self) -> int:
        return self.field_split * self.in_split * self.out_split

    def describe(self) -> str:
        """The chosen split and its cost terms, one per line."""
        lines = [
            f"split field x in x out = {self.field_split} x {self.in_split} x {self.out_split} on {self.tiles} tiles"
            + (", operands swapped" if self.swapped else ""),
            f"AMP vertex with {self.units} convolution units, input groups of {self.in_group} channels",
            f"temporary memory {self.temporary_bytes:,} B per tile"
            + ("" if self.fits else " (more than the allowed proportion: nothing cheaper fits)"),
        ]
        terms = ("input_exchange", "weights_exchange", "partials", "reduce_exchange", "reduce", "total")
        return "\n".join(lines + [f"{term.replace('_', ' ')}: {getattr(self, term):,} cycles" for term in terms])


def _splits(parts: int) -> I8:
    """The numbers of shares worth trying for `parts` grains: one for each possible size of the largest share."""
    sizes = np.arange(1, parts + 1)
    return np.unique(-(-parts // sizes)).astype(np.int64)


def _candidates(parts: tuple[int, int, int], tiles: int) -> tuple[I8, I8, I8]:
    """All (field, in, out) splits that use at most `tiles` tiles, as three columns."""
    field, inp, out = (_splits(n)[_splits(n) <= tiles] for n in parts)
    pairs = inp[:, None] * out[None, :]
    i, o = np.nonzero(pairs <= tiles)
    fits = field[None, :] * pairs[i, o][:, None] <= tiles
    pair, f = np.nonzero(fits)
    return field[f], inp[i[pair]], out[o[pair]]


def _reduce_cycles(dtype: str, outputs: I8, in_split: I8) -> I8:
    """Tile cycles to add `in_split` partials for the outputs of a tile, dealt evenly to six workers (the step itself
    keeps the channels of a position together); 0 without a split."""
    share = -(-outputs // WORKERS)
    return np.where(in_split > 1, WORKERS * strided("ADD", dtype, share, in_split), 0)


def _cost_columns(
    dtype: str, sizes: tuple[int, int, int], units: int, machine: Machine
) -> tuple[tuple[I8, I8, I8], dict[str, I8]]:
    field, inp, out = sizes
    element = ELEMENT_BYTES[dtype]
    in_groups, out_groups = -(-inp // IN_GROUP[dtype]), -(-out // units)
    splits = _candidates((field, in_groups, out_groups), machine.tiles)
    f, i, o = splits
    rows, ig, og = -(-field // f), -(-in_groups // i), -(-out_groups // o)
    acts, weights = rows * ig * IN_GROUP[dtype] * element, ig * IN_GROUP[dtype] * og * units * element
    partial_bytes = rows * og * units * 4
    outputs = -(-rows * og * units // i)
    bandwidth = machine.exchange_bytes
    doubled = (o > 1) & (o % machine.tiles_per_bus == 0)
    weights_doubled = (o == 1) & (f > 1) & (f % machine.tiles_per_bus == 0)
    columns = {
        "input_exchange": -(-acts // np.where(doubled, 2 * bandwidth, bandwidth)),
        "weights_exchange": -(-weights // np.where(weights_doubled, 2 * bandwidth, bandwidth)),
        "partials": amp_1x1(dtype, rows, ig, og, units=units),
        "reduce_exchange": np.where(i > 1, -(-outputs * i * 4 // bandwidth), 0),
        "reduce": _reduce_cycles("float", outputs, i),
        "temporary_bytes": acts + weights + partial_bytes,
    }
    return splits, columns


_TERMS = ("input_exchange", "weights_exchange", "partials", "reduce_exchange", "reduce")


def _best(dtype: str, m: int, k: int, n: int, swapped: bool, units: int, machine: Machine) -> MatMulPlan:
    sizes = (n, k, m) if swapped else (m, k, n)
    (f, i, o), columns = _cost_columns(dtype, sizes, units, machine)
    memory = columns["temporary_bytes"]
    limit = int(machine.memory_proportion * machine.bytes_per_tile)
    fits = memory <= limit
    total = sum((columns[term] for term in _TERMS), np.zeros(len(f), np.int64))
    # Where nothing fits, the least memory is the best that can be done.
    order = np.lexsort((f * i * o, total)) if fits.any() else np.lexsort((total, memory))
    row = int(order[fits[order]][0]) if fits.any() else int(order[0])
    return MatMulPlan(
        swapped=swapped,
        field=sizes[0],
        in_channels=sizes[1],
        out_channels=sizes[2],
        units=units,
        in_group=IN_GROUP[dtype],
        field_split=int(f[row]),
        in_split=int(i[row]),
        out_split=int(o[row]),
        fits=bool(fits[row]),
        **{name: int(column[row]) for name, column in columns.items()},
    )


@lru_cache(maxsize=1024)
def plan_matmul(dtype: str, m: int, k: int, n: int, machine: Machine) -> MatMulPlan:
    """The cheapest plan of [m, k] x [k, n] with elements of `dtype` ("float" or "half").

    Raises ValueError for an empty operand or another element type."""
    if dtype not in ELEMENT_BYTES:
        raise ValueError(f"matMul of {dtype}: only FLOAT and HALF have convolution units; cast the operands")
    if min(m, k, n) < 1:
        raise ValueError(f"matMul of [{m}, {k}] x [{k}, {n}]: every dimension must be at least 1")
    plans = [
        _best(dtype, m, k, n, swapped, units, machine) for swapped in (False, True) for units in machine.unit_counts
    ]
    return min(plans, key=lambda p: (not p.fits, p.temporary_bytes if not p.fits else p.total, p.tiles, p.swapped))
