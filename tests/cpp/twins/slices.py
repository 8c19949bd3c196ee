"""The twin of tests/cpp/programs/slices.cpp."""

from __future__ import annotations

from simulator import poplar
from simulator.poplar import FLOAT, INT
from simulator.poplibs import popops
from tests.cpp.twins.results import Results


def results(found: Results) -> None:
    _slices(found)
    _embeddings(found)
    _gathers(found)
    _orders(found)
    _rows(found)


def _slices(found: Results) -> None:
    graph, prog = found.graph, found.prog
    t = found.filled(popops.createSliceableTensor(graph, FLOAT, [6, 3], [0], [2]), found.given([6, 3]))
    offset = found.indices([1], [3])
    found.read("dynamicSlice", popops.dynamicSlice(graph, t, offset, [0], [2], prog))
    part = popops.createSliceTensor(graph, t, [0], [2], 1)[0]
    popops.dynamicSliceWithOutput(graph, part, t, offset, [0], [2], prog)
    found.read("dynamicSliceWithOutput", part)
    popops.dynamicUpdate(graph, t, found.given([2, 3], 1), offset, [0], [2], prog)
    found.read("dynamicUpdate", t)
    found.number("getSliceMapping", len(popops.getSliceMapping(graph, t, [0], [2])))
    like = popops.createSliceableTensorFromSlice(graph, part, [0], [3])
    found.read("createSliceableTensorFromSlice", found.filled(like, found.given([6, 3])))


def _embeddings(found: Results) -> None:
    graph, prog = found.graph, found.prog
    options = {"usedForUpdate": "true", "availableMemoryProportion": "0.5"}
    plan = popops.embedding.plan(graph, FLOAT, 10, 4, [3], options)
    found.number("plans", 1)
    found.number("no plan", 1)
    matrix = popops.createSliceableTensor(graph, FLOAT, [10, 4], [0], [1], plan, options)
    found.filled(matrix, found.given([10, 4]))
    offsets = popops.createIndicesTensor(graph, [0], 3, plan, options)
    found.filled(offsets, found.indices([3, 1], [7, 0, 7]))
    found.read("multiSlice", popops.multiSlice(graph, matrix, offsets, [0], [1], prog, plan, options))
    updates = popops.createSliceTensor(graph, FLOAT, [10, 4], [0], [1], 3, plan, options)
    found.filled(updates, found.given([3, 1, 4], 2))
    popops.multiUpdateAdd(graph, matrix, updates, offsets, found.scalar(0.5), [0], [1], prog, plan, options)
    found.read("multiUpdateAdd", matrix)
    largest = found.variable(found.given([10, 4]))
    popops.multiUpdateMax(graph, largest, updates, offsets, [0], [1], prog)
    found.read("multiUpdateMax", largest)
    others = found.variable(found.given([10, 4]))
    popops.multiUpdate(graph, others, updates, found.indices([3, 1], [1, 5, 2]), [0], [1], prog)
    found.read("multiUpdate", others)


def _gathers(found: Results) -> None:
    graph, prog = found.graph, found.prog
    params = popops.GatherParams(100)
    table = found.filled(popops.createGatherInput(graph, FLOAT, [5, 3], 0, params), found.given([5, 3]))
    found.read("gather along", popops.gather(graph, table, found.indices([2, 2], [4, 0, 1, 1]), 0, prog))
    other = popops.createGatherInput(graph, FLOAT, [3, 3], [1, 1], [0, 1])
    found.filled(other, found.given([3, 3]))
    places = found.indices([2, 2], [1, 1, 2, 1])
    found.read("gather", popops.gather(graph, other, places, 1, [], [1, 1], [0, 1], [0, 1], prog))
    operand = found.variable(found.given([4, 2]))
    updates = found.given([2, 2], 3)
    popops.scatter(graph, operand, found.indices([2], [3, 1]), updates, 1, [1], [0], [0], prog)
    found.read("scatter", operand)
    popops.scatter(graph, operand, found.indices([2], [0, 1]), updates, 1, [1], [0], [0], popops.add, prog)
    found.read("scatter with a function", operand)


def _orders(found: Results) -> None:
    graph, prog = found.graph, found.prog
    params = popops.TopKParams(3, True, popops.SortOrder.DESCENDING)
    t = found.filled(popops.createTopKInput(graph, FLOAT, [2, 8], params), found.given([2, 8]))
    found.read("topK", popops.topK(graph, prog, t, params))
    smallest = popops.TopKParams(2, False, popops.SortOrder.ASCENDING)
    keys, values = popops.topKKeyValue(graph, prog, t, found.given([2, 8], 5), smallest)
    found.read("topKKeyValue keys", keys)
    found.read("topKKeyValue values", values)
    found.read("topKWithPermutation", popops.topKWithPermutation(graph, prog, t, params)[1])
    found.read("sort", popops.sort(graph, t, 1, prog))
    found.read("sortInPlace", popops.sort(graph, t, 1, prog))
    found.read("sortKeyValue", popops.sortKeyValue(graph, t, found.given([2, 8], 4), 0, prog))
    keys, values = found.variable(t), found.variable(found.given([2, 8], 4))
    popops.sortKeyValueInPlace(graph, keys, values, 1, prog)
    found.read("sortKeyValueInPlace", poplar.concat(keys, values))


def _rows(found: Results) -> None:
    graph, prog = found.graph, found.prog
    t = found.given([2, 3])
    padding = popops.padding
    found.read("pad", popops.pad(graph, t, [1, 0], [0, 2], 1.5))
    found.read("pad with a tensor", popops.pad(graph, t, [0, -1], [1, 0], found.scalar(2).reshape([1])))
    found.read("pad a dimension", popops.pad(graph, t, 1, 1, 0, 7, padding.MappingMethod.EDGE))
    found.read("pad with an integer", popops.pad(graph, t, [1, 0], [0, 1], 3))
    found.read("pad a dimension with zeros", popops.pad(graph, t, 0, 2, 1))
    found.read("pad a dimension with a tensor", popops.pad(graph, t, 1, -1, 1, found.scalar(4).reshape([1])))
    found.read("pad of its own", popops.pad(t, [1, 1], [0, 1], padding.Type.REFLECT))
    found.read("pad a dimension of its own", popops.pad(t, 1, 2, 1, padding.Type.EDGE))
    labels = found.indices([2], [2, popops.MASKED_LABEL_CODE])
    found.read("selectScalarFromRows", popops.selectScalarFromRows(graph, t, labels, prog))
    updated = found.variable(t)
    popops.updateScalarInRows(graph, updated, labels, prog)
    found.read("updateScalarInRows", updated)
    encoded, switched = graph.clone(t), graph.clone(t)
    popops.encodeOneHot(graph, labels, encoded, prog)
    found.read("encodeOneHot", encoded)
    popops.encodeOneHot(graph, labels, switched, prog, found.scalar(0.5), found.scalar(-1))
    found.read("encodeOneHot with values", switched)
    counted = graph.addVariable(INT, [5], poplar.VariableMappingMethod.LINEAR)
    popops.iota(graph, counted, -2, prog)
    found.read("iota", counted)
