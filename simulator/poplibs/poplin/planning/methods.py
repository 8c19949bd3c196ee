"""The vertex kinds that can compute the partial sums of a convolution, and their cycles on one tile.

Rules (poplar-model 10, PopLibs' public planner):

- AMP: input channels in groups of 16 halves or 8 floats, output channels in groups of 16 or 8 convolution units; only
  for types that the chip's units take.
- HMAC: no units; a group of input channels of any size (even for halves), one output channel at a time (two for half
  partial sums).
- VMAC: halves; 4 convolution groups side by side (also 8 or 16 for half partial sums), one input and one output channel
  of each.
- OuterProduct: one input channel in all, output channels in groups of a vector, partial sums in the type of the inputs.

SLIC slides over kernel positions and is no choice for a kernel of one position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.machine.cycles import convolution, multiply
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, vector_width
from simulator.machine.cycles.worklist import deal
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams, Dtype
from simulator.poplibs.poplin.planning.machine import Machine

MethodName = Literal["AMP", "HMAC", "VMAC", "OUTER_PRODUCT", "POOLING"]  # pooling divides its work like a convolution
METHODS: tuple[MethodName, ...] = ("AMP", "HMAC", "VMAC", "OUTER_PRODUCT")


class Method(NamedTuple):
    """A vertex kind with its groups of channels."""

    name: MethodName
    partials: Dtype  #: type of the partial sums it writes
    conv_group: int  #: convolution groups side by side
    in_group: int  #: input channels of a group
    out_group: int  #: output channels of a group
    units: int = 0  #: convolution units, AMP only

    @property
    def label(self) -> str:
        units = f" with {self.units} convolution units" if self.units else ""
        side = f", {self.conv_group} convolution groups side by side" if self.conv_group > 1 else ""
        return (
            f"{self.name} vertex{units}, groups of {self.in_group} input and {self.out_group} output channels{side}, "
            f"{self.partials} partial sums"
        )


class TileWork(NamedTuple):
    """The work of one tile, one entry per candidate: positions, and channels in groups of the method."""

    conv_groups: Int64Array
    positions: Int64Array
    in_groups: Int64Array
    out_groups: Int64Array


def candidates(params: CanonicalConvParams, machine: Machine, partials: Dtype) -> Iterator[Method]:
    """The methods possible for a pointwise convolution on a machine.

    Partial sums are no wider than needed: a product whose input channels fit one AMP group writes the type of the
    output."""
    group = convolution.IN_GROUP[params.dtype]
    one_piece = params.in_channels <= group and params.out_dtype == "half" == params.dtype
    written = params.out_dtype if one_piece else partials
    units = machine.units(params.dtype, written)
    for count in sorted({n for n in (8, 16) if n <= units}, reverse=True):
        if params.dtype == "half" or partials == "float":
            yield Method("AMP", written, 1, group, count, count)
    yield from hmac_candidates(params, partials)
    if params.dtype == "half":
        for side in (4, *((8, 16) if partials == "half" else ())):
            yield Method("VMAC", partials, side, 1, 1)
    if params.in_channels == 1:
        yield Method("OUTER_PRODUCT", params.dtype, 1, 1, vector_width(params.dtype))


#: largest number of HMAC group sizes to try
_HMAC_SIZES = 32


def hmac_candidates(params: CanonicalConvParams, partials: Dtype) -> Iterator[Method]:
    """One candidate for each number of input groups: the smallest group that gives it. Where there are too many, take
    sizes in even proportion; their costs differ little."""
    partials = partials if params.dtype == "half" else "float"
    grain = 1 if params.dtype == "float" else 2
    channels = -(-params.in_channels // grain)
    sizes = np.unique(-(-channels // np.arange(1, channels + 1)))
    if len(sizes) > _HMAC_SIZES:
        wanted = np.geomspace(1, channels, _HMAC_SIZES)
        sizes = np.unique(sizes[np.minimum(np.searchsorted(sizes, wanted), len(sizes) - 1)])
    for size in sizes[::-1].tolist():
        yield Method("HMAC", partials, 1, size * grain, 1 if partials == "float" else 2)


def peak_macs(method: Method, dtype: Dtype) -> float:
    """The largest number of multiply-accumulates per tile and cycle. HMAC spends at least four further cycles on each
    dot product."""
    width = vector_width(dtype)
    if method.name == "HMAC":
        return 1 / (1 / width + 4 / method.in_group)
    return float(width * (method.units if method.name == "AMP" else 1))


def partial_cycles(method: Method, dtype: Dtype, work: TileWork, wide_load: bool) -> Int64Array:
    """Tile cycles of the vertex (for an outer product, of the vertices of the six workers).

    `wide_load`: AMP loads its weights at 16 bytes a cycle from interleaved memory, else at 8 (use128BitConvUnitLoad).
    """
    cg, rows, inp, out = work
    if method.name == "AMP":
        return convolution.amp_1x1(
            dtype,
            rows,
            inp,
            out,
            units=method.units,
            partials=method.partials,
            groups=cg,
            interleaved_weights=wide_load,
        )
    if method.name == "OUTER_PRODUCT":
        channels = out * method.out_group * cg
        return WORKERS * multiply.outer_product(dtype, per_worker(rows), channels, method.out_group)
    if method.name == "VMAC":
        return multiply.vmac(
            rows, per_worker(rows), inp, conv_groups=method.conv_group, partials=method.partials, groups=cg
        )
    return multiply.hmac(
        dtype,
        deal(np.ones_like(rows), rows),
        inp,
        out,
        in_channels=method.in_group,
        out_channels=method.out_group,
        partials=method.partials,
        groups=cg,
        one_by_one=True,
    )


def groups_of(total: int, group: int) -> int:
    """The number of groups in `total` channels; the last may be padded."""
    return int(ceil_div(total, group))
