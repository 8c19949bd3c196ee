"""Vertices with the same name but other groups of channels or another kernel keep their own costs within one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulator.building.estimates import elements_of
from simulator.poplar import FLOAT, Graph
from simulator.poplar.program import Sequence
from simulator.poplibs.poplin import ConvParams, convolution, createInput, createWeights, matMul
from simulator.poplibs.poputil import mapTensorLinearly
from tests.compiler.tiny_graphs import model


def product(graph: Graph, program: Sequence, inner: int) -> None:
    a, b = graph.addVariable(FLOAT, [4, inner], "a"), graph.addVariable(FLOAT, [inner, 4], "b")
    for tensor in (a, b):
        mapTensorLinearly(graph, tensor)
    matMul(graph, a, b, program, f"inner{inner}")


def convolved(graph: Graph, program: Sequence, kernel: int) -> None:
    params = ConvParams(FLOAT, 1, [8, 8], [kernel, kernel], 1, 1, 1)
    image, weights = createInput(graph, params, "image"), createWeights(graph, params, "weights")
    convolution(graph, image, weights, params, False, program, f"kernel{kernel}")


def costs(make: Callable[..., None], sizes: list[int]) -> dict[str, Any]:
    """compute set -> (type, cycles of each vertex) of its blocks."""
    graph, program = Graph(model(4)), Sequence()
    for size in sizes:
        make(graph, program, size)
    found: dict[str, Any] = {}
    for block in graph.store.blocks:
        cycles = block.type.costs(block, elements_of(block), graph.getTarget()).cycles.tolist()
        found.setdefault(graph.store.compute_set_names[block.compute_set], []).append((block.type.name, cycles))
    return found


@pytest.mark.parametrize(("make", "sizes"), [(product, [3, 4, 2]), (convolved, [3, 2, 5])])
def test_costs_of_one_graph_are_those_of_separate_graphs(make: Callable[..., None], sizes: list[int]) -> None:
    together = costs(make, sizes)
    apart: dict[str, Any] = {}
    for size in sizes:
        apart |= costs(make, [size])
    assert together == apart
    names = [name for blocks in together.values() for name, _ in blocks if "ConvPartial" in name]
    assert len(set(names)) < len(names) == len(sizes)  # otherwise the test shows nothing
