"""Virtual graphs and their tile ids, mappings with all arguments, regions in order of memory, streams as handles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.regions import elements
from simulator.machine import physical_tiles
from simulator.poplar import (
    FLOAT,
    INT,
    DataStreamType,
    Graph,
    Interval,
    IPUModel,
    OptionFlags,
    ReplicatedStreamMode,
    Target,
    TargetType,
    VariableRef,
    concat,
    graph_object_creation_error,
    index_error,
    invalid_option,
    invalid_tile_mapping,
    isDeviceToHost,
    isHostToDevice,
    isRemoteBuffer,
    replication_factor,
    stream_connection_error,
)


def new_graph(tiles: int = 8, ipus: int = 1) -> Graph:
    return Graph(Target(TargetType.IPU_MODEL, num_ipus=ipus, tiles_per_ipu=tiles))


def test_three_forms_of_virtual_graphs_by_name() -> None:
    graph = new_graph(8, 2)
    few = graph.createVirtualGraph(numTilesPerIPU=3)
    upper = graph.createVirtualGraph(lowerTile=10, upperTile=14)
    some = graph.createVirtualGraph(perIpuTiles=[5, 0])
    assert [g.getTarget().getNumTiles() for g in (few, upper, some)] == [6, 4, 4]
    assert [g.getTarget().getNumIPUs() for g in (few, upper, some)] == [2, 1, 2]
    assert [few.convertTileToTopLevelGraphTile(t) for t in range(6)] == [0, 1, 2, 8, 9, 10]
    assert [upper.convertTileToTopLevelGraphTile(t) for t in range(4)] == [10, 11, 12, 13]
    assert [some.convertTileToTopLevelGraphTile(t) for t in range(4)] == [5, 0, 13, 8]
    inner = few.createVirtualGraph([2])
    assert [inner.convertTileToTopLevelGraphTile(t) for t in range(2)] == [2, 10]
    assert inner.getTopLevelGraph() is graph
    assert graph.getTopLevelGraph() is graph
    for g in (few, upper, some, inner):
        for tile in range(g.getTarget().getNumTiles()):
            assert g.convertTopLevelGraphTileToTile(g.convertTileToTopLevelGraphTile(tile)) == tile
    with pytest.raises(invalid_tile_mapping, match=r"tiles \[6, 10\) are not within one IPU of 8 tiles"):
        graph.createVirtualGraph(6, 10)
    with pytest.raises(invalid_tile_mapping, match="9 does not choose different tiles of an IPU with 8 tiles"):
        graph.createVirtualGraph(9)
    with pytest.raises(invalid_tile_mapping, match=r"\[1, 1\] does not choose different tiles"):
        graph.createVirtualGraph([1, 1])
    with pytest.raises(invalid_tile_mapping, match="createVirtualGraph has no overload for"):
        graph.createVirtualGraph("3")  # type: ignore[call-overload]


@pytest.mark.parametrize("version", ["ipu1", "ipu2"])
def test_physical_tiles_are_those_of_the_one_table(version: str) -> None:
    model = IPUModel(version)
    model.numIPUs = 2
    graph = Graph(model.createDevice())
    table = physical_tiles.physical_tile_table(graph.getTarget().chip)
    per_ipu = graph.getTarget().getTilesPerIPU()
    for tile in (0, 1, 17, per_ipu - 1):
        assert graph.convertVirtualTileToPhysicalTile(tile) == table[tile]
        assert graph.convertVirtualTileToPhysicalTile(per_ipu + tile) == table[tile]
        assert graph.convertPhysicalTileToVirtualTile(int(table[tile])) == tile
        assert graph.convertPhysicalTileToVirtualTile(ipuId=1, physicalTileId=int(table[tile])) == per_ipu + tile
    half = graph.createVirtualGraph(per_ipu, per_ipu + 20)
    assert half.convertVirtualTileToPhysicalTile(3) == table[3]
    assert half.convertPhysicalTileToVirtualTile(1, int(table[3])) == 3
    with pytest.raises(invalid_tile_mapping, match="is not in this graph"):
        half.convertPhysicalTileToVirtualTile(int(table[3]))
    with pytest.raises(invalid_tile_mapping, match="Physical tile 99999 is not in use"):
        graph.convertPhysicalTileToVirtualTile(99999)
    with pytest.raises(invalid_tile_mapping, match="Tile 20 is out of range"):
        half.convertVirtualTileToPhysicalTile(20)
    with pytest.raises(invalid_tile_mapping, match="Tile -1 is not one of the"):
        graph.convertTopLevelGraphTileToTile(-1)


def test_mappings_by_name_and_their_completeness() -> None:
    graph = new_graph(3)
    t = graph.addVariable(INT, [4], "t")
    graph.setTileMapping(t=t.slice(0, 2), tileNum=1)
    assert graph.getTileMapping(t, isComplete=True) == ([[], [Interval(0, 2)], []], False)
    with pytest.raises(invalid_tile_mapping, match="is not mapped: element 2 has no tile"):
        graph.getTileMapping(t=t, requireComplete=True)
    graph.setTileMapping(t=t, mapping=[[], [(0, 2)], [(2, 4)]])
    assert graph.getTileMapping(t, isComplete=True)[1]
    part = graph.createVirtualGraph(2, 3)
    assert part.getTileMapping(t, allowExternal=True) == [[Interval(2, 4)]]
    assert part.getTileMapping(t, isComplete=True, allowExternal=True) == ([[Interval(2, 4)]], True)
    with pytest.raises(invalid_tile_mapping, match="outside this virtual graph"):
        part.getTileMapping(t, isComplete=True)
    with pytest.raises(invalid_tile_mapping, match="setTileMapping has no overload for"):
        graph.setTileMapping(t)  # type: ignore[call-overload]
    with pytest.raises(graph_object_creation_error, match=r"VariableRef\(id=7\) is not one of the graph's 1 variables"):
        graph.getVariable(VariableRef(7))
    with pytest.raises(graph_object_creation_error, match="isConstant: 3 is not one of the graph's 1 variables"):
        graph.isConstant(3)  # type: ignore[arg-type]


def test_intervals_that_are_the_same_memory_have_one_number() -> None:
    graph = new_graph()
    a, b = graph.addVariable(FLOAT, [6], "a"), graph.addVariable(FLOAT, [4], "b")
    t = concat([a[2:5], b, a[:4]])
    found, numbers = graph.getSortedContiguousRegions(t, [(0, 3), (3, 7), (7, 11)], aliases=True)
    # a[2:4] is there twice: as [0, 2) and as [9, 11).
    flat = [interval for group in found for interval in group]
    assert sorted(flat) == [(0, 2), (2, 3), (3, 7), (7, 9), (9, 11)]
    number = dict(zip(flat, numbers, strict=True))
    assert number[Interval(0, 2)] == number[Interval(9, 11)]
    assert len(set(numbers)) == 4
    without = graph.getSortedContiguousRegions(t=t, regions=[(0, 11)], removeAliasedIntervals=True)
    assert sorted(i for group in without for i in group) == [(0, 2), (2, 3), (3, 7), (7, 9)]
    with pytest.raises(index_error, match=r"interval \(3, 12\) reaches outside the 11 elements"):
        graph.getSortedContiguousRegions(t, [(3, 12)])


@given(st.data())
def test_sorted_regions_cover_what_was_asked_for(data: st.DataObject) -> None:
    graph = new_graph()
    a, b = graph.addVariable(FLOAT, [3, 4]), graph.addVariable(FLOAT, [5])
    views = [a.flatten(), a.transpose().flatten(), concat(b, a.flatten().reverse(0)), concat(a[1], a.flatten()[2:9])]
    t = data.draw(st.sampled_from(views))
    n = t.numElements()
    cuts = sorted(data.draw(st.sets(st.integers(0, n), min_size=2, max_size=5)))
    asked = [(x, y) for x, y in pairwise(cuts) if data.draw(st.booleans())]
    numbers = elements(*t.regions())
    wanted = [int(numbers[i]) for begin, end in asked for i in range(begin, end)]
    for remove in (False, True):
        groups, same = graph.getSortedContiguousRegions(t, asked, remove, aliases=True)
        got = [[int(numbers[i]) for interval in group for i in range(*interval)] for group in groups]
        flat = [e for group in got for e in group]
        assert sorted(flat) == sorted(set(wanted) if remove else wanted)
        assert flat == sorted(flat) or not remove
        if remove:
            assert all(np.diff(group).tolist() == [1] * (len(group) - 1) for group in got)
        intervals = [interval for group in groups for interval in group]
        for first, second in ((i, j) for i in range(len(intervals)) for j in range(i)):
            memory = [set(numbers[range(*intervals[k])].tolist()) for k in (first, second)]
            assert (same[first] == same[second]) == (memory[0] == memory[1])
            assert memory[0] == memory[1] or not memory[0] & memory[1]


def test_reordering_only_where_it_helps() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [3, 2]).transpose().flatten()
    other = graph.addVariable(FLOAT, [6])
    simplest, (moved,) = graph.reorderToSimplify(t, [other])
    assert len(simplest.getContiguousRegions()) == 1
    assert elements(*moved.regions()).tolist() == [6 + i for i in (0, 3, 1, 4, 2, 5)]
    view = t.reverse(0)[::1]
    strided = graph.addVariable(FLOAT, [6]).reverse(0)
    assert graph.reorderToSimplify(strided, [other], False) == (strided, [other])
    assert graph.reorderToSimplify(strided, [other], requireSimplestOrder=True)[0].isContiguous()
    assert graph.reorderToSimplify(view, (), False)[0].isContiguous()
    assert graph.getSimplifyingRearranger(t).valid()
    with pytest.raises(index_error, match="is not a vector of 6 elements; flatten it first"):
        graph.reorderToSimplify(t, [graph.addVariable(FLOAT, [2, 3])])


def test_streams_say_what_they_are() -> None:
    model = IPUModel()
    model.numIPUs, model.tilesPerIPU = 2, 4
    graph = Graph(model.createDevice(), replication_factor(2))
    options = OptionFlags({"splitLimit": 0x100, "bufferingDepth": "3"})
    s = graph.addHostToDeviceFIFO("in", FLOAT, 5, ReplicatedStreamMode.BROADCAST, options)
    assert (s.handle(), s.numElements(), s.elementType()) == ("in", 5, FLOAT)
    assert (s.type(), s.replicatedMode()) == (DataStreamType.HostToDeviceFIFO, ReplicatedStreamMode.BROADCAST)
    assert s.replicationFactor() == 2
    assert graph.store.streams.options[s.id] == {"splitLimit": "256", "bufferingDepth": "3"}
    out = graph.addDeviceToHostFIFO(handle="out", elementType=INT, numElements=1, options={"splitLimit": "0xffffffff"})
    assert graph.store.streams.options[out.id] == {"splitLimit": str(2**32 - 1)}
    assert isDeviceToHost(out.type())
    assert isHostToDevice(s.type())
    assert not isRemoteBuffer(out.type())
    with pytest.raises(invalid_option, match="option splitLimit needs a whole number, got '-1'"):
        graph.addDeviceToHostFIFO("x", INT, 1, {"splitLimit": "-1"})
    with pytest.raises(invalid_option, match="option bufferingDepth is at least 1, got '0'"):
        graph.addHostToDeviceFIFO("x", INT, 1, options={"bufferingDepth": 0})
    with pytest.raises(invalid_option, match="'bufferingDepth' is not an option; the options are splitLimit"):
        graph.addDeviceToHostFIFO("x", INT, 1, {"bufferingDepth": "1"})
    with pytest.raises(graph_object_creation_error, match="Stream 'x' cannot move 0 elements"):
        graph.addDeviceToHostFIFO("x", INT, 0)
    with pytest.raises(stream_connection_error, match="Stream 'in' exists already"):
        graph.addDeviceToHostFIFO("in", INT, 1)


def test_external_variables_name_their_symbol() -> None:
    graph = new_graph(1)
    t = graph.addExternalVariable(FLOAT, [2, 3], "weights", "w")
    assert t.shape() == [2, 3]
    assert graph.store.variables.external == {t.getVarRegions()[0].var.id: "weights"}
    assert not graph.isConstant(t.getVarRegions()[0].var)
    with pytest.raises(graph_object_creation_error, match="symbol 'weights' has a variable already"):
        graph.addExternalVariable(type=INT, shape=[1], symbol="weights")
    with pytest.raises(graph_object_creation_error, match="'two words' is not the name of a symbol"):
        graph.addExternalVariable(INT, [1], "two words")
