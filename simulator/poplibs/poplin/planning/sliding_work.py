"""The work of a tile whose vertex slides over kernel positions (n x 1, HMAC, VMAC): sizes and cycles, in columns.

A tile has a box of the output: a range of the batch and of each dimension of the field. Six workers share its rows
(`simulator.machine.cycles.worklist`); each kernel position is one round over the rows. The box reads activations beyond
its borders (halo): its window is `input_range` positions along each dimension. Work items in the padding count like
others, as in PopLibs' planner, which has no worklists yet when it plans.

AMP n x 1: a unit holds the weights of a group of IN_GROUP channels. With fewer input channels it holds n = IN_GROUP /
channels rows of the kernel at a time (PopLibs' planner; n = 1, 2, 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.cycles import convolution, multiply
from simulator.machine.cycles.rounding import ceil_div
from simulator.machine.cycles.worklist import deal
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams, Dtype
from simulator.poplibs.poplin.planning.methods import Method, candidates

FILTER_HEIGHTS = (1, 2, 4)


class Box(NamedTuple):
    """The output box of a tile, one entry per candidate (or per tile)."""

    rows: Int64Array  #: of the innermost dimension, over the batch too
    width: Int64Array  #: positions of a row


def sliding_methods(params: CanonicalConvParams, units: int, partials: Dtype) -> Iterator[Method]:
    """The vertices that slide over a kernel: AMP with n rows of the kernel at a time, HMAC, VMAC."""
    wide = replace(params, in_channels=params.in_channels * prod(params.kernel))
    for method in candidates(wide, units, partials):
        if method.name == "AMP":
            for height in FILTER_HEIGHTS:
                if height == 1 or params.kernel[0] >= height:
                    yield method._replace(in_group=convolution.IN_GROUP[params.dtype] // height)
        elif method.name == "VMAC":
            yield method
    yield from (m for m in candidates(params, 0, partials) if m.name == "HMAC")


def filter_height(method: Method, dtype: Dtype) -> int:
    """Rows of the kernel that AMP works on at a time."""
    return convolution.IN_GROUP[dtype] // method.in_group if method.name == "AMP" else 1


def sliding_cycles(
    method: Method,
    dtype: Dtype,
    kernel: tuple[int, ...],
    box: Box,
    groups: tuple[Int64Array, Int64Array, Int64Array],
    wide_load: bool,
) -> Int64Array:
    """Tile cycles of the vertex; `groups` = blocks of convolution groups, groups of input and of output channels."""
    cg, inp, out = groups
    if method.name == "AMP":
        height = filter_height(method, dtype)
        inner = kernel[-1] if len(kernel) > 1 else 1
        return convolution.amp_nx1(
            dtype,
            deal(*box),
            inp,
            out,
            kernel_outer=-(-prod(kernel) // inner // height),
            kernel_inner=inner,
            filter_height=height,
            units=method.units,
            partials=method.partials,
            groups=cg,
            interleaved_weights=wide_load,
        )
    if method.name == "VMAC":
        positions = box.rows * box.width
        return multiply.vmac(
            deal(positions, np.ones_like(positions)),
            inp,
            positions * method.conv_group,
            conv_groups=method.conv_group,
            kernel=prod(kernel),
            partials=method.partials,
            groups=cg,
        )
    return multiply.hmac(
        dtype,
        deal(*box),
        inp,
        out,
        in_channels=method.in_group,
        out_channels=method.out_group,
        kernel=prod(kernel),
        partials=method.partials,
        groups=cg,
    )


def largest(parts: int, splits: Int64Array) -> Int64Array:
    """The size of the largest share when `parts` are cut into `splits` shares."""
    return ceil_div(parts, splits)


def window(params: CanonicalConvParams, dim: int, positions: Int64Array) -> Int64Array:
    """Activations along one dimension that this many adjacent outputs read through the whole kernel."""
    table = np.unique(positions)
    sizes = np.array([params.input_range(dim, int(n), params.kernel[dim]) for n in table], np.int64)
    return np.asarray(sizes[np.searchsorted(table, positions)])
