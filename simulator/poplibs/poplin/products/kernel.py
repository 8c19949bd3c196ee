"""The kernel of a product: computes it whole in float32 and writes the stored layout."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.codelets.run import store
from simulator.poplibs.poplin.planning.plan import Plan
from simulator.poplibs.poplin.products.blocked import multiply
from simulator.poplibs.popops.operators import wide
from simulator.runtime.values.kernels import register


def attributes_of(plan: Plan, a_shape: list[int], b_shape: list[int]) -> dict[str, Any]:
    """The attributes of a plan that the kernel needs. Half partial sums are rounded where the share of a tile or a pass
    ends."""
    rounded = plan.method.partials == "half"
    return {
        "swapped": plan.swapped,
        "shapes": (a_shape, b_shape),
        "out_group": plan.method.out_group,
        "conv_group": plan.method.conv_group,
        "cuts": _cuts(plan) if rounded else [],
        "rounded": rounded,
    }


def _cuts(plan: Plan) -> list[int]:
    """The input channels at which shares end, except the last."""
    step = -(-plan.in_groups // plan.in_split) * plan.method.in_group
    per_pass = -(-plan.params.in_channels // plan.in_passes)
    ends = [p * per_pass + min(s * step, per_pass) for p in range(plan.in_passes) for s in range(1, plan.in_split + 1)]
    return sorted({e for e in ends if e < plan.params.in_channels})


def _matrix(operand: AnyArray, shape: list[int]) -> AnyArray:
    """An operand as a stack of matrices that BLAS takes. One in blocks is copied in the order with the longer runs."""
    x = wide(operand)
    if shape[0] == 1 and x.ndim == 4 and x.strides[1] < x.strides[3]:
        return np.ascontiguousarray(x.transpose(2, 3, 0, 1)).reshape(shape[:0:-1]).T[None]
    return x.reshape(shape)


@register("poplin.matMul", stores="matrices")
def _matmul_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    """Store the product as [conv groups, out groups, field, out channels x side]; padding is 0."""
    a, b = (_matrix(x, shape) for x, shape in zip(inputs, attributes["shapes"], strict=True))
    left, right = (b.swapaxes(1, 2), a.swapaxes(1, 2)) if attributes["swapped"] else (a, b)
    product = _in_shares(left, right, attributes["cuts"], attributes["rounded"])
    store_product(outputs[0], product, attributes["out_group"], attributes["conv_group"])


def store_product(out: AnyArray, product: AnyArray, units: int, side: int) -> None:
    """Store [groups, field, channels] as [conv groups, out groups, field, `units` channels x `side` groups]; padding is
    0."""
    if side == 1:
        for group, block in zip(product, out, strict=True):
            _store_group(block, group, units)
        return
    groups, field, channels = product.shape
    padded = np.zeros((len(out) * side, field, out.shape[1] * units), np.float32)
    padded[:groups, :, :channels] = product
    apart = padded.reshape(len(out), side, field, out.shape[1], units)
    store(out, apart.transpose(0, 3, 2, 4, 1).reshape(out.shape))


def _in_shares(left: AnyArray, right: AnyArray, cuts: list[int], rounded: bool) -> AnyArray:
    """left @ right. With `rounded`, the sum of the partial products between the cuts, each rounded to half."""
    if not rounded:
        return multiply(left, right)
    bounds = [0, *cuts, left.shape[2]]
    parts = (multiply(left[:, :, b:e], right[:, b:e]) for b, e in pairwise(bounds))
    return np.asarray(sum(p.astype(np.float16).astype(np.float32) for p in parts))


def _store_group(out: AnyArray, product: AnyArray, units: int) -> None:
    """Store one group's [field, channels] product in [out groups, field, units]."""
    field, channels = product.shape
    whole = channels // units
    store(out[:whole], product[:, : whole * units].reshape(field, whole, units).transpose(1, 0, 2))
    if whole < len(out):
        out[whole:] = 0
        rest = channels - whole * units
        if rest:
            store(out[whole, :, :rest], product[:, whole * units :])
