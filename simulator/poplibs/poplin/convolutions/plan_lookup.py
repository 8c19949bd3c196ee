"""Look up the plan of a convolution; report its plan, its expected cost and its operations."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, TextIO

from simulator.base.errors import invalid_option, poplar_error
from simulator.base.target import Target
from simulator.base.types import HALF
from simulator.building.graph import Graph
from simulator.poplibs.poplin.convolutions.params import ConvParams, weight_deltas
from simulator.poplibs.poplin.convolutions.sliding_shares import geometry
from simulator.poplibs.poplin.convolutions.windows import outputs_of
from simulator.poplibs.poplin.planning.cache import PlanningCache, planned
from simulator.poplibs.poplin.planning.canonical_params import CanonicalConvParams
from simulator.poplibs.poplin.planning.convolution_planner import ConvPlan, plan_convolution
from simulator.poplibs.poplin.planning.options import parse_convolution_options

Options = dict[str, Any] | None
Cache = PlanningCache | None


class PlanCosts(NamedTuple):
    """The planner's estimate for one operation."""

    cycles: int
    memory: int  #: temporary bytes of the fullest tile


def look_up_convolution_plan(
    target: Target, params: CanonicalConvParams, options: Options, cache: Cache = None
) -> ConvPlan:
    """The plan of one convolution whose transforms are done, its dilation deferred where it can be. Raises
    `invalid_option`, `poplar_error`."""
    parsed = parse_convolution_options(options)
    partials = parsed.partials if params.dtype == "half" else "float"
    what = (params.deferred(), parsed.machine(target), partials, parsed.constraints)
    try:
        return planned(cache, ("convolution", *what), lambda: plan_convolution(*what))
    except ValueError as error:
        kind = invalid_option if "constraints" in str(error) else poplar_error
        raise kind(f"{error}.") from None


def convolution_plan(graph: Graph, params: ConvParams, options: Options = None) -> ConvPlan:
    """The plan that `convolution` would use."""
    return look_up_convolution_plan(graph.getTarget(), params.planned(), options)


def reportPlanInfo(out: TextIO, graph: Graph, params: ConvParams, options: Options = None, cache: Cache = None) -> None:
    """Write the plan of a convolution and the terms of its cost, one per line."""
    print(look_up_convolution_plan(graph.getTarget(), params.planned(), options, cache).describe(), file=out)


def reportWeightUpdatePlanInfo(
    out: TextIO, graph: Graph, fwdParams: ConvParams, fwdOptions: Options = None, cache: Cache = None
) -> None:
    """`reportPlanInfo` of the convolution that gives the gradient of the weights."""
    print(look_up_convolution_plan(graph.getTarget(), weight_deltas(fwdParams), fwdOptions, cache).describe(), file=out)


def reportPlanEstimatedCosts(
    graph: Graph, params: ConvParams, options: Options = None, cache: Cache = None
) -> PlanCosts:
    """The planner's estimate for a convolution: cycles, and temporary bytes of a tile."""
    plan = look_up_convolution_plan(graph.getTarget(), params.planned(), options, cache).plan
    return PlanCosts(plan.total, plan.temporary_bytes)


def getFwdFlops(params: ConvParams) -> int:
    """Multiplications and additions of the convolution: two for each product of elements that are not padding."""
    done = params.planned()
    met = prod(
        sum(outputs_of(one, k, n)[2] for k in range(one.kernel))
        for one, n in zip(geometry(done), done.output_field, strict=True)
    )
    return 2 * done.groups * done.batch * done.in_channels * done.out_channels * met


def getBwdFlops(params: ConvParams) -> int:
    """As many as forward: each product contributes to the gradient of the input."""
    return getFwdFlops(params)


def getWuFlops(params: ConvParams) -> int:
    """As many as forward: each product contributes to the gradient of the weights."""
    return getFwdFlops(params)


def getFwdPerfectCycleCount(graph: Graph, params: ConvParams) -> float:
    """Cycles of the products if all tiles were busy all the time, as PopLibs counts them: floats a vector at a time,
    halves with all convolution units."""
    target = graph.getTarget()
    rate = target.getFloatVectorWidth()
    if params.inputType is HALF:
        rate = target.getHalfVectorWidth() * max(
            target.getFp16InFp16OutConvUnitsPerTile(),
            target.getFp16InFp32OutConvUnitsPerTile(),
            target.getFp32InFp32OutConvUnitsPerTile(),
        )
    return getFwdFlops(params) / 2 / (rate * target.getNumTiles())


def getBwdPerfectCycleCount(graph: Graph, params: ConvParams) -> float:
    """The same as forward."""
    return getFwdPerfectCycleCount(graph, params)


def getWuPerfectCycleCount(graph: Graph, params: ConvParams) -> float:
    """The same as forward."""
    return getFwdPerfectCycleCount(graph, params)
