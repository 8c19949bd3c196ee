"""Collectives over replicas against NumPy."""

import numpy as np
import pytest

from simulator.poplar import FLOAT, Device, Engine, Graph, invalid_option
from simulator.poplar.program import CrossReplicaCopy, Sequence
from simulator.poplibs import gcl, poputil
from tests.compiler.tiny_graphs import model

Op = gcl.CollectiveOperator
COMBINED = {
    Op.ADD: lambda x: x.sum(0),
    Op.MEAN: lambda x: x.mean(0),
    Op.MUL: lambda x: x.prod(0),
    Op.MIN: lambda x: x.min(0),
    Op.MAX: lambda x: x.max(0),
}


def reduced(replicas, op, n=100, in_place=True):
    """(given [replicas, n], what each replica holds afterwards, the program)."""
    target = model(tiles=4, ipus=replicas)
    graph = Graph(target, replicas)
    data = graph.addVariable(FLOAT, [n], "data")
    poputil.mapTensorLinearly(graph, data)
    program = Sequence()
    if in_place:
        gcl.allReduceInPlaceCrossReplica(graph, data, op, program, "sum")
        out = data
    else:
        out = gcl.allReduceCrossReplica(graph, data, op, program, "sum")
    graph.createHostWrite("in", data)
    graph.createHostRead("out", out)
    graph.createHostRead("kept", data)
    given = np.random.default_rng(replicas).normal(0, 1, (replicas, n)).astype(np.float32)
    found, kept = np.empty_like(given), np.empty_like(given)
    with Engine(graph, program) as engine:
        engine.load(Device(target))
        engine.writeTensor("in", given)
        engine.run()
        engine.readTensor("out", found)
        engine.readTensor("kept", kept)
    assert in_place or np.array_equal(kept, given)
    return given, found, program


@pytest.mark.parametrize("op", list(Op))
@pytest.mark.parametrize("replicas", [1, 2, 3, 5, 6, 8])
def test_every_replica_gets_the_combination_of_all(op, replicas):
    given, found, _ = reduced(replicas, op, in_place=replicas != 2)
    assert np.allclose(found, COMBINED[op](given.astype(np.float64)), rtol=1e-5, atol=1e-6)
    assert all(np.array_equal(found[0], other) for other in found)  # to the last bit


def test_partners_swap_in_log2_rounds():
    _, _, program = reduced(8, Op.ADD)
    maps = [p.replica_map for p in program.programs if isinstance(p, CrossReplicaCopy)]
    assert maps == [tuple(r ^ d for r in range(8)) for d in (1, 2, 4)]


def test_other_numbers_go_along_a_tree_and_back():
    _, _, program = reduced(6, Op.ADD)
    maps = [p.replica_map for p in program.programs if isinstance(p, CrossReplicaCopy)]
    assert maps == [tuple((r + d) % 6 for r in range(6)) for d in (-1, -2, -4, 4, 2, 1)]


def test_what_cannot_be_reduced():
    graph = Graph(model(ipus=2), 2)
    data = graph.addVariable(FLOAT, [4], "data")
    with pytest.raises(invalid_option, match="no option 'ring'"):
        gcl.allReduceInPlaceCrossReplica(graph, data, Op.ADD, Sequence(), options={"ring": "true"})
