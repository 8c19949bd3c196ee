"""poputil except linear mapping: copies between IPUs, use tracking, splitting of regions, names, broadcasting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, HALF, INT, Graph, Interval, IPUModel, Tensor, TensorCloneMethod, concat
from simulator.poplar.program import Sequence
from simulator.poplibs import popops, poputil
from simulator.poplibs.poputil import graphfn
from tests.poplibs.programs import both_ways, linear, small_graph


def two_ipus() -> Graph:
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = 2, 4
    return Graph(model.createDevice())


def test_linear_mapping_is_told_before_it_is_done() -> None:
    graph = small_graph(4)
    mapping = poputil.calcLinearTileMapping(graph, [30], 1, 4)
    assert mapping == [[(0, 8)], [(8, 16)], [(16, 24)], [(24, 30)]]
    t = graph.addVariable(HALF, [200], "t")
    assert poputil.calcLinearTileMapping(graph, t) == [[(0, 64)], [(64, 132)], [(132, 200)], []]
    assert poputil.calcLinearTileMapping(graph, [0], 1, 1) == [[], [], [], []]


@pytest.mark.parametrize(
    ("arguments", "tiles"),
    [
        ((), [0, 1, 2]),
        ((2,), [2, 3, 0]),
        ((3, True), [3, 0, 1]),
        ((0, False), [3, 2, 1]),
        ((2, False), [1, 0, 3]),
        ((64, 64, 1), [1, 2, 3]),
        ((64, 64, 1, False), [2, 1, 0]),
    ],
)
def test_linear_mapping_begins_at_a_tile_and_goes_round(arguments: tuple[int, ...], tiles: list[int]) -> None:
    graph = small_graph(4)
    t = graph.addVariable(HALF, [200], "t")
    poputil.mapTensorLinearlyWithOffset(graph, t, *arguments)
    mapping = graph.getTileMapping(t)
    assert [tile for tile in tiles if mapping[tile]] == tiles
    assert [mapping[tile][0].begin for tile in tiles] == sorted(mapping[tile][0].begin for tile in tiles)
    assert sum(part.size() for parts in mapping for part in parts) == 200


def test_an_offset_is_a_tile() -> None:
    graph = small_graph(4)
    t = graph.addVariable(HALF, [200], "t")
    poputil.mapTensorLinearlyWithOffset(graph, t, offset=3, ascending=False)
    assert graph.getTileMapping(t)[0][0].begin == 0
    with pytest.raises(poputil.poplibs_error, match="offset 4 is not one of the 4 tiles"):
        poputil.mapTensorLinearlyWithOffset(graph, t, 4)
    with pytest.raises(poputil.poplibs_error, match="no overload"):
        poputil.mapTensorLinearlyWithOffset(graph, t, 4, 4, 4, 4)
    with pytest.raises(poputil.poplibs_error, match="no overload"):
        poputil.mapTensorLinearlyWithOffset(graph, t, "1")


def test_groupings_are_those_of_the_layout() -> None:
    graph = small_graph(4)
    t = graph.addVariable(FLOAT, [4, 6, 8], "t")
    poputil.mapTensorLinearly(graph, t, 48, 48)
    assert poputil.detectInnermostGrouping(graph, t) == 8
    assert poputil.detectDimGroupings(graph, t) == [(2, 8), (1, 6)]
    assert poputil.detectDimGroupings(graph, t.dimShuffle([2, 0, 1])) == [(0, 8), (2, 6)]
    blocked = t.reshape([4, 6, 2, 4]).dimShuffle([0, 2, 1, 3]).reshape([4, 2, 24])
    assert poputil.detectDimGroupings(graph, blocked) == [(2, 4), (1, 2), (2, 6)]
    assert poputil.detectDimGroupings(graph, t[0].broadcast(3, 1)) == [(1, 8), (0, 6)]
    assert poputil.detectInnermostGrouping(graph, t.dimShuffle([0, 2, 1])) == 1
    with pytest.raises(poputil.poplibs_error, match="rank 0"):
        poputil.detectDimGroupings(graph, t[0][0][0])


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=1, max_size=3))
def test_partitions_are_runs_that_cover_the_tensor(dimensions: list[tuple[int, int]]) -> None:
    graph = small_graph(4)
    shape, counts = [size for size, _ in dimensions], [count for _, count in dimensions]
    t = poputil.createPartitionableTensor(graph, FLOAT, shape, counts, "t")
    assert t.shape() == shape
    seen = []

    def look(indices: list[int], part: Tensor) -> None:
        seen.append(tuple(indices))
        parts = [-(-size // count) for size, count in dimensions]
        assert part.shape() == [
            max(0, min(size - index * part_size, part_size))
            for size, index, part_size in zip(shape, indices, parts, strict=True)
        ]
        assert part.numElements() == 0 or part.isContiguous()

    poputil.iterateTensorPartitions(t, counts, look)
    assert seen == list(itertools.product(*map(range, counts)))
    assert not t.containsAliases()


def test_partitions_have_a_number_for_each_dimension() -> None:
    graph = small_graph(4)
    for counts in ([2], [2, 0]):
        with pytest.raises(poputil.poplibs_error, match="for each of 2 dimensions"):
            poputil.createPartitionableTensor(graph, FLOAT, [4, 4], counts)


def test_imbalance_is_what_the_fullest_tile_has_too_much() -> None:
    graph = small_graph(4)
    t = graph.addVariable(FLOAT, [20], "t")
    graph.setTileMapping(t[:12], 0)
    graph.setTileMapping(t[12:], 3)
    assert poputil.getTileImbalance(graph, t) == 12 - 5
    assert poputil.getTileImbalance(graph.getTileMapping(t), 8) == 4
    assert poputil.getTileImbalance(graph, t, 0, 4) == 4


def test_clones_on_another_ipu_keep_the_tiles() -> None:
    graph = two_ipus()
    t = graph.addVariable(FLOAT, [3, 4], "t")
    for row in range(3):
        graph.setTileMapping(t[row], 2 - row)
    program = Sequence()
    moved = poputil.copyToIpu(graph, t.transpose(), program, 1)
    assert moved.shape() == [4, 3]
    assert [graph.getTileMapping(moved[:, i])[6 - i] != [] for i in range(3)] == [True] * 3
    assert poputil.dimIsSplitOverTiles(graph, t, 0)
    assert not poputil.dimIsSplitOverTiles(graph, t, 1)
    assert not poputil.dimIsSplitOverIPUs(graph, t, 0)
    clone, source, destination = poputil.createIpuCopy(graph, t[0].broadcast(2, 0), 1)
    assert (clone.numElements(), source.shape(), destination.shape()) == (8, [4], [4])
    for bad in (lambda: poputil.cloneToIpu(graph, t, 2), lambda: poputil.dimIsSplitOverTiles(graph, t, 2)):
        with pytest.raises(poputil.poplibs_error):
            bad()
    with pytest.raises(poputil.poplibs_error, match="lies on IPUs"):
        poputil.cloneToIpu(graph, concat(t, moved.transpose()), 0)


def test_elements_go_to_the_tiles_that_use_them() -> None:
    graph = small_graph(4)
    t = graph.addVariable(FLOAT, [16], "t")
    tracker = poputil.TensorUseTracker(4)
    assert tracker.empty()
    tracker.add(graph, 1, t[0:6])
    other = poputil.TensorUseTracker(4)
    other.add(graph, 3, t[4:12])
    tracker.add(other)
    assert not tracker.empty()
    tracker.mapTensorsByUse(graph, 2, 2, True)
    assert graph.getTileMapping(t) == [[], [(0, 6)], [], [(6, 16)]]
    constrained = poputil.TensorUseTracker.MappingMethod.ConstrainMappingToUsedTiles
    shared = poputil.TensorUseTracker(4)
    for tile in range(4):
        shared.add(graph, tile, t)
    shared.mapTensorsByUse(graph, 2, 2, mappingMethod=constrained)
    assert [sum(i.size() for i in tile) for tile in graph.getTileMapping(t)] == [4, 4, 4, 4]
    odd = poputil.TensorUseTracker(4)
    odd.add(graph, 0, t[0:3])
    odd.add(graph, 2, t[3:16])
    odd.mapTensorsByUse(graph, 2, 1)
    assert graph.getTileMapping(t)[0] == [(0, 4)]
    odd.mapTensorsByUse(graph, 2, 1, mappingMethod=constrained)
    assert graph.getTileMapping(t)[0] == [(0, 3)]
    halo = poputil.TensorUseTracker(4)
    halo.add(graph, 0, t[0:10])
    halo.add(graph, 1, t[6:16])
    halo.mapTensorsByUse(graph, 1, 1, mappingMethod=poputil.TensorUseTracker.MappingMethod.OptimizeHaloRegions)
    assert graph.getTileMapping(t) == [[(0, 10)], [(10, 16)], [], []]
    with pytest.raises(poputil.poplibs_error, match="no tile 4"):
        halo.add(graph, 4, t)


def test_a_broadcast_operand_lies_where_it_is_met() -> None:
    graph = small_graph(4)
    full = graph.addVariable(FLOAT, [4, 6], "full")
    for row in range(4):
        graph.setTileMapping(full[row], row)
    by_row = poputil.createBroadcastOperand(graph, full, HALF, 0)
    assert by_row.shape() == [4]
    assert by_row.elementType() is HALF
    by_column = poputil.createBroadcastOperand(graph, full, FLOAT, 1)
    assert [len(t) for t in graph.getTileMapping(by_column)] == [1, 1, 1, 0]  # three grains of two, spread
    linear(graph, FLOAT, [2])
    dithered = poputil.createBroadcastOperand(graph, full, FLOAT, 1, True)
    assert graph.getTileMapping(dithered) != graph.getTileMapping(by_column)


def test_regions_are_split_in_whole_grains() -> None:
    target = small_graph(1).getTarget()
    assert poputil.splitRegions([(0, 10), (20, 26)], 4, 2) == [[(0, 8)], [(8, 10), (20, 26)]]
    assert poputil.splitRegions([(0, 10)], 1, 4, 4) == [[(0, 5)], [(5, 10)]]
    assert poputil.splitRegions([(0, 10)], 1, 1, 0, 4) == [[(0, 4)], [(4, 7)], [(7, 10)]]
    assert poputil.splitRegions([(0, 5)], 1, 1, 0, 100, 3) == [[(0, 3), (3, 5)]]
    assert poputil.splitRegions([], 1, 3) == []
    parts = poputil.splitRegionsBetweenWorkers(target, [[(0, 7), (9, 10)], [(3, 7)]], 2)
    assert parts == [[[(0, 2)]], [[(2, 4)]], [[(4, 6)]], [[(6, 7), (9, 10)]], [[(3, 5)]], [[(5, 7)]]]
    assert poputil.intervalSequenceNumElements(parts[3]) == 2
    assert poputil.mergeAdjacentRegions([(3, 5), (0, 3), (7, 9)]) == [(0, 5), (7, 9)]
    assert poputil.mergeAdjacentRegions([[(1, 2), (2, 3)], []]) == [[Interval(1, 3)], []]
    assert poputil.balancedPartition(10, 4) == [3, 3, 2, 2]


def test_indices_and_names() -> None:
    assert poputil.unflattenIndex([2, 3, 4], 17) == [1, 1, 1]
    assert poputil.flattenIndex([2, 3, 4], [1, 1, 1]) == 17
    assert poputil.templateVertex("popops::A", FLOAT, True, 3, "x") == "popops::A<float,true,3,x>"
    assert poputil.templateVertex("A") == "A"
    op = popops.expr.BinaryOpType.ADD
    assert poputil.templateVertex("A", op, HALF) == "A<popops::expr::BinaryOpType::ADD,half>"
    target = small_graph(1).getTarget()
    assert poputil.checkAccuracyWhenCast(target, 0.5, FLOAT, HALF, 1e-6)
    assert not poputil.checkAccuracyWhenCast(target, 0.1, FLOAT, HALF, 1e-6)
    assert not poputil.checkAccuracyWhenCast(target, 1e6, FLOAT, HALF, 1.0)
    for bad in (lambda: poputil.unflattenIndex([2, 2], 4), lambda: poputil.flattenIndex([2, 2], [0, 2])):
        with pytest.raises(poputil.poplibs_error):
            bad()


def test_shapes_are_matched_as_numpy_does() -> None:
    graph = small_graph(1)
    a, b = graph.addVariable(FLOAT, [4, 1], "a"), graph.addVariable(FLOAT, [3], "b")
    assert [t.shape() for t in poputil.broadcastToMatch(a, b)] == [[4, 3], [4, 3]]
    assert poputil.broadcastToMatch(b, [5, 3]).shape() == [5, 3]
    assert poputil.extendDimensionsToMatch(a, b).shape() == [1, 3]
    whole = graph.addVariable(FLOAT, [4, 3], "whole")
    assert poputil.detectVectorBroadcastOperands(whole, b)
    assert poputil.detectVectorBroadcastOperands(whole, a)
    assert not poputil.detectVectorBroadcastOperands(whole, whole)
    assert not poputil.detectVectorBroadcastOperands(b, whole)
    for bad in (lambda: poputil.broadcastToMatch(whole, a[:2]), lambda: poputil.broadcastToMatch(whole, [3])):
        with pytest.raises(poputil.poplibs_error, match="do not match"):
            bad()


@pytest.mark.parametrize("inlined", [True, False])
def test_a_graph_function_is_built_once_and_used_on_other_tensors(inlined: bool) -> None:
    graph, program = small_graph(2), Sequence()
    a, b, c = (linear(graph, INT, [6], name) for name in "abc")

    def build(args: list[Tensor | None], seq: Sequence) -> Tensor:
        popops.addInPlace(graph, args[0], args[1], seq)
        return popops.mul(graph, args[0], 2, seq)

    f = graphfn.TensorFunction(graph, [graphfn.inout(a), graphfn.input(b)], build, inlined)
    sets = len(graph.store.compute_set_names)
    doubled = [f([a, b], program), f([c, b], program)]
    assert len(graph.store.compute_set_names) == sets
    from slow_machine import SlowMachine

    if inlined:
        machine = SlowMachine(graph)
        for tensor, value in ((a, 1), (b, 10), (c, 100)):
            machine.write(tensor, np.full(6, value))
        machine.run(program)
        assert machine.read(a).tolist() == [11] * 6
        assert machine.read(c).tolist() == [110] * 6
        assert [machine.read(d).tolist() for d in doubled] == [[22] * 6, [220] * 6]
    with pytest.raises(poputil.poplibs_error, match="takes 3 arguments"):
        f([a], program)
    with pytest.raises(poputil.poplibs_error, match="did not create"):
        graphfn.VoidFunction(graph, [graphfn.created("x")], lambda args, seq: None)


def test_duplicates_have_values_and_layout() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, object]], Tensor]:
        a = linear(graph, FLOAT, [3, 4])
        return {"a": (a, values)}, poputil.duplicate(graph, a, program, "copy")

    by_vertex, by_kernel = both_ways(build)
    assert np.array_equal(by_vertex, values)
    assert np.array_equal(by_kernel, values)
    graph = small_graph(3)
    t = linear(graph, FLOAT, [5])
    method = TensorCloneMethod.CREATE_NEW_ORDER
    assert poputil.cloneN(graph, t, 3, "many", method).shape() == [3, 5]
