"""poplin.matMul: a product planned as a 1x1 convolution and built step by step, under PopLibs' names.

Steps below `<name>/Conv_1`: copy into blocks (preRegroup) and Transpose_#0 for operands whose channels are not adjacent
in memory, copy to actsRearranged and weightsRearranged, Convolve, Reduce0. A Copy or edge that needs no rearrangement
is left out, as PopLibs leaves it out.
"""

from __future__ import annotations

from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.poplar.debug_context import Context, DebugInfo
from simulator.poplar.errors import graph_connection_error, invalid_option, poplar_error, type_error
from simulator.poplar.graph import Graph
from simulator.poplar.program import Copy, Execute, LibraryGroup, Program, Sequence
from simulator.poplar.target import Target
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import FLOAT, HALF, Type
from simulator.poplibs.blocked_view import blocked_view
from simulator.poplibs.debug import LAYER, operation
from simulator.poplibs.poplin import convolve, rearrange
from simulator.poplibs.poplin.planner import Machine, MatMulPlan, plan_matmul
from simulator.poplibs.poplin.reduce_partials import add_reduce
from simulator.poplibs.poplin.shares import Shares, shares_of
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

Options = dict[str, Any] | None


def matMul(
    graph: Graph,
    A: Tensor,
    B: Tensor,
    prog: Sequence,
    outputType: Type | Context | None = None,
    debugContext: Context = "",
    options: Options = None,
) -> Tensor:
    """Append the product of two matrices to `prog`; returns it, laid out as the plan leaves it.

    `outputType` defaults to the operands' type; a name given in its place is taken as the debug context.
    Option: availableMemoryProportion (0 to 1, default 0.6), the share of a tile that operands and partial sums may
    take. Raises `type_error`, `graph_connection_error` for operands that do not fit, `invalid_option`."""
    named = outputType is not None and not isinstance(outputType, Type)
    context = outputType if named and outputType is not None and not isinstance(outputType, Type) else debugContext
    out_type = outputType if isinstance(outputType, Type) else A.elementType()
    _check_operands(A, B, out_type)
    plan = _plan(graph.getTarget(), A.elementType(), A.shape(), B.shape(), options)
    call = operation(graph, context, "poplin", "matMul", A=A, B=B, outputType=out_type, tiles=plan.tiles)
    name = graph.addDebugInfo((call, "Conv_1"), LAYER, plan=plan.describe())
    programs: list[Program] = []
    stored = _build(graph, A, B, plan, out_type, name, programs)
    product = _as_product(stored, plan)
    views = [blocked_view(t) for t in (A, B)]
    attributes = {"swapped": plan.swapped, "shapes": (A.shape(), B.shape())}
    prog.add(LibraryGroup(programs, "poplin.matMul", views, [stored], attributes))
    return product


def matMulReportPlan(
    out: TextIO,
    graph: Graph,
    inputType: Type,
    outputType: Type,
    aShape: list[int],
    bShape: list[int],
    options: Options = None,
) -> None:
    """Write the plan of a product and the terms of its cost, one per line."""
    print(_plan(graph.getTarget(), inputType, aShape, bShape, options).describe(), file=out)


def plan_of(graph: Graph, inputType: Type, aShape: list[int], bShape: list[int], options: Options = None) -> MatMulPlan:
    """The plan that `matMul` would use."""
    return _plan(graph.getTarget(), inputType, aShape, bShape, options)


def _check_operands(a: Tensor, b: Tensor, out_type: Type) -> None:
    if a.rank() != 2 or b.rank() != 2 or a.dim(1) != b.dim(0):
        raise graph_connection_error(
            f"matMul: {a.shape()} and {b.shape()} cannot be multiplied; give [M, K] and [K, N] matrices."
        )
    if a.elementType() is not b.elementType() or a.elementType() not in (FLOAT, HALF):
        raise type_error(
            f"matMul: operands hold {a.elementType()} and {b.elementType()}; both must be FLOAT or both HALF."
        )
    if out_type not in (FLOAT, HALF):
        raise type_error(f"matMul: the product cannot be {out_type}; FLOAT and HALF are possible.")


def _plan(target: Target, type_: Type, a_shape: list[int], b_shape: list[int], options: Options) -> MatMulPlan:
    units = target.getNumConvUnits(type_, FLOAT)
    machine = Machine(
        tiles=target.getNumTiles(),
        bytes_per_tile=target.getBytesPerTile(),
        unit_counts=tuple(n for n in (8, 16) if n <= units),
        exchange_bytes=int(target.getExchangeBytesPerCycle()),
        tiles_per_bus=target.getTilesPerSharedExchangeBus(),
        memory_proportion=_memory_proportion(options),
    )
    try:
        return plan_matmul(short_name(type_), a_shape[0], a_shape[1], b_shape[1], machine)
    except ValueError as error:
        raise poplar_error(str(error)) from None


def _memory_proportion(options: Options) -> float:
    value: Any = Machine(0, 0, ()).memory_proportion
    for name, given in (options or {}).items():
        if name != "availableMemoryProportion":
            raise invalid_option(f"matMul has no option '{name}'; availableMemoryProportion is the one it has.")
        value = given
    try:
        proportion = float(value)
    except ValueError:
        proportion = -1.0
    if not 0 <= proportion <= 1:
        raise invalid_option(f"availableMemoryProportion '{value}' is not a number between 0 and 1.")
    return proportion


def _build(
    graph: Graph, a: Tensor, b: Tensor, plan: MatMulPlan, out_type: Type, name: DebugInfo, programs: list[Program]
) -> Tensor:
    """Append all steps; returns the [out groups, field, units] result."""
    shares = shares_of(plan)
    acts, weights = (b.transpose(), a) if plan.swapped else (a, b.transpose())
    steps = rearrange.Rearrangement(graph, name)
    arranged_acts = _arranged_acts(steps, acts, shares)
    arranged_weights = _arranged_weights(steps, weights, shares)
    programs += steps.programs()
    # Partial sums are float; a product in one piece is written in its own type.
    partials = convolve.partials_variable(graph, shares, FLOAT if plan.in_split > 1 else out_type, name)
    programs.append(Execute(convolve.add_convolve(graph, shares, arranged_acts, arranged_weights, partials, name)))
    if plan.in_split == 1:
        return partials.reshape([shares.out_groups, plan.field, plan.units])
    reduce, out = add_reduce(graph, shares, partials, out_type, name)
    programs.append(Execute(reduce))
    return out


def _arranged_acts(steps: rearrange.Rearrangement, acts: Tensor, shares: Shares) -> Tensor:
    """The [in groups, field, group] activations, spread over the tiles that use them."""
    plan, graph = shares.plan, steps.graph
    source = _adjacent(steps, acts, plan.in_group).slice(0, plan.field, 0)
    source = rearrange.padded(graph, source, (plan.field, shares.in_groups * plan.in_group))
    shape = [shares.in_groups, plan.field, plan.in_group]
    out = graph.addVariable(acts.elementType(), shape, (steps.name, "actsRearranged"))
    convolve.map_inputs(graph, out, shares)
    by_position = [plan.field, shares.in_groups, plan.in_group]
    steps.arranged.append(out)
    steps.copies.append(Copy(source.reshape(by_position), out.dimShuffle([1, 0, 2])))
    return out


def _arranged_weights(steps: rearrange.Rearrangement, weights: Tensor, shares: Shares) -> Tensor:
    """The operand itself where its channels are adjacent, else a [out groups * units, in groups * group] view."""
    plan, graph = shares.plan, steps.graph
    if rearrange.channels_adjacent(weights, plan.in_group):
        return weights
    shape = (shares.out_groups * plan.units, shares.in_groups * plan.in_group)
    source = _adjacent(steps, weights, plan.in_group)
    source = rearrange.padded(graph, source.slice(0, min(source.dim(0), shape[0]), 0), shape)
    blocks = [shares.out_groups, shares.in_groups, plan.units, plan.in_group]
    out = graph.addVariable(weights.elementType(), blocks, (steps.name, "weightsRearranged"))
    convolve.map_weights(graph, out, shares)
    in_order = out.dimShuffle([0, 2, 1, 3])
    steps.arranged.append(out)
    steps.copies.append(Copy(source.reshape(in_order.shape()), in_order))
    return in_order.reshape(list(shape))


def _adjacent(steps: rearrange.Rearrangement, operand: Tensor, group: int) -> Tensor:
    if rearrange.channels_adjacent(operand, group):
        return operand
    return rearrange.transposed_in_blocks(steps, operand, group)


def _as_product(stored: Tensor, plan: MatMulPlan) -> Tensor:
    """The stored [out groups, field, units] as the [M, N] product."""
    groups, field, units = stored.shape()
    out = stored.dimShuffle([1, 0, 2]).reshape([field, groups * units]).slice(0, plan.out_channels, 1)
    return out.transpose() if plan.swapped else out


def _matrix(operand: npt.NDArray[Any], shape: list[int]) -> npt.NDArray[Any]:
    """An operand as a matrix that BLAS takes; one in blocks is copied in the order that reads longer runs."""
    x = wide(operand)
    if x.ndim == 4 and x.strides[1] < x.strides[3]:
        return np.ascontiguousarray(x.transpose(2, 3, 0, 1)).reshape(shape[::-1]).T
    return x.reshape(shape)


@register("poplin.matMul")
def _matmul_kernel(outputs: list[npt.NDArray[Any]], inputs: list[npt.NDArray[Any]], attributes: dict[str, Any]) -> None:
    """The whole product in float32, rounded once, written in the stored layout."""
    a, b = (_matrix(x, shape) for x, shape in zip(inputs, attributes["shapes"], strict=True))
    product = b.T @ a.T if attributes["swapped"] else a @ b
    groups, field, units = outputs[0].shape
    channels = product.shape[1]
    whole = channels // units
    parts = product[:, : whole * units].reshape(field, whole, units).transpose(1, 0, 2)
    store(outputs[0][:whole], parts)
    if whole < groups:
        store(outputs[0][whole, :, : channels - whole * units], product[:, whole * units :])
        outputs[0][whole, :, channels - whole * units :] = 0
