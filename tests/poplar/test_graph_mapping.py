"""Tile mappings against a slow twin with one tile per element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.regions import elements
from simulator.poplar import (
    FLOAT,
    HALF,
    INT,
    UNSIGNED_CHAR,
    Graph,
    Interval,
    Target,
    TargetType,
    TensorCloneMethod,
    Type,
    VariableMappingMethod,
    concat,
    graph_object_creation_error,
    index_error,
    invalid_tile_mapping,
)
from simulator.poplibs.poputil import mapTensorLinearly

TILES = 8


def new_graph(tiles: int = TILES) -> Graph:
    return Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=tiles))


def tile_of_each_element(graph: Graph) -> np.ndarray:
    ends, tiles = graph.store.mapping_table()
    return np.repeat(tiles, np.diff(np.concatenate([[0], ends])))


@st.composite
def writes(draw: st.DrawFn) -> list[tuple[int, int, int, int, int]]:
    """(variable, begin, end, step, tile) of slices of three variables with 12, 5 and 1 elements."""
    out = []
    for _ in range(draw(st.integers(0, 12))):
        v = draw(st.integers(0, 2))
        n = (12, 5, 1)[v]
        begin = draw(st.integers(0, n))
        out.append((v, begin, draw(st.integers(begin, n)), draw(st.integers(1, 3)), draw(st.integers(0, TILES - 1))))
    return out


@given(writes(), st.integers(0, 12))
def test_the_last_write_of_an_element_wins(all_writes: list[tuple[int, int, int, int, int]], look_at: int) -> None:
    graph = new_graph()
    variables = [graph.addVariable(INT, [n]) for n in (12, 5, 1)]
    twin = np.full(18, -1)
    base = (0, 12, 17)
    for i, (v, begin, end, step, tile) in enumerate(all_writes):
        graph.setTileMapping(variables[v][begin:end:step], tile)
        twin[base[v] + begin : base[v] + end : step] = tile
        if i == look_at:  # asking in between must not change what comes after
            assert np.array_equal(tile_of_each_element(graph), twin)
    assert np.array_equal(tile_of_each_element(graph), twin)
    ends, tiles = graph.store.mapping_table()
    assert (np.diff(ends) > 0).all()
    whole = concat([variables[2], variables[0].reverse(0), variables[1]])
    begins, ends, tiles = graph.getTileMappingIntervals(whole)
    assert np.array_equal(np.repeat(tiles, ends - begins), twin[elements(*whole.regions())])


def test_a_list_per_tile_is_a_mapping_of_the_flattened_tensor() -> None:
    graph = new_graph(3)
    m = graph.addVariable(INT, [2, 3])
    graph.setTileMapping(m.transpose(), [[Interval(0, 1)], [], [(1, 4), (4, 6)]])
    # Element 0 of the transpose is element 0 of m, the others are everything else.
    assert graph.getTileMapping(m) == [[Interval(0, 1)], [], [Interval(1, 6)]]
    assert graph.getTileMapping(m.transpose()) == [[Interval(0, 1)], [], [Interval(1, 6)]]
    assert graph.getTileMapping(m.flatten().reverse(0))[0] == [Interval(5, 6)]


def test_incomplete_mappings() -> None:
    graph = new_graph(2)
    t = graph.addVariable(INT, [4], "half")
    graph.setTileMapping(t.slice(0, 2), 1)
    with pytest.raises(invalid_tile_mapping, match=r"\(half\) is not mapped: element 2 has no tile"):
        graph.getTileMapping(t)
    assert graph.getTileMapping(t, False) == [[], [Interval(0, 2)]]


def test_constants_are_left_out_of_the_variable_mapping() -> None:
    graph = new_graph(2)
    both = concat(graph.addConstant(INT, [2], 7), graph.addVariable(INT, [3]))
    graph.setTileMapping(both, 1)
    assert graph.getTileMapping(both)[1] == [Interval(0, 5)]
    assert graph.getVariableTileMapping(both) == [[], [Interval(2, 5)]]


def test_a_target_of_one_tile_maps_by_itself() -> None:
    graph = new_graph(1)
    assert graph.getTileMapping(graph.addVariable(INT, [3])) == [[Interval(0, 3)]]


def test_linear_mapping_gives_whole_grains_of_at_least_128_bytes() -> None:
    graph = new_graph(4)
    small = graph.addVariable(FLOAT, [40], VariableMappingMethod.LINEAR, "small")
    assert [sum(i.size() for i in m) for m in graph.getTileMapping(small)] == [40, 0, 0, 0]
    large = graph.addVariable(HALF, [1001], VariableMappingMethod.LINEAR)
    assert [sum(i.size() for i in m) for m in graph.getTileMapping(large)] == [248, 252, 252, 249]


@given(count=st.integers(0, 300), tiles=st.integers(1, 9), type_=st.sampled_from([FLOAT, HALF, INT, UNSIGNED_CHAR]))
def test_linear_mapping_is_that_of_poputil(count: int, tiles: int, type_: Type) -> None:
    graph = new_graph(tiles)
    t, u = graph.addVariable(type_, [count], VariableMappingMethod.LINEAR), graph.addVariable(type_, [count])
    mapTensorLinearly(graph, u)
    assert graph.getTileMapping(t) == graph.getTileMapping(u)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (8, "Tile 8 is out of range: the graph has 8 tiles, 0 to 7"),
        (-1, "Tile -1 is out of range"),
        ([[(0, 5)]], r"has 4 elements; interval \[0, 5\) lies outside"),
        ([[(0, 2)], [(1, 4)]], "element 1 is mapped twice"),
        ([[]] * 8 + [[(0, 4)]], "Tile 8 is out of range"),
    ],
)
def test_impossible_mappings_are_refused(mapping: object, message: str) -> None:
    graph = new_graph()
    t = graph.addVariable(INT, [4])
    with pytest.raises(invalid_tile_mapping, match=message):
        graph.setTileMapping(t, mapping)


def test_tensors_of_other_graphs_are_refused() -> None:
    with pytest.raises(graph_object_creation_error, match="another graph"):
        new_graph().setTileMapping(new_graph().addVariable(INT, [1]), 0)


def test_intervals_by_columns_map_like_a_list_for_each_tile() -> None:
    graph = Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=4))
    t = graph.addVariable(INT, [2, 3])
    graph.setTileMappingIntervals(t, np.array([4, 0, 2]), np.array([6, 2, 4]), np.array([1, 1, 3]))
    assert graph.getTileMapping(t) == [[], [Interval(0, 2), Interval(4, 6)], [], [Interval(2, 4)]]


def test_virtual_graphs_share_state_and_renumber_tiles() -> None:
    graph = Graph(Target(TargetType.IPU_MODEL, num_ipus=2, tiles_per_ipu=4))
    upper = graph.createVirtualGraph(5, 8)
    assert upper.getTarget().getNumTiles() == 3
    t = upper.addVariable(INT, [2])
    upper.setTileMapping(t, 1)
    assert graph.getTileMapping(t)[6] == [Interval(0, 2)]
    assert upper.getTileMapping(t) == [[], [Interval(0, 2)], []]
    assert upper.convertTileToTopLevelGraphTile(2) == 7
    assert upper.convertTopLevelGraphTileToTile(7) == 2
    assert upper.getTopLevelGraph() is graph
    some = graph.createVirtualGraph([3, 1])
    some.setTileMapping(t, 3)
    assert graph.getTileMapping(t)[5] == [Interval(0, 2)]
    assert graph.createVirtualGraph(2).getTarget().getTilesPerIPU() == 2
    outside = graph.addVariable(INT, [1])
    graph.setTileMapping(outside, 0)
    with pytest.raises(invalid_tile_mapping, match="outside this virtual graph"):
        upper.getTileMapping(outside)
    assert upper.getTileMapping(outside, True, True) == [[], [], []]
    with pytest.raises(invalid_tile_mapping, match="not within one IPU"):
        graph.createVirtualGraph(3, 6)
    with pytest.raises(invalid_tile_mapping, match="different tiles"):
        graph.createVirtualGraph([1, 1])


def test_physical_tiles_of_mk1_skip_the_unused_ones() -> None:
    graph = Graph(Target(TargetType.IPU, chip_of("ipu1"), tiles_per_ipu=1216, bytes_per_tile=1 << 18))
    physical = [graph.convertVirtualTileToPhysicalTile(t) for t in range(1216)]
    assert len(set(physical)) == 1216
    assert max(physical) == 15 * 80 + 75
    assert all(graph.convertPhysicalTileToVirtualTile(p) == t for t, p in enumerate(physical))
    with pytest.raises(invalid_tile_mapping, match="Physical tile 76 is not in use"):
        graph.convertPhysicalTileToVirtualTile(76)


def chip_of(name: str):
    from simulator.machine.targets import CHIPS

    return CHIPS[name]


def test_clones_keep_order_and_mapping() -> None:
    graph = new_graph()
    t = graph.addVariable(INT, [2, 3])
    for i in range(6):
        graph.setTileMapping(t.flatten()[i], i)
    twin = graph.clone(t.transpose(), "copy")
    assert twin.shape() == [3, 2]
    assert not twin.intersectsWith(t)
    assert graph.getTileMapping(twin) == graph.getTileMapping(t.transpose())
    # The elements of the clone lie in memory as those of the original do.
    assert np.array_equal(twin.regions()[0] - 6, t.transpose().regions()[0])
    ordered = graph.clone(t.transpose(), "new order", TensorCloneMethod.CREATE_NEW_ORDER)
    assert ordered.isContiguous()
    assert graph.getTileMapping(ordered) == graph.getTileMapping(t.transpose())
    assert graph.clone(FLOAT, t).elementType() is FLOAT


def test_clones_of_repeated_elements() -> None:
    graph = new_graph()
    t = graph.addVariable(INT, [2])
    graph.setTileMapping(t, 3)
    wide = t.expand([0]).broadcast(4, 0)
    assert not graph.clone(wide).containsAliases()
    same = graph.clone(wide, method=TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES)
    assert same.containsAliases()
    assert len(np.unique(elements(*same.regions()))) == 2
    several = graph.cloneN(t, 3)
    assert several.shape() == [3, 2]
    assert not several.containsAliases()
    assert graph.getTileMapping(several)[3] == [Interval(0, 6)]


def test_regions_sorted_by_memory() -> None:
    graph = new_graph()
    a, b = graph.addVariable(INT, [4]), graph.addVariable(INT, [2])
    t = concat([b, a.slice(2, 4), a.slice(0, 2)])
    assert graph.getSortedContiguousRegions(t, [(0, 6)]) == [[Interval(4, 6), Interval(2, 4)], [Interval(0, 2)]]
    assert graph.getSortedContiguousRegions(t, [(3, 5)]) == [[Interval(4, 5)], [Interval(3, 4)]]
    assert graph.getSortedContiguousRegions(t, []) == []
    twice = concat(a, a)
    assert graph.getSortedContiguousRegions(twice, [(0, 8)], True) == [[Interval(0, 4)]]


def test_reordering_to_the_order_of_memory() -> None:
    graph = new_graph()
    a, b = graph.addVariable(INT, [3, 4]), graph.addVariable(INT, [12])
    t = concat([a.slice(2, 3), a.slice(0, 2)]).flatten()
    simple, (other,) = graph.reorderToSimplify(t, [b])
    assert simple == a.flatten()
    assert elements(*other.regions()).tolist() == [*range(16, 24), *range(12, 16)]
    rearranger = graph.getSimplifyingRearranger(a.transpose())
    assert rearranger.rearrange(a.transpose()) == a.flatten()
    assert rearranger.undoRearrangement(a) == a.transpose().flatten()
    assert rearranger.rearrange([(0, 2), (3, 4)]) == [(0, 1), (4, 5), (1, 2)]
    assert rearranger.undoRearrangement([(4, 5)]) == [(1, 2)]
    with pytest.raises(index_error, match="of 12 elements, but the tensor has 4"):
        rearranger.rearrange(a[0])
    with pytest.raises(index_error, match="is not a vector of 12 elements"):
        graph.reorderToSimplify(t, [a])


@given(st.permutations(range(12)), st.permutations(range(12)))
def test_a_rearrangement_and_its_inverse(order: list[int], other: list[int]) -> None:
    graph = new_graph()
    a = graph.addVariable(INT, [12])
    t, u = (concat([a[i : i + 1] for i in permutation]) for permutation in (order, other))
    rearranger = graph.getSimplifyingRearranger(t)
    assert elements(*rearranger.rearrange(t).regions()).tolist() == list(range(12))
    assert rearranger.undoRearrangement(rearranger.rearrange(u)) == u
    for position in range(12):
        (moved,) = rearranger.rearrange([(position, position + 1)])
        assert moved.begin == order[position]


def test_a_tensor_before_it_was_broadcast() -> None:
    graph = new_graph()
    t = graph.addVariable(INT, [2, 3])
    assert graph.findUnbroadcastTensor(t) == t
    assert graph.findUnbroadcastTensor(t.broadcast(4, 0)) == t
    assert graph.findUnbroadcastTensor(t.broadcast(2, 1).broadcast(3, 0)) == t
    assert graph.findUnbroadcastTensor(t[0].expand([0]).broadcast(5, 0)) == t[0].expand([0])
    both = concat(t, t.slice(0, 1))
    assert graph.findUnbroadcastTensor(both) == both
