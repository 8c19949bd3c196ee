"""Build a planned convolution step by step, and create tensors in the layout of its plan.

Operands here are [batch, groups x input channels, field] and [groups, output channels, input channels, kernel]. The
result is stored as [conv groups, out groups, positions, block], like that of a product. Steps below `<name>/Conv_KxK`:
preRegroup and Transpose_#0 for operands whose channels are not adjacent in memory, copies to actsRearranged and
weightsRearranged, Convolve, Reduce0 (Reduce1 ...) or Cast.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Execute, Program
from simulator.graph.tensor import Tensor, concat, tensor_of
from simulator.machine.cycles.convolution import IN_GROUP
from simulator.poplibs.poplin.convolutions import sliding_convolve
from simulator.poplibs.poplin.convolutions.sliding_shares import Geometry, SlidingShares, geometry, sliding_shares
from simulator.poplibs.poplin.partials import convolve, rearrange
from simulator.poplibs.poplin.partials.reduce_partials import Reduction, add_reduce
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.planning.convolution_planner import ConvPlan
from simulator.poplibs.poplin.planning.options import MatMulOptions
from simulator.poplibs.poplin.planning.plan import Plan
from simulator.poplibs.poplin.products import build
from simulator.poplibs.poputil import mapTensorLinearly

#: forms whose vertices slide over a kernel
SLIDING = ("sliding", "in parts")
#: elements of the constant that stands for padding where a kernel becomes input channels
_ZEROS = 64


def add_convolution(
    graph: Graph,
    acts: Tensor,
    weights: Tensor,
    chosen: ConvPlan,
    params: CanonicalConvParams,
    out_type: Type,
    name: DebugInfo,
    options: MatMulOptions,
) -> tuple[list[Program], Tensor]:
    """The programs of a convolution and its stored result."""
    if chosen.form == "in parts":
        acts, weights = _in_parts(graph, acts, weights, chosen.plan, params)
    if chosen.form in SLIDING:
        return _sliding(graph, acts, weights, chosen.plan, out_type, name, options)
    kernels = prod(params.kernel)
    by_group = weights.reshape([params.groups, params.out_channels, params.in_channels, kernels])
    right = by_group.dimShuffle([0, 3, 2, 1]).reshape(
        [params.groups, kernels * params.in_channels, params.out_channels]
    )
    left = expanded_acts(graph, acts, params) if chosen.form == "expanded" else positions_of(acts, params)
    return build.build(graph, left, right, chosen.plan, out_type, name, options, spread=True)


def as_output(stored: Tensor, plan: Plan, params: CanonicalConvParams) -> Tensor:
    """The stored result as [batch, groups x output channels, field]."""
    product = build.as_product(stored, plan)
    field = list(params.output_field)
    whole = product.reshape([params.groups, params.batch, *field, params.out_channels])
    last = whole.rank() - 1
    channels_first = whole.dimShuffle([1, 0, last, *range(2, last)])
    return channels_first.reshape([params.batch, params.groups * params.out_channels, *field])


def _by_group(acts: Tensor, params: CanonicalConvParams) -> Tensor:
    """[batch, groups x channels, field] as [groups, batch, field, channels]."""
    apart = acts.reshape([params.batch, params.groups, params.in_channels, *params.field])
    return apart.dimShuffle([1, 0, *range(3, apart.rank()), 2])


def positions_of(acts: Tensor, params: CanonicalConvParams) -> Tensor:
    return _by_group(acts, params).reshape([params.groups, params.input_positions, params.in_channels])


def expanded_acts(graph: Graph, acts: Tensor, params: CanonicalConvParams) -> Tensor:
    """[groups, output positions, kernel positions x channels]: a view in which each output has its own copy of the
    inputs it reads. A small constant of zeros stands for padding, read in runs where the inputs are: along the channels
    or else the batch (the channels of a gradient's activations)."""
    elements = _by_group(acts, params).view.element_numbers()
    zeros = rearrange.zeros(graph, acts.elementType(), _ZEROS)
    has_adjacent_batch = _steps_by(elements, 1) == 1 and _steps_by(elements, -1) > 1
    axis = 1 if params.in_channels == 1 or has_adjacent_batch else -1
    dims = len(params.field)
    index, real = [], []
    for dim, one in enumerate(geometry(params)):
        at, inside = _inputs_read(one, params.output_size(dim))
        shape = [1] * (2 * dims)
        shape[dim], shape[dims + dim] = at.shape
        index.append(at.reshape(shape))
        real.append(inside.reshape(shape))
    where: tuple[Any, ...] = (slice(None), slice(None), *np.broadcast_arrays(*index))
    taken = elements[where]
    inside = np.broadcast_to(np.logical_and.reduce(np.broadcast_arrays(*real)), taken.shape[2:-1])
    blank = int(zeros.regions()[0][0]) + np.arange(taken.shape[axis]) % _ZEROS
    blank = blank.reshape([-1 if axis % taken.ndim == number else 1 for number in range(taken.ndim)])
    taken = np.where(inside[None, None, ..., None], taken, blank)
    whole = (params.groups, params.positions, prod(params.kernel) * params.in_channels)
    return tensor_of(acts.element_type, acts.view.with_elements(taken.reshape(whole), -1))


def _steps_by(elements: Int64Array, axis: int) -> int:
    """The distance of the first two elements along an axis; 0 where there is one."""
    first = np.moveaxis(elements, axis, 0).reshape(elements.shape[axis], -1)[:2, 0]
    return int(np.ptp(first))


def _inputs_read(one: Geometry, outputs: int) -> tuple[Int64Array, BoolArray]:
    """([outputs, kernel] input element, whether it exists)."""
    place = np.arange(outputs)[:, None] * one.stride + np.arange(one.kernel) * one.kernel_dilation + one.base
    at, rest = np.divmod(place, one.input_dilation)
    inside = (rest == 0) & (at >= 0) & (at < one.size)
    return np.where(inside, at, 0), inside


def _in_parts(
    graph: Graph, acts: Tensor, weights: Tensor, plan: Plan, params: CanonicalConvParams
) -> tuple[Tensor, Tensor]:
    """Views of both operands in which the parts of the kernel's rows are input channels. Zeros stand for rows of
    padding."""
    rows, parts = plan.params.kernel[0], plan.params.in_channels // params.in_channels
    groups, batch = params.groups, params.batch
    first = geometry(params)[0]
    reach, step = plan.params.field[0], rows * first.kernel_dilation
    above, size = max(-first.base, 0), params.field[0]
    below = max(first.base + (parts - 1) * step + reach - size, 0)
    apart = acts.reshape([batch, groups, params.in_channels, *params.field])
    blank = _blank_row(graph, acts, plan, params)
    padded = concat([blank.broadcast(above, 3), apart, blank.broadcast(below, 3)], 3)
    begin = first.base + above
    read = [padded.slice(begin + n * step, begin + n * step + reach, 3).expand([2]) for n in range(parts)]
    own_acts = concat(read, 2).reshape([batch, groups * parts * params.in_channels, reach, *params.field[1:]])
    kernel = weights.reshape([groups, params.out_channels, params.in_channels, parts, rows, *params.kernel[1:]])
    kernel = kernel.dimShuffle([0, 1, 3, 2, *range(4, kernel.rank())])
    return own_acts, kernel.reshape([groups, params.out_channels, plan.params.in_channels, *plan.params.kernel])


def _blank_row(graph: Graph, acts: Tensor, plan: Plan, params: CanonicalConvParams) -> Tensor:
    """[batch, groups, input channels, 1, rest of the field] zeros, which lie in memory as a row of activations does:
    groups side by side for each position."""
    rest, side = params.field[1:], plan.method.conv_group
    row = rearrange.zeros(graph, acts.elementType(), prod(rest) * side).reshape([*rest, side])
    row = row.broadcast(params.groups // side, len(rest))
    row = row.dimShuffle([len(rest), *range(len(rest))]).expand([0, 1, 1])
    return row.broadcast(params.batch, 0).broadcast(params.in_channels, 2)


# ---- the sliding form --------------------------------------------------------------------------------------------


def _sliding(
    graph: Graph, acts: Tensor, weights: Tensor, plan: Plan, type_: Type, name: DebugInfo, options: MatMulOptions
) -> tuple[list[Program], Tensor]:
    shares = sliding_shares(plan)
    steps = rearrange.Rearrangement(graph, name, spread=True)
    own_acts, own_weights = _sliding_acts(steps, acts, shares), _sliding_weights(steps, weights, shares)
    alone = plan.in_split == 1 and convolve.partials_type(shares) is type_
    partials = convolve.partials_variable(graph, shares, name, "partialReduceOut" if alone else "partials")
    wide_load = options.wide_weight_load
    cs = sliding_convolve.add_sliding_convolve(graph, shares, own_acts, own_weights, partials, name, wide_load)
    graph.store.compute_set_terms[cs.id] = plan.cost_terms()
    how = Reduction(options.multi_stage_reduce, options.fast_reduce)
    added, out = add_reduce(graph, shares, partials, type_, name, how)
    return [*steps.programs(), Execute(cs), *added], out


def _sliding_acts(steps: rearrange.Rearrangement, acts: Tensor, shares: SlidingShares) -> Tensor:
    """The activations as the vertices read them: in place where the channels of a group are adjacent, else a copy."""
    plan = shares.plan
    params, method = plan.params, plan.method
    whole = params.in_channels % method.in_group == 0 and params.groups % method.conv_group == 0
    view = blocked_acts(steps, positions_of(acts, params), plan)
    if whole and in_runs(view):
        return view
    source = blocked_acts(steps, build.adjacent(steps, positions_of(acts, params)), plan)
    out = steps.graph.addVariable(acts.elementType(), sliding_convolve.acts_shape(plan), (steps.name, "actsRearranged"))
    sliding_convolve.map_inputs(steps.graph, out, shares)
    return steps.add_copy(source, out)


def blocked_acts(steps: rearrange.Rearrangement, positions: Tensor, plan: Plan) -> Tensor:
    """[groups, positions, channels], padded or not, as `acts_shape`."""
    params, method = plan.params, plan.method
    cut = positions.slice(0, params.input_positions, 1).slice(0, min(positions.dim(2), params.in_channels), 2)
    shape = (plan.conv_groups * method.conv_group, params.input_positions, plan.in_groups * method.in_group)
    padded = rearrange.padded(steps.graph, cut, shape).reshape(
        [plan.conv_groups, method.conv_group, params.input_positions, plan.in_groups, method.in_group]
    )
    return padded.dimShuffle([0, 3, 2, 4, 1]).reshape(sliding_convolve.acts_shape(plan))


def _sliding_weights(steps: rearrange.Rearrangement, weights: Tensor, shares: SlidingShares) -> Tensor:
    """The weights as the vertices read them: in place where the channels of a group are adjacent, else a copy."""
    plan = shares.plan
    params, method = plan.params, plan.method
    kernels = prod(params.kernel)
    apart = weights.reshape([params.groups, params.out_channels, params.in_channels, kernels])
    rows = apart.dimShuffle([0, 1, 3, 2]).reshape([params.groups, params.out_channels * kernels, params.in_channels])
    padded = params.in_channels % method.in_group or params.out_channels % method.out_group
    view = _blocked_weights(steps, rows, plan)
    if not padded and params.groups % method.conv_group == 0 and in_runs(view):
        return view
    source = _blocked_weights(steps, build.adjacent(steps, rows), plan)
    shape = sliding_convolve.weights_shape(plan)
    out = steps.graph.addVariable(weights.elementType(), shape, (steps.name, "weightsRearranged"))
    convolve.map_weights(steps.graph, out, shares, kernels)
    return steps.add_copy(source, out)


def _blocked_weights(steps: rearrange.Rearrangement, rows: Tensor, plan: Plan) -> Tensor:
    """[groups, output channels x kernel positions, input channels], padded or not, as `weights_shape`."""
    params, method = plan.params, plan.method
    kernels = prod(params.kernel)
    cut = rows.slice(0, params.out_channels * kernels, 1).slice(0, min(rows.dim(2), params.in_channels), 2)
    cut = cut.reshape([params.groups, params.out_channels, kernels, cut.dim(2)])
    outputs, inputs = plan.out_groups * method.out_group, plan.in_groups * method.in_group
    padded = rearrange.padded(steps.graph, cut, (plan.conv_groups * method.conv_group, outputs, kernels, inputs))
    apart = padded.reshape(
        [
            plan.conv_groups,
            method.conv_group,
            plan.out_groups,
            method.out_group,
            kernels,
            plan.in_groups,
            method.in_group,
        ]
    )
    return apart.dimShuffle([0, 2, 5, 4, 3, 6, 1])


def in_runs(view: Tensor) -> bool:
    """Whether each group of channels, the last two dimensions, is one run of memory: one in the middle, as the ends may
    be padding."""
    return len(view.index([size // 2 for size in view.shape()[:-2]]).regions()[0]) == 1


# ---- tensors in the layout of a plan ---------------------------------------------------------------------------


def create_input(graph: Graph, chosen: ConvPlan, params: CanonicalConvParams, type_: Type, name: DebugInfo) -> Tensor:
    """A new [batch, groups x channels, field] tensor."""
    plan = chosen.plan
    if chosen.form == "pointwise":
        left = build.create_operand(graph, plan, type_, True, name)
        positions = left.reshape([params.groups, params.batch, *params.field, params.in_channels])
    elif chosen.form == "sliding":
        variable = graph.addVariable(type_, sliding_convolve.acts_shape(plan), name)
        sliding_convolve.map_inputs(graph, variable, sliding_shares(plan))
        side = variable.rank() - 1
        by_group = variable.dimShuffle([0, side, *range(2, side - 1), 1, side - 1])
        groups, channels = plan.conv_groups * plan.method.conv_group, plan.in_groups * plan.method.in_group
        positions = by_group.reshape([groups, params.batch, *params.field, channels])
        positions = positions.slice(0, params.groups, 0).slice(0, params.in_channels, positions.rank() - 1)
    else:  # many tiles read each element: keep groups of channels together, spread positions evenly
        width = IN_GROUP[params.dtype]
        width = width if params.in_channels % width == 0 else params.in_channels
        blocks = params.in_channels // width
        variable = graph.addVariable(type_, [params.groups, blocks, params.batch, *params.field, width], name)
        mapTensorLinearly(graph, variable, grainSize=width)
        last = variable.rank() - 1
        positions = variable.dimShuffle([0, *range(2, last), 1, last])
        positions = positions.reshape([params.groups, params.batch, *params.field, params.in_channels])
    last = positions.rank() - 1
    apart = positions.dimShuffle([1, 0, last, *range(2, last)])
    return apart.reshape([params.batch, params.groups * params.in_channels, *params.field])


def create_weights(graph: Graph, chosen: ConvPlan, params: CanonicalConvParams, type_: Type, name: DebugInfo) -> Tensor:
    """A new [groups, output channels, input channels, kernel] tensor."""
    plan, kernels = chosen.plan, prod(params.kernel)
    if chosen.form == "in parts":
        shape = [params.groups, params.out_channels, params.in_channels, *params.kernel]
        weights = graph.addVariable(type_, shape, name)
        mapTensorLinearly(graph, weights)
        return weights
    if chosen.form == "sliding":
        variable = graph.addVariable(type_, sliding_convolve.weights_shape(plan), name)
        convolve.map_weights(graph, variable, sliding_shares(plan), kernels)
        method = plan.method
        outputs, inputs = plan.out_groups * method.out_group, plan.in_groups * method.in_group
        apart = variable.dimShuffle([0, 6, 1, 4, 2, 5, 3])
        whole = apart.reshape([plan.conv_groups * method.conv_group, outputs, inputs, kernels])
        cut = whole.slice([0, 0, 0, 0], [params.groups, params.out_channels, params.in_channels, kernels])
    else:
        right = build.create_operand(graph, plan, type_, False, name)
        cut = right.reshape([params.groups, kernels, params.in_channels, params.out_channels]).dimShuffle([0, 3, 2, 1])
    return cut.reshape([params.groups, params.out_channels, params.in_channels, *params.kernel])
