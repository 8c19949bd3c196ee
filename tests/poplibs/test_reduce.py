"""popops.reduce: one, two and three stages, by vertices, by kernel and in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_stage_count_and_names() -> None:
    for terms, stages in ((15, 1), (16, 2), (124, 2), (125, 3)):
        graph, program = small_graph(), Sequence()
        popops.reduce(graph, linear(graph, FLOAT, [terms, 8]), [0], Operation.ADD, program, "sum")
        names = graph.store.compute_set_names
        assert names == (["sum/Reduce"] if stages == 1 else [f"sum/Reduce/ReduceStage{i + 1}" for i in range(stages)])


def test_wrong_dimension() -> None:
    graph, program = small_graph(), Sequence()
    with pytest.raises(index_error, match=r"\[2\] are not dimensions of a tensor of shape \[4, 4\]"):
        popops.reduce(graph, linear(graph, FLOAT, [4, 4]), [2], Operation.ADD, program)
