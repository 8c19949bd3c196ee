"""The box of the output, and the window of the input, that each tile of a sliding plan works on.

The output has positions [batch, field], numbered row by row. A tile's box is a range of the batch and of each dimension
of the field. Its window is the part of the input that the box reads through the kernel, clipped to the input: no work
item reads padding."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.poplibs.poplin.partials.shares import Range, Shares, nested, shares_of
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.planning.plan import Plan


@dataclass(frozen=True)
class SlidingShares(Shares):
    """`box` and `window`: a range of the batch and of each dimension of the field, of output and input, for each tile.
    `owned`: the part of the input that the tiles of a box hold, which is its window less the window of the box before.
    """

    box: tuple[Range, ...]
    window: tuple[Range, ...]
    owned: tuple[Range, ...]

    @property
    def runs(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The rows of each tile's box: (offsets by tile, first position, positions)."""
        sizes = (self.plan.params.batch, *self.plan.params.output_field)
        return rows_of(self.box, sizes)


class Geometry(NamedTuple):
    """Which input element an output and a kernel element meet, along one dimension."""

    stride: int
    kernel_dilation: int
    input_dilation: int
    base: int
    size: int  #: of the input
    kernel: int

    def window(self, begin: Int64Array, end: Int64Array) -> tuple[Int64Array, Int64Array]:
        """The input elements that outputs [begin, end) read; at least one, even where all inputs are padding."""
        low = begin * self.stride + self.base
        high = (end - 1) * self.stride + self.base + (self.kernel - 1) * self.kernel_dilation
        first = np.clip(-(-low // self.input_dilation), 0, self.size - 1)
        last = np.clip(high // self.input_dilation, 0, self.size - 1)
        return first, np.maximum(last, first) + 1


def geometry(params: CanonicalConvParams) -> list[Geometry]:
    """The geometry of each dimension of the field."""
    ones, zeros = (1,) * len(params.field), (0,) * len(params.field)
    return [
        Geometry(*values)
        for values in zip(
            params.stride or ones,
            params.kernel_dilation or ones,
            params.input_dilation or ones,
            (-p for p in params.padding_lower or zeros),
            params.field,
            params.kernel,
            strict=True,
        )
    ]


def sliding_shares(plan: Plan) -> SlidingShares:
    """The shares of every tile of a sliding plan."""
    params = plan.params
    flat = shares_of(plan)
    indices = np.unravel_index(flat.field.number, plan.field_splits)
    sizes = (params.batch, *params.output_field)
    box = []
    for index, size, split in zip(indices, sizes, plan.field_splits, strict=True):
        step = -(-size // split)
        at = np.asarray(index, np.int64)
        box.append(Range(at, at * step, np.minimum((at + 1) * step, size)))
    window, owned = [box[0]], [box[0]]
    for part, one in zip(box[1:], geometry(params), strict=True):
        begin, end = one.window(part.begin, part.end)
        window.append(Range(part.number, begin, end))
        owned.append(_owned(part.number, begin, one.size))
    return SlidingShares(plan, flat.group, flat.field, flat.inp, flat.out, tuple(box), tuple(window), tuple(owned))


def _owned(index: Int64Array, begin: Int64Array, size: int) -> Range:
    """From the start of a window to the start of the next; together all of the input."""
    count = int(index.max(initial=0)) + 1
    starts = np.zeros(count + 1, np.int64)
    starts[index] = begin
    starts[0], starts[count] = 0, size
    starts = np.maximum.accumulate(starts)
    return Range(index, starts[index], starts[index + 1])


def rows_of(ranges: tuple[Range, ...], sizes: tuple[int, ...]) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Boxes in an array of shape `sizes` as runs of its innermost dimension: (offsets, first element, elements)."""
    outer = ranges[:-1]
    count = prod((r.size for r in outer), start=np.ones_like(ranges[-1].begin))
    owner, step, offsets = nested(np.where(ranges[-1].size > 0, count, 0))
    place = np.zeros_like(owner)
    scale = 1
    for axis in reversed(range(len(outer))):
        part = outer[axis]
        step, here = np.divmod(step, np.maximum(part.size[owner], 1))
        place += (part.begin[owner] + here) * scale
        scale *= sizes[axis]
    return offsets, place * sizes[-1] + ranges[-1].begin[owner], ranges[-1].size[owner]
