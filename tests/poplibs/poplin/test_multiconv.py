"""poplin.multiconv: several convolutions beside each other give what each gives alone, in fewer steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from simulator.poplar import FLOAT, Graph, Tensor, concat, invalid_option
from simulator.poplar.program import Copy, Execute, Sequence
from simulator.poplibs import poplin
from simulator.poplibs.poplin import ConvParams, InputTransform, multiconv
from simulator.poplibs.poputil.exceptions import poplibs_error
from tests.poplibs.programs import both_ways, small_graph

PADDING = InputTransform(paddingLower=[1, 1], paddingUpper=[1, 1])
PARAMS = [
    ConvParams(FLOAT, 2, [6, 6], [3, 3], 16, 16, 1, PADDING),
    ConvParams(FLOAT, 1, [4, 5], [1, 1], 8, 24, 1),
    ConvParams(FLOAT, 2, [5, 5], [3, 1], 3, 4, 2),
]
OPTIONS: dict[str, Any] = {"planType": "parallel", "perConvReservedTiles": "2"}


def executed(program: Any) -> list[int]:
    """The compute sets of a program in order."""
    if isinstance(program, Execute):
        return [program.compute_set]
    return [cs for part in getattr(program, "programs", []) for cs in executed(part)]


def operands(graph: Graph, options: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
    args = [multiconv.CreateTensorArgs(params, {}, f"t{number}") for number, params in enumerate(PARAMS)]
    numbers = range(len(args))
    return (
        [multiconv.createInput(graph, args, number, options) for number in numbers],
        [multiconv.createWeights(graph, args, number, options) for number in numbers],
    )


def test_operands_lie_on_tiles_of_their_own() -> None:
    graph = small_graph(24)
    inputs, weights = operands(graph, OPTIONS)
    tiles = []
    for pair in zip(inputs, weights, strict=True):
        used = {tile for tensor in pair for tile, parts in enumerate(graph.getTileMapping(tensor)) if parts}
        tiles.append((min(used), max(used)))
    assert all(before[1] < after[0] for before, after in pairwise(tiles))


def test_convolutions_run_beside_each_other() -> None:
    steps = {}
    for kind in ("parallel", "serial"):
        graph, program = small_graph(24), Sequence()
        options = {"planType": kind, "perConvReservedTiles": "2"}
        args = [multiconv.ConvolutionArgs(x, w, p) for x, w, p in zip(*operands(graph, options), PARAMS, strict=True)]
        multiconv.convolution(graph, args, False, program, "fwd", options)
        steps[kind] = len(executed(program))
    assert steps["parallel"] < steps["serial"]


@pytest.mark.parametrize("kind", ["parallel", "serial"])
@pytest.mark.parametrize("pass_", ["fwd", "bwd", "wu"])
def test_results_are_those_of_single_convolutions(kind: str, pass_: str) -> None:
    rng = np.random.default_rng(5)
    options = {**OPTIONS, "planType": kind}
    backward = [poplin.getGradientParams(params) for params in PARAMS]

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        inputs, weights = operands(graph, options)
        args = [multiconv.CreateTensorArgs(params, {}, f"dy{number}") for number, params in enumerate(backward)]
        slopes = [multiconv.createInput(graph, args, number, options) for number in range(len(args))]
        alone: list[Tensor] = []
        if pass_ == "wu":
            updates = zip(slopes, weights, inputs, PARAMS, strict=True)
            copies = [graph.clone(w) for w in weights]
            for (s, w, x, p), copy in zip(updates, copies, strict=True):
                program.add(Copy(w, copy))
                poplin.convolutionWeightUpdate(graph, s, copy, x, p, -0.5, program)
            update = [
                multiconv.ConvWeightUpdateArgs(s, w, x, -0.5, p)
                for s, w, x, p in zip(slopes, weights, inputs, PARAMS, strict=True)
            ]
            multiconv.convolutionWeightUpdate(graph, update, program, "wu", options)
            together, alone = weights, copies
        else:
            turned, used, chosen = pass_ == "bwd", *((slopes, backward) if pass_ == "bwd" else (inputs, PARAMS))
            convs = [multiconv.ConvolutionArgs(x, w, p) for x, w, p in zip(used, weights, chosen, strict=True)]
            together = multiconv.convolution(graph, convs, turned, program, pass_, options)
            alone = [poplin.convolution(graph, c.inputs, c.weights, c.params, turned, program) for c in convs]
        given = {}
        for name, tensors in (("x", inputs), ("w", weights), ("dy", slopes)):
            for number, tensor in enumerate(tensors):
                given[f"{name}{number}"] = (tensor, rng.integers(-2, 3, tensor.shape()).astype(np.float32))
        pairs = [t.flatten() for pair in zip(together, alone, strict=True) for t in pair]
        sizes.append([t.numElements() for t in pairs])
        return given, concat(pairs)

    sizes: list[list[int]] = []
    for result in both_ways(build, 24):
        parts = np.split(result, np.cumsum(sizes[-1])[:-1])
        for together, alone in zip(parts[::2], parts[1::2], strict=True):
            assert np.abs(alone).max() > 0
            np.testing.assert_allclose(together, alone, atol=1e-4)


@pytest.mark.parametrize("kind", ["parallel", "serial"])
def test_updates_of_the_same_weights_follow_each_other(kind: str) -> None:
    params = ConvParams(FLOAT, 1, [4, 4], [1, 1], 8, 8, 1)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        weights, inputs = poplin.createWeights(graph, params, "w"), poplin.createInput(graph, params, "x")
        slopes = [poplin.createInput(graph, params, f"dy{number}") for number in range(2)]
        updates = [multiconv.ConvWeightUpdateArgs(slope, weights, inputs, -1.0, params) for slope in slopes]
        multiconv.convolutionWeightUpdate(graph, updates, program, "wu", {**OPTIONS, "planType": kind})
        values = {"w": (weights, np.zeros(weights.shape())), "x": (inputs, np.ones(inputs.shape()))}
        for number, slope in enumerate(slopes):
            values[f"dy{number}"] = (slope, np.full(slope.shape(), number + 1.0))
        return values, weights

    for result in both_ways(build, 8):
        assert (result == -16 * (1 + 2)).all()


@pytest.mark.parametrize("turned", [True, False])
def test_operands_may_lie_on_any_tiles(turned: bool) -> None:
    params = ConvParams(FLOAT, 1, [4, 4], [1, 1], 8, 8, 1)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        inputs = [poplin.createInput(graph, params, f"x{number}") for number in range(2)]
        weights = [poplin.createWeights(graph, params, f"w{number}") for number in range(2)]
        args = [multiconv.ConvolutionArgs(x, w, params) for x, w in zip(inputs, weights, strict=True)]
        outputs = multiconv.convolution(graph, args, turned, program, "conv", OPTIONS)
        values = {f"x{number}": (x, np.full(x.shape(), number + 1.0)) for number, x in enumerate(inputs)}
        values |= {f"w{number}": (w, np.ones(w.shape())) for number, w in enumerate(weights)}
        return values, concat([out.expand([0]) for out in outputs])

    for result in both_ways(build, 8):
        assert (result[0] == 8).all()
        assert (result[1] == 16).all()


def test_what_is_no_multi_convolution_is_refused() -> None:
    graph = small_graph(24)
    args = [multiconv.CreateTensorArgs(PARAMS[0])]
    with pytest.raises(poplibs_error, match=r"multiconv.createInput: 1 is not one of the 1 convolutions"):
        multiconv.createInput(graph, args, 1)
    with pytest.raises(invalid_option, match="planType is 'both'; it is parallel or serial"):
        multiconv.createWeights(graph, args, 0, {"planType": "both"})
    with pytest.raises(invalid_option, match="perConvReservedTiles is '0'; it is a number, at least 1"):
        multiconv.createWeights(graph, args, 0, {"perConvReservedTiles": "0"})
    with pytest.raises(invalid_option, match=r"multiconv.createInput has no option 'cycleBackOff'"):
        multiconv.createInput(graph, args, 0, {"cycleBackOff": "0.1"})
