"""The kernel of a convolution: computes it whole in float32 and writes the stored layout."""

from __future__ import annotations

from typing import Any

from simulator.arrays import AnyArray
from simulator.poplibs.poplin.convolutions.windows import convolve
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.planning.plan import Plan
from simulator.poplibs.poplin.products.kernel import store_product
from simulator.poplibs.popops.operators import wide
from simulator.runtime.values.kernels import register


def attributes_of(plan: Plan, params: CanonicalConvParams) -> dict[str, Any]:
    """What the kernel needs of a convolution and its plan."""
    return {
        "params": params,
        "swapped": plan.swapped,
        "out_group": plan.method.out_group,
        "conv_group": plan.method.conv_group,
    }


@register("poplin.convolution", stores="images")
def _convolution_kernel(outputs: list[AnyArray], inputs: list[AnyArray], attributes: dict[str, Any]) -> None:
    params = attributes["params"]
    result = convolve(wide(inputs[0]), wide(inputs[1]), params)
    product = result.reshape(params.groups, -1, params.out_channels)
    product = product.swapaxes(1, 2) if attributes["swapped"] else product
    store_product(outputs[0], product, attributes["out_group"], attributes["conv_group"])
