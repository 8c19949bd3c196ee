"""Build a planned product step by step.

Steps below `<name>/Conv_1`: copy into blocks (preRegroup) and Transpose_#0 for operands whose channels are not adjacent
in memory, copy to actsRearranged and weightsRearranged, Convolve, Reduce0 (Reduce1 ...) or Cast. As in PopLibs, a copy
that would rearrange nothing is left out. Serial passes repeat Convolve and Reduce on slices of the channels.
"""

from __future__ import annotations

from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.graph.debug_context import DebugInfo
from simulator.graph.program import Program
from simulator.graph.tensor import Tensor, concat
from simulator.poplibs.poplin.partials import convolve, passes, rearrange
from simulator.poplibs.poplin.partials.passes import add_pass
from simulator.poplibs.poplin.partials.reduce_partials import result_variable
from simulator.poplibs.poplin.partials.shares import Shares, shares_of
from simulator.poplibs.poplin.planning.options import MatMulOptions
from simulator.poplibs.poplin.planning.plan import Plan


def build(
    graph: Graph,
    a: Tensor,
    b: Tensor,
    plan: Plan,
    out_type: Type,
    name: DebugInfo,
    options: MatMulOptions,
    spread: bool = False,
) -> tuple[list[Program], Tensor]:
    """The programs of [g, m, k] x [g, k, n] and the stored [conv groups, out groups, field, block] result. `spread` as
    in `Rearrangement`."""
    shares = shares_of(plan)
    acts, weights = (b.dimShuffle([0, 2, 1]), a) if plan.swapped else (a, b.dimShuffle([0, 2, 1]))
    steps = rearrange.Rearrangement(graph, name, spread)
    arranged = _arranged_acts(steps, acts, shares), _arranged_weights(steps, weights, shares)
    if plan.passes > 1:
        programs, out = passes.add_passes(graph, shares, *arranged, out_type, name, options)
        return [*steps.programs(), *programs], out
    own_acts, own_weights = (t.squeeze([0]) for t in arranged)
    programs, out = add_pass(graph, shares, own_acts, own_weights, out_type, name, options)
    return [*steps.programs(), *programs], out


def as_product(stored: Tensor, plan: Plan) -> Tensor:
    """The stored [conv groups, out groups, field, block] as the [g, m, n] product."""
    method, params = plan.method, plan.params
    blocks, groups, field, _ = stored.shape()
    apart = stored.reshape([blocks, groups, field, method.out_group, method.conv_group])
    product = apart.dimShuffle([0, 4, 2, 1, 3]).reshape([blocks * method.conv_group, field, groups * method.out_group])
    product = product.slice([0, 0, 0], [params.groups, field, params.out_channels])
    return product.dimShuffle([0, 2, 1]) if plan.swapped else product


def create_operand(graph: Graph, plan: Plan, type_: Type, left: bool, name: DebugInfo) -> Tensor:
    """A new [g, m, k] left or [g, k, n] right operand in the layout that the plan reads."""
    shares = shares_of(plan)
    params, method = plan.params, plan.method
    is_acts = left != plan.swapped
    shape = _acts_shape(plan) if is_acts else _weights_shape(plan)
    variable = graph.addVariable(type_, shape, name)
    _map(graph, variable, shares, is_acts)
    if is_acts:  # [passes, blocks, in groups, field, in, side] -> [groups, field, channels]
        view = variable.dimShuffle([1, 5, 3, 0, 2, 4]).reshape(
            [shape[1] * method.conv_group, plan.field, shape[0] * shape[2] * method.in_group]
        )
        view = view.slice([0, 0, 0], [params.groups, plan.field, params.in_channels])
    else:  # [in passes, out passes, blocks, out groups, in groups, units, in, side] -> [groups, out, in channels]
        outputs, inputs = shape[1] * shape[3] * method.out_group, shape[0] * shape[4] * method.in_group
        view = variable.dimShuffle([2, 7, 1, 3, 5, 0, 4, 6]).reshape([shape[2] * method.conv_group, outputs, inputs])
        view = view.slice([0, 0, 0], [params.groups, params.out_channels, params.in_channels])
    return view if left else view.dimShuffle([0, 2, 1])


def create_product(graph: Graph, plan: Plan, type_: Type, name: DebugInfo) -> Tensor:
    """A new [g, m, n] tensor mapped like the product that `build` makes."""
    shares = shares_of(plan)
    parts = []
    for _ in range(plan.out_passes):
        parts.append(result_variable(graph, shares, type_, name))
    return as_product(concat(parts, 1) if len(parts) > 1 else parts[0], plan)


def needs_transposing(right: Tensor) -> bool:
    """Whether the channels of a [g, k, n] right operand are not yet adjacent."""
    operand = right.dimShuffle([0, 2, 1])
    group = min(rearrange.AMP_GROUP[operand.elementType()], operand.dim(2))
    return not rearrange.channels_adjacent(operand, group)


def _acts_shape(plan: Plan) -> list[int]:
    """[passes over input channels, conv groups, in groups, field, in channels, side]."""
    method = plan.method
    return [plan.in_passes, plan.conv_groups, plan.in_groups, plan.field, method.in_group, method.conv_group]


def _weights_shape(plan: Plan) -> list[int]:
    """[in passes, out passes, conv groups, out groups, in groups, out channels, in channels, side]."""
    method = plan.method
    return [
        plan.in_passes,
        plan.out_passes,
        plan.conv_groups,
        plan.out_groups,
        plan.in_groups,
        method.out_group,
        method.in_group,
        method.conv_group,
    ]


def _map(graph: Graph, variable: Tensor, shares: Shares, is_acts: bool) -> None:
    """Map each pass's part of a rearranged operand alike."""
    passes = shares.plan.in_passes if is_acts else shares.plan.passes
    parts = variable.reshape([passes, variable.numElements() // passes])
    for number in range(passes):
        (convolve.map_inputs if is_acts else convolve.map_weights)(graph, parts[number], shares)


def _arranged_acts(steps: rearrange.Rearrangement, acts: Tensor, shares: Shares) -> Tensor:
    """[passes, conv groups, in groups, field, in channels, side] activations, spread over the tiles that read them. An
    operand that has this layout already (createMatMulInputLHS or RHS) is used in place."""
    plan = shares.plan
    shape = _acts_shape(plan)
    method = plan.method
    if acts.shape() == [shape[1] * method.conv_group, plan.field, shape[0] * shape[2] * method.in_group]:
        ready = _acts_view(steps, acts, plan)
        if in_order(ready):
            return ready
    source = _acts_view(steps, adjacent(steps, acts), plan)
    out = steps.graph.addVariable(acts.elementType(), shape, (steps.name, "actsRearranged"))
    _map(steps.graph, out, shares, True)
    return steps.add_copy(source, out, [1, 5, 3, 0, 2, 4])  # reads by convolution group, position, channel


def _acts_view(steps: rearrange.Rearrangement, acts: Tensor, plan: Plan) -> Tensor:
    """A [groups, positions, channels] operand in the shape of `_acts_shape`."""
    shape, method = _acts_shape(plan), plan.method
    whole = _to_whole_blocks(steps, acts, plan, plan.field, shape[0] * shape[2] * method.in_group)
    blocks = whole.reshape([shape[1], method.conv_group, plan.field, shape[0], shape[2], method.in_group])
    return blocks.dimShuffle([3, 0, 4, 2, 5, 1])


def _arranged_weights(steps: rearrange.Rearrangement, weights: Tensor, shares: Shares) -> Tensor:
    """[in passes, out passes, conv groups, out groups, in groups, out channels, in channels, side] weights. Where
    channels are adjacent this is a view of the operand, which each tile gathers from."""
    plan, method = shares.plan, shares.plan.method
    shape = _weights_shape(plan)
    outputs, inputs = shape[1] * shape[3] * method.out_group, shape[0] * shape[4] * method.in_group
    in_place = rearrange.channels_adjacent(weights, method.in_group) and plan.passes == 1
    source = weights if in_place else adjacent(steps, weights)
    blocks = _to_whole_blocks(steps, source, plan, outputs, inputs).reshape(
        [shape[2], method.conv_group, shape[1], shape[3], method.out_group, shape[0], shape[4], method.in_group]
    )
    ready = blocks.dimShuffle([5, 2, 0, 3, 6, 4, 7, 1])
    if in_place or in_order(ready):
        return ready
    out = steps.graph.addVariable(weights.elementType(), shape, (steps.name, "weightsRearranged"))
    _map(steps.graph, out, shares, False)
    return steps.add_copy(ready, out, [2, 7, 1, 3, 5, 0, 4, 6])


def in_order(tensor: Tensor) -> bool:
    """Whether a view is one run of memory in its own order."""
    strided = tensor.strided()
    if strided is None:
        return False
    wanted = 1
    for size, stride in zip(reversed(tensor.shape()), reversed(strided[2]), strict=True):
        if size > 1 and stride != wanted:
            return False
        wanted *= size
    return True


def _to_whole_blocks(steps: rearrange.Rearrangement, operand: Tensor, plan: Plan, rows: int, channels: int) -> Tensor:
    """The operand with exactly this many rows and channels, padded with zeros or truncated, in whole blocks
    of groups."""
    operand = operand.slice(0, min(operand.dim(1), rows), 1).slice(0, min(operand.dim(2), channels), 2)
    return rearrange.padded(steps.graph, operand, (plan.conv_groups * plan.method.conv_group, rows, channels))


def adjacent(steps: rearrange.Rearrangement, operand: Tensor) -> Tensor:
    """The operand, rearranged where needed so that channels are adjacent in groups that AMP takes, or that a copy of
    whole vectors makes them so."""
    group = min(rearrange.AMP_GROUP[operand.elementType()], operand.dim(2))
    if rearrange.channels_adjacent(operand, group) or rearrange.channels_in_vectors(operand, group):
        return operand
    return rearrange.transposed_in_blocks(steps, operand, group)
