"""popnn.pooling: the largest, the sum or the mean of windows, and their gradients.

Tensors are [batch, channels, field]."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np

from simulator.base.errors import graph_connection_error, invalid_option, poplar_error, type_error
from simulator.base.types import FLOAT, HALF
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.objects import ComputeSet
from simulator.graph.program import Execute, LibraryGroup, Program, Sequence
from simulator.graph.tensor import Tensor
from simulator.machine.cycles.pooling import Kind
from simulator.machine.cycles.rounding import vector_width
from simulator.poplibs import popops
from simulator.poplibs.library_calls import LAYER, NUMBER, Parameter, match, operation
from simulator.poplibs.poplin.convolutions import build, sliding_convolve
from simulator.poplibs.poplin.convolutions.sliding_shares import SlidingShares, geometry, sliding_shares
from simulator.poplibs.poplin.convolutions.work_items import WorkItems, strides, work_items
from simulator.poplibs.poplin.partials import rearrange
from simulator.poplibs.poplin.partials.convolve import partials_variable
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams, Dtype
from simulator.poplibs.poplin.planning.plan import Plan
from simulator.poplibs.popnn.pool_params import PoolingType as PoolingType
from simulator.poplibs.popnn.pool_params import PoolParams as PoolParams
from simulator.poplibs.popnn.pool_params import asString as asString
from simulator.poplibs.popnn.pool_params import getBwdFlops as getBwdFlops
from simulator.poplibs.popnn.pool_params import getBwdPerfectCycleCount as getBwdPerfectCycleCount
from simulator.poplibs.popnn.pool_params import getFwdFlops as getFwdFlops
from simulator.poplibs.popnn.pool_params import getFwdPerfectCycleCount as getFwdPerfectCycleCount
from simulator.poplibs.popnn.pool_params import getOutputFieldShape as getOutputFieldShape
from simulator.poplibs.popnn.pool_params import plan_pooling
from simulator.poplibs.popnn.pooling_vertices import FIELDS, pooling_vertex
from simulator.poplibs.poputil import mapTensorLinearly
from simulator.poplibs.type_names import short_name

#: sizes of channel groups to look for: those that AMP vertices write and read
_WIDTHS = (16, 8, 4, 2)


_LAST = (Parameter("prog", Sequence), Parameter("debugContext", default=""), Parameter("options", dict, None))
_GRADIENT_FORMS = (
    (
        Parameter("in_", Tensor),
        Parameter("pooled", Tensor),
        Parameter("pooledGradient", Tensor),
        Parameter("useScaledGradient", (bool, np.bool_, int)),
        *_LAST,
    ),
    (Parameter("fwdChansPerGroup", NUMBER), Parameter("pooledGradient", Tensor), *_LAST),
)


def pool(
    graph: Graph,
    params: PoolParams,
    in_: Tensor,
    prog: Sequence,
    debugContext: Context = "",
    options: dict[str, Any] | None = None,
) -> Tensor:
    """[batch, channels, output field]. Raises `type_error`, `graph_connection_error` for another input, and
    `invalid_option` for any option: there are none."""
    _no_options(options)
    _check("pool", in_, params, params.inputFieldShape)
    call = operation(graph, debugContext, "popnn", "pool", input=in_, type=params.poolingType.value)
    kind: Kind = "max" if params.poolingType is PoolingType.MAX else "sum"
    out = _add_pooling(graph, params.forward(_dtype(params)), kind, [in_], prog, (call, "Pool"))
    if params.poolingType is PoolingType.AVG:
        return _divide_by_window_sizes(graph, out, params, prog, (call, "Scale"))
    return out


def poolInputGradient(graph: Graph, params: PoolParams, *arguments: Any, **named: Any) -> Tensor:
    """[batch, channels, input field]: (graph, params, in, pooled, pooledGradient, useScaledGradient, prog,
    debugContext="", options={}), or for AVG and SUM (graph, params, fwdChansPerGroup, pooledGradient, prog, ...).

    The gradient of MAX goes to each element that equals the largest; `useScaledGradient` divides it among them.
    `fwdChansPerGroup` asks for groups of this many channels in the result, where the field and the type allow it."""
    given = match("poolInputGradient", _GRADIENT_FORMS, arguments, named)
    _no_options(given["options"])
    slope, prog = given["pooledGradient"], given["prog"]
    _check("poolInputGradient", slope, params, params.getOutputFieldShape())
    call = operation(
        graph, given["debugContext"], "popnn", "poolInputGradient", type=params.poolingType.value, gradient=slope
    )
    backward = params.backward(_dtype(params))
    if params.poolingType is not PoolingType.MAX:
        if params.poolingType is PoolingType.AVG:
            slope = _divide_by_window_sizes(graph, slope, params, prog, (call, "Scale"))
        wanted = int(given.get("fwdChansPerGroup", 0))
        return _add_pooling(graph, backward, "sum", [slope], prog, (call, "Pool"), wanted)
    if "in_" not in given:
        raise poplar_error("poolInputGradient: the gradient of MAX needs the input and the pooled tensor.")
    in_, pooled = given["in_"], given["pooled"]
    _check("poolInputGradient", in_, params, params.inputFieldShape)
    _check("poolInputGradient", pooled, params, params.getOutputFieldShape())
    if given["useScaledGradient"]:
        name = (call, "MaxPoolingGradientScale")
        shares = _add_pooling(graph, params.forward(_dtype(params)), "max scale", [in_, pooled], prog, name)
        slope = popops.mul(graph, slope, shares, prog, (call, "scaledGradient"))
    return _add_pooling(graph, backward, "max backward", [slope, pooled, in_], prog, (call, "MaxPoolingGrad"))


def _no_options(options: dict[str, Any] | None) -> None:
    for name in options or {}:
        raise invalid_option(f"Pooling has no option '{name}'; leave the options out.")


def _dtype(params: PoolParams) -> Dtype:
    dtype: Any = short_name(params.dType)
    return cast(Dtype, dtype)


def _check(api: str, tensor: Tensor, params: PoolParams, field: SequenceOf[int]) -> None:
    if params.dType not in (FLOAT, HALF) or tensor.elementType() is not params.dType:
        raise type_error(f"{api}: the tensor holds {tensor.elementType()}, the parameters say {params.dType}.")
    shape = [params.batchSize, params.numChannels, *field]
    if tensor.shape() != shape:
        raise graph_connection_error(f"{api}: the tensor has shape {tensor.shape()}, the parameters say {shape}.")


def _divide_by_window_sizes(graph: Graph, tensor: Tensor, params: PoolParams, prog: Sequence, name: Context) -> Tensor:
    """The tensor divided by the size of each window."""
    sizes = params.window_sizes()
    if (sizes == sizes.flat[0]).all():
        return popops.mul(graph, tensor, 1.0 / float(sizes.flat[0]), prog, name)
    constant = graph.addConstant(params.dType, [1, 1, *sizes.shape], 1.0 / sizes, name)
    mapTensorLinearly(graph, constant)
    return popops.mul(graph, tensor, constant, prog, name)


def _add_pooling(
    graph: Graph,
    planned: CanonicalConvParams,
    kind: Kind,
    sources: list[Tensor],
    prog: Sequence,
    name: tuple[DebugInfo, str],
    wanted: int = 0,
) -> Tensor:
    """Add one pooling. The first sources are read in windows, the others at the places of the outputs. `wanted`:
    channels of a group, if they divide the channels into whole vectors."""
    side = _side(planned, sources[-1])
    if wanted > 1 and planned.groups % wanted == 0 and wanted % vector_width(planned.dtype) == 0:
        side = wanted
    target = graph.getTarget()
    plan = plan_pooling(planned, kind, side, target.getNumTiles(), target.getExchangeBytesPerCycle())
    shares = sliding_shares(plan)
    context = graph.addDebugInfo(name[0], LAYER, plan=plan.describe())
    programs: list[Program] = []
    steps = rearrange.Rearrangement(graph, context)
    in_windows = len(FIELDS[kind][0])
    windows = [_in_blocks(steps, t, plan, shares) for t in sources[:in_windows]]
    boxes = [_in_blocks(steps, t, _plan_of_output(plan), None) for t in sources[in_windows:]]
    out = partials_variable(graph, shares, context, f"{name[1]}/out")
    items = work_items(shares)
    cs = graph.addComputeSet((context, name[1]))
    graph.store.compute_set_terms[cs.id] = plan.cost_terms()
    _add_vertices(graph, cs, kind, shares, items, (windows, boxes, out), context)
    programs = [*steps.programs(), Execute(cs)]
    stored = out.squeeze([0])
    attributes = {"params": planned, "kind": kind, "side": side}
    prog.add(LibraryGroup(programs, "popnn.pool", sources, [stored], attributes))
    return build.as_output(stored, plan, planned)


def _side(params: CanonicalConvParams, model: Tensor) -> int:
    """Channels of a group: the widest group of whole vectors that is adjacent in `model`. Where none is, the widest
    that divides the channels; the tensor is then copied."""
    vector = vector_width(params.dtype)
    possible = [n for n in _WIDTHS if n >= vector and params.groups % n == 0] or [vector]
    first = model.slice(0, 1, 0).flatten(2)
    together = (n for n in possible if n <= params.groups and len(first.slice([0, 0, 0], [1, n, 1]).regions()[0]) == 1)
    return next(together, possible[0])


def _plan_of_output(plan: Plan) -> Plan:
    """A plan whose activations have the shape of this plan's output."""
    return replace(
        plan,
        params=replace(
            plan.params,
            field=plan.params.output_field,
            kernel=(1,) * len(plan.params.field),
            stride=(),
            padding_lower=(),
            padding_upper=(),
            input_dilation=(),
        ),
    )


def _in_blocks(steps: rearrange.Rearrangement, source: Tensor, plan: Plan, shares: SlidingShares | None) -> Tensor:
    """[batch, channels, field] as [groups of channels, 1, batch, field, 1, side]: in place where the channels of a
    group are adjacent, else a copy."""
    view = build.blocked_acts(steps, build.positions_of(source, plan.params), plan)
    if plan.params.groups % plan.method.conv_group == 0 and build.in_runs(view):
        return view
    graph = steps.graph
    out = graph.addVariable(source.elementType(), sliding_convolve.acts_shape(plan), (steps.name, "inRearranged"))
    if shares is None:
        mapTensorLinearly(graph, out, grainSize=plan.method.conv_group)
    else:
        sliding_convolve.map_inputs(graph, out, shares)
    return steps.add_copy(view, out)


def _add_vertices(
    graph: Graph,
    cs: ComputeSet,
    kind: Kind,
    shares: SlidingShares,
    items: WorkItems,
    tensors: tuple[list[Tensor], list[Tensor], Tensor],
    name: DebugInfo,
) -> None:
    windows, boxes, out = tensors
    plan = shares.plan
    seen, own, target = FIELDS[kind]
    edges = {field: sliding_convolve.windows(graph, shares, t) for field, t in zip(seen, windows, strict=True)}
    edges |= {field: sliding_convolve.boxes(graph, shares, t) for field, t in zip(own, boxes, strict=True)}
    edges[target] = sliding_convolve.boxes(graph, shares, out)
    edges["worklists"] = sliding_convolve.worklist_edges(graph, shares, items, name)
    step_out, step_in = strides(geometry(plan.params)[-1])
    values = {
        "numChanGroupsM1": shares.group.size - 1,
        "chansPerGroupD": plan.method.conv_group,
        "inStride": step_in,
        "outStride": step_out,
    }
    type_ = pooling_vertex(kind, plan.params.dtype, prod(plan.params.kernel), plan.method.conv_group, items)
    flops = items.outputs_by_tile(len(shares.tiles)) * shares.group.size * plan.method.conv_group
    graph.addVertices(cs, type_, shares.tiles, edges, values, flops=flops)
