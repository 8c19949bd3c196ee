"""What the host does: threads of vertices, prefetching."""

import threading

import numpy as np

from simulator.codelets.vertex import InOut, Vector, Vertex
from simulator.poplar import FLOAT, Engine, Graph, StreamCallback
from simulator.poplar.program import Execute
from tests.poplar.options.small import model, streaming

THREADS = set()


class Where(Vertex):
    """Notes its thread, and waits until another one has come, or a little while."""

    x = InOut(Vector(FLOAT))
    together = threading.Event()

    def compute(self):
        THREADS.add(threading.get_ident())
        if len(THREADS) > 1:
            Where.together.set()
        Where.together.wait(0.2 if self.x[0] == 0 else 0)
        self.x[:] += 1

    @classmethod
    def estimate(cls, sizes, values, target):
        return 10


def test_vertices_run_on_several_threads(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    used, results = {}, {}
    for on in ("true", "false"):
        THREADS.clear()
        Where.together.clear()
        device = model()
        graph = Graph(device)
        graph.addCodelets(Where)
        x = graph.addVariable(FLOAT, [512], "x")
        graph.setTileMapping(x, 0)
        graph.setInitialValue(x, np.arange(512))
        graph.createHostRead("x", x)
        cs = graph.addComputeSet("cs")
        for i in range(512):
            graph.setTileMapping(graph.addVertex(cs, "Where", {"x": x.slice(i, i + 1)}), 0)
        engine = Engine(graph, Execute(cs), {"debug.cpuMultiThreadExecution": on})
        engine.load(device)
        engine.run()
        results[on] = np.zeros(512, np.float32)
        engine.readTensor("x", results[on])
        used[on] = set(THREADS)
        engine.close()
    assert used["false"] == {threading.get_ident()}
    assert len(used["true"]) == 2
    np.testing.assert_array_equal(results["true"], np.arange(512) + 1)
    np.testing.assert_array_equal(results["true"], results["false"])


class Counting(StreamCallback):
    """Gives 0, 1, 2 ... and notes what is asked of it."""

    def __init__(self, available=100):
        self.calls, self.next, self.available = [], 0, available

    def _fill(self, p):
        p[:] = self.next
        self.next += 1

    def fetch(self, p):
        self.calls.append("fetch")
        self._fill(p)

    def prefetch(self, p):
        self.calls.append("prefetch")
        if self.available == 0:
            return StreamCallback.Result.NotAvailable
        self.available -= 1
        self._fill(p)
        return StreamCallback.Result.Success

    def complete(self):
        self.calls.append("complete")

    def invalidatePrefetched(self):
        self.calls.append("invalidate")


def transfers(options, callback, repeat=3, depth=None):
    """What arrives at the device, and the calls that brought it."""
    device = model()
    if depth is None:
        graph, program = streaming(device, 2, repeat)
    else:
        graph, program = buffered(device, repeat, depth)
    engine = Engine(graph, program, options)
    out = np.zeros((repeat, 2), np.float32)
    engine.connectStream("out", out)
    engine.connectStreamToCallback("in", callback)
    engine.load(device)
    engine.run()
    return engine, device, out[:, 0].tolist()


def buffered(device, repeat, depth):
    from simulator.poplar.program import Copy, Repeat, Sequence

    graph = Graph(device)
    t = graph.addVariable(FLOAT, [2], "t")
    graph.setTileMapping(t, 0)
    into = graph.addHostToDeviceFIFO("in", FLOAT, 2, options={"bufferingDepth": depth})
    return graph, Repeat(repeat, Sequence(Copy(into, t), Copy(t, graph.addDeviceToHostFIFO("out", FLOAT, 2))))


def test_prefetching_is_an_option():
    asked = {
        "default": {},
        "off": {"exchange.enablePrefetch": "false"},
        "shared": {"exchange.streamBufferOverlap": "any"},
        "as in the example": {"exchange.streamBufferOverlap": "none", "exchange.enablePrefetch": "true"},
    }
    calls = {}
    for name, options in asked.items():
        callback = Counting()
        assert transfers(options, callback)[2] == [0, 1, 2]
        calls[name] = callback.calls
    ahead = ["fetch", "complete", "prefetch", "complete", "prefetch", "complete", "prefetch"]
    assert calls["default"] == calls["as in the example"] == ahead
    assert calls["off"] == calls["shared"] == ["fetch", "complete"] * 3


def test_data_that_are_not_available_ahead_of_time_are_fetched():
    callback = Counting(available=1)
    assert transfers({}, callback)[2] == [0, 1, 2]
    expected = ["fetch", "complete", "prefetch", "complete", "prefetch", "fetch", "complete", "prefetch"]
    assert callback.calls == expected


def test_a_deeper_buffer_is_filled_further_ahead():
    callback = Counting()
    assert transfers({}, callback, depth=3)[2] == [0, 1, 2]
    assert callback.calls == ["fetch", "complete", *["prefetch"] * 3, "complete", "prefetch", "complete", "prefetch"]


def test_what_was_prefetched_is_dropped_when_the_program_or_the_callback_changes():
    callback = Counting()
    engine, device, _ = transfers({}, callback)
    engine.run()
    assert callback.calls[-6:] == ["complete", "prefetch"] * 3
    engine.load(device)
    assert callback.calls[-1] == "invalidate"
    engine.run()
    assert callback.calls[-7:-5] == ["fetch", "complete"]
    other = Counting()
    engine.connectStreamToCallback("in", other)
    assert callback.calls[-1] == "invalidate"
    engine.run()
    assert other.calls[0] == "fetch"
