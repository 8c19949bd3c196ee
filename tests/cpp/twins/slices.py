"""The twin of tests/cpp/programs/slices.cpp."""

from __future__ import annotations

from simulator import poplar
from simulator.poplar import FLOAT, INT
from simulator.poplibs import popops
from tests.cpp.twins.results import Results


def run(results: Results) -> None:
    _slices(results)
    _buffers(results)
    _embeddings(results)
    _gathers(results)
    _orders(results)
    _rows(results)


def _slices(results: Results) -> None:
    graph, prog = results.graph, results.prog
    t = results.filled(popops.createSliceableTensor(graph, FLOAT, [6, 3], [0], [2]), results.operand([6, 3]))
    offset = results.indices([1], [3])
    results.read("dynamicSlice", popops.dynamicSlice(graph, t, offset, [0], [2], prog))
    part = popops.createSliceTensor(graph, t, [0], [2], 1)[0]
    popops.dynamicSliceWithOutput(graph, part, t, offset, [0], [2], prog)
    results.read("dynamicSliceWithOutput", part)
    popops.dynamicUpdate(graph, t, results.operand([2, 3], 1), offset, [0], [2], prog)
    results.read("dynamicUpdate", t)
    results.number("getSliceMapping", len(popops.getSliceMapping(graph, t, [0], [2])))
    like = popops.createSliceableTensorFromSlice(graph, part, [0], [3])
    results.read("createSliceableTensorFromSlice", results.filled(like, results.operand([6, 3])))


def _buffers(results: Results) -> None:
    graph, prog = results.graph, results.prog
    buffer = popops.CircBuf(graph, FLOAT, 3, [2, 3], "buffer")
    for i in range(4):
        buffer.add(results.operand([2, 3], i), prog, "add")
    results.read("CircBuf", poplar.concat(buffer.prev(0, prog), buffer.prev(2, prog, "oldest")))
    results.read("getIndex", buffer.getIndex())
    rows = results.variable(results.operand([5, 3]))
    places = results.indices([2], [2, 1]), results.indices([2], [0, 3]), results.indices([2], [3, 0])
    popops.sequenceSlice(graph, results.operand([4, 3], 1), rows, *places, True, prog)
    results.read("sequenceSlice", rows)
    image = popops.createNormaliseImageInput(graph, FLOAT, [2, 2, 3])
    results.filled(image, results.operand([2, 2, 3]))
    offsets, scales = results.operand([3]), results.operand([3], 1)
    results.read("normaliseImage", popops.normaliseImage(graph, prog, image, 0.5, offsets, scales))
    columns = results.variable(results.operand([16, 8])).transpose()
    results.read("regroupIfBeneficial", popops.rearrange.regroupIfBeneficial(graph, columns, 8, prog))
    reference = results.variable(results.operand([8, 16]))
    results.read("regroup as", popops.rearrange.regroupIfBeneficial(graph, columns, reference, prog))
    results.read("grains", results.indices([1], [popops.rearrange.getMinimumRegroupGrainSize(FLOAT)]))


def _embeddings(results: Results) -> None:
    graph, prog = results.graph, results.prog
    options = {"usedForUpdate": "true", "availableMemoryProportion": "0.5"}
    plan = popops.embedding.plan(graph, FLOAT, 10, 4, [3], options)
    results.number("plans", 1)
    results.number("no plan", 1)
    matrix = popops.createSliceableTensor(graph, FLOAT, [10, 4], [0], [1], plan, options)
    results.filled(matrix, results.operand([10, 4]))
    offsets = popops.createIndicesTensor(graph, [0], 3, plan, options)
    results.filled(offsets, results.indices([3, 1], [7, 0, 7]))
    results.read("multiSlice", popops.multiSlice(graph, matrix, offsets, [0], [1], prog, plan, options))
    updates = popops.createSliceTensor(graph, FLOAT, [10, 4], [0], [1], 3, plan, options)
    results.filled(updates, results.operand([3, 1, 4], 2))
    popops.multiUpdateAdd(graph, matrix, updates, offsets, results.scalar(0.5), [0], [1], prog, plan, options)
    results.read("multiUpdateAdd", matrix)
    largest = results.variable(results.operand([10, 4]))
    popops.multiUpdateMax(graph, largest, updates, offsets, [0], [1], prog)
    results.read("multiUpdateMax", largest)
    others = results.variable(results.operand([10, 4]))
    popops.multiUpdate(graph, others, updates, results.indices([3, 1], [1, 5, 2]), [0], [1], prog)
    results.read("multiUpdate", others)


def _gathers(results: Results) -> None:
    graph, prog = results.graph, results.prog
    params = popops.GatherParams(100)
    table = results.filled(popops.createGatherInput(graph, FLOAT, [5, 3], 0, params), results.operand([5, 3]))
    results.read("gather along", popops.gather(graph, table, results.indices([2, 2], [4, 0, 1, 1]), 0, prog))
    other = popops.createGatherInput(graph, FLOAT, [3, 3], [1, 1], [0, 1])
    results.filled(other, results.operand([3, 3]))
    places = results.indices([2, 2], [1, 1, 2, 1])
    results.read("gather", popops.gather(graph, other, places, 1, [], [1, 1], [0, 1], [0, 1], prog))
    operand = results.variable(results.operand([4, 2]))
    updates = results.operand([2, 2], 3)
    popops.scatter(graph, operand, results.indices([2], [3, 1]), updates, 1, [1], [0], [0], prog)
    results.read("scatter", operand)
    popops.scatter(graph, operand, results.indices([2], [0, 1]), updates, 1, [1], [0], [0], popops.add, prog)
    results.read("scatter with a function", operand)


def _orders(results: Results) -> None:
    graph, prog = results.graph, results.prog
    params = popops.TopKParams(3, True, popops.SortOrder.DESCENDING)
    t = results.filled(popops.createTopKInput(graph, FLOAT, [2, 8], params), results.operand([2, 8]))
    results.read("topK", popops.topK(graph, prog, t, params))
    smallest = popops.TopKParams(2, False, popops.SortOrder.ASCENDING)
    keys, values = popops.topKKeyValue(graph, prog, t, results.operand([2, 8], 5), smallest)
    results.read("topKKeyValue keys", keys)
    results.read("topKKeyValue values", values)
    results.read("topKWithPermutation", popops.topKWithPermutation(graph, prog, t, params)[1])
    results.read("sort", popops.sort(graph, t, 1, prog))
    results.read("sortInPlace", popops.sort(graph, t, 1, prog))
    results.read("sortKeyValue", popops.sortKeyValue(graph, t, results.operand([2, 8], 4), 0, prog))
    keys, values = results.variable(t), results.variable(results.operand([2, 8], 4))
    popops.sortKeyValueInPlace(graph, keys, values, 1, prog)
    results.read("sortKeyValueInPlace", poplar.concat(keys, values))


def _rows(results: Results) -> None:
    graph, prog = results.graph, results.prog
    t = results.operand([2, 3])
    padding = popops.padding
    results.read("pad", popops.pad(graph, t, [1, 0], [0, 2], 1.5))
    results.read("pad with a tensor", popops.pad(graph, t, [0, -1], [1, 0], results.scalar(2).reshape([1])))
    results.read("pad a dimension", popops.pad(graph, t, 1, 1, 0, 7, padding.MappingMethod.EDGE))
    results.read("pad with an integer", popops.pad(graph, t, [1, 0], [0, 1], 3))
    results.read("pad a dimension with zeros", popops.pad(graph, t, 0, 2, 1))
    results.read("pad a dimension with a tensor", popops.pad(graph, t, 1, -1, 1, results.scalar(4).reshape([1])))
    results.read("pad of its own", popops.pad(t, [1, 1], [0, 1], padding.Type.REFLECT))
    results.read("pad a dimension of its own", popops.pad(t, 1, 2, 1, padding.Type.EDGE))
    labels = results.indices([2], [2, popops.MASKED_LABEL_CODE])
    results.read("selectScalarFromRows", popops.selectScalarFromRows(graph, t, labels, prog))
    updated = results.variable(t)
    popops.updateScalarInRows(graph, updated, labels, prog)
    results.read("updateScalarInRows", updated)
    encoded, switched = graph.clone(t), graph.clone(t)
    popops.encodeOneHot(graph, labels, encoded, prog)
    results.read("encodeOneHot", encoded)
    popops.encodeOneHot(graph, labels, switched, prog, results.scalar(0.5), results.scalar(-1))
    results.read("encodeOneHot with values", switched)
    counted = graph.addVariable(INT, [5], poplar.VariableMappingMethod.LINEAR)
    popops.iota(graph, counted, -2, prog)
    results.read("iota", counted)
