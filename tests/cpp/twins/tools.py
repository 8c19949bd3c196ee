"""The twin of tests/cpp/programs/tools.cpp."""

from __future__ import annotations

from simulator import poplar
from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, Tensor
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops, poprand, poputil
from simulator.poplibs.poputil import graphfn
from tests.cpp.twins.results import Results

LINEAR = poplar.VariableMappingMethod.LINEAR


def results(found: Results) -> None:
    _tensors(found)
    _mappings(found)
    _functions(found)
    _loops(found)
    _reductions(found)
    _sums(found)
    _random(found)


def _tensors(found: Results) -> None:
    graph = found.graph
    a, b, c = found.given([3, 1]), found.given([2], 1), found.given([1], 2)
    found.read("broadcastToMatch", poplar.concat(list(poputil.broadcastToMatch(a, b, c))))
    pair = poputil.broadcastToMatch(found.given([1, 2]), found.given([3, 1]))
    found.read("broadcastToMatch of two", poplar.concat(*pair))
    found.read("broadcastToMatch of a shape", poputil.broadcastToMatch(a, [2, 3, 2]))
    vector = found.given([4])
    found.number("extendDimensionsToMatch", 2)
    found.number("detectVectorBroadcastOperands", 1)
    found.read("duplicate", poputil.duplicate(graph, vector, found.prog))
    found.read("cloneN", found.filled(poputil.cloneN(graph, vector, 2), found.given([2, 4])))
    found.number("checkAccuracyWhenCast", poputil.checkAccuracyWhenCast(graph.getTarget(), 0.1, FLOAT, HALF, 1e-6))
    regions = [poplar.Interval(0, 4), poplar.Interval(4, 10), poplar.Interval(12, 20)]
    found.number("mergeAdjacentRegions", len(poputil.mergeAdjacentRegions(regions)))
    found.number("splitRegions", poputil.splitRegions(regions, 2, 3)[1][0][0])
    found.number("splitRegionsBetweenWorkers", len(poputil.splitRegionsBetweenWorkers(graph.getTarget(), regions, 2)))
    found.number("intervalSequenceNumElements", poputil.intervalSequenceNumElements([regions, regions]))
    found.number("flattenIndex", poputil.flattenIndex([2, 3], [1, 2]))
    found.number("unflattenIndex", poputil.unflattenIndex([2, 3], 4)[1])
    found.number("balancedPartition", poputil.balancedPartition(10, 3)[0])


def _mappings(found: Results) -> None:
    graph, t = found.graph, found.given([8, 2])
    poputil.mapTensorLinearly(graph, t, 4, 2)
    found.number("calcLinearTileMapping", poputil.calcLinearTileMapping(graph, [8, 2], 4, 2)[1][0][0])
    found.number("calcLinearTileMapping of a tensor", poputil.calcLinearTileMapping(graph, t)[0][0].size())
    found.number("getTileImbalance", poputil.getTileImbalance(graph, t))
    found.number("getTileImbalance of a mapping", poputil.getTileImbalance(graph.getTileMapping(t)))
    found.number("dimIsSplitOverTiles", poputil.dimIsSplitOverTiles(graph, t, 0))
    found.number("dimIsSplitOverIPUs", poputil.dimIsSplitOverIPUs(graph, t, 0))
    found.number("createBroadcastOperand", poputil.createBroadcastOperand(graph, t, FLOAT, 1).numElements())
    tracker = poputil.TensorUseTracker(16)
    used = graph.addVariable(FLOAT, [8], "used")
    tracker.add(graph, 5, used.slice(4, 8))
    tracker.add(graph, 3, used.slice(0, 4))
    tracker.mapTensorsByUse(graph, 1, 1)
    found.number("mapTensorsByUse", len(graph.getTileMapping(used)[3]))


def _functions(found: Results) -> None:
    graph, prog = found.graph, found.prog
    t = found.given([4])

    def build(args: list[Tensor | None], seq: Sequence) -> None:
        first, second, third, _ = args
        assert first is not None
        assert second is not None
        popops.addInPlace(graph, second, first, seq)
        seq.add(Copy(second, third))
        args[3] = popops.add(graph, first, 1.0, seq)

    signature = [graphfn.input(t, "in"), graphfn.inout(t), graphfn.output(t), graphfn.created("new")]
    twice = graphfn.VoidFunction(graph, signature, build, False)
    args: list[Tensor | None] = [t, found.variable(t), found.variable(t), None]
    twice(args, prog)
    twice(args, prog)
    _, second, third, made = args
    found.read("VoidFunction", poplar.concat([second, third, made]))
    found.read("TensorFunction", popops.square(graph, made, prog))
    changed = found.variable(t)
    popops.negInPlace(graph, changed, prog)
    found.read("ProgramFunction", changed)


def _loops(found: Results) -> None:
    graph, prog = found.graph, found.prog
    total = graph.addVariable(FLOAT, [1], LINEAR)
    popops.zero(graph, total, prog)

    def add(counter: Tensor) -> Sequence:
        step = Sequence()
        popops.addInPlace(graph, total, popops.cast(graph, counter.flatten(), FLOAT, step), step)
        return step

    prog.add(popops.countedLoop(graph, 2, 8, 3, add))
    body = Sequence()
    popops.addInPlace(graph, total, 10.0, body)
    limit, count = found.indices([1], [4]), graph.addVariable(UNSIGNED_INT, [1], LINEAR)
    prog.add(popops.countedForLoop(graph, 1, limit, 1, body))
    prog.add(popops.countedForLoop(graph, count, 0, limit, 2, body))
    found.read("loops", total)
    popops.fill(graph, count, prog, 3)
    found.read("addForLoopCounterVertex", popops.addForLoopCounterVertex(graph, count, limit, 1, 0, prog))


def _reductions(found: Results) -> None:
    graph, prog, kinds = found.graph, found.prog, popops.Operation
    t, scale = found.given([4, 3]), found.scalar(2)
    scaled = popops.ReduceParams(kinds.ADD, False, scale)
    found.read("reduce scaled", popops.reduce(graph, t, [0], scaled, prog))
    updated = found.variable(found.given([3], 1))
    popops.reduceWithOutput(graph, t, updated, [0], popops.ReduceParams(kinds.ADD, True), prog)
    largest = popops.reduce(graph, t, [1], kinds.MAX, prog)
    least = popops.reduce(graph, t, [1], kinds.MIN, prog)
    squares = popops.reduce(graph, t, [0], kinds.SQUARE_ADD, prog)
    found.read("reductions in sets", poplar.concat([largest, least, squares, updated]))
    found.number("types of reduceMany", 11)
    found.read("reduceMany", popops.reduce(graph, t, [0], kinds.ADD, prog))
    found.read("allTrue", popops.allTrue(graph, popops.gt(graph, t, -2.0, prog), prog))
    found.read("hasNaN", popops.hasNaN(graph, t, prog))
    found.read("hasNaNOrInf", popops.hasNaNOrInf(graph, t, prog))


def _sums(found: Results) -> None:
    graph, prog = found.graph, found.prog
    t, other = found.variable(found.given([4])), found.given([4], 1)
    two, half = found.scalar(2), found.scalar(0.5)
    popops.scaledAddTo(graph, t, other, 0.5, prog)
    popops.scaledAddTo(graph, t, half, other, two, prog)
    popops.scaledAddTo(graph, t, 0.5, other, 2.0, prog, "sum", {"optimizeForSpeed": "true"})
    popops.scaledAddTo(graph, t, half, other, two, prog, popops.ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY)
    found.read("scaledAddTo", t)
    form = popops.ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY
    popops.scaledAddTo(graph, t, other, half, prog)
    popops.scaledAddTo(graph, t, 0.5, other, 2.0, prog, form)
    found.read("scaledAddTo again", t)
    popops.scaledSubtractFrom(graph, t, other, 0.5, prog)
    popops.scaledSubtractFrom(graph, t, other, half, prog)
    popops.scaledSubtractFrom(graph, t, 0.5, other, 2.0, prog)
    popops.scaledSubtractFrom(graph, t, half, other, two, prog)
    found.read("scaledSubtractFrom", t)
    halves = popops.cast(graph, t, HALF, prog)
    found.read("castWithOutput", halves)
    whole, back = popops.cast(graph, t, INT, prog), popops.cast(graph, halves, FLOAT, prog)
    found.read("casts", poplar.concat([popops.cast(graph, whole, FLOAT, prog), back, back]))
    accurate = popops.checkAccuracyWhenCast(graph, t[0], HALF, 1e-6, prog)
    found.read("checkAccuracyWhenCast of a tensor", accurate)


def _random(found: Results) -> None:
    graph, prog = found.graph, found.prog
    seed, like = found.indices([2], [7, 9]), found.given([6])
    poprand.setSeed(graph, seed, 1, prog)
    poprand.setHwSeeds(graph, poprand.getHwSeeds(graph, prog), prog)
    found.read("uniform", poprand.uniform(graph, seed, 1, like, FLOAT, -1, 1, prog))
    found.read("normal", poprand.normal(graph, seed, 2, like, FLOAT, 1, 2, prog))
    found.read("truncatedNormal", poprand.truncatedNormal(graph, seed, 3, like, FLOAT, 0, 1, 2, prog))
    found.read("logUniform", poprand.logUniform(graph, seed, 4, like, FLOAT, 1, 10, prog))
    found.read("bernoulli", poprand.bernoulli(graph, seed, 5, like, FLOAT, 0.5, prog))
    found.read("dropout", poprand.dropout(graph, seed, 6, like, like, 0.5, 2, prog))
    found.read("shapedDropout", poprand.shapedDropout(graph, seed, 7, like, like, 0.5, 2, prog))
