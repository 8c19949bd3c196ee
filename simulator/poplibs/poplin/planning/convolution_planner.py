"""Search for the cheapest way to divide a convolution with a kernel over tiles.

The same objective costs two forms, and the cheaper one wins (of equal ones the one on fewer tiles):

- *expanded*: each kernel position becomes input channels (PopLibs' expandDims). What remains is a matrix product of
  [positions, kernel x input channels] for `product_planner`. Activations are copied once for each kernel position.
- *sliding*: the output is cut into boxes and a vertex slides over the kernel (n x 1, HMAC, VMAC: `sliding_work`),
  reading its activations with their halo. It has no serial passes.
- *in parts*: the same, with rows of the kernel in parts that are input channels (PopLibs' kernelSplit), so that tiles
  share the kernel. Tried where a kernel is larger than the output and VMAC takes groups side by side: the gradient of
  depthwise weights. Elsewhere the expanded form shares out kernel positions.

A convolution by a kernel of one position without padding, stride or dilation is a matrix product. PopLibs' planner has
more forms, which are not searched here: single dimensions expanded, output channels flattened, SLIC, Winograd. A plan
found here is therefore never cheaper than the one that PopLibs would find.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams, Dtype
from simulator.poplibs.poplin.planning.machine import Machine
from simulator.poplibs.poplin.planning.methods import Method, TileWork, groups_of, peak_macs
from simulator.poplibs.poplin.planning.objective import Share, cost_columns, temporary_bytes
from simulator.poplibs.poplin.planning.plan import Plan, cheapest_first, plan_of_candidate
from simulator.poplibs.poplin.planning.product_planner import FREE, Constraints, Search
from simulator.poplibs.poplin.planning.sliding_work import (
    Box,
    active_box,
    largest,
    sliding_cycles,
    sliding_methods,
    window,
)
from simulator.poplibs.poplin.planning.splits import Splits, enumerate_splits
from simulator.poplibs.poplin.planning.transform_costs import Transforms

Form = Literal["pointwise", "expanded", "sliding", "in parts"]

#: groups that the smallest VMAC vertex takes side by side
_LEAST_SIDE = 4
#: largest value of a 16-bit entry of a worklist
_LARGEST_OFFSET = 65_535
#: bytes of one work item of a worklist: kernel position, first output, outputs, first input
ITEM_BYTES = 8


class ConvPlan(NamedTuple):
    """A plan with the form of its convolution."""

    form: Form
    plan: Plan

    def describe(self) -> str:
        told = {
            "pointwise": "as it is",
            "expanded": "kernel as input channels",
            "sliding": "vertex slides over kernel",
            "in parts": "vertex slides over parts of the kernel",
        }
        return f"convolution {told[self.form]}\n{self.plan.describe()}"


def expanded(params: CanonicalConvParams) -> CanonicalConvParams:
    """The convolution with kernel positions as input channels and all positions in one row."""
    return CanonicalConvParams(
        params.dtype,
        params.out_dtype,
        params.groups,
        1,
        (params.positions,),
        (1,),
        params.in_channels * prod(params.kernel),
        params.out_channels,
    )


def in_parts(params: CanonicalConvParams, rows: int) -> CanonicalConvParams:
    """The convolution with `rows` rows of the kernel in each part, and the parts as input channels. Each part reads
    activations of its own, padded along the rows."""
    first = (params.output_field[0] - 1) * params.first(params.stride) + 1
    reach = first + (rows - 1) * params.first(params.kernel_dilation)

    def without_padding(values: tuple[int, ...]) -> tuple[int, ...]:
        return (0, *values[1:]) if values else values

    return replace(
        params,
        field=(reach, *params.field[1:]),
        kernel=(rows, *params.kernel[1:]),
        in_channels=params.in_channels * (params.kernel[0] // rows),
        padding_lower=without_padding(params.padding_lower),
        padding_upper=without_padding(params.padding_upper),
    )


@lru_cache(maxsize=512)
def plan_convolution(
    params: CanonicalConvParams,
    machine: Machine,
    partials: Dtype = "float",
    constraints: Constraints = FREE,
    form: Form | None = None,
) -> ConvPlan:
    """The cheapest plan, of one `form` only where given. Raises ValueError where no plan meets the constraints."""
    if params.pointwise:
        best = Search(params.flattened(), machine, partials, constraints, Transforms(False, matmul=False)).run()
        if best is None:
            raise ValueError(f"no plan of the convolution meets the plan constraints {constraints}")
        return ConvPlan("pointwise", best)
    found = []
    if form in (None, "expanded"):
        flat = expanded(params)
        plan = Search(flat, machine, partials, constraints, Transforms(False, matmul=False, expanded=True)).run()
        found += [] if plan is None else [ConvPlan("expanded", plan)]
    if form in (None, "sliding"):
        bound = found[0].plan.total if found and found[0].plan.fits else float("inf")
        sliding = _sliding_plan(params, machine, partials, constraints, bound)
        found += [] if sliding is None else [ConvPlan("sliding", sliding)]
    if form in (None, "in parts"):
        bound = min((one.plan.total for one in found if one.plan.fits), default=float("inf"))
        parts = _plan_in_parts(params, machine, partials, constraints, bound)
        found += [] if parts is None else [ConvPlan("in parts", parts)]
    if not found:
        raise ValueError(f"no plan of the convolution meets the plan constraints {constraints}")
    return min(found, key=lambda p: (not p.plan.fits, p.plan.total, p.plan.tiles))


def _plan_in_parts(
    params: CanonicalConvParams, machine: Machine, partials: Dtype, constraints: Constraints, bound: float
) -> Plan | None:
    """The cheapest plan of the form in parts that takes at most `bound` cycles."""
    taken = constraints._replace(method=constraints.method or "VMAC")
    side_by_side = params.dtype == "half" and params.groups % _LEAST_SIDE == 0 and taken.method == "VMAC"
    dilated = params.first(params.input_dilation) > 1
    if not side_by_side or dilated or prod(params.kernel) <= prod(params.output_field):
        return None
    best: Plan | None = None
    # Equal parts: a last one with fewer rows would be padded.
    for rows in (n for n in range(params.kernel[0] // 2, 0, -1) if params.kernel[0] % n == 0):
        plan = _sliding_plan(in_parts(params, rows), machine, partials, taken, bound)
        if plan is not None and plan.fits and plan.total < bound:
            best, bound = plan, plan.total
    return best


def _sliding_plan(
    params: CanonicalConvParams, machine: Machine, partials: Dtype, constraints: Constraints, bound: float
) -> Plan | None:
    """The cheapest plan of the sliding form that takes at most `bound` cycles."""
    best: Plan | None = None
    methods = sliding_methods(params, machine, partials)
    for method in sorted(methods, key=lambda m: -_rate(params, m)):
        if constraints.method not in (None, method.name) or constraints.swapped:
            continue
        limit = min(bound, best.total if best is not None and best.fits else float("inf"))
        if params.macs / params.output_steps / (peak_macs(method, params.dtype) * machine.tiles) > limit:
            continue
        plan = _best_split(params, method, machine, constraints, limit)
        if plan is not None and (best is None or (not plan.fits, plan.total) < (not best.fits, best.total)):
            best = plan
    return best


def _rate(params: CanonicalConvParams, method: Method) -> float:
    """The method's peak rate, padding not counted as work."""
    padded = groups_of(params.in_channels, method.in_group) * method.in_group
    padded *= groups_of(params.out_channels, method.out_group) * method.out_group
    side = params.groups / (groups_of(params.groups, method.conv_group) * method.conv_group)
    return peak_macs(method, params.dtype) * side * params.in_channels * params.out_channels / padded


def _best_split(
    params: CanonicalConvParams, method: Method, machine: Machine, constraints: Constraints, bound: float
) -> Plan | None:
    splits = enumerate_splits(
        groups_of(params.groups, method.conv_group),
        (params.batch, *params.output_field),
        groups_of(params.in_channels, method.in_group),
        groups_of(params.out_channels, method.out_group),
        machine.tiles,
    )
    splits = constraints.allow(splits)
    peak = peak_macs(method, params.dtype) * params.output_steps
    splits = splits.take(splits.tiles >= min(params.macs / peak / bound, machine.tiles + 1))
    if not len(splits.groups):
        return None
    share, box = sliding_share(params, method, splits)
    macs = share.outputs * (share.work.in_groups * method.in_group * prod(params.kernel))
    allowed = (share.work.positions <= _LARGEST_OFFSET) & (share.inputs <= _LARGEST_OFFSET * method.in_group)
    worth = allowed & (macs / peak <= bound)
    if not worth.any():
        return None
    splits, box = splits.take(worth), Box(*(c[worth] for c in box))
    share = Share(TileWork(*(c[worth] for c in share.work)), *(c[worth] for c in share[1:]))
    return _cheapest(params, method, splits, (share, box), machine)


def sliding_share(params: CanonicalConvParams, method: Method, splits: Splits) -> tuple[Share, Box]:
    """The share of the fullest tile: its box, its window of activations, its weights."""
    batch, *sizes = (largest(n, s) for n, s in zip((params.batch, *params.output_field), splits.field, strict=True))
    box = active_box(params, batch, sizes)
    windows = [window(params, dim, size) for dim, size in enumerate(sizes)]
    cg = largest(groups_of(params.groups, method.conv_group), splits.groups)
    inp = largest(groups_of(params.in_channels, method.in_group), splits.inp)
    out = largest(groups_of(params.out_channels, method.out_group), splits.out)
    side, width, channels = cg * method.conv_group, inp * method.in_group, out * method.out_group
    positions = batch * prod(sizes, start=np.ones_like(batch))
    inputs = batch * prod(windows, start=np.ones_like(batch)) * width * side
    weights = width * channels * side * prod(params.kernel)
    return Share(TileWork(cg, positions, inp, out), inputs, weights, positions * channels * side), box


def _cheapest(
    params: CanonicalConvParams, method: Method, splits: Splits, had: tuple[Share, Box], machine: Machine
) -> Plan:
    share, box = had
    transforms = Transforms(False, matmul=False)
    columns = cost_columns(params, method, splits, share, machine, transforms)
    groups = (share.work.conv_groups, share.work.in_groups, share.work.out_groups)
    wide_load = machine.wide_weight_load
    spent = sliding_cycles(method, params.dtype, params.kernel, box, groups, share.work.positions, wide_load)
    columns = columns._replace(terms={**columns.terms, "partials": spent})
    lists = prod(params.kernel) * (box.rows + 6) * ITEM_BYTES
    memory = temporary_bytes(params, method, splits, share, machine, transforms) + lists
    fits = memory <= machine.memory_limit
    _, row = cheapest_first(columns, splits.tiles, memory, fits)
    return plan_of_candidate(params, False, method, splits, columns, memory, row, bool(fits[row]))
