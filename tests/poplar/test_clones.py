"""clone and cloneN: memory order and tiles of the elements of a clone, by every method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.regions import elements
from simulator.poplar import (
    FLOAT,
    HALF,
    Graph,
    Target,
    TargetType,
    Tensor,
    TensorCloneDuplicationMethod,
    TensorCloneMethod,
    concat,
    tensor_creation_error,
)

UNLESS = TensorCloneMethod.PRESERVE_ORDER_UNLESS_ALIASES
ALIASES = TensorCloneMethod.PRESERVE_ORDER_AND_ALIASES
NEW = TensorCloneMethod.CREATE_NEW_ORDER
GATHER = TensorCloneMethod.GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES
OUTER = TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION
BY_TILE = TensorCloneDuplicationMethod.DUPLICATE_BY_TILE_CONTIGUOUS_REGION


def new_graph() -> Graph:
    return Graph(Target(TargetType.IPU_MODEL, tiles_per_ipu=4))


def order(t: Tensor) -> list[int]:
    """For each element of the flattened tensor its place in its variable."""
    places = elements(*t.regions())
    return (places - t.view.store.variables.base[t.view.variable]).tolist()


def tiles(graph: Graph, t: Tensor) -> list[int]:
    begins, ends, on = graph.getTileMappingIntervals(t)
    return np.repeat(on, ends - begins).tolist()


def striped(graph: Graph) -> Tensor:
    """Six elements on tiles 1, 2, 1, 2, 1, 2."""
    t = graph.addVariable(FLOAT, [6], "t")
    for i in range(6):
        graph.setTileMapping(t[i], 1 + i % 2)
    return t


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (UNLESS, [5, 4, 3, 2, 1, 0]),
        (ALIASES, [5, 4, 3, 2, 1, 0]),
        (NEW, [0, 1, 2, 3, 4, 5]),
        (GATHER, [5, 2, 4, 1, 3, 0]),
    ],
)
def test_order_of_a_reversed_tensor(method: TensorCloneMethod, expected: list[int]) -> None:
    graph = new_graph()
    t = striped(graph).reverse(0)
    clone = graph.clone(t, "c", method)
    assert order(clone) == expected
    assert tiles(graph, clone) == tiles(graph, t) == [2, 1, 2, 1, 2, 1]
    assert clone.getVarStr() == "c"
    assert not clone.containsConstant()


def test_gathering_puts_the_elements_of_a_tile_together() -> None:
    graph = new_graph()
    clone = graph.clone(striped(graph), method=GATHER)
    assert order(clone) == [0, 3, 1, 4, 2, 5]
    whole = graph.getVariable(clone.getVarRegions()[0].var)
    assert tiles(graph, whole) == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(("method", "aliases"), [(UNLESS, False), (ALIASES, True), (NEW, False), (GATHER, True)])
def test_aliases(method: TensorCloneMethod, aliases: bool) -> None:
    graph = new_graph()
    t = striped(graph)
    twice = concat(t, t.reverse(0))
    clone = graph.clone(HALF, twice, "c", method)
    assert clone.elementType() is HALF
    assert clone.containsAliases() is aliases
    assert tiles(graph, clone) == tiles(graph, twice)
    if aliases:
        assert order(clone)[6:] == order(clone)[5::-1]
    else:
        assert order(clone) == list(range(12))


def test_duplication_one_after_another_and_tile_by_tile() -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [4], "t")
    graph.setTileMapping(t.slice(0, 3), 0)
    graph.setTileMapping(t.slice(3, 4), 3)
    outer = graph.cloneN(t, 2)
    assert order(outer) == [0, 1, 2, 3, 4, 5, 6, 7]
    by_tile = graph.cloneN(FLOAT, t, 2, "c", UNLESS, BY_TILE)
    assert order(by_tile) == [0, 1, 2, 6, 3, 4, 5, 7]
    whole = graph.getVariable(by_tile.getVarRegions()[0].var)
    assert tiles(graph, whole) == [0] * 6 + [3] * 2
    assert graph.getTileMapping(whole)[0] == [(0, 6)]


@given(st.data())
def test_every_copy_is_a_clone(data: st.DataObject) -> None:
    graph = new_graph()
    t = graph.addVariable(FLOAT, [12])
    for i in range(0, 12, 2):
        graph.setTileMapping(t[i : i + 2], data.draw(st.integers(0, 3)))
    begin = data.draw(st.integers(0, 5))
    views = [t, t.reverse(0), t.reshape([3, 4]).transpose(), concat(t[8:], t[begin : begin + 5])]
    view = data.draw(st.sampled_from(views))
    method, duplication = data.draw(st.sampled_from(TensorCloneMethod)), data.draw(st.sampled_from((OUTER, BY_TILE)))
    n = data.draw(st.integers(1, 3))
    one = graph.clone(view, method=method)
    many = graph.cloneN(view, n, method=method, duplicationMethod=duplication)
    assert many.shape() == [n, *view.shape()]
    places = np.array(order(many)).reshape(n, -1)
    assert len(np.unique(places)) == n * len(np.unique(order(one)))
    for i in range(n):
        assert tiles(graph, many[i]) == tiles(graph, view)
        # Elements that follow each other on a tile of the clone do so in every copy.
        assert (np.argsort(places[i], kind="stable") == np.argsort(order(one), kind="stable")).all()
    if duplication is OUTER:
        assert (places == places[0] + np.arange(n)[:, None] * (places.max() + 1) // n).all()


def test_arguments_by_name_and_refusals() -> None:
    graph = new_graph()
    t = striped(graph)
    assert graph.cloneN(type=HALF, t=t, N=2, debugContext="n", method=NEW, duplicationMethod=BY_TILE).dim(0) == 2
    with pytest.raises(tensor_creation_error, match="cloneN: 0 copies cannot be made; give at least 1"):
        graph.cloneN(t, 0)
    with pytest.raises(tensor_creation_error, match="'new' is not a TensorCloneMethod"):
        graph.clone(t, "", "new")  # type: ignore[call-overload]
    with pytest.raises(tensor_creation_error, match="1 is not a TensorCloneDuplicationMethod"):
        graph.cloneN(t, 1, "", UNLESS, 1)  # type: ignore[call-overload]
    with pytest.raises(tensor_creation_error, match=r"clone has no overload for \(int\)"):
        graph.clone(3)  # type: ignore[call-overload]
