"""Worklists of a vertex that slides over a kernel: which outputs meet which inputs, by kernel position and worker.

A work item is (first output, outputs, first input), numbered within the tile's box and window. The outputs of an item
are `out_stride` apart, their inputs `in_stride`. The six workers share the rows as `simulator.machine.cycles.worklist`
says. Where the input is dilated by d, the box falls into blocks of d x d outputs, of which a kernel position meets one
each: the workers share these blocks, as in PopLibs, so that each has its part of every kernel position. Items leave out
inputs that are padding, so padding costs no cycles."""

from __future__ import annotations

from math import gcd, prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.cycles.rounding import WORKERS, ceil_div
from simulator.machine.cycles.worklist import ListedWork
from simulator.poplibs.poplin.convolutions.sliding_shares import Geometry, SlidingShares, geometry
from simulator.poplibs.poplin.partials.shares import nested


class WorkItems(NamedTuple):
    """One entry per item, sorted by tile, kernel position, worker."""

    tile: Int64Array
    kernel: Int64Array
    worker: Int64Array
    first_output: Int64Array
    outputs: Int64Array
    first_input: Int64Array

    def outputs_by_tile(self, tiles: int) -> Int64Array:
        """Outputs of all items of each tile: one for each kernel element that they meet."""
        return np.bincount(self.tile, weights=self.outputs, minlength=tiles).astype(np.int64)

    def listed(self, tiles: int, kernels: int, inner: int, height: int) -> ListedWork:
        """The items as cycle formulas read them."""
        return ListedWork(self.tile, self.kernel, self.worker, self.outputs, tiles, kernels, inner, height)


class _Pieces(NamedTuple):
    """Parts of rows of blocks: tile, worker, place of the first row of the blocks (batch and outer dimensions, in the
    whole output), their outputs [begin, end)."""

    tile: Int64Array
    worker: Int64Array
    outer: list[Int64Array]
    begin: Int64Array
    end: Int64Array


def strides(one: Geometry) -> tuple[int, int]:
    """(outputs, inputs): the distance between the elements of a work item."""
    common = gcd(one.stride, one.input_dilation)
    return one.input_dilation // common, one.stride // common


def work_items(shares: SlidingShares) -> WorkItems:
    """The items of all tiles. Tiles with the same box have equal items."""
    params = shares.plan.params
    shapes = geometry(params)
    pieces = _share_rows(shares)
    positions = np.indices(params.kernel).reshape(len(params.kernel), -1)
    n, kernels = len(pieces.tile), prod(params.kernel)
    piece = np.tile(np.arange(n), kernels)
    number = np.repeat(np.arange(kernels), n)
    tile = pieces.tile[piece]
    line = row = (pieces.outer[0] - shares.box[0].begin[pieces.tile])[piece]
    valid = np.ones(len(piece), np.bool_)
    for dim, one in enumerate(shapes[:-1]):
        shift = positions[dim][number] * one.kernel_dilation + one.base
        output = _first_meeting(one, shift, pieces.outer[1 + dim][piece])
        index = (output * one.stride + shift) // one.input_dilation
        own, box = shares.window[1 + dim], shares.box[1 + dim]
        valid &= (output < box.end[tile]) & (index >= 0) & (index < one.size)
        line = line * own.size[tile] + index - own.begin[tile]
        row = row * box.size[tile] + output - box.begin[tile]
    one, own = shapes[-1], shares.window[-1]
    shift = positions[-1][number] * one.kernel_dilation + one.base
    first, count = _meeting_outputs(one, shift, pieces.begin[piece], pieces.end[piece])
    valid &= count > 0
    source = (first * one.stride + shift) // one.input_dilation - own.begin[tile]
    target = row * shares.box[-1].size[tile] + first - shares.box[-1].begin[tile]
    columns = (tile, number, pieces.worker[piece], target, count, line * own.size[tile] + source)
    nonempty = [column[valid] for column in columns]
    order = np.lexsort((nonempty[3], nonempty[2], nonempty[1], nonempty[0]))
    return WorkItems(*(column[order] for column in nonempty))


def _meeting_outputs(
    one: Geometry, shift: Int64Array, begin: Int64Array, end: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """(first, count) of the outputs in [begin, end) that meet an element of the input."""
    out_stride, _ = strides(one)
    first = _first_meeting(one, shift, np.maximum(begin, -(shift // one.stride)))
    high = np.minimum(end - 1, ((one.size - 1) * one.input_dilation - shift) // one.stride)
    return first, np.maximum((high - first) // out_stride + 1, 0)


def _first_meeting(one: Geometry, shift: Int64Array, begin: Int64Array) -> Int64Array:
    """The first output from `begin` on at which an input may be; a large number where there is none."""
    first = np.full_like(begin, np.iinfo(np.int64).max // 4)
    for step in reversed(range(strides(one)[0])):
        here = begin + step
        first = np.where((here * one.stride + shift) % one.input_dilation == 0, here, first)
    return first


def _share_rows(shares: SlidingShares) -> _Pieces:
    """The rows of blocks of each box in parts for six workers."""
    *outer, inner = shares.box
    steps = [1, *(strides(one)[0] for one in geometry(shares.plan.params))]
    blocks = [ceil_div(part.size, step) for part, step in zip(shares.box, steps, strict=True)]
    rows = prod(blocks[:-1], start=np.ones_like(inner.begin))
    width, step_along = blocks[-1], steps[-1]
    parts = WORKERS // np.gcd(rows, WORKERS)
    share = rows * parts // WORKERS
    tile, row, _ = nested(rows)
    of = share[tile]
    first = row * parts[tile] // of
    count = ((row + 1) * parts[tile] - 1) // of - first + 1
    line, step, _ = nested(count)
    tile, row, worker = tile[line], row[line], first[line] + step
    low = np.maximum(worker * share[tile], row * parts[tile]) - row * parts[tile]
    high = np.minimum((worker + 1) * share[tile], (row + 1) * parts[tile]) - row * parts[tile]
    begin = inner.begin[tile] + low * width[tile] // parts[tile] * step_along
    end = np.minimum(inner.begin[tile] + high * width[tile] // parts[tile] * step_along, inner.end[tile])
    places: list[Int64Array] = []
    left = row
    for part, count, apart in zip(reversed(outer), reversed(blocks[:-1]), reversed(steps[:-1]), strict=True):
        left, here = np.divmod(left, count[tile])
        places.insert(0, part.begin[tile] + here * apart)
    return _Pieces(tile, worker, places, begin, end)
