"""The vertices that slide over a kernel: ConvPartialnx1 (AMP), ConvPartialHorizontalMac, ConvPartialVerticalMac.

Per convolution group and input group they read a window of activations as one vector of [positions, input channels of a
group, convolution groups side by side]; per convolution, output and input group they read weights as [kernel positions,
output channels, input channels, side]. They write [positions, output channels, side]. Sums are made in float32 and
rounded once per output.

Worklists say which outputs meet which inputs, with four numbers an item: kernel position, first output, outputs, first
input. PopLibs has a list for each kernel position and worker, with three numbers an item and a pointer a list: about as
many bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import UNSIGNED_SHORT
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles.convolution import amp_nx1, nx1_item
from simulator.machine.cycles.described import described
from simulator.machine.cycles.multiply import dot_product, hmac, vmac
from simulator.poplibs.poplin.convolutions.work_items import WorkItems
from simulator.poplibs.poplin.planning.canonical_params import Dtype
from simulator.poplibs.poplin.planning.methods import Method
from simulator.poplibs.poplin.planning.sliding_work import rounds_of, sliding_cycles
from simulator.poplibs.popops.operators import wide

#: numbers of one work item
ITEM = 4

_FORMULAS: dict[str, tuple[Callable[..., Any], ...]] = {
    "AMP": (amp_nx1, nx1_item),
    "HMAC": (hmac, dot_product),
    "VMAC": (vmac,),
}
_VALUES = ("numConvGroupsM1", "numOutGroupsM1", "numInGroups", "transformedInStride", "transformedOutStride")


def type_name(method: Method, dtype: Dtype, wide_load: bool) -> str:
    """The name with the template parameters that PopLibs prints."""
    yes = str(wide_load).lower()
    return {
        "AMP": f"poplin::ConvPartialnx1<{dtype},{method.partials},true,{yes},{method.units},4,false>",
        "HMAC": f"poplin::ConvPartialHorizontalMac<{dtype},{method.partials},true>",
        "VMAC": f"poplin::ConvPartialVerticalMac<{dtype},{method.partials},true,{method.conv_group}>",
    }[method.name]


def sliding_vertex(
    method: Method, dtype: Dtype, kernel: tuple[int, ...], wide_load: bool, items: WorkItems
) -> VertexType:
    """The vertices of a compute set for a kernel of this shape: what they cost depends on their worklists. The caller
    gives the FLOPs, which depend on padding."""
    inner, _, height = rounds_of(method, dtype, kernel)
    block_size, positions = _block(method), prod(kernel)

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        value = {name: np.asarray(block.values[name], np.int64) for name in _VALUES}
        groups = (value["numConvGroupsM1"] + 1, value["numInGroups"], value["numOutGroupsM1"] + 1)
        work = items.listed(len(block), positions, inner, height)
        outputs = elements["out"] // (groups[0] * groups[2] * block_size)
        cycles = sliding_cycles(method, dtype, kernel, work, groups, outputs, wide_load)
        return BlockCosts(cycles, "exact", described("7.5", *_FORMULAS[method.name]))

    def compute(vertex: Any) -> None:
        inp, out = int(vertex.numInGroups), int(vertex.numOutGroupsM1) + 1
        for number, result in enumerate(vertex.out):
            group = number // out
            acts = getattr(vertex, "in")[group * inp : (group + 1) * inp]
            weights = vertex.weights[number * inp : (number + 1) * inp]
            total = np.zeros((len(result) // _block(method), _block(method)), np.float32)
            for a, w in zip(acts, weights, strict=True):
                _slide(method, positions, vertex, (np.asarray(a), np.asarray(w)), total)
            store(result, total.reshape(-1))

    amp = method.name == "AMP"
    fields = (
        FieldSpec("in", "vectors", "in", None, "one_ptr", 8),
        FieldSpec(
            "weights", "vectors", "in", None, "one_ptr", 16 if amp and wide_load else 8, interleaved=wide_load and amp
        ),
        FieldSpec("out", "vectors", "out", None, "one_ptr", 16 if amp else 8, interleaved=amp),
        FieldSpec("worklists", "vector", "in", None, "scaled_ptr32", 4),
        *(FieldSpec(name, "value", "", UNSIGNED_SHORT) for name in _VALUES),
    )
    name = type_name(method, dtype, wide_load)
    return VertexType(name, "supervisor", fields, costs, compute, doc="partial sums of a convolution with a kernel")


def _block(method: Method) -> int:
    return method.out_group * method.conv_group


def _slide(
    method: Method,
    kernels: int,
    vertex: Any,
    operands: tuple[AnyArray, AnyArray],
    total: AnyArray,
) -> None:
    """Add one group of input channels to `total`, item by item."""
    side, inner = method.conv_group, method.in_group
    acts = wide(operands[0]).reshape(-1, inner, side)
    weights = wide(operands[1]).reshape(kernels, method.out_group, inner, side)
    step_in, step_out = int(vertex.transformedInStride), int(vertex.transformedOutStride)
    for kernel, first, count, start in np.asarray(vertex.worklists, np.int64).reshape(-1, ITEM).tolist():
        if count:
            rows = acts[start : start + (count - 1) * step_in + 1 : step_in]
            products = np.einsum("pis,uis->pus", rows, weights[kernel]).reshape(count, -1)
            total[first : first + (count - 1) * step_out + 1 : step_out] += products
