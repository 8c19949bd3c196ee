"""Results in channel groups lie in the arena with their positions first; what programs read stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.poplar import FLOAT, Engine, Graph, IPUModel, Tensor
from simulator.poplar.program import Copy, Sequence
from simulator.poplibs import poplin, popnn, popops
from simulator.poplibs.popnn import pooling
from simulator.runtime.values.arena import Arena, ArenaLayout
from simulator.runtime.values.boxes import box_of_loops, box_of_runs
from simulator.runtime.values.common_views import common_views
from simulator.runtime.values.orders import Order
from simulator.runtime.values.temporaries import Temporaries, find_temporaries
from tests.poplibs.programs import linear

BATCH, CHANNELS, OUTPUTS, SIZE = 2, 3, 24, 10


def small_graph() -> tuple[Any, Graph]:
    model = IPUModel()
    model.tilesPerIPU = 8
    device = model.createDevice()
    return device, Graph(device)


def network(graph: Graph, program: Sequence) -> dict[str, Tensor]:
    """Convolution, bias, pooling, ReLU, and its results in several orders."""
    params = poplin.ConvParams(FLOAT, FLOAT, BATCH, [SIZE, SIZE], [3, 3], CHANNELS, OUTPUTS, 1)
    acts, weights = poplin.createInput(graph, params, "acts"), poplin.createWeights(graph, params, "weights")
    bias = linear(graph, FLOAT, [OUTPUTS], "bias")
    out = poplin.convolution(graph, acts, weights, params, False, program, "conv")
    poplin.addBias(graph, out, bias, program)
    pooled = pooling.pool(
        graph,
        pooling.PoolParams(pooling.PoolingType.MAX, [8, 8], [2, 2], [2, 2], [0, 0], [0, 0], OUTPUTS, BATCH, FLOAT),
        out,
        program,
    )
    shown = popnn.nonLinearity(graph, popnn.NonLinearityType.RELU, pooled, program, "relu")
    sums = popops.reduce(graph, out, [0, 2, 3], popops.ReduceParams(popops.Operation.ADD), program)
    turned = linear(graph, FLOAT, [4, 4, OUTPUTS, BATCH], "turned")
    program.add(Copy(shown.dimShuffle([2, 3, 1, 0]), turned))
    part = linear(graph, FLOAT, [BATCH, 5, 3], "part")
    program.add(Copy(out[:, 4:9, 2, 1:4], part))
    return {"acts": acts, "weights": weights, "bias": bias, "sums": sums, "turned": turned, "part": part}


def expected(acts: Any, weights: Any, bias: Any) -> dict[str, Any]:
    out = np.zeros((BATCH, OUTPUTS, 8, 8))
    for i in range(3):
        for j in range(3):
            out += np.einsum("bchw,oc->bohw", acts[:, :, i : i + 8, j : j + 8], weights[0, :, :, i, j])
    out += bias[:, None, None]
    pooled = out.reshape(BATCH, OUTPUTS, 4, 2, 4, 2).max((3, 5))
    return {
        "sums": out.sum((0, 2, 3)),
        "turned": np.maximum(pooled, 0).transpose(2, 3, 1, 0),
        "part": out[:, 4:9, 2, 1:4],
    }


def test_a_network_reads_the_same() -> None:
    device, graph = small_graph()
    program = Sequence()
    tensors = network(graph, program)
    for name in ("acts", "weights", "bias"):
        graph.createHostWrite(name, tensors[name])
    for name in ("sums", "turned", "part"):
        graph.createHostRead(name, tensors[name])
    rng = np.random.default_rng(1)
    values = {name: rng.normal(size=tensors[name].shape()).astype(np.float32) for name in ("acts", "weights", "bias")}
    with Engine(graph, program) as engine:
        engine.load(device)
        for name, value in values.items():
            engine.writeTensor(name, value.reshape(-1))
        engine.run(0)
        for name, exact in expected(**{n: v.astype(np.float64) for n, v in values.items()}).items():
            found = np.empty(exact.size, np.float32)
            engine.readTensor(name, found)
            np.testing.assert_allclose(found.reshape(exact.shape), exact, rtol=1e-4, atol=1e-4, err_msg=name)


def test_results_of_a_network_have_their_positions_first() -> None:
    """The convolution, what is added to it in place, the pooling and the ReLU after it are all rows of positions."""
    _, graph = small_graph()
    program = Sequence()
    tensors = network(graph, program)
    temporaries = find_temporaries(graph.store, [program])
    assert len(temporaries.orders) == 3
    layout = ArenaLayout(graph.store, temporaries)
    for order in temporaries.orders.values():
        assert sorted(order.places().tolist()) == list(range(len(order.places())))
    variables = sorted(temporaries.orders)
    assert {graph.store.variables.numel[v] for v in variables} == {BATCH * OUTPUTS * 64, BATCH * OUTPUTS * 16}
    for name in ("sums", "turned", "part", "bias"):
        assert not set(tensors[name].view.variables()) & set(variables)
    assert layout.total_bytes >= 4 * BATCH * OUTPUTS * 64


def test_what_the_host_reads_keeps_its_order() -> None:
    _, graph = small_graph()
    program = Sequence()
    params = poplin.ConvParams(FLOAT, FLOAT, BATCH, [SIZE, SIZE], [3, 3], CHANNELS, OUTPUTS, 1)
    acts, weights = poplin.createInput(graph, params, "acts"), poplin.createWeights(graph, params, "weights")
    out = poplin.convolution(graph, acts, weights, params, False, program, "conv")
    assert len(find_temporaries(graph.store, [program]).orders) == 1
    graph.createHostRead("out", out)
    assert find_temporaries(graph.store, [program]).orders == {}


@given(st.permutations(range(4)), st.permutations(range(4)), st.integers(0, 3), st.integers(0, 1000))
def test_places_in_an_order(there: list[int], view: list[int], cut: int, seed: int) -> None:
    """Any view of an ordered variable reads what was written through the whole of it."""
    shape = (3, 4, 8, 5)
    _, graph = small_graph()
    variable = graph.addVariable(FLOAT, list(shape), "v")
    graph.setTileMapping(variable, 0)
    steps = tuple(int(np.prod([shape[a] for a in there[there.index(axis) + 1 :]])) for axis in range(4))
    number = variable.view.variables()[0]
    layout = ArenaLayout(graph.store, Temporaries(orders={number: Order(shape, steps)}))
    arena = Arena(layout, np.zeros(layout.total_bytes, np.uint8), 0)
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    arena.write(layout.place(variable), values)
    flat = arena.read(layout.place(variable.flatten()))
    np.testing.assert_array_equal(flat, values.reshape(-1))
    part = variable.dimShuffle(view)[cut:] if cut < shape[view[0]] else variable
    exact = values.transpose(view)[cut:] if cut < shape[view[0]] else values
    np.testing.assert_array_equal(arena.read(layout.place(part)), exact)
    np.testing.assert_array_equal(arena.read(layout.place(part.flatten())), exact.reshape(-1))
    middle = variable.slice(cut, 5, 3)
    np.testing.assert_array_equal(arena.read(layout.place(middle.flatten())), values[..., cut:].reshape(-1))
    arena.write(layout.place(part), exact + 1)
    np.testing.assert_array_equal(arena.read(layout.place(part)), exact + 1)


@pytest.mark.parametrize("rows", [64, 1])
def test_common_views_of_operands_that_lie_differently(rows: int) -> None:
    """A matrix with its positions first and a bias in the order of the variable: rows of all channels."""
    _, graph = small_graph()
    matrix, bias = graph.addVariable(FLOAT, [4, 64, 8], "m"), graph.addVariable(FLOAT, [32], "b")
    for one in (matrix, bias):
        graph.setTileMapping(one, 0)
    number = matrix.view.variables()[0]
    orders = {number: Order((4, 64, 8), (8, 32, 1))}
    layout = ArenaLayout(graph.store, Temporaries(orders=orders))
    arena = Arena(layout, np.zeros(layout.total_bytes, np.uint8), 0)
    repeated = bias.reshape([4, 1, 8]).broadcast(64, 1).flatten()
    views = common_views(arena, [layout.place(matrix.flatten()), layout.place(repeated)])
    assert views is not None
    assert [view.shape for view in views] == [(64, 32), (64, 32)]
    arena.write(layout.place(bias), np.arange(32, dtype=np.float32))
    views[0][...] = views[1]
    found = arena.read(layout.place(matrix))
    np.testing.assert_array_equal(found, np.broadcast_to(np.arange(32).reshape(4, 1, 8), (4, 64, 8)))
    interleaved = matrix.dimShuffle([1, 0, 2])[:rows].flatten()
    small = common_views(arena, [layout.place(interleaved), layout.place(interleaved)])
    assert (small is None) == (rows == 1)


@given(st.permutations(range(4)), st.sampled_from([1, 2, 4, 8]))
def test_places_of_rows_are_those_of_their_first_elements(there: list[int], part: int) -> None:
    shape = (3, 4, 2, 8)
    steps = tuple(int(np.prod([shape[a] for a in there[there.index(axis) + 1 :]])) for axis in range(4))
    order = Order(shape, steps)
    every = order.row // part if order.row % part == 0 else order.row
    np.testing.assert_array_equal(order.places(every), order.places()[::every])


def test_loops_and_runs_give_the_same_box() -> None:
    order = Order((4, 64, 8), (8, 32, 1))
    loops = box_of_loops(list(zip(order.sizes, order.steps, strict=True)), (2, 2, 64, 8))
    assert loops is not None
    assert loops == box_of_runs(order.places(), 1, (2, 2, 64, 8))
