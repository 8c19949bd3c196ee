"""A graph in several replicas: values by hand, streams by replica, copies between replicas, what reports say."""

import io
import time

import numpy as np
import pytest

from popvision import pva
from simulator.poplar import (
    FLOAT,
    UNSIGNED_INT,
    Device,
    Engine,
    Graph,
    ReplicatedStreamMode,
    graph_connection_error,
    graph_replication_error,
    invalid_tile_mapping,
    replication_factor,
    stream_connection_error,
    tensor_creation_error,
)
from simulator.poplar.program import Copy, CrossReplicaCopy, Execute, PrintTensor, Repeat, Sequence
from simulator.poplibs import popops
from tests.compiler.tiny_graphs import Scale, model

R = 4
NEXT = {0: 1, 1: 2, 2: 3, 3: 0}


def values(*shape, start=0):
    return np.arange(start, start + int(np.prod(shape)), dtype=np.float32).reshape(shape)


class Case:
    """R replicas of a graph with x[6] over tiles 0 to 2 and y[6] on tile 3, of 4 tiles."""

    def __init__(self):
        self.target = model(tiles=4, ipus=R)
        self.graph = Graph(self.target, replication_factor(R))
        self.x, self.y = (self.graph.addVariable(FLOAT, [6], name) for name in "xy")
        for i in range(3):
            self.graph.setTileMapping(self.x[2 * i : 2 * i + 2], i)
        self.graph.setTileMapping(self.y, 3)
        for name, t in (("x", self.x), ("y", self.y)):
            self.graph.createHostWrite(name, t)
            self.graph.createHostRead(name, t)

    def engine(self, program, options=None):
        engine = Engine(self.graph, program, options)
        engine.load(Device(self.target))
        return engine


def read(engine, handle, *shape):
    out = np.zeros(shape, np.float32)
    engine.readTensor(handle, out)
    return out


def test_the_graph_is_that_of_one_replica():
    case = Case()
    assert (case.graph.getReplicationFactor(), case.graph.getTarget().getNumIPUs()) == (R, 1)
    with pytest.raises(invalid_tile_mapping, match="Tile 4 is out of range: the graph has 4 tiles"):
        case.graph.setTileMapping(case.x, 4)
    with pytest.raises(graph_replication_error, match="factor of 3 does not divide the 4 IPUs"):
        Graph(case.target, 3)
    with pytest.raises(graph_replication_error, match="whole number from 1 on, not 0"):
        Graph(case.target, 0)
    assert Graph(case.target, 2).createVirtualGraph(4, 8).getTarget().getNumTiles() == 4


def test_each_replica_computes_with_its_own_values():
    case = Case()
    case.graph.addCodelets(Scale)
    cs = case.graph.addComputeSet("triple")
    vertex = case.graph.addVertex(cs, "Scale", {"x": case.x, "y": case.y})
    case.graph.setTileMapping(vertex, 3)
    with case.engine(Execute(cs)) as engine:
        x = values(R, 6)
        engine.writeTensor("x", x)
        engine.run()
        assert np.array_equal(read(engine, "y", R, 6), 3 * x)


def test_replication_index_and_initial_values_by_replica():
    case = Case()
    index = case.graph.addReplicationIndexConstant("index")
    seed = case.graph.addVariable(UNSIGNED_INT, [], "seed")
    case.graph.setInitialValue(seed, {0: 7, 1: 5, 2: 3, 3: 1})
    for name, t in (("index", index), ("seed", seed)):
        case.graph.setTileMapping(t, 0)
        case.graph.createHostRead(name, t)
    out = np.zeros(R, np.uint32)
    with case.engine(Sequence()) as engine:
        engine.readTensor("index", out)
        assert out.tolist() == [0, 1, 2, 3]
        engine.readTensor("seed", out)
        assert out.tolist() == [7, 5, 3, 1]
    with pytest.raises(graph_replication_error, match=r"for replicas \[0, 1\]; give one for each of 0 to 3"):
        case.graph.setInitialValue(seed, {0: 1, 1: 1})
    with pytest.raises(tensor_creation_error, match="are for an UNSIGNED_INT scalar, not float of shape"):
        case.graph.setInitialValue(case.x, {0: 1, 1: 1, 2: 1, 3: 1})
    with pytest.raises(graph_connection_error, match="holds a constant"):
        Copy(seed, index)


def test_a_replication_index_has_the_name_that_it_is_given_and_no_other():
    graph = Graph(model())
    assert graph.addReplicationIndexConstant().getVarStr() == "<variable 0>"  # of a variable without a name
    assert graph.addReplicationIndexConstant("index").getVarStr() == "index"
    assert graph.addConstant(UNSIGNED_INT, [], 0).getVarStr() == "<const>"


def test_a_replicated_stream_takes_turns_and_a_broadcast_one_serves_all():
    case = Case()
    own = case.graph.addHostToDeviceFIFO("own", FLOAT, 6)
    same = case.graph.addHostToDeviceFIFO("same", FLOAT, 6, ReplicatedStreamMode.BROADCAST)
    out = case.graph.addDeviceToHostFIFO("out", FLOAT, 6)
    program = Repeat(2, Sequence(Copy(own, case.x), Copy(case.x, out), Copy(same, case.y)))
    with case.engine(program) as engine:
        given, got = values(2, R, 6), np.zeros((2, R, 6), np.float32)
        engine.connectStream("own", given)
        engine.connectStream("out", got)
        engine.connectStream("same", values(2, 6, start=100))
        engine.run()
        assert np.array_equal(got, given)
        assert np.array_equal(read(engine, "y", R, 6), np.tile(values(6, start=106), (R, 1)))


def test_callbacks_by_replica():
    case = Case()
    stream = case.graph.addHostToDeviceFIFO("s", FLOAT, 6)
    with case.engine(Copy(stream, case.x)) as engine:
        for replica in range(R - 1):
            engine.connectStreamToCallback("s", replica, lambda memory, r=replica: memory.fill(r + 10))
        with pytest.raises(stream_connection_error, match="not connected in replica 3"):
            engine.run()
        with pytest.raises(stream_connection_error, match="no replica 4; it has replicas 0 to 3"):
            engine.connectStreamToCallback("s", 4, print)
        engine.connectStreamToCallback("s", 3, lambda memory: memory.fill(13))
        engine.run()
        assert read(engine, "x", R, 6).tolist() == [[r + 10.0] * 6 for r in range(R)]
        with pytest.raises(stream_connection_error, match="6 elements at a time in each of 4 replicas"):
            engine.connectStream("s", values(6))
        with pytest.raises(stream_connection_error, match="6 elements in each of 4 replicas, 24 in all"):
            engine.writeTensor("x", values(6))


def test_a_copy_between_replicas_goes_where_the_map_says():
    case = Case()
    swap = {0: 1, 1: 0, 2: 3, 3: 2}
    back = case.graph.addVariable(FLOAT, [6], "back")
    case.graph.setTileMapping(back, 0)
    case.graph.createHostRead("back", back)
    with case.engine(Sequence(CrossReplicaCopy(case.x, case.y, NEXT), CrossReplicaCopy(case.y, back, swap))) as engine:
        x = values(R, 6)
        engine.writeTensor("x", x)
        engine.run()
        assert np.array_equal(read(engine, "y", R, 6), x[[3, 0, 1, 2]])
        assert np.array_equal(read(engine, "back", R, 6), x[[3, 0, 1, 2]][[1, 0, 3, 2]])


def test_printed_tensors_say_whose_they_are():
    case = Case()
    index = case.graph.addReplicationIndexConstant()
    case.graph.setTileMapping(index, 0)
    text = io.StringIO()
    with case.engine(Sequence(PrintTensor("index", index), PrintTensor(index))) as engine:
        engine.setPrintTensorStream(text)
        engine.run()
    named, plain = [f"index (replica {r}): {r}" for r in range(R)], [f"replica {r}: {r}" for r in range(R)]
    assert text.getvalue().splitlines() == named + plain


def test_what_is_sent_keeps_its_memory_until_it_is_sent():
    """Results that nothing else reads take turns in memory; one that waits to be sent must not give its up."""
    case = Case()
    program = Sequence()
    sent = popops.add(case.graph, case.x, 1.0, program)
    other = popops.mul(case.graph, case.x, 100.0, program)
    other = popops.mul(case.graph, other, 10.0, program)
    program.add(CrossReplicaCopy(sent, case.y, NEXT))
    program.add(Copy(other, case.x))
    with case.engine(program) as engine:
        x = values(R, 6)
        engine.writeTensor("x", x)
        engine.run()
        assert np.array_equal(read(engine, "y", R, 6), x[[3, 0, 1, 2]] + 1)


def test_maps_and_shapes_that_cannot_be():
    case = Case()
    longer = case.graph.addVariable(FLOAT, [7])
    for bad in ({0: 1, 1: 0}, {0: 0, 1: 2, 2: 3, 3: 1}, {0: 1, 1: 1, 2: 3, 3: 2}, {0: 1, 1: 2, 2: 3, 3: 4}):
        with pytest.raises(graph_replication_error, match="must name each replica, 0 to 3, once"):
            CrossReplicaCopy(case.x, case.y, bad)
    with pytest.raises(graph_connection_error, match="CrossReplicaCopy: the source has 6 elements"):
        CrossReplicaCopy(case.x, longer, NEXT)
    with pytest.raises(graph_connection_error, match=r"has shape \[6\], the destination \[2, 3\]"):
        CrossReplicaCopy(case.x, case.y.reshape([2, 3]), NEXT)
    with pytest.raises(graph_connection_error, match="share elements"):
        CrossReplicaCopy(case.x, case.x, NEXT)


@pytest.fixture(name="report")
def _report(tmp_path):
    case = Case()
    options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path)}
    with case.engine(Sequence(CrossReplicaCopy(case.x, case.y, NEXT)), options) as engine:
        engine.run()
    return tmp_path


def test_the_report_covers_all_replicas(report):
    profile = pva.openReport(str(report / "profile.pop"))
    target = profile.compilation.target
    assert (target.numIPUs, target.numReplicas, target.ipusPerReplica, target.tilesPerReplica) == (R, R, 1, 4)
    assert target.memoryPerReplica * R == target.totalMemory == 4 * R * target.bytesPerTile
    tiles = profile.compilation.tiles
    totals = [tile.memory.total.excludingGaps for tile in tiles]
    assert len(tiles) == 4 * R
    assert totals == totals[:4] * R
    # Live memory is that of one replica: the always-live bytes of all tiles are R times as many.
    always = sum(variable.size for variable in profile.compilation.alwaysLiveVariables)
    assert always == sum(tile.memory.alwaysLiveBytes for tile in tiles)
    assert profile.compilation.graph.numVars == 2


def test_bytes_are_conserved_between_replicas_and_all_ipus_take_the_same_time(report):
    profile = pva.openReport(str(report / "profile.pop"))
    steps = [step for step in profile.execution.steps if step.program.type == pva.Program.Type.GlobalExchange]
    assert len(steps) == 1
    assert [(ipu.dataIn, ipu.dataOut, ipu.activeTiles) for ipu in steps[0].ipus] == [(24, 24, 4)] * R
    from popvision.formats.profile.reader import ProfileReader

    reader = ProfileReader(report / "profile.pop")
    program = int(reader.steps().program[np.flatnonzero(reader.steps_on_ipu(0).data_out == 24)[0]])
    rows = [reader.messages(program, ipu) for ipu in range(R)]
    sent = {(int(s), int(d)): int(b) for row in rows for s, d, b in zip(row.src, row.dst, row.bytes, strict=True)}
    assert sent == {(4 * r + t, 4 * NEXT[r] + 3): 8 for r in range(R) for t in range(3)}
    ends = [reader.run_tail(0, ipu) + 0 for ipu in range(R)]
    assert all(np.array_equal(ends[0], end) for end in ends)


@pytest.mark.parametrize(("option", "apart"), [("true", True), ("false", False)])
def test_replicas_that_sync_independently_do_not_wait_for_each_others_host(option, apart, monkeypatch):
    """Waits measured on the host: replica 2 is slow. GS1 = its own replica waits, GS2 = all do."""
    monkeypatch.setenv("POPVISION_HOST_CLOCK", "measured")
    case = Case()
    stream = case.graph.addHostToDeviceFIFO("s", FLOAT, 6)
    with case.engine(
        Copy(stream, case.x), {"target.syncReplicasIndependently": option, "debug.retainDebugInformation": "true"}
    ) as engine:
        engine.connectStreamToCallback("s", lambda memory: None)
        engine.connectStreamToCallback("s", 2, lambda memory: time.sleep(0.05))
        engine.run()
        steps = engine.getReport().execution.steps
        begin = [s for s in steps if s.program.type == pva.Program.Type.StreamCopyBegin][-1]
        slow, quick = begin.ipus[2].cycles, begin.ipus[0].cycles
        assert slow >= 0.05 * 1.33e9
        assert (quick < slow / 2) == apart


def test_two_runs_of_the_same_program_give_the_same_report(tmp_path):
    from popvision.formats.profile.reader import ProfileReader

    found = []
    for name in "ab":
        case = Case()
        options = {"autoReport.all": "true", "autoReport.directory": str(tmp_path / name)}
        with case.engine(Repeat(3, CrossReplicaCopy(case.x, case.y, NEXT)), options) as engine:
            engine.run()
        reader = ProfileReader(tmp_path / name / "profile.pop")
        found.append((reader.total_cycles(), [reader.steps_on_ipu(ipu).all_to_max.tolist() for ipu in range(R)]))
    assert found[0] == found[1]
