"""Replicas take the same branches: predicates must be equal on all of them, by proof or by the program's assertion."""

import numpy as np
import pytest
from runtime.both_engines import graph_of

from simulator.poplar import (
    INT,
    UNSIGNED_INT,
    Engine,
    ReplicatedStreamMode,
    application_runtime_error,
    compileGraph,
    graph_replication_error,
)
from simulator.poplar.program import (
    AssumeEqualAcrossReplicas,
    Copy,
    CrossReplicaCopy,
    If,
    Repeat,
    RepeatWhileTrue,
    Sequence,
    Switch,
)


class Bench:
    def __init__(self):
        self.device, self.graph = graph_of(2, replicas=2)
        self.flag, self.other = self.scalar("flag"), self.scalar("other")
        self.graph.createHostRead("other", self.other)

    def scalar(self, name):
        tensor = self.graph.addVariable(INT, [], name)
        self.graph.setTileMapping(tensor, 0)
        return tensor

    def constant(self, value):
        tensor = self.graph.addConstant(INT, [], value)
        self.graph.setTileMapping(tensor, 0)
        return tensor

    def choice(self, flag=None):
        flag = self.flag if flag is None else flag
        return If(flag, Copy(self.constant(1), self.other), Copy(self.constant(2), self.other))


def stream(bench, mode):
    return Copy(bench.graph.addHostToDeviceFIFO("in", INT, 1, mode), bench.flag)


def index(bench):
    tensor = bench.graph.addReplicationIndexConstant()
    bench.graph.setTileMapping(tensor, 0)
    return tensor


REFUSED = {
    "stream": lambda b: Sequence(stream(b, ReplicatedStreamMode.REPLICATE), b.choice()),
    "remote buffer": lambda b: Sequence(Copy(b.graph.addRemoteBuffer("r", INT, 1), b.flag), b.choice()),
    "written by the host": lambda b: (b.graph.createHostWrite("flag", b.flag), b.choice())[1],
    "index": lambda b: Switch(index(b), [(1, Sequence())]),
    "next trip": lambda b: Sequence(
        Copy(b.constant(0), b.flag),
        Repeat(2, Sequence(b.choice(), stream(b, ReplicatedStreamMode.REPLICATE))),
    ),
    "condition": lambda b: RepeatWhileTrue(stream(b, ReplicatedStreamMode.REPLICATE), b.flag, Sequence()),
    "another replica": lambda b: Sequence(
        stream(b, ReplicatedStreamMode.REPLICATE),
        CrossReplicaCopy(b.flag, b.other, {0: 1, 1: 0}),
        If(b.other, Sequence(), Sequence()),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_differ_cannot_choose(name):
    bench = Bench()
    with pytest.raises(graph_replication_error, match=r"decides, but it may differ between the 2 replicas.*Assume"):
        compileGraph(bench.graph, REFUSED[name](bench))


ACCEPTED = {
    "broadcast": lambda b: Sequence(stream(b, ReplicatedStreamMode.BROADCAST), b.choice()),
    "promised": lambda b: Sequence(
        stream(b, ReplicatedStreamMode.REPLICATE), AssumeEqualAcrossReplicas(b.flag), b.choice()
    ),
    "overwritten": lambda b: Sequence(
        stream(b, ReplicatedStreamMode.REPLICATE), Copy(b.constant(1), b.flag), b.choice()
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_equal_can(name):
    bench = Bench()
    compileGraph(bench.graph, ACCEPTED[name](bench))


def test_a_broken_promise_ends_the_run():
    bench = Bench()
    bench.graph.createHostWrite("flag", bench.flag)
    program = Sequence(AssumeEqualAcrossReplicas(bench.flag), bench.choice())
    with Engine(bench.graph, program) as engine:
        engine.load(bench.device)
        engine.writeTensor("flag", np.array([3, 3], np.int32))
        engine.run()
        found = np.zeros(2, np.int32)
        engine.readTensor("other", found)
        assert found.tolist() == [1, 1]
        engine.writeTensor("flag", np.array([3, 0], np.int32))
        with pytest.raises(application_runtime_error, match=r"If: the replicas have different .*\[3, 0\]"):
            engine.run()


def test_one_replica_may_choose_by_anything():
    device, graph = graph_of(2)
    flag = graph.addVariable(UNSIGNED_INT, [])
    graph.setTileMapping(flag, 0)
    graph.createHostWrite("flag", flag)
    compileGraph(graph, If(flag, Sequence(), Sequence()))
    assert device is not None
