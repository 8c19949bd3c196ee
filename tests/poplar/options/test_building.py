"""opt.max*Threads, target.gatewayWriteCombining: one program, two values, what differs."""

import json
import os
import subprocess
import sys
import tracemalloc

from popvision.analysis.trace.source import TraceSource
from simulator.poplar import FLOAT, Engine, Graph, IPUModel, compileGraph
from simulator.poplar.program import Copy, Sequence

PROGRAM = """
import sys, time
from simulator.codelets.vertex import Output, Vertex
from simulator.compiler import memory
from simulator.poplar import FLOAT, Engine, Graph, IPUModel
from simulator.poplar.program import Execute, Sequence

class Set(Vertex):
    out = Output(FLOAT)

    def compute(self):
        self.out = 1

    @classmethod
    def estimate(cls, sizes, values, target):
        time.sleep(0.02)
        return 10

m = IPUModel()
m.tilesPerIPU = 4
graph = Graph(m.createDevice())
graph.addCodelets(Set)
sequence = Sequence()
for i in range(8):
    out = graph.addVariable(FLOAT, [], f"out{i}")
    graph.setTileMapping(out, i % 4)
    cs = graph.addComputeSet(f"cs{i}")
    graph.setTileMapping(graph.addVertex(cs, "Set", {"out": out}), i % 4)
    sequence.add(Execute(cs))
Engine(graph, sequence, eval(sys.argv[1])).load(m.createDevice())
"""

REPLICAS = """
import sys
import numpy as np
from simulator.poplar import FLOAT, DeviceManager, Engine, Graph, TargetType, replication_factor
from simulator.poplar.program import Sequence

device = next(d for d in DeviceManager().getDevices(TargetType.IPU, 2) if d.attach())
graph = Graph(device, replication_factor(2))
x = graph.addVariable(FLOAT, [3], "x")
graph.setTileMapping(x, 0)
graph.setInitialValue(x, [1.0, 2.0, 3.0])
graph.createHostRead("x", x)
engine = Engine(graph, Sequence(), eval(sys.argv[1]))
engine.load(device)
values = np.empty((2, 3), np.float32)
engine.readTensor("x", values)
assert (values == [1, 2, 3]).all(), values
"""


def threads_with(event, folder, options):
    """Threads of a traced process that have events of this name."""
    folder.mkdir()
    trace = traced(PROGRAM, folder, {**options, "target.saveArchive": str(folder / "archive.a")})
    return count_threads(trace, event)


def traced(program, folder, options):
    """The host trace of a process that runs a program with these options."""
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "PVTI_OPTIONS": json.dumps({"enable": "true", "directory": str(folder)})}
    subprocess.run([sys.executable, "-c", program, repr(options)], check=True, env=environment)
    (file,) = folder.glob("*.pvti")
    return TraceSource(file)


def count_events(trace, event):
    """How many events have that name."""
    number = trace.names.label.index(event) if event in trace.names.label else -2
    return sum(int((lane.name == number).sum()) for thread in trace.threads for lane in thread.lanes)


def count_threads(trace, event):
    """How many threads have an event of that name."""
    number = trace.names.label.index(event)
    return sum(any((lane.name == number).any() for lane in thread.lanes) for thread in trace.threads)


def test_maxCompilationThreads_is_the_number_of_threads_that_estimate(tmp_path):
    event = "poplar::core::estimateComputeSet"
    assert threads_with(event, tmp_path / "one", {"opt.maxCompilationThreads": "1"}) == 1
    assert threads_with(event, tmp_path / "three", {"opt.maxCompilationThreads": "3"}) == 3


def test_maxLinkerThreads_is_the_number_of_threads_that_make_images(tmp_path):
    event = "poplar::core::linkTile"
    assert threads_with(event, tmp_path / "one", {"opt.maxLinkerThreads": "1"}) == 1
    assert threads_with(event, tmp_path / "two", {"opt.maxLinkerThreads": "2"}) == 2


def host_exchange(combining):
    """(code, header) bytes of a program that sends 1,024 bytes to the host."""
    hardware = IPUModel()
    hardware.tilesPerIPU, hardware.compileIPUCode = 2, True
    graph = Graph(hardware.createDevice())
    x = graph.addVariable(FLOAT, [256], "x")
    graph.setTileMapping(x, 0)
    stream = graph.addDeviceToHostFIFO("out", FLOAT, 256)
    options = {"target.gatewayWriteCombining": combining, "debug.retainDebugInformation": "true"}
    with Engine(graph, Sequence(Copy(x, stream)), options) as engine:
        report = engine.getReport(reportExecution=False)
        memory = report.compilation.tiles[0].memory.category
        return memory.hostExchangeCode.total, memory.hostExchangePacketHeader.total


def test_gatewayWriteCombining_joins_packets_to_the_host():
    apart, joined = host_exchange("false"), host_exchange("true")
    assert apart[0] - joined[0] == 3 * 12  # 256 bytes each: four packets; joined: one
    assert apart[1] - joined[1] == 3 * 4


def test_useAutoloader_loads_one_replica_from_the_host(tmp_path):
    for value, by_host, by_replica in (("true", 1, 1), ("false", 2, 0)):
        trace = traced(REPLICAS, tmp_path / value, {"opt.useAutoloader": value})
        assert count_events(trace, "poplar::core::loadFromHost") == by_host
        assert count_events(trace, "poplar::core::loadFromReplica") == by_replica


def lowered(tiles_at_a_time):
    """(peak bytes while allocations are put in order, what comes out) of 32 variables on each tile."""
    model = IPUModel()
    model.tilesPerIPU = 1216
    graph = Graph(model.createDevice())
    sequence = Sequence()
    for i in range(16):
        x, y = (graph.addVariable(FLOAT, [1216], f"{name}{i}") for name in "xy")
        for t in (x, y):
            graph.setTileMapping(t, [[(tile, tile + 1)] for tile in range(1216)])
        graph.createHostWrite(f"x{i}", x)
        sequence.add(Copy(x, y))
    options = {"experimental.minLoweringTiles": tiles_at_a_time, "autoReport.outputLoweredVars": "false"}
    tiles = compileGraph(graph, sequence, options).compiled.compilation.lowered
    tracemalloc.start()
    for _ in tiles:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, tiles


def test_minLoweringTiles_takes_less_memory():
    (all_peak, together), (few_peak, apart) = lowered("0"), lowered("64")
    assert few_peak < 0.5 * all_peak
    for one, other in zip(together, apart, strict=True):
        assert (one.tile, one.first_id) == (other.tile, other.first_id)
        for column in ("bytes", "address", "category", "region", "variable", "eq_class", "name"):
            assert (getattr(one, column) == getattr(other, column)).all()
