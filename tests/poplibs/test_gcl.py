"""Collectives over replicas against NumPy."""

import numpy as np
import pytest

from simulator.poplar import BOOL, FLOAT, Device, Engine, Graph, invalid_option
from simulator.poplar.program import CrossReplicaCopy, Sequence
from simulator.poplibs import gcl, popops, poputil
from tests.compiler.tiny_graphs import model

Op = gcl.CollectiveOperator
COMBINED = {
    Op.ADD: lambda x: x.sum(0),
    Op.MEAN: lambda x: x.mean(0),
    Op.MUL: lambda x: x.prod(0),
    Op.MIN: lambda x: x.min(0),
    Op.MAX: lambda x: x.max(0),
    Op.SQUARE_ADD: lambda x: (x**2).sum(0),
}


def reduced(replicas, op, n=100, in_place=True, group=None):
    """(given [replicas, n], values of each replica afterwards, the program)."""
    target = model(tiles=4, ipus=replicas)
    graph = Graph(target, replicas)
    data = graph.addVariable(FLOAT, [n], "data")
    poputil.mapTensorLinearly(graph, data)
    program = Sequence()
    if in_place:
        gcl.allReduceInPlaceCrossReplica(graph, data, op, program, "sum", group=group)
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


@pytest.mark.parametrize("op", list(COMBINED))
@pytest.mark.parametrize("replicas", [1, 2, 3, 5, 6, 8])
def test_every_replica_gets_the_combination_of_all(op, replicas):
    given, found, _ = reduced(replicas, op, in_place=replicas != 2)
    assert np.allclose(found, COMBINED[op](given.astype(np.float64)), rtol=1e-5, atol=1e-6)
    assert all(np.array_equal(found[0], other) for other in found)  # equal to the last bit


@pytest.mark.parametrize("op", [Op.ADD, Op.MEAN, Op.SQUARE_ADD])
@pytest.mark.parametrize(
    ("replicas", "kind", "size", "members"),
    [
        (4, "CONSECUTIVE", 2, [[0, 1], [2, 3]]),
        (8, "ORTHOGONAL", 4, [[0, 2, 4, 6], [1, 3, 5, 7]]),
        (6, "ORTHOGONAL", 2, [[0, 3], [1, 4], [2, 5]]),
        (6, "ORTHOGONAL", 3, [[0, 2, 4], [1, 3, 5]]),
        (6, "CONSECUTIVE", 3, [[0, 1, 2], [3, 4, 5]]),
        (3, "CONSECUTIVE", 1, [[0], [1], [2]]),
        (4, "ALL", 0, [[0, 1, 2, 3]]),
    ],
)
def test_replicas_of_a_group_get_its_combination(op, replicas, kind, size, members):
    given, found, _ = reduced(replicas, op, group=gcl.CommGroup(gcl.CommGroupType[kind], size))
    for row in members:
        assert np.allclose(found[row], COMBINED[op](given[row].astype(np.float64)), rtol=1e-5, atol=1e-6)
        assert all(np.array_equal(found[row[0]], found[other]) for other in row)


def test_groups_that_cannot_be_are_refused():
    group = gcl.CommGroup(gcl.CommGroupType.CONSECUTIVE, 4)
    with pytest.raises(poputil.poplibs_error, match="Groups of 4 replicas do not divide 6 replicas"):
        reduced(6, Op.ADD, group=group)
    graph = Graph(model(ipus=6), 6)
    data = graph.addVariable(FLOAT, [4], "data")
    with pytest.raises(poputil.poplibs_error, match="behind the program stand group"):
        gcl.broadcastCrossReplica(graph, data, Sequence(), "name", group)


def test_partners_swap_in_log2_rounds():
    _, _, program = reduced(8, Op.ADD)
    maps = [p.replica_map for p in program.programs if isinstance(p, CrossReplicaCopy)]
    assert maps == [tuple(r ^ d for r in range(8)) for d in (1, 2, 4)]


def test_other_numbers_go_along_a_tree_and_back():
    _, _, program = reduced(6, Op.ADD)
    maps = [p.replica_map for p in program.programs if isinstance(p, CrossReplicaCopy)]
    assert maps == [tuple((r + d) % 6 for r in range(6)) for d in (-1, -2, -4, 4, 2, 1)]


def moved(replicas, function, given):
    """The values that each replica gets from `function(graph, data, prog)`."""
    target = model(tiles=4, ipus=replicas)
    graph, program = Graph(target, replicas), Sequence()
    type_ = BOOL if given.dtype == np.bool_ else FLOAT
    data = graph.addVariable(type_, given.shape[1:], "data")
    poputil.mapTensorLinearly(graph, data, 1)
    out = function(graph, data, program)
    graph.createHostWrite("in", data)
    graph.createHostRead("out", out)
    found = np.empty((replicas, *out.shape()), given.dtype)
    with Engine(graph, program) as engine:
        engine.load(Device(target))
        engine.writeTensor("in", given)
        engine.run()
        engine.readTensor("out", found)
    return found


@pytest.mark.parametrize("replicas", [1, 2, 3, 4])
def test_parts_are_gathered_scattered_and_handed_round(replicas):
    rng = np.random.default_rng(replicas)
    given = rng.normal(size=(replicas, 5, 3)).astype(np.float32)
    for one in moved(replicas, gcl.allGatherCrossReplica, given):
        assert np.array_equal(one, given)
    for one in moved(replicas, gcl.broadcastCrossReplica, given):
        assert np.array_equal(one, given[0])
    rows = rng.normal(size=(replicas, replicas, 7)).astype(np.float32)
    assert np.array_equal(moved(replicas, gcl.allToAllCrossReplica, rows), rows.transpose(1, 0, 2))
    flat = rng.integers(0, 9, (replicas, 11)).astype(np.float32)
    share = -(-11 // replicas)
    whole = np.zeros(replicas * share, np.float32)
    whole[:11] = flat.sum(0)
    shares = moved(replicas, lambda g, t, p: gcl.reduceScatterCrossReplica(g, t, Op.ADD, p, "scatter"), flat)
    assert np.array_equal(shares.reshape(-1), whole)


@pytest.mark.parametrize(
    ("replicas", "kind", "members"),
    [
        (4, "CONSECUTIVE", [[0, 1], [2, 3]]),
        (4, "ORTHOGONAL", [[0, 2], [1, 3]]),
        (6, "ORTHOGONAL", [[0, 2, 4], [1, 3, 5]]),
        (6, "CONSECUTIVE", [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_parts_move_within_groups(replicas, kind, members):
    size, rng = len(members[0]), np.random.default_rng(replicas)
    group = gcl.CommGroup(gcl.CommGroupType[kind], size)
    given = rng.normal(size=(replicas, size, 7)).astype(np.float32)
    gathered = moved(replicas, lambda g, t, p: gcl.allGatherCrossReplica(g, t, p, group, "gather"), given)
    handed = moved(replicas, lambda g, t, p: gcl.broadcastCrossReplica(g, t, p, group, "broadcast"), given)
    swapped = moved(replicas, lambda g, t, p: gcl.allToAllCrossReplica(g, t, p, group), given)
    flat = rng.integers(0, 9, (replicas, 11)).astype(np.float32)
    shares = moved(replicas, lambda g, t, p: gcl.reduceScatterCrossReplica(g, t, Op.ADD, p, group, "scatter"), flat)
    whole = moved(replicas, lambda g, t, p: gcl.allReduceCrossReplica(g, t, Op.MAX, p, group, "max"), flat)
    for row in members:
        assert all(np.array_equal(gathered[replica], given[row]) for replica in row)
        assert all(np.array_equal(handed[replica], given[row[0]]) for replica in row)
        assert np.array_equal(swapped[row], given[row].transpose(1, 0, 2))
        assert np.array_equal(shares[row].reshape(-1)[:11], flat[row].sum(0))
        assert (whole[row] == flat[row].max(0)).all()


def test_tiles_of_transfers_and_of_work_are_apart_and_spread():
    graph = Graph(model(tiles=1472))
    target = graph.getTarget()
    least = gcl.getMinIoTiles(graph)
    assert least % 2 == 0
    transfers, work = gcl.perIPUTiles(graph, 0, least), gcl.perIPUTiles(graph, least, 1472 - least)
    assert sorted(transfers + work) == list(range(1472))
    assert transfers == sorted(transfers)
    assert all(tile ^ 1 in transfers for tile in transfers)
    blocks = [target.getTileHostExchangeXB(tile) for tile in transfers]
    assert all(blocks.count(block) == 2 for block in blocks)  # a pair of each block
    single = gcl.perIPUTiles(graph, 0, 16, False, False)
    assert len({target.getTileHostExchangeXB(tile) for tile in single}) == 16
    contexts = [target.getTileHostExchangeContext(tile) for tile in gcl.perIPUTiles(graph, 0, 4 * least)]
    assert len(set(contexts)) == 2 * least  # the next pairs go to other contexts
    with pytest.raises(poputil.poplibs_error, match="an IPU has 1472 tiles, not 10 from place 1470 on"):
        gcl.perIPUTiles(graph, 1470, 10)


@pytest.mark.parametrize(("op", "combined"), [(Op.LOGICAL_AND, np.all), (Op.LOGICAL_OR, np.any)])
def test_truth_is_combined(op, combined):
    given = np.random.default_rng(1).integers(0, 2, (3, 20)).astype(np.bool_)
    found = moved(3, lambda g, t, p: gcl.allReduceCrossReplica(g, t, op, p), given)
    assert (found == combined(given, axis=0)).all()


@pytest.mark.parametrize("op", [Op.MAX, popops.Operation.MAX])
def test_older_names_are_the_same(op):
    given = np.random.default_rng(1).normal(size=(2, 6)).astype(np.float32)

    def in_place(graph, data, program):
        popops.replicatedAllReduceInPlace(graph, data, op, program, "max")
        return data

    def into(graph, data, program):
        out = graph.clone(data, "out")
        popops.replicatedAllReduceWithOutput(graph, data, out, op, program, "max")
        return out

    for function in (lambda g, t, p: popops.replicatedAllReduce(g, t, op, p, "max"), in_place, into):
        assert (moved(2, function, given) == given.max(0)).all()
    assert (moved(2, popops.replicatedAllGather, given) == given).all()
    shares = moved(2, lambda g, t, p: popops.replicatedReduceScatter(g, t, op, p), given)
    assert (shares.reshape(-1) == given.max(0)).all()
    with pytest.raises(poputil.poplibs_error, match="have no operator LOG_ADD; they have ADD, MEAN"):
        popops.replicatedAllReduce(Graph(model()), None, popops.Operation.LOG_ADD, Sequence())


def test_what_cannot_be_moved():
    graph = Graph(model(ipus=2), 2)
    data = graph.addVariable(FLOAT, [3, 4], "data")
    with pytest.raises(poputil.poplibs_error, match=r"shape \[3, 4\]; its first dimension must be .* replicas, 2"):
        gcl.allToAllCrossReplica(graph, data, Sequence())
    with pytest.raises(poputil.poplibs_error, match=r"shape \[3, 4\]; flatten it"):
        gcl.reduceScatterCrossReplica(graph, data, Op.ADD, Sequence())
    with pytest.raises(invalid_option, match="no option 'ring'"):
        gcl.allGatherCrossReplica(graph, data, Sequence(), options={"ring": "true"})


def test_what_cannot_be_reduced():
    graph = Graph(model(ipus=2), 2)
    data = graph.addVariable(FLOAT, [4], "data")
    with pytest.raises(invalid_option, match="no option 'ring'"):
        gcl.allReduceInPlaceCrossReplica(graph, data, Op.ADD, Sequence(), options={"ring": "true"})
