"""Which part of a planned product each tile works on.

Tiles are numbered (field, in, out) with out running fastest, so that the two tiles of an exchange bus receive the same
activations whenever the out split is even. A share of parts is a half-open range; the last may be smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.poplibs.poplin.planner import MatMulPlan

I8 = npt.NDArray[np.int64]


def ranges(parts: int, split: int) -> tuple[I8, I8]:
    """(begins, ends) of `split` shares of `parts` parts, all of the same size but the last."""
    size = -(-parts // split)
    begins = np.arange(split, dtype=np.int64) * size
    return begins, np.minimum(begins + size, parts)


@dataclass(frozen=True)
class Shares:
    """One row per tile of the plan: its ranges of positions, input groups and output groups."""

    plan: MatMulPlan
    in_groups: int
    out_groups: int
    field_index: I8
    in_index: I8
    out_index: I8
    field_begin: I8
    field_end: I8
    in_begin: I8
    in_end: I8
    out_begin: I8
    out_end: I8

    @property
    def tiles(self) -> I8:
        return np.arange(len(self.field_index), dtype=np.int64)

    @property
    def rows(self) -> I8:
        """Positions of each tile."""
        return self.field_end - self.field_begin


def shares_of(plan: MatMulPlan) -> Shares:
    """The shares of every tile that the plan uses."""
    in_groups, out_groups = -(-plan.in_channels // plan.in_group), -(-plan.out_channels // plan.units)
    index = np.arange(plan.tiles, dtype=np.int64)
    f, rest = np.divmod(index, plan.in_split * plan.out_split)
    i, o = np.divmod(rest, plan.out_split)
    field, inp, out = (
        ranges(parts, split)
        for parts, split in (
            (plan.field, plan.field_split),
            (in_groups, plan.in_split),
            (out_groups, plan.out_split),
        )
    )
    return Shares(
        plan, in_groups, out_groups, f, i, o, field[0][f], field[1][f], inp[0][i], inp[1][i], out[0][o], out[1][o]
    )


def nested(counts: I8) -> tuple[I8, I8, I8]:
    """Rows of a nested loop: (outer index, inner index, offsets) when outer i has `counts[i]` inner steps."""
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    outer = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return outer, np.arange(len(outer), dtype=np.int64) - offsets[outer], offsets
