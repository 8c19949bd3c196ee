"""Callbacks that carry metadata, and callbacks that are suspended."""

import threading

import numpy as np
import pytest

from simulator.poplar import (
    QUARTER,
    Engine,
    Graph,
    IPUModel,
    QuarterMetadata,
    ReplicatedStreamMode,
    ResumableStreamCallback,
    StreamCallback,
    StreamCallbackHandle,
    StreamCallbackWithMetadata,
    replication_factor,
    tensor_metadata_error,
)
from simulator.poplar.program import Copy, Repeat, Sequence
from tests.poplar.options.small import model, streaming
from tests.waiting import wait_until

F143, F152 = QuarterMetadata.Format.F143, QuarterMetadata.Format.F152
SECONDS = 5  #: far more than anything here takes


def until_suspended(callback):
    wait_until(callback.isAwaiting, "the callback is suspended")


# ---- metadata -------------------------------------------------------------------------------------------------------


class Numbered(StreamCallbackWithMetadata):
    """Transfer n is full of n with scale n; notes what it takes."""

    def __init__(self, ahead=True):
        self.next, self.calls, self.taken, self.ahead = 0, [], [], ahead

    def _make(self, metadata, p):
        p[:] = self.next
        metadata.set(QuarterMetadata(F152, self.next))
        self.next += 1

    def fetch(self, metadata, p):
        self.calls.append("fetch")
        self._make(metadata, p)

    def prefetch(self, metadata, p):
        self.calls.append("prefetch")
        if not self.ahead:
            return StreamCallback.Result.NotAvailable
        self._make(metadata, p)
        return StreamCallback.Result.Success

    def complete(self):
        self.calls.append("complete")


class Taking(StreamCallbackWithMetadata):
    def __init__(self):
        self.taken = []

    def fetch(self, metadata, p):
        self.taken.append((p.tolist(), metadata.getScale()))

    def prefetch(self, metadata, p):
        raise AssertionError("nothing is prefetched to the host")

    def complete(self):
        pass


def quarters(replicas=1, mode=ReplicatedStreamMode.REPLICATE, options=None):
    """An engine that reads a QUARTER stream three times and sends what it read."""
    machine = IPUModel()
    machine.tilesPerIPU, machine.numIPUs = 2, replicas
    device = machine.createDevice()
    graph = Graph(device, replication_factor(replicas))
    t = graph.addVariable(QUARTER, [2], "t")
    graph.setTileMapping(t, 0)
    into = graph.addHostToDeviceFIFO("in", QUARTER, 2, mode)
    program = Repeat(3, Sequence(Copy(into, t), Copy(t, graph.addDeviceToHostFIFO("out", QUARTER, 2))))
    engine = Engine(graph, program, options)
    engine.load(device)
    return engine


@pytest.mark.parametrize("addresses", ["false", "true"])
@pytest.mark.parametrize("ahead", [True, False])
def test_metadata_goes_with_each_transfer_also_one_that_was_prefetched(ahead, addresses):
    engine, numbered, taking = quarters(options={"popvision.addressAccurate": addresses}), Numbered(ahead), Taking()
    engine.connectStreamToCallback("in", numbered)
    engine.connectStreamToCallback("out", StreamCallbackHandle(taking))
    engine.run()
    assert taking.taken == [([n, n], n) for n in range(3)]
    assert numbered.calls.count("fetch") == (1 if ahead else 3)


def test_functions_of_quarter_streams_get_the_metadata_first():
    engine, taken = quarters(), []

    def make(metadata, p):
        metadata.set(QuarterMetadata(F143, -7))
        p[:] = 9

    engine.connectStreamToCallback("in", make)
    engine.connectStreamToCallback("out", lambda metadata, p: taken.append((metadata == QuarterMetadata(F143, -7), *p)))
    engine.run()
    assert taken == [(True, 9, 9)] * 3


@pytest.mark.parametrize("mode", list(ReplicatedStreamMode))
def test_each_replica_has_metadata_of_its_own_but_where_one_transfer_serves_all(mode):
    engine = quarters(2, mode)
    taken = [Taking(), Taking()]
    shared = mode is ReplicatedStreamMode.BROADCAST
    for i in range(1 if shared else 2):
        engine.connectStreamToCallback("in", i, lambda metadata, p, i=i: metadata.set(QuarterMetadata(F152, 5 + i)))
    for i in range(2):
        engine.connectStreamToCallback("out", i, taken[i])
    engine.run()
    assert [[scale for _, scale in t.taken] for t in taken] == [[5] * 3, [5 if shared else 6] * 3]


def test_callbacks_of_the_other_kind_are_refused():
    engine = quarters()

    class Plain(ResumableStreamCallback):
        fetch = prefetch = complete = None

    with pytest.raises(tensor_metadata_error, match="'in' holds quarter; derive Plain from StreamCallbackWithMetadata"):
        engine.connectStreamToCallback("in", Plain())
    device = model()
    floats = Engine(*streaming(device, 2, 1))
    with pytest.raises(tensor_metadata_error, match="'in' holds float, which has no metadata; derive Numbered from"):
        floats.connectStreamToCallback("in", Numbered())


# ---- suspended ------------------------------------------------------------------------------------------------------


class Waiting(ResumableStreamCallback):
    """Suspends itself in `where` ("fetch" or "prefetch"), once for each transfer."""

    def __init__(self, where):
        self.where, self.calls, self.next = where, [], 0

    def _fill(self, name, p):
        self.calls.append(name)
        if name == self.where:
            self.wait()
            self.calls.append("goes on")
        p[:] = self.next
        self.next += 1

    def fetch(self, p):
        self._fill("fetch", p)

    def prefetch(self, p):
        self._fill("prefetch", p)
        return StreamCallback.Result.Success

    def complete(self):
        self.calls.append("complete")

    def invalidatePrefetched(self):
        self.calls.append("invalidate")


def waiting_engine(where, mode="singleThread"):
    device = model()
    graph, program = streaming(device, 2, 2)
    engine = Engine(graph, program, {"streamCallbacks.multiThreadMode": mode, "streamCallbacks.numWorkerThreads": 1})
    callback = Waiting(where)
    engine.connectStreamToCallback("in", callback)
    engine.load(device)
    return engine, callback


def test_a_callback_goes_on_where_it_was_suspended():
    class Twice(ResumableStreamCallback):
        fetch = prefetch = complete = lambda self, p=None: None

        def steps(self):
            for step in (1, 2):
                done.append(step)
                self.wait()

    callback, done, awaiting = Twice(), [], []
    callback.notify()  # nothing is suspended: no effect
    thread = threading.Thread(target=callback.steps, daemon=True)
    thread.start()
    for _ in range(2):
        until_suspended(callback)
        awaiting.append((len(done), callback.isAwaiting()))
        callback.notify()
    thread.join(SECONDS)
    assert awaiting == [(1, True), (2, True)]
    assert not thread.is_alive()


@pytest.mark.parametrize("mode", ["singleThread", "collaborative", "dedicated"])
def test_a_suspended_prefetch_lets_the_program_go_on_until_it_needs_the_data(mode):
    """The next transfer to the host wakes it: with one thread that would never come if the prefetch blocked it."""
    engine, callback = waiting_engine("prefetch", mode)
    seen = []

    def taken(p):
        if mode != "singleThread":
            until_suspended(callback)
        seen.append((p.tolist(), callback.isAwaiting()))
        callback.notify()

    engine.connectStreamToCallback("out", taken)
    engine.run()
    assert seen[0] == ([0, 0], True)
    assert seen[1][0] == [1, 1]
    assert callback.calls[:6] == ["fetch", "complete", "prefetch", "goes on", "complete", "prefetch"]
    engine.close()


def test_a_suspended_fetch_holds_up_the_transfer_until_another_thread_notifies():
    engine, callback = waiting_engine("fetch")
    order = []

    def wake():
        until_suspended(callback)
        order.append("notified")
        callback.notify()

    helper = threading.Thread(target=wake)
    helper.start()
    engine.connectStreamToCallback("out", lambda p: order.append(p.tolist()))
    engine.run()
    helper.join()
    assert order == ["notified", [0, 0], [1, 1]]
    assert not callback.isAwaiting()


def test_stopping_ends_a_suspended_fetch():
    engine, callback = waiting_engine("fetch")
    engine.connectStream("out", np.zeros(2, np.float32))

    def stop():
        until_suspended(callback)
        engine.stop()

    helper = threading.Thread(target=stop)
    helper.start()
    engine.run()
    helper.join()
    assert callback.calls == ["fetch"]


def test_a_new_load_drops_what_is_suspended():
    engine, callback = waiting_engine("prefetch")
    engine.connectStreamToCallback("out", lambda p: callback.notify() if callback.next == 1 else None)
    engine.run()
    assert callback.isAwaiting()  # the prefetch after the last transfer
    engine.load()
    assert not callback.isAwaiting()
    callback.next = 0
    engine.run()
    assert callback.calls.count("fetch") == 2


def test_what_a_suspended_callback_raises_ends_the_run():
    engine, callback = waiting_engine("prefetch")

    def fill(name, p):
        if name == "prefetch":
            raise ValueError("no more data")

    callback._fill = fill
    engine.connectStream("out", np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match="no more data"):
        engine.run()
