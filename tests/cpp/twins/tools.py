"""The twin of tests/cpp/programs/tools.cpp."""

from __future__ import annotations

from simulator import poplar
from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, Tensor
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import popops, poprand, poputil
from simulator.poplibs.poputil import graphfn
from tests.cpp.twins.results import Results

LINEAR = poplar.VariableMappingMethod.LINEAR


def run(results: Results) -> None:
    _tensors(results)
    _mappings(results)
    _functions(results)
    _loops(results)
    _reductions(results)
    _sums(results)
    _random(results)


def _tensors(results: Results) -> None:
    graph = results.graph
    a, b, c = results.operand([3, 1]), results.operand([2], 1), results.operand([1], 2)
    results.read("broadcastToMatch", poplar.concat(list(poputil.broadcastToMatch(a, b, c))))
    pair = poputil.broadcastToMatch(results.operand([1, 2]), results.operand([3, 1]))
    results.read("broadcastToMatch of two", poplar.concat(*pair))
    results.read("broadcastToMatch of a shape", poputil.broadcastToMatch(a, [2, 3, 2]))
    vector = results.operand([4])
    results.number("extendDimensionsToMatch", 2)
    results.number("detectVectorBroadcastOperands", 1)
    results.read("duplicate", poputil.duplicate(graph, vector, results.prog))
    results.read("cloneN", results.filled(poputil.cloneN(graph, vector, 2), results.operand([2, 4])))
    results.number("checkAccuracyWhenCast", poputil.checkAccuracyWhenCast(graph.getTarget(), 0.1, FLOAT, HALF, 1e-6))
    regions = [poplar.Interval(0, 4), poplar.Interval(4, 10), poplar.Interval(12, 20)]
    results.number("mergeAdjacentRegions", len(poputil.mergeAdjacentRegions(regions)))
    results.number("splitRegions", poputil.splitRegions(regions, 2, 3)[1][0][0])
    results.number("splitRegionsBetweenWorkers", len(poputil.splitRegionsBetweenWorkers(graph.getTarget(), regions, 2)))
    results.number("intervalSequenceNumElements", poputil.intervalSequenceNumElements([regions, regions]))
    results.number("flattenIndex", poputil.flattenIndex([2, 3], [1, 2]))
    results.number("unflattenIndex", poputil.unflattenIndex([2, 3], 4)[1])
    results.number("balancedPartition", poputil.balancedPartition(10, 3)[0])


def _mappings(results: Results) -> None:
    graph, t = results.graph, results.operand([8, 2])
    poputil.mapTensorLinearly(graph, t, 4, 2)
    results.number("calcLinearTileMapping", poputil.calcLinearTileMapping(graph, [8, 2], 4, 2)[1][0][0])
    results.number("calcLinearTileMapping of a tensor", poputil.calcLinearTileMapping(graph, t)[0][0].size())
    results.number("getTileImbalance", poputil.getTileImbalance(graph, t))
    results.number("getTileImbalance of a mapping", poputil.getTileImbalance(graph.getTileMapping(t)))
    results.number("dimIsSplitOverTiles", poputil.dimIsSplitOverTiles(graph, t, 0))
    results.number("dimIsSplitOverIPUs", poputil.dimIsSplitOverIPUs(graph, t, 0))
    results.number("createBroadcastOperand", poputil.createBroadcastOperand(graph, t, FLOAT, 1).numElements())
    poputil.mapTensorLinearlyWithOffset(graph, t, 4, 2, 14)
    results.number("mapTensorLinearlyWithOffset", len(graph.getTileMapping(t)[1]))
    poputil.mapTensorLinearlyWithOffset(graph, t, 3, False)
    results.number("mapTensorLinearlyWithOffset down", len(graph.getTileMapping(t)[12]))
    results.number("detectInnermostGrouping", poputil.detectInnermostGrouping(graph, t))
    results.number("detectDimGroupings", poputil.detectDimGroupings(graph, t)[1].size)
    parts, runs = poputil.createPartitionableTensor(graph, FLOAT, [5, 6], [2, 3]), []
    poputil.iterateTensorPartitions(parts, [2, 3], lambda _, part: runs.append(part.isContiguous()))
    results.number("createPartitionableTensor", sum(runs))
    tracker = poputil.TensorUseTracker(16)
    used = graph.addVariable(FLOAT, [8], "used")
    tracker.add(graph, 5, used.slice(4, 8))
    tracker.add(graph, 3, used.slice(0, 4))
    tracker.mapTensorsByUse(graph, 1, 1)
    results.number("mapTensorsByUse", len(graph.getTileMapping(used)[3]))


def _functions(results: Results) -> None:
    graph, prog = results.graph, results.prog
    t = results.operand([4])

    def build(args: list[Tensor | None], seq: Sequence) -> None:
        first, second, third, _ = args
        assert first is not None
        assert second is not None
        popops.addInPlace(graph, second, first, seq)
        seq.add(Copy(second, third))
        args[3] = popops.add(graph, first, 1.0, seq)

    signature = [graphfn.input(t, "in"), graphfn.inout(t), graphfn.output(t), graphfn.created("new")]
    twice = graphfn.VoidFunction(graph, signature, build, False)
    args: list[Tensor | None] = [t, results.variable(t), results.variable(t), None]
    twice(args, prog)
    twice(args, prog)
    _, second, third, new = args
    results.read("VoidFunction", poplar.concat([second, third, new]))
    results.read("TensorFunction", popops.square(graph, new, prog))
    changed = results.variable(t)
    popops.negInPlace(graph, changed, prog)
    results.read("ProgramFunction", changed)


def _loops(results: Results) -> None:
    graph, prog = results.graph, results.prog
    total = graph.addVariable(FLOAT, [1], LINEAR)
    popops.zero(graph, total, prog)

    def add(counter: Tensor) -> Sequence:
        step = Sequence()
        popops.addInPlace(graph, total, popops.cast(graph, counter.flatten(), FLOAT, step), step)
        return step

    prog.add(popops.countedLoop(graph, 2, 8, 3, add))
    body = Sequence()
    popops.addInPlace(graph, total, 10.0, body)
    limit, count = results.indices([1], [4]), graph.addVariable(UNSIGNED_INT, [1], LINEAR)
    prog.add(popops.countedForLoop(graph, 1, limit, 1, body))
    prog.add(popops.countedForLoop(graph, count, 0, limit, 2, body))
    results.read("loops", total)
    popops.fill(graph, count, prog, 3)
    results.read("addForLoopCounterVertex", popops.addForLoopCounterVertex(graph, count, limit, 1, 0, prog))


def _reductions(results: Results) -> None:
    graph, prog, kinds = results.graph, results.prog, popops.Operation
    t, scale = results.operand([4, 3]), results.scalar(2)
    scaled = popops.ReduceParams(kinds.ADD, False, scale)
    results.read("reduce scaled", popops.reduce(graph, t, [0], scaled, prog))
    updated = results.variable(results.operand([3], 1))
    popops.reduceWithOutput(graph, t, updated, [0], popops.ReduceParams(kinds.ADD, True), prog)
    largest = popops.reduce(graph, t, [1], kinds.MAX, prog)
    least = popops.reduce(graph, t, [1], kinds.MIN, prog)
    squares = popops.reduce(graph, t, [0], kinds.SQUARE_ADD, prog)
    results.read("reductions in sets", poplar.concat([largest, least, squares, updated]))
    results.number("types of reduceMany", 11)
    results.read("reduceMany", popops.reduce(graph, t, [0], kinds.ADD, prog))
    results.read("allTrue", popops.allTrue(graph, popops.gt(graph, t, -2.0, prog), prog))
    results.read("hasNaN", popops.hasNaN(graph, t, prog))
    results.read("hasNaNOrInf", popops.hasNaNOrInf(graph, t, prog))


def _sums(results: Results) -> None:
    graph, prog = results.graph, results.prog
    t, other = results.variable(results.operand([4])), results.operand([4], 1)
    two, half = results.scalar(2), results.scalar(0.5)
    popops.scaledAddTo(graph, t, other, 0.5, prog)
    popops.scaledAddTo(graph, t, half, other, two, prog)
    popops.scaledAddTo(graph, t, 0.5, other, 2.0, prog, "sum", {"optimizeForSpeed": "true"})
    popops.scaledAddTo(graph, t, half, other, two, prog, popops.ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY)
    results.read("scaledAddTo", t)
    form = popops.ScaledAddSpecialisation.X_MINUS_AX_PLUS_BY
    popops.scaledAddTo(graph, t, other, half, prog)
    popops.scaledAddTo(graph, t, 0.5, other, 2.0, prog, form)
    results.read("scaledAddTo again", t)
    popops.scaledSubtractFrom(graph, t, other, 0.5, prog)
    popops.scaledSubtractFrom(graph, t, other, half, prog)
    popops.scaledSubtractFrom(graph, t, 0.5, other, 2.0, prog)
    popops.scaledSubtractFrom(graph, t, half, other, two, prog)
    results.read("scaledSubtractFrom", t)
    halves = popops.cast(graph, t, HALF, prog)
    results.read("castWithOutput", halves)
    integers, back = popops.cast(graph, t, INT, prog), popops.cast(graph, halves, FLOAT, prog)
    results.read("casts", poplar.concat([popops.cast(graph, integers, FLOAT, prog), back, back]))
    accurate = popops.checkAccuracyWhenCast(graph, t[0], HALF, 1e-6, prog)
    results.read("checkAccuracyWhenCast of a tensor", accurate)


def _random(results: Results) -> None:
    graph, prog = results.graph, results.prog
    seed, like = results.indices([2], [7, 9]), results.operand([6])
    poprand.setSeed(graph, seed, 1, prog)
    poprand.setHwSeeds(graph, poprand.getHwSeeds(graph, prog), prog)
    results.read("uniform", poprand.uniform(graph, seed, 1, like, FLOAT, -1, 1, prog))
    results.read("normal", poprand.normal(graph, seed, 2, like, FLOAT, 1, 2, prog))
    results.read("truncatedNormal", poprand.truncatedNormal(graph, seed, 3, like, FLOAT, 0, 1, 2, prog))
    results.read("logUniform", poprand.logUniform(graph, seed, 4, like, FLOAT, 1, 10, prog))
    results.read("bernoulli", poprand.bernoulli(graph, seed, 5, like, FLOAT, 0.5, prog))
    results.read("dropout", poprand.dropout(graph, seed, 6, like, like, 0.5, 2, prog))
    results.read("shapedDropout", poprand.shapedDropout(graph, seed, 7, like, like, 0.5, 2, prog))
