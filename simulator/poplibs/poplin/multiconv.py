"""poplin.multiconv: several convolutions in one call.

By default (planType "parallel") each has tiles of its own, in proportion to its multiply-accumulates and at least 50
(perConvReservedTiles), and all run beside each other: the exchanges and compute sets of the longest one are those of
all. With planType "serial" they run one after another, each on all tiles. PopLibs also plans the ones again whose tiles
would wait for others; here each plan is the fastest on its tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from simulator.base.errors import invalid_option
from simulator.building.graph import Graph
from simulator.graph.debug_context import Context, DebugInfo
from simulator.graph.program import Sequence
from simulator.graph.tensor import Tensor
from simulator.poplibs import popops
from simulator.poplibs.library_calls import LAYER, operation
from simulator.poplibs.poplin.convolutions import convolution as one
from simulator.poplibs.poplin.convolutions.params import ConvParams
from simulator.poplibs.poplin.partials.side_by_side import independent, side_by_side
from simulator.poplibs.poplin.planning.cache import PlanningCache
from simulator.poplibs.poputil.exceptions import poplibs_error

Options = Mapping[str, Any] | None
Cache = PlanningCache | None


@dataclass
class CreateTensorArgs:
    """A convolution whose operand is created. `options`: those of `poplin.convolution`."""

    params: ConvParams
    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass
class ConvolutionArgs:
    """One convolution of `convolution`."""

    inputs: Tensor
    weights: Tensor
    params: ConvParams
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class CalculateWeightDeltasArgs:
    """One gradient of weights of `calculateWeightDeltas`."""

    zDeltas: Tensor
    activations: Tensor
    params: ConvParams
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class ConvWeightUpdateArgs:
    """One update of `convolutionWeightUpdate`: weights += scale * their gradient."""

    zDeltas: Tensor
    weights: Tensor
    activations: Tensor
    scale: float | Tensor
    params: ConvParams
    options: dict[str, Any] = field(default_factory=dict)


Given = TypeVar("Given", ConvolutionArgs, CalculateWeightDeltasArgs, ConvWeightUpdateArgs)
Result = TypeVar("Result")


def createInput(
    graph: Graph,
    args: SequenceOf[CreateTensorArgs],
    inputIndex: int,
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """The input of one of the convolutions, in the layout that its plan reads. Raises poplibs_error for a number that
    is none of them, `invalid_option`, and what `poplin.createInput` raises."""
    own, chosen = _chosen("createInput", graph, args, inputIndex, options)
    return one.createInput(own, chosen.params, chosen.name, chosen.options, cache)


def createWeights(
    graph: Graph,
    args: SequenceOf[CreateTensorArgs],
    weightsIndex: int,
    options: Options = None,
    cache: Cache = None,
) -> Tensor:
    """The weights of one of the convolutions, in the layout that its plan reads. Raises as `createInput`."""
    own, chosen = _chosen("createWeights", graph, args, weightsIndex, options)
    return one.createWeights(own, chosen.params, chosen.name, chosen.options, cache)


def convolution(
    graph: Graph,
    args: SequenceOf[ConvolutionArgs],
    transposeAndFlipWeights: bool,
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> list[Tensor]:
    """The outputs of all convolutions, as `poplin.convolution` gives each."""
    call = operation(graph, debugContext, "poplin", "multiconv.convolution", convolutions=len(args))
    runs = _Runs("convolution", graph, args, options, prog, call)
    weights = [given.weights for given in args]
    if transposeAndFlipWeights:

        def turn(own: Graph, given: ConvolutionArgs, part: Sequence, name: DebugInfo) -> Tensor:
            turned = one.createWeights(own, given.params, (name, "weightsTransposed"), given.options, cache)
            # By the whole graph: the weights may lie on any tiles.
            one.weightsTransposeChansFlipXY(graph, given.weights, turned, part, (name, "weightsTransposed"))
            return turned

        weights = runs.add(turn)
    taken = dict(zip(map(id, args), weights, strict=True))

    def convolve(own: Graph, given: ConvolutionArgs, part: Sequence, name: DebugInfo) -> Tensor:
        last = given.params, False, part, name, given.options, cache
        return one.convolution(own, given.inputs, taken[id(given)], *last)

    return runs.add(convolve)


def calculateWeightDeltas(
    graph: Graph,
    args: SequenceOf[CalculateWeightDeltasArgs],
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> list[Tensor]:
    """The gradients of the weights of all convolutions."""
    call = operation(graph, debugContext, "poplin", "multiconv.calculateWeightDeltas", convolutions=len(args))

    def add(own: Graph, given: CalculateWeightDeltasArgs, part: Sequence, name: DebugInfo) -> Tensor:
        last = given.params, part, name, given.options, cache
        return one.calculateWeightDeltas(own, given.zDeltas, given.activations, *last)

    return _Runs("calculateWeightDeltas", graph, args, options, prog, call).add(add)


def convolutionWeightUpdate(
    graph: Graph,
    args: SequenceOf[ConvWeightUpdateArgs],
    prog: Sequence,
    debugContext: Context = "",
    options: Options = None,
    cache: Cache = None,
) -> None:
    """Update the weights of all convolutions."""
    call = operation(graph, debugContext, "poplin", "multiconv.convolutionWeightUpdate", convolutions=len(args))
    runs = _Runs("convolutionWeightUpdate", graph, args, options, prog, call)

    def deltas(own: Graph, given: ConvWeightUpdateArgs, part: Sequence, name: DebugInfo) -> Tensor:
        last = given.params, part, name, given.options, cache
        return one.calculateWeightDeltas(own, given.zDeltas, given.activations, *last)

    found = dict(zip(map(id, args), runs.add(deltas), strict=True))

    # By the whole graph: the weights, which stay on their tiles, may lie on any.
    def regroup(_: Graph, given: ConvWeightUpdateArgs, part: Sequence, name: DebugInfo) -> Tensor:
        return one.regrouped_like(graph, given.weights, found[id(given)], part, name)

    regrouped = dict(zip(map(id, args), runs.add(regroup), strict=True))

    def update(_: Graph, given: ConvWeightUpdateArgs, part: Sequence, name: DebugInfo) -> None:
        popops.scaledAddTo(graph, given.weights, regrouped[id(given)], given.scale, part, (name, "UpdateWeights"))

    runs.add(update)


class _Runs(Generic[Given]):
    """The convolutions of one call, each with the graph of its tiles."""

    def __init__(
        self, api: str, graph: Graph, args: SequenceOf[Given], options: Options, prog: Sequence, call: DebugInfo
    ) -> None:
        self._graph, self._prog, self._call = graph, prog, call
        self._args: SequenceOf[Given] = args
        self._graphs = _graphs(api, graph, [given.params for given in args], options)

    def add(self, build: Callable[[Graph, Given, Sequence, DebugInfo], Result]) -> list[Result]:
        """Build a step of each and append them to the program; the results of the builders. Steps of which one writes
        what another reads or writes (two updates of the same weights) run one after another."""
        parts = [Sequence() for _ in self._args]
        results = []
        for number, (own, given, part) in enumerate(zip(self._graphs, self._args, parts, strict=True)):
            name = self._graph.addDebugInfo((self._call, f"conv{number}"), LAYER)
            results.append(build(own, given, part, name))
        parts = [part for part in parts if part.programs]
        if len(parts) > 1 and self._graphs[0] is not self._graph and independent(parts):
            self._prog.add(side_by_side(self._graph, parts, self._call))
        else:
            for part in parts:
                self._prog.add(part)
        return results


def _chosen(
    api: str, graph: Graph, args: SequenceOf[CreateTensorArgs], index: int, options: Options
) -> tuple[Graph, CreateTensorArgs]:
    """(the graph of a convolution's tiles, the convolution)."""
    if not 0 <= index < len(args):
        raise poplibs_error(f"multiconv.{api}: {index} is not one of the {len(args)} convolutions.")
    return _graphs(api, graph, [given.params for given in args], options)[index], args[index]


def _graphs(api: str, graph: Graph, params: list[ConvParams], options: Options) -> list[Graph]:
    """The graph of each convolution's tiles; the whole one for a single convolution, one after another, or fewer tiles
    than convolutions."""
    plan_type, least = _parse(api, options)
    tiles = graph.getTarget().getTilesPerIPU()
    count = len(params)
    if count < 2 or plan_type == "serial" or tiles < count or graph.getTarget().getNumIPUs() > 1:
        return [graph] * count
    work = np.array([one_of.planned().macs for one_of in params], np.float64)
    reserved = min(least, tiles // count)
    shares = reserved + np.floor((tiles - reserved * count) * work / work.sum()).astype(np.int64)
    shares[int(work.argmax())] += tiles - int(shares.sum())
    ends = np.cumsum(shares)
    return [graph.createVirtualGraph(int(end - share), int(end)) for share, end in zip(shares, ends, strict=True)]


def _parse(api: str, options: Options) -> tuple[str, int]:
    """(planType, perConvReservedTiles). Raises `invalid_option`."""
    given = dict(options or {})
    plan_type, least = str(given.pop("planType", "parallel")), str(given.pop("perConvReservedTiles", 50))
    if plan_type not in ("parallel", "serial"):
        raise invalid_option(f"multiconv.{api}: planType is {plan_type!r}; it is parallel or serial.")
    if not least.isdecimal() or int(least) < 1:
        raise invalid_option(f"multiconv.{api}: perConvReservedTiles is {least!r}; it is a number, at least 1.")
    for name in given:
        raise invalid_option(f"multiconv.{api} has no option '{name}'; it has planType and perConvReservedTiles.")
    return plan_type, int(least)
