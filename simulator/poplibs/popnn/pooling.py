"""popnn.pooling: the largest, the sum or the mean of windows, and their gradients.

Tensors are [batch, channels, field]."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import replace
from functools import lru_cache
from itertools import product as combinations
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from simulator.codelets.run import store
from simulator.codelets.vertex_type import BlockCosts, FieldSpec, VertexType
from simulator.machine.cycles import pooling as cycles
from simulator.machine.cycles.described import described
from simulator.machine.cycles.pooling import Kind
from simulator.machine.cycles.rounding import vector_width
from simulator.poplar.debug_context import Context, DebugInfo
from simulator.poplar.errors import graph_connection_error, poplar_error, type_error
from simulator.poplar.graph import Graph
from simulator.poplar.graph_objects import ComputeSet
from simulator.poplar.program import Copy, Execute, LibraryGroup, Program, Sequence
from simulator.poplar.store import VertexBlock
from simulator.poplar.tensor import Tensor
from simulator.poplar.types import FLOAT, HALF, UNSIGNED_SHORT
from simulator.poplibs import popops
from simulator.poplibs.debug import LAYER, operation
from simulator.poplibs.poplin import conv_build, field_convolve, rearrange
from simulator.poplibs.poplin.conv_kernel import outputs_of
from simulator.poplibs.poplin.conv_params import ConvParams, Dtype
from simulator.poplibs.poplin.convolve import partials_variable
from simulator.poplibs.poplin.field_shares import FieldShares, field_shares, geometry
from simulator.poplibs.poplin.field_vertices import ITEM
from simulator.poplibs.poplin.field_work import Box
from simulator.poplibs.poplin.matmul_kernel import store_product
from simulator.poplibs.poplin.plan import Plan
from simulator.poplibs.poplin.work_items import WorkItems, strides, work_items
from simulator.poplibs.popnn.pool_params import PoolingType as PoolingType
from simulator.poplibs.popnn.pool_params import PoolParams as PoolParams
from simulator.poplibs.popnn.pool_params import plan_pooling, pool_cycles
from simulator.poplibs.popops.operators import wide
from simulator.poplibs.poputil import mapTensorLinearly
from simulator.poplibs.type_names import short_name
from simulator.runtime.kernels import register

Array = npt.NDArray[Any]
I8 = npt.NDArray[np.int64]

_VERTEX = {"max": "MaxPooling", "sum": "SumPooling", "max backward": "MaxPoolingGrad"}
_VALUES = ("numChanGroupsM1", "chansPerGroupD", "inStride", "outStride", "numRows", "rowPositions")
#: groups of channels that are looked for: those that AMP vertices write and read
_WIDTHS = (16, 8, 4, 2)


def pool(graph: Graph, params: PoolParams, in_: Tensor, prog: Sequence, debugContext: Context = "") -> Tensor:
    """[batch, channels, output field]. Raises `type_error`, `graph_connection_error` for another input."""
    _check("pool", in_, params, params.inputFieldShape)
    call = operation(graph, debugContext, "popnn", "pool", input=in_, type=params.poolingType.value)
    kind: Kind = "max" if params.poolingType is PoolingType.MAX else "sum"
    out = _pooled(graph, params.forward(_dtype(params)), kind, [in_], prog, (call, "Pool"))
    if params.poolingType is PoolingType.AVG:
        return _scaled(graph, out, params, prog, (call, "Scale"))
    return out


def poolInputGradient(graph: Graph, params: PoolParams, *arguments: Any, debugContext: Context = "") -> Tensor:
    """poolInputGradient(graph, params, in, pooled, pooledGradient, useScaledGradient, prog, debugContext="") for MAX,
    (graph, params, fwdChansPerGroup, pooledGradient, prog, debugContext="") for AVG and SUM: [batch, channels, input
    field].

    The gradient of MAX goes to every element that equals the largest. Raises `poplar_error` for useScaledGradient
    (which would divide it among them)."""
    rest = list(arguments)
    if params.poolingType is PoolingType.MAX:
        in_, pooled, slope, scaled, prog = rest[:5]
        context = rest[5] if len(rest) > 5 else debugContext
    else:
        (_, slope, prog), in_, pooled, scaled = rest[:3], None, None, False
        context = rest[3] if len(rest) > 3 else debugContext
    _check("poolInputGradient", slope, params, params.getOutputFieldShape())
    call = operation(graph, context, "popnn", "poolInputGradient", type=params.poolingType.value, gradient=slope)
    backward = params.backward(_dtype(params))
    if in_ is None:
        if params.poolingType is PoolingType.AVG:
            slope = _scaled(graph, slope, params, prog, (call, "Scale"))
        return _pooled(graph, backward, "sum", [slope], prog, (call, "Pool"))
    _check("poolInputGradient", in_, params, params.inputFieldShape)
    _check("poolInputGradient", pooled, params, params.getOutputFieldShape())
    if scaled:
        raise poplar_error("poolInputGradient: a gradient divided among equal elements is not there; give False.")
    return _pooled(graph, backward, "max backward", [slope, pooled, in_], prog, (call, "MaxPoolingGrad"))


def _dtype(params: PoolParams) -> Dtype:
    dtype: Any = short_name(params.dType)
    return cast(Dtype, dtype)


def _check(api: str, tensor: Tensor, params: PoolParams, field: SequenceOf[int]) -> None:
    if params.dType not in (FLOAT, HALF) or tensor.elementType() is not params.dType:
        raise type_error(f"{api}: a tensor of {tensor.elementType()} was given, the parameters say {params.dType}.")
    shape = [params.batchSize, params.numChannels, *field]
    if tensor.shape() != shape:
        raise graph_connection_error(
            f"{api}: a tensor of shape {tensor.shape()} was given, the parameters say {shape}."
        )


def _scaled(graph: Graph, tensor: Tensor, params: PoolParams, prog: Sequence, name: Context) -> Tensor:
    """The tensor divided by the size of each window."""
    sizes = params.window_sizes()
    if (sizes == sizes.flat[0]).all():
        return popops.mul(graph, tensor, 1.0 / float(sizes.flat[0]), prog, name)
    constant = graph.addConstant(params.dType, [1, 1, *sizes.shape], 1.0 / sizes, name)
    mapTensorLinearly(graph, constant)
    return popops.mul(graph, tensor, constant, prog, name)


def _pooled(
    graph: Graph, planned: ConvParams, kind: Kind, sources: list[Tensor], prog: Sequence, name: tuple[DebugInfo, str]
) -> Tensor:
    """Add one pooling: sources[0] (and [1]) are read in windows, sources[2] where the output lies."""
    side = _side(planned, sources[-1])
    target = graph.getTarget()
    plan = plan_pooling(planned, kind, side, target.getNumTiles(), int(target.getExchangeBytesPerCycle()))
    shares = field_shares(plan)
    context = graph.addDebugInfo(name[0], LAYER, plan=plan.describe())
    programs: list[Program] = []
    steps = rearrange.Rearrangement(graph, context)
    windows = [_blocked(steps, t, plan, shares) for t in sources[:2]]
    boxes = [_blocked(steps, t, _of_output(plan), None) for t in sources[2:]]
    out = partials_variable(graph, shares, context, f"{name[1]}/out")
    items = work_items(shares)
    cs = graph.addComputeSet((context, name[1]))
    graph.store.compute_set_terms[cs.id] = plan.cost_terms()
    _add_vertices(graph, cs, kind, shares, items, (windows, boxes, out), context)
    programs = [*steps.programs(), Execute(cs)]
    stored = out.squeeze([0])
    attributes = {"params": planned, "kind": kind, "side": side}
    prog.add(LibraryGroup(programs, "popnn.pool", sources, [stored], attributes))
    return conv_build.as_output(stored, plan, planned)


def _side(params: ConvParams, model: Tensor) -> int:
    """Channels of a group: the widest group of whole vectors that lies together in `model`; the widest that divides the
    channels where none does (it is copied then)."""
    vector = vector_width(params.dtype)
    possible = [n for n in _WIDTHS if n >= vector and params.groups % n == 0] or [vector]
    first = model.slice(0, 1, 0).flatten(2)
    together = (n for n in possible if n <= params.groups and len(first.slice([0, 0, 0], [1, n, 1]).regions()[0]) == 1)
    return next(together, possible[0])


def _of_output(plan: Plan) -> Plan:
    """A plan whose activations have the shape of this one's output."""
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


def _blocked(steps: rearrange.Rearrangement, source: Tensor, plan: Plan, shares: FieldShares | None) -> Tensor:
    """[batch, channels, field] as [groups of channels, 1, batch, field, 1, side]: as it lies where the channels of a
    group are adjacent, else a copy."""
    view = conv_build.blocked_acts(steps, conv_build.positions_of(source, plan.params), plan)
    if plan.params.groups % plan.method.conv_group == 0 and conv_build.in_runs(view):
        return view
    graph = steps.graph
    out = graph.addVariable(source.elementType(), field_convolve.acts_shape(plan), (steps.name, "inRearranged"))
    if shares is None:
        mapTensorLinearly(graph, out, grainSize=plan.method.conv_group)
    else:
        field_convolve.map_inputs(graph, out, shares)
    steps.arranged.append(out)
    steps.copies.append(Copy(view, out))
    return out


def _add_vertices(
    graph: Graph, cs: ComputeSet, kind: Kind, shares: FieldShares, items: WorkItems,
    tensors: tuple[list[Tensor], list[Tensor], Tensor], name: DebugInfo,
) -> None:  # fmt: skip
    windows, boxes, out = tensors
    plan = shares.plan
    names = ("outGrad", "out", "in") if kind == "max backward" else ("in",)
    edges = {field: field_convolve.windows(graph, shares, t) for field, t in zip(names, windows, strict=False)}
    edges |= {field: field_convolve.boxes(graph, shares, t) for field, t in zip(names[2:], boxes, strict=True)}
    edges["inGrad" if kind == "max backward" else "out"] = field_convolve.boxes(graph, shares, out)
    edges["worklists"] = field_convolve.worklist_edges(graph, shares, items, name)
    step_out, step_in = strides(geometry(plan.params)[-1])
    rows = prod((r.size for r in shares.box[:-1]), start=np.ones_like(shares.tiles))
    values = {
        "numChanGroupsM1": shares.group.size - 1, "chansPerGroupD": plan.method.conv_group, "inStride": step_in,
        "outStride": step_out, "numRows": rows, "rowPositions": shares.box[-1].size,
    }  # fmt: skip
    met = np.bincount(items.tile, weights=items.outputs, minlength=len(shares.tiles)).astype(np.int64)
    type_ = pooling_vertex(kind, plan.params.dtype, prod(plan.params.kernel), plan.method.conv_group)
    flops = met * shares.group.size * plan.method.conv_group
    graph.addVertices(cs, type_, shares.tiles, edges, values, flops=flops)


@lru_cache(maxsize=64)
def pooling_vertex(kind: Kind, dtype: Dtype, kernels: int, side: int) -> VertexType:
    """One vertex per tile whose six workers follow the worklists (as those of a convolution, four numbers an item)."""
    backward = kind == "max backward"

    def costs(block: VertexBlock, elements: Mapping[str, I8], target: Any) -> BlockCosts:
        box = Box(*(np.asarray(block.values[v], np.int64) for v in ("numRows", "rowPositions")))
        groups = np.asarray(block.values["numChanGroupsM1"], np.int64) + 1
        spent = pool_cycles(kind, dtype, kernels, box, side, groups)
        return BlockCosts(spent, "exact", described("7.6", cycles.pooling))

    def compute(vertex: Any) -> None:
        items = np.asarray(vertex.worklists, np.int64).reshape(-1, ITEM)
        results = vertex.inGrad if backward else vertex.out
        for number, result in enumerate(results):
            start = -np.inf if kind == "max" else 0.0
            total = np.full((len(result) // side, side), start, np.float32)
            acts = wide(np.asarray((vertex.outGrad if backward else getattr(vertex, "in"))[number])).reshape(-1, side)
            for _, first, count, at in items.tolist():
                if not count:
                    continue
                here = slice(first, first + (count - 1) * int(vertex.outStride) + 1, int(vertex.outStride))
                there = slice(at, at + (count - 1) * int(vertex.inStride) + 1, int(vertex.inStride))
                if kind == "max":
                    total[here] = np.maximum(total[here], acts[there])
                elif backward:
                    largest = np.asarray(vertex.out[number]).reshape(-1, side)[there]
                    mine = np.asarray(getattr(vertex, "in")[number]).reshape(-1, side)[here]
                    total[here] += np.where(mine == largest, acts[there], 0)
                else:
                    total[here] += acts[there]
            store(result, total.reshape(-1))

    given = ("outGrad", "out", "in") if backward else ("in",)
    fields = (
        *(FieldSpec(name, "vectors", "in", None, "one_ptr", 8) for name in given),
        FieldSpec("inGrad" if backward else "out", "vectors", "out", None, "one_ptr", 8),
        FieldSpec("worklists", "vector", "in", None, "scaled_ptr32", 4),
        *(FieldSpec(name, "value", "", UNSIGNED_SHORT) for name in _VALUES),
    )
    return VertexType(f"popnn::{_VERTEX[kind]}<{dtype}>", "supervisor", fields, costs, compute, doc=f"pooling: {kind}")


@register("popnn.pool")
def _pool_kernel(outputs: list[Array], inputs: list[Array], attributes: dict[str, Any]) -> None:
    """All windows at once, one kernel position after another; stored [channel groups, 1, positions, side]."""
    params, kind = attributes["params"], attributes["kind"]
    acts = wide(inputs[0])
    whole: tuple[Any, ...] = (slice(None), slice(None))
    shape = (*acts.shape[:2], *params.output_field)
    total = np.full(shape, -np.inf if kind == "max" else 0.0, np.float32)
    for place in combinations(*(range(k) for k in params.kernel)):
        met = [outputs_of(s, k, n) for s, k, n in zip(geometry(params), place, params.output_field, strict=True)]
        if all(count for _, _, count in met):
            here, there = whole + tuple(m[0] for m in met), whole + tuple(m[1] for m in met)
            if kind == "max":
                total[here] = np.maximum(total[here], acts[there])
            elif kind == "sum":
                total[here] += acts[there]
            else:
                total[here] += np.where(inputs[2][here] == inputs[1][there], acts[there], 0)
    product = np.moveaxis(total, 1, 0).reshape(params.groups, params.positions, 1)
    store_product(outputs[0], product, 1, attributes["side"])
