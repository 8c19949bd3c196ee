"""popops.reduce: one, two and three stages, by vertices, by kernel and in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.compiler.compile import compile_graph
from simulator.poplar import BOOL, FLOAT, HALF, Graph, Tensor, index_error
from simulator.poplar.program import Sequence
from simulator.poplibs import popops
from simulator.poplibs.popops import Operation
from tests.poplibs.programs import both_ways, linear, small_graph

NUMPY = {
    Operation.ADD: lambda x, axes: x.sum(axes),
    Operation.SQUARE_ADD: lambda x, axes: (x * x).sum(axes),
    Operation.MUL: lambda x, axes: x.prod(axes),
    Operation.MIN: lambda x, axes: x.min(axes),
    Operation.MAX: lambda x, axes: x.max(axes),
}


def reduced(
    shape: list[int], dims: list[int], op: Operation, type_: Any, transposed: bool = False
) -> tuple[Any, Any, Any]:
    values = np.random.default_rng(5).uniform(0.8, 1.2, shape).astype(type_.dtype)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        tensor = linear(graph, type_, shape)
        view = tensor.transpose() if transposed else tensor
        return {"t": (tensor, values)}, popops.reduce(graph, view, dims, op, program, "r")

    by_vertex, by_kernel = both_ways(build)
    source = values.astype(np.float64)
    return by_vertex, by_kernel, NUMPY[op](source.T if transposed else source, tuple(dims))


@pytest.mark.parametrize("op", list(NUMPY))
@pytest.mark.parametrize("terms", [3, 15, 16, 40, 125, 300])
@pytest.mark.parametrize("dims", [[0], [1]])
def test_stages(op: Operation, terms: int, dims: list[int]) -> None:
    shape = [terms, 6] if dims == [0] else [6, terms]
    by_vertex, by_kernel, expected = reduced(shape, dims, op, FLOAT)
    assert np.allclose(by_vertex, expected, rtol=terms * 1.2e-7)
    assert np.allclose(by_kernel, expected, rtol=terms * 1.2e-7)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.data(), st.booleans())
def test_any_dimensions(shape: list[int], data: st.DataObject, transposed: bool) -> None:
    axes = list(range(len(shape)))
    dims = data.draw(st.lists(st.sampled_from(axes), unique=True, min_size=1))
    by_vertex, by_kernel, expected = reduced(shape, dims, Operation.ADD, FLOAT, transposed)
    assert by_vertex.shape == by_kernel.shape == np.shape(expected)
    assert np.allclose(by_vertex, expected, rtol=3e-6)
    assert np.allclose(by_kernel, expected, rtol=3e-6)


@pytest.mark.parametrize("terms", [10, 60, 200])
def test_halves_are_added_in_float(terms: int) -> None:
    by_vertex, by_kernel, expected = reduced([terms, 4], [0], Operation.ADD, HALF)
    assert np.abs(by_vertex - expected).max() <= 5e-4 * expected.max()
    assert np.abs(by_kernel - expected).max() <= 5e-4 * expected.max()


def test_logical() -> None:
    values = np.array([[True, True, False], [True, False, False]])

    def build(op: Operation) -> Any:
        def inner(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
            tensor = linear(graph, BOOL, [2, 3])
            return {"t": (tensor, values)}, popops.reduce(graph, tensor, [0], op, program)

        return inner

    for op, expected in ((Operation.LOGICAL_AND, values.all(0)), (Operation.LOGICAL_OR, values.any(0))):
        by_vertex, by_kernel = both_ways(build(op))
        assert np.array_equal(by_vertex, expected)
        assert np.array_equal(by_kernel, expected)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.data())
def test_any_mapping(shape: list[int], data: st.DataObject) -> None:
    """Whatever tile each element lies on, in any order of dimensions and of elements."""
    dims = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
    op = data.draw(st.sampled_from([Operation.ADD, Operation.SQUARE_ADD, Operation.MAX]))
    order = data.draw(st.permutations(range(len(shape))))
    tiles = data.draw(st.integers(1, 6))
    seed, run = data.draw(st.integers(0, 99)), data.draw(st.integers(1, 20))
    stored = [shape[axis] for axis in order]
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, stored).astype(np.float32)

    def build(graph: Graph, program: Sequence) -> tuple[dict[str, tuple[Tensor, Any]], Tensor]:
        tensor = graph.addVariable(FLOAT, stored, "t")
        for begin in range(0, tensor.numElements(), run):
            part = tensor.flatten().slice(begin, min(begin + run, tensor.numElements()))
            graph.setTileMapping(part, int(np.random.default_rng(seed + begin).integers(tiles)))
        view = tensor.dimShuffle([order.index(axis) for axis in range(len(shape))])
        return {"t": (tensor, values)}, popops.reduce(graph, view, dims, op, program, "r")

    by_vertex, by_kernel = both_ways(build)
    expected = NUMPY[op](values.transpose([order.index(axis) for axis in range(len(shape))]), tuple(dims))
    assert np.array_equal(by_vertex, expected)
    assert np.array_equal(by_kernel, expected)


def test_tiles_with_terms_of_an_output_decide_the_stages() -> None:
    """One tile: no exchange. Several: each adds its own, then one stage, or where much is left one more before it."""
    for terms, tiles, stages in (
        (8, 1, [""]),
        (32, 4, ["/ReduceOnTile", "/ReduceFinalStage"]),
        (4, 4, [""]),  # one term each
        (3000, 1, ["", "/ReduceWorkers"]),
        (80, 40, ["/ReduceOnTile", "/ReduceStage1", "/ReduceFinalStage"]),
    ):
        graph, program = small_graph(64), Sequence()
        tensor = graph.addVariable(FLOAT, [terms, 1], "t")
        for tile, begin in enumerate(range(0, terms, terms // tiles)):
            graph.setTileMapping(tensor.slice(begin, begin + terms // tiles, 0), tile)
        popops.reduce(graph, tensor, [0], Operation.ADD, program, "sum")
        assert graph.store.compute_set_names == [f"sum/Reduce{label}" for label in stages], (terms, tiles)


def test_rows_that_lie_on_a_tile_each_need_no_exchange() -> None:
    """[64, 64], row i on tile i, reduced over dimension 1: the outputs stay on the tiles of their rows."""
    graph, program = small_graph(64), Sequence()
    tensor = graph.addVariable(FLOAT, [64, 64], "t")
    for tile in range(64):
        graph.setTileMapping(tensor[tile], tile)
    out = popops.reduce(graph, tensor, [1], Operation.ADD, program, "sum")
    assert [len(intervals) for intervals in graph.getTileMapping(out)] == [1] * 64
    compiled = compile_graph(graph.store, graph.getTarget(), [program]).lowered
    steps = zip(compiled.table.name, compiled.cycles, strict=True)
    mine = {name: int(cycles.max()) for name, cycles in steps if cycles is not None and "sum/Reduce" in name}
    assert mine == {"sum/Reduce": 294}  # 6 x (17 + 64 floats, two a cycle)


def test_wrong_dimension() -> None:
    graph, program = small_graph(), Sequence()
    with pytest.raises(index_error, match=r"\[2\] are not dimensions of a tensor of shape \[4, 4\]"):
        popops.reduce(graph, linear(graph, FLOAT, [4, 4]), [2], Operation.ADD, program)
