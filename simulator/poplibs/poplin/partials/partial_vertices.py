"""The vertex types that compute partial sums: AMP, HMAC, VMAC, OuterProduct (`methods` says when each is chosen).

Per convolution group and input group they read activations as one vector of [positions, input channels of a group,
convolution groups side by side]; per convolution, output and input group they read weights as [output channels, input
channels, side]. They write [positions, output channels, side]. Sums are made in float32 and rounded once per output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.arrays import AnyArray, Int64Array
from simulator.base.types import UNSIGNED_SHORT
from simulator.codelets.run import store
from simulator.graph.vertices import BlockCosts, FieldSpec, VertexBlock, VertexType
from simulator.machine.cycles.convolution import amp_1x1, amp_launch, amp_worker
from simulator.machine.cycles.described import described
from simulator.machine.cycles.multiply import dot_product, hmac, outer_product, vmac
from simulator.machine.flops import MAC
from simulator.poplibs.poplin.planning.canonical_params import Dtype
from simulator.poplibs.poplin.planning.methods import Method, TileWork, partial_cycles
from simulator.poplibs.popops.operators import wide

#: the cycle formulas of each method: its own, then those that it calls
_FORMULAS: dict[str, tuple[Callable[..., Any], ...]] = {
    "AMP": (amp_1x1, amp_worker),
    "HMAC": (hmac, dot_product),
    "VMAC": (vmac,),
}
_STRIDES = ("transformedInStride", "outChansPerGroup", "transformedOutStride")


def type_name(method: Method, dtype: Dtype, wide_load: bool) -> str:
    """The name with the template parameters that PopLibs prints."""
    yes = str(wide_load).lower()
    return {
        "AMP": f"poplin::ConvPartial1x1Out<{dtype},{method.partials},true,{yes},{method.units},4,false>",
        "HMAC": f"poplin::ConvPartialHorizontalMac1x1<{dtype},{method.partials},true>",
        "VMAC": f"poplin::ConvPartialVerticalMac<{dtype},{method.partials},true,{method.conv_group}>",
        "OUTER_PRODUCT": f"poplin::OuterProduct<{dtype}>",
    }[method.name]


@lru_cache(maxsize=256)
def convolve_vertex(method: Method, dtype: Dtype, wide_load: bool) -> VertexType:
    """The vertex of a tile for AMP, HMAC and VMAC.

    Values: numConvGroupsM1, numOutGroupsM1, numInGroups (in blocks and groups of the method), and strides."""
    block_size = method.out_group * method.conv_group

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        cg, out = (np.asarray(block.values[v], np.int64) + 1 for v in ("numConvGroupsM1", "numOutGroupsM1"))
        inp = np.asarray(block.values["numInGroups"], np.int64)
        positions = elements["out"] // (cg * out * block_size)
        cycles = partial_cycles(method, dtype, TileWork(cg, positions, inp, out), wide_load)
        launch = np.broadcast_to(amp_launch(positions), cycles.shape) if method.name == "AMP" else None
        flops = MAC * elements["in"] * out * method.out_group
        return BlockCosts(cycles, "exact", described("7.5", *_FORMULAS[method.name]), flops, launch)

    def compute(vertex: Any) -> None:
        inp, out = int(vertex.numInGroups), int(vertex.numOutGroupsM1) + 1
        for number, result in enumerate(vertex.out):
            group = number // out
            acts = getattr(vertex, "in")[group * inp : (group + 1) * inp]
            kernels = vertex.weights[number * inp : (number + 1) * inp]
            total = sum(_product(method, a, w) for a, w in zip(acts, kernels, strict=True))
            store(result, np.asarray(total).reshape(-1))

    align, amp = 16 if wide_load else 8, method.name == "AMP"
    fields = (
        FieldSpec("in", "vectors", "in", None, "one_ptr", 8, outer="one_ptr"),
        FieldSpec(
            "weights",
            "vectors",
            "in",
            None,
            "one_ptr",
            align if amp else 8,
            interleaved=wide_load and amp,
            outer="one_ptr",
        ),
        FieldSpec("out", "vectors", "out", None, "one_ptr", 16 if amp else 8, interleaved=amp, outer="one_ptr"),
        FieldSpec("worklists", "vector", "in", None, "scaled_ptr32", 4),
        *(
            FieldSpec(name, "value", "", UNSIGNED_SHORT)
            for name in ("numConvGroupsM1", "numOutGroupsM1", "numInGroups", *_STRIDES)
        ),
    )
    name = type_name(method, dtype, wide_load)
    apart = (("in", "out"),)  # as the public codelet asks
    return VertexType(name, "supervisor", fields, costs, compute, doc="partial sums of a convolution", apart=apart)


def _product(method: Method, acts: npt.ArrayLike, weights: npt.ArrayLike) -> AnyArray:
    side, inner = method.conv_group, method.in_group
    a = wide(np.asarray(acts)).reshape(-1, inner, side)
    w = wide(np.asarray(weights)).reshape(-1, inner, side)
    if side == 1:
        return np.asarray(a[:, :, 0] @ w[:, :, 0].T)
    return np.asarray(np.einsum("pis,uis->pus", a, w))


@lru_cache(maxsize=16)
def outer_product_vertex(dtype: Dtype) -> VertexType:
    """The vertex of one worker: `in` holds its positions, `weights` all output channels, `out` one vector per group of
    output channels."""

    def costs(block: VertexBlock, elements: Mapping[str, Int64Array], target: Any) -> BlockCosts:
        cycles = outer_product(dtype, elements["in"], elements["weights"], block.values["chansPerGroup"])
        return BlockCosts(cycles, "exact", described("7.5", outer_product), elements["out"])

    def compute(vertex: Any) -> None:
        acts, weights = (wide(np.asarray(getattr(vertex, name))) for name in ("in", "weights"))
        product = np.multiply.outer(weights, acts).reshape(len(vertex.out), -1, len(acts))
        for part, result in zip(product, vertex.out, strict=True):
            store(result, part.T.reshape(-1))

    fields = (
        FieldSpec("in", "vector", "in", None, "short_span", 8),
        FieldSpec("weights", "vector", "in", None, "short_span", 8),
        FieldSpec("out", "vectors", "out", None, "one_ptr", 8),
        FieldSpec("chansPerGroup", "value", "", UNSIGNED_SHORT),
    )
    name = f"poplin::OuterProduct<{dtype}>"
    return VertexType(name, "worker", fields, costs, compute, doc="one input channel times output channels")
