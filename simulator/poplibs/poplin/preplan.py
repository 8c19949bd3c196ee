"""poplin.preplan: plan operations ahead, into a cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simulator.base.target import Target
from simulator.base.types import Type
from simulator.poplibs.poplin.convolutions.params import ConvParams
from simulator.poplibs.poplin.convolutions.plan_lookup import look_up_convolution_plan
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poplin.products.plan_lookup import look_up_product_plan

Options = Mapping[str, Any] | None


@dataclass
class MatMulParams:
    """A product [m, k] x [k, n], or [g, m, k] x [g, k, n], for `preplan`."""

    inputType: Type
    outputType: Type
    aShape: list[int]
    bShape: list[int]


MatMulPlanParams = tuple[Target, MatMulParams, Options]
ConvPlanParams = tuple[Target, ConvParams, Options]


def preplan(convs: Iterable[ConvPlanParams], matmuls: Iterable[MatMulPlanParams], cache: PlanningCache) -> None:
    """Plan convolutions and products ahead, each given as (target, parameters, options). Raises what the operations
    would raise."""
    for target, params, options in convs:
        look_up_convolution_plan(target, params.planned(), dict(options or {}), cache)
    for target, product, options in matmuls:
        types = (product.inputType, product.outputType)
        look_up_product_plan(target, types, product.aShape, product.bShape, dict(options or {}), cache)


def preplanConvolutions(convs: Iterable[ConvPlanParams], cache: PlanningCache) -> None:
    """`preplan` of convolutions only."""
    preplan(convs, [], cache)


def preplanMatMuls(matmuls: Iterable[MatMulPlanParams], cache: PlanningCache) -> None:
    """`preplan` of products only."""
    preplan([], matmuls, cache)
