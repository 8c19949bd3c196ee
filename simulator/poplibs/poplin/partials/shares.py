"""The part of a planned product that each tile computes in one pass.

Tiles are numbered (group, in, field, out), out fastest (PopLibs' order). With an even number of output shares the two
tiles of an exchange bus therefore receive the same activations. A share is a half-open range of whole groups; the last
share may be smaller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.poplibs.poplin.planning.plan import Plan


class Range(NamedTuple):
    """The share of every tile along one dimension."""

    number: Int64Array  #: of the share
    begin: Int64Array
    end: Int64Array

    @property
    def size(self) -> Int64Array:
        return self.end - self.begin


@dataclass(frozen=True)
class Shares:
    """One row per tile of the plan."""

    plan: Plan
    group: Range  #: blocks of convolution groups
    field: Range  #: positions
    inp: Range  #: groups of input channels
    out: Range  #: groups of output channels

    @property
    def tiles(self) -> Int64Array:
        return np.arange(len(self.field.number), dtype=np.int64)

    @property
    def runs(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The positions of each tile as runs: (offsets by tile, first position, positions)."""
        return np.arange(len(self.tiles) + 1, dtype=np.int64), self.field.begin, self.field.size

    @property
    def conv_groups(self) -> int:
        return self.plan.conv_groups

    @property
    def block(self) -> int:
        """Partial sums of one position and one group of output channels; they are adjacent in memory."""
        return self.plan.method.out_group * self.plan.method.conv_group

    @property
    def input_block(self) -> int:
        """Activations of one position and one group of input channels."""
        return self.plan.method.in_group * self.plan.method.conv_group

    @property
    def weight_block(self) -> int:
        """Weights of one kernel position, one group of output and one of input channels."""
        return self.plan.method.out_group * self.input_block

    def input_line(self, tile: Int64Array, step: Int64Array) -> Int64Array:
        """The number of the (conv group, in group) that each tile reads in each step."""
        group, inp = np.divmod(step, self.inp.size[tile])
        line = (self.group.begin[tile] + group) * self.plan.in_groups + self.inp.begin[tile] + inp
        return np.asarray(line)

    def weight_line(self, tile: Int64Array, step: Int64Array) -> Int64Array:
        """The number of the (conv group, out group, in group) whose weights each tile reads in each step."""
        rest, inp = np.divmod(step, self.inp.size[tile])
        group, out = np.divmod(rest, self.out.size[tile])
        line = (self.group.begin[tile] + group) * self.plan.out_groups + self.out.begin[tile] + out
        return np.asarray(line * self.plan.in_groups + self.inp.begin[tile] + inp)


def _range(index: Int64Array, parts: int, split: int) -> Range:
    size = -(-parts // split)
    return Range(index, index * size, np.minimum((index + 1) * size, parts))


def shares_of(plan: Plan) -> Shares:
    """The shares of every tile that the plan uses."""
    index = np.arange(plan.tiles, dtype=np.int64)
    rest, out = np.divmod(index, plan.out_split)
    rest, field = np.divmod(rest, plan.field_split)
    group, inp = np.divmod(rest, plan.in_split)
    return Shares(
        plan,
        _range(group, plan.conv_groups, plan.group_split),
        _range(field, plan.field, plan.field_split),
        _range(inp, plan.in_groups, plan.in_split),
        _range(out, plan.out_groups, plan.out_split),
    )


def nested(counts: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Rows of a nested loop, (outer index, inner index, offsets), where outer i has `counts[i]` inner steps."""
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    outer = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return outer, np.arange(len(outer), dtype=np.int64) - offsets[outer], offsets
