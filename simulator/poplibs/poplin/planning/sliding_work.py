"""The work of a tile whose vertex slides over kernel positions (n x 1, HMAC, VMAC): sizes and cycles, in columns.

A tile has a box of the output: a range of the batch and of each dimension of the field. Six workers share its rows
(`simulator.machine.cycles.worklist`); each kernel position is one round over the rows. Where the input is dilated, a
kernel position meets an input at every `output_step`-th output only: a round has that many rows and positions less
(the gradient of a convolution with a stride). The box reads activations beyond its borders (halo): its window is
`input_range` positions along each dimension. Work items in the padding count like others, as in PopLibs' planner, which
has no worklists yet when it plans.

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
from simulator.machine.cycles.rounding import ceil_div, per_worker, whole
from simulator.machine.cycles.worklist import ListedWork, deal
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams, Dtype
from simulator.poplibs.poplin.planning.machine import Machine
from simulator.poplibs.poplin.planning.methods import Method, candidates, hmac_candidates

FILTER_HEIGHTS = (1, 2, 4)


class Box(NamedTuple):
    """The outputs of a tile's box that one kernel position meets, one entry per candidate (or per tile)."""

    rows: Int64Array  #: of the innermost dimension, over the batch too
    width: Int64Array  #: positions of a row


def active_box(params: CanonicalConvParams, batch: Int64Array, sizes: list[Int64Array]) -> Box:
    """The box of `batch` images of these sizes along the field."""
    active = [ceil_div(size, params.output_step(dim)) for dim, size in enumerate(sizes)]
    return Box(batch * prod(active[:-1], start=np.ones_like(batch)), active[-1])


def sliding_methods(params: CanonicalConvParams, machine: Machine, partials: Dtype) -> Iterator[Method]:
    """The vertices that slide over a kernel: AMP with n rows of the kernel at a time, HMAC, VMAC."""
    wide = replace(params, in_channels=params.in_channels * prod(params.kernel))
    for method in candidates(wide, machine, partials):
        if method.name == "AMP":
            for height in FILTER_HEIGHTS:
                if height == 1 or params.kernel[0] >= height:
                    yield method._replace(in_group=convolution.IN_GROUP[params.dtype] // height)
        elif method.name == "VMAC":
            yield method
    yield from hmac_candidates(params, partials)


def filter_height(method: Method, dtype: Dtype) -> int:
    """Rows of the kernel that AMP works on at a time."""
    return convolution.IN_GROUP[dtype] // method.in_group if method.name == "AMP" else 1


def rounds_of(method: Method, dtype: Dtype, kernel: tuple[int, ...]) -> tuple[int, int, int]:
    """(kernel positions of the innermost dimension, those of the others, rows of the kernel at a time)."""
    height = filter_height(method, dtype)
    inner = kernel[-1] if len(kernel) > 1 else 1
    return inner, -(-prod(kernel) // inner // height), height


def sliding_cycles(
    method: Method,
    dtype: Dtype,
    kernel: tuple[int, ...],
    work: Box | ListedWork,
    groups: tuple[Int64Array, Int64Array, Int64Array],
    positions: Int64Array,
    wide_load: bool,
) -> Int64Array:
    """Tile cycles of the vertex; `groups` = blocks of convolution groups, groups of input and of output channels;
    `positions` = outputs of the box. `work`: the items of vertices that are built, else the box to share out."""
    cg, inp, out = groups
    if method.name == "AMP":
        inner, outer, height = rounds_of(method, dtype, kernel)
        return convolution.amp_nx1(
            dtype,
            deal(*work, rounds=inner * outer) if isinstance(work, Box) else work,
            inp,
            out,
            kernel_outer=outer,
            kernel_inner=inner,
            filter_height=height,
            units=method.units,
            partials=method.partials,
            groups=cg,
            interleaved_weights=wide_load,
        )
    if method.name == "VMAC":
        if isinstance(work, Box):
            terms = per_worker(work.rows * work.width) * prod(kernel)
        else:
            terms = work.by_round(whole)[0].sum(axis=0).max(axis=0)
        return multiply.vmac(positions, terms, inp, conv_groups=method.conv_group, partials=method.partials, groups=cg)
    return multiply.hmac(
        dtype,
        deal(*work, rounds=prod(kernel)) if isinstance(work, Box) else work,
        inp,
        out,
        in_channels=method.in_group,
        out_channels=method.out_group,
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
